//! Exponentials, logarithms, logits and what is sums or differences of them.

use std::f64::consts::{E, LN_2, LN_10};

use exmc_graph::{Graph, NodeId, Unary};
use exmc_math as m;

use super::Values::{Real1, Real2, Within};
use super::{ScalarFunction, Shapes, binary, unary};

const INF: f64 = f64::INFINITY;

/// See [`ScalarFunction`].
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    unary("exp", Graph::exp).shapes(Shapes::Containers).values(Real1(m::exp)).slope(|_, y| y),
    unary("exp2", |g, x| {
        let scaled = g.scale(x, LN_2);
        g.exp(scaled)
    })
    .shapes(Shapes::Containers)
    .values(Real1(m::exp2))
    .slope(|_, y| y * LN_2),
    unary("expm1", Graph::expm1)
        .shapes(Shapes::Containers)
        .values(Real1(m::expm1))
        .slope(|_, y| y + 1.0),
    unary("log", Graph::log).shapes(Shapes::Containers).values(Real1(m::log)).slope(|x, _| 1.0 / x),
    unary("log2", |g, x| {
        let log = g.log(x);
        g.scale(log, 1.0 / LN_2)
    })
    .shapes(Shapes::Containers)
    .slope(|x, _| 1.0 / (x * LN_2)),
    unary("log10", |g, x| {
        let log = g.log(x);
        g.scale(log, 1.0 / LN_10)
    })
    .shapes(Shapes::Containers)
    .slope(|x, _| 1.0 / (x * LN_10)),
    unary("log1p", Graph::log1p)
        .shapes(Shapes::Containers)
        .values(Within(m::log1p, -1.0, INF))
        .slope(|x, _| 1.0 / (1.0 + x)),
    unary("log1m", log1m)
        .shapes(Shapes::Containers)
        .values(Within(m::log1m, -INF, 1.0))
        .slope(|x, _| -1.0 / (1.0 - x)),
    unary("log1p_exp", Graph::softplus)
        .shapes(Shapes::Containers)
        .values(Real1(m::log1p_exp))
        .slope(|x, _| m::inv_logit(x)),
    unary("log1m_exp", Graph::log1m_exp)
        .shapes(Shapes::Containers)
        .values(Real1(m::log1m_exp))
        .slope(|x, _| 1.0 / -m::expm1(-x)),
    unary("log_inv_logit", log_inv_logit)
        .shapes(Shapes::Containers)
        .values(Real1(m::log_inv_logit))
        .slope(|x, _| m::inv_logit(-x)),
    unary("log1m_inv_logit", |g, x| {
        let softplus = g.softplus(x);
        g.neg(softplus)
    })
    .shapes(Shapes::Containers)
    .values(Real1(m::log1m_inv_logit))
    .slope(|x, _| -m::inv_logit(x)),
    unary("logit", |g, x| {
        let (log, rest) = (g.log(x), log1m(g, x));
        g.sub(log, rest)
    })
    .shapes(Shapes::Containers)
    .values(Real1(m::logit))
    .slope(|x, _| 1.0 / (x * (1.0 - x))),
    unary("inv_logit", Graph::inv_logit)
        .shapes(Shapes::Containers)
        .values(Real1(m::inv_logit))
        .slope(|x, y| y * m::inv_logit(-x)),
    unary("inv_cloglog", |g, x| {
        // Beyond, the probability of failure is zero, and infinity times it would be NaN in the
        // derivative.
        let most = g.scalar(40.0);
        let x = g.min(x, most);
        let rate = g.exp(x);
        let minus = g.neg(rate);
        let failure = g.expm1(minus);
        g.neg(failure)
    })
    .shapes(Shapes::Containers)
    .values(Real1(inv_cloglog_value))
    .slope(|x, _| m::exp(x - m::exp(x))),
    binary("lmultiply", |g, a, b| {
        // a log b, which is 0 where both are.
        let log = g.log(b);
        let product = g.mul(a, log);
        let zero = g.scalar(0.0);
        let (first, second) = (g.eq(a, zero), g.eq(b, zero));
        let both = g.and(first, second);
        g.select(both, zero, product)
    })
    .shapes(Shapes::Pairs)
    .aliases(&["multiply_log"])
    .values(Real2(multiply_log))
    .slopes(|x, y, _| {
        (if x.1 { m::log(y.0) } else { 0.0 }, if x.0 == 0.0 { 0.0 } else { x.0 / y.0 })
    }),
    binary("log_diff_exp", Graph::log_diff_exp)
        .shapes(Shapes::Pairs)
        .values(Real2(m::log_diff_exp))
        .slopes(|x, y, value| log_difference(x.0, y.0, value)),
    binary("log_inv_logit_diff", |g, a, b| {
        // log(1 - e^(b-a)) - softplus(-a) - softplus(b); infinity less itself is no gap.
        let gap = g.sub(b, a);
        let (same, zero) = (g.eq(a, b), g.scalar(0.0));
        let gap = g.select(same, zero, gap);
        let log_gap = g.log1m_exp(gap);
        let minus = g.neg(a);
        let (up, down) = (g.softplus(minus), g.softplus(b));
        let cost = g.add(up, down);
        g.sub(log_gap, cost)
    })
    .shapes(Shapes::Pairs)
    .values(Real2(log_inv_logit_diff_value)),
    binary("binary_log_loss", |g, y, p| {
        let (yes, no) = (g.log(p), log1m(g, p));
        let log = g.select(y, yes, no);
        let loss = g.neg(log);
        let (zero, one, none) = (g.scalar(0.0), g.scalar(1.0), g.scalar(f64::NAN));
        let (low, high) = (g.le(zero, p), g.le(p, one));
        let inside = g.and(low, high);
        g.select(inside, loss, none)
    })
    .shapes(Shapes::IntAndReal)
    .values(Real2(binary_log_loss_value)),
    unary("lambert_w0", |g, x| g.unary(Unary::LambertW0, x))
        .shapes(Shapes::Containers)
        .values(Within(m::lambert_w0, -1.0 / E, INF))
        .slope(|_, w| m::exp(-w) / (1.0 + w)),
    unary("lambert_wm1", |g, x| g.unary(Unary::LambertWm1, x))
        .shapes(Shapes::Containers)
        .values(Within(m::lambert_wm1, -1.0 / E, 0.0))
        .slope(|_, w| m::exp(-w) / (1.0 + w)),
    binary("log_sum_exp", Graph::log_add_exp)
        .shapes(Shapes::Pairs)
        .slopes(|x, y, value| (m::exp(x.0 - value), m::exp(y.0 - value))),
];

