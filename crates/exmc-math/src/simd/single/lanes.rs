//! The interface to sixteen lanes of `f32`, and the way between them and two vectors of eight
//! `f64`.

use crate::simd::lanes::{Simd, sealed::Sealed};

/// Sixteen lanes of `f32` and the instructions for them.
///
/// A token, as [`Simd`] is one: [`Simd::single`] gives it, so the processor has its instructions.
/// Every operation is exactly rounded (or exact), so its bits are the same at every level; only the
/// sign and payload of a NaN are left open.
///
/// `Vector` holds sixteen `f32`, `Bits` their bit patterns as sixteen `u32`, `Mask` sixteen
/// booleans.
pub trait Single: Copy + Sealed {
    /// The token for eight lanes of `f64` at the same level.
    type Wide: Simd;
    /// Sixteen `f32`.
    type Vector: Copy;
    /// Sixteen `u32`.
    type Bits: Copy;
    /// Sixteen booleans.
    type Mask: Copy;

    /// The token for `f64`.
    fn wide(self) -> Self::Wide;
    /// All lanes equal to `x`.
    fn splat(self, x: f32) -> Self::Vector;
    /// Lane k is `x[k]`.
    fn load(self, x: &[f32; 16]) -> Self::Vector;
    /// `out[k]` becomes lane k.
    fn store(self, x: Self::Vector, out: &mut [f32; 16]);
    /// Lanes 0 to 7, and lanes 8 to 15, exactly.
    fn widen(self, x: Self::Vector) -> [<Self::Wide as Simd>::Vector; 2];
    /// Rounded to `f32`, ties to even: infinite above its range, subnormal or zero below.
    fn narrow(self, x: [<Self::Wide as Simd>::Vector; 2]) -> Self::Vector;

    /// `a + b`.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a - b`.
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a b`.
    fn mul(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a / b`.
    fn div(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `a b + c`, rounded once.
    fn fma(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// `c - a b`, rounded once.
    fn fnma(self, a: Self::Vector, b: Self::Vector, c: Self::Vector) -> Self::Vector;
    /// Square root, correctly rounded.
    fn sqrt(self, x: Self::Vector) -> Self::Vector;
    /// `if a < b { a } else { b }`: `b` if one of both is NaN, and on ties.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// `if a > b { a } else { b }`: `b` if one of both is NaN, and on ties.
    fn max(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// `a < b`; false for NaN.
    fn lt(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// `a <= b`; false for NaN.
    fn le(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// `a == b`; false for NaN.
    fn eq(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// `if mask { a } else { b }` in each lane.
    fn select(self, mask: Self::Mask, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Whether every lane is true.
    fn all(self, mask: Self::Mask) -> bool;

    /// The bit patterns.
    fn to_bits(self, x: Self::Vector) -> Self::Bits;
    /// The numbers with these bit patterns.
    fn with_bits(self, x: Self::Bits) -> Self::Vector;
    /// All lanes equal to `x`.
    fn splat_bits(self, x: u32) -> Self::Bits;
    /// `a + b` modulo 2^32.
    fn add_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// `a - b` modulo 2^32.
    fn sub_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise and.
    fn and_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise or.
    fn or_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise exclusive or.
    fn xor_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// `a << N` for `N < 32`.
    fn shift_left<const N: u32>(self, a: Self::Bits) -> Self::Bits;
    /// `a >> N`, filling with zeros, for `N < 32`.
    fn shift_right<const N: u32>(self, a: Self::Bits) -> Self::Bits;

    /// `-x`.
    #[inline(always)]
    fn neg(self, x: Self::Vector) -> Self::Vector {
        self.with_bits(self.xor_bits(self.to_bits(x), self.splat_bits(SIGN)))
    }
    /// `|x|`.
    #[inline(always)]
    fn abs(self, x: Self::Vector) -> Self::Vector {
        self.with_bits(self.and_bits(self.to_bits(x), self.splat_bits(!SIGN)))
    }
    /// The lanes as an array.
    #[inline(always)]
    fn to_array(self, x: Self::Vector) -> [f32; 16] {
        let mut out = [0.0; 16];
        self.store(x, &mut out);
        out
    }
    /// Lane k and lane k + 8, added in `f64`.
    #[inline(always)]
    fn fold(self, x: Self::Vector) -> <Self::Wide as Simd>::Vector {
        let [low, high] = self.widen(x);
        self.wide().add(low, high)
    }
}

/// The sign bit of an `f32`.
pub(super) const SIGN: u32 = 1 << 31;
