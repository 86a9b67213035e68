//! Functions of vectors, matrices and complex numbers: every signature on values and on parameters,
//! numbers by NumPy, edges.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod edges;
mod goldens;
mod operators;
mod signatures;
mod support;