/// $\log(1-x)$
pub(crate) fn log1m(g: &mut Graph, x: NodeId) -> NodeId {
    let minus = g.neg(x);
    g.log1p(minus)
}

/// $\log\frac1{1+e^{-x}}$
pub(crate) fn log_inv_logit(g: &mut Graph, x: NodeId) -> NodeId {
    let minus = g.neg(x);
    let softplus = g.softplus(minus);
    g.neg(softplus)
}

/// $1 - e^{-e^x}$
fn inv_cloglog_value(x: f64) -> f64 {
    -m::expm1(-m::exp(x))
}

/// $x \log y$, zero where both are zero.
pub(crate) fn multiply_log(x: f64, y: f64) -> f64 {
    if x == 0.0 && y == 0.0 { 0.0 } else { x * m::log(y) }
}

/// $\log(\operatorname{inv\_logit}(x) - \operatorname{inv\_logit}(y))$
fn log_inv_logit_diff_value(x: f64, y: f64) -> f64 {
    let gap = if x == y { 0.0 } else { y - x };
    m::log1m_exp(gap) - m::log1p_exp(-x) - m::log1p_exp(y)
}

/// $-\log p$ or $-\log(1-p)$; beyond 0 to 1 an error in Stan, NaN here.
fn binary_log_loss_value(y: f64, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        f64::NAN
    } else if y == 0.0 {
        -m::log1m(p)
    } else {
        -m::log(p)
    }
}

/// Derivatives of $\log(e^x - e^y)$.
pub(crate) fn log_difference(x: f64, y: f64, _value: f64) -> (f64, f64) {
    (-1.0 / m::expm1(y - x), -1.0 / m::expm1(x - y))
}
