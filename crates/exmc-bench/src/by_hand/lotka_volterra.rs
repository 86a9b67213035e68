//! Two species that hunt and are hunted: counts -> a gradient by one solution in which a species is
//! one vector.
//!
//! A species' eight lanes are its population, its derivatives with respect to four rates and two
//! first populations, and nothing. Steps are those of the model's `ode_rk45_tol`: Dormand and
//! Prince's pair with Boost's control of steps and its interpolation between them.

use exmc_math::simd::{Kernel, Level, Simd, vector};

use super::{Gradient, eight};
use crate::models::Data;

/// The error that is allowed: relative, and besides.
const TOLERANCE: [f64; 2] = [1e-5, 1e-3];
/// Tries after which a solution is given up; some tens are usual.
const MAX_STEPS: usize = 100_000;

/// Dormand and Prince's weights, a row a stage; the last is the solution.
const STAGES: [[f64; 6]; 6] = [
    [0.2, 0.0, 0.0, 0.0, 0.0, 0.0],
    [3.0 / 40.0, 9.0 / 40.0, 0.0, 0.0, 0.0, 0.0],
    [44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0, 0.0, 0.0, 0.0],
    [19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0, 0.0, 0.0],
    [9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0, 0.0],
    [35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0],
];
const ERROR: [f64; 7] = [
    71.0 / 57600.0,
    0.0,
    -71.0 / 16695.0,
    71.0 / 1920.0,
    -17253.0 / 339_200.0,
    22.0 / 525.0,
    -1.0 / 40.0,
];
/// Constants and slopes of the linear functions with which the interpolation goes beyond a cubic
/// one.
const BEYOND: [[f64; 2]; 7] = [
    [-12_793_612_615.0 / 11_282_082_432.0, 157_015_080.0 / 11_282_082_432.0],
    [0.0, 0.0],
    [88_272_555_100.0 / 32_700_410_799.0, -1_570_150_800.0 / 32_700_410_799.0],
    [-11_083_301_675.0 / 1_880_347_072.0, 785_075_400.0 / 1_880_347_072.0],
    [759_212_249_535.0 / 199_316_789_632.0, -114_463_993_320.0 / 199_316_789_632.0],
    [-1_648_467_425.0 / 822_651_844.0, 389_220_480.0 / 822_651_844.0],
    [74_144_470.0 / 29_380_423.0, -8_293_050.0 / 29_380_423.0],
];

pub(super) fn kernel(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let (n, times) = (data.size("N")?, data.values("ts")?);
    let (first, later) = (data.values("y_init")?, data.values("y")?);
    let fit = times.len() == n && first.len() == 2 && later.len() == 2 * n;
    if n == 0 || !fit || !times.is_sorted() || times[0] <= 0.0 {
        return Err(format!("expected {n} ascending times after 0 and pairs of counts"));
    }
    // A species after the other, each in whole vectors.
    let counts = |k: usize| (0..n).map(|i| exmc_math::log(later[2 * i + k])).collect::<Vec<_>>();
    let padded = |counts: Vec<f64>| (0..n.div_ceil(8)).map(|v| eight(&counts, 8 * v)).collect();
    let logs: [Vec<[f64; 8]>; 2] = [padded(counts(0)), padded(counts(1))];
    let first = [exmc_math::log(first[0]), exmc_math::log(first[1])];
    let mut states = vec![[[0.0; 8]; 2]; n];
    Ok(Box::new(move |position, gradient| {
        let states = &mut states;
        level.run(Predation { times: &times, first, logs: &logs, states, position, gradient })
    }))
}

