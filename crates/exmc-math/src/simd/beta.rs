//! The log of the beta function.
//!
//! With p <= q and h = p/q, Stirling's terms meet before they are rounded: for p and q from 6 on
//! the result is (p - 1/2) log h - (p + q - 1/2) log(1 + h) - log(q)/2 + log(2 pi)/2 and what is
//! left of the three series. A smaller p has its own log gamma instead of the first term; a smaller
//! q takes six steps up, whose product joins p's. So there are three logarithms for all arguments,
//! and nothing cancels that is much larger than the result. Arguments that are not between 1e-140
//! and 1e290 go lane by lane to the scalar function.

use super::coefficients::{HALF_LOG_2_PI, LGAMMA, LGAMMA_AT_2};
use super::gamma::{LARGE, steps_to_two, stirling};
use super::lanes::Simd;
use super::logarithm::{log_two_parts, log1p_two_parts};

/// $\log B(a,b)$ for positive arguments.
#[inline(always)]
pub fn lbeta<S: Simd>(s: S, a: S::Vector, b: S::Vector) -> S::Vector {
    let regular = s.both(s.between(1e-140, a, 1e290), s.between(1e-140, b, 1e290));
    let y = lbeta_positive(s, s.min(a, b), s.max(a, b));
    if s.all(regular) {
        return y;
    }
    let (firsts, seconds, mut values) = (s.to_array(a), s.to_array(b), s.to_array(y));
    for ((value, a), b) in values.iter_mut().zip(firsts).zip(seconds) {
        let inside = |x: f64| 1e-140 < x && x < 1e290;
        if !inside(a) || !inside(b) {
            *value = crate::lbeta(a, b);
        }
    }
    s.load(&values)
}

/// The sum in two parts, exactly.
#[inline(always)]
fn two_sum<S: Simd>(s: S, a: S::Vector, b: S::Vector) -> (S::Vector, S::Vector) {
    let sum = s.add(a, b);
    let part = s.sub(sum, a);
    (sum, s.add(s.sub(a, s.sub(sum, part)), s.sub(b, part)))
}

/// `x (x + 1) .. (x + 5)` in two parts, for `x` in two parts: `u (u + 4) (u + 6)` for `u = x (x +
/// 5)`.
#[inline(always)]
fn six_factors<S: Simd>(s: S, (x, x_low): (S::Vector, S::Vector)) -> (S::Vector, S::Vector) {
    let (next, next_low) = two_sum(s, x, s.splat(5.0));
    let u = s.mul(x, next);
    let u_low = s.fma(x, next_low, s.fma(x, next, s.neg(u)));
    let u_low = s.fma(s.add(x, next), x_low, u_low);
    let (v, v_low) = two_sum(s, u, s.splat(4.0));
    let (w, w_low) = two_sum(s, u, s.splat(6.0));
    let pair = s.mul(v, w);
    let pair_low = s.fma(v, w, s.neg(pair));
    let pair_low = s.fma(v, s.add(w_low, u_low), s.fma(w, s.add(v_low, u_low), pair_low));
    let all = s.mul(u, pair);
    let all_low = s.fma(u, pair, s.neg(all));
    (all, s.fma(u, pair_low, s.fma(u_low, pair, all_low)))
}

/// A number in two parts times a factor.
#[inline(always)]
fn times<S: Simd>(
    s: S,
    (x, x_low): (S::Vector, S::Vector),
    factor: S::Vector,
) -> (S::Vector, S::Vector) {
    let y = s.mul(x, factor);
    (y, s.fma(x_low, factor, s.fma(x, factor, s.neg(y))))
}

/// [`lbeta`] for `1e-140 < p <= q < 1e290`.
#[inline(always)]
fn lbeta_positive<S: Simd>(s: S, p: S::Vector, q: S::Vector) -> S::Vector {
    let (zero, one, half) = (s.splat(0.0), s.splat(1.0), s.splat(0.5));
    let limit = s.splat(LARGE);
    let (p_small, q_small) = (s.lt(p, limit), s.lt(q, limit));
    // Six steps up for q: B(p, q) = B(p, q + 6) above / below, which p's steps to two join.
    let steps = steps_to_two(s, p);
    let (mut above, mut below, mut base) = (one, one, q);
    let (mut above_low, mut below_low) = (zero, zero);
    if s.any(q_small) {
        (above, above_low) = six_factors(s, two_sum(s, q, p));
        (below, below_low) = six_factors(s, (q, zero));
        above = s.select(q_small, above, one);
        above_low = s.select(q_small, above_low, zero);
        below = s.select(q_small, below, one);
        below_low = s.select(q_small, below_low, zero);
        base = s.select(q_small, s.add(q, limit), q);
    }
    let above_factor = s.select(steps.up, one, steps.product);
    let below_factor = s.select(steps.up, steps.product, one);
    let (above, above_low) = times(s, (above, above_low), above_factor);
    let (below, below_low) = times(s, (below, below_low), below_factor);
    let ratio = s.div(p, base);
    let total = s.add(p, base);
    let quotient = s.div(above, below);
    let (high, low) = log_two_parts(s, s.select(p_small, quotient, ratio));
    // What the quotient rounded off, relative to it.
    let residual = s.add(s.fnma(quotient, below, above), s.fnma(quotient, below_low, above_low));
    let low = s.select(p_small, s.add(low, s.div(residual, above)), low);
    let (rise, rise_low) = log1p_two_parts(s, ratio);
    let (log, log_low) = log_two_parts(s, base);

    // The result is product + log_quotient + constant - fall - power: see above. Each is kept in
    // two parts, the second ones in `rest`.
    let t = steps.t;
    let a = s.select(p_small, t, s.sub(p, half));
    let b = s.select(p_small, s.splat(LGAMMA_AT_2), high);
    let product = s.mul(a, b);
    let rest = s.fma(a, b, s.neg(product));
    let log_quotient = s.select(p_small, high, zero);
    let log_quotient_low = s.fma(s.mul(t, t), s.polynomial(t, &LGAMMA), low);
    let rest = s.add(rest, s.select(p_small, log_quotient_low, s.mul(a, low)));
    let constant = s.select(p_small, p, s.splat(HALF_LOG_2_PI[0]));
    let weight = s.sub(total, half);
    let fall = s.mul(weight, rise);
    let rest = s.sub(rest, s.fma(weight, rise_low, s.fma(weight, rise, s.neg(fall))));
    // What the quotient p / base rounded off counts as if it were added to p - p.
    let rest = s.sub(rest, s.select(p_small, s.fnma(ratio, base, p), zero));
    let factor = s.select(p_small, p, half);
    let power = s.mul(factor, log);
    let rest = s.sub(rest, s.fma(factor, log_low, s.fma(factor, log, s.neg(power))));
    let (sum, first) = two_sum(s, product, log_quotient);
    let (sum, second) = two_sum(s, sum, constant);
    let (sum, third) = two_sum(s, sum, s.neg(fall));
    let (sum, fourth) = two_sum(s, sum, s.neg(power));
    let rest = s.add(rest, s.add(s.add(first, second), s.add(third, fourth)));

    let series = s.sub(stirling(s, s.div(one, base)), stirling(s, s.div(one, total)));
    let series = if s.all(p_small) {
        series
    } else {
        s.add(series, s.select(p_small, zero, stirling(s, s.div(one, p))))
    };
    s.add(sum, s.add(rest, series))
}
