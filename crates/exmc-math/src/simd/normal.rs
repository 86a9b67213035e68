//! The standard normal distribution: log of its distribution function, and its quantile.
//!
//! For a >= 0, (1 + 2a) e^(a^2/2) Phi(-a) is a polynomial in (a - 5)/(a + 5), so Phi(-a) = M(a)
//! e^(-a^2/2) with M in two parts and the rounding error of the square to first order; about zero
//! Phi is a series. Left of zero the result is log M - a^2/2, right of it log(1 - Phi(-a)).
//!
//! The quantile is an odd rational function about 1/2 and one of the root of minus the log of the
//! tail beyond (Wichura 1988), with more coefficients than his, so that no Newton step is needed.

use super::exponential::exp_two_parts;
use super::lanes::Simd;
use super::logarithm::log_two_parts;
use super::special_coefficients::{
    MILLS, MILLS_FIRST, NORMAL, QUANTILE_CENTRE, QUANTILE_END, QUANTILE_FAR, QUANTILE_NEAR,
    ROOT_2_PI,
};

/// `M(a)` in two parts, for `a >= 0` (or NaN); beyond 1e100 that of 1e100.
#[inline(always)]
fn mills<S: Simd>(s: S, a: S::Vector) -> (S::Vector, S::Vector) {
    let a = s.min(s.splat(1e100), a);
    let (one, two, five) = (s.splat(1.0), s.splat(2.0), s.splat(5.0));
    // One division for both quotients.
    let scale = s.fma(two, a, one);
    let sum = s.add(a, five);
    let both = s.div(one, s.mul(scale, sum));
    let inverse_sum = s.mul(both, scale);
    let t = s.mul(s.sub(a, five), inverse_sum);
    // t's error, by a - 5 - t (a + 5) = a - 5 (1 + t) - t a.
    let residual = s.fnma(t, a, s.fnma(five, s.add(t, one), a));
    let t = s.fma(residual, inverse_sum, t);
    // p + p_low = MILLS_FIRST + t (..), a fast two-sum.
    let first = s.splat(MILLS_FIRST);
    let slope = s.polynomial(t, &MILLS);
    let p = s.fma(t, slope, first);
    let p_low = s.fma(t, slope, s.sub(first, p));
    let inverse_scale = s.mul(both, sum);
    let quotient = s.mul(p, inverse_scale);
    let residual = s.add(s.fnma(quotient, scale, p), p_low);
    (quotient, s.mul(residual, inverse_scale))
}

/// $\log\Phi(x)$, the log of the standard normal distribution function.
#[inline(always)]
pub fn log_std_normal_cdf<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let (zero, one) = (s.splat(0.0), s.splat(1.0));
    let a = s.abs(x);
    let left = s.lt(x, zero);
    let (ratio, ratio_low) = mills(s, a);
    let half = s.mul(s.splat(0.5), a);
    let square = s.mul(half, a);
    // A square that overflows has no second part.
    let square_low = s.fma(half, a, s.neg(square));
    let square_low = s.select(s.lt(square, s.splat(1e300)), square_low, zero);
    let (mut argument, mut argument_low) = (ratio, ratio_low);
    if !s.all(left) {
        let exponent = s.max(s.splat(-1000.0), s.neg(square));
        let inside = s.lt(square, s.splat(1000.0));
        let exponent_low = s.select(inside, s.neg(square_low), zero);
        let bell = exp_two_parts(s, exponent, exponent_low);
        let tail = s.fma(bell, ratio, s.mul(bell, ratio_low));
        let rest = s.sub(one, tail);
        argument = s.select(left, argument, rest);
        argument_low = s.select(left, argument_low, s.sub(s.sub(one, rest), tail));
    }
    // About zero M has a rounding too many, against an argument of one half.
    let middle = s.le(a, s.splat(0.75));
    if s.any(middle) {
        let step = s.mul(x, s.polynomial(s.mul(x, x), &NORMAL));
        let sum = s.add(s.splat(0.5), step);
        argument = s.select(middle, sum, argument);
        argument_low = s.select(middle, s.add(s.sub(s.splat(0.5), sum), step), argument_low);
    }
    let (high, low) = log_two_parts(s, argument);
    // NaN comes through the quotient: the logarithm's parts do not know it.
    let low = s.add(low, s.div(argument_low, argument));
    let apart = s.lt(x, s.splat(-0.75));
    let square = s.select(apart, square, zero);
    let low = s.sub(low, s.select(apart, square_low, zero));
    let y = s.add(s.sub(high, square), low);
    // The limit at infinity is -0.
    s.with_bits(s.or_bits(s.to_bits(y), s.splat_bits(1 << 63)))
}

