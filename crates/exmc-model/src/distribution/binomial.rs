//! Binomial distribution: number of trials and probability of success.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::{ChainRng, draws};

use super::counts::{binomial_tail, log_choose, times_log};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Binomial(n, theta).
#[derive(Debug)]
pub(crate) struct Binomial;

impl Distribution for Binomial {
    fn name(&self) -> &'static str {
        "binomial"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("n", Support::Count).or(&["N", "trials"]),
            Parameter::new("theta", Support::Unit).or(&["p", "probs"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::CountUpTo(0)
    }

    /// $\log\binom{n}{y} + y\log\theta + (n-y)\log(1-\theta)$, where $0 \log 0 = 0$.
    ///
    /// **Edges**: theta 0 and 1 are legal. **Numerics**: both logs are taken on theta's own shape
    /// and the binomial coefficient depends on data only. **Reference**: Gelman et al. 2013,
    /// appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[n, theta] = args else { unreachable!("two parameters") };
        let log_success = g.log(theta);
        let minus = g.neg(theta);
        let log_failure = g.log1p(minus);
        let failures = g.sub(n, y);
        let from_successes = times_log(g, y, log_success);
        let from_failures = times_log(g, failures, log_failure);
        let arrangements = log_choose(g, n, y);
        let kernel = g.add(from_successes, from_failures);
        g.add(kernel, arrangements)
    }

    /// $\log I_{1-\theta}(n-k, k+1)$ with $k = \lfloor y\rfloor$.
    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let chances = chances(g, args[1]);
        Some(binomial_tail(g, [y, args[0]], chances, false))
    }

    /// $\log I_{\theta}(k+1, n-k)$ with $k = \lfloor y\rfloor$.
    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let chances = chances(g, args[1]);
        Some(binomial_tail(g, [y, args[0]], chances, true))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = draws::binomial(rng, args[0][0], args[1][0]);
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let mean = args[0] * args[1];
        Some((mean, mean * (1.0 - args[1])))
    }
}

/// Probability of success and of failure.
fn chances(g: &mut Graph, theta: NodeId) -> [NodeId; 2] {
    let one = g.scalar(1.0);
    [theta, g.sub(one, theta)]
}
