//! A metric at work: an inverse metric -> the linear maps that whiten forces and unwhiten momenta.
//!
//! With an inverse metric $M^{-1} = L L^\top$ the sampler works with the whitened momentum
//! $\tilde p = L^\top p$, which is standard normal whatever the metric is. Kinetic energy is
//! $\tfrac12|\tilde p|^2$, the generalised U-turn criterion $\rho\cdot M^{-1}p$ is
//! $\tilde\rho\cdot\tilde p$, and a leapfrog step needs only two maps:
//! $g \mapsto L^\top g$ (the force) and $\tilde p \mapsto L\tilde p$ (the velocity). The kernel is
//! therefore the same for every metric, and the trajectories are those of the textbook's form.

use exmc_math::simd::{Kernel, Level, Simd};

use crate::error::SampleError;
use crate::integrator::small_dimension::SmallMaps;
use crate::linalg::aligned_vector::{AlignedVec, LANES, rows_for};
use crate::linalg::kernels::{add_scaled, dot};
use crate::metric::InverseMetric;
use crate::metric::low_rank_estimate::fisher_variance;
use crate::metric::matrix_kernels::{
    AddLowRank, LowerTimes, Scale, TransposedTimes, cholesky, in_rows,
};

/// A metric ready for use: an [`InverseMetric`] and its whitening map.
#[derive(Clone, Debug)]
pub struct Metric {
    inverse: InverseMetric,
    level: Level,
    map: Map,
    /// The same map for a fused step in few dimensions.
    small: Option<SmallMaps>,
}

#[derive(Clone, Debug)]
enum Map {
    /// Standard deviations.
    Diagonal(AlignedVec),
    /// Lower Cholesky factor: whole rows of lanes per row of the matrix, with zeros above the
    /// diagonal and zero rows at the end up to a multiple of eight.
    Dense(AlignedVec),
    LowRank {
        scale: AlignedVec,
        /// Whole rows of lanes per vector.
        vectors: AlignedVec,
        /// $\sqrt{\lambda_k}-1$ for each vector.
        shift: Vec<f64>,
    },
}

impl Metric {
    /// Prepares `inverse`, for the best vector instructions of this machine.
    ///
    /// # Errors
    /// When lengths disagree, a variance is not positive and finite, or a dense matrix is not
    /// positive definite.
    pub fn new(inverse: InverseMetric) -> Result<Self, SampleError> {
        let invalid = |message: String| SampleError::config("inverse_metric", message);
        let positive = |values: &[f64], what: &str| match values
            .iter()
            .position(|v| !(*v > 0.0 && v.is_finite()))
        {
            Some(i) => Err(invalid(format!(
                "expected positive finite {what}, found {} at index {i}",
                values[i]
            ))),
            None => Ok(()),
        };
        let dim = inverse.dim();
        let map = match &inverse {
            InverseMetric::Diagonal(variance) => {
                positive(variance, "variances")?;
                Map::Diagonal(variance.iter().map(|v| v.sqrt()).collect::<Vec<_>>().into())
            }
            InverseMetric::Dense { covariance, .. } => {
                if covariance.len() != dim * dim {
                    return Err(invalid(format!(
                        "expected {} entries for dimension {dim}, found {}",
                        dim * dim,
                        covariance.len()
                    )));
                }
                let lower = cholesky(dim, covariance)
                    .ok_or_else(|| invalid("the matrix is not positive definite".into()))?;
                Map::Dense(in_rows(dim, &lower, rows_for(dim) * LANES))
            }
            InverseMetric::LowRank { scale, vectors, values } => {
                if vectors.len() != dim * values.len() {
                    return Err(invalid(format!(
                        "expected vectors of shape [{}, {dim}], found {} entries",
                        values.len(),
                        vectors.len()
                    )));
                }
                positive(scale, "scales")?;
                positive(values, "values")?;
                if let Some(i) = vectors.iter().position(|v| !v.is_finite()) {
                    return Err(invalid(format!(
                        "expected finite vectors, found one at index {i}"
                    )));
                }
                Map::LowRank {
                    scale: AlignedVec::from(&scale[..]),
                    vectors: in_rows(dim, vectors, values.len()),
                    shift: values.iter().map(|v| v.sqrt() - 1.0).collect(),
                }
            }
        };
        let small = map.small(dim);
        Ok(Self { inverse, level: Level::for_length(dim), map, small })
    }

