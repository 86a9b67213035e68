//! Bernoulli distribution: the probability of a 1.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;

use super::counts::binary_tail;
use super::{Distribution, Parameter};
use crate::support::Support;

/// Bernoulli(theta).
#[derive(Debug)]
pub(crate) struct Bernoulli;

impl Distribution for Bernoulli {
    fn name(&self) -> &'static str {
        "bernoulli"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("theta", Support::Unit).or(&["p", "probs"])];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Binary
    }

    /// $\log\theta$ for $y = 1$, $\log(1-\theta)$ for $y = 0$.
    ///
    /// **Numerics**: both logs are taken on theta's own shape; `log1p` keeps the digits of a tiny
    /// theta. Exact also at theta 0 and 1. **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let [log_zero, log_one] = logs(g, args[0]);
        g.select(y, log_one, log_zero)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let logs = logs(g, args[0]);
        Some(binary_tail(g, y, logs, false))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let logs = logs(g, args[0]);
        Some(binary_tail(g, y, logs, true))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = f64::from(u8::from(rng.uniform() < args[0][0]));
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        Some((args[0], args[0] * (1.0 - args[0])))
    }
}

/// $\log(1-\theta)$ and $\log\theta$.
fn logs(g: &mut Graph, theta: NodeId) -> [NodeId; 2] {
    let log_one = g.log(theta);
    let minus = g.neg(theta);
    [g.log1p(minus), log_one]
}
