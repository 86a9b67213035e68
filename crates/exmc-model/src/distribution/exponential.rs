//! Exponential distribution: the **rate** (not the mean), as in Stan.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;

use super::tails::{lower_tail, positive, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Exponential(beta).
#[derive(Debug)]
pub(crate) struct Exponential;

impl Distribution for Exponential {
    fn name(&self) -> &'static str {
        "exponential"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("beta", Support::Positive).or(&["rate", "lambda"])];
        PARAMETERS
    }

    /// Zero is an outcome like any other: its density is the rate.
    fn support(&self) -> Support {
        Support::NonNegative
    }

    /// $\log\beta - \beta y$. **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[beta] = args else { unreachable!("one parameter") };
        let log_beta = g.log(beta);
        let cost = g.mul(beta, y);
        g.sub(log_beta, cost)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let beta = args[0];
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(lower_tail(g, y, limits, one, |g, y| {
            let cost = g.mul(beta, y);
            let survival = g.neg(cost);
            g.log1m_exp(survival)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let beta = args[0];
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(upper_tail(g, y, limits, one, |g, y| {
            let cost = g.mul(beta, y);
            g.neg(cost)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = rng.standard_exponential() / args[0][0];
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let mean = 1.0 / args[0];
        Some((mean, mean * mean))
    }
}
