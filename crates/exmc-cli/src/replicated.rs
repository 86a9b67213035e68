//! A stored run -> the data that were observed, each with what the model draws in its place.

use std::path::Path;

use exmc::{DrawArray, Fit};
use exmc_draws::StoredRun;
use exmc_plot::figures::Predictive;

use crate::display::say;
use crate::failure::{Exit, Failure};
use crate::outcomes::observed_values;

/// Numbers of all replications that are held at once.
const MAX_NUMBERS: usize = 10_000_000;

/// Observations of one variable.
pub(crate) struct Replicated {
    pub(crate) name: String,
    pub(crate) observed: Vec<f64>,
    /// For each observation, what was drawn for it, chain after chain.
    pub(crate) predicted: Vec<Vec<f64>>,
}

impl Replicated {
    /// As data set and replications.
    pub(crate) fn check(&self) -> Result<Predictive, Failure> {
        let draws = self.predicted.first().map_or(0, Vec::len);
        let replication = |s: usize| self.predicted.iter().map(|own| own[s]).collect();
        Ok(Predictive::new(self.observed.clone(), (0..draws).map(replication).collect())?)
    }
}

/// What the model of a run draws in place of the data, where it says how these are made; elements
/// that were not observed are left out. Says why there is nothing.
pub(crate) fn replicated(directory: &Path, run: &StoredRun) -> Vec<Replicated> {
    match try_replicated(directory, run) {
        Ok(all) => all,
        Err(failure) => {
            let (place, message) = (directory.display(), failure.message());
            say(&format!("note: no predictive check of `{place}`: {message}"));
            Vec::new()
        }
    }
}

/// The same, or why it cannot be.
pub(crate) fn try_replicated(
    directory: &Path,
    run: &StoredRun,
) -> Result<Vec<Replicated>, Failure> {
    let Some(known) = observed_values(directory) else { return Ok(Vec::new()) };
    let chains = run.posterior.usable_chains();
    let draws: usize = chains.iter().map(|chain| chain.infos.len()).sum();
    let numbers = known.values().map(Vec::len).sum::<usize>().saturating_mul(draws);
    if numbers > MAX_NUMBERS {
        let message =
            format!("{numbers} numbers would have to be drawn; `exmc predict` draws them");
        return Err(Failure::new(Exit::Model, message));
    }
    let arrays = Fit::load(directory)?.posterior_predictive()?;
    let mut all = Vec::new();
    for (name, array) in arrays.iter() {
        let Some(values) = known.get(name) else { continue };
        all.extend(of(name, values, array));
    }
    Ok(all)
}

fn of(name: &str, values: &[f64], array: &DrawArray) -> Option<Replicated> {
    let mut own = Replicated { name: name.to_owned(), observed: Vec::new(), predicted: Vec::new() };
    if array.element_shape().len() != values.len() {
        return None;
    }
    for (element, value) in values.iter().enumerate() {
        let predicted = array.at(element).to_vec();
        if value.is_finite() && predicted.iter().all(|x| x.is_finite()) {
            own.observed.push(*value);
            own.predicted.push(predicted);
        }
    }
    (!own.observed.is_empty()).then_some(own)
}
