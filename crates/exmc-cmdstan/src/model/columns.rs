//! Columns of recorded values, in CmdStan's order and under its names.

use exmc::advanced::{BoundModel, DrawNumber, Recording, variables};
use exmc::infer::RunPhase;
use exmc_draws::{Variable, file_names, file_order};

use crate::console::say;
use crate::failure::Failure;

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

/// The number of a draw of a method without chains.
pub(super) fn number(index: u64) -> DrawNumber {
    DrawNumber { chain: 0, phase: RunPhase::Sampling, index }
}

/// The values of a position. Where the program rejects it they are NaN, and why is said, behind
/// `prefix`.
///
/// # Errors
/// What ends the whole run.
pub(super) fn record(
    recording: &mut Recording,
    number: DrawNumber,
    position: &[f64],
    row: &mut [f64],
    prefix: &str,
) -> Result<(), Failure> {
    match recording.draw(number, position, row) {
        Ok(()) => Ok(()),
        Err(error) if error.is_fatal() => Err(error.into()),
        Err(error) => {
            say(&format!("{prefix}Exception: {error}"));
            row.fill(f64::NAN);
            Ok(())
        }
    }
}
