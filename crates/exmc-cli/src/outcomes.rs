//! Log likelihoods of several runs -> the same observations in the same order, or why not.
//!
//! Observations have names only within a program, so two runs' are the same where what was observed
//! is: the values that the data have, or those in a JSON model. Where nobody can tell them (a
//! program of mixtures that records `log_lik`), order has to do.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use exmc::StanProgram;
use exmc::advanced::models::DataSet;
use exmc::runs::Variable;
use exmc_graph::{Tensor, evaluate};
use exmc_model::{Kind, Model};
use serde_json::Value;

use crate::display::count;
use crate::failure::{Exit, Failure};
use crate::likelihood::Likelihood;
use crate::source::{Front, SourceArgs, read_text};

const HINT: &str = "only models of the same observations, on the same scale, can be compared";

/// A run with its log likelihoods.
pub(crate) struct Compared<'a> {
    pub(crate) name: &'a str,
    pub(crate) path: &'a Path,
    pub(crate) likelihood: &'a Likelihood,
}

/// For each run, its observations in the order of those of the first run.
///
/// # Errors
/// When the runs have different numbers of observations, or something else was observed.
pub(crate) fn paired(runs: &[Compared<'_>]) -> Result<Vec<Vec<usize>>, Failure> {
    let n = runs.first().map_or(0, |run| run.likelihood.names.len());
    if runs.iter().any(|run| run.likelihood.names.len() != n) {
        let counts: Vec<String> = runs
            .iter()
            .map(|run| {
                let observations = run.likelihood.names.len() as u64;
                format!("`{}` has {}", run.name, count(observations, "observation"))
            })
            .collect();
        let message = format!("the models are not of the same data: {}", counts.join(", "));
        return Err(Failure::new(Exit::Model, message).hint(HINT));
    }
    let observed: Vec<_> = runs.iter().map(outcomes).collect();
    let mut orders = Vec::new();
    for (run, run_outcomes) in runs.iter().zip(&observed) {
        let order = order(&runs[0].likelihood.names, &run.likelihood.names);
        if let (Some(first), Some(run_outcomes)) = (&observed[0], run_outcomes) {
            same((&runs[0], first), (run, run_outcomes), &order)?;
        }
        orders.push(order);
    }
    Ok(orders)
}

/// Where the observations of these names are among others: by name where both have the same ones,
/// else one after the other.
fn order(names: &[String], others: &[String]) -> Vec<usize> {
    let places: BTreeMap<&String, usize> = others.iter().zip(0..).collect();
    let by_name: Option<Vec<usize>> = names.iter().map(|name| places.get(name).copied()).collect();
    match by_name {
        Some(order) if places.len() == names.len() => order,
        _ => (0..names.len()).collect(),
    }
}

/// Whether the same was observed.
fn same(
    (run, run_outcomes): (&Compared<'_>, &[Outcome]),
    (other, others): (&Compared<'_>, &[Outcome]),
    order: &[usize],
) -> Result<(), Failure> {
    let differ = |&(i, &k): &(usize, &usize)| !run_outcomes[i].is(&others[k]);
    let mut different = order.iter().enumerate().filter(differ);
    let Some((i, &k)) = different.next() else { return Ok(()) };
    let more = match different.count() as u64 {
        0 => String::new(),
        left => format!("; {} more", count(left, "difference")),
    };
    let message = format!(
        "the models are not of the same data: {} is {} in `{}`, {} is {} in `{}`{more}",
        run.likelihood.names[i],
        run_outcomes[i],
        run.name,
        other.likelihood.names[k],
        others[k],
        other.name,
    );
    Err(Failure::new(Exit::Model, message).hint(HINT))
}

/// What was observed once: a number, or those of an event of several.
struct Outcome(Vec<f64>);

impl Outcome {
    /// Whether it is the other, missing numbers included.
    fn is(&self, other: &Self) -> bool {
        let same = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(same)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(f64::to_string).collect();
        match numbers.as_slice() {
            [one] => f.write_str(one),
            all => write!(f, "[{}]", all.join(", ")),
        }
    }
}

/// What each observation of a run was; nothing where that cannot be told.
fn outcomes(run: &Compared<'_>) -> Option<Vec<Outcome>> {
    let Likelihood { names, places, .. } = run.likelihood;
    let Some(program) = program_of(run.path) else {
        let source = SourceArgs::of_run(run.path).read().ok()?;
        let Front::Json { model, data } = &source.front else { return None };
        let known = of_model(model, data)?;
        return names.iter().map(|name| known.get(name).map(|x| Outcome(vec![*x]))).collect();
    };
    let data: Value = serde_json::from_str(&read_text(&run.path.join("data.json")).ok()?).ok()?;
    if !places.is_empty() {
        return places
            .iter()
            .map(|(variable, index)| element(data.get(variable)?, index))
            .collect();
    }
    // Recorded by the program: an element of the data that its statements are on, if there are as
    // many.
    let mut all = Vec::new();
    for name in program.observed_data()? {
        numbers(data.get(&name)?, &mut all)?;
    }
    (all.len() == names.len()).then(|| all.into_iter().map(|x| Outcome(vec![x])).collect())
}

/// The Stan program of a run, if it is one's.
pub(crate) fn program_of(directory: &Path) -> Option<StanProgram> {
    let text = read_text(&directory.join("model.stan")).ok()?;
    StanProgram::from_text("model.stan", &text).ok()
}

/// An element of data, of indices that count from 1.
fn element(mut value: &Value, index: &[usize]) -> Option<Outcome> {
    for i in index {
        value = value.get(i.checked_sub(1)?)?;
    }
    let mut all = Vec::new();
    numbers(value, &mut all)?;
    Some(Outcome(all))
}

/// All numbers of nested lists, row by row.
fn numbers(value: &Value, into: &mut Vec<f64>) -> Option<()> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|item| numbers(item, into)),
        other => other.as_f64().map(|x| into.push(x)),
    }
}

