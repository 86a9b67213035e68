//! Mixtures, truncation, censoring, zero inflation and custom densities, and what observations say
//! of their elements: values against 50-digit tables, gradients, shapes, free variables, draws and
//! refusals.
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(
    clippy::disallowed_methods,
    reason = "expected values are compared to 1e-12, which every platform reaches"
)]

mod custom;
mod draws;
mod free;
mod harness;
mod imputation;
mod mixtures;
mod observations;
mod refusals;
mod table;
