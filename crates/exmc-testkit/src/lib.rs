//! Test kit (dev only): models with known posteriors -> verdicts on the whole path from builder to
//! draws.
//!
//! | part | in -> out |
//! |---|---|
//! | [`targets`] | nothing -> models, each with the exact moments of its posterior |
//! | [`gates`] | target, metric, error that must be visible -> pass, fail or inconclusive for each scalar |
//! | [`one_step`] | target that can be drawn exactly -> whether one transition leaves it alone |
//! | [`behaviour`] | a promise about a run that no moment shows -> kept or broken |
//! | [`sbc`] | model -> ranks of prior draws among posterior draws -> whether they are uniform |
//! | [`hierarchies`] | seed -> a hierarchical model -> whether its transformations leave density and draws alone |
//! | [`random_models`] | seed -> a model -> whether all paths to its density agree |
//! | [`stan_programs`] | seed -> a Stan program -> whether its lowering agrees with the host interpreter |
//! | [`alike_terms`] | seed -> a density of many scalars -> whether grouping them leaves value and gradient |
//! | [`random_graphs`] | seed -> two expressions -> whether the executors agree at every level |
//! | [`function_sweep`] | every function of one argument -> whether the executors agree all along the axis |
//! | [`fingerprint`] | model, metric, seed -> a number that changes with any bit of any draw |
//!
//! The program `exmc-gates` runs them by name; `cargo xtask mutants` and `cargo xtask campaign`
//! call it.
#![forbid(unsafe_code)]

pub mod alike_terms;
pub mod behaviour;
pub mod fingerprint;
pub mod function_sweep;
pub mod gates;
pub mod hierarchies;
pub mod one_step;
pub mod random_graphs;
pub mod random_models;
mod records;
pub mod sbc;
pub mod stan_programs;
pub mod targets;
