//! Error functions and the standard normal distribution: cdf, its log, its quantile, all accurate
//! in both tails.
//!
//! Largest relative errors over the tables in `tests/data`: `erf` 2e-16, `erfc` 3e-16 (x from -6 to
//! 26), `erfcx` 4e-16, `std_normal_cdf` 5e-16 (x from -37), `log_std_normal_cdf` 4e-16 (x from
//! -1e6), `inverse_mills` 7e-16, `std_normal_quantile` 4e-16, `std_normal_quantile_log` 8e-16.
//! **Reference**: Abramowitz and Stegun 1964, 7.1; Wichura 1988 (AS 241).

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use crate::double_double::Dd;
use crate::quantile_start::{central_start, tail_start};

/// Error function $\frac2{\sqrt\pi}\int_0^x e^{-t^2}dt$. **Edges**: ±1 at ±∞.
///
/// ```
/// assert!((exmc_math::erf(1.0) / 0.8427007929497149 - 1.0).abs() < 1e-15);
/// ```
#[inline]
pub fn erf(x: f64) -> f64 {
    libm::erf(x)
}

/// Complementary error function $1-\operatorname{erf}x$, relative accuracy to its underflow at
/// 26.5.
///
/// ```
/// assert!((exmc_math::erfc(10.0) / 2.088487583762545e-45 - 1.0).abs() < 1e-15);
/// ```
#[inline]
pub fn erfc(x: f64) -> f64 {
    libm::erfc(x)
}

/// Scaled complementary error function $e^{x^2}\operatorname{erfc}x$.
///
/// **Edges**: 0 at +∞, +∞ below -26.6. **Numerics**: the product with $x^2$ in two parts below 10,
/// the asymptotic series above.
///
/// ```
/// assert!((exmc_math::erfcx(100.0) / 0.005641613782989433 - 1.0).abs() < 1e-15);
/// ```
pub fn erfcx(x: f64) -> f64 {
    if x < 10.0 {
        if x < -27.0 {
            return f64::INFINITY;
        }
        Dd::product(x, x).exp() * erfc(x)
    } else if x < 1e8 {
        let z = -0.5 / (x * x);
        let (mut term, mut sum) = (1.0, 1.0);
        for k in 0..14 {
            term *= z * f64::from(2 * k + 1);
            sum += term;
        }
        sum / (x * PI.sqrt())
    } else {
        1.0 / (x * PI.sqrt())
    }
}

/// Density of the standard normal, $e^{-x^2/2}/\sqrt{2\pi}$, with the square taken in two parts.
///
/// ```
/// assert!((exmc_math::std_normal_pdf(0.0) / 0.3989422804014327 - 1.0).abs() < 1e-15);
/// ```
pub fn std_normal_pdf(x: f64) -> f64 {
    if x.abs() > 40.0 { 0.0 } else { gauss(x) * (FRAC_1_SQRT_2 / PI.sqrt()) }
}

/// Cumulative distribution function of the standard normal, $\Phi(x)$.
///
/// **Edges**: 0 below -38.5, 1 above 8.3; NaN in gives NaN. **Numerics**: below -1 it is
/// $e^{-x^2/2}\operatorname{erfcx}(-x/\sqrt2)/2$ with $x^2$ in two parts: rounding $x/\sqrt2$
/// inside `erfc` would cost $x^2$ ulp.
///
/// ```
/// assert!((exmc_math::std_normal_cdf(-10.0) / 7.61985302416052606e-24 - 1.0).abs() < 1e-15);
/// ```
pub fn std_normal_cdf(x: f64) -> f64 {
    if x >= -1.0 {
        0.5 * erfc(-x * FRAC_1_SQRT_2)
    } else if x < -40.0 {
        0.0
    } else {
        gauss(x) * (0.5 * erfcx(-x * FRAC_1_SQRT_2))
    }
}

/// Log of the standard normal cdf, $\log\Phi(x)$, in nats; $\log\Phi(-x)$ is the log survival
/// function.
///
/// **Edges**: -∞ at -∞, 0 at +∞; finite down to -1e154.
///
/// ```
/// assert!((exmc_math::log_std_normal_cdf(-10.0) - -53.23128515051247).abs() < 1e-13);
/// assert!((exmc_math::log_std_normal_cdf(-40.0) - -804.6084420137538).abs() < 1e-12);
/// ```
pub fn log_std_normal_cdf(x: f64) -> f64 {
    if x > 0.0 {
        libm::log1p(-std_normal_cdf(-x))
    } else if x > -1.0 {
        libm::log(0.5 * erfc(-x * FRAC_1_SQRT_2))
    } else {
        // Two negative parts: nothing cancels.
        libm::log(0.5 * erfcx(-x * FRAC_1_SQRT_2)) - 0.5 * x * x
    }
}

