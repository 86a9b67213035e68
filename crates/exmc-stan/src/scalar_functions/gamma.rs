//! Gamma and beta functions, whole and incomplete.

use std::f64::consts::PI;

use exmc_graph::{Graph, NodeId, Ternary};
use exmc_math as m;

use super::Values::{Real1, Real2, Real3};
use super::{ScalarFunction, Shapes, Two, binary, called, ternary, unary};

/// See [`ScalarFunction`].
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    unary("lgamma", Graph::lgamma)
        .shapes(Shapes::Containers)
        .values(Real1(m::lgamma))
        .slope(|x, _| m::digamma(x)),
    unary("tgamma", |g, x| {
        // For x < 0 the sign alternates with the whole part: negative where floor(x) is odd.
        let log = g.lgamma(x);
        let size = g.exp(log);
        let zero = g.scalar(0.0);
        let floor = g.floor(x);
        let half = g.scale(floor, 0.5);
        let even = g.floor(half);
        let parity = g.sub(half, even);
        let negative = g.lt(x, zero);
        let odd = g.ne(parity, zero);
        let flips = g.and(negative, odd);
        let opposite = g.neg(size);
        let value = g.select(flips, opposite, size);
        // An error in Stan at zero and at negative whole numbers, minus infinity among them.
        let (is_whole, low) = (g.eq(x, floor), g.le(x, zero));
        let pole = g.and(is_whole, low);
        let none = g.scalar(f64::NAN);
        g.select(pole, none, value)
    })
    .shapes(Shapes::Containers)
    .values(Real1(tgamma_value))
    .slope(|x, y| y * m::digamma(x)),
    unary("digamma", Graph::digamma)
        .shapes(Shapes::Containers)
        .values(Real1(m::digamma))
        .slope(|x, _| m::trigamma(x)),
    unary("trigamma", Graph::trigamma).shapes(Shapes::Containers).values(Real1(m::trigamma)),
    called("lmgamma").shapes(Shapes::IntAndReal).values(Real2(multivariate_lgamma_value)),
    binary("beta", |g, a, b| {
        let log = g.lbeta(a, b);
        g.exp(log)
    })
    .shapes(Shapes::Pairs)
    .values(Real2(|a, b| m::exp(m::lbeta(a, b))))
    .slopes(|a, b, value| (-value * m::digamma_rise(a.0, b.0), -value * m::digamma_rise(b.0, a.0))),
    binary("lbeta", Graph::lbeta)
        .shapes(Shapes::Pairs)
        .values(Real2(m::lbeta))
        .slopes(|a, b, _| (-m::digamma_rise(a.0, b.0), -m::digamma_rise(b.0, a.0))),
    binary("gamma_p", |g, a, x| incomplete_gamma(g, a, x, 0.0, Graph::log_gamma_p))
        .shapes(Shapes::Reals),
    binary("gamma_q", |g, a, x| incomplete_gamma(g, a, x, 1.0, Graph::log_gamma_q))
        .shapes(Shapes::Reals),
    ternary("inc_beta", inc_beta).values(Real3(m::beta_inc)),
    ternary("inv_inc_beta", |g, a, b, p| g.ternary(Ternary::BetaIncInverse, a, b, p)),
];

/// $P(a, x)$ or $Q(a, x)$; at x = 0, where it is the same for every a, without a derivative of its
/// logarithm.
fn incomplete_gamma(g: &mut Graph, a: NodeId, x: NodeId, at_zero: f64, log: Two) -> NodeId {
    let (zero, one, none) = (g.scalar(0.0), g.scalar(1.0), g.scalar(f64::NAN));
    let is_zero = g.eq(x, zero);
    let safe = g.select(is_zero, one, x);
    let log = log(g, a, safe);
    let value = g.exp(log);
    let end = g.scalar(at_zero);
    let value = g.select(is_zero, end, value);
    let inside = g.lt(zero, a);
    g.select(inside, value, none)
}

