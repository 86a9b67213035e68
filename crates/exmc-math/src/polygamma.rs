//! Derivatives of log gamma: digamma, trigamma and the higher polygammas.
//!
//! Largest relative errors over the tables in `tests/data`: `digamma` 4e-16 (x from 1e-6 to 1e6,
//! next to its positive root too), `trigamma` 6e-16, `polygamma` 5e-16 (orders 2 to 8).
//! **Reference**: Abramowitz and Stegun 1964, 6.3 and 6.4.

use std::f64::consts::PI;

/// Digamma $\psi(x) = \frac{d}{dx}\log\Gamma(x)$.
///
/// **Edges**: NaN at zero, negative integers and -∞; +∞ at +∞. **Numerics**: a Taylor series about
/// the positive root 1.4616 on `[1, 2]`, reached by recurrence from below 10; Bernoulli's series
/// from 10 on; reflection for negative `x`, where the error is absolute near the roots.
///
/// ```
/// assert!((exmc_math::digamma(1.0) + 0.5772156649015329).abs() < 1e-16);
/// ```
pub fn digamma(x: f64) -> f64 {
    if x >= 10.0 {
        if x.is_infinite() {
            return x;
        }
        libm::log(x) - digamma_rest(x)
    } else if x > 0.0 {
        let (mut base, mut steps) = (x, 0.0);
        while base > 2.0 {
            base -= 1.0;
            steps += 1.0 / base;
        }
        if base < 1.0 {
            // The sum x + 1 is rounded; its error times psi' is far below that of 1/x.
            return digamma_near_root(base + 1.0) - 1.0 / base;
        }
        digamma_near_root(base) + steps
    } else if x.floor() == x || x.is_nan() {
        f64::NAN
    } else {
        digamma(1.0 - x) - PI / tan_pi(x)
    }
}

/// Trigamma $\psi'(x)$. **Edges**: +∞ at zero and negative integers, 0 at +∞, NaN at -∞.
///
/// ```
/// assert!((exmc_math::trigamma(1.0) / (std::f64::consts::PI.powi(2) / 6.0) - 1.0).abs() < 1e-15);
/// ```
pub fn trigamma(x: f64) -> f64 {
    if x > 0.0 {
        polygamma(1, x)
    } else if x.is_nan() || x == f64::NEG_INFINITY {
        f64::NAN
    } else if x.floor() == x {
        f64::INFINITY
    } else {
        let sine = PI / sin_pi(x);
        sine * sine - polygamma(1, 1.0 - x)
    }
}

/// Polygamma $\psi^{(n)}(x) = (-1)^{n+1} n! \sum_{k\ge0} (x+k)^{-n-1}$ for `n >= 1`, `x > 0`; `n =
/// 0` is [`digamma`].
///
/// **Edges**: ±∞ at 0, 0 at +∞, NaN for negative `x`, where order 2 has its values by reflection
/// between the poles. **Numerics**: terms of the series up to $x + k \ge 12 + n$, then Euler and
/// Maclaurin's rest; all terms up to the Bernoulli ones have one sign.
///
/// ```
/// // psi''(1) = -2 zeta(3)
/// assert!((exmc_math::polygamma(2, 1.0) / -2.404113806319189 - 1.0).abs() < 1e-15);
/// ```
pub fn polygamma(n: u32, x: f64) -> f64 {
    if n == 0 {
        return digamma(x);
    }
    if n == 2 && x < 0.0 && x > f64::NEG_INFINITY && x.floor() != x {
        // The second derivative of the reflection of digamma.
        let sine = PI / sin_pi(x);
        let cotangent = PI * cot_pi(x);
        return polygamma(2, 1.0 - x) - 2.0 * cotangent * sine * sine;
    }
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    let sign = if n % 2 == 1 { 1.0 } else { -1.0 };
    if x == 0.0 {
        return sign * f64::INFINITY;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let order = f64::from(n);
    let inverse_power = |y: f64| if n == 1 { 1.0 / (y * y) } else { libm::pow(y, -(order + 1.0)) };
    let start = 12.0 + order;
    let terms = if x < start { (start - x).ceil() } else { 0.0 };
    let y = x + terms;
    // Rest beyond y, relative to (n-1)! y^-n: 1 + n/(2y) + sum of B_2k (n)(n+1)..(n+2k-1) / (2k)!
    // y^-2k.
    let z = 1.0 / (y * y);
    let mut rest = 1.0 + 0.5 * order / y;
    let mut rising = 1.0;
    for (i, &b) in BERNOULLI.iter().enumerate() {
        let k = 2.0 * i as f64;
        rising *= z * (order + k) * (order + k + 1.0) / ((k + 1.0) * (k + 2.0));
        rest += b * rising;
    }
    // The rest over (n-1)! is y^-n rest; the terms over (n-1)! are n y^-(n+1) each; smallest first.
    // The higher power underflows for numbers of 1e160.
    let power = if y < 1e30 { inverse_power(y) * y } else { libm::pow(y, -order) };
    let mut sum = power * rest;
    let mut k = terms;
    while k > 0.0 {
        k -= 1.0;
        sum += order * inverse_power(x + k);
    }
    sign * libm::tgamma(order) * sum
}

/// $\log x-\psi(x)$ by Bernoulli's series $\frac1{2x}+\sum_k B_{2k}/(2k\,x^{2k})$, for `x >= 10`.
pub(crate) fn digamma_rest(x: f64) -> f64 {
    let z = 1.0 / (x * x);
    let series = BERNOULLI.iter().enumerate().rev().fold(0.0, |sum, (i, &b)| {
        let k = (i + 1) as f64;
        b / (2.0 * k) + z * sum
    });
    0.5 / x + z * series
}

/// $\psi(x+h)-\psi(x)$ for `x` and `h` not below zero, with relative accuracy as $h \to 0$: the
/// derivative of $-\log B(x,h)$ by `x`.
///
/// **Edges**: 0 at `h = 0` and at an infinite `x`, +∞ at `x = 0` and at an infinite `h`, NaN where
/// either is negative or both are zero or infinite. **Numerics**: the recurrence gives $\sum
/// h/((x+k)(x+k+h))$ up to 10; from there a Taylor series in `h`, or for larger `h` the difference
/// of the asymptotic series with the logarithms merged.
///
/// ```
/// // psi(3) - psi(1) = 1 + 1/2
/// assert!((exmc_math::digamma_rise(1.0, 2.0) - 1.5).abs() < 1e-15);
/// ```
pub fn digamma_rise(x: f64, h: f64) -> f64 {
    if x.is_nan() || h.is_nan() || x < 0.0 || h < 0.0 || x == h && (x == 0.0 || x.is_infinite()) {
        return f64::NAN;
    }
    if h == 0.0 || x.is_infinite() {
        return 0.0;
    }
    if x == 0.0 || h.is_infinite() {
        return f64::INFINITY;
    }
    let (mut sum, mut c) = (0.0, x);
    while c < 10.0 {
        sum += h / (c + h) / c;
        c += 1.0;
    }
    if h > 0.05 {
        return sum + (libm::log1p(h / c) + (digamma_rest(c) - digamma_rest(c + h)));
    }
    sum + h * taylor_rise(c, h)
}

/// $\sum_{k\ge1}\psi^{(k)}(c)h^{k-1}/k!$ for `c >= 10` and `h <= 0.05`, where six terms leave
/// 1e-15.
fn taylor_rise(c: f64, h: f64) -> f64 {
    let (mut sum, mut scale) = (0.0, 1.0);
    for k in 1..=6 {
        sum += polygamma(k, c) * scale / f64::from(k);
        scale *= h / f64::from(k);
    }
    sum
}

/// $\sin \pi x$ with the period taken out exactly.
fn sin_pi(x: f64) -> f64 {
    let r = x - 2.0 * (0.5 * x).round();
    if r.abs() <= 0.5 { libm::sin(PI * r) } else { libm::sin(PI * (r.signum() - r)) }
}

/// $\tan \pi x$ with the period taken out exactly.
fn tan_pi(x: f64) -> f64 {
    libm::tan(PI * (x - x.round()))
}

/// $\cot \pi x$ with the period taken out exactly; exactly zero at halves.
fn cot_pi(x: f64) -> f64 {
    let r = x - x.round();
    libm::sin(PI * (0.5 - r.abs())) / libm::sin(PI * r)
}

/// Taylor series about the root, for `1 <= x <= 2`.
fn digamma_near_root(x: f64) -> f64 {
    let d = (x - ROOT) - ROOT_LOW;
    d * ROOT_TERMS.iter().rev().fold(0.0, |sum, &c| c + d * sum)
}

/// Bernoulli numbers $B_2, B_4, \dots, B_{20}$.
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
];

