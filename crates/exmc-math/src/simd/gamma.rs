//! Log gamma, digamma and both at once.
//!
//! From 6 on by Stirling's series. Below, log gamma is t U(t) about its zero at 2 and digamma a
//! polynomial about its root, both reached by the recurrence; the steps are multiplied up first, so
//! that one logarithm or one division takes them all. Zero, negative and infinite arguments go lane
//! by lane to the scalar functions.

use super::coefficients::{
    DIGAMMA, DIGAMMA_REST, DIGAMMA_ROOT, HALF_LOG_2_PI, LGAMMA, LGAMMA_AT_2, STIRLING,
};
use super::lanes::Simd;
use super::logarithm::{log_two_parts, log1p};

/// Where Stirling's series begins.
pub(super) const LARGE: f64 = 6.0;

/// Log of the absolute value of the gamma function.
#[inline(always)]
pub fn lgamma<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let regular = s.between(0.0, x, f64::INFINITY);
    let y = lgamma_positive(s, x);
    if s.all(regular) { y } else { scalar_lanes(s, regular, x, y, crate::lgamma) }
}

/// [`lgamma`] for `0 < x < inf`.
#[inline(always)]
fn lgamma_positive<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let large = s.le(s.splat(LARGE), x);
    let steps = steps_to_two(s, x);
    let log = log_two_parts(s, s.select(large, x, steps.product));
    let near = lgamma_near(s, &steps, log);
    if !s.any(large) {
        return near;
    }
    s.select(large, lgamma_large(s, x, log, s.div(s.splat(1.0), x)), near)
}

/// `x` below [`LARGE`] as `2 + t` plus steps, and what they multiply gamma by, or its reciprocal
/// where `up`.
pub(super) struct Steps<S: Simd> {
    pub(super) t: S::Vector,
    pub(super) product: S::Vector,
    pub(super) up: S::Mask,
}

#[inline(always)]
pub(super) fn steps_to_two<S: Simd>(s: S, x: S::Vector) -> Steps<S> {
    let one = s.splat(1.0);
    let up = s.lt(x, s.splat(1.5));
    let tiny = s.lt(x, s.splat(0.5));
    let mut product = s.select(tiny, s.fma(x, x, x), s.select(up, x, one));
    let mut base = x;
    let mut k = 0;
    while k < 4 {
        let step = s.both(s.le(s.splat(2.5), base), s.lt(base, s.splat(LARGE)));
        let lower = s.sub(base, one);
        product = s.select(step, s.mul(product, lower), product);
        base = s.select(step, lower, base);
        k += 1;
    }
    let t = s.select(tiny, x, s.select(up, s.sub(x, one), s.sub(base, s.splat(2.0))));
    Steps { t, product, up }
}

/// Log gamma below [`LARGE`], given the logarithm of the steps' product.
///
/// It is t U(t) = t U(0) + t^2 V(t) and the logarithm, so that no rounding is larger than the
/// result's, also where both cancel.
#[inline(always)]
fn lgamma_near<S: Simd>(s: S, steps: &Steps<S>, (high, low): (S::Vector, S::Vector)) -> S::Vector {
    let sign = s.select(steps.up, s.splat(-1.0), s.splat(1.0));
    let t = steps.t;
    let leading = s.fma(t, s.splat(LGAMMA_AT_2), s.mul(sign, high));
    let rest = s.fma(s.mul(t, t), s.polynomial(t, &LGAMMA), s.mul(sign, low));
    s.add(leading, rest)
}

/// What Stirling's leading terms leave of log gamma, for `inverse = 1/x` and `x` from [`LARGE`] on.
#[inline(always)]
pub(super) fn stirling<S: Simd>(s: S, inverse: S::Vector) -> S::Vector {
    s.mul(inverse, s.polynomial(s.mul(inverse, inverse), &STIRLING))
}

/// Log gamma from [`LARGE`] on, given `log x` in two parts and `1/x`.
///
/// (x - 1/2)(log x - 1) + log(2 pi)/2 - 1/2 + S(1/x^2)/x, all but the first product in `rest`.
#[inline(always)]
fn lgamma_large<S: Simd>(
    s: S,
    x: S::Vector,
    (high, low): (S::Vector, S::Vector),
    inverse: S::Vector,
) -> S::Vector {
    let log = s.add(high, low);
    let log_low = s.add(s.sub(high, log), low);
    let series = s.polynomial(s.mul(inverse, inverse), &STIRLING);
    let factor = s.sub(x, s.splat(0.5));
    let rest = s.fma(inverse, series, s.splat(HALF_LOG_2_PI[0] - 0.5));
    let rest = s.fma(factor, log_low, rest);
    s.fma(factor, s.sub(log, s.splat(1.0)), rest)
}

