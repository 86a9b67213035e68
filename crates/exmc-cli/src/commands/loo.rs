//! `exmc loo`: a stored run -> leave-one-out cross-validation of its model.

use std::path::{Path, PathBuf};

use clap::Args;
use exmc::Fit;
use exmc::advanced::text::table;
use exmc::stan::StatementTerms;
use exmc_diagnose::{
    Draws, Loo, LooBuilder, PointwiseLoo, grouped_folds, random_folds, relative_efficiency,
};
use exmc_draws::open_run;
use serde_json::{Value, json};

use crate::display::{count, number, put, put_json, rounded, say};
use crate::failure::{Exit, Failure};
use crate::likelihood::{LOG_LIK, Likelihood};
use crate::report::JSON_VERSION;
use crate::settings::whole_number;
use crate::source::read_text;

/// Observations that are shown, those with the largest k first.
const SHOWN: usize = 10;

/// Estimate how well a run's model predicts observations that it has not seen
///
/// Leave-one-out cross-validation by Pareto smoothed importance sampling. Log likelihoods of single
/// observations are those that a Stan program records as `log_lik` in its generated quantities, or
/// else those of its statements on data (`y ~ ...`); of a JSON model they are computed.
#[derive(Args, Debug)]
pub(crate) struct LooArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    path: PathBuf,
    /// A recorded variable that holds log likelihoods, or data of which a Stan program's statements
    /// say how likely they are (may be repeated) [default: log_lik, or all data]
    #[arg(long, value_name = "NAME")]
    variable: Vec<String>,
    /// Leave out all observations of a group at once: an array of the data with a value for each
    /// observation, equal within a group
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Move the draws for observations whose Pareto k is too large
    #[arg(long, conflicts_with = "group")]
    moment_match: bool,
    /// Fit anew without each observation (or group) whose Pareto k is too large, after
    /// `--moment-match` where both are given
    #[arg(long)]
    exact: bool,
    /// Cross-validate with so many folds instead, one fit without the observations of each; with
    /// `--group`, no group is split
    #[arg(long, value_name = "K", conflicts_with_all = ["moment_match", "exact", "pointwise"])]
    k_fold: Option<usize>,
    /// Seed of the random folds
    #[arg(long, value_name = "S", default_value_t = 0, allow_negative_numbers = true,
          value_parser = whole_number)]
    seed: u64,
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
    let refits = args.exact || args.k_fold.is_some() || args.moment_match;
    if !refits
        && args.group.is_none()
        && let Some((names, loo)) = leave_one_out_of_files(&args.path, &args.variable)?
    {
        return tell(args, &Likelihood::named(names), &loo, (0, 0));
    }
    if !refits
        && args.group.is_none()
        && args.variable.is_empty()
        && let Some((likelihood, loo)) = leave_one_out_in_blocks(&args.path, MODEL_NUMBERS)?
    {
        return tell(args, &likelihood, &loo, (0, 0));
    }
    let mut likelihood = Likelihood::of_run(&args.path, &args.variable)?;
    let n = likelihood.rows.len();
    let mut members = None;
    if let Some(name) = &args.group {
        let labels = groups(&args.path, name, n)?;
        members = Some(numbers_of(&labels));
        if args.k_fold.is_none() {
            likelihood = likelihood.grouped(name, &labels);
        }
    }
    let fit = (refits && args.variable.is_empty()).then(|| Fit::load(&args.path)).transpose()?;
    if refits && fit.is_none() {
        let message = "refits and moved draws are of the run's own observations";
        let hint = "leave `--variable` out; of a Stan program they are `log_lik` or all data";
        return Err(Failure::new(Exit::Usage, message).hint(hint));
    }
    if let (Some(k), Some(fit)) = (args.k_fold, &fit) {
        return k_fold(args, fit, &likelihood, members.as_deref(), k);
    }
    let mut loo = leave_one_out(&likelihood);
    let (mut moved, mut refitted) = (0, 0);
    if let (true, Some(fit)) = (args.moment_match, &fit) {
        (loo, moved) = fit.loo_moment_matched()?;
    }
    if let (true, Some(fit)) = (args.exact, &fit) {
        refitted = loo.untrusted().len();
        loo = match &members {
            Some(members) => fit.loo_of_groups_exact(loo, members)?,
            None => fit.loo_exact(loo)?,
        };
    }
    tell(args, &likelihood, &loo, (moved, refitted))
}

