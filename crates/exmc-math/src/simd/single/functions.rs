//! Functions of sixteen `f32`: the exponential, the logarithm, the logistic function and softplus.
//!
//! As their `f64` namesakes, with shorter series and without the corrections for the last half ulp;
//! every other function is computed in `f64` and rounded. The exponential and the logarithm are off
//! by at most 1.25 ulp, the others by 2.5, which `tests/single_functions` checks over the whole
//! range.

use super::lanes::{SIGN, Single};

/// (e^r - 1 - r) / r^2 over |r| <= log(2) / 2, within 6.4e-8; by `scripts/single_coefficients.py`.
const EXP: [f32; 5] = [0.5, 0.16666576, 0.041666463, 0.008363198, 0.0013933677];
/// (log((1 + s) / (1 - s)) - 2 s) / s^3 as a series in z = s^2 <= 0.04, within 4.8e-7; by the same.
const LOG: [f32; 3] = [0.66666716, 0.3997883, 0.2996119];
/// log 2 in two parts, of which the first has fifteen bits: its products with exponents are exact.
const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
/// 3/2 2^23, where neighbours are one apart, plus 254, which makes half of it a biased exponent.
const POWER_SHIFT: f32 = 12_582_912.0 + 254.0;
/// The bits of sqrt(1/2), nearly: where significands are cut.
const CUT: u32 = 0x3f35_04f3;
/// The bits of one.
const ONE: u32 = 127 << 23;
const SIGNIFICAND: u32 = (1 << 23) - 1;

/// `x 2^n`, rounded once, for `x` in `[1/2, 2)` and `n = shifted - POWER_SHIFT` an integer in
/// `[-252, 252]`.
#[inline(always)]
fn scale<S: Single>(s: S, x: S::Vector, shifted: S::Vector) -> S::Vector {
    // Two factors 2^floor(n/2) and 2^ceil(n/2), both normal: only the second product rounds.
    let bits = s.to_bits(shifted);
    let half = s.shift_right::<1>(bits);
    let first = s.with_bits(s.shift_left::<23>(half));
    let second = s.with_bits(s.shift_left::<23>(s.sub_bits(bits, half)));
    s.mul(s.mul(x, first), second)
}

/// [`exp`] of arguments in `[-110, 90]` (or NaN).
#[inline(always)]
fn exp_clamped<S: Single>(s: S, x: S::Vector) -> S::Vector {
    let shift = s.splat(POWER_SHIFT);
    let shifted = s.fma(x, s.splat(std::f32::consts::LOG2_E), shift);
    let n = s.sub(shifted, shift);
    let r = s.fnma(n, s.splat(LN_2[1]), s.fnma(n, s.splat(LN_2[0]), x));
    let mut q = s.splat(EXP[4]);
    for c in [EXP[3], EXP[2], EXP[1], EXP[0]] {
        q = s.fma(q, r, s.splat(c));
    }
    let power = s.add(s.splat(1.0), s.fma(s.mul(r, r), q, r));
    scale(s, power, shifted)
}

/// Exponential $e^x$; infinity above 88.72, gradual underflow to 0 at -103.97.
#[inline(always)]
pub fn exp<S: Single>(s: S, x: S::Vector) -> S::Vector {
    exp_clamped(s, s.max(s.splat(-105.0), s.min(s.splat(89.0), x)))
}

/// `log(1 + f)` without its first term `f`, for `f` in `[-0.3, 0.5]`.
#[inline(always)]
fn log_rest<S: Single>(s: S, f: S::Vector) -> S::Vector {
    let ratio = s.div(f, s.add(f, s.splat(2.0)));
    let z = s.mul(ratio, ratio);
    let series = s.fma(s.fma(s.splat(LOG[2]), z, s.splat(LOG[1])), z, s.splat(LOG[0]));
    let half_square = s.mul(s.mul(f, f), s.splat(0.5));
    let inner = s.fma(z, series, half_square);
    s.sub(s.mul(ratio, inner), half_square)
}

