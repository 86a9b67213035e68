//! Counts and categories: Poisson, binomial, multinomial and categorical draws.
//!
//! Small means go by inversion, large ones by transformed rejection with squeeze (PTRS, BTRS),
//! whose exact test compares log probabilities summed in double-double, so large counts stay
//! unbiased. **Reference**: Hörmann 1993 (both rejections).

use crate::double_double::Dd;
use crate::elementary::{exp, log, log1p};
use crate::gamma::lgamma_dd;
use crate::incomplete_gamma::log_factor;
use crate::random::ChainRng;

/// Beyond this mean a count is not an exact `f64` any more.
const MAX_MEAN: f64 = 4e15;

/// A draw from the Poisson distribution with mean `rate`, an integer as `f64`.
///
/// **Edges**: rate 0 gives 0; NaN for a negative rate and for one above 4e15, where counts have no
/// exact `f64`.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// assert_eq!(draws::poisson(&mut ChainRng::new(1, 0, Phase::Predictive), 0.0), 0.0);
/// ```
pub fn poisson(rng: &mut ChainRng, rate: f64) -> f64 {
    if !(0.0..=MAX_MEAN).contains(&rate) {
        f64::NAN
    } else if rate == 0.0 {
        0.0
    } else if rate < 10.0 {
        invert(rng, exp(-rate), f64::INFINITY, |k| rate / k)
    } else {
        poisson_ptrs(rng, rate)
    }
}

/// Transformed rejection with squeeze; the constants are Hörmann's fits.
fn poisson_ptrs(rng: &mut ChainRng, rate: f64) -> f64 {
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.024_83 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let squeeze = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let u = rng.uniform_open() - 0.5;
        let v = rng.uniform_open();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        if us >= 0.07 && v <= squeeze {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        if log(v * inverse_alpha / (a / (us * us) + b)) <= log_factor(k, rate).value() {
            return k;
        }
    }
}

/// A draw from the binomial distribution: successes in `n` trials of probability `p`, an integer as
/// `f64`.
///
/// **Edges**: `p` = 0 gives 0, `p` = 1 gives `n`; NaN for `p` outside `[0, 1]`, `n` negative,
/// fractional or above 4e15.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// assert_eq!(draws::binomial(&mut ChainRng::new(1, 0, Phase::Predictive), 7.0, 1.0), 7.0);
/// ```
pub fn binomial(rng: &mut ChainRng, n: f64, p: f64) -> f64 {
    if !(0.0..=MAX_MEAN).contains(&n) || n.floor() != n || !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if p > 0.5 {
        n - binomial_below_half(rng, n, 1.0 - p)
    } else {
        binomial_below_half(rng, n, p)
    }
}

fn binomial_below_half(rng: &mut ChainRng, n: f64, p: f64) -> f64 {
    if n == 0.0 || p == 0.0 {
        0.0
    } else if n * p < 10.0 {
        let odds = p / (1.0 - p);
        invert(rng, exp(n * log1p(-p)), n, |k| (n - k + 1.0) / k * odds)
    } else {
        binomial_btrs(rng, n, p)
    }
}

/// Transformed rejection with squeeze for `n p >= 10`, `p <= 1/2`; the constants are Hörmann's
/// fits.
fn binomial_btrs(rng: &mut ChainRng, n: f64, p: f64) -> f64 {
    let spread = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * spread;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let centre = n * p + 0.5;
    let alpha = (2.83 + 5.1 / b) * spread;
    let squeeze = 0.92 - 4.2 / b;
    let mode = ((n + 1.0) * p).floor();
    let log_odds = Dd::from(p).log() - Dd::difference(1.0, p).log();
    let log_falls = |k: f64| lgamma_dd(Dd::sum(k, 1.0)) + lgamma_dd(Dd::difference(n, k) + Dd::ONE);
    loop {
        let u = rng.uniform_open() - 0.5;
        let v = rng.uniform_open();
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + centre).floor();
        if !(0.0..=n).contains(&k) {
            continue;
        }
        if us >= 0.07 && v <= squeeze {
            return k;
        }
        let log_ratio = log_falls(mode) - log_falls(k) + log_odds * (k - mode);
        if log(v * alpha / (a / (us * us) + b)) <= log_ratio.value() {
            return k;
        }
    }
}

