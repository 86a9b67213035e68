//! Log gamma and digamma.
//!
//! From 6 on by Stirling's series. Below, log gamma is t U(t) about its zero at 2 and digamma a polynomial about its
//! root, both reached by the recurrence; the steps are multiplied up first, so that one logarithm or one
//! division takes them all. Zero, negative and infinite arguments go lane by lane to the scalar functions.

use super::coefficients::{
    DIGAMMA, DIGAMMA_REST, DIGAMMA_ROOT, HALF_LOG_2_PI, LGAMMA, LGAMMA_AT_2, STIRLING,
};
use super::lanes::Simd;
use super::logarithm::log_two_parts;

/// Where Stirling's series begins.
const LARGE: f64 = 6.0;

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
    let one = s.splat(1.0);
    let large = s.le(s.splat(LARGE), x);
    // x = 2 + t + steps; `product` is what the steps multiply gamma by, or its reciprocal where `up`.
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
    let (high, low) = log_two_parts(s, s.select(large, x, product));

    let sign = s.select(up, s.splat(-1.0), one);
    // t U(t) = t U(0) + t^2 V(t), so that no rounding is larger than the result's, also where both logarithms cancel.
    let leading = s.fma(t, s.splat(LGAMMA_AT_2), s.mul(sign, high));
    let near = s.add(leading, s.fma(s.mul(t, t), s.polynomial(t, &LGAMMA), s.mul(sign, low)));
    if !s.any(large) {
        return near;
    }
    // (x - 1/2)(log x - 1) + log(2 pi)/2 - 1/2 + S(1/x^2)/x, all but the first product in `rest`.
    let log = s.add(high, low);
    let log_low = s.add(s.sub(high, log), low);
    let inverse = s.div(one, x);
    let series = s.polynomial(s.mul(inverse, inverse), &STIRLING);
    let factor = s.sub(x, s.splat(0.5));
    let rest = s.fma(inverse, series, s.splat(HALF_LOG_2_PI[0] - 0.5));
    let rest = s.fma(factor, log_low, rest);
    s.select(large, s.fma(factor, s.sub(log, one), rest), near)
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
    let (zero, one, two) = (s.splat(0.0), s.splat(1.0), s.splat(2.0));
    let large = s.le(s.splat(LARGE), x);
    let up = s.lt(x, one);
    // The sum of the steps' reciprocals as one fraction. The first step is exact, the second's roundings are kept, because
    // a result below one follows it; from the third on the result is large enough to bear them.
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
    let near = s.add(fraction, s.fma(distance, p, correction));
    if !s.any(large) {
        return near;
    }
    let (high, low) = log_two_parts(s, x);
    let z = s.mul(inverse, inverse);
    let rest = s.mul(z, s.polynomial(z, &DIGAMMA_REST));
    let rest = s.sub(low, s.fma(inverse, s.splat(0.5), rest));
    s.select(large, s.add(high, rest), near)
}

/// Replaces the lanes that are not `regular` by a scalar function of `x`.
#[inline(always)]
fn scalar_lanes<S: Simd>(
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