/// By name, the values that a model observes; nothing where one is a parameter's image.
fn of_model(model: &Model, data: &DataSet) -> Option<BTreeMap<String, f64>> {
    let mut known = BTreeMap::new();
    for (name, value) in tensors_of_model(model, data)? {
        let shape = value.shape().extents().to_vec();
        let names = Variable { name, shape, dims: Vec::new(), offset: 0, first_index: 0 };
        known.extend(names.column_names().into_iter().zip(value.values().iter().copied()));
    }
    Some(known)
}

fn tensors_of_model(model: &Model, data: &DataSet) -> Option<BTreeMap<String, Tensor>> {
    let data = data.bind(model).ok()?;
    let mut known = BTreeMap::new();
    for node in model.nodes().values() {
        let Kind::Obs(observed) = &node.kind else { continue };
        let value = evaluate(model.graph(), &[observed.value], &|name| data.get(name).cloned());
        known.insert(observed.target.clone(), value.ok()?.pop()?);
    }
    Some(known)
}

/// The numbers of each variable that a run's model observes, row by row: NaN where one is missing
/// or masked. Nothing where they cannot be told.
pub(crate) fn observed_values(directory: &Path) -> Option<BTreeMap<String, Vec<f64>>> {
    let Some(program) = program_of(directory) else {
        let source = SourceArgs::of_run(directory).read().ok()?;
        let Front::Json { model, data } = &source.front else { return None };
        return values_of_model(model, data);
    };
    let data: Value = serde_json::from_str(&read_text(&directory.join("data.json")).ok()?).ok()?;
    let values_of = |name: String| {
        let mut all = Vec::new();
        numbers(data.get(&name)?, &mut all)?;
        Some((name, all))
    };
    program.observed_data()?.into_iter().map(values_of).collect()
}

/// The same of a JSON model, without what was censored.
fn values_of_model(model: &Model, data: &DataSet) -> Option<BTreeMap<String, Vec<f64>>> {
    let tensors = tensors_of_model(model, data)?;
    let data = data.bind(model).ok()?;
    let mut known = BTreeMap::new();
    for node in model.nodes().values() {
        let Kind::Obs(observed) = &node.kind else { continue };
        if !observed.likelihood || observed.censoring.is_some() {
            continue;
        }
        let mut values = tensors.get(&observed.target)?.values().to_vec();
        for &place in &observed.missing {
            *values.get_mut(place)? = f64::NAN;
        }
        if let Some(mask) = observed.mask {
            let mask = evaluate(model.graph(), &[mask], &|name| data.get(name).cloned());
            let mask = mask.ok()?.pop()?;
            let counts = mask.values().iter().cycle().map(|counts| *counts != 0.0);
            values
                .iter_mut()
                .zip(counts)
                .filter(|(_, counts)| !counts)
                .for_each(|(x, _)| *x = f64::NAN);
        }
        known.insert(observed.target.clone(), values);
    }
    Some(known)
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn observations_are_paired_by_name_where_both_runs_have_the_names() {
        let names = |all: &[&str]| all.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(order(&names(&["a", "b", "c"]), &names(&["c", "a", "b"])), [1, 2, 0]);
        assert_eq!(order(&names(&["y[1]", "y[2]"]), &names(&["log_lik[1]", "log_lik[2]"])), [0, 1]);
        assert_eq!(order(&names(&["a", "b"]), &names(&["b", "b"])), [0, 1]);
    }
}
