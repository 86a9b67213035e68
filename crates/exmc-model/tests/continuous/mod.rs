//! Univariate continuous families: densities, distribution functions, gradients, draws and edges.
//! `EXAMPLES` has one row a family at least; a test beside it says so.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod densities;
mod draws;
mod edges;
mod examples;
mod goldens;
mod gradients;
mod harness;
mod integrals;
