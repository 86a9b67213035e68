//! Integrators: an end of a trajectory -> the next point along it, by the leapfrog rule.
//!
//! `leapfrog` works in any dimension; `small_dimension` and `low_rank` are fused kernels for common
//! cases.

pub mod leapfrog;
pub(super) mod low_rank;
pub(super) mod small_dimension;
