//! Mathematics on eight lanes at a time, chosen at run time, with the same bits on every processor.
#![allow(unsafe_code, reason = "vector instructions are reached through intrinsics; see `lanes`")]

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod coefficients;
mod error_function;
mod exponential;
mod gamma;
mod lanes;
mod level;
mod logarithm;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;
mod power;
mod reduce;
mod slices;
mod trigonometric;

pub use lanes::{POWER_SHIFT, Simd};
pub use level::{Kernel, Level};
pub use reduce::{LogProduct, dot, log_sum_exp, max, sum, sum_log};
pub use slices::{
    cos, digamma, erf, erfc, exp, expm1, lgamma, log, log1p, pow, reciprocal, sigmoid,
    sigmoid_softplus, sin, softplus, sqrt, tanh,
};

/// The functions on one vector of eight lanes, for kernels that fuse several.
pub mod vector {
    pub use super::error_function::{erf, erfc};
    pub use super::exponential::{exp, expm1, sigmoid, sigmoid_softplus, softplus, tanh};
    pub use super::gamma::{digamma, lgamma};
    pub use super::logarithm::{log, log1p};
    pub use super::power::pow;
    pub use super::trigonometric::{cos, sin, sin_cos};
}
