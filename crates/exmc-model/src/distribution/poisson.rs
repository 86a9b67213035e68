//! Poisson distribution: the rate is the mean.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::{ChainRng, draws};

use super::counts::{poisson_tail, times_log};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Poisson(lambda).
#[derive(Debug)]
pub(crate) struct Poisson;

impl Distribution for Poisson {
    fn name(&self) -> &'static str {
        "poisson"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("lambda", Support::NonNegative).or(&["mu", "rate"])];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Count
    }

    /// $y\log\lambda - \lambda - \log y!$, where $0 \log 0 = 0$.
    ///
    /// **Edges**: lambda 0 is legal (all mass at 0). **Numerics**: linear in lambda and its log, so
    /// that sums over rows collapse; the terms cancel for large counts, which leaves an absolute
    /// error of about $10^{-16}\, y\log y$ in the value, none in the gradient. **Reference**:
    /// Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let log_lambda = g.log(args[0]);
        let gained = times_log(g, y, log_lambda);
        let kernel = g.sub(gained, args[0]);
        let log_factorial = log_factorial(g, y);
        g.sub(kernel, log_factorial)
    }

    /// $\log Q(\lfloor y\rfloor + 1, \lambda)$.
    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        Some(poisson_tail(g, y, args[0], false))
    }

    /// $\log P(\lfloor y\rfloor + 1, \lambda)$.
    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        Some(poisson_tail(g, y, args[0], true))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = draws::poisson(rng, args[0][0]);
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        Some((args[0], args[0]))
    }
}

/// $\log k!$
pub(super) fn log_factorial(g: &mut Graph, k: NodeId) -> NodeId {
    let next = g.shift(k, 1.0);
    g.lgamma(next)
}