    /// The same metric, to be used with other instructions: every level gives the same bits.
    pub fn with_level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// The vector instructions that the sampler uses with this metric.
    #[inline]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The inverse metric as plain data.
    pub fn inverse(&self) -> &InverseMetric {
        &self.inverse
    }

    /// Length of a position.
    pub fn dim(&self) -> usize {
        self.inverse.dim()
    }

    /// Standard deviations when the metric is diagonal; the kernels fuse them in.
    #[inline]
    pub(crate) fn diagonal_sigma(&self) -> Option<&AlignedVec> {
        match &self.map {
            Map::Diagonal(sigma) => Some(sigma),
            Map::Dense(_) | Map::LowRank { .. } => None,
        }
    }

    /// Both maps as matrices, when the metric is not diagonal and dimensions are few.
    #[inline]
    pub(crate) fn small_maps(&self) -> Option<&SmallMaps> {
        self.small.as_ref()
    }

    /// Scales, vectors and shifts when the metric is of low rank; its kernel fuses them in.
    #[inline]
    pub(crate) fn low_rank_parts(&self) -> Option<(&AlignedVec, &AlignedVec, &[f64])> {
        match &self.map {
            Map::LowRank { scale, vectors, shift } => Some((scale, vectors, shift)),
            Map::Dense(_) | Map::Diagonal(_) => None,
        }
    }

    /// Puts another inverse metric into force; one that is not positive definite (a window of draws
    /// with overflowing squares) leaves the old one.
    pub(crate) fn replace(&mut self, inverse: InverseMetric) {
        if let Ok(new) = Metric::new(inverse) {
            *self = new.with_level(self.level);
        }
    }

    /// Replaces the variances of a diagonal metric in place by those that the squared deviations of
    /// draws and of gradients give; a coordinate that does not vary keeps its own.
    pub(crate) fn update_diagonal(&mut self, draw_squares: &[f64], gradient_squares: &[f64]) {
        let Self { inverse: InverseMetric::Diagonal(variance), map: Map::Diagonal(sigma), .. } =
            self
        else {
            return;
        };
        let level = self.level;
        level.run(UpdateDiagonal { draw_squares, gradient_squares, variance, sigma });
    }

    /// $L^\top g$: the force on the whitened momentum.
    pub(crate) fn pull(&self, gradient: &AlignedVec, out: &mut AlignedVec) {
        match &self.map {
            Map::Diagonal(scale) => self.scale(scale, gradient, out),
            Map::Dense(lower) => {
                let (lower, x, out) = (lower.rows(), gradient, out.rows_mut());
                self.level.run(TransposedTimes { lower, x, out });
            }
            Map::LowRank { scale, vectors, shift } => {
                self.scale(scale, gradient, out);
                self.level.run(AddLowRank { shift, vectors: vectors.rows(), x: out.rows_mut() });
            }
        }
        // Zeros of the matrix times an infinite derivative.
        out.clear_padding();
    }

    /// $L\tilde p$: the velocity of a whitened momentum.
    pub(crate) fn push(&self, momentum: &AlignedVec, out: &mut AlignedVec) {
        match &self.map {
            Map::Diagonal(scale) => self.scale(scale, momentum, out),
            Map::Dense(lower) => {
                let (lower, x, out) = (lower.rows(), momentum.rows(), out.rows_mut());
                self.level.run(LowerTimes { lower, x, out });
            }
            Map::LowRank { scale, vectors, shift } => {
                out.rows_mut().copy_from_slice(momentum.rows());
                self.level.run(AddLowRank { shift, vectors: vectors.rows(), x: out.rows_mut() });
                out.iter_mut().zip(&scale[..]).for_each(|(out, scale)| *out *= scale);
            }
        }
        out.clear_padding();
    }

    fn scale(&self, scale: &AlignedVec, x: &AlignedVec, out: &mut AlignedVec) {
        self.level.run(Scale { scale: scale.rows(), x: x.rows(), out: out.rows_mut() });
    }

