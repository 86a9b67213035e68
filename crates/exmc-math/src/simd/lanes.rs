//! The vector interface: eight `f64` lanes and what can be done with them, at any hardware width.
//!
//! Algorithms are generic functions over [`Simd`], marked `#[inline(always)]` all the way up to
//! [`Kernel::run`](super::Kernel::run), so that they become part of a function compiled for the
//! level's instructions.

use super::single::Single;

/// Eight lanes of `f64` and the instructions for them.
///
/// A value of a type with this trait is a *token*: it can be had only from
/// [`Level::run`](super::Level::run), which makes it where the processor has the instructions. So
/// every method is safe to call, and it is one or a few instructions where it is inlined into code
/// compiled for that level. Therefore: mark generic functions over this trait `#[inline(always)]`,
/// and use no closures in them. A closure is a function of its own, compiled without the
/// instructions, and twenty times slower.
///
/// Each operation is exactly rounded (or exact), so its bits are the same at every level; only the
/// sign and payload of a NaN are left open.
///
/// `Vector` holds eight `f64`, `Bits` their bit patterns as eight `u64`, `Mask` eight booleans.
pub trait Simd: Copy + sealed::Sealed {
    /// Eight `f64`.
    type Vector: Copy;
    /// Eight `u64`.
    type Bits: Copy;
    /// Eight booleans.
    type Mask: Copy;
    /// The token for sixteen lanes of `f32` at the same level.
    type Single: Single;

    /// The token for sixteen lanes of `f32`.
    fn single(self) -> Self::Single;
    /// All lanes equal to `x`.
    fn splat(self, x: f64) -> Self::Vector;
    /// Lane k is `x[k]`.
    fn load(self, x: &[f64; 8]) -> Self::Vector;
    /// `out[k]` becomes lane k.
    fn store(self, x: Self::Vector, out: &mut [f64; 8]);
    /// Says that the memory there will be read soon, so that the processor may fetch it meanwhile.
    /// Any address will do: nothing is read, and where the processor has no such instruction
    /// nothing is done.
    #[inline(always)]
    fn prefetch(self, _: *const f64) {}

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
    /// The nearest integer, ties to even.
    fn round(self, x: Self::Vector) -> Self::Vector;

