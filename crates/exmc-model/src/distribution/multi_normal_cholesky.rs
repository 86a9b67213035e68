//! Multivariate normal distribution by its mean and the **Cholesky factor** of its covariance.

use exmc_graph::{Graph, NodeId, Reduction, Shape};
use exmc_math::linear::multiply_lower;
use exmc_math::random::ChainRng;

use super::events::{last_extent, shape_of_parameter};
use super::normal::HALF_LOG_TWO_PI;
use super::{Distribution, Parameter};
use crate::support::Support;

/// MultiNormalCholesky(mu, L): covariance $LL'$.
#[derive(Debug)]
pub(crate) struct MultiNormalCholesky;

impl Distribution for MultiNormalCholesky {
    fn name(&self) -> &'static str {
        "multi_normal_cholesky"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc", "mean"]).rank(1),
            Parameter::new("cholesky", Support::CholeskyFactor).or(&["L", "scale_tril"]).rank(2),
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

    /// $-\tfrac12 \lVert L^{-1}(y-\mu)\rVert^2 - \sum_k\log L_{kk} - \tfrac d2\log 2\pi$.
    ///
    /// **Shapes**: y and mu `[batch.., d]`, batches broadcast; one factor `[d, d]` for all.
    /// **Numerics**: one triangular solve for the whole batch; only the lower triangle is read.
    /// **Reference**: Stan functions reference, multivariate normal, Cholesky parameterisation.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        lpdf_of_factor(g, y, args[0], args[1])
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        draw_from_factor(rng, args[0], args[1], out);
    }
}

/// The outcome's shape; mu gives the dimension, which the matrix must have.
pub(super) fn multi_normal_shape(
    parameters: &[Parameter],
    args: &[&Shape],
    declared: Option<&Shape>,
) -> Result<Shape, String> {
    let shape = shape_of_parameter(parameters, args, 0, declared)?;
    let dimension = shape.extents()[shape.rank() - 1];
    if *args[1] == Shape::from([dimension, dimension]) {
        Ok(shape)
    } else {
        let (name, found) = (parameters[1].name, args[1]);
        Err(format!(
            "its parameter {name} must have shape [{dimension}, {dimension}] for outcomes of length {dimension}, found {found}"
        ))
    }
}

pub(super) fn lpdf_of_factor(g: &mut Graph, y: NodeId, mu: NodeId, factor: NodeId) -> NodeId {
    let centred = g.sub(y, mu);
    let dimension = last_extent(g, centred);
    let rank = g.shape(centred).rank();
    let batch = Shape::from(&g.shape(centred).extents()[..rank - 1]);
    let squares = if batch.is_scalar() {
        let z = g.triangular_solve(factor, centred, false);
        let squares = g.square(z);
        g.sum(squares)
    } else {
        let rows = g.reshape(centred, [batch.len(), dimension]);
        let columns = g.transpose(rows);
        let z = g.triangular_solve(factor, columns, false);
        let squares = g.square(z);
        let sums = g.reduce(Reduction::Sum, squares, &[0]);
        g.reshape(sums, batch)
    };
    let half = g.scale(squares, -0.5);
    let diagonal = g.diagonal(factor);
    let logs = g.log(diagonal);
    let log_determinant = g.sum(logs);
    let normaliser = g.shift(log_determinant, HALF_LOG_TWO_PI * dimension as f64);
    g.sub(half, normaliser)
}

/// $\mu + Lz$ with independent standard normal z.
pub(super) fn draw_from_factor(rng: &mut ChainRng, mu: &[f64], factor: &[f64], out: &mut [f64]) {
    let z: Vec<f64> = out.iter().map(|_| rng.standard_normal()).collect();
    multiply_lower(factor, &z, out);
    out.iter_mut().zip(mu).for_each(|(value, mu)| *value += mu);
}
