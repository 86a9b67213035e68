//! Diagnostics of draws (internal, unstable; users go through `exmc`): chains of numbers -> how far
//! to trust them.
//!
//! Pure functions over [`Draws`], a view of equally long chains: rank-normalised R-hat, effective
//! sample sizes, Monte Carlo standard errors, E-BFMI, and [`Summary`], which shares the work
//! between them. [`RunDiagnostics`] and [`warnings`] turn the numbers into plain sentences.
//! [`gate`] holds the statistical tests that the samplers' own test suites use.
//!
//! Values follow ArviZ 0.23 (Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021, *Bayesian Analysis*
//! 16(2), arXiv 1903.08008), to 1e-10 on the cases stored under `tests/data`, with these rules at
//! the edges:
//!
//! | draws | value |
//! |---|---|
//! | fewer than 4 draws a chain | NaN |
//! | any NaN or infinity | NaN (ArviZ looks for NaN only) |
//! | all draws equal | NaN for R-hat, ESS, MCSE (ArviZ: ESS = number of draws) |
//! | a quantile's indicator is constant although the draws are not | ESS of that quantile = number of draws, as ArviZ |
//! | each chain constant, chains different | R-hat = +inf |
//! | one chain | R-hat of its two halves, as Stan and R `posterior` (ArviZ: NaN) |
//!
//! Results do not depend on the platform: sums have one fixed order and elementary functions come
//! from one source; the one exception is the transform behind very slowly mixing chains, whose
//! rounding (about 1e-15) depends on the platform's sine.
#![forbid(unsafe_code)]

pub mod gate;

mod autocorrelation;
mod beta_quantile;
mod draws;
mod energy;
mod ess;
mod gaussian_ranks;
mod mcse;
mod moments;
mod quantile;
mod report;
mod rhat;
mod sample;
mod split;
mod summary;

pub use autocorrelation::autocorrelation;
pub use draws::{Draws, DrawsError};
pub use energy::e_bfmi;
pub use ess::{ess_bulk, ess_mean, ess_quantile, ess_sd, ess_tail};
pub use mcse::{mcse_mean, mcse_quantile, mcse_sd};
pub use moments::{mean, sd, variance};
pub use quantile::{quantile, quantile_of_sorted};
pub use report::{ChainStatistics, RunDiagnostics, Thresholds, Warning, WarningKind, warnings};
pub use rhat::{folded_rhat, rank_rhat, split_rhat};
pub use summary::{Summariser, Summary};
