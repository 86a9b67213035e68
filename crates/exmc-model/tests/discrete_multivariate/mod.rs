//! Families of counts, categories, vectors and series: values against 50-digit tables,
//! normalisation, gradients, draws, edges and shapes. `EXAMPLES` has one row a family;
//! `every_family_has_a_row` says so.
#![expect(clippy::unwrap_used, reason = "a test may panic")]
#![expect(clippy::print_stdout, reason = "the reached errors are worth a line")]

mod densities;
mod draws;
mod edges;
mod examples;
mod gradients;
mod harness;
mod normalisation;
mod shapes;
