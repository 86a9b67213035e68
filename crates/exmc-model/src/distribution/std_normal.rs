//! Standard normal distribution: no parameters, so that no time goes into a location and a scale.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;

use super::normal::HALF_LOG_TWO_PI;
use super::tails::{REAL_LINE, lower_tail, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Normal(0, 1).
#[derive(Debug)]
pub(crate) struct StdNormal;

impl Distribution for StdNormal {
    fn name(&self) -> &'static str {
        "std_normal"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["standard_normal"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn support(&self) -> Support {
        Support::Real
    }

    /// $-\tfrac12 y^2 - \tfrac12\log 2\pi$. **Reference**: Stan functions reference, standard
    /// normal.
    fn lpdf(&self, g: &mut Graph, y: NodeId, _args: &[NodeId]) -> NodeId {
        let square = g.square(y);
        let half = g.scale(square, -0.5);
        g.shift(half, -HALF_LOG_TWO_PI)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, _args: &[NodeId]) -> Option<NodeId> {
        let zero = g.scalar(0.0);
        Some(lower_tail(g, y, REAL_LINE, zero, |g, y| g.log_normal_cdf(y)))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, _args: &[NodeId]) -> Option<NodeId> {
        let zero = g.scalar(0.0);
        Some(upper_tail(g, y, REAL_LINE, zero, |g, y| {
            let mirrored = g.neg(y);
            g.log_normal_cdf(mirrored)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, _args: &[&[f64]], out: &mut [f64]) {
        out[0] = rng.standard_normal();
    }

    fn mean_variance(&self, _args: &[f64]) -> Option<(f64, f64)> {
        Some((0.0, 1.0))
    }
}
