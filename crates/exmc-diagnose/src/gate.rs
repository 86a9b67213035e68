//! Gates for the tests of samplers: draws and a known truth -> pass, fail, or "could not have seen
//! it".
//!
//! Every gate states two numbers: how often it fails a correct sampler (false alarms), and which
//! error it would have seen (power). A gate that could not have seen the wanted error does not
//! pass: it is inconclusive. The gates are:
//!
//! - [`moment_gate`]: mean and variance of correlated draws against known moments;
//! - [`ks_one_sample`], [`ks_two_sample`] with [`dkw_bound`]: whole distributions of independent
//!   draws;
//! - [`rank_chi_square`], [`EcdfBand`], [`RankGate`]: uniformity of ranks from simulation-based
//!   calibration.

mod ecdf_band;
mod kolmogorov;
mod moment;
mod rank_error;
mod ranks;

pub use ecdf_band::{Crossing, EcdfBand};
pub use kolmogorov::{dkw_bound, dkw_bound_two_sample, ks_one_sample, ks_two_sample};
pub use moment::{KnownMoments, MomentEvidence, MomentGate, Verdict, moment_gate};
pub use rank_error::RankError;
pub use ranks::{ChiSquare, RankEvidence, RankGate, rank_chi_square};
