//! `exmc sample --data-many`: one model and many data files -> a run's directory for each, and one
//! table.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use exmc::advanced::text::{rounded, table};
use exmc::advanced::{CompileOptions, CompiledModel, compile};
use exmc::infer::{Bind, Target, Template, fit_each};
use exmc::json::{read_data, write_data};
use exmc::model::DataSet;
use exmc::stan::StanOptions;
use exmc::{Error, Fit, SamplerConfig, StanProgram};
use exmc_draws::{RunStatus, read_record};
use serde_json::{Value, json};

use crate::display::{count, number, put, put_json, say};
use crate::failure::{Exit, Failure};
use crate::report::JSON_VERSION;
use crate::signals::Stop;
use crate::source::{Front, Source, read_text};

/// What a table says of one data file.
struct Row {
    name: String,
    status: &'static str,
    /// Numbers that were recorded, divergences, the largest R-hat and the least bulk ESS.
    found: Option<(usize, u64, f64, f64)>,
    error: Option<String>,
}

/// Where the runs go and how they are told of.
pub(crate) struct Many<'a> {
    /// A path whose file name may hold `*`.
    pub(crate) pattern: &'a Path,
    pub(crate) out: &'a Path,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    pub(crate) check: bool,
}

/// Fits all data files. Those that have a completed run are left out, so that the same command goes
/// on where it was stopped.
pub(crate) fn sample_many(
    many: &Many<'_>,
    source: &Source,
    options: &CompileOptions,
    config: &SamplerConfig,
    stop: &Stop,
) -> Result<Exit, Failure> {
    let files = matching(many.pattern)?;
    fs::create_dir_all(many.out).map_err(|error| Failure::unwritable(many.out, &error))?;
    let (mut names, mut data, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let directory = many.out.join(&name);
        if read_record(&directory).is_ok_and(|record| record.status == RunStatus::Completed) {
            let row = Fit::load(&directory).map(|fit| row(&name, "completed before", &fit));
            rows.push(row.unwrap_or_else(|error| failed(&name, &error.to_string())));
            continue;
        }
        let read = read_text(file)
            .and_then(|text| read_data(&text).map_err(|error| Failure::from(error).in_file(file)));
        match read {
            Ok(dataset) => {
                names.push(name);
                data.push(dataset);
            }
            Err(failure) => rows.push(failed(&name, &failure.to_string())),
        }
    }
    let made = Mutex::new(rows);
    let done = |k: usize, result: Result<Fit, Error>| {
        let name: &str = &names[k];
        let stored = result.map_err(Failure::from).and_then(|fit| {
            store(&fit, many.out, name)?;
            Ok(row(name, "completed", &fit))
        });
        let row = stored.unwrap_or_else(|failure| failed(name, &failure.to_string()));
        if !many.quiet {
            let status = row.error.as_deref().unwrap_or(row.status);
            say(&format!("`{name}`: {status}"));
        }
        made.lock().unwrap_or_else(|poison| poison.into_inner()).push(row);
        if stop.is_asked() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match &source.front {
        Front::Json { model, .. } => {
            let compiled: CompiledModel = compile(model, options)?;
            fit_each(&compiled, &data, config, done);
        }
        Front::Stan(program) => {
            let mut stan_options = StanOptions::default();
            stan_options.compile = options.clone();
            let template = Programs { program: program.clone(), options: stan_options };
            fit_each(&template, &data, config, done);
        }
    }

    let mut rows = made.into_inner().unwrap_or_else(|poison| poison.into_inner());
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    if many.json {
        put_json(
            &json!({"exmc": JSON_VERSION, "runs": rows.iter().map(to_json).collect::<Value>()}),
        )?;
    } else {
        put(&to_text(&rows))?;
    }
    let n_failed = rows.iter().filter(|row| row.error.is_some()).count();
    if rows.len() < files.len() {
        let left = count((files.len() - rows.len()) as u64, "data file");
        say(&format!("note: {left} left; the same command goes on with them"));
        return Ok(Exit::Interrupted);
    }
    if n_failed > 0 {
        say(&format!("note: {} failed", count(n_failed as u64, "fit")));
        return Ok(Exit::Model);
    }
    let is_bad = |row: &Row| {
        row.found.is_some_and(|(_, divergences, rhat, ess)| {
            divergences > 0 || rhat > 1.01 || ess < 400.0
        })
    };
    Ok(if many.check && rows.iter().any(is_bad) { Exit::Diagnostics } else { Exit::Success })
}

/// Stores a fit beside its place and moves it there, so that a directory of that name is whole
/// whenever the process is killed.
fn store(fit: &Fit, out: &Path, name: &str) -> Result<(), Failure> {
    let (partial, directory) = (out.join(format!("{name}.partial")), out.join(name));
    // What an earlier process left behind.
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(|error| Failure::unwritable(&partial, &error))?;
    }
    fit.save(&partial)?;
    fs::rename(&partial, &directory).map_err(|error| Failure::unwritable(&directory, &error))
}

