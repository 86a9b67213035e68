//! Vectors with sum zero: n - 1 numbers -> n numbers, by an orthonormal matrix, and back (last
//! axis).
//!
//! With $c_j = 1/\sqrt{j(j+1)}$ and $w_j = c_j z_j$, $x_i = \sum_{j\ge i} w_j - (i-1) w_{i-1}$:
//! column $j$ of the matrix sets the first $j$ elements against the one after them. Lengths are
//! kept, so the log Jacobian is zero and independent standard normal `z` give a vector with
//! exchangeable elements. **Reference**: Stan reference manual 2.36, "Zero sum vector".

use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};

use super::{filled_last, last_axis};

/// [`Transform::SumToZero`](super::Transform::SumToZero).
pub(super) fn constrain(g: &mut Graph, z: NodeId, shape: &Shape) -> NodeId {
    let (axis, free) = last_axis(g, z);
    if free == 0 {
        return g.filled(shape, 0.0);
    }
    let (scales, counts) = coefficients(g, free);
    let parts = g.mul(z, scales);
    let shared = g
        .apply(Op::CumSum { axis, reverse: true }, &[parts])
        .expect("the axis is the last of this array");
    let against = g.mul(parts, counts);
    let zero = filled_last(g, z, 1, 0.0);
    let shared = g.concat(&[shared, zero], axis);
    let against = g.concat(&[zero, against], axis);
    g.sub(shared, against)
}

/// The inverse, by the transposed matrix: $z_j = c_j(\sum_{i\le j} x_i - j x_{j+1})$.
pub(super) fn unconstrain(g: &mut Graph, x: NodeId) -> NodeId {
    let (axis, n) = last_axis(g, x);
    let free = n - 1;
    if free == 0 {
        let shape = Shape::from(&g.shape(x).extents()[..axis]).join(&[0]);
        return g.filled(&shape, 0.0);
    }
    let (scales, counts) = coefficients(g, free);
    let heads = g.slice(x, axis, 0, free);
    let sums = g.cumulative_sum(heads, axis);
    let next = g.slice(x, axis, 1, n);
    let against = g.mul(next, counts);
    let difference = g.sub(sums, against);
    g.mul(difference, scales)
}

/// $c_j$ and $j$ for $j = 1, \dots, n-1$.
fn coefficients(g: &mut Graph, free: usize) -> (NodeId, NodeId) {
    let counts: Vec<f64> = (1..=free).map(|j| j as f64).collect();
    let scales: Vec<f64> = counts.iter().map(|j| 1.0 / (j * (j + 1.0)).sqrt()).collect();
    (g.constant(Tensor::vector(&scales)), g.constant(Tensor::vector(&counts)))
}
