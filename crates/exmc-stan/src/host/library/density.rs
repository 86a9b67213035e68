//! Densities and distribution functions on values: graphs of the one source of formulas, compiled once
//! for each name and shape of arguments.

use super::Call;
use crate::host::error::Fault;
use crate::value::Value;

/// Densities that were compiled so far.
#[derive(Debug, Default)]
pub(crate) struct Densities;

const SUFFIXES: &[&str] = &["_lpdf", "_lpmf", "_lupdf", "_lupmf", "_lcdf", "_lccdf", "_cdf"];

/// Whether a name is that of a density or distribution function.
pub(crate) fn is_density(name: &str) -> bool {
    SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
}

impl Densities {
    /// The function's value.
    pub(crate) fn call(&mut self, c: &Call<'_>) -> Result<Value, Fault> {
        Err(c.missing())
    }
}
