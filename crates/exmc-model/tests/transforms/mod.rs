//! Transforms: values, inverses, Jacobians, gradients and far edges, for every variant.

#![expect(clippy::unwrap_used, reason = "a helper that fails is a test that fails")]

mod cases;
mod edges;
mod goldens;
mod jacobian;
mod limits;
mod numeric;
mod shapes;