/// $I_x(a, b)$; at the ends, where it is the same for all shapes, without a derivative of its
/// logarithm.
fn inc_beta(g: &mut Graph, a: NodeId, b: NodeId, x: NodeId) -> NodeId {
    let (zero, one, none) = (g.scalar(0.0), g.scalar(1.0), g.scalar(f64::NAN));
    let (is_zero, is_one) = (g.eq(x, zero), g.eq(x, one));
    let is_end = g.or(is_zero, is_one);
    let half = g.scalar(0.5);
    let safe = g.select(is_end, half, x);
    let log = g.ternary(Ternary::LogBetaInc, a, b, safe);
    let value = g.exp(log);
    let value = g.select(is_end, x, value);
    let (first, second) = (g.lt(zero, a), g.lt(zero, b));
    let inside = g.and(first, second);
    g.select(inside, value, none)
}

/// $\tfrac{n(n-1)}4\log\pi + \sum_{j=1}^n \log\Gamma(x + \tfrac{1-j}2)$
pub(crate) fn multivariate_lgamma(g: &mut Graph, dimensions: usize, x: NodeId) -> NodeId {
    let n = dimensions as f64;
    let mut sum = g.scalar(0.25 * n * (n - 1.0) * exmc_math::log(PI));
    for j in 0..dimensions {
        let shifted = g.shift(x, -0.5 * j as f64);
        let term = g.lgamma(shifted);
        sum = g.add(sum, term);
    }
    sum
}

/// $\log\Gamma_n(x)$, with its digits for a tiny x too.
pub(crate) fn log_multivariate_gamma(g: &mut Graph, dimensions: usize, x: NodeId) -> NodeId {
    let plain = multivariate_lgamma(g, dimensions, x);
    if dimensions < 3 {
        return plain;
    }
    // For a tiny x, x - 1 is rounded to a pole.
    let (size, limit) = (g.abs(x), g.scalar(1e-3));
    let is_tiny = g.lt(size, limit);
    let tiny = multivariate_lgamma_of_tiny(g, dimensions, x);
    g.select(is_tiny, tiny, plain)
}

/// The same as [`multivariate_lgamma`], by $\log|\Gamma(x-k)| = \log|\Gamma(x)| -
/// \sum_{i=1}^k\log|x-i|$, for x below one half.
fn multivariate_lgamma_of_tiny(g: &mut Graph, dimensions: usize, x: NodeId) -> NodeId {
    let mut sum = multivariate_lgamma(g, 2, x);
    let n = dimensions as f64;
    let constant = 0.25 * (n * (n - 1.0) - 2.0) * exmc_math::log(PI);
    sum = g.shift(sum, constant);
    for j in 2..dimensions {
        let first = if j % 2 == 0 { x } else { g.shift(x, -0.5) };
        let gamma = g.lgamma(first);
        sum = g.add(sum, gamma);
        for i in 1..=j / 2 {
            let lower = g.shift(first, -(i as f64));
            let size = g.abs(lower);
            let log = g.log(size);
            sum = g.sub(sum, log);
        }
    }
    sum
}

/// $\Gamma(x)$; zero and negative whole numbers are errors in Stan, NaN here.
fn tgamma_value(x: f64) -> f64 {
    if x == 0.0 { f64::NAN } else { m::gamma(x) }
}

/// $\log\Gamma_n(x) = \tfrac{n(n-1)}{4}\log\pi + \sum_{j=1}^n \log\Gamma(x + (1 - j)/2)$
fn multivariate_lgamma_value(n: f64, x: f64) -> f64 {
    // For a tiny x, x - 1 is rounded to a pole: log gamma of x - k is that of x less the logarithms
    // of the steps.
    let term = |j: i64| {
        let whole_steps = if x.abs() < 1e-3 { j / 2 } else { 0 };
        let first = x - 0.5 * (j - 2 * whole_steps) as f64;
        let steps = (1..=whole_steps).map(|k| m::log((first - k as f64).abs()));
        m::lgamma(first) - steps.sum::<f64>()
    };
    let terms = (0..n as i64).map(term);
    0.25 * n * (n - 1.0) * m::log(PI) + terms.sum::<f64>()
}
