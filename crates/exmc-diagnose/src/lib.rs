//! Diagnostics of draws (internal, unstable; users go through `exmc`): chains of numbers -> how far
//! to trust them.
//!
//! Pure functions over [`Draws`], a view of equally long chains, one statistic a file:
//!
//! - *convergence*: R-hat in every form, effective sample sizes, Monte Carlo standard errors,
//!   E-BFMI; [`Summary`] shares the work between them, [`RunDiagnostics`] and [`warnings`] turn the
//!   numbers into plain sentences;
//! - *description*: intervals ([`hdi`], [`hdi_modes`]), densities, robust summaries;
//! - *importance sampling*: [`psis`] and its diagnostic;
//! - *prediction*: [`LooBuilder`] (one observation at a time), [`MomentMatching`], [`kfold()`],
//!   [`waic()`], [`compare()`], [`stacking_weights`], [`loo_pit()`], [`WeightedDraws`];
//! - *checks*: [`PowerScaling`], [`posterior_predictive_p`], [`bayesian_r_squared`], [`sbc_rank`];
//! - [`gate`]: the statistical tests that the samplers' own test suites use.
//!
//! Values follow ArviZ 1.3 (Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021, *Bayesian Analysis*
//! 16(2), arXiv 1903.08008), to 1e-10 on the cases stored under `tests/data`, with these rules at
//! the edges of R-hat, ESS and MCSE:
//!
//! | draws | value |
//! |---|---|
//! | fewer than 4 draws a chain | NaN |
//! | any NaN or infinity | NaN (ArviZ looks for NaN only) |
//! | all draws equal | NaN for R-hat, ESS, MCSE (ArviZ: ESS = number of draws) |
//! | a quantile's indicator is constant although the draws are not | ESS of that quantile = number of draws, as ArviZ |
//! | each chain constant, chains different | R-hat = +inf |
//! | one chain | R-hat of its two halves, as Stan and R `posterior` (ArviZ: NaN); [`plain_rhat`] and [`nested_rhat`]: NaN |
//!
//! and these of importance sampling and what is built on it:
//!
//! | log ratios, or log likelihoods | value |
//! |---|---|
//! | fewer than 21 draws | weights unsmoothed, $\hat k$ = +inf |
//! | all equal | equal weights, $\hat k$ = -inf: there is no tail (ArviZ: an error) |
//! | those of the tail equal | weights unsmoothed, $\hat k$ = +inf (ArviZ: an error) |
//! | a quarter of the tail equal | weights unsmoothed, $\hat k$ = NaN, as ArviZ |
//! | a ratio NaN or +inf | weights NaN, $\hat k$ = +inf |
//! | a likelihood of 0 in a draw | elpd = -inf, $\hat k$ = +inf |
//! | a likelihood NaN in a draw | elpd = NaN, $\hat k$ = +inf |
//!
//! Where ArviZ 1.3 and the papers differ, the papers' rule is taken: the tail of [`psis`] has
//! $\lceil\cdot\rceil$ ratios and not $\lfloor\cdot\rfloor$ (as ArviZ 0.23 and R `loo`;
//! [`psis_of_tail`] takes any number); [`compare()`] has the divisor $n - 1$ in the error of a
//! difference; [`mode`] halves the sample as Bickel and Frühwirth do; [`MomentMatching`] inverts
//! its map.
//!
//! Results do not depend on the platform: sums have one fixed order and elementary functions come
//! from one source; the one exception is the transform behind very slowly mixing chains, whose
//! rounding (about 1e-15) depends on the platform's sine.
#![forbid(unsafe_code)]

pub mod gate;

mod autocorrelation;
mod bandwidth;
mod beta_quantile;
mod compare;
mod draws;
mod energy;
mod ess;
mod ess_evolution;
mod expectation;
mod gaussian_ranks;
mod hdi_modes;
mod interval;
mod kde;
mod kfold;
mod loo;
mod loo_pit;
mod mcse;
mod moment_match;
mod moments;
mod nested_rhat;
mod p_value;
mod pareto_fit;
mod pareto_khat;
mod place;
mod power_scale;
mod psis;
mod quantile;
mod r_squared;
mod report;
mod rhat;
mod robust;
mod root;
mod sample;
mod sbc;
mod split;
mod stacking;
mod summary;
mod waic;

pub use autocorrelation::autocorrelation;
pub use bandwidth::Bandwidth;
pub use compare::{CompareError, Comparison, compare};
pub use draws::{Draws, DrawsError};
pub use energy::e_bfmi;
pub use ess::{
    ess_bulk, ess_folded, ess_local, ess_mad, ess_mean, ess_median, ess_plain, ess_quantile,
    ess_sd, ess_tail,
};
pub use ess_evolution::ess_evolution;
pub use expectation::WeightedDraws;
pub use hdi_modes::{HdiMode, hdi_modes, hdi_modes_discrete};
pub use interval::{Interval, equal_tailed_interval, equal_tailed_of_sorted, hdi, hdi_of_sorted};
pub use kde::{KernelDensity, kernel_density};
pub use kfold::{
    FoldError, Kfold, grouped_folds, kfold, random_folds, refit_untrusted, stratified_folds,
};
pub use loo::{Loo, LooBuilder, PointwiseLoo, group_log_likelihood, relative_efficiency};
pub use loo_pit::loo_pit;
pub use mcse::{mcse_mean, mcse_median, mcse_quantile, mcse_sd};
pub use moment_match::{MomentMatched, MomentMatching, UnconstrainedDraws};
pub use moments::{mean, sd, variance};
pub use nested_rhat::nested_rhat;
pub use p_value::{posterior_predictive_mid_p, posterior_predictive_p};
pub use pareto_fit::ParetoFit;
pub use pareto_khat::{pareto_khat, pareto_min_sample_size};
pub use place::{FlaggedPlace, chains_apart, flagged_place};
pub use power_scale::{
    PowerScaling, SensitivityVerdict, cjs_distance, power_scale_weights, sensitivity_verdict,
};
pub use psis::{PsisWeights, k_threshold, psis, psis_of_tail, tail_length};
pub use quantile::{quantile, quantile_of_sorted};
pub use r_squared::{bayesian_r_squared, residual_r_squared};
pub use report::{ChainStatistics, RunDiagnostics, Thresholds, Warning, WarningKind, warnings};
pub use rhat::{bulk_rhat, folded_rhat, plain_rhat, rank_rhat, split_rhat};
pub use robust::{interquartile_range, median_absolute_deviation, mode};
pub use sbc::{EcdfDifference, sbc_rank, thinning};
pub use stacking::{mixture_score, pseudo_bma_plus_weights, pseudo_bma_weights, stacking_weights};
pub use summary::{Summariser, Summary};
pub use waic::{Waic, waic};
