//! Stochastic volatility: returns -> a gradient in one pass over the log scales.

use exmc_math::simd::{Kernel, Level, LogProduct, Simd, vector};

use super::{Gradient, eight};
use crate::models::Data;

pub(super) fn kernel(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let (t, returns) = (data.size("T")?, data.values("r")?);
    if t == 0 || returns.len() != t {
        return Err(format!("expected {t} returns, found {}", returns.len()));
    }
    let squares: Vec<f64> = returns.iter().map(|r| r * r).collect();
    let squares: Vec<[f64; 8]> = (0..t.div_ceil(8)).map(|v| eight(&squares, 8 * v)).collect();
    // The log scales between a zero before the first and copies of the last.
    let mut scales = vec![0.0; 8 * squares.len() + 16];
    let mut slopes = vec![[0.0; 8]; squares.len()];
    Ok(Box::new(move |position, gradient| {
        level.run(Volatility {
            squares: &squares,
            scales: &mut scales,
            slopes: &mut slopes,
            position,
            gradient,
        })
    }))
}

/// log nu, s, log sigma.
struct Volatility<'a> {
    /// Squared returns, filled up with zeros.
    squares: &'a [[f64; 8]],
    scales: &'a mut [f64],
    slopes: &'a mut [[f64; 8]],
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Volatility<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { squares, scales, slopes, position, gradient } = self;
        let t = position.len() - 2;
        let (log_nu, log_sigma) = (position[0], position[t + 1]);
        let exps = [log_nu, -log_nu, log_sigma, -2.0 * log_sigma, 0.0, 0.0, 0.0, 0.0];
        let [nu, reciprocal, sigma, weight, ..] = s.to_array(vector::exp(s, s.load(&exps)));
        scales[8..8 + t].copy_from_slice(&position[1..=t]);
        scales[8 + t..].fill(position[t]);
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let (power, pull) = (s.splat(nu + 1.0), s.splat(weight));
        let (mut logs, mut shares, mut steps, mut level) = (LogProduct::new(s), zero, zero, zero);
        for (v, (square, slope)) in squares.iter().zip(slopes.iter_mut()).enumerate() {
            let start = 8 * v;
            let Some(window) = scales[start + 7..].first_chunk::<10>() else { break };
            let (Some(before), Some(now), Some(after)) = (
                window.first_chunk::<8>(),
                window[1..].first_chunk::<8>(),
                window[2..].first_chunk::<8>(),
            ) else {
                break;
            };
            let (before, now, after) = (s.load(before), s.load(now), s.load(after));
            let scaled = s.mul(s.load(square), s.splat(reciprocal));
            let q = s.mul(scaled, vector::exp(s, s.mul(now, s.splat(-2.0))));
            let above = s.add(one, q);
            let share = s.div(q, above);
            logs.multiply(s, above);
            shares = s.add(shares, share);
            let (step, next) = (s.sub(now, before), s.sub(after, now));
            steps = s.fma(step, step, steps);
            level = s.add(level, now);
            let of_walk = s.mul(pull, s.sub(next, step));
            s.store(s.add(s.fma(power, share, of_walk), s.splat(-1.0)), slope);
        }
        gradient[1..=t].copy_from_slice(&slopes.as_flattened()[..t]);
        // The copies of the last log scale were counted with the level.
        let copies = (8 * squares.len() - t) as f64;
        let level = s.total(level) - copies * position[t];
        let (logs, shares) = (logs.finish(s), s.total(shares));
        let steps = s.total(steps) * weight;
        let n = t as f64;
        // Lane 0 and 1: (nu + 1) / 2 and nu / 2.
        let mut halves = [1.0; 8];
        (halves[0], halves[1]) = (0.5 * (nu + 1.0), 0.5 * nu);
        let halves = s.load(&halves);
        let (gamma, slope) =
            (s.to_array(vector::lgamma(s, halves)), s.to_array(vector::digamma(s, halves)));
        let of_nu = 0.5 * (n * (slope[0] - slope[1]) - logs + n * -reciprocal)
            + 0.5 * (nu + 1.0) * reciprocal * shares;
        gradient[0] = nu * (of_nu - 0.1) + 1.0;
        gradient[t + 1] = steps - n - 50.0 * sigma + 1.0;
        let likelihood = n * (gamma[0] - gamma[1] - 0.5 * log_nu) - level - 0.5 * (nu + 1.0) * logs;
        let priors = log_nu - 0.1 * nu + log_sigma - 50.0 * sigma;
        likelihood - 0.5 * steps - n * log_sigma + priors
    }
}