/// Writes the table or JSON, and what was done for observations that weights do not suffice for.
fn tell(
    args: &LooArgs,
    likelihood: &Likelihood,
    loo: &Loo,
    (moved, refitted): (usize, usize),
) -> Result<Exit, Failure> {
    let untrusted = loo.untrusted();
    if args.json {
        put_json(&to_json(args, likelihood, loo, (moved, refitted)))?;
    } else {
        put(&to_text(args, likelihood, loo))?;
    }
    let what = if args.group.is_some() { "group" } else { "observation" };
    if !args.json && moved > 0 {
        say(&format!("note: the draws were moved for {}", count(moved as u64, what)));
    }
    if !args.json && refitted > 0 {
        say(&format!("note: the model was fitted anew without {}", count(refitted as u64, what)));
    }
    Ok(if args.check && !untrusted.is_empty() { Exit::Diagnostics } else { Exit::Success })
}

/// Leave-one-out of recorded log likelihoods, a block of them in memory at a time; nothing where
/// they were not recorded or the run is small enough to be read whole.
fn leave_one_out_of_files(
    path: &Path,
    variables: &[String],
) -> Result<Option<(Vec<String>, Loo)>, Failure> {
    let run = open_run(path)?;
    let wanted = if variables.is_empty() { vec![LOG_LIK.to_owned()] } else { variables.to_vec() };
    let found: Option<Vec<_>> = wanted.iter().map(|name| run.posterior.variable(name)).collect();
    let usable = run.posterior.usable_chains();
    let n = usable.iter().map(|chain| chain.infos.len()).min().unwrap_or(0);
    let (Some(found), false) = (found, run.has_values() || n == 0) else {
        return Ok(None);
    };
    let chains: Vec<u32> = usable.iter().map(|chain| chain.chain).collect();
    let each = (BLOCK_NUMBERS / (n * chains.len())).max(1);
    let (mut names, mut parts) = (Vec::new(), Vec::new());
    for variable in found {
        names.extend(variable.column_names());
        let end = variable.offset + variable.len();
        for first in (variable.offset..end).step_by(each) {
            let block = first..end.min(first + each);
            let width = block.len();
            let values = run.columns(&chains, block, n)?;
            parts.extend(leave_out_columns(&values, width));
        }
    }
    let loo = Loo::of(parts, n * chains.len());
    Ok(Some((names, loo)))
}

/// Numbers of a block: 64 MB.
const BLOCK_NUMBERS: usize = 1 << 23;
/// Numbers of a block where each takes an evaluation of the model at all draws: 512 MB.
const MODEL_NUMBERS: usize = 1 << 26;

/// Leave-one-out of log likelihoods that are computed through the model or from a program's
/// statements, a block of observations in memory at a time; nothing where they are found otherwise
/// or few.
fn leave_one_out_in_blocks(
    path: &Path,
    numbers: usize,
) -> Result<Option<(Likelihood, Loo)>, Failure> {
    let (mut parts, mut draws) = (Vec::new(), 0);
    let found = Likelihood::in_blocks(path, numbers, |block| {
        draws = draws.max(block.total_draws());
        parts.extend(leave_one_out(&block).pointwise);
    })?;
    Ok(found.map(|likelihood| (likelihood, Loo::of(parts, draws))))
}

