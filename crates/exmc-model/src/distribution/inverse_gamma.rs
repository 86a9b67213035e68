//! Inverse gamma distribution: shape and scale; its reciprocal is gamma with that shape and rate.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::{ChainRng, draws};

use super::gamma::log_normaliser;
use super::tails::{lower_tail, positive, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// InverseGamma(alpha, beta).
#[derive(Debug)]
pub(crate) struct InverseGamma;

impl Distribution for InverseGamma {
    fn name(&self) -> &'static str {
        "inverse_gamma"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["inv_gamma"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("alpha", Support::Positive).or(&["shape"]),
            Parameter::new("beta", Support::Positive).or(&["scale"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    /// $-(\alpha+1)\log y - \beta/y + \alpha\log\beta - \log\Gamma(\alpha)$.
    ///
    /// **Numerics**: as for gamma. **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let log_y = g.log(y);
        let power = g.shift(alpha, 1.0);
        let cost = g.mul(power, log_y);
        let inverse = g.div(beta, y);
        let cost = g.add(cost, inverse);
        let normaliser = log_normaliser(g, alpha, beta);
        g.sub(normaliser, cost)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(lower_tail(g, y, limits, one, |g, y| {
            let x = g.div(beta, y);
            g.log_gamma_q(alpha, x)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(upper_tail(g, y, limits, one, |g, y| {
            let x = g.div(beta, y);
            g.log_gamma_p(alpha, x)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[1][0] / draws::gamma(rng, args[0][0]);
    }

    /// The variance exists for a shape above two.
    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        (alpha > 2.0).then(|| {
            let mean = beta / (alpha - 1.0);
            (mean, mean * mean / (alpha - 2.0))
        })
    }
}
