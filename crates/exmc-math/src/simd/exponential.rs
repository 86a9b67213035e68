//! Functions made of the exponential: exp, expm1, tanh, the logistic function and softplus.
//!
//! With n the integer nearest to x / log 2 and r = x - n log 2, exact in its first part, exp(x) =
//! 2^n (1 + (r + r^2 q(r))), where what the rounding of r took off joins the second term, so that
//! only two roundings count: of the bracket and of the whole. Arguments are clamped to where the
//! result is 0 or infinity, so that no lane needs a branch.

use super::coefficients::{EXP, LN_2};
use super::lanes::{POWER_SHIFT, Simd};
use super::logarithm::log1p_to_one;

/// Exponentials of numbers below in size are normal, with a factor of two to spare, so that n can
/// be added to a significand's exponent: the same bits as [`Simd::scale`] has, in fewer operations.
pub const ORDINARY: f64 = 707.0;
/// 3/2 2^52: as [`POWER_SHIFT`], with n alone in the low bits.
const INTEGER_SHIFT: f64 = 6755399441055744.0;

/// `m 2^n`, both normal, for `shifted = n + INTEGER_SHIFT`.
#[inline(always)]
fn times_power<S: Simd>(s: S, m: S::Vector, shifted: S::Vector) -> S::Vector {
    s.with_bits(s.add_bits(s.to_bits(m), s.shift_left::<52>(s.to_bits(shifted))))
}

/// `n` plus [`POWER_SHIFT`], `r` rounded, and what its rounding took off, where `x = n log 2 + r`.
#[inline(always)]
fn reduce<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector, S::Vector) {
    reduce_by(s, x, s.splat(POWER_SHIFT))
}

/// The same with another even shift that rounds to integers.
#[inline(always)]
fn reduce_by<S: Simd>(s: S, x: S::Vector, shift: S::Vector) -> (S::Vector, S::Vector, S::Vector) {
    let shifted = s.fma(x, s.splat(std::f64::consts::LOG2_E), shift);
    let n = s.sub(shifted, shift);
    let first = s.fnma(n, s.splat(LN_2[0]), x);
    let r = s.fnma(n, s.splat(LN_2[1]), first);
    (shifted, r, s.fnma(n, s.splat(LN_2[1]), s.sub(first, r)))
}

/// `e^r - 1` for `|r| <= log(2) / 2`.
#[inline(always)]
fn expm1_small<S: Simd>(s: S, r: S::Vector) -> S::Vector {
    let q = s.polynomial(r, &EXP);
    s.fma(s.mul(r, r), q, r)
}

/// `e^x - 1 = (2^n - 1) + 2^n (p + p_low)` for `x` in `[-1000, 700]` (or NaN): `2^n`, `p`, `p_low`,
/// with `|p| < 0.42`.
#[inline(always)]
pub(super) fn expm1_two_parts<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector, S::Vector) {
    let (shifted, r, rest) = reduce(s, x);
    let square = s.mul(r, r);
    let q = s.polynomial(r, &EXP);
    let p = s.fma(square, q, r);
    let p_low = s.add(s.fma(square, q, s.sub(r, p)), rest);
    (s.scale(s.splat(1.0), shifted), p, p_low)
}

/// Exponential $e^x$ of numbers between -707 and 707, with the bits of [`exp`]; of anything else a
/// number without meaning.
#[inline(always)]
pub fn exp_of_ordinary<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let (shifted, r, rest) = reduce_by(s, x, s.splat(INTEGER_SHIFT));
    let tail = s.fma(s.mul(r, r), s.polynomial(r, &EXP), rest);
    times_power(s, s.add(s.splat(1.0), s.add(r, tail)), shifted)
}

/// Exponential $e^x$; infinity above 709.78, gradual underflow to 0 at -745.13.
#[inline(always)]
pub fn exp<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    if s.all(s.lt(s.abs(x), s.splat(ORDINARY))) {
        return exp_of_ordinary(s, x);
    }
    let (shifted, r, rest) = reduce(s, s.max(s.splat(-746.0), s.min(s.splat(710.0), x)));
    exp_reduced(s, shifted, r, rest)
}

