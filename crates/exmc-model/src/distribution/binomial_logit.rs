//! Binomial distribution of which the log odds of success are given.

use exmc_graph::{Graph, NodeId};
use exmc_math::inv_logit;
use exmc_math::random::{ChainRng, draws};

use super::bernoulli_logit::log_inv_logits;
use super::counts::{binomial_tail, log_choose};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Binomial(n, inv_logit(alpha)).
#[derive(Debug)]
pub(crate) struct BinomialLogit;

impl Distribution for BinomialLogit {
    fn name(&self) -> &'static str {
        "binomial_logit"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("n", Support::Count).or(&["N", "trials"]),
            Parameter::new("alpha", Support::Real).or(&["logit_p", "logits"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::CountUpTo(0)
    }

    /// $\log\binom{n}{y} - y\log(1+e^{-\alpha}) - (n-y)\log(1+e^{\alpha})$.
    ///
    /// **Numerics**: both terms have one sign, so nothing cancels in the tails as it would in
    /// $y\alpha - n\log(1+e^\alpha)$. **Reference**: Stan functions reference, binomial
    /// distribution, logit parameterisation.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[n, alpha] = args else { unreachable!("two parameters") };
        let [log_failure, log_success] = log_inv_logits(g, alpha);
        let failures = g.sub(n, y);
        let from_successes = g.mul(y, log_success);
        let from_failures = g.mul(failures, log_failure);
        let arrangements = log_choose(g, n, y);
        let kernel = g.add(from_successes, from_failures);
        g.add(kernel, arrangements)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let chances = chances(g, args[1]);
        Some(binomial_tail(g, [y, args[0]], chances, false))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let chances = chances(g, args[1]);
        Some(binomial_tail(g, [y, args[0]], chances, true))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = draws::binomial(rng, args[0][0], inv_logit(args[1][0]));
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let mean = args[0] * inv_logit(args[1]);
        Some((mean, mean * inv_logit(-args[1])))
    }
}

/// Probability of success and of failure, each accurate where it is small.
fn chances(g: &mut Graph, alpha: NodeId) -> [NodeId; 2] {
    let minus = g.neg(alpha);
    [g.inv_logit(alpha), g.inv_logit(minus)]
}
