//! CmdStan CSV files, one a chain, of exmc's or of other programs -> draws in memory.
//!
//! Only the header is needed; comment lines tell what they can. Statistics of the sampler that a
//! file lacks (those of `optimize` or `laplace`, say) stay NaN, and [`StanCsv::has_statistics`]
//! says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use exmc_infer::{ChainOutcome, Info, InverseMetric, WarmStart};

use super::columns::{Grouped, group};
use crate::error::RunError;
use crate::posterior::{ChainDraws, Posterior};

/// What CmdStan CSV files hold.
#[derive(Clone, Debug)]
pub struct StanCsv {
    /// The method that made the draws, as the files name it; `sample` when they do not.
    pub method: String,
    /// The model's name without the ending `_model`, if they name it.
    pub model: Option<String>,
    /// The seed, if they name it.
    pub seed: Option<u64>,
    /// Whether every draw has the statistics of NUTS.
    pub has_statistics: bool,
    /// The draws, one chain a file, elements row-major. `lp__` is the first variable where there is
    /// one.
    pub posterior: Posterior,
    /// What had to be left out or does not add up, as sentences.
    pub notes: Vec<String>,
}

/// The column of exmc's own that says whether a trajectory ended where the density could not be
/// evaluated.
const RECOVERED: &str = "recovered__";

/// Columns that become a draw's statistics; `lp__` is also kept as a variable.
const STATISTICS: [&str; 6] =
    ["accept_stat__", "stepsize__", "treedepth__", "n_leapfrog__", "divergent__", "energy__"];

/// Reads the files of one run's chains, in this order.
///
/// **Edges**: a last line that was cut off is left out and noted. Numbers may be spelled `nan`,
/// `inf` and `-inf` in any case. Columns whose indices do not make up an array are variables of
/// their own.
///
/// # Errors
/// When a file cannot be read; when a line is malformed (the message gives its number and column);
/// when the files have different columns; when there is no file.
pub fn read_stan_csv<P: AsRef<Path>>(paths: &[P]) -> Result<StanCsv, RunError> {
    let mut files = Vec::with_capacity(paths.len());
    let mut notes = Vec::new();
    for path in paths {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|e| RunError::read(path, e))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| RunError::malformed(path, "it is not UTF-8, so no CSV file of draws"))?;
        files.push((path, parse(&text, path, &mut notes)?));
    }
    let Some((first_path, first)) = files.first() else {
        return Err(RunError::malformed(Path::new("-"), "no file is given"));
    };
    for (path, file) in &files[1..] {
        same_columns(first, file, path, first_path)?;
        if file.values.get("model") != first.values.get("model") {
            let (a, b) = (first_path.display(), path.display());
            notes.push(format!("`{a}` and `{b}` are of models with different names"));
        }
    }
    let kept: Vec<usize> = (0..first.header.len())
        .filter(|k| {
            let name = first.header[*k].as_str();
            !STATISTICS.contains(&name) && name != RECOVERED
        })
        .collect();
    let names: Vec<&str> = kept.iter().map(|k| first.header[*k].as_str()).collect();
    let Grouped { variables, order } = group(&names);
    // Places of the recorded values among a file's columns.
    let columns: Vec<usize> = order.iter().map(|k| kept[*k]).collect();
    let chains: Vec<ChainDraws> =
        files.iter().enumerate().map(|(k, (_, file))| file.chain(k as u32, &columns)).collect();
    let number = |key: &str| first.values.get(key).and_then(|text| text.parse::<u64>().ok());
    let has = |name: &&str| first.header.iter().any(|column| column == name);
    let model = first.values.get("model");
    let seconds = chains.iter().map(|c| c.warmup_seconds + c.sampling_seconds);
    Ok(StanCsv {
        method: first.values.get("method").cloned().unwrap_or_else(|| "sample".to_owned()),
        model: model.map(|name| name.strip_suffix("_model").unwrap_or(name).to_owned()),
        seed: number("seed"),
        has_statistics: STATISTICS.iter().all(has),
        posterior: Posterior {
            variables,
            seconds: seconds.fold(0.0, f64::max),
            max_depth: number("max_depth").and_then(|n| u32::try_from(n).ok()).unwrap_or(10),
            chains,
            warnings: Vec::new(),
        },
        notes,
    })
}

