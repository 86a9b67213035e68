//! Rounding to integers: floor, ceiling, and the nearest integer with halves away from zero.
//!
//! All three start from the nearest integer with ties to even, which every level has as an
//! instruction, and step by one where that went the wrong way. The sign of the argument stays, also
//! on a zero.

use super::lanes::Simd;

/// Puts the sign of `x` on a result that is zero or has that sign already.
#[inline(always)]
fn keep_sign<S: Simd>(s: S, result: S::Vector, x: S::Vector) -> S::Vector {
    s.with_bits(s.or_bits(s.to_bits(result), s.sign_bit(x)))
}

/// The largest integer that is not above `x`.
#[inline(always)]
pub fn floor<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let near = s.round(x);
    let floor = s.select(s.lt(x, near), s.sub(near, s.splat(1.0)), near);
    keep_sign(s, floor, x)
}

/// The smallest integer that is not below `x`.
#[inline(always)]
pub fn ceil<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let near = s.round(x);
    let ceiling = s.select(s.lt(near, x), s.add(near, s.splat(1.0)), near);
    keep_sign(s, ceiling, x)
}

/// The nearest integer, halves away from zero.
#[inline(always)]
pub fn round<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let size = s.abs(x);
    let near = s.round(size);
    // A tie that went down lies exactly one half below its argument.
    let down = s.eq(s.sub(size, near), s.splat(0.5));
    keep_sign(s, s.select(down, s.add(near, s.splat(1.0)), near), x)
}
