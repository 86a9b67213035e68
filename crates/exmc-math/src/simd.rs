//! Mathematics on eight lanes at a time: the instructions are chosen at run time, the bits are the
//! same everywhere.
//!
//! Three ways in: functions on slices ([`exp`], [`log`], ..., [`sum`], [`log_sum_exp`]); the same
//! functions on one vector in [`vector`], for kernels that fuse several; and the [`Simd`] trait
//! beneath, whose token a [`Kernel`] or a [`Routine`] gets from a [`Level`]. All of it is safe to
//! call, from other crates too.
//!
//! **One source.** There are always eight logical lanes: one register of AVX-512, two of AVX2 with
//! FMA, four of NEON, or an array. Every function is written once over [`Simd`], whose operations
//! are exactly rounded, so levels agree to the bit (the sign and payload of NaN apart); tests run
//! all levels of a machine against each other. No function branches on its lanes' values in a way
//! that could change a bit: where all lanes are ordinary some work is left out.
//!
//! **Accuracy.** Largest errors met at 2.6 to 4 million points a function, half uniform over the
//! interesting interval, half with uniform exponents, edges included, against a double-double
//! oracle that agrees with mpmath to 1e-10 ulp, for log beta to 1e-3 (`tests/simd_accuracy`;
//! `EXMC_ORACLE_POINTS=4000000`):
//!
//! | function | ulp | function | ulp | function | ulp |
//! |---|---|---|---|---|---|
//! | exp | 0.83 | tanh | 2.49 | lgamma | 2.63 |
//! | log | 0.72 | sigmoid | 2.15 | digamma | 2.94 |
//! | log1p | 0.77 | softplus | 1.46 | sin | 1.55 |
//! | expm1 | 1.77 | erf | 1.11 | cos | 1.54 |
//! | pow | 0.91 | erfc | 2.95 | sqrt, reciprocal | 0.50 |
//!
//! The others at 0.5 to 1 million points:
//!
//! | function | ulp | function | ulp | function | ulp |
//! |---|---|---|---|---|---|
//! | tan | 2.12 | log1m_exp | 1.02 | log_std_normal_cdf | 2.81 |
//! | asin | 0.63 | trigamma | 1.82 | std_normal_quantile | 3.64 |
//! | acos | 0.60 | tetragamma | 2.59 | log_bessel_i0 | 2.84 |
//! | atan, atan2 | 0.62 | sinh | 1.54 | bessel_i1_i0_ratio | 3.69 |
//! | floor, ceil, round | 0 | cosh | 1.25 | | |
//!
//! and in ulp of the largest term, where the terms of a sum may cancel: log_add_exp 1.30, its share
//! 0.75 (of one), log_diff_exp 1.50 (ulp of the larger argument or of one), lbeta 2.22 (ulp of the
//! result or of one); digamma_rise DIGRISE ulp.
//!
//! The tests hold exp, log and log1p to 1 ulp, arcs to 2, the others to 4. Angles beyond 2^30,
//! gamma functions of numbers that are not positive, log beta beyond 1e-140 to 1e290, points beyond
//! 1e-120 to 1e120, and powers of numbers that are not positive take the scalar functions of this
//! crate, lane by lane.
//!
//! **Edges** are IEEE 754's and C99's annex F's: signed zeros pass, poles give infinities,
//! arguments outside the domain NaN; subnormal numbers are ordinary arguments and results.
//!
//! ```
//! use exmc_math::simd::{self, Level};
//!
//! let level = Level::detect();
//! let mut y = [0.0; 3];
//! simd::exp(level, &[0.0, 1.0, -800.0], &mut y);
//! assert_eq!(y, [1.0, std::f64::consts::E, 0.0]);
//! ```

mod arc;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod bessel;
mod beta;
mod coefficients;
mod error_function;
mod exponential;
mod gamma;
mod hyperbolic;
mod lanes;
mod level;
mod line;
mod log_sum;
mod logarithm;
#[cfg(target_arch = "aarch64")]
mod neon;
mod normal;
mod polygamma;
mod portable;
mod power;
pub mod record;
mod reduce;
mod rounding;
pub mod single;
mod slices;
mod special_coefficients;
mod trigonometric;
mod twice;

pub use lanes::{POWER_SHIFT, Simd};
pub use level::{Address, Kernel, Level, Routine};
pub use line::{LANES, Line};
pub use reduce::{LogProduct, dot, log_sum_exp, max, sum, sum_log};
pub use slices::{
    acos, asin, atan, atan2, bessel_i1_i0_ratio, ceil, cos, cosh, digamma, digamma_rise, erf, erfc,
    exp, expm1, floor, lbeta, lgamma, lgamma_digamma, log, log_add_exp, log_add_exp_share,
    log_bessel_i0, log_diff_exp, log_std_normal_cdf, log1m_exp, log1p, pow, reciprocal, round,
    sigmoid, sigmoid_softplus, sin, sin_cos, sinh, softplus, sqrt, std_normal_quantile, tan, tanh,
    tetragamma, trigamma,
};
pub use twice::Twice;

/// The functions on one vector of eight lanes, for kernels that fuse several.
pub mod vector {
    pub use super::arc::{acos, asin, atan, atan2};
    pub use super::bessel::{bessel_i1_i0_ratio, log_bessel_i0};
    pub use super::beta::lbeta;
    pub use super::error_function::{erf, erfc};
    pub use super::exponential::{
        ORDINARY, exp, exp_minus_abs, exp_of_ordinary, exp_parts, expm1, sigmoid, sigmoid_exp,
        sigmoid_softplus, softplus, tanh,
    };
    pub use super::gamma::{digamma, digamma_rise, lgamma, lgamma_digamma};
    pub use super::hyperbolic::{cosh, sinh};
    pub use super::log_sum::{
        Addends, addends, log_add_exp, log_add_exp_share, log_add_exp_shares, log_diff_exp,
        log1m_exp,
    };
    pub use super::logarithm::{log, log_of_normal, log1p};
    pub use super::normal::{log_std_normal_cdf, std_normal_quantile};
    pub use super::polygamma::{tetragamma, trigamma};
    pub use super::power::pow;
    pub use super::rounding::{ceil, floor, round};
    pub use super::trigonometric::{cos, sin, sin_cos, tan};
}
