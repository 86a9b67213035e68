//! Bernoulli distribution of which the log odds are given.

use exmc_graph::{Graph, NodeId};
use exmc_math::inv_logit;
use exmc_math::random::ChainRng;

use super::counts::binary_tail;
use super::{Distribution, Parameter};
use crate::support::Support;

/// Bernoulli(inv_logit(alpha)).
#[derive(Debug)]
pub(crate) struct BernoulliLogit;

impl Distribution for BernoulliLogit {
    fn name(&self) -> &'static str {
        "bernoulli_logit"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("alpha", Support::Real).or(&["logit_p", "logits"])];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Binary
    }

    /// $-\log(1 + e^{s})$ with $s = -\alpha$ for $y = 1$ and $s = \alpha$ for $y = 0$.
    ///
    /// **Numerics**: one softplus of a signed argument, exact in both tails (a difference
    /// $y\alpha - \log(1+e^\alpha)$ would lose everything at $\alpha = 40$); the sign $1 - 2y$
    /// depends on data only. **Reference**: Stan functions reference, Bernoulli distribution, logit
    /// parameterisation.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let twice = g.scale(y, -2.0);
        let sign = g.shift(twice, 1.0);
        let signed = g.mul(sign, args[0]);
        let cost = g.softplus(signed);
        g.neg(cost)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let logs = log_inv_logits(g, args[0]);
        Some(binary_tail(g, y, logs, false))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let logs = log_inv_logits(g, args[0]);
        Some(binary_tail(g, y, logs, true))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = f64::from(u8::from(rng.uniform() < inv_logit(args[0][0])));
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let mean = inv_logit(args[0]);
        Some((mean, mean * inv_logit(-args[0])))
    }
}

/// Logs of the probabilities of failure and of success: $-\log(1+e^{\alpha})$ and
/// $-\log(1+e^{-\alpha})$.
pub(super) fn log_inv_logits(g: &mut Graph, alpha: NodeId) -> [NodeId; 2] {
    let failure = g.softplus(alpha);
    let minus = g.neg(alpha);
    let success = g.softplus(minus);
    [g.neg(failure), g.neg(success)]
}
