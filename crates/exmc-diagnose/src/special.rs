//! Inverse normal, incomplete beta and incomplete gamma functions, as far as the diagnostics need them.

mod beta;
mod gamma;
mod normal;

pub(crate) use beta::beta_quantile;
pub(crate) use gamma::gamma_q;
pub(crate) use normal::normal_quantile;
