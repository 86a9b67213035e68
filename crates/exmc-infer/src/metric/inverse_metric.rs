//! Metrics as plain data: estimates of the posterior covariance, in the forms that warmup learns.
//!
//! A [`Metric`] is one made ready for the sampler.

use crate::error::SampleError;
use crate::linalg::aligned_vector::AlignedVec;
use crate::linalg::kernels::dot;
use crate::metric::Metric;

/// How the metric is estimated during warmup.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum MetricKind {
    /// Diagonal, from draws and gradients:
    /// $\sigma_i^2=\sqrt{\mathrm{var}(x_i)/\mathrm{var}(\partial_i)}$, with overlapping windows and
    /// an update per draw (nutpie's scheme).
    Diag,
    /// Diagonal, from draws only, in Stan's three phases with doubling windows.
    Stan,
    /// Dense, from draws only, in the same three phases.
    Dense,
    /// Diagonal plus the directions in which draws and gradients together show that the diagonal is
    /// wrong (Fisher divergence), as far as they pay; the same as [`Diag`](Self::Diag) where there
    /// are none.
    #[default]
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
        let mut whitened = AlignedVec::zeros(momentum.len());
        metric.pull(&AlignedVec::from(momentum), &mut whitened);
        Ok(0.5 * dot(&whitened, &whitened))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples() -> Vec<(InverseMetric, Vec<f64>)> {
        let s = 0.5_f64.sqrt();
        // Low rank with scales (2, 3), one direction (s, s) of relative variance 4, written out
        // densely.
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
            let p = AlignedVec::from(vec![0.7, -1.3]);
            let zeros = || AlignedVec::zeros(2);
            let (mut whitened, mut velocity, mut back) = (zeros(), zeros(), zeros());
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