fn same_columns(first: &File, file: &File, path: &Path, first_path: &Path) -> Result<(), RunError> {
    let (expected, found) = (&first.header, &file.header);
    let differs = (0..expected.len().max(found.len())).find(|k| expected.get(*k) != found.get(*k));
    let Some(k) = differs else { return Ok(()) };
    let name = |header: &[String]| match header.get(k) {
        Some(name) => format!("`{name}`"),
        None => "missing".to_owned(),
    };
    let (found, expected, first_path) = (name(found), name(expected), first_path.display());
    let what = format!("column {} is {found}, but {expected} in `{first_path}`", k + 1);
    Err(RunError::malformed(path, what))
}

/// One file: comments by key, columns, rows.
struct File {
    values: BTreeMap<String, String>,
    header: Vec<String>,
    rows: Vec<Vec<f64>>,
    n_warmup: usize,
    tuned: Option<WarmStart>,
    seconds: [f64; 2],
}

fn parse(text: &str, path: &Path, notes: &mut Vec<String>) -> Result<File, RunError> {
    let wrong = |line: usize, what: String| {
        Err(RunError::malformed(path, format!("line {}: {what}", line + 1)))
    };
    let mut values = BTreeMap::new();
    let mut header: Vec<String> = Vec::new();
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let (mut adapted_at, mut metric) = (None, Vec::new());
    let mut is_metric = false;
    let mut seconds = [0.0; 2];
    // A mark of the byte order is what some editors begin a file with.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let n_lines = text.lines().count();
    for (line, content) in text.lines().enumerate() {
        let content = content.trim_end();
        if let Some(comment) = content.strip_prefix('#') {
            let comment = comment.trim();
            let numbers = list(comment);
            match numbers {
                Some(row) if is_metric => metric.push(row),
                _ => {
                    is_metric = comment.starts_with("Diagonal elements of inverse mass")
                        || comment.starts_with("Elements of inverse mass");
                }
            }
            if comment.starts_with("Adaptation terminated") {
                adapted_at = Some(rows.len());
            }
            if let Some((key, value)) = comment.split_once('=') {
                let value = value.trim();
                let value = value.strip_suffix("(Default)").unwrap_or(value).trim();
                values.entry(key.trim().to_owned()).or_insert_with(|| value.to_owned());
            }
            for (place, word) in seconds.iter_mut().zip(["(Warm-up)", "(Sampling)"]) {
                if comment.ends_with(word) {
                    let number = comment.split_whitespace().find_map(|word| word.parse().ok());
                    *place = number.unwrap_or(0.0);
                }
            }
            continue;
        }
        if content.is_empty() {
            continue;
        }
        if header.is_empty() {
            header = content.split(',').map(|name| name.trim().to_owned()).collect();
            let mut seen = BTreeSet::new();
            if let Some(k) = header.iter().position(|name| name.is_empty()) {
                return wrong(line, format!("column {} has no name", k + 1));
            }
            if let Some(name) = header.iter().find(|name| !seen.insert(name.as_str())) {
                return wrong(line, format!("there are two columns `{name}`"));
            }
            if header.iter().all(|name| name.parse::<f64>().is_ok()) {
                return wrong(line, "expected names of columns, found numbers".to_owned());
            }
            continue;
        }
        let cells: Vec<&str> = content.split(',').collect();
        if cells.len() != header.len() {
            if line + 1 == n_lines && cells.len() < header.len() && !text.ends_with('\n') {
                let name = path.display();
                notes.push(format!("`{name}` ends in the middle of a draw, which was left out"));
                continue;
            }
            let (found, expected) = (cells.len(), header.len());
            return wrong(line, format!("expected {expected} values, found {found}"));
        }
        let mut row = Vec::with_capacity(cells.len());
        for (cell, name) in cells.iter().zip(&header) {
            match cell.trim().parse::<f64>() {
                Ok(value) => row.push(value),
                Err(_) => {
                    return wrong(line, format!("the value of `{name}` is no number: `{cell}`"));
                }
            }
        }
        rows.push(row);
    }
    if header.is_empty() {
        return Err(RunError::malformed(path, "it has no header of column names"));
    }
    let n_warmup = adapted_at.unwrap_or_else(|| saved_warmup(&values)).min(rows.len());
    let tuned = tuned(&values, metric);
    Ok(File { values, header, rows, n_warmup, tuned, seconds })
}