/// Leaves out each column of `[draw, column]` values of several chains, on all cores.
fn leave_out_columns(chains: &[Vec<f64>], width: usize) -> Vec<PointwiseLoo> {
    let part = |columns: std::ops::Range<usize>| {
        let mut builder = LooBuilder::new();
        let mut made = Vec::with_capacity(columns.len());
        for column in columns {
            let column_draws = |chain: &Vec<f64>| {
                chain.iter().skip(column).step_by(width).copied().collect::<Vec<f64>>()
            };
            let column_draws: Vec<Vec<f64>> = chains.iter().map(column_draws).collect();
            let views: Vec<&[f64]> = column_draws.iter().map(Vec::as_slice).collect();
            let efficiency = Draws::new(&views).map_or(1.0, |draws| relative_efficiency(&draws));
            made.push(builder.push(&column_draws.concat(), efficiency));
        }
        made
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(width.max(1));
    let each = width.div_ceil(threads).max(1);
    let ranges: Vec<_> =
        (0..width).step_by(each).map(|first| first..width.min(first + each)).collect();
    std::thread::scope(|scope| {
        let start = |range: &std::ops::Range<usize>| {
            let columns = range.clone();
            let spawned = std::thread::Builder::new().spawn_scoped(scope, move || part(columns));
            spawned.map_err(|_| range.clone())
        };
        let running: Vec<_> = ranges.iter().map(start).collect();
        let join = |one: Result<std::thread::ScopedJoinHandle<'_, _>, _>| match one {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            // Where the system gives no thread, this one does the work.
            Err(range) => part(range),
        };
        running.into_iter().flat_map(join).collect()
    })
}

/// Leave-one-out of all observations.
pub(crate) fn leave_one_out(likelihood: &Likelihood) -> Loo {
    let mut builder = LooBuilder::new();
    for (observation, row) in likelihood.rows.iter().enumerate() {
        builder.push(row, likelihood.relative_efficiency(observation));
    }
    builder.finish()
}

/// Cross-validation by folds: its table or JSON.
fn k_fold(
    args: &LooArgs,
    fit: &Fit,
    likelihood: &Likelihood,
    groups: Option<&[usize]>,
    k: usize,
) -> Result<Exit, Failure> {
    let folds = match groups {
        Some(groups) => grouped_folds(groups, k, args.seed),
        None => random_folds(likelihood.rows.len(), k, args.seed),
    };
    let folds = folds.map_err(|error| Failure::new(Exit::Usage, error.to_string()))?;
    let made = fit.kfold(&folds)?;
    if args.json {
        let each = likelihood.names.iter().zip(made.pointwise.iter().zip(&folds));
        let observations: Vec<Value> = each
            .map(|(name, (elpd, fold))| json!({"name": name, "elpd": number(*elpd), "fold": fold}))
            .collect();
        put_json(&json!({
            "exmc": JSON_VERSION,
            "directory": args.path.display().to_string(),
            "folds": k,
            "elpd_kfold": number(made.elpd),
            "se": number(made.se),
            "observations": observations,
        }))?;
        return Ok(Exit::Success);
    }
    let places = Some(if made.se >= 10.0 { 1 } else { 2 });
    let row = vec!["elpd_kfold".to_owned(), rounded(made.elpd, places), rounded(made.se, places)];
    put(&table(&["", "estimate", "se"], &[row]))?;
    put(&format!(
        "\n{}, {k} folds, one fit each\n",
        count(likelihood.rows.len() as u64, "observation")
    ))?;
    Ok(Exit::Success)
}

/// Groups by number, in the order of their labels.
fn numbers_of(labels: &[String]) -> Vec<usize> {
    let mut names: Vec<&String> = labels.iter().collect();
    names.sort();
    names.dedup();
    labels.iter().map(|label| names.partition_point(|name| *name < label)).collect()
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
                follows closely: look at them, try `--moment-match`, or `--exact` to refit without each";
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
    text.push_str(&statements_text(&likelihood.statements));
    if let Some((message, hint)) = warning(likelihood, loo) {
        text.push_str(&format!("\nwarning: {message}\n  help: {hint}\n"));
    }
    text
}