/// A rational function.
#[inline(always)]
fn rational<S: Simd, const N: usize>(
    s: S,
    x: S::Vector,
    [above, below]: &[[f64; N]; 2],
) -> S::Vector {
    s.div(s.polynomial(x, above), s.polynomial(x, below))
}

/// Standard normal quantile $\Phi^{-1}(p)$; ∓∞ at 0 and 1, NaN outside `[0, 1]`.
#[inline(always)]
pub fn std_normal_quantile<S: Simd>(s: S, p: S::Vector) -> S::Vector {
    let (zero, one, half) = (s.splat(0.0), s.splat(1.0), s.splat(0.5));
    let q = s.sub(p, half);
    let central = s.le(s.abs(q), s.splat(0.425));
    let x = central_quantile(s, p, q);
    if s.all(central) {
        return x;
    }
    // The complement is exact where it is taken.
    let right = s.lt(half, p);
    let tail = s.select(right, s.sub(one, p), p);
    let size = tail_quantile(s, tail);
    let outer = s.select(right, size, s.neg(size));
    let x = s.select(central, x, outer);
    let infinity = s.splat(f64::INFINITY);
    let x = s.select(s.eq(p, zero), s.neg(infinity), s.select(s.eq(p, one), infinity, x));
    s.select(s.both(s.le(zero, p), s.le(p, one)), x, s.splat(f64::NAN))
}

/// The quantile of `p = 1/2 + q` for `|q| <= 0.425`.
#[inline(always)]
fn central_quantile<S: Simd>(s: S, p: S::Vector, q: S::Vector) -> S::Vector {
    let z = s.mul(q, q);
    let ratio = rational(s, s.sub(s.splat(0.180625), z), &QUANTILE_CENTRE);
    let slope = s.fma(z, ratio, s.splat(ROOT_2_PI[1]));
    let x = s.mul(q, s.add(s.splat(ROOT_2_PI[0]), slope));
    // What p - 1/2 rounded off, times the slope sqrt(2 pi) e^(x^2/2) to two digits.
    let q_low = s.sub(p, s.add(q, s.splat(0.5)));
    let half_square = s.mul(s.mul(x, x), s.splat(0.5));
    let slope =
        s.polynomial(half_square, &[2.506628274631, 2.506628274631, 1.2533141373155, 0.418]);
    s.fma(q_low, slope, x)
}

/// Minus the quantile of a tail probability of at most 0.075; of 0 a finite number.
#[inline(always)]
fn tail_quantile<S: Simd>(s: S, tail: S::Vector) -> S::Vector {
    let (high, low) = log_two_parts(s, tail);
    let minus_log = s.neg(s.add(high, low));
    let log_low = s.sub(s.neg(s.add(high, minus_log)), low);
    let r = s.sqrt(minus_log);
    let r_low = s.div(s.add(s.fnma(r, r, minus_log), log_low), s.add(r, r));
    // These differences are exact.
    let (far, end) = (s.le(s.splat(4.0), r), s.le(s.splat(10.0), r));
    let mut x = rational(s, s.sub(r, s.splat(1.5)), &QUANTILE_NEAR);
    if s.any(far) {
        let rest = rational(s, s.sub(r, s.splat(4.0)), &QUANTILE_FAR);
        x = s.select(far, s.fma(r, s.splat(1.25), rest), x);
    }
    if s.any(end) {
        let rest = rational(s, s.sub(r, s.splat(10.0)), &QUANTILE_END);
        x = s.select(end, s.fma(r, s.splat(1.25), rest), x);
    }
    // The slope is between 1.41 and 1.71.
    s.fma(r_low, s.splat(1.5), x)
}
