//! A mixture of two normal distributions: outcomes -> a gradient in one pass, with one exponential
//! an outcome.
//!
//! With $d$ the difference of the components' log densities and $e = e^{-|d|}$ an outcome adds the
//! larger one and $\log(1+e)$; the responsibilities are $1/(1+e)$ and $e/(1+e)$. The logarithms are
//! that of a product.

use exmc_math::simd::{Kernel, Level, Simd, vector};

use super::{Gradient, eight};
use crate::models::Data;

/// Factors up to 2 that a product takes before its logarithm is due.
const MAX_FACTORS: usize = 1000;

pub(super) fn kernel(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let y = data.values("y")?;
    let lines: Vec<[f64; 8]> = (0..y.len().div_ceil(8)).map(|v| eight(&y, 8 * v)).collect();
    let last = y.len() + 8 - 8 * lines.len();
    let present = std::array::from_fn(|lane| f64::from(lane < last));
    let n = y.len() as f64;
    Ok(Box::new(move |position, gradient| {
        level.run(Mixture { lines: &lines, present: &present, n, position, gradient })
    }))
}

/// mu (first, log step), log sigma (two), logit theta.
struct Mixture<'a> {
    lines: &'a [[f64; 8]],
    /// 1 in lanes of the last line that are outcomes, else 0.
    present: &'a [f64; 8],
    n: f64,
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Mixture<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { lines, present, n, position, gradient } = self;
        let (Some(&[first, step, log_0, log_1, logit]), Some((last, full_lines))) =
            (position.first_chunk::<5>(), lines.split_last())
        else {
            return f64::NAN;
        };
        let exps = [step, -log_0, -log_1, -logit.abs(), 0.0, 0.0, 0.0, 0.0];
        let [gap, inverse_0, inverse_1, odds, ..] = s.to_array(vector::exp(s, s.load(&exps)));
        let larger = 1.0 / (1.0 + odds);
        let (theta, rest) =
            if logit > 0.0 { (larger, odds * larger) } else { (odds * larger, larger) };
        let weights = [theta, rest, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let [log_theta, log_rest, ..] = s.to_array(vector::log(s, s.load(&weights)));
        let second = first + gap;
        let constants = Constants {
            means: [s.splat(first), s.splat(second)],
            inverses: [s.splat(inverse_0), s.splat(inverse_1)],
            levels: [s.splat(log_theta - log_0), s.splat(log_rest - log_1)],
        };
        let (zero, one) = (s.splat(0.0), s.splat(1.0));
        let mut sums =
            Sums { logp: zero, product: one, shares: zero, z: [zero; 2], squares: [zero; 2] };
        for chunk in full_lines.chunks(MAX_FACTORS - 1) {
            for line in chunk {
                sums.add::<false>(s, &constants, s.load(line), one);
            }
            sums.logp = s.add(sums.logp, vector::log(s, sums.product));
            sums.product = one;
        }
        sums.add::<true>(s, &constants, s.load(last), s.load(present));
        let logp = s.total(s.add(sums.logp, vector::log(s, sums.product)));
        let of_1 = s.total(sums.shares);
        let of_0 = n - of_1;
        let (sigma_0, sigma_1) = (1.0 / inverse_0, 1.0 / inverse_1);
        let of_first = s.total(sums.z[0]) * inverse_0 - 0.25 * first;
        let of_second = s.total(sums.z[1]) * inverse_1 - 0.25 * second;
        gradient[0] = of_first + of_second;
        gradient[1] = of_second * gap + 1.0;
        gradient[2] = s.total(sums.squares[0]) - of_0 - 0.25 * sigma_0 * sigma_0 + 1.0;
        gradient[3] = s.total(sums.squares[1]) - of_1 - 0.25 * sigma_1 * sigma_1 + 1.0;
        gradient[4] = (of_0 + 5.0) * rest - (of_1 + 5.0) * theta;
        let squares = first * first + second * second + sigma_0 * sigma_0 + sigma_1 * sigma_1;
        logp - 0.125 * squares + step + log_0 + log_1 + 5.0 * (log_theta + log_rest)
    }
}

struct Constants<S: Simd> {
    means: [S::Vector; 2],
    inverses: [S::Vector; 2],
    /// Log weights less log scales.
    levels: [S::Vector; 2],
}

struct Sums<S: Simd> {
    logp: S::Vector,
    product: S::Vector,
    /// Responsibilities of the second component.
    shares: S::Vector,
    /// Standardised residuals times responsibilities, and their squares times these.
    z: [S::Vector; 2],
    squares: [S::Vector; 2],
}

impl<S: Simd> Sums<S> {
    #[inline(always)]
    fn add<const PART: bool>(&mut self, s: S, c: &Constants<S>, y: S::Vector, present: S::Vector) {
        let (one, half) = (s.splat(1.0), s.splat(0.5));
        let z_0 = s.mul(s.sub(y, c.means[0]), c.inverses[0]);
        let z_1 = s.mul(s.sub(y, c.means[1]), c.inverses[1]);
        let (square_0, square_1) = (s.mul(z_0, z_0), s.mul(z_1, z_1));
        let a_0 = s.fnma(square_0, half, c.levels[0]);
        let a_1 = s.fnma(square_1, half, c.levels[1]);
        let difference = s.sub(a_1, a_0);
        let e = vector::exp_minus_abs(s, difference);
        let mut above = s.add(one, e);
        let larger = s.div(one, above);
        let smaller = s.mul(e, larger);
        let first = s.lt(difference, s.splat(0.0));
        let (mut share_0, mut share_1) =
            (s.select(first, larger, smaller), s.select(first, smaller, larger));
        let mut most = s.max(a_0, a_1);
        if PART {
            let absent = s.lt(present, half);
            above = s.select(absent, one, above);
            (share_0, share_1) = (s.mul(share_0, present), s.mul(share_1, present));
            most = s.mul(most, present);
        }
        self.product = s.mul(self.product, above);
        self.logp = s.add(self.logp, most);
        self.shares = s.add(self.shares, share_1);
        self.z = [s.fma(share_0, z_0, self.z[0]), s.fma(share_1, z_1, self.z[1])];
        self.squares =
            [s.fma(share_0, square_0, self.squares[0]), s.fma(share_1, square_1, self.squares[1])];
    }
}