/// Natural logarithm; -∞ at zero, NaN below.
#[inline(always)]
pub fn log<S: Single>(s: S, x: S::Vector) -> S::Vector {
    // Subnormal numbers are multiplied by 2^25.
    let small = s.lt(x, s.splat(f32::MIN_POSITIVE));
    let lifted = s.select(small, s.mul(x, s.splat(33_554_432.0)), x);
    let lift = s.select(small, s.splat(25.0), s.splat(0.0));
    let moved = s.add_bits(s.to_bits(lifted), s.splat_bits(ONE - CUT));
    let m =
        s.with_bits(s.add_bits(s.and_bits(moved, s.splat_bits(SIGNIFICAND)), s.splat_bits(CUT)));
    // 2^23 has neighbours one apart, so its low bits count.
    let base = 8_388_608.0;
    let exponent =
        s.with_bits(s.or_bits(s.shift_right::<23>(moved), s.splat_bits(f32::to_bits(base))));
    let k = s.sub(s.sub(exponent, s.splat(base + 127.0)), lift);
    let f = s.sub(m, s.splat(1.0));
    let rest = s.fma(k, s.splat(LN_2[1]), log_rest(s, f));
    // `k log 2` is a multiple of 2^-15 and f one of 2^-24: their sum rounds once, and what that
    // takes off is added.
    let power = s.mul(k, s.splat(LN_2[0]));
    let high = s.add(power, f);
    let low = s.add(s.sub(power, high), f);
    let y = s.add(high, s.add(low, rest));
    let infinity = s.splat(f32::INFINITY);
    let y = s.select(s.eq(x, infinity), infinity, y);
    let y = s.select(s.le(s.splat(0.0), x), y, s.splat(f32::NAN));
    s.select(s.eq(x, s.splat(0.0)), s.neg(infinity), y)
}

/// `e^-|x|`, the one exponential that the logistic functions need.
#[inline(always)]
fn exp_minus_abs<S: Single>(s: S, x: S::Vector) -> S::Vector {
    let minus = s.with_bits(s.or_bits(s.to_bits(x), s.splat_bits(SIGN)));
    exp_clamped(s, s.max(s.splat(-105.0), minus))
}

/// Logistic function of `x`, given `e = exp(-|x|)`.
#[inline(always)]
fn logistic<S: Single>(s: S, x: S::Vector, e: S::Vector) -> S::Vector {
    let one = s.splat(1.0);
    s.div(s.select(s.lt(x, s.splat(0.0)), e, one), s.add(one, e))
}

/// Softplus of `x`, given `e = exp(-|x|)`.
#[inline(always)]
fn softplus_of<S: Single>(s: S, x: S::Vector, e: S::Vector) -> S::Vector {
    // 1 + e is 2^k (1 + f) with k zero or one, so that f is no larger than a half.
    let (half, zero) = (s.splat(0.5), s.splat(0.0));
    let upper = s.le(half, e);
    let f = s.select(upper, s.fma(e, half, s.splat(-0.5)), e);
    let power = s.select(upper, s.splat(std::f32::consts::LN_2), zero);
    let log1p = s.add(power, s.add(f, log_rest(s, f)));
    // The maximum passes NaN, being the second operand.
    s.add(s.max(zero, x), log1p)
}

/// [`sigmoid`], and $e^{-|x|}$, which softplus is made of.
#[inline(always)]
pub fn sigmoid_exp<S: Single>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let e = exp_minus_abs(s, x);
    (logistic(s, x, e), e)
}

/// Logistic function $1/(1+e^{-x})$, without underflow before $e^x$ underflows.
#[inline(always)]
pub fn sigmoid<S: Single>(s: S, x: S::Vector) -> S::Vector {
    logistic(s, x, exp_minus_abs(s, x))
}

/// Softplus $\log(1+e^x)$.
#[inline(always)]
pub fn softplus<S: Single>(s: S, x: S::Vector) -> S::Vector {
    softplus_of(s, x, exp_minus_abs(s, x))
}

/// [`sigmoid`] and [`softplus`] for one exponential.
#[inline(always)]
pub fn sigmoid_softplus<S: Single>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let e = exp_minus_abs(s, x);
    (logistic(s, x, e), softplus_of(s, x, e))
}
