//! Metrics: draws and gradients -> an estimate of the posterior covariance, and the linear maps
//! that whiten with it.
//!
//! [`InverseMetric`] is plain data, [`Metric`] the same made ready for the sampler.

pub mod inverse_metric;
pub(super) mod leading_directions;
pub(super) mod low_rank_estimate;
pub(super) mod matrix_kernels;
pub mod running_moments;
pub(super) mod whitening;

pub use inverse_metric::{InverseMetric, MetricKind};
pub use whitening::Metric;
