//! Metrics: an estimate of the posterior covariance -> a linear map that whitens the momentum.
//!
//! With an inverse metric $M^{-1} = L L^\top$ the sampler works with the whitened momentum
//! $\tilde p = L^\top p$, which is standard normal whatever the metric is. Kinetic energy is
//! $\tfrac12|\tilde p|^2$, the generalised U-turn criterion $\rho\cdot M^{-1}p$ is
//! $\tilde\rho\cdot\tilde p$, and a leapfrog step needs only two maps:
//! $g \mapsto L^\top g$ (the force) and $\tilde p \mapsto L\tilde p$ (the velocity). The kernel is
//! therefore the same for every metric, and the trajectories are those of the textbook's form.

use crate::error::SampleError;
use crate::vector::{add_scaled, dot};

/// How the metric is estimated during warmup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MetricKind {
    /// Diagonal, from draws and gradients: $\sigma_i^2=\sqrt{\mathrm{var}(x_i)/\mathrm{var}(\partial_i)}$,
    /// with overlapping windows and an update per draw (nutpie's scheme).
    #[default]
    Diag,
    /// Diagonal, from draws only, in Stan's three phases with doubling windows.
    Stan,
    /// Dense, from draws only, in the same three phases.
    Dense,
    /// Diagonal plus the directions in which draws and gradients together show that the diagonal is
    /// wrong (Fisher divergence).
    LowRank,
}

/// An inverse metric as plain data: an estimate of the posterior covariance.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum InverseMetric {
    /// Variances, one per coordinate.
    Diagonal(Vec<f64>),
    /// A symmetric positive definite matrix, row-major.
    Dense {
        /// Number of rows.
        dim: usize,
        /// The entries, length `dim * dim`.
        covariance: Vec<f64>,
    },
    /// $D (I + V^\top(\Lambda - I)V) D$ with $D$ the scales and $V$'s rows orthonormal.
    LowRank {
        /// Standard deviations, one per coordinate.
        scale: Vec<f64>,
        /// Orthonormal rows, `values.len() * scale.len()` entries.
        vectors: Vec<f64>,
        /// Variances along the rows, relative to the scales.
        values: Vec<f64>,
    },
}

impl InverseMetric {
    /// The identity.
    pub fn identity(dim: usize) -> Self {
        Self::Diagonal(vec![1.0; dim])
    }

    /// Length of a position.
    pub fn dim(&self) -> usize {
        match self {
            Self::Diagonal(variance) => variance.len(),
            Self::Dense { dim, .. } => *dim,
            Self::LowRank { scale, .. } => scale.len(),
        }
    }

    /// The diagonal: variances, one per coordinate.
    pub fn diagonal(&self) -> Vec<f64> {
        match self {
            Self::Diagonal(variance) => variance.clone(),
            Self::Dense { dim, covariance } => (0..*dim).map(|i| covariance[i * dim + i]).collect(),
            Self::LowRank { scale, vectors, values } => (0..scale.len())
                .map(|i| {
                    let along = values.iter().enumerate().map(|(k, value)| {
                        let v = vectors[k * scale.len() + i];
                        (value - 1.0) * v * v
                    });
                    scale[i] * scale[i] * (1.0 + along.sum::<f64>())
                })
                .collect(),
        }
    }

    /// Kinetic energy $\tfrac12 p^\top M^{-1} p$ of a momentum in the coordinates of the position.
    ///
    /// **Shapes**: `momentum` has length [`dim`](Self::dim). **Scale**: nats. For reference and
    /// tests: the sampler itself keeps whitened momenta.
    ///
    /// # Errors
    /// When the metric is not positive definite or the lengths disagree.
    ///
    /// ```
    /// # use exmc_infer::InverseMetric;
    /// let metric = InverseMetric::Diagonal(vec![0.5, 2.0]);
    /// assert!((metric.kinetic_energy(&[2.0, 3.0]).unwrap() - 10.0).abs() < 1e-14);
    /// ```
    pub fn kinetic_energy(&self, momentum: &[f64]) -> Result<f64, SampleError> {
        if momentum.len() != self.dim() {
            return Err(SampleError::config(
                "momentum",
                format!("expected length {}, found {}", self.dim(), momentum.len()),
            ));
        }
        let metric = Metric::new(self.clone())?;
        let mut whitened = vec![0.0; momentum.len()];
        metric.pull(momentum, &mut whitened);
        Ok(0.5 * dot(&whitened, &whitened))
    }
}

