//! The gamma family: logarithms of gamma, beta and binomial coefficients.
//!
//! [`lgamma`] is libm's; everything that subtracts log gammas is summed in double-double, because
//! `lbeta(1e5, 1e5)` from three rounded log gammas would lose six digits.
//!
//! Largest relative errors over the tables in `tests/data`: `lgamma` 3e-16 (x from 1e-6 to 1e6),
//! `lgamma1p` 5e-16; `lbeta` (arguments from 1e-6 to 1e12) and `lchoose` (`n` to 1e9) were
//! correctly rounded throughout. **Reference**: Abramowitz and Stegun 1964, 6.1; Didonato and
//! Morris 1992 (differences of log gammas).

use crate::double_double::{Dd, HALF_LN_2_PI};
use crate::polygamma::polygamma;

/// Log of the absolute value of the gamma function, $\log|\Gamma(x)|$.
///
/// **Edges**: +∞ at zero, at negative integers and at ±∞. **Numerics**: relative error 3e-16 for
/// positive `x`, also next to the zeros 1 and 2; for negative `x` the error is absolute near the
/// zeros.
///
/// ```
/// assert!((exmc_math::lgamma(0.5) / 0.5723649429247001 - 1.0).abs() < 1e-15);
/// assert_eq!(exmc_math::lgamma(2.0), 0.0);
/// ```
#[inline]
pub fn lgamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// Sign of the gamma function: -1 between -1 and 0, +1 between -2 and -1, and so on; +1 for
/// positive `x`.
///
/// ```
/// assert_eq!(exmc_math::gamma_sign(-0.5), -1.0);
/// ```
pub fn gamma_sign(x: f64) -> f64 {
    if x < 0.0 && x.floor() % 2.0 != 0.0 { -1.0 } else { 1.0 }
}

/// Gamma function $\Gamma(x)$; overflows above 171.62, NaN at negative integers, ±∞ at ±0.
///
/// ```
/// assert_eq!(exmc_math::gamma(5.0), 24.0);
/// ```
#[inline]
pub fn gamma(x: f64) -> f64 {
    libm::tgamma(x)
}

/// $\log\Gamma(1+x)$ for `x > -1`, with relative accuracy as $x \to 0$ (where it is $-\gamma x$).
///
/// **Edges**: +∞ at -1, NaN below. **Numerics**: for `|x| <= 1/2` the series in $\zeta(k)-1$
/// (Abramowitz and Stegun 6.1.33), up to 3/2 by one step of the recurrence, beyond that [`lgamma`].
///
/// ```
/// assert!((exmc_math::lgamma1p(1e-20) / -5.772156649015329e-21 - 1.0).abs() < 1e-15);
/// ```
pub fn lgamma1p(x: f64) -> f64 {
    if x.abs() <= 0.5 {
        let series = ZETA_TERMS.iter().rev().fold(0.0, |sum, &c| c + x * sum);
        -libm::log1p(x) + x * (ONE_MINUS_EULER_GAMMA + x * series)
    } else if x > 0.0 && x < 1.5 {
        // Γ(1 + x) = x Γ(1 + (x - 1)): the zero at one stays exact.
        libm::log1p(x - 1.0) + lgamma1p(x - 1.0)
    } else if x < -1.0 {
        f64::NAN
    } else {
        lgamma(1.0 + x)
    }
}

/// Log of the beta function, $\log\Gamma(a)+\log\Gamma(b)-\log\Gamma(a+b)$ for positive `a` and
/// `b`.
///
/// **Edges**: +∞ if one is 0 (and the other positive), -∞ if one is +∞ (and the other not 0), NaN
/// for negative arguments. **Numerics**: summed in double-double; for a large argument the
/// difference of log gammas is taken analytically. Absolute error 1e-18 plus the rounding of the
/// result.
///
/// ```
/// // B(1e5, 1e-5) is 1e5 - psi(1e5) - gamma, nearly.
/// assert!((exmc_math::lbeta(1e5, 1e-5) / 11.512804563691176 - 1.0).abs() < 1e-15);
/// ```
pub fn lbeta(a: f64, b: f64) -> f64 {
    let (small, large) = if a <= b { (a, b) } else { (b, a) };
    if a.is_nan() || b.is_nan() || small < 0.0 {
        f64::NAN
    } else if small == 0.0 {
        f64::INFINITY
    } else if large.is_infinite() {
        f64::NEG_INFINITY
    } else if large > 1e100 {
        lbeta_huge(small, large)
    } else {
        lbeta_dd(small, large).value()
    }
}