/// `e^(x + low)` for `|low|` a few ulp of `x`, which is in `[-1000, 1000]`.
#[inline(always)]
pub(super) fn exp_two_parts<S: Simd>(s: S, x: S::Vector, low: S::Vector) -> S::Vector {
    let (shifted, r, rest) = reduce(s, x);
    // `low` may be as large as 1e-13: it belongs to r, and only what that sum rounds off to the
    // rest.
    let sum = s.add(r, low);
    let lost = s.add(s.sub(r, sum), low);
    exp_reduced(s, shifted, sum, s.add(rest, lost))
}

/// `2^n e^(r + rest)`.
#[inline(always)]
fn exp_reduced<S: Simd>(s: S, shifted: S::Vector, r: S::Vector, rest: S::Vector) -> S::Vector {
    let q = s.polynomial(r, &EXP);
    let tail = s.fma(s.mul(r, r), q, rest);
    s.scale(s.add(s.splat(1.0), s.add(r, tail)), shifted)
}

/// $e^x = 2^n m$ with an integer n, and m between 0.7 and 1.42, for arguments of any size: n and m.
/// Zero is m = 0 with n = -1e300; infinity and NaN are m, with n = 0.
#[inline(always)]
pub fn exp_parts<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let n = s.round(s.mul(x, s.splat(std::f64::consts::LOG2_E)));
    let first = s.fnma(n, s.splat(LN_2[0]), x);
    let r = s.fnma(n, s.splat(LN_2[1]), first);
    let rest = s.fnma(n, s.splat(LN_2[1]), s.sub(first, r));
    // Where n is no longer exact, what is left of x is less than the rounding of x.
    let r = s.max(s.splat(-0.35), s.min(s.splat(0.35), r));
    let rest = s.max(s.splat(-1e-16), s.min(s.splat(1e-16), rest));
    let tail = s.fma(s.mul(r, r), s.polynomial(r, &EXP), rest);
    let m = s.add(s.splat(1.0), s.add(r, tail));
    let finite = s.lt(s.abs(x), s.splat(f64::INFINITY));
    let zero = s.eq(x, s.splat(f64::NEG_INFINITY));
    let edge = s.select(zero, s.splat(0.0), x);
    let n_edge = s.select(zero, s.splat(-1e300), s.splat(0.0));
    (s.select(finite, n, n_edge), s.select(finite, m, edge))
}

/// $e^x - 1$, with relative accuracy near zero.
#[inline(always)]
pub fn expm1<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let clamped = s.max(s.splat(-40.0), s.min(s.splat(710.0), x));
    let (shifted, r, _) = reduce(s, clamped);
    // 2^1024 is no number: one factor of two waits until the end.
    let top = s.splat(POWER_SHIFT + 1023.0);
    let (capped, rest) =
        (s.min(top, shifted), s.select(s.lt(top, shifted), s.splat(2.0), s.splat(1.0)));
    let p = expm1_small(s, r);
    let power = s.scale(s.splat(1.0), capped);
    let y = s.mul(s.fma(power, p, s.sub(power, s.splat(1.0))), rest);
    s.with_bits(s.or_bits(s.to_bits(y), s.sign_bit(x)))
}

/// Hyperbolic tangent.
#[inline(always)]
pub fn tanh<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let size = s.min(s.splat(22.0), s.abs(x));
    let (shifted, r, _) = reduce(s, s.add(size, size));
    let p = expm1_small(s, r);
    let power = s.scale(s.splat(1.0), shifted);
    let y = s.fma(power, p, s.sub(power, s.splat(1.0)));
    s.with_sign(s.div(y, s.add(y, s.splat(2.0))), x)
}

/// $e^{-|x|}$, the one exponential that the logistic functions need. What the rounding of r takes
/// off is left out: it is a third of an ulp, of what is added to one or divided by that.
#[inline(always)]
pub fn exp_minus_abs<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let negative = s.with_bits(s.or_bits(s.to_bits(x), s.splat_bits(1 << 63)));
    if s.all(s.lt(s.splat(-ORDINARY), negative)) {
        let (shifted, r, _) = reduce_by(s, negative, s.splat(INTEGER_SHIFT));
        return times_power(s, s.add(s.splat(1.0), expm1_small(s, r)), shifted);
    }
    let (shifted, r, _) = reduce(s, s.max(s.splat(-746.0), negative));
    s.scale(s.add(s.splat(1.0), expm1_small(s, r)), shifted)
}

