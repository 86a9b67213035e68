//! Transforms: values, inverses, Jacobians, gradients and far edges, for every variant.

mod cases;
mod edges;
mod goldens;
mod jacobian;
mod limits;
mod numeric;
mod shapes;
