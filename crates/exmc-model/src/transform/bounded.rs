//! Numbers between two limits: z -> scaled logistic of z, with the log slope by element, and back.

use std::f64::consts::PI;

use exmc_fault::{Fault, planted};
use exmc_graph::{Graph, NodeId};

use super::positive::FAR;

/// The largest number below one.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// [`Transform::Logit`](super::Transform::Logit).
pub(super) fn logit(g: &mut Graph, z: NodeId) -> (NodeId, Option<NodeId>) {
    (fraction(g, z), Some(log_slope(g, z)))
}

/// $\log x - \log(1-x)$.
pub(super) fn logit_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let log = g.log(x);
    let opposite = g.neg(x);
    let log_rest = g.log1p(opposite);
    g.sub(log, log_rest)
}

/// [`Transform::Interval`](super::Transform::Interval) between finite limits.
///
/// **Numerics**: the value is rounded to a limit when it is nearer to it than to the next number.
pub(super) fn interval(g: &mut Graph, z: NodeId, a: NodeId, b: NodeId) -> (NodeId, NodeId) {
    let width = g.sub(b, a);
    let fraction = fraction(g, z);
    let above = g.mul(width, fraction);
    let value = g.add(a, above);
    let log_width = g.log(width);
    let log_slope = log_slope(g, z);
    (value, g.add(log_width, log_slope))
}

/// $\log(x-a) - \log(b-x)$.
pub(super) fn interval_inverse(g: &mut Graph, x: NodeId, a: NodeId, b: NodeId) -> NodeId {
    let above = g.sub(x, a);
    let below = g.sub(b, x);
    let log_above = g.log(above);
    let log_below = g.log(below);
    g.sub(log_above, log_below)
}

/// [`Transform::Circle`](super::Transform::Circle).
pub(super) fn circle(g: &mut Graph, z: NodeId) -> (NodeId, Option<NodeId>) {
    let (a, b) = (g.scalar(-PI), g.scalar(PI));
    let (value, log_slope) = interval(g, z, a, b);
    (value, Some(log_slope))
}

/// The inverse of [`circle`].
pub(super) fn circle_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let (a, b) = (g.scalar(-PI), g.scalar(PI));
    interval_inverse(g, x, a, b)
}

/// $1/(1+e^{-z})$, kept strictly between 0 and 1 where it would round to them (z above 36, below
/// -200): `log(x)` and `log(1 - x)` then stay finite.
fn fraction(g: &mut Graph, z: NodeId) -> NodeId {
    let (low, high) = (g.scalar(-FAR), g.scalar(BELOW_ONE));
    let clamped = g.max(z, low);
    let value = g.inv_logit(clamped);
    g.min(value, high)
}

/// $\log\frac{d}{dz}\frac{1}{1+e^{-z}} = z - 2\,\mathrm{softplus}(z)$.
///
/// **Numerics**: nothing cancels, since the result is at least half as large as either term.
fn log_slope(g: &mut Graph, z: NodeId) -> NodeId {
    let softplus = g.softplus(z);
    let twice = g.scale(softplus, 2.0);
    let linear = if planted(Fault::IntervalJacobianSign) { g.neg(z) } else { z };
    g.sub(linear, twice)
}
