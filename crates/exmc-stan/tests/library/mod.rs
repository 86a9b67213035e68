//! The library on graphs: values against NumPy and SciPy, gradients against differences, lanes
//! against single calls.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]
#![allow(clippy::disallowed_methods, reason = "expected values are computed independently")]

mod densities;
mod eigen;
mod functions;
mod harness;
mod special;
