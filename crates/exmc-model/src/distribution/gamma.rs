//! Gamma distribution: shape and **rate** (not scale), as in Stan.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::{ChainRng, draws};

use super::tails::{lower_tail, positive, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Gamma(alpha, beta).
#[derive(Debug)]
pub(crate) struct Gamma;

impl Distribution for Gamma {
    fn name(&self) -> &'static str {
        "gamma"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("alpha", Support::Positive).or(&["shape"]),
            Parameter::new("beta", Support::Positive).or(&["rate"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    /// $(\alpha-1)\log y - \beta y + \alpha\log\beta - \log\Gamma(\alpha)$.
    ///
    /// **Numerics**: linear in $\log y$ and y, so that a sum over data collapses; the error is that
    /// of its largest term, about $10^{-16}\alpha\log\alpha$. **Reference**: Gelman et al. 2013,
    /// appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let log_y = g.log(y);
        let power = g.shift(alpha, -1.0);
        let gain = g.mul(power, log_y);
        let cost = g.mul(beta, y);
        let kernel = g.sub(gain, cost);
        let normaliser = log_normaliser(g, alpha, beta);
        g.add(kernel, normaliser)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(lower_tail(g, y, limits, one, |g, y| {
            let x = g.mul(beta, y);
            g.log_gamma_p(alpha, x)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(upper_tail(g, y, limits, one, |g, y| {
            let x = g.mul(beta, y);
            g.log_gamma_q(alpha, x)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = draws::gamma(rng, args[0][0]) / args[1][0];
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let mean = args[0] / args[1];
        Some((mean, mean / args[1]))
    }
}

/// $\alpha\log\beta - \log\Gamma(\alpha)$
pub(super) fn log_normaliser(g: &mut Graph, alpha: NodeId, beta: NodeId) -> NodeId {
    let log_beta = g.log(beta);
    let power = g.mul(alpha, log_beta);
    let log_gamma = g.lgamma(alpha);
    g.sub(power, log_gamma)
}
