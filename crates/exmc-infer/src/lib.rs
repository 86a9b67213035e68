//! Sampling (internal, unstable): a log density -> draws, by NUTS with adaptation, on several
//! chains.
//!
//! The sampler knows no graph, file or terminal. It sees a
//! [`DensityModel`](exmc_density::DensityModel) and an [`Observer`]; [`sample`] is the entry point.
//!
//! | part | in -> out |
//! |---|---|
//! | [`integrator`] | a point and its momentum -> the next along the trajectory |
//! | [`nuts`] | a state -> the next state of a chain (invariant) |
//! | [`metric`] | draws and gradients -> an estimate of the posterior covariance -> the map that whitens momenta |
//! | [`warmup`] | warmup draws -> step size, target acceptance and metric; restarts of stuck chains |
//! | [`run`] | settings and starts -> draws of one chain at a time ([`run::chain`]), of all chains on threads |
//! | [`optimise`] | a start -> a maximum of the density |
//! | [`pathfinder`](mod@pathfinder) | a start -> the best normal approximation on the way to a maximum |
//! | [`variational`](mod@variational) | a start -> the normal approximation with the largest evidence lower bound |
//! | [`laplace`] | a maximum -> the normal approximation there, and its draws |
//!
//! ```
//! use exmc_density::{DensityModel, EvaluationError, LogDensity};
//! use exmc_infer::{SamplerConfig, Silent, sample};
//!
//! #[derive(Clone, Copy)]
//! struct Normal;
//! impl LogDensity for Normal {
//!     fn dim(&self) -> usize { 1 }
//!     fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
//!         g[0] = -q[0];
//!         Ok(-0.5 * q[0] * q[0])
//!     }
//! }
//! impl DensityModel for Normal {
//!     type Instance = Normal;
//!     fn dim(&self) -> usize { 1 }
//!     fn instance(&self) -> Normal { *self }
//! }
//!
//! let mut config = SamplerConfig::default();
//! config.chains = 2;
//! let run = sample(&Normal, &[], &config, &Silent)?;
//! assert_eq!(run.chains[1].draws.len(), 1000);
//! # Ok::<(), exmc_infer::SampleError>(())
//! ```
#![forbid(unsafe_code)]

pub mod config;
mod error;
pub mod integrator;
pub mod laplace;
mod linalg;
pub mod metric;
pub mod nuts;
pub mod optimise;
pub mod pathfinder;
pub mod run;
pub mod state;
pub mod variational;
pub mod warmup;

pub use config::{SamplerConfig, WarmStart};
pub use error::{RejectedPoint, SampleError};
pub use laplace::Laplace;
pub use linalg::aligned_vector::AlignedVec;
pub use metric::{InverseMetric, Metric, MetricKind};
pub use optimise::{OptimizeConfig, Optimum, Stopped, maximise};
pub use run::chain::{Chain, Checkpoint, Start};
pub use run::observer::{Draw, Observer, Silent};
pub use run::{ChainOutcome, ChainResult, Run, sample, sample_chains};
pub use state::{Info, RunPhase, State};
pub use warmup::restart::{Restart, RestartReason};
