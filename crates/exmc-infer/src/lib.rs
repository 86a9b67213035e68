//! Sampling (internal, unstable): a log density -> draws, by NUTS with adaptation, on several chains.
//!
//! The sampler knows no graph, file or terminal. It sees a [`DensityModel`](exmc_density::DensityModel)
//! and an [`Observer`]; [`sample`] is the entry point.
//!
//! | part | in -> out |
//! |---|---|
//! | [`leapfrog`](mod@leapfrog) | a point and its momentum -> the next along the trajectory |
//! | [`nuts`] | a state -> the next state of a chain (invariant) |
//! | [`metric`] | an estimate of the posterior covariance -> the map that whitens momenta |
//! | [`target`] | divergences of warmup -> the acceptance to aim at |
//! | [`step_size`], [`schedule`], [`moments`], [`adaptation`] | warmup draws -> step size and metric |
//! | [`chain`] | settings and a start -> draws one at a time; checkpoints |
//! | [`run`] | all chains on threads |
//! | [`optimise`] | a start -> a maximum of the density |
//! | [`pathfinder`](mod@pathfinder) | a start -> the best normal approximation on the way to a maximum |
//! | [`restart`] | warmup draws -> whether a chain is stuck, and where it goes on |
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

pub mod adaptation;
pub mod chain;
pub mod config;
mod eigen;
mod error;
mod fisher;
mod initial;
pub mod laplace;
pub mod leapfrog;
mod low_rank_steps;
mod maps;
pub mod metric;
pub mod moments;
pub mod nuts;
pub mod observer;
pub mod optimise;
mod padded;
pub mod pathfinder;
pub mod restart;
pub mod run;
mod running;
pub mod schedule;
mod small_steps;
pub mod state;
pub mod step_size;
mod subspace;
pub mod target;
mod turning;
mod vector;
mod whitening;

pub use chain::{Chain, Checkpoint, Start};
pub use config::{SamplerConfig, WarmStart};
pub use error::{RejectedPoint, SampleError};
pub use laplace::Laplace;
pub use metric::{InverseMetric, Metric, MetricKind};
pub use observer::{Draw, Observer, Silent};
pub use optimise::{OptimizeConfig, Optimum, Stopped, maximise};
pub use padded::Padded;
pub use restart::{Restart, RestartReason};
pub use run::{ChainOutcome, ChainResult, Run, sample};
pub use state::{Info, RunPhase, State};