/// log theta, log `z_init`, log sigma: a Stan program's parameters are in the order of declaration.
struct Predation<'a> {
    times: &'a [f64],
    /// Logarithms of the counts, at first and later.
    first: [f64; 2],
    logs: &'a [Vec<[f64; 8]>; 2],
    /// Both species at each time.
    states: &'a mut [[[f64; 8]; 2]],
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Predation<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { times, first, logs, states, position, gradient } = self;
        let (Some(position), Some(gradient)) = (position.first_chunk(), gradient.first_chunk_mut())
        else {
            return f64::NAN;
        };
        let values = s.to_array(vector::exp(s, s.load(position)));
        let [theta @ .., hares, lynxes, _, _] = values;
        if !solve(s, &theta, [hares, lynxes], times, states) {
            return f64::NAN;
        }
        *gradient = [0.0; 8];
        let mut logp = 0.0;
        for (k, logs) in logs.iter().enumerate() {
            let (log_sigma, log_start) = (position[6 + k], position[4 + k]);
            let precision = s.to_array(vector::exp(s, s.splat(-2.0 * log_sigma)))[0];
            let mut pull = s.splat(0.0);
            let at_first = first[k] - log_start;
            let mut squares = at_first * at_first;
            for (states, logs) in states.chunks(8).zip(logs) {
                let mut sizes = [1.0; 8];
                for (size, state) in sizes.iter_mut().zip(states) {
                    *size = state[k][0];
                }
                let sizes = s.load(&sizes);
                let residual = s.sub(s.load(logs), vector::log(s, sizes));
                // Logarithms beyond the last count are zero, like those of its padded size.
                squares += s.total(s.mul(residual, residual));
                let slopes = s.to_array(s.div(residual, sizes));
                for (state, slope) in states.iter().zip(slopes) {
                    pull = s.fma(s.splat(slope), s.load(&state[k]), pull);
                }
            }
            let pull = s.to_array(s.mul(pull, s.splat(precision)));
            for (j, pull) in pull[1..7].iter().enumerate() {
                gradient[j] += pull;
            }
            let n = (states.len() + 1) as f64;
            let (above, centred) = (log_sigma + 1.0, log_start - std::f64::consts::LN_10);
            logp -= 0.5 * (precision * squares + above * above + centred * centred) + n * log_sigma;
            gradient[6 + k] = precision * squares - n - above;
            // The two that belong to the logarithm itself; the rest is scaled below.
            gradient[4 + k] += (precision * at_first - centred) / values[4 + k];
        }
        for j in 0..4 {
            let (mean, weight) = if j % 2 == 0 { (1.0, 4.0) } else { (0.05, 400.0) };
            let off = theta[j] - mean;
            logp += position[j] - 0.5 * weight * off * off;
            gradient[j] = theta[j] * (gradient[j] - weight * off) + 1.0;
        }
        gradient[4] *= hares;
        gradient[5] *= lynxes;
        logp
    }
}

/// Both species' slopes.
struct Slope<S: Simd> {
    rates: [S::Vector; 4],
    /// Lanes of a population's own terms besides those of all: a constant one, and one by the other
    /// population.
    hares: [S::Vector; 2],
    lynxes: [S::Vector; 2],
}

type Pair<S> = [<S as Simd>::Vector; 2];

