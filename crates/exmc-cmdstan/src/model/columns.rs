//! Columns of recorded values, in CmdStan's order and under its names.

use exmc::advanced::{BoundModel, variables};
use exmc_draws::{Variable, file_names, file_order};

/// The recorded values of a model: names of columns, and for each its place in a recorded row.
pub(super) struct Columns {
    pub(super) names: Vec<String>,
    pub(super) order: Vec<usize>,
}

impl Columns {
    pub(super) fn of(variables: &[Variable]) -> Self {
        Self { names: file_names(variables), order: file_order(variables) }
    }

    pub(super) fn of_model(model: &BoundModel) -> Self {
        Self::of(&variables(model))
    }

    /// The names behind others.
    pub(super) fn behind(&self, first: &[&str]) -> Vec<String> {
        first.iter().map(|name| (*name).to_owned()).chain(self.names.iter().cloned()).collect()
    }

    /// A recorded row in the order of the columns.
    pub(super) fn values<'r>(&'r self, row: &'r [f64]) -> impl Iterator<Item = f64> + 'r {
        self.order.iter().map(|place| row[*place])
    }
}
