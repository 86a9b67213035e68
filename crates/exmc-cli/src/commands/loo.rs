//! `exmc loo`: a stored run -> leave-one-out cross-validation of its model.

use std::path::{Path, PathBuf};

use clap::Args;
use exmc::density::{DensityModel, LogDensity};
use exmc_diagnose::{Loo, LooBuilder, MomentMatching, PointwiseLoo, UnconstrainedDraws};
use serde_json::{Value, json};

use crate::display::{count, number, put, put_json, rounded, say};
use crate::failure::{Exit, Failure};
use crate::likelihood::Likelihood;
use crate::report::JSON_VERSION;
use crate::source::read_text;
use crate::table::table;

/// Observations that are shown, those with the largest k first.
const SHOWN: usize = 10;

/// Estimate how well a run's model predicts observations that it has not seen
///
/// Leave-one-out cross-validation by Pareto smoothed importance sampling. Log likelihoods of single
/// observations are those that a Stan program records as `log_lik` in its generated quantities; of
/// a JSON model they are computed.
#[derive(Args, Debug)]
pub(crate) struct LooArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    path: PathBuf,
    /// A recorded variable that holds log likelihoods (may be repeated) [default: log_lik]
    #[arg(long, value_name = "NAME")]
    variable: Vec<String>,
    /// Leave out all observations of a group at once: an array of the data with a value for each
    /// observation, equal within a group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Move the draws for observations whose Pareto k is too large (JSON models)
    #[arg(long, conflicts_with = "group")]
    moment_match: bool,
    /// Show every observation
    #[arg(long)]
    pointwise: bool,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// End with exit code 3 when a Pareto k is too large
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &LooArgs) -> Result<Exit, Failure> {
    let mut likelihood = Likelihood::of_run(&args.path, &args.variable)?;
    if let Some(name) = &args.group {
        let groups = groups(&args.path, name, likelihood.rows.len())?;
        likelihood = likelihood.grouped(name, &groups);
    }
    let mut loo = leave_one_out(&likelihood);
    let mut moved = 0;
    if args.moment_match {
        (loo, moved) = moment_match(&likelihood, loo)?;
    }
    let untrusted = loo.untrusted();
    if args.json {
        put_json(&to_json(args, &likelihood, &loo, moved))?;
    } else {
        put(&to_text(args, &likelihood, &loo))?;
    }
    if !args.json && moved > 0 {
        say(&format!("note: the draws were moved for {}", count(moved as u64, "observation")));
    }
    Ok(if args.check && !untrusted.is_empty() { Exit::Diagnostics } else { Exit::Success })
}

/// Leave-one-out of all observations.
pub(crate) fn leave_one_out(likelihood: &Likelihood) -> Loo {
    let mut builder = LooBuilder::new();
    for (observation, row) in likelihood.rows.iter().enumerate() {
        builder.push(row, likelihood.relative_efficiency(observation));
    }
    builder.finish()
}

/// The same with moved draws where k is too large, and for how many observations that helped.
fn moment_match(likelihood: &Likelihood, loo: Loo) -> Result<(Loo, usize), Failure> {
    let untrusted = loo.untrusted();
    let Some(model) = &likelihood.model else {
        let message = "the log likelihoods were recorded, so they are not known elsewhere";
        let hint = "moment matching needs a JSON model; else refit without the observations";
        return Err(Failure::new(Exit::Usage, message).hint(hint));
    };
    let (positions, log_density) = (model.flat_positions(), model.log_density());
    let draws = UnconstrainedDraws { positions: &positions, log_density: &log_density };
    let mut density = model.bound.instance();
    let mut gradient = vec![0.0; model.bound.dim()];
    let mut pointwise = model.bound.pointwise_instance()?;
    let mut values = vec![0.0; model.bound.pointwise_width()];
    // Names of all elements: masked ones are no observations.
    let places = places(likelihood, model);
    let (n_draws, mut parts) = (loo.n_draws, loo.pointwise);
    let mut moved = 0;
    for i in untrusted {
        let efficiency = likelihood.relative_efficiency(i);
        let matched = MomentMatching::default().leave_out(
            draws,
            efficiency,
            |p| density.logp_grad(p, &mut gradient).unwrap_or(f64::NAN),
            |p| match pointwise.evaluate(p, &mut values) {
                Ok(()) => values[places[i]],
                Err(_) => f64::NAN,
            },
        );
        moved += usize::from(matched.steps > 0);
        parts[i] = matched.left_out;
    }
    Ok((Loo::of(parts, n_draws), moved))
}

/// The place of each observation among all elements of the model's observed variables.
fn places(likelihood: &Likelihood, model: &crate::likelihood::RunModel) -> Vec<usize> {
    let all = model.element_names();
    let mut from = 0;
    likelihood
        .names
        .iter()
        .map(|name| {
            let at = from + all[from..].iter().position(|n| n == name).unwrap_or(0);
            from = at + 1;
            at
        })
        .collect()
}

