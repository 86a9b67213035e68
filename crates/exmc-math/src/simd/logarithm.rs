//! Logarithms: log and log1p, and the logarithm in two parts for the functions built on it.
//!
//! x = 2^k m with m in [sqrt(1/2), sqrt 2), f = m - 1 and s = f / (2 + f): log(1 + f) = f - f^2/2 +
//! s (f^2/2 + R(s^2)) as in fdlibm (Ng 1993). `k log 2 + f` is kept in two parts, so that the only
//! rounding of size comes last.

use super::coefficients::{LN_2, LOG, LOG1P};
use super::lanes::Simd;

/// The bits of sqrt(1/2), nearly: where significands are cut.
const CUT: u64 = 0x3fe6_a09e_667f_3bcd;
/// The bits of 3/4, where log1p cuts.
const CUT_1P: u64 = 0x3fe8_0000_0000_0000;
/// The bits of one.
const ONE: u64 = 1023 << 52;
const SIGNIFICAND: u64 = (1 << 52) - 1;

/// A positive normal number taken apart: biased exponent (in the low bits) and significand about
/// one.
#[inline(always)]
pub(super) fn take_apart<S: Simd>(s: S, x: S::Vector) -> (S::Bits, S::Vector) {
    let moved = s.add_bits(s.to_bits(x), s.splat_bits(ONE - CUT));
    let significand = s.and_bits(moved, s.splat_bits(SIGNIFICAND));
    let m = s.with_bits(s.add_bits(significand, s.splat_bits(CUT)));
    (s.shift_right::<52>(moved), m)
}

/// A biased exponent as the number `k`.
#[inline(always)]
pub(super) fn exponent_number<S: Simd>(s: S, biased: S::Bits) -> S::Vector {
    // 2^52 has neighbours one apart, so its low bits count.
    let base = 4503599627370496.0;
    let sum = s.with_bits(s.or_bits(biased, s.splat_bits(f64::to_bits(base))));
    s.sub(sum, s.splat(base + 1023.0))
}

/// Multiplies subnormal numbers by 2^54; also returns what that adds to the exponent.
#[inline(always)]
pub(super) fn lift_subnormal<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let small = s.lt(x, s.splat(f64::MIN_POSITIVE));
    let lifted = s.select(small, s.mul(x, s.splat(18014398509481984.0)), x);
    (lifted, s.select(small, s.splat(54.0), s.splat(0.0)))
}

/// `log(2^k (1 + f))` in three parts of falling size, given `k log 2` in two parts.
///
/// The first two are `k log 2 + f` without error, the third the rest of `log(1 + f)` and of `k log
/// 2`.
#[inline(always)]
fn log_of_parts<S: Simd, const N: usize>(
    s: S,
    power: (S::Vector, S::Vector),
    f: S::Vector,
    series: &[f64; N],
) -> (S::Vector, S::Vector, S::Vector) {
    let ratio = s.div(f, s.add(f, s.splat(2.0)));
    let z = s.mul(ratio, ratio);
    let rest = s.polynomial(z, series);
    let half_f = s.mul(f, s.splat(0.5));
    let half_square = s.mul(half_f, f);
    let inner = s.fma(z, rest, half_square);
    let tail = s.fnma(half_f, f, s.fma(ratio, inner, power.1));
    // Fast two-sum: `k log 2` is the larger part unless k is zero, when the sum is exact anyway.
    let high = s.add(power.0, f);
    (high, s.add(s.sub(power.0, high), f), tail)
}

/// `k log 2` in two parts, the first exact.
#[inline(always)]
fn times_log_2<S: Simd>(s: S, k: S::Vector) -> (S::Vector, S::Vector) {
    (s.mul(k, s.splat(LN_2[0])), s.mul(k, s.splat(LN_2[1])))
}

/// `log x` in two parts, `high + low` with `|low| < |high| / 2`, for positive finite `x`; both zero
/// at one.
///
/// Their sum has an error of about 2^-57 relative to the larger of `|high|` and 1/4.
#[inline(always)]
pub(super) fn log_two_parts<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let (lifted, lift) = lift_subnormal(s, x);
    let (biased, m) = take_apart(s, lifted);
    let k = s.sub(exponent_number(s, biased), lift);
    let (high, low, tail) = log_of_parts(s, times_log_2(s, k), s.sub(m, s.splat(1.0)), &LOG);
    (high, s.add(low, tail))
}

/// Natural logarithm of positive normal numbers, with the bits of [`log`]; NaN of NaN.
#[inline(always)]
pub fn log_of_normal<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let (biased, m) = take_apart(s, x);
    let k = s.fma(x, s.splat(0.0), exponent_number(s, biased));
    let (high, low, tail) = log_of_parts(s, times_log_2(s, k), s.sub(m, s.splat(1.0)), &LOG);
    s.add(high, s.add(low, tail))
}

/// Natural logarithm; -∞ at zero, NaN below.
#[inline(always)]
pub fn log<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let normal = s.both(s.le(s.splat(f64::MIN_POSITIVE), x), s.lt(x, s.splat(f64::INFINITY)));
    if s.all(normal) {
        log_of_normal(s, x)
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
    let (high, low) = log1p_two_parts(s, x);
    let y = s.add(high, low);
    let y = s.with_bits(s.or_bits(s.to_bits(y), s.sign_bit(x)));
    let regular = s.between(-1.0, x, f64::INFINITY);
    if s.all(regular) { y } else { s.select(regular, y, outside(s, x, s.splat(-1.0))) }
}

/// [`log1p`] for `-1 < x < inf` (or NaN) in two parts, but 0 at -0.
///
/// `1 + x` is rounded only to find k. With p = 2^-k, f = p x + (p - 1): the product is exact, so is
/// the difference up to k = 53, and their sum, because both lie within a factor of two of each
/// other (Sterbenz), that is for cuts at 3/4 and 3/2 only; for k = 0 the second term is zero.
#[inline(always)]
pub(super) fn log1p_two_parts<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let sum = s.to_bits(s.add(s.splat(1.0), x));
    let biased = s.shift_right::<52>(s.add_bits(sum, s.splat_bits(ONE - CUT_1P)));
    // 4 p, since 2^-1024 has no normal bits.
    let power = s.with_bits(s.shift_left::<52>(s.sub_bits(s.splat_bits(2048), biased)));
    let quarter = s.splat(0.25);
    let f = s.fma(s.mul(power, x), quarter, s.fma(power, quarter, s.splat(-1.0)));
    let (high, low, tail) = log_of_parts(s, times_log_2(s, exponent_number(s, biased)), f, &LOG1P);
    (high, s.add(low, tail))
}

/// [`log1p`] for `0 <= x <= 1` (or NaN), where k is 0 or 1 and the argument itself tells which.
#[inline(always)]
pub(super) fn log1p_to_one<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let (zero, half) = (s.splat(0.0), s.splat(0.5));
    let upper = s.le(half, x);
    let f = s.select(upper, s.fma(x, half, s.splat(-0.5)), x);
    let power = (s.select(upper, s.splat(LN_2[0]), zero), s.select(upper, s.splat(LN_2[1]), zero));
    let (high, low, tail) = log_of_parts(s, power, f, &LOG1P);
    s.add(high, s.add(low, tail))
}