/// Log of the binomial coefficient, $\log\binom nk = -\log(n+1)-\log B(n-k+1, k+1)$ for real $0\le
/// k\le n$.
///
/// **Edges**: 0 at `k = 0` and `k = n`; -∞ for `k` outside `[0, n]` with `n >= 0`; NaN for negative
/// `n`.
///
/// ```
/// assert!((exmc_math::lchoose(10.0, 3.0) / 4.787491742782046 - 1.0).abs() < 1e-15);
/// ```
pub fn lchoose(n: f64, k: f64) -> f64 {
    if n.is_nan() || k.is_nan() || n < 0.0 {
        f64::NAN
    } else if k < 0.0 || k > n {
        f64::NEG_INFINITY
    } else if k == 0.0 || k == n {
        0.0
    } else if n > 1e100 {
        -lbeta_huge((n - k).min(k), (n - k).max(k)) - libm::log(n)
    } else {
        let rest = Dd::difference(n, k);
        let log_factorial = lgamma_dd(Dd::sum(n, 1.0));
        (log_factorial - lgamma_dd(Dd::sum(k, 1.0)) - lgamma_dd(rest + Dd::ONE)).value()
    }
}

/// [`lbeta`] where doubles near overflow forbid splitting: Stirling's leading terms, whose rest is
/// below 1e-100.
fn lbeta_huge(small: f64, large: f64) -> f64 {
    let ratio = small / large;
    let power = -small * (libm::log(large) + libm::log1p(ratio));
    if small < 1e60 {
        return lgamma(small) + power + (small - large * libm::log1p(ratio));
    }
    let log_ratio = libm::log(ratio) - libm::log1p(ratio);
    small * log_ratio - large * libm::log1p(ratio) + HALF_LN_2_PI.value() - 0.5 * libm::log(small)
        + 0.5 * libm::log1p(ratio)
}

/// [`lbeta`] of positive arguments, `small <= large <= 1e100`, before rounding.
pub(crate) fn lbeta_dd(small: f64, large: f64) -> Dd {
    let total = Dd::sum(small, large);
    if large < SHIFT_BELOW {
        return lgamma_dd(Dd::from(small)) + lgamma_dd(Dd::from(large)) - lgamma_dd(total);
    }
    lgamma_dd(Dd::from(small)) - lgamma_rise_stirling(small, large, total)
}

/// $\log\Gamma(l+s)-\log\Gamma(l)$ for $l$ where Stirling's series holds.
fn lgamma_rise_stirling(s: f64, l: f64, total: Dd) -> Dd {
    let log1p_ratio = Dd::ratio(s, l).log1p();
    let leading = log1p_ratio * Dd::difference(l, 0.5) + total.log() * s - Dd::from(s);
    leading + Dd::from(stirling_rest(total.high) - stirling_rest(l))
}

/// $\log\bigl(a B(a,b)\bigr)$ with relative accuracy as $a \to 0$, where it vanishes; `a` and `b`
/// positive.
///
/// For small `a` it is $\log\Gamma(1+a) - [\log\Gamma(b+a)-\log\Gamma(b)]$: the bracket takes `b`
/// up to 10 by the recurrence and is a Taylor series in `a` there.
pub(crate) fn log_a_beta(a: f64, b: f64) -> f64 {
    if a > 0.05 {
        let (small, large) = if a <= b { (a, b) } else { (b, a) };
        return (lbeta_dd(small, large) + Dd::from(a).log()).value();
    }
    let (mut sum, mut c) = (lgamma1p(a), b);
    while c < 10.0 {
        sum += libm::log1p(a / c);
        c += 1.0;
    }
    let (mut rise, mut scale) = (0.0, a);
    for k in 0..7 {
        rise += polygamma(k, c) * scale;
        scale *= a / f64::from(k + 2);
    }
    sum - rise
}

/// Where Stirling's series alone gives 1e-18.
const SHIFT_BELOW: f64 = 12.0;

/// $\log\Gamma(x)$ for positive `x <= 1e100`, absolute error about 1e-18 plus 1e-26 relative.
pub(crate) fn lgamma_dd(x: Dd) -> Dd {
    let mut shifted = x;
    let mut product = Dd::ONE;
    let mut k = 0.0;
    while shifted.high < SHIFT_BELOW {
        product = product * shifted;
        k += 1.0;
        // From `x` each time, not from the last sum: the sums then need not wait for each other.
        shifted = x.plus(k);
    }
    let stirling = shifted.log() * (shifted - Dd::from(0.5)) - shifted
        + HALF_LN_2_PI
        + Dd::from(stirling_rest(shifted.high));
    if product == Dd::ONE { stirling } else { stirling - product.log() }
}

