//! Increasing vectors: first element and log differences -> running sums, and back (last axis).

use exmc_graph::{Graph, NodeId};

use super::{last_axis, positive};

/// [`Transform::Ordered`](super::Transform::Ordered): $x_1 = z_1$, $x_k = x_{k-1} + e^{z_k}$; log
/// slope $\sum_{k>1} z_k$.
///
/// **Edges**: neighbours that differ by less than one unit in the last place come out equal.
pub(super) fn ordered(g: &mut Graph, z: NodeId) -> (NodeId, Option<NodeId>) {
    let (axis, n) = last_axis(g, z);
    if n < 2 {
        return (z, None);
    }
    let first = g.slice(z, axis, 0, 1);
    let rest = g.slice(z, axis, 1, n);
    let (steps, log_slope) = positive::exp(g, rest);
    let steps = g.concat(&[first, steps], axis);
    (g.cumulative_sum(steps, axis), Some(log_slope))
}

/// The inverse of [`ordered`].
pub(super) fn ordered_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let (axis, n) = last_axis(g, x);
    if n < 2 {
        return x;
    }
    let first = g.slice(x, axis, 0, 1);
    let logs = log_differences(g, x);
    g.concat(&[first, logs], axis)
}

/// [`Transform::PositiveOrdered`](super::Transform::PositiveOrdered): the same, with $x_1 =
/// e^{z_1}$.
pub(super) fn positive_ordered(g: &mut Graph, z: NodeId) -> (NodeId, Option<NodeId>) {
    let (axis, n) = last_axis(g, z);
    if n == 0 {
        return (z, None);
    }
    let (steps, log_slope) = positive::exp(g, z);
    (g.cumulative_sum(steps, axis), Some(log_slope))
}

/// The inverse of [`positive_ordered`].
pub(super) fn positive_ordered_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let (axis, n) = last_axis(g, x);
    if n < 2 {
        return g.log(x);
    }
    let first = g.slice(x, axis, 0, 1);
    let first = g.log(first);
    let logs = log_differences(g, x);
    g.concat(&[first, logs], axis)
}

/// Logs of the differences between neighbours along the last axis, whose extent is at least two.
fn log_differences(g: &mut Graph, x: NodeId) -> NodeId {
    let (axis, n) = last_axis(g, x);
    let before = g.slice(x, axis, 0, n - 1);
    let after = g.slice(x, axis, 1, n);
    let steps = g.sub(after, before);
    g.log(steps)
}
