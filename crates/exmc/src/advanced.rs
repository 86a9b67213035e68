//! The pipeline stage by stage, for our own programs and for who builds on single stages.
//!
//! Nothing here is covered by promises of stability; the crates at the end are the rooms of
//! `ARCHITECTURE.md`, so that every type that a function here names can be named.

pub use crate::compile::{
    BoundModel, COMPILE_QUANTITIES, CompileOptions, CompiledModel, compile, compile_lowered,
};
pub use crate::coordinates::{Coordinate, learn_coordinates};
pub use crate::fit::{SUMMARY_HEAD, coordinates, diagnosis, executor_name, summary_cells};
pub use crate::generate::{Generator, generated_variables};
pub use crate::generated_quantities::{DrawNumber, Quantities, QuantitiesInstance};
pub use crate::mode::{laplace, on_the_edge, optimize};
pub use crate::precision::Rounding;
pub use crate::recorded_values::TraceInstance;
pub use crate::rejection::ModelInstance;
pub use crate::sample::{Recorder, Recording, sample, sample_with, variables};
pub use exmc_density::{Failure, FailureKind};
pub use exmc_exec::Executor;
pub use exmc_graph::{OPTIMISATIONS, Precision};
pub use exmc_model::{MARGINALISE, PASSES, RECENTRE};

/// Numbers and tables as text.
pub mod text {
    pub use crate::text::{decimals, rounded, significant, table};
}

/// The seam between models and samplers.
pub use exmc_density as density;
/// Executors.
pub use exmc_exec as exec;
/// The graph of a density.
pub use exmc_graph as graph;
/// Models, their rewrites and their lowering.
pub use exmc_model as models;
/// The stages of Stan programs.
pub use exmc_stan as stan_stages;