/// A metric ready for use: an [`InverseMetric`] and its whitening map.
#[derive(Clone, Debug)]
pub struct Metric {
    inverse: InverseMetric,
    /// Standard deviations for a diagonal metric, ones otherwise.
    sigma: Vec<f64>,
    map: Map,
}

#[derive(Clone, Debug)]
enum Map {
    Diagonal,
    /// Lower Cholesky factor, row-major, full storage.
    Dense(Vec<f64>),
    /// $\sqrt{\lambda_k}-1$ for each row.
    LowRank(Vec<f64>),
}

impl Metric {
    /// Prepares `inverse`.
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
        let (sigma, map) = match &inverse {
            InverseMetric::Diagonal(variance) => {
                positive(variance, "variances")?;
                (variance.iter().map(|v| v.sqrt()).collect(), Map::Diagonal)
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
                (vec![1.0; dim], Map::Dense(lower))
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
                let shift = values.iter().map(|v| v.sqrt() - 1.0).collect();
                (vec![1.0; dim], Map::LowRank(shift))
            }
        };
        Ok(Self { inverse, sigma, map })
    }

    /// The inverse metric as plain data.
    pub fn inverse(&self) -> &InverseMetric {
        &self.inverse
    }

    /// Length of a position.
    pub fn dim(&self) -> usize {
        self.sigma.len()
    }

    /// Standard deviations when the metric is diagonal; the kernels fuse them in.
    #[inline]
    pub(crate) fn diagonal_sigma(&self) -> Option<&[f64]> {
        matches!(self.map, Map::Diagonal).then_some(&self.sigma[..])
    }

    /// A vector of ones for a metric that is not diagonal.
    #[inline]
    pub(crate) fn unit(&self) -> &[f64] {
        &self.sigma
    }

    /// Replaces the variances of a diagonal metric in place; `variance(i)` returning `None` keeps
    /// the old one.
    pub(crate) fn update_diagonal(&mut self, mut variance: impl FnMut(usize) -> Option<f64>) {
        let Self { inverse: InverseMetric::Diagonal(old), sigma, .. } = self else {
            return;
        };
        for (i, (old, sigma)) in old.iter_mut().zip(sigma).enumerate() {
            if let Some(v) = variance(i).filter(|v| *v > 0.0 && v.is_finite()) {
                *old = v;
                *sigma = v.sqrt();
            }
        }
    }

    /// $L^\top g$: the force on the whitened momentum.
    pub(crate) fn pull(&self, gradient: &[f64], out: &mut [f64]) {
        match (&self.map, &self.inverse) {
            (Map::Dense(lower), _) => {
                let n = out.len();
                out.fill(0.0);
                for (i, g) in gradient.iter().enumerate() {
                    add_scaled(*g, &lower[i * n..=i * n + i], &mut out[..=i]);
                }
            }
            (Map::LowRank(shift), InverseMetric::LowRank { scale, vectors, .. }) => {
                scale_into(scale, gradient, out);
                stretch(shift, vectors, out);
            }
            _ => scale_into(&self.sigma, gradient, out),
        }
    }

    /// $L\tilde p$: the velocity of a whitened momentum.
    pub(crate) fn push(&self, momentum: &[f64], out: &mut [f64]) {
        match (&self.map, &self.inverse) {
            (Map::Dense(lower), _) => {
                let n = out.len();
                for (i, out) in out.iter_mut().enumerate() {
                    *out = dot(&lower[i * n..=i * n + i], &momentum[..=i]);
                }
            }
            (Map::LowRank(shift), InverseMetric::LowRank { scale, vectors, .. }) => {
                out.copy_from_slice(momentum);
                stretch(shift, vectors, out);
                for (out, scale) in out.iter_mut().zip(scale) {
                    *out *= scale;
                }
            }
            _ => scale_into(&self.sigma, momentum, out),
        }
    }

    /// $L^{-\top}\tilde p$: the momentum in the coordinates of the position.
    pub(crate) fn unwhiten(&self, momentum: &[f64], out: &mut [f64]) {
        match (&self.map, &self.inverse) {
            (Map::Dense(lower), _) => {
                let n = out.len();
                out.copy_from_slice(momentum);
                for i in (0..n).rev() {
                    out[i] /= lower[i * n + i];
                    let value = out[i];
                    add_scaled(-value, &lower[i * n..i * n + i], &mut out[..i]);
                }
            }
            (Map::LowRank(shift), InverseMetric::LowRank { scale, vectors, .. }) => {
                out.copy_from_slice(momentum);
                for (k, s) in shift.iter().enumerate() {
                    let v = &vectors[k * scale.len()..(k + 1) * scale.len()];
                    let along = dot(v, out);
                    add_scaled((1.0 / (1.0 + s) - 1.0) * along, v, out);
                }
                for (out, scale) in out.iter_mut().zip(scale) {
                    *out /= scale;
                }
            }
            _ => {
                for ((out, p), sigma) in out.iter_mut().zip(momentum).zip(&self.sigma) {
                    *out = p / sigma;
                }
            }
        }
    }
}

