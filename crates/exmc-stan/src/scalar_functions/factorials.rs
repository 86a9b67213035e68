//! Counts of arrangements: binomial coefficients, rising and falling factorials.
//!
//! $x^{(n)} = x(x+1)\cdots(x+n-1) = \Gamma(x+n)/\Gamma(x)$ and $(x)_n = x(x-1)\cdots(x-n+1) =
//! \Gamma(x+1)/\Gamma(x-n+1)$, as products with signs or differences of log gammas that do not
//! cancel. **Edges**: fewer than no factors and logarithms at x not above zero are errors in Stan,
//! NaN here. **Reference**: Stan functions reference, "Combinatorial functions".

use std::f64::consts::PI;

use exmc_fault::{Fault, planted};
use exmc_graph::{Graph, NodeId, Unary};
use exmc_math as m;

use super::Values::Real2;
use super::{ScalarFunction, Shapes, binary};
use crate::library::known;

/// See [`ScalarFunction`].
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    binary("lchoose", lchoose)
        .shapes(Shapes::Pairs)
        .aliases(&["binomial_coefficient_log"])
        .values(Real2(lchoose_value)),
    binary("choose", |g, n, k| {
        let log = lchoose(g, n, k);
        let exact = g.exp(log);
        let value = g.unary(Unary::Round, exact);
        // No way to choose more than there are; fewer than none is an error in Stan.
        let (zero, none) = (g.scalar(0.0), g.scalar(f64::NAN));
        let too_many = g.lt(n, k);
        let value = g.select(too_many, zero, value);
        let (some, chosen) = (g.le(zero, n), g.le(zero, k));
        let counts = g.and(some, chosen);
        g.select(counts, value, none)
    }),
    binary("rising_factorial", rising).shapes(Shapes::RealAndInt).values(Real2(rising_value)),
    binary("falling_factorial", falling).shapes(Shapes::RealAndInt).values(Real2(falling_value)),
    binary("log_rising_factorial", log_rising)
        .shapes(Shapes::Pairs)
        .values(Real2(log_rising_value)),
    binary("log_falling_factorial", log_falling)
        .shapes(Shapes::Pairs)
        .values(Real2(log_falling_value)),
];

/// Up to so many factors are multiplied one by one, which is right at roots and for any sign.
const MAX_FACTORS: f64 = 200.0;

/// $(x)_n$
fn falling(g: &mut Graph, x: NodeId, n: NodeId) -> NodeId {
    factorial(g, x, n, -1.0)
}

/// $x^{(n)}$
fn rising(g: &mut Graph, x: NodeId, n: NodeId) -> NodeId {
    factorial(g, x, n, 1.0)
}

fn factorial(g: &mut Graph, x: NodeId, n: NodeId, step: f64) -> NodeId {
    let most = known(g, n).map(|all| all.into_iter().fold(0.0, f64::max));
    let value = match most {
        Some(most) if most <= MAX_FACTORS && !planted(Fault::FactorialSign) => {
            product(g, x, n, most, step)
        }
        _ => by_gamma(g, x, n, step),
    };
    let (zero, none) = (g.scalar(0.0), g.scalar(f64::NAN));
    let is_count = g.le(zero, n);
    g.select(is_count, value, none)
}

fn product(g: &mut Graph, x: NodeId, n: NodeId, most: f64, step: f64) -> NodeId {
    let one = g.scalar(1.0);
    // As x enters even where no factor does, NaN stays NaN.
    let same = g.eq(x, x);
    let none = g.scalar(f64::NAN);
    let mut value = g.select(same, one, none);
    for k in 0..most as usize {
        let index = g.scalar(k as f64);
        let counts = g.lt(index, n);
        let factor = g.shift(x, step * k as f64);
        let factor = g.select(counts, factor, one);
        value = g.mul(value, factor);
    }
    value
}

/// The sign of the product times the exponential of its logarithm.
fn by_gamma(g: &mut Graph, x: NodeId, n: NodeId, step: f64) -> NodeId {
    // Both are a rising factorial from the lowest factor.
    let low = if step < 0.0 {
        let low = g.sub(x, n);
        g.shift(low, 1.0)
    } else {
        x
    };
    let high = g.add(low, n);
    let log = rise(g, low, n);
    let size = g.exp(log);
    // Factors below zero: those from `low` to zero, n of them where `high` is not above zero
    // either.
    let zero = g.scalar(0.0);
    let below = g.neg(low);
    let below = g.unary(Unary::Ceil, below);
    let below = g.max(below, zero);
    let below = g.min(below, n);
    let half = g.scale(below, 0.5);
    let half_floor = g.floor(half);
    let is_odd = g.ne(half, half_floor);
    let opposite = g.neg(size);
    let signed = g.select(is_odd, opposite, size);
    if planted(Fault::FactorialSign) {
        return size;
    }
    // A factor is zero: `low` is a whole number up to zero and the last factor is not below zero.
    let floor = g.floor(low);
    let is_whole = g.eq(low, floor);
    let (from_below, to_above) = (g.le(low, zero), g.lt(zero, high));
    let crosses = g.and(from_below, to_above);
    let vanishes = g.and(is_whole, crosses);
    g.select(vanishes, zero, signed)
}