/// Inverse Mills ratio $\varphi(x)/\Phi(x)$, the derivative of [`log_std_normal_cdf`].
///
/// **Edges**: like $-x$ far left, 0 far right. Its own derivative is $-r(x + r)$ with $r$ this
/// ratio.
///
/// ```
/// assert!((exmc_math::inverse_mills(0.0) / 0.7978845608028654 - 1.0).abs() < 1e-15);
/// ```
pub fn inverse_mills(x: f64) -> f64 {
    if x > 0.0 {
        std_normal_pdf(x) / std_normal_cdf(x)
    } else {
        (2.0 * FRAC_1_SQRT_2 / PI.sqrt()) / erfcx(-x * FRAC_1_SQRT_2)
    }
}

/// Standard normal quantile $\Phi^{-1}(p)$.
///
/// **Edges**: ∓∞ at 0 and 1, NaN outside `[0, 1]`. **Numerics**: Wichura's rational start (1e-15),
/// then one Newton step on the tail probability or, between 0.075 and 0.925, on `erf`.
///
/// ```
/// assert!((exmc_math::std_normal_quantile(0.975) / 1.959963984540054 - 1.0).abs() < 1e-15);
/// ```
pub fn std_normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let start = central_start(q);
        let miss = 0.5 * erf(start * FRAC_1_SQRT_2) - q;
        return start - miss / std_normal_pdf(start);
    }
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    // The complement is exact here: p is above one half.
    let tail = if q < 0.0 { p } else { 1.0 - p };
    if tail == 0.0 {
        return if q < 0.0 { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    let start = -tail_start((-libm::log(tail)).sqrt());
    // A subnormal tail has too few digits for the step to help.
    let refined = if tail > 1e-305 {
        start - (std_normal_cdf(start) - tail) / std_normal_pdf(start)
    } else {
        start
    };
    if q < 0.0 { refined } else { -refined }
}

/// Standard normal quantile of a probability given by its log, $\Phi^{-1}(e^{l})$ for $l \le 0$.
///
/// **Edges**: +∞ at 0, -∞ at -∞, NaN above 0. **Numerics**: Newton's iteration on $\log\Phi$, which
/// is nearly a parabola in the tail; accurate for probabilities far below the smallest double.
///
/// ```
/// assert!((exmc_math::std_normal_quantile_log(-804.6084420137538) + 40.0).abs() < 1e-13);
/// ```
pub fn std_normal_quantile_log(log_p: f64) -> f64 {
    if log_p.is_nan() || log_p > 0.0 {
        return f64::NAN;
    }
    if log_p > -0.6 {
        return -std_normal_quantile(-libm::expm1(log_p));
    }
    if log_p == f64::NEG_INFINITY {
        return log_p;
    }
    let root = (-log_p).sqrt();
    let mut x = if log_p > -700.0 {
        std_normal_quantile(libm::exp(log_p))
    } else {
        -tail_start_beyond(root)
    };
    for _ in 0..4 {
        let step = (log_std_normal_cdf(x) - log_p) / inverse_mills(x);
        x -= step;
        if step.abs() <= 1e-9 * x.abs() {
            break;
        }
    }
    x
}

/// Leading terms of $-\Phi^{-1}$ for `root` $=\sqrt{-\log p}$ above 26.
fn tail_start_beyond(root: f64) -> f64 {
    let square = 2.0 * root * root;
    (square - libm::log(square * 2.0 * PI)).sqrt()
}

/// $e^{-x^2/2}$ with the square in two parts.
fn gauss(x: f64) -> f64 {
    (Dd::product(x, x) * -0.5).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    #[test]
    fn edges_are_limits() {
        assert_eq!((erf(INF), erfc(-INF), erfcx(INF), erfcx(-INF)), (1.0, 2.0, 0.0, INF));
        assert_eq!((std_normal_cdf(-INF), std_normal_cdf(INF)), (0.0, 1.0));
        assert_eq!((log_std_normal_cdf(-INF), log_std_normal_cdf(INF)), (-INF, 0.0));
        assert_eq!((inverse_mills(INF), inverse_mills(-INF)), (0.0, INF));
        assert_eq!((std_normal_quantile(0.0), std_normal_quantile(1.0)), (-INF, INF));
        assert_eq!((std_normal_quantile(0.5), std_normal_quantile_log(0.0)), (0.0, INF));
        assert_eq!(std_normal_quantile_log(-INF), -INF);
        assert_eq!(std_normal_pdf(-INF), 0.0);
    }

    #[test]
    fn outside_the_domain_is_nan() {
        for f in [
            erf,
            erfc,
            erfcx,
            std_normal_cdf,
            log_std_normal_cdf,
            inverse_mills,
            std_normal_quantile,
        ] {
            assert!(f(f64::NAN).is_nan());
        }
        assert!(std_normal_quantile(-1e-9).is_nan() && std_normal_quantile(1.0 + 1e-9).is_nan());
        assert!(
            std_normal_quantile_log(1e-9).is_nan() && std_normal_quantile_log(f64::NAN).is_nan()
        );
    }

    #[test]
    fn quantile_of_the_smallest_double() {
        // scipy.special.ndtri(5e-324) and mpmath agree on these digits.
        assert!((std_normal_quantile(5e-324) + 38.467_405_617_144_4).abs() < 1e-9);
    }
}
