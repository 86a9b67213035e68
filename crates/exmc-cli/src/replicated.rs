//! A stored run -> the data that were observed, each with what the model draws in its place.

use std::path::Path;

use exmc::{DrawArray, Fit, NewData, Outcomes};
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
        let replication = |s: usize| self.predicted.iter().map(|drawn| drawn[s]).collect();
        Ok(Predictive::new(self.observed.clone(), (0..draws).map(replication).collect())?)
    }
}

/// What a model draws in place of its observations.
#[derive(Default)]
pub(crate) struct Replications {
    pub(crate) all: Vec<Replicated>,
    /// What is said of draws at which nothing can be drawn, which are left out.
    pub(crate) left_out: Option<String>,
}

/// What the model of a run draws in place of the data, where it says how these are made; elements
/// that were not observed are left out. Says why there is nothing.
pub(crate) fn replicated(directory: &Path, run: &StoredRun) -> Replications {
    let place = directory.display();
    match try_replicated(directory, run) {
        Ok(replications) => {
            if let Some(left_out) = &replications.left_out {
                say(&format!("note: predictive checks of `{place}`: {left_out}"));
            }
            replications
        }
        Err(failure) => {
            say(&format!("note: no predictive check of `{place}`: {}", failure.message()));
            Replications::default()
        }
    }
}

/// The same, or why it cannot be.
pub(crate) fn try_replicated(directory: &Path, run: &StoredRun) -> Result<Replications, Failure> {
    let Some(known) = observed_values(directory) else { return Ok(Replications::default()) };
    let chains = run.posterior.usable_chains();
    let draws: usize = chains.iter().map(|chain| chain.infos.len()).sum();
    let numbers = known.values().map(Vec::len).sum::<usize>().saturating_mul(draws);
    if numbers > MAX_NUMBERS {
        let message =
            format!("{numbers} numbers would have to be drawn; `exmc predict` draws them");
        return Err(Failure::new(Exit::Model, message));
    }
    let outcomes = Fit::load(directory)?.predict_outcomes(NewData::None)?;
    let mut made = Replications { all: Vec::new(), left_out: failures(&outcomes, "are left out") };
    for (name, array) in outcomes.arrays.iter() {
        let Some(values) = known.get(name) else { continue };
        let mut is_drawn = vec![true; array.n_chains() * array.n_draws()];
        for failed in &outcomes.failed {
            is_drawn[failed.chain * array.n_draws() + failed.draw] = false;
        }
        made.all.extend(replicated_of(name, values, array, &is_drawn));
    }
    Ok(made)
}

/// How many draws failed, what becomes of them, and why the first of them did.
pub(crate) fn failures(outcomes: &Outcomes, fate: &str) -> Option<String> {
    let first = outcomes.failed.first()?;
    let failed = outcomes.failed.len();
    let array = outcomes.arrays.iter().next();
    let draws = array.map_or(failed, |(_, array)| array.n_chains() * array.n_draws());
    let reason = &first.reason;
    Some(format!("{failed} of {draws} draws {fate}, as nothing can be drawn there: {reason}"))
}

fn replicated_of(
    name: &str,
    values: &[f64],
    array: &DrawArray,
    is_drawn: &[bool],
) -> Option<Replicated> {
    let mut replicated =
        Replicated { name: name.to_owned(), observed: Vec::new(), predicted: Vec::new() };
    if array.element_shape().len() != values.len() {
        return None;
    }
    for (element, value) in values.iter().enumerate() {
        let all = array.at(element).to_vec();
        let drawn = all.into_iter().zip(is_drawn).filter(|(_, is_drawn)| **is_drawn);
        let predicted: Vec<f64> = drawn.map(|(x, _)| x).collect();
        if value.is_finite() && predicted.iter().all(|x| x.is_finite()) {
            replicated.observed.push(*value);
            replicated.predicted.push(predicted);
        }
    }
    (!replicated.observed.is_empty()).then_some(replicated)
}
