//! Simplexes by softmax: n - 1 numbers -> a vector with sum zero -> n positive numbers with sum
//! one, and back (last axis). Symmetric in its elements; what Stan has used since 2.37.
//!
//! With $s$ the [vector with sum zero](super::sum_to_zero), $\log x_k = s_k - \log\sum_j e^{s_j}$.
//! The log Jacobian to the first $n-1$ elements is $\sum_k \log x_k + \tfrac12\log n$: softmax
//! stretches by the product of its values, and the root is the volume of the isometric map's image.
//! **Reference**: Stan reference manual 2.37, "Unit simplex"; Aitchison 1986, §4.6 (log ratios).

use exmc_graph::{Graph, NodeId};

use super::positive::FAR;
use super::{Shape, last_axis, sum_to_zero};

/// [`Transform::SimplexSoftmax`](super::Transform::SimplexSoftmax).
pub(super) fn constrain(g: &mut Graph, z: NodeId, shape: &Shape) -> (NodeId, Option<NodeId>) {
    let (axis, free) = last_axis(g, z);
    if free == 0 {
        return (g.filled(shape, 1.0), None);
    }
    let logits = sum_to_zero::constrain(g, z, shape);
    let total = g.log_sum_exp(logits, axis);
    let kept = Shape::from(&shape.extents()[..axis]).join(&[1]);
    let total = g.reshape(total, kept);
    let log_value = g.sub(logits, total);
    let low = g.scalar(-FAR);
    let clamped = g.max(log_value, low);
    let n = (free + 1) as f64;
    (g.exp(clamped), Some(g.shift(log_value, 0.5 * exmc_math::log(n) / n)))
}

/// The inverse: the logarithms' coordinates, their mean dropped.
pub(super) fn unconstrain(g: &mut Graph, x: NodeId) -> NodeId {
    let logs = g.log(x);
    sum_to_zero::unconstrain(g, logs)
}
