//! Lowering: small programs whose densities are known in closed form, coded here by hand.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test fails by panicking")]

mod by_type;
mod carried;
mod chosen;
mod complex;
mod control;
mod growth;
mod harness;
mod laplace;
mod leave;
mod loops;
mod mistakes;
mod non_centre;
mod parameters;
mod propto;
mod recurrences;
mod steps;
mod straight;
mod trips;
mod tuples;