    /// $L^{-\top}\tilde p$: the momentum in the coordinates of the position.
    pub(crate) fn unwhiten(&self, momentum: &AlignedVec, out: &mut AlignedVec) {
        out.copy_from_slice(momentum);
        match &self.map {
            Map::Diagonal(sigma) => {
                out.iter_mut().zip(&sigma[..]).for_each(|(out, sigma)| *out /= sigma);
            }
            Map::Dense(lower) => {
                let stride = rows_for(out.len()) * LANES;
                for i in (0..out.len()).rev() {
                    let row = &lower[i * stride..=i * stride + i];
                    out[i] /= row[i];
                    let value = out[i];
                    add_scaled(-value, &row[..i], &mut out[..i]);
                }
            }
            Map::LowRank { scale, vectors, shift } => {
                let stride = rows_for(out.len()) * LANES;
                for (k, s) in shift.iter().enumerate() {
                    let v = &vectors[k * stride..k * stride + out.len()];
                    let along = dot(v, out);
                    add_scaled((1.0 / (1.0 + s) - 1.0) * along, v, out);
                }
                out.iter_mut().zip(&scale[..]).for_each(|(out, scale)| *out /= scale);
            }
        }
    }
}

impl Map {
    /// The columns of $L^\top$ and of $L$ in few dimensions.
    fn small(&self, dim: usize) -> Option<SmallMaps> {
        let stride = rows_for(dim) * LANES;
        match self {
            Self::Diagonal(_) => None,
            Self::Dense(lower) => SmallMaps::new(
                dim,
                |j, column| column.copy_from_slice(&lower[j * stride..j * stride + dim]),
                |j, column| (0..dim).for_each(|i| column[i] = lower[i * stride + j]),
            ),
            Self::LowRank { scale, vectors, shift } => {
                // Column j of I + V' diag(s) V.
                let inner = |j: usize, column: &mut [f64]| {
                    column[j] = 1.0;
                    for (v, s) in vectors.chunks_exact(stride).zip(shift) {
                        add_scaled(s * v[j], &v[..dim], column);
                    }
                };
                SmallMaps::new(
                    dim,
                    |j, column| {
                        inner(j, column);
                        column.iter_mut().for_each(|x| *x *= scale[j]);
                    },
                    |j, column| {
                        inner(j, column);
                        column.iter_mut().zip(&scale[..]).for_each(|(x, scale)| *x *= scale);
                    },
                )
            }
        }
    }
}

/// Variances that draws and gradients agree on, and their square roots, in plain code that the
/// compiler turns into the level's instructions.
struct UpdateDiagonal<'a> {
    draw_squares: &'a [f64],
    gradient_squares: &'a [f64],
    variance: &'a mut [f64],
    sigma: &'a mut [f64],
}

impl Kernel for UpdateDiagonal<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let squares = self.draw_squares.iter().zip(self.gradient_squares);
        for ((variance, sigma), (draws, gradients)) in
            self.variance.iter_mut().zip(self.sigma).zip(squares)
        {
            *variance = fisher_variance(*draws, *gradients, *variance);
            *sigma = variance.sqrt();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Padding that is not zero would make every later energy NaN.
    #[test]
    fn infinite_numbers_leave_the_padding_zero() {
        for inverse in [
            InverseMetric::identity(3),
            InverseMetric::Dense { dim: 3, covariance: vec![4., 1., 0., 1., 3., 1., 0., 1., 2.] },
            InverseMetric::LowRank {
                scale: vec![1.0, 2.0, 3.0],
                vectors: vec![0.6, 0.0, 0.8],
                values: vec![5.0],
            },
        ] {
            let metric = Metric::new(inverse).unwrap();
            let x = AlignedVec::from(vec![f64::INFINITY, f64::NAN, 1.0]);
            let mut out = AlignedVec::zeros(3);
            metric.pull(&x, &mut out);
            assert_eq!(out.rows()[0][3..], [0.0; 5], "{metric:?}");
            assert!(!out[0].is_finite());
            metric.push(&x, &mut out);
            assert_eq!(out.rows()[0][3..], [0.0; 5], "{metric:?}");
        }
    }
}