    /// `a < b`; false for NaN.
    fn lt(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// `a <= b`; false for NaN.
    fn le(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// `a == b`; false for NaN.
    fn eq(self, a: Self::Vector, b: Self::Vector) -> Self::Mask;
    /// `if mask { a } else { b }` in each lane.
    fn select(self, mask: Self::Mask, a: Self::Vector, b: Self::Vector) -> Self::Vector;
    /// Both.
    fn both(self, a: Self::Mask, b: Self::Mask) -> Self::Mask;
    /// Whether any lane is true.
    fn any(self, mask: Self::Mask) -> bool;
    /// Whether every lane is true.
    fn all(self, mask: Self::Mask) -> bool;

    /// The bit patterns.
    fn to_bits(self, x: Self::Vector) -> Self::Bits;
    /// The numbers with these bit patterns.
    fn with_bits(self, x: Self::Bits) -> Self::Vector;
    /// All lanes equal to `x`.
    fn splat_bits(self, x: u64) -> Self::Bits;
    /// `a + b` modulo 2^64.
    fn add_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// `a - b` modulo 2^64.
    fn sub_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise and.
    fn and_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise or.
    fn or_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// Bitwise exclusive or.
    fn xor_bits(self, a: Self::Bits, b: Self::Bits) -> Self::Bits;
    /// `a << N` for `N < 64`.
    fn shift_left<const N: u32>(self, a: Self::Bits) -> Self::Bits;
    /// `a >> N`, filling with zeros, for `N < 64`.
    fn shift_right<const N: u32>(self, a: Self::Bits) -> Self::Bits;

    /// `x 2^n`, rounded once, for `|x|` in `[2^-60, 4)` and `n = shifted - POWER_SHIFT` an integer
    /// in `[-2040, 2040]`.
    ///
    /// The sum `shifted` is what rounds a number to `n`: see [`POWER_SHIFT`].
    #[inline(always)]
    fn scale(self, x: Self::Vector, shifted: Self::Vector) -> Self::Vector {
        // Two factors 2^floor(n/2) and 2^ceil(n/2), both normal: only the second product rounds.
        let bits = self.to_bits(shifted);
        let half = self.shift_right::<1>(bits);
        let first = self.with_bits(self.shift_left::<52>(half));
        let second = self.with_bits(self.shift_left::<52>(self.sub_bits(bits, half)));
        self.mul(self.mul(x, first), second)
    }

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
    /// The sign bit of `x`, all else zero.
    #[inline(always)]
    fn sign_bit(self, x: Self::Vector) -> Self::Bits {
        self.and_bits(self.to_bits(x), self.splat_bits(SIGN))
    }
    /// `magnitude`, which must not be negative, with the sign of `sign`.
    #[inline(always)]
    fn with_sign(self, magnitude: Self::Vector, sign: Self::Vector) -> Self::Vector {
        self.with_bits(self.or_bits(self.to_bits(magnitude), self.sign_bit(sign)))
    }
    /// `a < x < b`; false for NaN.
    #[inline(always)]
    fn between(self, a: f64, x: Self::Vector, b: f64) -> Self::Mask {
        self.both(self.lt(self.splat(a), x), self.lt(x, self.splat(b)))
    }
    /// The lanes as an array.
    #[inline(always)]
    fn to_array(self, x: Self::Vector) -> [f64; 8] {
        let mut out = [0.0; 8];
        self.store(x, &mut out);
        out
    }
    /// Lanes k and k + 4 are `x[k]`.
    #[inline(always)]
    fn twice(self, x: &[f64; 4]) -> Self::Vector {
        self.load(&[x[0], x[1], x[2], x[3], x[0], x[1], x[2], x[3]])
    }
    /// Lanes k and k + 4 become their sum.
    #[inline(always)]
    fn add_halves(self, x: Self::Vector) -> Self::Vector {
        let l = self.to_array(x);
        self.twice(&[l[0] + l[4], l[1] + l[5], l[2] + l[6], l[3] + l[7]])
    }
    /// Bit k is that of lane k.
    #[inline(always)]
    fn lanes_of(self, mask: Self::Mask) -> u8 {
        let l = self.to_array(self.select(mask, self.splat(1.0), self.splat(0.0)));
        let mut bits = 0;
        let mut k = 0;
        while k < 8 {
            bits |= u8::from(l[k] != 0.0) << k;
            k += 1;
        }
        bits
    }
    /// The sum of the lanes as `((0+4)+(2+6)) + ((1+5)+(3+7))`.
    #[inline(always)]
    fn total(self, x: Self::Vector) -> f64 {
        let l = self.to_array(x);
        ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
    }
    /// `c[0] + x c[1] + x^2 c[2] + ...`, as `c[0] + x (even + x odd)` with both parts in powers of
    /// `x^2`.
    ///
    /// Two chains have half the latency of Horner's rule, and the last rounding is the same.
    #[inline(always)]
    fn polynomial<const N: usize>(self, x: Self::Vector, c: &[f64; N]) -> Self::Vector {
        let square = self.mul(x, x);
        let mut last = self.splat(c[N - 1]);
        let mut other = self.splat(c[N - 2]);
        let mut k = N - 2;
        while k > 1 {
            k -= 1;
            (last, other) = (other, self.fma(last, square, self.splat(c[k])));
        }
        // Now `other` begins with c[1] and `last` with c[2].
        self.fma(x, self.fma(x, last, other), self.splat(c[0]))
    }
}

/// The sign bit of an `f64`.
pub(super) const SIGN: u64 = 1 << 63;

/// Adding this number to a small `x` rounds it to the integer `n`: the sum's low bits are then `n +
/// 2046`.
///
/// It is 3/2 2^52, where neighbours are one apart, plus 2046, which makes half of it a biased
/// exponent.
pub const POWER_SHIFT: f64 = 6755399441055744.0 + 2046.0;

pub(super) mod sealed {
    /// Only this module's children implement [`Simd`](super::Simd), because a token vouches for the
    /// processor.
    pub trait Sealed {}
}
