//! Modified Bessel functions: log of I0, and the ratio of I1 to I0.
//!
//! Up to 8, where I0 - 1 over x^2 and I1 over x are polynomials in x^2 with positive terms, by
//! these; beyond, by series in 16/x - 1.

use super::coefficients::HALF_LOG_2_PI;
use super::lanes::Simd;
use super::logarithm::log_two_parts;
use super::special_coefficients::{
    BESSEL_0, BESSEL_1, BESSEL_LOG, BESSEL_RATIO, BESSEL_RATIO_NEAR,
};

/// Where the series in 16/x - 1 begin.
const LARGE: f64 = 8.0;

#[inline(always)]
fn variable<S: Simd>(s: S, inverse: S::Vector) -> S::Vector {
    s.fma(inverse, s.splat(16.0), s.splat(-1.0))
}

/// $\log I_0(x)$, an even function.
#[inline(always)]
pub fn log_bessel_i0<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let (zero, one, limit) = (s.splat(0.0), s.splat(1.0), s.splat(LARGE));
    let size = s.abs(x);
    let large = s.lt(limit, size);
    let inner = s.min(limit, size);
    let z = s.mul(inner, inner);
    // 1 + change in two parts.
    let change = s.mul(z, s.polynomial(z, &BESSEL_0));
    let sum = s.add(one, change);
    let part = s.sub(sum, one);
    let sum_low = s.add(s.sub(change, part), s.sub(one, s.sub(sum, part)));
    // The logarithm of infinity is not wanted: the result is infinite by itself.
    let argument = s.select(large, s.min(s.splat(1e300), size), sum);
    let (high, low) = log_two_parts(s, argument);
    let low = s.add(low, s.div(s.select(large, zero, sum_low), argument));
    let near = s.add(high, low);
    if !s.any(large) {
        return near;
    }
    let inverse = s.div(one, size);
    let series = s.polynomial(variable(s, inverse), &BESSEL_LOG);
    let series = s.fma(inverse, series, s.splat(-HALF_LOG_2_PI[0]));
    let far = s.add(size, s.fnma(s.splat(0.5), s.add(high, low), series));
    s.select(large, far, near)
}

/// $I_1(x)/I_0(x)$, an odd function.
#[inline(always)]
pub fn bessel_i1_i0_ratio<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let (one, limit) = (s.splat(1.0), s.splat(LARGE));
    let size = s.abs(x);
    let large = s.lt(limit, size);
    let small = s.lt(size, s.splat(4.0));
    let z = s.mul(size, size);
    let above = s.mul(size, s.polynomial(z, &BESSEL_1));
    let near = s.div(above, s.fma(z, s.polynomial(z, &BESSEL_0), one));
    if s.all(small) {
        return s.with_sign(near, x);
    }
    // From 4 on the distance to one is the smaller part, and has the smaller errors.
    let inverse = s.div(one, size);
    let t = s.fma(inverse, s.splat(16.0), s.splat(-3.0));
    let mut series = s.polynomial(t, &BESSEL_RATIO_NEAR);
    if s.any(large) {
        let far = s.polynomial(variable(s, inverse), &BESSEL_RATIO);
        series = s.select(large, far, series);
    }
    s.with_sign(s.select(small, near, s.fnma(inverse, series, one)), x)
}
