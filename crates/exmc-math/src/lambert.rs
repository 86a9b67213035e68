//! Lambert's W function, the inverse of $w e^w$: numbers -> its upper and its lower branch.
//!
//! Newton's steps on $w + \log|w| - \log|x|$ where the exponential is far from one, Halley's on $w
//! e^w - x$ elsewhere, and the series of the branch point beside it, where both lose digits.
//! **Reference**: Corless et al. 1996.

use crate::elementary::{exp, log};

/// Upper and lower part of e.
const E: [f64; 2] = [std::f64::consts::E, 1.445_646_891_729_250_2e-16];

/// Coefficients of $W = -1 + s - s^2/3 + \dots$ with $s^2 = 2(1+ex)$, from the second one on.
/// **Reference**: Corless et al. 1996, eq. 4.22.
const SERIES: [f64; 9] = [
    1.0,
    -1.0 / 3.0,
    11.0 / 72.0,
    -43.0 / 540.0,
    769.0 / 17_280.0,
    -221.0 / 8_505.0,
    680_863.0 / 43_545_600.0,
    -1_963.0 / 204_120.0,
    226_287_557.0 / 37_623_398_400.0,
];

/// $W_0(x)$, at least -1.
///
/// **Edges**: -1 at $-1/e$ (rounded), 0 at 0, +∞ at +∞; NaN below $-1/e$.
///
/// ```
/// assert!((exmc_math::lambert_w0(1.0) / 0.5671432904097838 - 1.0).abs() < 1e-15);
/// ```
pub fn lambert_w0(x: f64) -> f64 {
    if x.is_nan() || x == f64::INFINITY || x == 0.0 {
        return x;
    }
    let Some(s) = beside_branch_point(x) else { return f64::NAN };
    if s < 0.05 {
        return series(s);
    }
    if x > 3.0 {
        let log_x = log(x);
        return by_logarithms(log_x - log(log_x).max(0.0), log_x);
    }
    let start =
        if x < 0.3 { series(s.min(0.8)).max(-0.999) } else { 0.4 * x / (1.0 + 0.17 * x) + 0.13 };
    halley(start, x)
}

/// $W_{-1}(x)$, at most -1.
///
/// **Edges**: -1 at $-1/e$ (rounded), -∞ at 0; NaN below $-1/e$ and above 0.
///
/// ```
/// assert!((exmc_math::lambert_wm1(-0.1) / -3.577152063957297 - 1.0).abs() < 1e-15);
/// ```
pub fn lambert_wm1(x: f64) -> f64 {
    if x.is_nan() || x > 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    let Some(s) = beside_branch_point(x) else { return f64::NAN };
    if s < 0.05 {
        return series(-s);
    }
    if x > -0.25 {
        let log_x = log(-x);
        return by_logarithms(log_x - log(-log_x), log_x);
    }
    halley(series(-s), x)
}

/// $\sqrt{2(1+ex)}$ without cancelling; nothing where it does not exist. The double next to $-1/e$
/// may lie below it.
fn beside_branch_point(x: f64) -> Option<f64> {
    let rest = libm::fma(x, E[0], 1.0) + x * E[1];
    if rest < -1e-16 { None } else { Some((2.0 * rest.max(0.0)).sqrt()) }
}

fn series(s: f64) -> f64 {
    SERIES.iter().rev().fold(0.0, |sum, c| (sum + c) * s) - 1.0
}

/// Newton's steps on $w + \log|w| - \log|x|$.
fn by_logarithms(start: f64, log_x: f64) -> f64 {
    let mut w = start;
    for _ in 0..20 {
        let miss = w + log(w.abs()) - log_x;
        let step = miss * w / (w + 1.0);
        w -= step;
        if step.abs() <= 1e-16 * w.abs() {
            break;
        }
    }
    w
}

fn halley(start: f64, x: f64) -> f64 {
    let mut w = start;
    for _ in 0..30 {
        let e = exp(w);
        let f = w * e - x;
        let step = f / (e * (w + 1.0) - 0.5 * (w + 2.0) * f / (w + 1.0));
        w -= step;
        if step.abs() <= 1e-16 * w.abs() {
            break;
        }
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        let branch = -1.0 / std::f64::consts::E;
        assert_eq!((lambert_w0(branch).round(), lambert_wm1(branch).round()), (-1.0, -1.0));
        assert_eq!((lambert_w0(0.0), lambert_wm1(0.0)), (0.0, f64::NEG_INFINITY));
        assert_eq!(lambert_w0(f64::INFINITY), f64::INFINITY);
        for x in [-0.4, f64::NEG_INFINITY, f64::NAN] {
            assert!(lambert_w0(x).is_nan() && lambert_wm1(x).is_nan());
        }
        assert!(lambert_wm1(1e-300).is_nan());
    }
}