/// $\log\Gamma(x)$ minus Stirling's leading terms: $\sum_k B_{2k}/(2k(2k-1)x^{2k-1})$, for `x >=
/// 12`.
pub(crate) fn stirling_rest(x: f64) -> f64 {
    let z = 1.0 / (x * x);
    STIRLING_TERMS.iter().rev().fold(0.0, |sum, &c| c + z * sum) / x
}

/// $B_{2k} / (2k (2k-1))$ for k = 1 to 12; the next term is below 3e-24 at x = 12.
const STIRLING_TERMS: [f64; 12] = [
    0.08333333333333333,
    -0.002777777777777778,
    0.0007936507936507937,
    -0.0005952380952380953,
    0.0008417508417508417,
    -0.0019175269175269176,
    0.00641025641025641,
    -0.029550653594771242,
    0.17964437236883057,
    -1.3924322169059011,
    13.402864044168393,
    -156.84828462600203,
];

const ONE_MINUS_EULER_GAMMA: f64 = 0.42278433509846713;

/// $(-1)^k (\zeta(k)-1)/k$ for k = 2 to 30.
#[rustfmt::skip]
const ZETA_TERMS: [f64; 29] = [
    0.3224670334241132, -0.0673523010531981, 0.020580808427784546, -0.007385551028673986,
    0.0028905103307415234, -0.001192753911703261, 0.0005096695247430425, -0.00022315475845357939,
    9.945751278180853e-05, -4.492623673813314e-05, 2.050721277567069e-05, -9.439488275268397e-06,
    4.374866789907488e-06, -2.039215753801366e-06, 9.55141213040742e-07, -4.492469198764566e-07,
    2.1207184805554665e-07, -1.0043224823968099e-07, 4.7698101693639804e-08, -2.2711094608943164e-08,
    1.0838659214896955e-08, -5.183475041970047e-09, 2.4836745438024785e-09, -1.1921401405860912e-09,
    5.731367241678862e-10, -2.7595228851242334e-10, 1.330476437424449e-10, -6.4229645638381e-11,
    3.1044247747322276e-11,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        let inf = f64::INFINITY;
        assert_eq!((lgamma(0.0), lgamma(-3.0), lgamma(inf)), (inf, inf, inf));
        assert!(lgamma(f64::NAN).is_nan() && lgamma1p(f64::NAN).is_nan());
        assert_eq!((lgamma(1.0), lgamma(2.0), lgamma1p(0.0), lgamma1p(-1.0)), (0.0, 0.0, 0.0, inf));
        assert_eq!((lbeta(0.0, 2.0), lbeta(2.0, inf)), (inf, -inf));
        assert!(
            lbeta(-1.0, 2.0).is_nan()
                && lbeta(f64::NAN, 2.0).is_nan()
                && lbeta(2.0, f64::NAN).is_nan()
        );
        assert_eq!((lchoose(5.0, 0.0), lchoose(5.0, 5.0), lchoose(5.0, 6.0)), (0.0, 0.0, -inf));
        assert!(lchoose(-1.0, 0.0).is_nan() && lchoose(5.0, f64::NAN).is_nan());
        assert_eq!((gamma_sign(-0.5), gamma_sign(-1.5), gamma_sign(3.0)), (-1.0, 1.0, 1.0));
        assert!(gamma(0.5) > 0.0 && gamma(-0.5) < 0.0);
    }

    #[test]
    fn huge_arguments_do_not_overflow() {
        // B(x, x) = 2 sqrt(pi) 4^-x / sqrt(x) to leading order; the log's next term is below 1/x.
        let x = 1e200;
        let want = 2.0 * libm::log(2.0) * -x;
        assert!((lbeta(x, x) / want - 1.0).abs() < 1e-14);
        assert!((lbeta(3.0, 1e200) - (libm::log(2.0) - 3.0 * libm::log(1e200))).abs() < 1e-11);
    }

    #[test]
    fn rising_by_a_small_step_agrees_with_the_double_double_sum() {
        // Below the switch at 1/20 in log_a_beta, against the form used above it.
        for b in [1e-4, 0.3, 2.5, 19.0, 1e3] {
            for a in [0.01, 0.049] {
                let (small, large) = if a <= b { (a, b) } else { (b, a) };
                let summed = (lbeta_dd(small, large) + Dd::from(a).log()).value();
                assert!((log_a_beta(a, b) / summed - 1.0).abs() < 1e-14, "{a} {b}");
            }
        }
    }
}