/// $\log|\Gamma(x+n)/\Gamma(x)|$ for n not below zero.
///
/// **Numerics**: where x is positive, $\log\Gamma(n+1) - \log B(x, n+1) - \log(x+n)$, of which no
/// two terms are huge and nearly equal, as log gammas are; below zero the same from the other end,
/// by $\Gamma(z)\Gamma(1-z)\sin\pi z = \pi$; else log gammas.
fn rise(g: &mut Graph, x: NodeId, n: NodeId) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let end = g.add(x, n);
    let is_high = g.lt(zero, x);
    let is_low = g.le(end, zero);
    // Below zero the sizes of the factors are those of a product that rises from 1 - x - n.
    let mirrored = g.sub(one, end);
    let start = g.select(is_low, mirrored, one);
    let start = g.select(is_high, x, start);
    let next = g.shift(n, 1.0);
    let (gamma, log_beta) = (g.lgamma(next), g.lbeta(start, next));
    let last = g.add(start, n);
    let log_last = g.log(last);
    let same_sign = g.sub(gamma, log_beta);
    let same_sign = g.sub(same_sign, log_last);
    let either = g.or(is_high, is_low);
    let (middle_end, middle) = (g.select(either, one, end), g.select(either, one, x));
    let (above, below) = (g.lgamma(middle_end), g.lgamma(middle));
    let changes_sign = g.sub(above, below);
    g.select(either, same_sign, changes_sign)
}

/// $\log|\Gamma(b)/\Gamma(a)|$ for $b = a + n$ and any n, where a or b is the positive x or one
/// more.
///
/// **Numerics**: both ends are given, as either would be rounded if it came from the other. From
/// zero or below, where n is whole, by reflection at the sine of x, which is that of the lower end
/// but for its sign: the lower end alone may be rounded to a pole. It falls where n grows, or
/// rises, which `step` says.
fn ratio(g: &mut Graph, [x, a, b, n]: [NodeId; 4], step: f64) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let is_up = g.le(zero, n);
    // A choice, not a size, whose derivative at zero is zero.
    let opposite = g.neg(n);
    let size = g.select(is_up, n, opposite);
    let (low, high) = (g.select(is_up, a, b), g.select(is_up, b, a));
    let is_positive = g.lt(zero, low);
    let start = g.select(is_positive, low, one);
    let next = g.shift(size, 1.0);
    let (gamma, log_beta) = (g.lgamma(next), g.lbeta(start, next));
    let end = g.select(is_positive, high, one);
    let log_end = g.log(end);
    let above = g.sub(gamma, log_beta);
    let above = g.sub(above, log_end);

    // The sine's derivative by n is that of the lower end's, though n is whole.
    let turns = g.unary(Unary::Round, x);
    let part = g.sub(x, turns);
    let floor = g.floor(n);
    let rest = g.sub(n, floor);
    let rest = g.scale(rest, step);
    let angle = g.add(part, rest);
    let angle = g.scale(angle, PI);
    let sine = g.sin(angle);
    let sine = g.abs(sine);
    let log_sine = g.log(sine);
    let mirrored = g.sub(one, low);
    let mirrored = g.select(is_positive, one, mirrored);
    let of_mirrored = g.lgamma(mirrored);
    let reflected = g.add(log_sine, of_mirrored);
    let reflected = g.shift(reflected, -exmc_math::log(PI));
    let below = g.select(is_positive, one, low);
    let plain = g.lgamma(below);
    let plain = g.neg(plain);
    let is_whole = g.eq(n, floor);
    let lower = g.select(is_whole, reflected, plain);
    let top = g.select(is_positive, one, high);
    let of_top = g.lgamma(top);
    let crossing = g.add(of_top, lower);

    let value = g.select(is_positive, above, crossing);
    let opposite = g.neg(value);
    g.select(is_up, value, opposite)
}

/// NaN where x is not above zero.
fn positive_only(g: &mut Graph, x: NodeId, value: NodeId) -> NodeId {
    let (zero, none) = (g.scalar(0.0), g.scalar(f64::NAN));
    let inside = g.lt(zero, x);
    g.select(inside, value, none)
}

/// $\log|x^{(n)}|$ for real n and positive x.
fn log_rising(g: &mut Graph, x: NodeId, n: NodeId) -> NodeId {
    let end = g.add(x, n);
    let value = ratio(g, [x, x, end, n], 1.0);
    positive_only(g, x, value)
}

