//! Benchmarks (internal, unstable): a name and data -> a model, a gradient written by hand, and
//! their times.
//!
//! | part | in -> out |
//! |---|---|
//! | [`models`] | Stan's data of a program -> the same density from the Rust builder |
//! | [`by_hand`] | the same data -> a log density and gradient in vector instructions, the limit for an executor |
//! | [`timing`] | functions that do the same work -> nanoseconds a call, taken in turn |
//!
//! `cargo xtask bench kernels` and `cargo xtask bench peers` run the two programs in `src/bin`.
#![forbid(unsafe_code)]

pub mod by_hand;
pub mod models;
pub mod timing;
