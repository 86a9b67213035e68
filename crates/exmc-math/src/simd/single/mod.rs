//! Sixteen lanes of `f32`: twice the lanes of [`Simd`](super::Simd) in the same registers, and half
//! the memory.
//!
//! A [`Kernel`](super::Kernel) or a [`Routine`](super::Routine) gets their token from its own by
//! [`Simd::single`](super::Simd::single). Levels agree to the bit here, too.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod functions;
mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod portable;

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2Single;
#[cfg(target_arch = "x86_64")]
pub(super) use avx512::Avx512Single;
pub use functions::{exp, log, sigmoid, sigmoid_exp, sigmoid_softplus, softplus};
pub use lanes::Single;
#[cfg(target_arch = "aarch64")]
pub(super) use neon::NeonSingle;
pub(super) use portable::PortableSingle;