/// Digamma, the derivative of log gamma; NaN at zero and at negative integers.
#[inline(always)]
pub fn digamma<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let regular = s.between(0.0, x, f64::INFINITY);
    let y = digamma_positive(s, x);
    if s.all(regular) { y } else { scalar_lanes(s, regular, x, y, crate::digamma) }
}

/// [`digamma`] for `0 < x < inf`.
#[inline(always)]
fn digamma_positive<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let large = s.le(s.splat(LARGE), x);
    let (near, inverse) = digamma_near(s, x, large);
    if !s.any(large) {
        return near;
    }
    s.select(large, digamma_large(s, log_two_parts(s, x), inverse), near)
}

/// [`lgamma`] and [`digamma`], which have the logarithm and the reciprocal of large arguments in
/// common.
#[inline(always)]
pub fn lgamma_digamma<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let regular = s.between(0.0, x, f64::INFINITY);
    let large = s.le(s.splat(LARGE), x);
    let steps = steps_to_two(s, x);
    let log = log_two_parts(s, s.select(large, x, steps.product));
    let mut value = lgamma_near(s, &steps, log);
    let (mut slope, inverse) = digamma_near(s, x, large);
    if s.any(large) {
        value = s.select(large, lgamma_large(s, x, log, inverse), value);
        slope = s.select(large, digamma_large(s, log, inverse), slope);
    }
    if s.all(regular) {
        return (value, slope);
    }
    (
        scalar_lanes(s, regular, x, value, crate::lgamma),
        scalar_lanes(s, regular, x, slope, crate::digamma),
    )
}

/// Digamma below [`LARGE`], and `1/x` where `x` is `large`.
#[inline(always)]
fn digamma_near<S: Simd>(s: S, x: S::Vector, large: S::Mask) -> (S::Vector, S::Vector) {
    let (zero, one, two) = (s.splat(0.0), s.splat(1.0), s.splat(2.0));
    let up = s.lt(x, one);
    // The sum of the steps' reciprocals as one fraction. The first step is exact, the second's
    // roundings are kept, because a result below one follows it; from the third on the result is
    // large enough to bear them.
    let mut above = s.select(up, s.splat(-1.0), zero);
    let mut below = s.select(up, x, one);
    let (mut above_low, mut below_low) = (zero, zero);
    let mut base = x;
    let mut k = 0;
    while k < 4 {
        let step = s.both(s.lt(two, base), s.lt(base, s.splat(LARGE)));
        let lower = s.sub(base, one);
        let next_above = s.fma(above, lower, below);
        let next_below = s.mul(below, lower);
        if k == 1 {
            let above_error = s.fma(above, lower, s.sub(below, next_above));
            let below_error = s.fma(below, lower, s.neg(next_below));
            above_low = s.select(step, above_error, zero);
            below_low = s.select(step, below_error, zero);
        } else if k > 1 {
            above_low = s.select(step, zero, above_low);
            below_low = s.select(step, zero, below_low);
        }
        above = s.select(step, next_above, above);
        below = s.select(step, next_below, below);
        base = s.select(step, lower, base);
        k += 1;
    }
    let inverse = s.div(one, s.select(large, x, below));
    let fraction = s.mul(above, inverse);
    let residual = s.add(s.fnma(fraction, below, above), s.fnma(fraction, below_low, above_low));
    // Next to zero the inverse overflows, and there the fraction is all that counts.
    let correction = s.select(s.lt(below, s.splat(1e-300)), zero, s.mul(residual, inverse));

    // base - 1, which for x < 1 is x itself: the sum x + 1 is never rounded.
    let from_one = s.select(up, x, s.sub(base, one));
    let distance = s.sub(s.sub(from_one, s.splat(DIGAMMA_ROOT[0] - 1.0)), s.splat(DIGAMMA_ROOT[1]));
    let p = s.polynomial(s.sub(from_one, s.splat(0.5)), &DIGAMMA);
    (s.add(fraction, s.fma(distance, p, correction)), inverse)
}

/// Digamma from [`LARGE`] on, given `log x` in two parts and `1/x`.
#[inline(always)]
fn digamma_large<S: Simd>(
    s: S,
    (high, low): (S::Vector, S::Vector),
    inverse: S::Vector,
) -> S::Vector {
    let z = s.mul(inverse, inverse);
    let rest = s.mul(z, s.polynomial(z, &DIGAMMA_REST));
    s.add(high, s.sub(low, s.fma(inverse, s.splat(0.5), rest)))
}

