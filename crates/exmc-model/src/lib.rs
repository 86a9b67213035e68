//! exmc's models as data (internal, unstable): builder calls or JSON -> model -> graph.

pub mod distribution;
pub mod support;
pub mod transform;
