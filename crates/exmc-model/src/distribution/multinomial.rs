//! Multinomial distribution: counts of categories in a number of trials.

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::random::{ChainRng, draws};

use super::counts::times_log;
use super::events::shape_of_parameter;
use super::poisson::log_factorial;
use super::{Distribution, Parameter};
use crate::support::Support;

/// Multinomial(n, theta).
#[derive(Debug)]
pub(crate) struct Multinomial;

impl Distribution for Multinomial {
    fn name(&self) -> &'static str {
        "multinomial"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("n", Support::Count).or(&["N", "trials"]),
            Parameter::new("theta", Support::Simplex).or(&["p", "probs"]).rank(1),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::CountsSummingTo(0)
    }

    fn event_rank(&self) -> usize {
        1
    }

    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        shape_of_parameter(self.parameters(), args, 1, declared)
    }

    /// $\log n! + \sum_k (y_k\log\theta_k - \log y_k!)$, where $0\log 0 = 0$.
    ///
    /// **Shapes**: y and theta `[batch.., K]`, n `[batch..]`, batches broadcast; the result has the
    /// batch's shape. **Numerics**: logs are taken on theta's own shape; factorials depend on data
    /// only. **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[n, theta] = args else { unreachable!("two parameters") };
        let log_theta = g.log(theta);
        let terms = times_log(g, y, log_theta);
        let kernel = g.sum_last(terms);
        let of_cells = log_factorial(g, y);
        let of_cells = g.sum_last(of_cells);
        let of_trials = log_factorial(g, n);
        let arrangements = g.sub(of_trials, of_cells);
        g.add(kernel, arrangements)
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        draws::multinomial(rng, args[0][0], args[1], out);
    }
}