/// $\psi(x+h)-\psi(x)$ for positive `x` and `h`, as the scalar function has it.
///
/// Below `LARGE` six steps of the recurrence, one fraction: with $y = x+h$ the steps k and 5 - k
/// have the sum $h\,(2xy + 5(x+y) + k^2 + (5-k)^2) / ((x^2+5x+k(5-k))(y^2+5y+k(5-k)))$, of which no
/// term is negative. From there the asymptotic series of both ends, whose logarithms are one of 1 +
/// h/x.
#[inline(always)]
pub fn digamma_rise<S: Simd>(s: S, x: S::Vector, h: S::Vector) -> S::Vector {
    let regular = s.both(s.between(1e-140, x, 1e290), s.between(1e-140, h, 1e40));
    let rise = digamma_rise_positive(s, x, h);
    if s.all(regular) {
        return rise;
    }
    let (firsts, seconds, mut values) = (s.to_array(x), s.to_array(h), s.to_array(rise));
    for ((value, x), h) in values.iter_mut().zip(firsts).zip(seconds) {
        if !(1e-140 < x && x < 1e290 && 1e-140 < h && h < 1e40) {
            *value = crate::digamma_rise(x, h);
        }
    }
    s.load(&values)
}

/// [`digamma_rise`] for `1e-140 < x < 1e290` and `1e-140 < h < 1e40`.
#[inline(always)]
fn digamma_rise_positive<S: Simd>(s: S, x: S::Vector, h: S::Vector) -> S::Vector {
    let (one, half) = (s.splat(1.0), s.splat(0.5));
    let limit = s.splat(LARGE);
    let small = s.lt(x, limit);
    let (mut base, mut steps) = (x, s.splat(0.0));
    if s.any(small) {
        let (four, five) = (s.splat(4.0), s.splat(5.0));
        // Other lanes would overflow.
        let x = s.select(small, x, one);
        let y = s.add(x, h);
        let (u, w) = (s.mul(x, s.add(x, five)), s.mul(y, s.add(y, five)));
        let first = s.mul(u, w);
        let second = s.mul(s.add(u, four), s.add(w, four));
        let third = s.mul(s.add(u, limit), s.add(w, limit));
        let product = s.mul(x, y);
        let common = s.fma(five, s.add(x, y), s.add(product, product));
        let of_first = s.add(common, s.splat(25.0));
        let of_second = s.add(common, s.splat(17.0));
        let of_third = s.add(common, s.splat(13.0));
        let rest = s.mul(second, third);
        let later = s.fma(of_second, third, s.mul(of_third, second));
        let above = s.fma(of_first, rest, s.mul(first, later));
        let sum = s.mul(h, s.div(above, s.mul(first, rest)));
        steps = s.select(small, sum, steps);
        base = s.select(small, s.add(x, limit), base);
    }
    let ratio = s.div(h, base);
    let (before, after) = (s.div(one, base), s.div(one, s.add(base, h)));
    let (z, z_after) = (s.mul(before, before), s.mul(after, after));
    // Both series are polynomials of z and z_after whose difference is z - z_after times what
    // Horner's rule finds on the way, and z - z_after the step times the sum of the reciprocals:
    // nothing cancels.
    let step = s.mul(ratio, after);
    let mut series = s.splat(DIGAMMA_REST[DIGAMMA_REST.len() - 1]);
    let mut quotient = series;
    let mut k = DIGAMMA_REST.len() - 1;
    while k > 0 {
        k -= 1;
        series = s.fma(series, z, s.splat(DIGAMMA_REST[k]));
        quotient = s.fma(quotient, z_after, series);
    }
    let factor = s.fma(s.add(before, after), quotient, half);
    s.add(steps, s.fma(step, factor, log1p(s, ratio)))
}

/// Replaces the lanes that are not `regular` by a scalar function of `x`.
#[inline(always)]
pub(super) fn scalar_lanes<S: Simd>(
    s: S,
    regular: S::Mask,
    x: S::Vector,
    y: S::Vector,
    f: fn(f64) -> f64,
) -> S::Vector {
    // One is regular for every caller, so it marks the lanes to be left alone.
    let arguments = s.to_array(s.select(regular, s.splat(1.0), x));
    let mut values = s.to_array(y);
    for (value, argument) in values.iter_mut().zip(arguments) {
        if argument != 1.0 {
            *value = f(argument);
        }
    }
    s.load(&values)
}
