//! The logistic family: log odds to probabilities and back, softplus, and logs of one minus an
//! exponential.
//!
//! Every function keeps relative accuracy (2e-15 over the tables, also next to its zeros) in both
//! tails. NaN in gives NaN. **Reference**: Mächler 2012, "Accurately computing log(1 - exp(-|a|))".

use std::f64::consts::LN_2;

use crate::elementary::{exp, expm1, log, log1p};

/// Low part of log 2: `LN_2 + LN_2_LOW` carries 106 bits.
const LN_2_LOW: f64 = 2.3190468138462996e-17;

/// Inverse logit $1/(1+e^{-x})$: log odds to probability, with full relative accuracy as $x \to
/// -\infty$.
///
/// **Edges**: 0 below about -745, 1 above 37.
///
/// ```
/// assert!((exmc_math::inv_logit(-700.0) / 9.859676543759770e-305 - 1.0).abs() < 1e-15);
/// ```
#[inline]
pub fn inv_logit(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + exp(-x))
    } else {
        let e = exp(x);
        e / (1.0 + e)
    }
}

/// Logit $\log p - \log(1-p)$: probability to log odds. **Edges**: ∓∞ at 0 and 1, NaN outside.
///
/// Between 1/4 and 3/4 it is `log1p((2p - 1) / (1 - p))`, whose argument is rounded once, so the
/// zero at 1/2 is exact.
///
/// ```
/// assert_eq!(exmc_math::logit(0.5), 0.0);
/// ```
#[inline]
pub fn logit(p: f64) -> f64 {
    if (0.25..=0.75).contains(&p) {
        log1p((2.0 * p - 1.0) / (1.0 - p))
    } else if (0.0..=1.0).contains(&p) {
        log(p) - log1p(-p)
    } else {
        f64::NAN
    }
}

/// Softplus $\log(1+e^x)$, also called `log1p_exp`. **Edges**: $e^x$ far left, $x$ far right, no
/// overflow.
///
/// ```
/// assert!((exmc_math::softplus(-40.0) / 4.248354255291589e-18 - 1.0).abs() < 1e-15);
/// assert_eq!(exmc_math::softplus(800.0), 800.0);
/// ```
#[inline]
pub fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + log1p(exp(-x)) } else { log1p(exp(x)) }
}

/// $\log(1+e^x)$ under Stan's name; see [`softplus`].
///
/// ```
/// assert_eq!(exmc_math::log1p_exp(0.0), std::f64::consts::LN_2);
/// ```
#[inline]
pub fn log1p_exp(x: f64) -> f64 {
    softplus(x)
}

/// Inverse of [`softplus`], $\log(e^y - 1)$ for $y > 0$. **Edges**: -∞ at 0, NaN below, no
/// overflow.
///
/// Near its zero at log 2 it is `log1p(2 expm1(y - log 2))` with log 2 in two parts.
///
/// ```
/// assert_eq!(exmc_math::softplus_inverse(1000.0), 1000.0);
/// ```
#[inline]
pub fn softplus_inverse(y: f64) -> f64 {
    if y > 1.0 {
        y + log1p(-exp(-y))
    } else if y > 0.5 {
        log1p(2.0 * expm1((y - LN_2) - LN_2_LOW))
    } else {
        log(expm1(y))
    }
}

/// $\log\operatorname{inv\\_logit}(x) = -\operatorname{softplus}(-x)$.
///
/// ```
/// assert_eq!(exmc_math::log_inv_logit(-800.0), -800.0);
/// ```
#[inline]
pub fn log_inv_logit(x: f64) -> f64 {
    -softplus(-x)
}

/// $\log(1 - \operatorname{inv\\_logit}(x)) = -\operatorname{softplus}(x)$.
///
/// ```
/// assert_eq!(exmc_math::log1m_inv_logit(800.0), -800.0);
/// ```
#[inline]
pub fn log1m_inv_logit(x: f64) -> f64 {
    -softplus(x)
}

/// $\log(1 - e^x)$ for $x \le 0$. **Edges**: -∞ at 0, 0 at -∞, NaN above 0.
///
/// ```
/// assert_eq!(exmc_math::log1m_exp(0.0), f64::NEG_INFINITY);
/// ```
#[inline]
pub fn log1m_exp(x: f64) -> f64 {
    if x > -LN_2 { log(-expm1(x)) } else { log1p(-exp(x)) }
}

/// $\log(1 - x)$, that is `log1p(-x)` under Stan's name.
///
/// ```
/// assert_eq!(exmc_math::log1m(1.0), f64::NEG_INFINITY);
/// ```
#[inline]
pub fn log1m(x: f64) -> f64 {
    log1p(-x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_limits() {
        let inf = f64::INFINITY;
        assert_eq!((inv_logit(-inf), inv_logit(0.0), inv_logit(inf)), (0.0, 0.5, 1.0));
        assert_eq!((logit(0.0), logit(1.0)), (-inf, inf));
        assert_eq!((softplus(-inf), softplus(inf)), (0.0, inf));
        assert_eq!((softplus_inverse(0.0), softplus_inverse(inf)), (-inf, inf));
        assert_eq!((log1m_exp(-inf), log1m_exp(0.0)), (0.0, -inf));
        assert_eq!((log_inv_logit(-inf), log_inv_logit(inf)), (-inf, 0.0));
    }

    #[test]
    fn outside_the_domain_is_nan() {
        for f in [inv_logit, logit, softplus, softplus_inverse, log1m_exp, log_inv_logit] {
            assert!(f(f64::NAN).is_nan());
        }
        for x in [-1e-300, 1.0 + f64::EPSILON, f64::INFINITY] {
            assert!(logit(x).is_nan());
        }
        assert!(softplus_inverse(-1.0).is_nan() && log1m_exp(1e-300).is_nan());
    }
}
