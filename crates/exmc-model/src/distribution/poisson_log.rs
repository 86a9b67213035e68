//! Poisson distribution of which the log of the rate is given.

use exmc_graph::{Graph, NodeId};
use exmc_math::exp;
use exmc_math::random::{ChainRng, draws};

use super::counts::poisson_tail;
use super::poisson::log_factorial;
use super::{Distribution, Parameter};
use crate::support::Support;

/// Poisson(exp(alpha)).
#[derive(Debug)]
pub(crate) struct PoissonLog;

impl Distribution for PoissonLog {
    fn name(&self) -> &'static str {
        "poisson_log"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("alpha", Support::Real).or(&["log_rate", "log_lambda"])];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Count
    }

    /// $y\alpha - e^{\alpha} - \log y!$.
    ///
    /// **Edges**: overflows to -inf for alpha above 709. **Numerics**: as for `poisson`.
    /// **Reference**: Stan functions reference, Poisson distribution, log parameterisation.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let gained = g.mul(y, args[0]);
        let rate = g.exp(args[0]);
        let kernel = g.sub(gained, rate);
        let log_factorial = log_factorial(g, y);
        g.sub(kernel, log_factorial)
    }

    /// As for `poisson`.
    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let rate = g.exp(args[0]);
        Some(poisson_tail(g, y, rate, false))
    }

    /// As for `poisson`; -inf where the rate underflows to zero (alpha below -745).
    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let rate = g.exp(args[0]);
        Some(poisson_tail(g, y, rate, true))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = draws::poisson(rng, exp(args[0][0]));
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let rate = exp(args[0]);
        Some((rate, rate))
    }
}
