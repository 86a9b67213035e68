//! Numbers that figures show and `exmc-diagnose` has not: draws -> ranks, bins.

mod histogram;
mod interval;
mod isotonic;
mod rank_band;
mod ranks;

pub use histogram::{Histogram, count_table, histogram};
pub use interval::Interval;
pub use isotonic::isotonic;
pub use rank_band::{RankBand, rank_band};
pub use ranks::{pooled_ranks, rank_counts};