impl<S: Simd> Slope<S> {
    #[inline(always)]
    fn new(s: S, &[alpha, beta, gamma, delta]: &[f64; 4]) -> Self {
        Self {
            rates: [s.splat(alpha), s.splat(beta), s.splat(gamma), s.splat(delta)],
            hares: [
                s.load(&[0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
                s.load(&[beta, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
            ],
            lynxes: [
                s.load(&[0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
                s.load(&[-delta, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]),
            ],
        }
    }

    #[inline(always)]
    fn evaluate(&self, s: S, [u, v]: Pair<S>) -> Pair<S> {
        let [alpha, beta, gamma, delta] = self.rates;
        let (hares, lynxes) = (s.splat(s.to_array(u)[0]), s.splat(s.to_array(v)[0]));
        let [constant, linear] = self.hares;
        let of_hares = s.fma(lynxes, linear, constant);
        let growth = s.fnma(beta, lynxes, alpha);
        let lost = s.fnma(s.mul(beta, hares), v, s.mul(growth, u));
        let [constant, linear] = self.lynxes;
        let of_lynxes = s.fma(hares, linear, constant);
        let decline = s.sub(s.mul(delta, hares), gamma);
        let gained = s.fma(s.mul(delta, lynxes), u, s.mul(decline, v));
        [s.fma(hares, of_hares, lost), s.fma(lynxes, of_lynxes, gained)]
    }
}

/// `x + h (weights . slopes)`, in loops: of functions of functions only what is inlined has the
/// level's instructions.
#[inline(always)]
fn combine<S: Simd, const N: usize>(
    s: S,
    x: Pair<S>,
    h: f64,
    weights: &[f64; N],
    slopes: &[Pair<S>; 7],
) -> Pair<S> {
    let mut sum = x;
    for (&weight, &[of_hares, of_lynxes]) in weights.iter().zip(slopes) {
        if weight != 0.0 {
            let weight = s.splat(h * weight);
            sum = [s.fma(weight, of_hares, sum[0]), s.fma(weight, of_lynxes, sum[1])];
        }
    }
    sum
}

/// A power of a positive number.
#[inline(always)]
fn power<S: Simd>(s: S, x: f64, exponent: f64) -> f64 {
    let log = vector::log(s, s.splat(x));
    s.to_array(vector::exp(s, s.mul(log, s.splat(exponent))))[0]
}

/// Both species at each time; whether there is a solution.
#[inline(always)]
fn solve<S: Simd>(
    s: S,
    rates: &[f64; 4],
    start: [f64; 2],
    times: &[f64],
    states: &mut [[[f64; 8]; 2]],
) -> bool {
    let slope = Slope::new(s, rates);
    let mut x = [
        s.load(&[start[0], 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
        s.load(&[start[1], 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]),
    ];
    let mut slopes = [x; 7];
    slopes[0] = slope.evaluate(s, x);
    let end = times.last().copied().unwrap_or(0.0);
    let (mut t, mut h, mut tries) = (0.0, 0.1, 0);
    let mut wanted = times.iter().zip(states).peekable();
    while wanted.peek().is_some() {
        if t + h - end > f64::EPSILON {
            h = end - t;
        }
        tries += 1;
        if tries > MAX_STEPS || t + h <= t || h.is_nan() {
            return false;
        }
        // One by one, so that each has its own code with its weights in it.
        slopes[1] = slope.evaluate(s, combine(s, x, h, &STAGES[0], &slopes));
        slopes[2] = slope.evaluate(s, combine(s, x, h, &STAGES[1], &slopes));
        slopes[3] = slope.evaluate(s, combine(s, x, h, &STAGES[2], &slopes));
        slopes[4] = slope.evaluate(s, combine(s, x, h, &STAGES[3], &slopes));
        slopes[5] = slope.evaluate(s, combine(s, x, h, &STAGES[4], &slopes));
        let next = combine(s, x, h, &STAGES[5], &slopes);
        slopes[6] = slope.evaluate(s, next);
        let error = combine(s, [s.splat(0.0); 2], h, &ERROR, &slopes);
        let mut largest = s.splat(0.0);
        for k in 0..2 {
            let scale = s.add(s.abs(x[k]), s.abs(s.mul(s.splat(h), slopes[0][k])));
            let allowed = s.fma(s.splat(TOLERANCE[0]), scale, s.splat(TOLERANCE[1]));
            largest = s.max(largest, s.div(s.abs(error[k]), allowed));
        }
        let mut size = 0.0;
        for ratio in s.to_array(largest) {
            // A ratio that is no number stays.
            size = if ratio <= size { size } else { ratio };
        }
        if size.is_nan() {
            h *= 0.2;
            continue;
        }
        if size > 1.0 {
            h *= (0.9 * power(s, size, -1.0 / 3.0)).max(0.2);
            continue;
        }
        let ahead = t + h;
        while let Some((&time, state)) = wanted.next_if(|(time, _)| **time - ahead <= f64::EPSILON)
        {
            let weights = between((time - t) / (ahead - t));
            let [u, v] = combine(s, x, ahead - t, &weights, &slopes);
            s.store(u, &mut state[0]);
            s.store(v, &mut state[1]);
        }
        (t, x) = (ahead, next);
        slopes[0] = slopes[6];
        if size < 0.5 {
            h *= 0.9 * power(s, size.max(0.00032), -0.2);
        }
    }
    true
}

/// Weights of the slopes for the solution at a fraction of a step.
#[inline(always)]
fn between(fraction: f64) -> [f64; 7] {
    let rest = 1.0 - fraction;
    let (rise, both) =
        (fraction * fraction * (3.0 - 2.0 * fraction), fraction * fraction * rest * rest);
    let mut weights = [0.0; 7];
    for (weight, [constant, linear]) in weights.iter_mut().zip(BEYOND) {
        *weight = both * (constant + linear * fraction);
    }
    for (weight, solution) in weights.iter_mut().zip(STAGES[5]) {
        *weight += rise * solution;
    }
    weights[0] += fraction * rest * rest;
    weights[6] -= fraction * fraction * rest;
    weights
}
