//! Special functions, small dense kernels and random streams (internal, unstable; users go through
//! `exmc`).
//!
//! Everything here is a pure function of its arguments and gives the same bits on every platform:
//! elementary functions come from one vendored source (`libm`), sums have one fixed order, and the
//! samplers in [`random`] are frozen code over a counter-based generator.
#![deny(unsafe_code)]

mod bessel;
pub mod complex;
mod double_double;
pub mod eigen;
mod elementary;
mod error_function;
mod gamma;
mod incomplete_beta;
mod incomplete_gamma;
pub mod interruption;
mod lambert;
pub mod linear;
mod log_sum;
mod logistic;
mod ode;
mod owens_t;
mod polygamma;
mod quantile;
mod quantile_start;
pub mod random;
pub mod simd;

pub use bessel::{bessel_i1_i0_ratio, bessel_j, bessel_y, log_bessel_i0, log_bessel_i1};
pub use elementary::{
    acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, cos, cosh, exp, exp2, expm1, fmod, hypot,
    log, log1p, log2, log10, pow, sin, sinh, tan, tanh,
};
pub use error_function::{
    erf, erfc, erfcx, inverse_mills, log_std_normal_cdf, std_normal_cdf, std_normal_pdf,
    std_normal_quantile, std_normal_quantile_log,
};
pub use gamma::{gamma, gamma_sign, lbeta, lchoose, lgamma, lgamma1p};
pub use incomplete_beta::{
    beta_inc, beta_inc_da, beta_inc_db, beta_inc_dx, beta_inc_upper, log_beta_inc,
    log_beta_inc_slopes, log_beta_inc_upper, log_student_t_cdf, student_t_cdf,
};
pub use incomplete_gamma::{
    gamma_p, gamma_p_da, gamma_p_dx, gamma_q, log_gamma_p, log_gamma_p_da, log_gamma_q,
    log_gamma_q_da,
};
pub use lambert::{lambert_w0, lambert_wm1};
pub use log_sum::{log_add_exp, log_add_exp_share, log_diff_exp, log_mix, log_sum_exp};
pub use logistic::{
    inv_logit, log_inv_logit, log1m, log1m_exp, log1m_inv_logit, log1p_exp, logit, softplus,
    softplus_inverse,
};
pub use ode::{
    DaeSystem, OdeControl, OdeFailure, OdeMethod, OdeSystem, OdeWorkspace, RootControl, find_root,
    solve_dae, solve_ode,
};
pub use owens_t::owens_t;
pub use polygamma::{digamma, digamma_rise, polygamma, trigamma};
pub use quantile::{beta_inc_inverse, gamma_p_inverse, gamma_q_inverse, student_t_quantile};
