//! Sine, cosine and tangent.
//!
//! x = n pi/2 + r with pi/2 in three parts (Cody and Waite): `x - n p` is exact for the first part,
//! and its difference with the second keeps its error. Arguments from 2^30 on, infinities and NaN
//! go lane by lane to the scalar functions, whose reduction holds for all.

use super::coefficients::{COS, HALF_PI, SIN};
use super::lanes::Simd;

/// Beyond this size the scalar functions take over.
const LIMIT: f64 = 1073741824.0;
/// 3/2 2^52: adding it rounds to an integer, in the low bits.
const SHIFT: f64 = 6755399441055744.0;

/// Sine and cosine of angles in radians.
#[inline(always)]
pub fn sin_cos<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let size = s.abs(x);
    let (sine, cosine) = sin_cos_reduced(s, size);
    let sine = s.with_bits(s.xor_bits(s.to_bits(sine), s.sign_bit(x)));
    let regular = s.lt(size, s.splat(LIMIT));
    if s.all(regular) {
        return (sine, cosine);
    }
    let (arguments, mut sines, mut cosines) = (s.to_array(x), s.to_array(sine), s.to_array(cosine));
    for ((sine, cosine), argument) in sines.iter_mut().zip(&mut cosines).zip(arguments) {
        if argument.abs() >= LIMIT || argument.is_nan() {
            (*sine, *cosine) = (crate::sin(argument), crate::cos(argument));
        }
    }
    (s.load(&sines), s.load(&cosines))
}

/// Sine of angles in radians.
#[inline(always)]
pub fn sin<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    sin_cos(s, x).0
}

/// Cosine of angles in radians.
#[inline(always)]
pub fn cos<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    sin_cos(s, x).1
}

/// Bits whose lowest two are the quadrant `n`, and `x - n pi/2` in two parts, for `0 <= x < LIMIT`.
#[inline(always)]
fn reduce<S: Simd>(s: S, x: S::Vector) -> (S::Bits, S::Vector, S::Vector) {
    let shifted = s.fma(x, s.splat(std::f64::consts::FRAC_2_PI), s.splat(SHIFT));
    let n = s.sub(shifted, s.splat(SHIFT));
    let first = s.fnma(n, s.splat(HALF_PI[0]), x);
    // first - n p in two parts, by an exact product and a two-sum.
    let p = s.mul(n, s.splat(HALF_PI[1]));
    let p_low = s.fma(n, s.splat(HALF_PI[1]), s.neg(p));
    let r = s.sub(first, p);
    let p_part = s.sub(first, r);
    let error = s.sub(s.sub(first, s.add(r, p_part)), s.sub(p, p_part));
    let low = s.fnma(n, s.splat(HALF_PI[2]), s.sub(error, p_low));
    let sum = s.add(r, low);
    (s.to_bits(shifted), sum, s.add(s.sub(r, sum), low))
}

/// Whether the quadrant is even.
#[inline(always)]
fn is_even<S: Simd>(s: S, quadrant: S::Bits) -> S::Mask {
    let odd = s.shift_left::<63>(quadrant);
    s.eq(s.with_bits(s.or_bits(odd, s.splat_bits(1 << 52))), s.splat(f64::MIN_POSITIVE))
}

/// [`sin_cos`] for `0 <= x < LIMIT`.
#[inline(always)]
fn sin_cos_reduced<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let (quadrant, r, _) = reduce(s, x);
    let z = s.mul(r, r);
    let sine = s.fma(s.mul(r, z), s.polynomial(z, &SIN), r);
    let cosine = s.fma(s.mul(z, z), s.polynomial(z, &COS), s.fnma(z, s.splat(0.5), s.splat(1.0)));
    // Odd quadrants swap both; bit 1 of n, and of n + 1, is the sign.
    let even = is_even(s, quadrant);
    let sine_sign = s.and_bits(s.shift_left::<62>(quadrant), s.splat_bits(1 << 63));
    let next = s.add_bits(quadrant, s.splat_bits(1));
    let cosine_sign = s.and_bits(s.shift_left::<62>(next), s.splat_bits(1 << 63));
    (
        s.with_bits(s.xor_bits(s.to_bits(s.select(even, sine, cosine)), sine_sign)),
        s.with_bits(s.xor_bits(s.to_bits(s.select(even, cosine, sine)), cosine_sign)),
    )
}

/// Tangent of angles in radians.
#[inline(always)]
pub fn tan<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let size = s.abs(x);
    let tangent = tan_reduced(s, size);
    let tangent = s.with_bits(s.xor_bits(s.to_bits(tangent), s.sign_bit(x)));
    let regular = s.lt(size, s.splat(LIMIT));
    if s.all(regular) {
        return tangent;
    }
    let (arguments, mut values) = (s.to_array(x), s.to_array(tangent));
    for (value, argument) in values.iter_mut().zip(arguments) {
        if argument.abs() >= LIMIT || argument.is_nan() {
            *value = crate::tan(argument);
        }
    }
    s.load(&values)
}

/// [`tan`] for `0 <= x < LIMIT`, from a sine and a cosine that take the second part of `r`, too.
#[inline(always)]
fn tan_reduced<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let (quadrant, r, r_low) = reduce(s, x);
    let z = s.mul(r, r);
    let sine = s.add(r, s.fma(s.mul(r, z), s.polynomial(z, &SIN), r_low));
    let (one, half) = (s.splat(1.0), s.splat(0.5));
    let first = s.fnma(z, half, one);
    let first_low = s.fnma(z, half, s.sub(one, first));
    let rest = s.fma(s.mul(z, z), s.polynomial(z, &COS), s.fnma(r, r_low, first_low));
    let cosine = s.add(first, rest);
    let even = is_even(s, quadrant);
    let above = s.select(even, sine, cosine);
    let below = s.select(even, cosine, s.neg(sine));
    s.div(above, below)
}
