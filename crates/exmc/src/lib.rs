//! exmc: Bayesian inference in Rust.
//!
//! A model is data: declared in Rust or read from a file, rewritten, compiled in milliseconds to a
//! log density with gradient, sampled by NUTS, judged by modern diagnostics.
//!
//! ```
//! use exmc::distributions::{half_normal, normal};
//! use exmc::{CompileOptions, ModelBuilder, SamplerConfig, Values, compile, sample};
//!
//! let mut model = ModelBuilder::new();
//! model.rv("mu", normal(0.0, 10.0));
//! model.rv("sigma", half_normal(2.0));
//! model.rv("y", normal("mu", "sigma")).shape([5]);
//! model.observe("y_obs", "y", [2.1, 2.5, 1.8, 2.3, 2.7]);
//!
//! let compiled = compile(&model.build()?, &CompileOptions::default())?;
//! let mut config = SamplerConfig::default();
//! config.seed = 1;
//! let posterior = sample(&compiled.bind(&Values::new())?, &config)?;
//!
//! let (name, mu) = &posterior.summary()[0];
//! assert_eq!(name, "mu");
//! assert!(mu.rhat < 1.01 && (mu.mean - 2.278).abs() < 4.0 * mu.mcse_mean);
//! # Ok::<(), exmc::Error>(())
//! ```
#![forbid(unsafe_code)]

mod compile;
mod coordinates;
mod error;
mod failing;
mod generate;
mod generated_quantities;
mod mode;
mod precision;
mod predict;
mod recorded_values;
mod rejection;
mod sample;
mod stan;

pub use compile::{
    BoundModel, COMPILE_QUANTITIES, CompileOptions, CompiledModel, Interpreter, Values, compile,
    compile_lowered,
};
pub use coordinates::{Coordinate, learn_coordinates};
pub use error::Error;
pub use exmc_density as density;
pub use exmc_density::{Failure, FailureKind};
pub use exmc_diagnose as diagnose;
pub use exmc_draws::{ChainDraws, Posterior, Variable};
pub use exmc_exec::Executor;
pub use exmc_graph::{DType, OPTIMISATIONS, Precision, Shape, Tensor};
pub use exmc_infer::optimise::Iteration;
pub use exmc_infer::{
    ChainOutcome, Checkpoint, Draw, Info, InverseMetric, Laplace, MetricKind, Observer,
    OptimizeConfig, Optimum, RunPhase, SampleError, SamplerConfig, Silent, Start, Stopped,
    WarmStart,
};
pub use exmc_model::{
    Centring, Code, DataSet, Diagnostic, DistSpec, Expr, MARGINALISE, Model, ModelBuilder,
    ModelError, PASSES, RECENTRE, Reduce, Scan, Support, TransformSpec, distributions,
};
pub use generate::{Generator, generated_variables};
pub use generated_quantities::{DrawNumber, Quantities, QuantitiesInstance};
pub use mode::{laplace, on_the_edge, optimise};
pub use precision::Rounding;
pub use predict::{posterior_predictive, prior_predictive};
pub use recorded_values::TraceInstance;
pub use rejection::ModelInstance;
pub use sample::{Recorder, Recording, sample, sample_chains, sample_with, variables};
pub use stan::{Printer, StanError, StanModel, StanOptions, StanProgram, StanTimes};