/// Logistic function of `x`, given `e = exp(-|x|)`.
#[inline(always)]
fn logistic<S: Simd>(s: S, x: S::Vector, e: S::Vector) -> S::Vector {
    let one = s.splat(1.0);
    s.div(s.select(s.lt(x, s.splat(0.0)), e, one), s.add(one, e))
}

/// Logistic function $1/(1+e^{-x})$, without underflow before $e^x$ underflows.
#[inline(always)]
pub fn sigmoid<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    logistic(s, x, exp_minus_abs(s, x))
}

/// Softplus $\log(1+e^x)$.
#[inline(always)]
pub fn softplus<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    // The maximum passes NaN, being the second operand.
    s.add(s.max(s.splat(0.0), x), log1p_to_one(s, exp_minus_abs(s, x)))
}

/// [`sigmoid`] and $e^{-|x|}$, of which softplus is made: $\max(x, 0) + \log(1 + e^{-|x|})$.
#[inline(always)]
pub fn sigmoid_exp<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let e = exp_minus_abs(s, x);
    (logistic(s, x, e), e)
}

/// [`sigmoid`] and [`softplus`] for one exponential.
#[inline(always)]
pub fn sigmoid_softplus<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let e = exp_minus_abs(s, x);
    (logistic(s, x, e), s.add(s.max(s.splat(0.0), x), log1p_to_one(s, e)))
}

#[cfg(test)]
mod tests {
    use super::super::level::{Kernel, Level};
    use super::*;

    /// Exponentials of a number among ones and among numbers of which one has no normal
    /// exponential.
    struct Neighbours(f64);

    impl Kernel for Neighbours {
        type Output = [[f64; 2]; 2];
        fn run<S: Simd>(self, s: S) -> [[f64; 2]; 2] {
            [1.0, -800.0].map(|other| {
                let x = s.load(&[self.0, 1.0, 1.0, 1.0, 1.0, other, 1.0, 1.0]);
                [s.to_array(exp(s, x))[0], s.to_array(exp_minus_abs(s, x))[0]]
            })
        }
    }

    #[test]
    fn exponentials_have_the_same_bits_among_any_neighbours() {
        for level in Level::available() {
            for k in -141_800..=141_800 {
                let x = f64::from(k) * 0.005;
                let [alone, among] = level.run(Neighbours(x));
                assert_eq!(alone.map(f64::to_bits), among.map(f64::to_bits), "{x}, {level:?}");
            }
            for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 5e-324] {
                let [alone, among] = level.run(Neighbours(x));
                let same =
                    |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
                assert!(alone.iter().zip(&among).all(same), "{x}, {level:?}: {alone:?}, {among:?}");
            }
        }
    }

    struct Parts(f64);

    impl Kernel for Parts {
        type Output = [f64; 2];
        fn run<S: Simd>(self, s: S) -> [f64; 2] {
            let (n, m) = exp_parts(s, s.splat(self.0));
            [s.to_array(n)[0], s.to_array(m)[0]]
        }
    }

    #[test]
    fn exponentials_in_parts_are_those_of_any_argument() {
        let parts = |x: f64| Level::detect().run(Parts(x));
        for k in -70_000..70_000 {
            let x = f64::from(k) * 0.01;
            let ([n, m], expected) = (parts(x), crate::exp(x));
            assert!((0.7..1.42).contains(&m) && n.fract() == 0.0, "{x}: {m} 2^{n}");
            // Two factors, so that neither leaves the range of numbers.
            let half = (n / 2.0).floor() as i32;
            let found = m * 2f64.powi(half) * 2f64.powi(n as i32 - half);
            // Two roundings of the bracket, one of the reference.
            assert!((found - expected).abs() <= 5e-16 * expected, "{x}: {found}, not {expected}");
        }
        // An argument's own rounding moves m by any factor here: the logarithm is what stays.
        for x in [1e9, -1e9, 1e15, -1e300, 1e300] {
            let [n, m] = parts(x);
            let log = n * std::f64::consts::LN_2 + crate::log(m);
            assert!((0.7..1.42).contains(&m) && (log / x - 1.0).abs() < 1e-15, "{x}: {m} 2^{n}");
        }
        assert_eq!(parts(f64::NEG_INFINITY), [-1e300, 0.0]);
        assert_eq!(parts(f64::INFINITY), [0.0, f64::INFINITY]);
        let [n, m] = parts(f64::NAN);
        assert!(n == 0.0 && m.is_nan());
    }
}
