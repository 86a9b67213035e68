//! Tools over CSV files of draws.

pub(crate) mod diagnose;
pub(crate) mod summary;
