//! Numbers with one limit: z -> exp or softplus of z, with the log slope by element, and back.

use exmc_fault::{Fault, planted};
use exmc_graph::{Graph, NodeId};

/// Exponents beyond ±200 are clamped: $e^{200} \approx 7\cdot10^{86}$ can still be squared and
/// cubed within an `f64`, and no posterior that a user means has mass there.
pub(super) const FAR: f64 = 200.0;

/// $x = e^{\min(\max(z,-200),200)}$ and the log slope $\min(z, 400 - z)$, by element.
///
/// **Numerics**: inside the clamp both are exact, outside the slope falls with $|z|$ on both sides,
/// so that a density that has become constant in `z` still has a finite integral. The minimum and
/// the maximum pass the derivative to `z` inside and zero outside. The slope is written
/// $2\min(z,200) - z$, which is exact too and shares its minimum with the value.
pub(super) fn exp(g: &mut Graph, z: NodeId) -> (NodeId, NodeId) {
    let (low, high) = (g.scalar(-FAR), g.scalar(FAR));
    let below = g.min(z, high);
    let clamped = g.max(below, low);
    let value = g.exp(clamped);
    let twice = g.scale(below, 2.0);
    (value, g.sub(twice, z))
}

/// [`Transform::Log`](super::Transform::Log).
pub(super) fn log(g: &mut Graph, z: NodeId) -> (NodeId, Option<NodeId>) {
    let (value, log_slope) = exp(g, z);
    (value, (!planted(Fault::MissingJacobian)).then_some(log_slope))
}

/// [`Transform::Softplus`](super::Transform::Softplus): log slope
/// $\log\frac{1}{1+e^{-z}} = -\mathrm{softplus}(-z)$.
///
/// **Numerics**: softplus grows like `z`, so only the lower clamp is needed.
pub(super) fn softplus(g: &mut Graph, z: NodeId) -> (NodeId, Option<NodeId>) {
    let low = g.scalar(-FAR);
    let clamped = g.max(z, low);
    let value = g.softplus(clamped);
    let opposite = g.neg(z);
    let loss = g.softplus(opposite);
    (value, Some(g.neg(loss)))
}

/// $z = \log(e^x - 1) = x + \log(1 - e^{-x})$, which neither overflows nor cancels.
pub(super) fn softplus_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let opposite = g.neg(x);
    let correction = g.log1m_exp(opposite);
    g.add(x, correction)
}
