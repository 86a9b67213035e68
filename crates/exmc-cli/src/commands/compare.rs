//! `exmc compare`: several stored runs of the same data -> which model predicts best, by how much.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use exmc::advanced::text::table;
use exmc_diagnose::{Comparison, Loo, compare, pseudo_bma_plus_weights, pseudo_bma_weights};
use serde_json::{Value, json};

use crate::commands::loo::leave_one_out;
use crate::display::{count, number, put, put_json, rounded};
use crate::failure::{Exit, Failure};
use crate::likelihood::Likelihood;
use crate::outcomes::{Compared, paired};
use crate::report::JSON_VERSION;
use crate::settings::whole_number;

/// Reweightings of the observations for the weights of `pseudo-bma-plus`.
const BOOTSTRAP: usize = 1000;

/// Compare how well the models of several runs predict the same data
///
/// By leave-one-out cross-validation, as `exmc loo`; the best model comes first.
#[derive(Args, Debug)]
pub(crate) struct CompareArgs {
    /// The runs' directories
    #[arg(value_name = "DIR", required = true, num_args = 2..)]
    paths: Vec<PathBuf>,
    /// A recorded variable that holds log likelihoods, or data of which a Stan program's statements
    /// say how likely they are (may be repeated) [default: log_lik, or all data]
    #[arg(long, value_name = "NAME")]
    variable: Vec<String>,
    /// How models are weighted for a mixture of their predictions
    #[arg(long, value_name = "W", value_enum, default_value_t = Weights::Stacking)]
    weights: Weights,
    /// Seed of the weights `pseudo-bma-plus`
    #[arg(long, value_name = "S", default_value_t = 0,
          allow_negative_numbers = true, value_parser = whole_number)]
    seed: u64,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Ways to weight models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Weights {
    /// The mixture that predicts best
    Stacking,
    /// In proportion to the exponential of elpd, taken for exact
    PseudoBma,
    /// The same, averaged over the uncertainty of elpd
    PseudoBmaPlus,
}

pub(crate) fn run(args: &CompareArgs) -> Result<Exit, Failure> {
    let names: Vec<String> = args.paths.iter().map(|p| p.display().to_string()).collect();
    let models = leave_one_out_of_all(&args.paths, &names, &args.variable)?;
    let elpd: Vec<Vec<f64>> =
        models.iter().map(|loo| loo.pointwise.iter().map(|p| p.elpd).collect()).collect();
    let pointwise: Vec<&[f64]> = elpd.iter().map(Vec::as_slice).collect();
    let mut rows = compare(&pointwise)
        .map_err(|error| Failure::new(Exit::Model, format!("cannot compare: {error}")))?;
    let weights = match args.weights {
        Weights::Stacking => None,
        Weights::PseudoBma => {
            Some(pseudo_bma_weights(&models.iter().map(|loo| loo.elpd).collect::<Vec<_>>()))
        }
        Weights::PseudoBmaPlus => Some(pseudo_bma_plus_weights(&pointwise, BOOTSTRAP, args.seed)),
    };
    if let Some(weights) = weights {
        rows.iter_mut().for_each(|row| row.weight = weights[row.model]);
    }
    let notes = notes(&args.paths, &names, &models, &rows);
    if args.json {
        put_json(&to_json(&names, &models, &rows, &notes))?;
    } else {
        put(&to_text(&names, &models, &rows, &notes))?;
    }
    Ok(Exit::Success)
}

