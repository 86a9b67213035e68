//! Dirichlet distribution over probability vectors.

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::random::{ChainRng, draws};

use super::events::{elements, last_extent, shape_of_parameter};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Dirichlet(alpha).
#[derive(Debug)]
pub(crate) struct Dirichlet;

impl Distribution for Dirichlet {
    fn name(&self) -> &'static str {
        "dirichlet"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("alpha", Support::Positive).or(&["concentration"]).rank(1)];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Simplex
    }

    fn event_rank(&self) -> usize {
        1
    }

    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        shape_of_parameter(self.parameters(), args, 0, declared)
    }

    /// $\sum_k (\alpha_k - 1)\log y_k - \log B(\alpha)$, with respect to $dy_1\cdots dy_{K-1}$.
    ///
    /// **Shapes**: y and alpha `[batch.., K]`, batches broadcast; the result has the batch's shape.
    /// **Edges**: $y_k = 0$ with $\alpha_k = 1$ adds nothing. **Numerics**: the multivariate beta
    /// function is a chain of two-argument ones, $B(\alpha) = \prod_k
    /// B(\alpha_1+\dots+\alpha_{k-1}, \alpha_k)$, because log gammas of large parameters cancel.
    /// **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let alpha = args[0];
        let categories = last_extent(g, alpha);
        let power = g.shift(alpha, -1.0);
        let log_y = g.log(y);
        let term = g.mul(power, log_y);
        let zero = g.scalar(0.0);
        let no_power = g.eq(power, zero);
        let at_zero = g.eq(y, zero);
        let nothing = g.and(no_power, at_zero);
        let term = g.select(nothing, zero, term);
        let kernel = g.sum_last(term);

        let axis = g.shape(alpha).rank() - 1;
        let totals = g.cumulative_sum(alpha, axis);
        let before = elements(g, totals, 0, categories - 1);
        let next = elements(g, alpha, 1, categories);
        let links = g.lbeta(before, next);
        let log_beta = g.sum_last(links);
        g.sub(kernel, log_beta)
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        draws::dirichlet(rng, args[0], out);
    }
}
