//! `exmc summary`: a stored run, or CmdStan's CSV files -> the summary table, totals and warnings.

use std::path::PathBuf;

use clap::Args;
use exmc_draws::{Method, StoredRun, read_run, read_stan_csv};
use serde_json::Value;

use crate::display::{put, put_json, say};
use crate::failure::{Exit, Failure};
use crate::report::Report;

/// Summarise a stored run, also one that is unfinished, or CSV files of CmdStan
#[derive(Args, Debug)]
pub(crate) struct SummaryArgs {
    /// The run's directory, or CmdStan's CSV files of the run's chains
    #[arg(value_name = "DIR", required = true)]
    paths: Vec<PathBuf>,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// End with exit code 3 when there are warnings
    #[arg(long)]
    check: bool,
}

/// A report, what it is of (a key and value of the JSON document), and notes.
type Summarised = (Report, (&'static str, Value), Vec<String>);

pub(crate) fn run(args: &SummaryArgs) -> Result<Exit, Failure> {
    let is_csv = |path: &PathBuf| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
    let (report, (key, of), notes) = match args.paths.as_slice() {
        [path] if !is_csv(path) => of_run(path)?,
        paths => of_files(paths)?,
    };
    for note in &notes {
        say(&format!("note: {note}"));
    }
    if args.json {
        let mut json = report.to_json();
        json[key] = of;
        json["notes"] = notes.into();
        put_json(&json)?;
    } else {
        put(&report.to_text(usize::MAX))?;
    }
    Ok(if args.check && report.has_warnings() { Exit::Diagnostics } else { Exit::Success })
}

fn of_run(path: &std::path::Path) -> Result<Summarised, Failure> {
    let StoredRun { record, posterior, notes } = read_run(path)?;
    if let Some(error) = &record.error {
        say(&format!("note: the run failed: {error}"));
    }
    let report = Report::of(posterior, record.status.name());
    let report = match record.method {
        Method::Sample => report,
        Method::Laplace | Method::Variational => report.without_statistics("independent draw"),
        _ => report.without_statistics("draw"),
    };
    Ok((report, ("directory", path.display().to_string().into()), notes))
}

fn of_files(paths: &[PathBuf]) -> Result<Summarised, Failure> {
    if let Some(path) = paths.iter().find(|path| path.is_dir()) {
        let message =
            format!("`{}` is a directory among {} arguments", path.display(), paths.len());
        let help = "give the directory of one run, or the CSV files of one run's chains";
        return Err(Failure::new(Exit::Usage, message).hint(help));
    }
    let read = read_stan_csv(paths)?;
    let report = Report::of(read.posterior, "completed");
    let report = if read.has_statistics { report } else { report.without_statistics("draw") };
    let files: Value = paths.iter().map(|path| path.display().to_string()).collect();
    Ok((report, ("files", files), read.notes))
}
