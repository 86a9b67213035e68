//! Logarithms: log and log1p, and the logarithm in two parts for the functions built on it.
//!
//! x = 2^k m with m in [sqrt(1/2), sqrt 2), f = m - 1 and s = f / (2 + f):
//! log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)) as in fdlibm (Ng 1993). `k log 2 + f` is kept in two parts, so that the only
//! rounding of size comes last.

use super::coefficients::{LN_2, LOG};
use super::lanes::Simd;

/// The bits of sqrt(1/2), nearly: where significands are cut.
const CUT: u64 = 0x3fe6_a09e_667f_3bcd;
/// The bits of one.
const ONE: u64 = 1023 << 52;
const SIGNIFICAND: u64 = (1 << 52) - 1;

/// A positive normal number taken apart: biased exponent (in the low bits) and significand about one.
#[inline(always)]
pub(super) fn take_apart<S: Simd>(s: S, x: S::Vector) -> (S::Bits, S::Vector) {
    let moved = s.add_bits(s.to_bits(x), s.splat_bits(ONE - CUT));
    let significand = s.and_bits(moved, s.splat_bits(SIGNIFICAND));
    let m = s.from_bits(s.add_bits(significand, s.splat_bits(CUT)));
    (s.shift_right::<52>(moved), m)
}

/// A biased exponent as the number `k - offset`.
#[inline(always)]
pub(super) fn exponent_number<S: Simd>(s: S, biased: S::Bits, offset: f64) -> S::Vector {
    // 2^52 has neighbours one apart, so its low bits count.
    let sum = s.from_bits(s.or_bits(biased, s.splat_bits(4503599627370496f64.to_bits())));
    s.sub(sum, s.splat(4503599627370496.0 + 1023.0 + offset))
}

/// Multiplies subnormal numbers by 2^54; also returns what that adds to the exponent.
#[inline(always)]
pub(super) fn lift_subnormal<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let small = s.lt(x, s.splat(f64::MIN_POSITIVE));
    let lifted = s.select(small, s.mul(x, s.splat(18014398509481984.0)), x);
    (lifted, s.select(small, s.splat(54.0), s.splat(0.0)))
}

/// `log(1 + f) - f` plus `k log 2`'s second part, and `k log 2 + f` in two parts: `(high, low)`.
#[inline(always)]
fn log_of_parts<S: Simd>(s: S, k: S::Vector, f: S::Vector) -> (S::Vector, S::Vector, S::Vector) {
    let ratio = s.div(f, s.add(f, s.splat(2.0)));
    let z = s.mul(ratio, ratio);
    let rest = s.polynomial(z, &LOG);
    let half_f = s.mul(f, s.splat(0.5));
    let half_square = s.mul(half_f, f);
    let inner = s.fma(z, rest, half_square);
    let tail = s.fma(ratio, inner, s.mul(k, s.splat(LN_2[1])));
    let tail = s.fnma(half_f, f, tail);
    // Fast two-sum: `k log 2` is the larger part unless k is zero, when the sum is exact anyway.
    let power = s.mul(k, s.splat(LN_2[0]));
    let high = s.add(power, f);
    (high, s.add(s.sub(power, high), f), tail)
}

/// `log x` in two parts, `high + low` with `|low| < |high| / 2`, for positive finite `x`; both zero at one.
///
/// Their sum has an error of about 2^-57 relative to the larger of `|high|` and 1/4.
#[inline(always)]
pub(super) fn log_two_parts<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let (lifted, lift) = lift_subnormal(s, x);
    let (biased, m) = take_apart(s, lifted);
    let k = s.sub(exponent_number(s, biased, 0.0), lift);
    let (high, low, tail) = log_of_parts(s, k, s.sub(m, s.splat(1.0)));
    (high, s.add(low, tail))
}

/// Natural logarithm; -∞ at zero, NaN below.
#[inline(always)]
pub fn log<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let normal = s.both(s.le(s.splat(f64::MIN_POSITIVE), x), s.lt(x, s.splat(f64::INFINITY)));
    if s.all(normal) {
        let (biased, m) = take_apart(s, x);
        let k = exponent_number(s, biased, 0.0);
        let (high, low, tail) = log_of_parts(s, k, s.sub(m, s.splat(1.0)));
        s.add(high, s.add(low, tail))
    } else {
        let (high, low) = log_two_parts(s, x);
        let regular = s.between(0.0, x, f64::INFINITY);
        s.select(regular, s.add(high, low), outside(s, x, s.splat(0.0)))
    }
}

/// The logarithm outside its regular range: -∞ at the pole, ∞ at ∞, else NaN.
#[inline(always)]
fn outside<S: Simd>(s: S, x: S::Vector, pole: S::Vector) -> S::Vector {
    let infinity = s.splat(f64::INFINITY);
    let above = s.select(s.eq(x, infinity), infinity, s.splat(f64::NAN));
    s.select(s.eq(x, pole), s.splat(f64::NEG_INFINITY), above)
}

/// $\log(1+x)$, with relative accuracy near zero; -∞ at -1, NaN below.
#[inline(always)]
pub fn log1p<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let one = s.splat(1.0);
    let u = s.add(one, x);
    // The rounding error of `u`, exactly (two-sum).
    let x_part = s.sub(u, one);
    let one_part = s.sub(u, x_part);
    let error = s.add(s.sub(one, one_part), s.sub(x, x_part));
    let y = log1p_of_sum(s, x, u, error);
    let y = s.from_bits(s.or_bits(s.to_bits(y), s.sign_bit(x)));
    let regular = s.between(-1.0, x, f64::INFINITY);
    if s.all(regular) { y } else { s.select(regular, y, outside(s, x, s.splat(-1.0))) }
}

/// `log1p` of numbers in `[0, 1]` (or NaN), where less can happen.
#[inline(always)]
pub(super) fn log1p_positive<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let one = s.splat(1.0);
    let u = s.add(one, x);
    let error = s.sub(x, s.sub(u, one));
    log1p_of_sum(s, x, u, error)
}

/// `log(u + error)` where `u + error = 1 + x` exactly and `u` is a positive normal number.
#[inline(always)]
fn log1p_of_sum<S: Simd>(s: S, x: S::Vector, u: S::Vector, error: S::Vector) -> S::Vector {
    let (biased, m) = take_apart(s, u);
    let k = exponent_number(s, biased, 0.0);
    // Where k is zero, f is x itself. Else the error counts, times 2^-k: as half of it times 2^(1-k), which is no
    // number only for k = 1024, where zero comes out.
    let whole = s.eq(k, s.splat(0.0));
    let f = s.select(whole, x, s.sub(m, s.splat(1.0)));
    let power = s.from_bits(s.shift_left::<52>(s.sub_bits(s.splat_bits(2047), biased)));
    let scaled = s.mul(s.mul(error, s.splat(0.5)), power);
    let extra = s.select(whole, s.splat(0.0), scaled);
    let (high, low, tail) = log_of_parts(s, k, f);
    // d log(1 + f) = 1 / (1 + f), of which 1 - f + f^2 is near enough for an error of the last bit.
    let slope = s.fnma(f, s.fnma(f, s.splat(1.0), s.splat(1.0)), s.splat(1.0));
    s.add(high, s.add(low, s.fma(extra, slope, tail)))
}