/// Leave-one-out of each run, with the observations in the order of the first.
pub(crate) fn leave_one_out_of_all(
    paths: &[PathBuf],
    names: &[String],
    variables: &[String],
) -> Result<Vec<Loo>, Failure> {
    let mut all = Vec::new();
    for (path, name) in paths.iter().zip(names) {
        let likelihood = Likelihood::of_run(path, variables)
            .map_err(|failure| failure.context(&format!("in `{name}`")))?;
        let loo = leave_one_out(&likelihood);
        // What is compared are sums over draws; the draws themselves are no longer needed.
        all.push((likelihood.without_draws(), loo));
    }
    let runs = paths.iter().zip(names).zip(&all);
    let runs: Vec<Compared<'_>> =
        runs.map(|((path, name), (likelihood, _))| Compared { name, path, likelihood }).collect();
    let orders = paired(&runs)?;
    Ok(all.into_iter().zip(orders).map(|((_, loo), order)| loo.in_order(&order)).collect())
}

/// What the table alone does not say.
fn notes(paths: &[PathBuf], names: &[String], models: &[Loo], rows: &[Comparison]) -> Vec<String> {
    let mut notes = Vec::new();
    for row in rows {
        let untrusted = models[row.model].untrusted().len();
        if untrusted > 0 {
            let (name, few) = (&names[row.model], count(untrusted as u64, "observation"));
            let threshold = rounded(models[row.model].k_threshold(), Some(2));
            notes
                .push(format!("`{name}`: Pareto k is above {threshold} for {few}; see `exmc loo`"));
        }
    }
    let n = models[0].pointwise.len();
    let close: Vec<String> = rows
        .iter()
        .skip(1)
        .filter(|row| row.elpd_diff.abs() < 4.0)
        .map(|row| format!("`{}`", names[row.model]))
        .collect();
    if !close.is_empty() {
        let close = close.join(", ");
        notes.push(format!(
            "the difference is below 4 for {close}: such a model predicts as well as the best, and \
             `p_worse` is too sure of itself"
        ));
    } else if n < 100 && rows.len() > 1 {
        notes.push(format!(
            "with {} standard errors of differences, and `p_worse`, are too sure of themselves",
            count(n as u64, "observation")
        ));
    }
    let data: Vec<_> =
        paths.iter().filter_map(|p| std::fs::read(p.join("data.json")).ok()).collect();
    if data.len() == paths.len() && data.windows(2).any(|pair| pair[0] != pair[1]) {
        notes.push(
            "the runs have different data files: the comparison holds only where the observations \
             are the same, in the same order and on the same scale"
                .to_owned(),
        );
    }
    notes
}

fn to_text(names: &[String], models: &[Loo], rows: &[Comparison], notes: &[String]) -> String {
    let cells = |row: &Comparison| {
        let loo = &models[row.model];
        let two = |x: f64| rounded(x, Some(2));
        let p_worse = if row.p_worse.is_nan() { String::new() } else { two(row.p_worse) };
        let mut cells = vec![names[row.model].clone(), two(row.elpd_diff), two(row.se_diff)];
        cells.extend([p_worse, two(row.elpd), two(row.se), two(loo.p_loo), two(row.weight)]);
        cells
    };
    let head = ["model", "elpd_diff", "se_diff", "p_worse", "elpd_loo", "se", "p_loo", "weight"];
    let mut text = table(&head, &rows.iter().map(cells).collect::<Vec<_>>());
    for note in notes {
        text.push_str(&format!("\nnote: {note}\n"));
    }
    text
}

fn to_json(names: &[String], models: &[Loo], rows: &[Comparison], notes: &[String]) -> Value {
    let entry = |row: &Comparison| {
        let loo = &models[row.model];
        json!({
            "directory": names[row.model],
            "elpd_diff": number(row.elpd_diff),
            "se_diff": number(row.se_diff),
            "p_worse": number(row.p_worse),
            "elpd_loo": number(row.elpd),
            "se": number(row.se),
            "p_loo": number(loo.p_loo),
            "weight": number(row.weight),
            "untrusted": loo.untrusted().len(),
        })
    };
    json!({
        "exmc": JSON_VERSION,
        "observations": models[0].pointwise.len(),
        "models": rows.iter().map(entry).collect::<Vec<_>>(),
        "notes": notes,
    })
}