/// Inversion by search from zero: `first` is the probability of zero, `ratio(k)` that of `k` over
/// that of `k - 1`.
fn invert(rng: &mut ChainRng, first: f64, last: f64, ratio: impl Fn(f64) -> f64) -> f64 {
    loop {
        let mut u = rng.uniform();
        let (mut k, mut p) = (0.0, first);
        while u >= p && k < last {
            u -= p;
            k += 1.0;
            p *= ratio(k);
            if p < 1e-20 && k > 20.0 {
                break;
            }
        }
        // Rounding may leave up to 1e-15 of u beyond the whole mass: draw again.
        if u < p || k == last {
            return k;
        }
    }
}

/// Counts of `n` trials over categories with these weights (not necessarily normalised), into
/// `out`.
///
/// **Edges**: all NaN for invalid `n` (see [`binomial`]) or weights that are negative, NaN,
/// infinite or all zero. **Panics** if the lengths differ. **Numerics**: one binomial per category,
/// given the ones before.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// let mut out = [0.0; 3];
/// draws::multinomial(&mut ChainRng::new(1, 0, Phase::Predictive), 10.0, &[1.0, 0.0, 3.0], &mut out);
/// assert_eq!((out[0] + out[2], out[1]), (10.0, 0.0));
/// ```
pub fn multinomial(rng: &mut ChainRng, n: f64, weights: &[f64], out: &mut [f64]) {
    assert_eq!(weights.len(), out.len(), "a multinomial draw needs one place per weight");
    let total: f64 = weights.iter().sum();
    let valid = weights.iter().all(|&w| w >= 0.0) && total > 0.0 && total < f64::INFINITY;
    if !valid || !(0.0..=MAX_MEAN).contains(&n) || n.floor() != n {
        out.fill(f64::NAN);
        return;
    }
    let mut left = n;
    for (i, out) in out.iter_mut().enumerate() {
        // The weight from here on, summed afresh: subtracting would leave a rounding error for the
        // last ones.
        let rest: f64 = weights[i + 1..].iter().sum();
        let w = weights[i];
        *out = if w == 0.0 || left == 0.0 { 0.0 } else { binomial(rng, left, w / (w + rest)) };
        left -= *out;
    }
}

/// An index drawn with probability proportional to its weight.
///
/// **Edges**: `None` if a weight is negative or NaN, or the total is not positive and finite.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// assert_eq!(draws::categorical(&mut ChainRng::new(1, 0, Phase::Predictive), &[0.0, 2.0]), Some(1));
/// ```
pub fn categorical(rng: &mut ChainRng, weights: &[f64]) -> Option<usize> {
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total < f64::INFINITY && weights.iter().all(|&w| w >= 0.0)) {
        return None;
    }
    pick(rng, total, weights.iter().copied())
}

/// An index drawn with probability proportional to the exponential of its log weight.
///
/// **Edges**: -∞ is weight zero; `None` if any is NaN or +∞, or all are -∞.
///
/// ```
/// # use exmc_math::random::{ChainRng, Phase, draws};
/// let logs = [f64::NEG_INFINITY, -2000.0];
/// assert_eq!(draws::categorical_log(&mut ChainRng::new(1, 0, Phase::Predictive), &logs), Some(1));
/// ```
pub fn categorical_log(rng: &mut ChainRng, log_weights: &[f64]) -> Option<usize> {
    let largest = log_weights.iter().fold(f64::NEG_INFINITY, |m, &x| m.max(x));
    if largest.is_infinite() || log_weights.iter().any(|x| x.is_nan()) {
        return None;
    }
    let weights = || log_weights.iter().map(|&x| exp(x - largest));
    pick(rng, weights().sum(), weights())
}

/// Walks the weights until their sum passes a uniform share of the total; never picks a zero
/// weight.
fn pick(rng: &mut ChainRng, total: f64, weights: impl Iterator<Item = f64>) -> Option<usize> {
    let mut left = rng.uniform_open() * total;
    let mut last = None;
    for (i, weight) in weights.enumerate() {
        if weight > 0.0 {
            last = Some(i);
            if left < weight {
                break;
            }
            left -= weight;
        }
    }
    last
}