/// The group of each observation: an array of the run's data.
fn groups(path: &Path, name: &str, n: usize) -> Result<Vec<String>, Failure> {
    let file = path.join("data.json");
    let text = read_text(&file)?;
    let data: Value = serde_json::from_str(&text)
        .map_err(|e| Failure::new(Exit::Model, e.to_string()).in_file(&file))?;
    let Some(values) = data.get(name).and_then(Value::as_array) else {
        let arrays = data.as_object().into_iter().flatten().filter(|(_, v)| v.is_array());
        let names: Vec<_> = arrays.map(|(name, _)| format!("`{name}`")).collect();
        let hint = format!("its arrays are {}", names.join(", "));
        let message = format!("the run's data have no array `{name}`");
        return Err(Failure::new(Exit::Usage, message).hint(hint));
    };
    if values.len() != n {
        let message =
            format!("`{name}` has {} values, but there are {n} observations", values.len());
        return Err(Failure::new(Exit::Usage, message));
    }
    Ok(values.iter().map(ToString::to_string).collect())
}

/// A sentence on observations whose k is too large.
fn warning(likelihood: &Likelihood, loo: &Loo) -> Option<(String, &'static str)> {
    let untrusted = loo.untrusted();
    let worst = untrusted.iter().copied().reduce(|a, b| {
        let k = |i: usize| loo.pointwise[i].pareto_k;
        if k(b) > k(a) || k(b).is_nan() { b } else { a }
    })?;
    let message = format!(
        "Pareto k is above {} for {} of {} (worst: {}, k {})",
        rounded(loo.k_threshold(), Some(2)),
        untrusted.len(),
        count(loo.pointwise.len() as u64, "observation"),
        likelihood.names[worst],
        rounded(loo.pointwise[worst].pareto_k, Some(2)),
    );
    let hint = "the estimate is not to be trusted for these, which the model finds surprising or \
                follows closely: look at them, try `--moment-match`, or refit without each";
    Some((message, hint))
}

fn to_text(args: &LooArgs, likelihood: &Likelihood, loo: &Loo) -> String {
    let places = Some(if loo.se >= 10.0 { 1 } else { 2 });
    let row = |name: &str, value: f64, se: f64| {
        vec![name.to_owned(), rounded(value, places), rounded(se, places)]
    };
    let rows = [
        row("elpd_loo", loo.elpd, loo.se),
        row("p_loo", loo.p_loo, loo.se_p_loo),
        row("looic", loo.looic(), 2.0 * loo.se),
    ];
    let what = if args.group.is_some() { "group" } else { "observation" };
    let mut text = table(&["", "estimate", "se"], &rows);
    let mcse = if loo.mcse.is_nan() { "unknown".to_owned() } else { rounded(loo.mcse, Some(3)) };
    text.push_str(&format!(
        "\n{}, {}, Monte Carlo standard error of elpd_loo {mcse}\n",
        count(loo.pointwise.len() as u64, what),
        count(loo.n_draws as u64, "draw"),
    ));
    let untrusted = loo.untrusted();
    if untrusted.is_empty() {
        let threshold = rounded(loo.k_threshold(), Some(2));
        text.push_str(&format!("every Pareto k is at most {threshold}\n"));
    }
    let mut order: Vec<usize> = (0..loo.pointwise.len()).collect();
    if !args.pointwise {
        let k = |i: usize| loo.pointwise[i].pareto_k;
        let size = |i: usize| if k(i).is_nan() { f64::INFINITY } else { k(i) };
        order.sort_by(|&a, &b| size(b).total_cmp(&size(a)));
        order.truncate(untrusted.len().min(SHOWN));
    }
    if !order.is_empty() {
        let cells = |&i: &usize| {
            let PointwiseLoo { elpd, pareto_k, n_eff, .. } = loo.pointwise[i];
            let p_loo = loo.pointwise[i].p_loo();
            let mut cells = vec![likelihood.names[i].clone()];
            cells.extend([rounded(elpd, Some(2)), rounded(p_loo, Some(2))]);
            cells.extend([rounded(pareto_k, Some(2)), rounded(n_eff, Some(0))]);
            cells
        };
        let rows: Vec<_> = order.iter().map(cells).collect();
        text.push('\n');
        text.push_str(&table(&[what, "elpd", "p_loo", "k", "n_eff"], &rows));
    }
    if let Some((message, hint)) = warning(likelihood, loo) {
        text.push_str(&format!("\nwarning: {message}\n  help: {hint}\n"));
    }
    text
}

fn to_json(args: &LooArgs, likelihood: &Likelihood, loo: &Loo, moved: usize) -> Value {
    let observations: Vec<Value> = likelihood
        .names
        .iter()
        .zip(&loo.pointwise)
        .map(|(name, p)| {
            json!({
                "name": name,
                "elpd": number(p.elpd),
                "lppd": number(p.lppd),
                "p_loo": number(p.p_loo()),
                "pareto_k": number(p.pareto_k),
                "n_eff": number(p.n_eff),
                "mcse": number(p.mcse),
            })
        })
        .collect();
    let warnings: Vec<Value> = warning(likelihood, loo)
        .into_iter()
        .map(|(message, help)| json!({"kind": "pareto-k", "message": message, "help": help}))
        .collect();
    json!({
        "exmc": JSON_VERSION,
        "directory": args.path.display().to_string(),
        "draws": loo.n_draws,
        "elpd_loo": number(loo.elpd),
        "se": number(loo.se),
        "p_loo": number(loo.p_loo),
        "se_p_loo": number(loo.se_p_loo),
        "looic": number(loo.looic()),
        "mcse": number(loo.mcse),
        "k_threshold": number(loo.k_threshold()),
        "moment_matched": moved,
        "observations": observations,
        "warnings": warnings,
    })
}
