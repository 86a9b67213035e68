//! Multivariate normal distribution by its mean and **covariance** matrix.

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::linear::cholesky_lower;
use exmc_math::random::ChainRng;

use super::multi_normal_cholesky::{draw_from_factor, lpdf_of_factor, multi_normal_shape};
use super::{Distribution, Parameter};
use crate::support::Support;

/// MultiNormal(mu, covariance).
#[derive(Debug)]
pub(crate) struct MultiNormal;

impl Distribution for MultiNormal {
    fn name(&self) -> &'static str {
        "multi_normal"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["mv_normal"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc", "mean"]).rank(1),
            Parameter::new("covariance", Support::PositiveDefinite).or(&["cov", "sigma"]).rank(2),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    fn event_rank(&self) -> usize {
        1
    }

    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        multi_normal_shape(self.parameters(), args, declared)
    }

    /// $-\tfrac12 (y-\mu)'\Sigma^{-1}(y-\mu) - \tfrac12\log\det\Sigma - \tfrac d2\log 2\pi$.
    ///
    /// **Shapes**: y and mu `[batch.., d]`, batches broadcast; one covariance `[d, d]` for all.
    /// **Numerics**: through one Cholesky factor, never an inverse; only the covariance's lower
    /// triangle is read. **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let factor = g.cholesky(args[1]);
        lpdf_of_factor(g, y, args[0], factor)
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let mut factor = vec![0.0; args[1].len()];
        match cholesky_lower(out.len(), args[1], &mut factor) {
            Ok(()) => draw_from_factor(rng, args[0], &factor, out),
            Err(_) => out.fill(f64::NAN),
        }
    }
}
