//! Limits that may be infinite: z and the limits that are there -> the transform for these limits.
//!
//! As in Stan, a variable whose limit is infinite is transformed as if the limit were not declared.
//! Limits known when the graph is built decide then; for limits that are data, elements choose
//! among the cases when they are evaluated. A limit that depends on parameters counts as finite.

use exmc_graph::{Dependence, Graph, NodeId, Op};

use super::{bounded, positive};

/// A limit, and a flag by element of where it is infinite when that is not known yet.
#[derive(Clone, Copy)]
struct Limit {
    value: NodeId,
    infinite: Option<NodeId>,
}

/// [`Transform::Lower`](super::Transform::Lower), [`Upper`](super::Transform::Upper) and
/// [`Interval`](super::Transform::Interval), by which limits are given.
pub(super) fn constrain(
    g: &mut Graph,
    z: NodeId,
    lower: Option<NodeId>,
    upper: Option<NodeId>,
) -> (NodeId, Option<NodeId>) {
    let zero = g.scalar(0.0);
    let [value, log_slope] = by_case(g, lower, upper, |g, lower, upper| {
        let (value, log_slope) = match (lower, upper) {
            (None, None) => (z, zero),
            (Some(a), None) => {
                let (above, log_slope) = positive::exp(g, z);
                (g.add(a, above), log_slope)
            }
            (None, Some(b)) => {
                let (below, log_slope) = positive::exp(g, z);
                (g.sub(b, below), log_slope)
            }
            (Some(a), Some(b)) => bounded::interval(g, z, a, b),
        };
        [value, log_slope]
    });
    (value, (log_slope != zero).then_some(log_slope))
}

/// The inverse of [`constrain`].
pub(super) fn unconstrain(
    g: &mut Graph,
    x: NodeId,
    lower: Option<NodeId>,
    upper: Option<NodeId>,
) -> NodeId {
    let [z] = by_case(g, lower, upper, |g, lower, upper| {
        [match (lower, upper) {
            (None, None) => x,
            (Some(a), None) => {
                let above = g.sub(x, a);
                g.log(above)
            }
            (None, Some(b)) => {
                let below = g.sub(b, x);
                g.log(below)
            }
            (Some(a), Some(b)) => bounded::interval_inverse(g, x, a, b),
        }]
    });
    z
}

/// A formula with only those limits that are finite, chosen by element where that is not known.
fn by_case<const N: usize>(
    g: &mut Graph,
    lower: Option<NodeId>,
    upper: Option<NodeId>,
    formula: impl Fn(&mut Graph, Option<NodeId>, Option<NodeId>) -> [NodeId; N],
) -> [NodeId; N] {
    let lower = lower.and_then(|a| limit(g, a, f64::NEG_INFINITY));
    let upper = upper.and_then(|b| limit(g, b, f64::INFINITY));
    let by_upper = |g: &mut Graph, lower: Option<NodeId>| {
        let with = formula(g, lower, upper.map(|limit| limit.value));
        match upper.and_then(|limit| limit.infinite) {
            None => with,
            Some(infinite) => {
                let without = formula(g, lower, None);
                choose(g, infinite, without, with)
            }
        }
    };
    let with = by_upper(g, lower.map(|limit| limit.value));
    match lower.and_then(|limit| limit.infinite) {
        None => with,
        Some(infinite) => {
            let without = by_upper(g, None);
            choose(g, infinite, without, with)
        }
    }
}

/// What is known of a limit; `None` when it is infinite everywhere. Where a limit turns out to be
/// infinite, its value is replaced by zero, so that formulas that are not chosen stay finite.
fn limit(g: &mut Graph, value: NodeId, infinity: f64) -> Option<Limit> {
    let known = constant_values(g, value);
    let count = known.map(|values| values.iter().filter(|v| **v == infinity).count());
    let finite = match count {
        Some(count) => count == 0,
        None => g.dependence(value) == Dependence::Parameter,
    };
    if finite {
        return Some(Limit { value, infinite: None });
    }
    if known.is_some_and(|values| Some(values.len()) == count) {
        return None;
    }
    let (infinity, zero) = (g.scalar(infinity), g.scalar(0.0));
    let infinite = g.eq(value, infinity);
    Some(Limit { value: g.select(infinite, zero, value), infinite: Some(infinite) })
}

/// The values of a node that is a constant, or one stretched or in another shape.
fn constant_values(g: &Graph, id: NodeId) -> Option<&[f64]> {
    match g.node(id).op {
        Op::Broadcast(_) | Op::Reshape(_) => constant_values(g, g.node(id).args[0]),
        _ => g.as_constant(id).map(exmc_graph::Tensor::values),
    }
}

fn choose<const N: usize>(
    g: &mut Graph,
    infinite: NodeId,
    without: [NodeId; N],
    with: [NodeId; N],
) -> [NodeId; N] {
    std::array::from_fn(|k| g.select(infinite, without[k], with[k]))
}
