//! The sampler: its settings, what it reports, what observes it, and densities of your own.

pub use exmc_density::{BATCH, DensityModel, EvaluationError, LaneDensity, LogDensity};
pub use exmc_infer::optimise::Iteration;
pub use exmc_infer::{
    ChainOutcome, ChainResult, Draw, Info, InverseMetric, Laplace, Metric, MetricKind, Observer,
    OptimizeConfig, Optimum, RejectedPoint, Restart, RestartReason, RunPhase, SampleError,
    SamplerConfig, Silent, Start, State, Stopped, WarmStart,
};

pub use crate::fit::{Bind, Density, Target, Template, fit_each};
