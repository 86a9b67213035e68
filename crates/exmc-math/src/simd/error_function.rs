//! The error function and its complement.
//!
//! For x >= 0, (1 + 2x) e^(x^2) erfc(x) is a polynomial in (x - 4)/(x + 4) (Shepherd and
//! Laframboise 1981); e^(-x^2) takes the rounding error of the square to first order. erf is a
//! polynomial up to one and 1 - erfc beyond.

use super::coefficients::{ERF, ERFC, ERFC_FIRST};
use super::exponential::exp_two_parts;
use super::lanes::Simd;

/// `erfc(a)` for `a >= 0` (or NaN).
#[inline(always)]
fn erfc_positive<S: Simd>(s: S, a: S::Vector) -> S::Vector {
    let a = s.min(s.splat(28.0), a);
    let (one, two, four) = (s.splat(1.0), s.splat(2.0), s.splat(4.0));
    // One division for both quotients.
    let scale = s.fma(two, a, one);
    let sum = s.add(a, four);
    let both = s.div(one, s.mul(scale, sum));
    let inverse_sum = s.mul(both, scale);
    let t = s.mul(s.sub(a, four), inverse_sum);
    // t's error: (a - 4 - t (a + 4)) / (a + 4), with a + 4 = 4 (1 + t) + ... kept exact in two
    // products.
    let residual = s.fnma(t, a, s.fnma(four, s.add(t, one), a));
    let t = s.fma(residual, inverse_sum, t);
    // p + p_low = ERFC_FIRST + t (..), a fast two-sum.
    let first = s.splat(ERFC_FIRST);
    let slope = s.polynomial(t, &ERFC);
    let p = s.fma(t, slope, first);
    let p_low = s.fma(t, slope, s.sub(first, p));
    let inverse_scale = s.mul(both, sum);
    let quotient = s.mul(p, inverse_scale);
    let residual = s.add(s.fnma(quotient, scale, p), p_low);
    let quotient = s.fma(residual, inverse_scale, quotient);
    let square = s.mul(a, a);
    let square_low = s.fnma(a, a, square);
    s.mul(exp_two_parts(s, s.neg(square), square_low), quotient)
}

/// `(erf(|x|) - |x|) / |x|` for `|x| <= 1`.
#[inline(always)]
fn erf_small<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    s.polynomial(s.mul(x, x), &ERF)
}

/// Complementary error function $1-\operatorname{erf}x$, with relative accuracy to its underflow at
/// 27.2.
#[inline(always)]
pub fn erfc<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let size = s.abs(x);
    let y = erfc_positive(s, size);
    let y = s.select(s.lt(x, s.splat(0.0)), s.sub(s.splat(2.0), y), y);
    // About zero the quotients' roundings would count, against a result near one.
    let small = s.lt(size, s.splat(0.75));
    if !s.any(small) {
        return y;
    }
    let inside = s.sub(s.splat(1.0), s.fma(x, erf_small(s, x), x));
    s.select(small, inside, y)
}

/// Error function.
#[inline(always)]
pub fn erf<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let size = s.abs(x);
    let small = s.lt(size, s.splat(1.0));
    let inside = s.fma(size, erf_small(s, x), size);
    let y = if s.all(small) {
        inside
    } else {
        s.select(small, inside, s.sub(s.splat(1.0), erfc_positive(s, size)))
    };
    s.with_sign(y, x)
}
