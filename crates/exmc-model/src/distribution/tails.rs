//! What the continuous families share: distribution functions that hold on the whole line and
//! beyond it, and the complements that lose no digits.

use exmc_graph::{Graph, NodeId};

/// An open interval of outcomes; `None` is an infinite end.
pub(super) type Limits = [Option<NodeId>; 2];

/// The real line.
pub(super) const REAL_LINE: Limits = [None, None];

/// The positive numbers.
pub(super) fn positive(g: &mut Graph) -> Limits {
    [Some(g.scalar(0.0)), None]
}

/// A log distribution function: `formula(y)` inside the limits, $-\infty$ below them, 0 above.
///
/// The formula sees `anchor`, some inner point, in place of an outer or infinite y, so that no
/// derivative of it is $0\cdot\infty$.
pub(super) fn lower_tail(
    g: &mut Graph,
    y: NodeId,
    limits: Limits,
    anchor: NodeId,
    formula: impl FnOnce(&mut Graph, NodeId) -> NodeId,
) -> NodeId {
    tail(g, y, limits, anchor, [f64::NEG_INFINITY, 0.0], formula)
}

/// A log survival function: `formula(y)` inside the limits, 0 below them, $-\infty$ above.
pub(super) fn upper_tail(
    g: &mut Graph,
    y: NodeId,
    limits: Limits,
    anchor: NodeId,
    formula: impl FnOnce(&mut Graph, NodeId) -> NodeId,
) -> NodeId {
    tail(g, y, limits, anchor, [0.0, f64::NEG_INFINITY], formula)
}

fn tail(
    g: &mut Graph,
    y: NodeId,
    [lower, upper]: Limits,
    anchor: NodeId,
    [below, above]: [f64; 2],
    formula: impl FnOnce(&mut Graph, NodeId) -> NodeId,
) -> NodeId {
    let lower = lower.unwrap_or_else(|| g.scalar(f64::NEG_INFINITY));
    let upper = upper.unwrap_or_else(|| g.scalar(f64::INFINITY));
    let is_below = g.le(y, lower);
    let is_above = g.le(upper, y);
    let outside = g.or(is_below, is_above);
    let inner = g.select(outside, anchor, y);
    let value = formula(g, inner);
    let (below, above) = (g.scalar(below), g.scalar(above));
    let end = g.select(is_below, below, above);
    g.select(outside, end, value)
}

/// $\log(1 - e^{-e^u})$.
///
/// **Numerics**: below $u = -37$ it is u to the last bit, also where $e^u$ is zero in floating
/// point.
pub(super) fn log1m_exp_neg_exp(g: &mut Graph, u: NodeId) -> NodeId {
    const LINEAR: f64 = -37.0;
    let limit = g.scalar(LINEAR);
    let is_linear = g.lt(u, limit);
    let bounded = g.max(u, limit);
    let inner = g.exp(bounded);
    let inner = g.neg(inner);
    let complement = g.log1m_exp(inner);
    g.select(is_linear, u, complement)
}
