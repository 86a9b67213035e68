//! Hyperbolic sine and cosine.
//!
//! With h = e^|x| / 2 they are h -+ 1/(4h); log 2 is taken from |x| in two parts before the
//! exponential, so that h overflows only where the results do. Below one, where the difference
//! would cancel, the sine is its series.

use super::coefficients::{LN_2, SINH};
use super::exponential::exp_two_parts;
use super::lanes::Simd;

/// `e^a / 2` for `a >= 0` (or NaN).
#[inline(always)]
fn half_exp<S: Simd>(s: S, a: S::Vector) -> S::Vector {
    let a = s.min(s.splat(720.0), a);
    let first = s.sub(a, s.splat(LN_2[0]));
    // What the difference's rounding took off: exact by the two-sum, whichever of both is larger.
    let a_part = s.add(first, s.splat(LN_2[0]));
    let error = s.add(s.sub(a, a_part), s.sub(s.sub(a_part, first), s.splat(LN_2[0])));
    exp_two_parts(s, first, s.sub(error, s.splat(LN_2[1])))
}

/// Hyperbolic sine.
#[inline(always)]
pub fn sinh<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let size = s.abs(x);
    let small = s.lt(size, s.splat(1.0));
    let z = s.mul(size, size);
    let inside = s.fma(s.mul(size, z), s.polynomial(z, &SINH), size);
    if s.all(small) {
        return s.with_sign(inside, x);
    }
    let half = half_exp(s, size);
    let outside = s.sub(half, s.div(s.splat(0.25), half));
    s.with_sign(s.select(small, inside, outside), x)
}

/// Hyperbolic cosine.
#[inline(always)]
pub fn cosh<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let half = half_exp(s, s.abs(x));
    s.add(half, s.div(s.splat(0.25), half))
}
