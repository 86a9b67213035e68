//! Warmup: draws and their statistics -> step size, metric, target acceptance, and restarts of
//! stuck chains.

pub mod adaptation;
pub mod restart;
pub mod schedule;
pub mod step_size;
pub mod target_acceptance;