/// A Stan program with settings, to be given data.
#[derive(Clone)]
struct Programs {
    program: StanProgram,
    options: StanOptions,
}

impl Template for Programs {
    fn compiled(&self) -> Result<Box<dyn Bind + '_>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Bind for Programs {
    fn bound(&self, data: &DataSet) -> Result<Box<dyn Target>, Error> {
        let text = write_data(data);
        Ok(Box::new(self.program.bind_with("data", &text, &self.options)?))
    }
}

fn row(name: &str, status: &'static str, fit: &Fit) -> Row {
    let summary = fit.summary();
    // What never moves has no R-hat.
    let rhat = summary.iter().map(|(_, s)| s.rhat).filter(|x| !x.is_nan());
    let ess = summary.iter().map(|(_, s)| s.ess_bulk).filter(|x| !x.is_nan());
    let found = (
        summary.len(),
        fit.posterior().diagnostics().divergences as u64,
        rhat.fold(f64::NAN, f64::max),
        ess.fold(f64::NAN, f64::min),
    );
    Row { name: name.to_owned(), status, found: Some(found), error: None }
}

fn failed(name: &str, error: &str) -> Row {
    let error = Some(error.to_owned());
    Row { name: name.to_owned(), status: "failed", found: None, error }
}

fn to_text(rows: &[Row]) -> String {
    let head = ["data", "numbers", "divergences", "worst rhat", "least ess_bulk", "status"];
    let cells = |row: &Row| {
        let mut cells = vec![row.name.clone()];
        match row.found {
            Some((numbers, divergences, rhat, ess)) => cells.extend([
                numbers.to_string(),
                divergences.to_string(),
                rounded(rhat, Some(3)),
                rounded(ess, Some(0)),
            ]),
            None => cells.extend(["-"; 4].map(str::to_owned)),
        }
        cells.push(row.status.to_owned());
        cells
    };
    table(&head, &rows.iter().map(cells).collect::<Vec<_>>())
}

fn to_json(row: &Row) -> Value {
    let mut value = json!({"name": row.name, "status": row.status, "error": row.error});
    if let Some((numbers, divergences, rhat, ess)) = row.found {
        value["numbers"] = numbers.into();
        value["divergences"] = divergences.into();
        value["worst_rhat"] = number(rhat);
        value["least_ess_bulk"] = number(ess);
    }
    value
}

/// The files of a folder whose names match a pattern, in which `*` stands for any characters;
/// sorted.
fn matching(pattern: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder = pattern.parent().filter(|parent| !parent.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let name = pattern.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let entries = fs::read_dir(folder).map_err(|error| Failure::unreadable(folder, &error))?;
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .filter(|path| {
            path.file_name().is_some_and(|file_name| matches(&file_name.to_string_lossy(), &name))
        })
        .collect();
    files.sort();
    if files.is_empty() {
        let message = format!("no file matches `{}`", pattern.display());
        let hint = "quote the pattern, so that the shell hands it over: --data-many 'data/*.json'";
        return Err(Failure::new(Exit::Io, message).hint(hint));
    }
    Ok(files)
}

/// Whether a name matches a pattern with `*`.
fn matches(name: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return name == pattern };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(start) = name.find(part) else { return false };
        name = &name[start + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_characters() {
        let all = [("a.json", "*.json", true), ("a.json", "a*", true), ("a.jso", "*.json", false)];
        let more = [("fit-1-x.json", "fit-*-x.*", true), ("b", "a*", false), ("ab", "ab*b", false)];
        for (name, pattern, expected) in all.into_iter().chain(more) {
            assert_eq!(matches(name, pattern), expected, "{name} {pattern}");
        }
    }
}