/// Warmup draws of a file without lines on adaptation.
fn saved_warmup(values: &BTreeMap<String, String>) -> usize {
    let is_saved = values.get("save_warmup").is_some_and(|text| text == "true" || text == "1");
    let number = |key: &str| values.get(key).and_then(|text| text.parse::<usize>().ok());
    match (is_saved, number("num_warmup")) {
        (true, Some(n)) => n.div_ceil(number("thin").unwrap_or(1).max(1)),
        _ => 0,
    }
}

/// Numbers with commas between them.
fn list(comment: &str) -> Option<Vec<f64>> {
    comment.split(',').map(|cell| cell.trim().parse().ok()).collect()
}

/// Step size and metric from the lines on adaptation, where they are whole.
fn tuned(values: &BTreeMap<String, String>, metric: Vec<Vec<f64>>) -> Option<WarmStart> {
    let step_size: f64 = values.get("Step size")?.parse().ok()?;
    let dim = metric.first()?.len();
    let inverse_metric = match values.get("metric").map(String::as_str) {
        Some("dense_e") if metric.len() == dim && metric.iter().all(|row| row.len() == dim) => {
            InverseMetric::Dense { dim, covariance: metric.concat() }
        }
        Some("dense_e") => return None,
        _ => InverseMetric::Diagonal(metric.into_iter().next()?),
    };
    Some(WarmStart { step_size, inverse_metric, adapt_metric: false, positions: Vec::new() })
}

impl File {
    /// The chain of this file, with the recorded values at `columns`.
    fn chain(&self, chain: u32, columns: &[usize]) -> ChainDraws {
        let place = |name: &str| self.header.iter().position(|column| column == name);
        let places = STATISTICS.map(place);
        let recovered = place(RECOVERED);
        let logp = place("lp__").or_else(|| place("log_p__"));
        let info = |row: &Vec<f64>| {
            let [accept, step, depth, steps, divergent, energy] =
                places.map(|place| place.map_or(f64::NAN, |k| row[k]));
            let mut info = Info::still(logp.map_or(f64::NAN, |k| row[k]), step);
            (info.accept_stat, info.energy) = (accept, energy);
            // `as` takes NaN to zero.
            (info.tree_depth, info.n_steps) = (depth as u32, steps as u32);
            info.divergent = divergent > 0.0;
            info.recovered = recovered.is_some_and(|k| row[k] > 0.0);
            info
        };
        let values = |rows: &[Vec<f64>]| {
            rows.iter().flat_map(|row| columns.iter().map(|k| row[*k])).collect::<Vec<f64>>()
        };
        let (warmup, draws) = self.rows.split_at(self.n_warmup);
        let infos: Vec<Info> = draws.iter().map(info).collect();
        let warmup_infos: Vec<Info> = warmup.iter().map(info).collect();
        let all = infos.iter().chain(&warmup_infos);
        ChainDraws {
            chain,
            values: values(draws),
            leapfrogs: all.map(|i| u64::from(i.n_steps)).sum(),
            infos,
            warmup_values: values(warmup),
            warmup_infos,
            warmup_seconds: self.seconds[0],
            raised_target: None,
            restarts: Vec::new(),
            sampling_seconds: self.seconds[1],
            tuned: self.tuned.clone(),
            outcome: ChainOutcome::Completed,
        }
    }
}
