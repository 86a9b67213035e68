//! Logarithms of sums and differences of exponentials: log1m_exp, log_add_exp and log_diff_exp.
//!
//! 1 - e^x is had in two parts from the reduced exponential 2^n (1 + p): (1 - 2^n) - 2^n p, whose
//! roundings are kept. So one logarithm serves all arguments, next to zero as well as far from it.

use super::exponential::{exp, exp_minus_abs, expm1_two_parts};
use super::lanes::Simd;
use super::logarithm::{log_two_parts, log1p, log1p_to_one};

/// $\log(1-e^x)$ for $x<0$; -∞ at 0, NaN above.
#[inline(always)]
pub fn log1m_exp<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let zero = s.splat(0.0);
    let (power, p, p_low) = expm1_two_parts(s, s.max(s.splat(-760.0), x));
    // 1 - 2^n and what its rounding took off, then minus 2^n p: falling sizes, since |2^n p| < (1 -
    // 2^n)/2 unless n = 0.
    let one = s.splat(1.0);
    let first = s.sub(one, power);
    let first_low = s.sub(s.sub(one, first), power);
    let change = s.mul(power, p);
    let rest = s.sub(first, change);
    let rest_low = s.sub(s.sub(first, rest), change);
    let rest_low = s.add(rest_low, s.fnma(power, p_low, first_low));
    let (high, low) = log_two_parts(s, rest);
    let y = s.add(high, s.add(low, s.div(rest_low, rest)));
    // Where 2^n is not normal its product would round twice; there the result is -e^x.
    let far = s.lt(x, s.splat(-700.0));
    let y = if s.any(far) { s.select(far, s.neg(exp(s, x)), y) } else { y };
    let y = s.select(s.eq(x, zero), s.splat(f64::NEG_INFINITY), y);
    let y = s.select(s.le(x, zero), y, s.splat(f64::NAN));
    // At -inf the result is -0, as the limit from below.
    s.with_bits(s.or_bits(s.to_bits(y), s.splat_bits(1 << 63)))
}

/// $\log(e^a+e^b)$; the larger one where that is infinite, NaN if either is.
#[inline(always)]
pub fn log_add_exp<S: Simd>(s: S, a: S::Vector, b: S::Vector) -> S::Vector {
    let larger = s.select(s.le(b, a), a, b);
    let smaller = s.select(s.le(b, a), b, a);
    let difference = s.sub(smaller, larger);
    let sum = s.add(larger, log1p(s, exp(s, difference)));
    let finite = s.lt(s.abs(larger), s.splat(f64::INFINITY));
    // Where the larger one is infinite the difference may be NaN; a NaN of either stays.
    let edge = s.select(s.eq(smaller, smaller), larger, smaller);
    s.select(finite, sum, edge)
}

/// What [`log_add_exp`] and its slopes are made of, for one exponential $e = e^{-|a-b|}$ and one
/// division.
#[derive(Clone, Copy)]
pub struct Addends<S: Simd> {
    /// The larger logarithm; where that is infinite, or either is NaN, the log of the sum.
    pub larger: S::Vector,
    /// $e$, between 0 and 1: what the larger one lacks is $\log(1+e)$; 0 where that is infinite.
    pub excess: S::Vector,
    /// $e^a / (e^a + e^b)$ and $e^b / (e^a + e^b)$; 0 where both logarithms are -∞.
    pub shares: [S::Vector; 2],
}

/// The parts of $\log(e^a+e^b)$.
#[inline(always)]
pub fn addends<S: Simd>(s: S, a: S::Vector, b: S::Vector) -> Addends<S> {
    let (zero, one, nothing) = (s.splat(0.0), s.splat(1.0), s.splat(f64::NEG_INFINITY));
    let first = s.le(b, a);
    let (larger, smaller) = (s.select(first, a, b), s.select(first, b, a));
    let e = exp_minus_abs(s, s.sub(a, b));
    let most = s.div(one, s.add(one, e));
    let least = s.mul(e, most);
    let empty = s.both(s.eq(larger, nothing), s.eq(smaller, nothing));
    let (most, least) = (s.select(empty, zero, most), s.select(empty, zero, least));
    // Where the larger one is infinite the difference may be NaN; a NaN of either stays.
    let finite = s.lt(s.abs(larger), s.splat(f64::INFINITY));
    let edge = s.select(s.eq(smaller, smaller), larger, smaller);
    Addends {
        larger: s.select(finite, larger, edge),
        excess: s.select(finite, e, zero),
        shares: [s.select(first, most, least), s.select(first, least, most)],
    }
}

/// [`log_add_exp`] and the shares of both, the slopes.
#[inline(always)]
pub fn log_add_exp_shares<S: Simd>(
    s: S,
    a: S::Vector,
    b: S::Vector,
) -> (S::Vector, [S::Vector; 2]) {
    let Addends { larger, excess, shares } = addends(s, a, b);
    (s.add(larger, log1p_to_one(s, excess)), shares)
}

/// $e^a/(e^a+e^b)$, the slope of [`log_add_exp`] by $a$; 0 where both are -∞.
#[inline(always)]
pub fn log_add_exp_share<S: Simd>(s: S, a: S::Vector, b: S::Vector) -> S::Vector {
    addends(s, a, b).shares[0]
}

/// $\log(e^a-e^b)$ for $a>b$; -∞ where they are equal, NaN where $a<b$.
#[inline(always)]
pub fn log_diff_exp<S: Simd>(s: S, a: S::Vector, b: S::Vector) -> S::Vector {
    let y = s.add(a, log1m_exp(s, s.sub(b, a)));
    let equal = s.both(s.eq(a, b), s.lt(a, s.splat(f64::INFINITY)));
    s.select(equal, s.splat(f64::NEG_INFINITY), y)
}
