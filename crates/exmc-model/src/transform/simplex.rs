//! Simplexes by stick breaking: n - 1 numbers -> n positive ones with sum one, and back (last
//! axis).
//!
//! Element $k$ takes the fraction $v_k = 1/(1+e^{-u_k})$ of what its forerunners left. In logs,
//! $\log x_k = -\mathrm{softplus}(-u_k) - \sum_{j<k}\mathrm{softplus}(u_j)$, a running sum in which
//! nothing cancels; and the log Jacobian is simply $\sum_{k=1}^n \log x_k$, because the factors
//! $v_k(1-v_k)$ and the remainders multiply to the product of all elements.

use exmc_fault::{Fault, planted};
use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};

use super::positive::FAR;
use super::{filled_last, last_axis};

/// What is subtracted from `z` before the logistic function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Offset {
    /// $\log(n - k)$ for element $k$, as Stan does: z = 0 gives equal elements.
    Uniform,
    /// Nothing, as eXMC does: z = 0 gives halves, quarters, eighths.
    None,
}

/// [`Transform::Simplex`](super::Transform::Simplex) and
/// [`SimplexPlain`](super::Transform::SimplexPlain).
pub(super) fn constrain(
    g: &mut Graph,
    z: NodeId,
    shape: &Shape,
    offset: Offset,
) -> (NodeId, Option<NodeId>) {
    let (axis, breaks) = last_axis(g, z);
    if breaks == 0 {
        return (g.filled(shape, 1.0), None);
    }
    let u = match offsets(g, breaks, offset) {
        Some(offsets) => g.sub(z, offsets),
        None => z,
    };
    let opposite = g.neg(u);
    let taken = g.softplus(opposite);
    let taken = g.neg(taken);
    let left = g.softplus(u);
    let left = g.neg(left);
    let left = g.cumulative_sum(left, axis);
    // The last element takes all that is left; the first finds the whole stick.
    let log_one = filled_last(g, z, 1, 0.0);
    let taken = g.concat(&[taken, log_one], axis);
    let left = g.concat(&[log_one, left], axis);
    let log_value = g.add(taken, left);

    let low = g.scalar(-FAR);
    let clamped = g.max(log_value, low);
    let factors = if planted(Fault::SimplexJacobianOffByOne) { breaks } else { breaks + 1 };
    (g.exp(clamped), Some(g.slice(log_value, axis, 0, factors)))
}

/// The inverse: $u_k = \log x_k - \log\sum_{j>k} x_j$.
pub(super) fn unconstrain(g: &mut Graph, x: NodeId, offset: Offset) -> NodeId {
    let (axis, n) = last_axis(g, x);
    let breaks = n - 1;
    if breaks == 0 {
        let shape = Shape::from(&g.shape(x).extents()[..axis]).join(&[0]);
        return g.filled(&shape, 0.0);
    }
    let taken = g.slice(x, axis, 0, breaks);
    let after = g.slice(x, axis, 1, n);
    let left = g
        .apply(Op::CumSum { axis, reverse: true }, &[after])
        .expect("the axis is the last of this array");
    let log_taken = g.log(taken);
    let log_left = g.log(left);
    let u = g.sub(log_taken, log_left);
    match offsets(g, breaks, offset) {
        Some(offsets) => g.add(u, offsets),
        None => u,
    }
}

/// $\log(n-k)$ for $k = 1, \dots, n-1$.
fn offsets(g: &mut Graph, breaks: usize, offset: Offset) -> Option<NodeId> {
    let logs: Vec<f64> = (1..=breaks).rev().map(|left| exmc_math::log(left as f64)).collect();
    (offset == Offset::Uniform).then(|| g.constant(Tensor::vector(&logs)))
}