/// The positive root of digamma, in two parts.
const ROOT: f64 = 1.4616321449683622;
const ROOT_LOW: f64 = 9.549995429965697e-17;

/// $\psi^{(k)}(\text{root})/k!$ for k = 1 to 38, from mpmath; the next term is below 1e-16 of the
/// sum.
#[rustfmt::skip]
const ROOT_TERMS: [f64; 38] = [
    0.9676722454476212, -0.4427631689835921, 0.258499760955651, -0.16394270544240652, 0.10782405069126237,
    -0.07219956125645471, 0.04880428816414311, -0.03316112647484736, 0.022597648232218104, -0.01542476590494896,
    0.010538791616612175, -0.007204534386356869, 0.004926781395729853, -0.003369801655439328, 0.002305126326734928,
    -0.0015769367714301972, 0.0010788252019162967, -0.0007380709389960052, 0.000504953265834602, -0.0003454680251063077,
    0.00023635601564027053, -0.00016170622091974803, 0.0001106337276874741, -7.569179582195066e-05, 5.178575795222081e-05,
    -3.5430070947659604e-05, 2.424006611860132e-05, -1.6584242271854135e-05, 1.134638458466385e-05, -7.762817668462094e-06,
    5.3110609208898636e-06, -3.6336507898010456e-06, 2.486022733129538e-06, -1.7008538854332607e-06, 1.1636675363548843e-06,
    -7.96142543124197e-07, 5.446941930669446e-07, -3.7266161283438227e-07,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        assert!(
            digamma(0.0).is_nan() && digamma(-2.0).is_nan() && digamma(f64::NEG_INFINITY).is_nan()
        );
        assert_eq!(digamma(f64::INFINITY), f64::INFINITY);
        assert_eq!((trigamma(0.0), trigamma(-2.0)), (f64::INFINITY, f64::INFINITY));
        assert_eq!((trigamma(f64::INFINITY), polygamma(2, f64::INFINITY)), (0.0, 0.0));
        assert_eq!(polygamma(2, 0.0), f64::NEG_INFINITY);
        assert!(
            polygamma(3, -0.5).is_nan()
                && polygamma(2, -1.0).is_nan()
                && trigamma(f64::NAN).is_nan()
                && digamma(f64::NAN).is_nan()
        );
        assert_eq!(polygamma(0, 3.0), digamma(3.0));
    }

    #[test]
    fn the_root_is_a_root() {
        // Next to the root the value is psi'(root) times the distance: no digit is lost.
        assert!((digamma(ROOT) / (-0.9676722454476212 * ROOT_LOW) - 1.0).abs() < 1e-15);
    }
}