/// $\log|(x)_n|$ for real n and positive x.
fn log_falling(g: &mut Graph, x: NodeId, n: NodeId) -> NodeId {
    // x + (1 - n): for n near one a tiny x must not be lost; for n near a large x it is the one.
    let (one, half) = (g.scalar(1.0), g.scalar(0.5));
    let rest = g.sub(one, n);
    let of_small = g.add(x, rest);
    let less = g.sub(x, n);
    let of_large = g.shift(less, 1.0);
    let distance = g.abs(less);
    let reach = g.mul(half, x);
    let is_near = g.le(distance, reach);
    let low = g.select(is_near, of_large, of_small);
    let next = g.shift(x, 1.0);
    let value = ratio(g, [x, low, next, n], -1.0);
    positive_only(g, x, value)
}

/// $\log\binom nk = -\log(n+1) - \log B(k+1, n-k+1)$
fn lchoose(g: &mut Graph, n: NodeId, k: NodeId) -> NodeId {
    let rest = g.sub(n, k);
    let (rest, next) = (g.shift(rest, 1.0), g.shift(k, 1.0));
    // Known numbers of things are whole; beside a k of one a tiny n must not be lost.
    let rest = if known(g, n).is_some() {
        rest
    } else {
        let (one, half) = (g.scalar(1.0), g.scalar(0.5));
        let less = g.sub(one, k);
        let of_tiny = g.add(n, less);
        let size = g.abs(n);
        let is_small = g.lt(size, half);
        g.select(is_small, of_tiny, rest)
    };
    let (log_beta, log_n) = (g.lbeta(next, rest), g.log1p(n));
    let sum = g.add(log_beta, log_n);
    g.neg(sum)
}

/// $\log\binom nk$ for real $n\ge-1$ and $-1\le k\le n+1$; beyond an error in Stan, NaN here.
fn lchoose_value(n: f64, k: f64) -> f64 {
    if !(n >= -1.0 && k >= -1.0 && k <= n + 1.0) {
        f64::NAN
    } else if k == 0.0 || k == n {
        0.0
    } else {
        // Beside a k of one a tiny n must not be lost.
        let rest = if n.abs() < 0.5 { n + (1.0 - k) } else { n - k + 1.0 };
        -m::log1p(n) - m::lbeta(k + 1.0, rest)
    }
}

/// $x (x - 1) \cdots (x - n + 1)$; an error in Stan for negative n, NaN here.
fn falling_value(x: f64, n: f64) -> f64 {
    factorial_value(x, n, -1.0)
}

/// $x (x + 1) \cdots (x + n - 1)$; an error in Stan for negative n, NaN here.
fn rising_value(x: f64, n: f64) -> f64 {
    factorial_value(x, n, 1.0)
}

fn factorial_value(x: f64, n: f64, step: f64) -> f64 {
    // Products of more factors than this have overflowed or vanished, or their factors are around
    // zero.
    const MAX_STEPS: f64 = 1e5;
    if n < 0.0 || x.is_nan() {
        return f64::NAN;
    }
    let mut value = 1.0;
    for k in 0..n.min(MAX_STEPS) as i64 {
        value *= x + step * k as f64;
        if value == 0.0 {
            break;
        }
    }
    value
}

/// $\log|\Gamma(b)/\Gamma(a)|$ for $b = a + n$, where a or b is the positive x or one more. Where
/// nothing is negative $\log\Gamma(n+1) - \log B(a, n+1) - \log b$, which does not cancel for a
/// large a as log gammas do; from zero or below, where n is whole, by reflection at the sine of x,
/// as a itself may be rounded to a pole.
fn log_gamma_ratio(x: f64, [a, b]: [f64; 2], n: f64) -> f64 {
    if n < 0.0 {
        -log_gamma_ratio(x, [b, a], -n)
    } else if a > 0.0 {
        m::lgamma(n + 1.0) - m::lbeta(a, n + 1.0) - m::log(b)
    } else if n.floor() == n {
        let sine = m::sin(PI * (x - x.round()));
        m::lgamma(b) + m::log(sine.abs()) + m::lgamma(1.0 - a) - m::log(PI)
    } else {
        m::lgamma(b) - m::lgamma(a)
    }
}

/// $\log|\Gamma(x+n)/\Gamma(x)|$ for positive x, else an error in Stan and NaN here.
fn log_rising_value(x: f64, n: f64) -> f64 {
    if x > 0.0 { log_gamma_ratio(x, [x, x + n], n) } else { f64::NAN }
}

/// $\log|\Gamma(x+1)/\Gamma(x-n+1)|$ for positive x, else an error in Stan and NaN here.
fn log_falling_value(x: f64, n: f64) -> f64 {
    if !(x > 0.0) {
        return f64::NAN;
    }
    // A tiny x must not be lost for n near one, nor the one for n near a large x.
    let low = if (x - n).abs() <= 0.5 * x { x - n + 1.0 } else { x + (1.0 - n) };
    log_gamma_ratio(x, [low, x + 1.0], n)
}
