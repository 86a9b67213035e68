//! Sums and differences of numbers given by their logarithms: log scale to log scale, no overflow.

use crate::elementary::{exp, log, log1p};
use crate::logistic::{inv_logit, log1m_exp};

/// $\log(e^a + e^b)$. **Edges**: -∞ is the neutral element, +∞ absorbs, NaN in gives NaN.
///
/// ```
/// assert_eq!(exmc_math::log_add_exp(1000.0, 1000.0), 1000.0 + std::f64::consts::LN_2);
/// ```
#[inline]
pub fn log_add_exp(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() {
        return f64::NAN;
    }
    let (high, low) = if a >= b { (a, b) } else { (b, a) };
    if high.is_infinite() { high } else { high + log1p(exp(low - high)) }
}

/// $e^a / (e^a + e^b)$, the slope of [`log_add_exp`] by $a$. **Edges**: 0 where both are -∞, NaN
/// where both are +∞ or either is NaN.
///
/// ```
/// assert_eq!(exmc_math::log_add_exp_share(-1000.0, -1000.0), 0.5);
/// ```
#[inline]
pub fn log_add_exp_share(a: f64, b: f64) -> f64 {
    if a == f64::NEG_INFINITY && b == a { 0.0 } else { inv_logit(a - b) }
}

/// $\log(e^a - e^b)$ for $a \ge b$. **Edges**: -∞ where they are equal, NaN where $a < b$.
///
/// ```
/// assert_eq!(exmc_math::log_diff_exp(3.0, f64::NEG_INFINITY), 3.0);
/// ```
#[inline]
pub fn log_diff_exp(a: f64, b: f64) -> f64 {
    if a == b && a < f64::INFINITY { f64::NEG_INFINITY } else { a + log1m_exp(b - a) }
}

/// $\log\sum_i e^{x_i}$, with the maximum taken out. **Edges**: -∞ for no terms or all -∞, +∞ when
/// any term is, NaN when any is NaN.
///
/// **Numerics**: two terms go through [`log_add_exp`]; otherwise the maximum's own term is left out
/// of the sum and added by `log1p`, in the order given. Absolute error about `n` ulp of one.
///
/// ```
/// let parts = [-1000.0, -1000.0, -1000.0, -1000.0];
/// assert_eq!(exmc_math::log_sum_exp(&parts), -1000.0 + 2.0 * std::f64::consts::LN_2);
/// assert_eq!(exmc_math::log_sum_exp(&[]), f64::NEG_INFINITY);
/// ```
pub fn log_sum_exp(terms: &[f64]) -> f64 {
    let mut largest = 0;
    for (i, &term) in terms.iter().enumerate() {
        if term.is_nan() {
            return f64::NAN;
        }
        if term > terms[largest] {
            largest = i;
        }
    }
    let Some(&high) = terms.get(largest) else { return f64::NEG_INFINITY };
    if high.is_infinite() {
        return high;
    }
    let mut rest = 0.0;
    for (i, &term) in terms.iter().enumerate() {
        if i != largest {
            rest += exp(term - high);
        }
    }
    high + log1p(rest)
}

/// $\log\bigl(w e^a + (1-w) e^b\bigr)$ for a weight $w \in [0, 1]$. **Edges**: a weight of zero
/// drops its term, even an infinite one.
///
/// ```
/// assert_eq!(exmc_math::log_mix(0.0, f64::INFINITY, 2.0), 2.0);
/// ```
pub fn log_mix(weight: f64, a: f64, b: f64) -> f64 {
    if weight == 0.0 {
        b
    } else if weight == 1.0 {
        a
    } else {
        log_add_exp(log(weight) + a, log1p(-weight) + b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INF: f64 = f64::INFINITY;

    #[test]
    fn infinities_are_ordinary_values() {
        assert_eq!(log_add_exp(-INF, -INF), -INF);
        assert_eq!(log_add_exp(-INF, 2.0), 2.0);
        assert_eq!(log_add_exp(INF, INF), INF);
        assert_eq!(log_diff_exp(-INF, -INF), -INF);
        assert_eq!(log_diff_exp(5.0, 5.0), -INF);
        assert_eq!(log_diff_exp(INF, 3.0), INF);
        assert_eq!(log_sum_exp(&[-INF, -INF]), -INF);
        assert_eq!(log_sum_exp(&[-INF, 4.0]), 4.0);
        assert_eq!(log_sum_exp(&[INF, -INF, 0.0]), INF);
    }

    #[test]
    fn nan_is_never_swallowed() {
        assert!(log_add_exp(f64::NAN, -INF).is_nan() && log_add_exp(INF, f64::NAN).is_nan());
        assert!(log_diff_exp(1.0, 2.0).is_nan() && log_diff_exp(f64::NAN, -INF).is_nan());
        assert!(log_sum_exp(&[INF, f64::NAN]).is_nan() && log_sum_exp(&[f64::NAN, 1.0]).is_nan());
    }

    #[test]
    fn known_sums() {
        // log(1 + 2 + 3) and log(5 - 2), from logs: one or two roundings of each log and of the
        // result.
        let logs = [0.0, std::f64::consts::LN_2, log(3.0)];
        assert!((log_sum_exp(&logs) - log(6.0)).abs() < 1e-15);
        assert!((log_diff_exp(log(5.0), log(2.0)) - log(3.0)).abs() < 1e-15);
        assert!((log_mix(0.25, log(4.0), log(8.0)) - log(7.0)).abs() < 1e-15);
    }
}