fn scale_into(scale: &[f64], x: &[f64], out: &mut [f64]) {
    for ((out, x), scale) in out.iter_mut().zip(x).zip(scale) {
        *out = scale * x;
    }
}

/// $x \leftarrow (I + V^\top \mathrm{diag}(s) V) x$; the rows are orthonormal, so one at a time will do.
fn stretch(shift: &[f64], vectors: &[f64], x: &mut [f64]) {
    let n = x.len();
    for (k, s) in shift.iter().enumerate() {
        let v = &vectors[k * n..(k + 1) * n];
        let along = dot(v, x);
        add_scaled(s * along, v, x);
    }
}

/// Lower Cholesky factor of a symmetric matrix (its lower triangle is read), row-major with zeros
/// above; `None` when a pivot is not positive and finite.
pub(crate) fn cholesky(n: usize, matrix: &[f64]) -> Option<Vec<f64>> {
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let (row_i, row_j) = (&lower[i * n..i * n + j], &lower[j * n..j * n + j]);
            let rest = matrix[i * n + j] - dot(row_i, row_j);
            if i == j {
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                lower[i * n + i] = rest.sqrt();
            } else {
                lower[i * n + j] = rest / lower[j * n + j];
            }
        }
    }
    Some(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<(InverseMetric, Vec<f64>)> {
        let s = 0.5_f64.sqrt();
        // Low rank with scales (2, 3), one direction (s, s) of relative variance 4, written out densely.
        let dense = vec![4.0 * 2.5, 6.0 * 1.5, 6.0 * 1.5, 9.0 * 2.5];
        vec![
            (InverseMetric::Diagonal(vec![4.0, 0.25]), vec![4.0, 0.0, 0.0, 0.25]),
            (InverseMetric::Dense { dim: 2, covariance: dense.clone() }, dense.clone()),
            (
                InverseMetric::LowRank {
                    scale: vec![2.0, 3.0],
                    vectors: vec![s, s],
                    values: vec![4.0],
                },
                dense,
            ),
        ]
    }

    #[test]
    fn velocity_is_the_inverse_metric_times_the_momentum() {
        for (inverse, dense) in examples() {
            let metric = Metric::new(inverse.clone()).unwrap();
            let p = [0.7, -1.3];
            let (mut whitened, mut velocity, mut back) = ([0.0; 2], [0.0; 2], [0.0; 2]);
            metric.pull(&p, &mut whitened);
            metric.push(&whitened, &mut velocity);
            metric.unwhiten(&whitened, &mut back);
            let mut energy = 0.0;
            for i in 0..2 {
                let expected = dense[2 * i] * p[0] + dense[2 * i + 1] * p[1];
                assert!((velocity[i] - expected).abs() < 1e-13, "{inverse:?}");
                assert!((back[i] - p[i]).abs() < 1e-13, "{inverse:?}");
                energy += 0.5 * p[i] * expected;
            }
            assert!((inverse.kinetic_energy(&p).unwrap() - energy).abs() < 1e-13);
            assert!((inverse.diagonal()[1] - dense[3]).abs() < 1e-13);
        }
    }

    #[test]
    fn bad_metrics_are_errors() {
        let dense = |covariance| InverseMetric::Dense { dim: 2, covariance };
        for bad in [
            InverseMetric::Diagonal(vec![1.0, 0.0]),
            InverseMetric::Diagonal(vec![f64::NAN]),
            dense(vec![1.0, 2.0, 2.0, 1.0]),
            dense(vec![1.0]),
            InverseMetric::LowRank { scale: vec![1.0], vectors: vec![], values: vec![2.0] },
        ] {
            assert!(Metric::new(bad).unwrap_err().is_config());
        }
    }
}