/// The statements of a Stan program that log likelihoods are from.
fn statements_text(statements: &[StatementTerms]) -> String {
    let mut text = String::new();
    if !statements.is_empty() {
        text.push_str("\nlog likelihoods are those of the program's statements on data:\n");
    }
    for statement in statements {
        let terms = count(statement.terms as u64, "term");
        let joint = if statement.is_joint { ", of all its elements together" } else { "" };
        let StatementTerms { line, text: source_text, .. } = statement;
        text.push_str(&format!("  line {line}: {source_text} ({terms}{joint})\n"));
    }
    text
}

/// The same as JSON.
fn statements_json(statements: &[StatementTerms]) -> Vec<Value> {
    let each = statements
        .iter()
        .map(|s| json!({"line": s.line, "text": s.text, "terms": s.terms, "joint": s.is_joint}));
    each.collect()
}

fn to_json(
    args: &LooArgs,
    likelihood: &Likelihood,
    loo: &Loo,
    (moved, refitted): (usize, usize),
) -> Value {
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
        "refitted": refitted,
        "statements": statements_json(&likelihood.statements),
        "observations": observations,
        "warnings": warnings,
    })
}

#[cfg(test)]
mod tests {
    use exmc::distributions::normal;
    use exmc::{Fit, ModelBuilder, SamplerConfig, StanProgram};

    use super::{leave_one_out, leave_one_out_in_blocks};
    use crate::likelihood::Likelihood;

    /// Two chains of 50 draws, stored: blocks of one, of three and of all of the 7 observations.
    fn blocks_give_what_all_give(fit: &Fit, name: &str) {
        let path = std::env::temp_dir().join(format!("exmc-loo-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        fit.save(&path).unwrap();
        let likelihood = Likelihood::of_run(&path, &[]).unwrap();
        let expected = leave_one_out(&likelihood);
        for numbers in [1, 399] {
            let (blocks, loo) = leave_one_out_in_blocks(&path, numbers).unwrap().unwrap();
            assert_eq!((&blocks.names, &loo.pointwise), (&likelihood.names, &expected.pointwise));
            assert_eq!(blocks.statements, likelihood.statements);
            assert_eq!((loo.n_draws, loo.elpd), (100, expected.elpd));
        }
        assert!(leave_one_out_in_blocks(&path, 700).unwrap().is_none());
        std::fs::remove_dir_all(&path).unwrap();
    }

    fn config() -> SamplerConfig {
        SamplerConfig::default().chains(2).warmup(100).draws(50)
    }

    #[test]
    fn blocks_of_a_models_observations_give_what_all_of_them_give() {
        let mut model = ModelBuilder::new();
        model.rv("mu", normal(0, 10));
        model.rv("y", normal("mu", 1)).shape(7);
        model.observe("y_seen", "y", [0.1, 1.0, -0.3, 2.0, 0.7, 0.2, -1.1]);
        let fit = exmc::sample(&model.build().unwrap(), &config()).unwrap();
        blocks_give_what_all_give(&fit, "model");
    }

    #[test]
    fn blocks_of_a_programs_observations_give_what_all_of_them_give() {
        let text = "data { vector[5] y; array[2] int k; } parameters { real mu; }
            model { mu ~ normal(0, 10); y ~ normal(mu, 1); k ~ poisson_log(mu); }";
        let program = StanProgram::from_text("m.stan", text).unwrap();
        let data = r#"{"y": [0.1, 1.0, -0.3, 2.0, 0.7], "k": [1, 3]}"#;
        let fit = exmc::sample(&program.bind("m.json", data).unwrap(), &config()).unwrap();
        blocks_give_what_all_give(&fit, "program");
    }
}
