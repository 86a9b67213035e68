//! Frozen samplers of the named distributions: a stream and parameters to one draw.
//!
//! Free functions over [`ChainRng`](super::ChainRng), standardised (rate one, scale one, mean
//! direction zero); location and scale are the caller's. Parameters outside the domain give NaN (or
//! `None`), never a panic, and then take nothing from the stream. Counts are returned as `f64`,
//! exact below 2^53. A sampler may take a varying number of words, but the number depends on the
//! stream only.

mod circular;
mod counts;
mod gamma;
mod truncated;

pub use circular::von_mises;
pub use counts::{binomial, categorical, categorical_log, multinomial, poisson};
pub use gamma::{beta, chi_square, dirichlet, gamma, log_gamma, student_t};
pub use truncated::truncated_normal;
