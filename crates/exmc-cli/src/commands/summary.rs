//! `exmc summary`: a stored run, CmdStan's CSV files or ArviZ's netCDF file -> the summary table,
//! totals and warnings.

use std::path::{Path, PathBuf};

use clap::Args;
use exmc_draws::{Method, open_run, read_stan_csv};
use serde_json::Value;

use crate::display::{put, put_json, say};
use crate::failure::{Exit, Failure};
use crate::report::Report;

/// Summarise a stored run, also one that is unfinished, CSV files of CmdStan or a netCDF file of
/// ArviZ
#[derive(Args, Debug)]
pub(crate) struct SummaryArgs {
    /// The run's directory, CmdStan's CSV files of the run's chains, or ArviZ's netCDF file; behind
    /// a directory or netCDF file, names of variables (`theta`) or elements (`theta[3]`) that the
    /// table is to show, instead of all
    #[arg(value_name = "DIR [NAME]", required = true)]
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
    let is_netcdf = |path: &PathBuf| path.extension().is_some_and(|e| e == "nc") && path.is_file();
    let (report, (key, origin), notes) = match args.paths.as_slice() {
        [path, names @ ..] if is_netcdf(path) => {
            let (report, origin, notes) = of_netcdf(path)?;
            (only(report, path, names)?, origin, notes)
        }
        [path, names @ ..] if !is_csv(path) && !names.iter().any(|name| name.is_dir()) => {
            let (report, origin, notes) = of_run(path)?;
            (only(report, path, names)?, origin, notes)
        }
        paths => of_files(paths)?,
    };
    for note in &notes {
        say(&format!("note: {note}"));
    }
    if args.json {
        let mut json = report.to_json();
        json[key] = origin;
        json["notes"] = notes.into();
        put_json(&json)?;
    } else {
        put(&report.to_text(usize::MAX))?;
    }
    Ok(if args.check && report.has_warnings() { Exit::Diagnostics } else { Exit::Success })
}

/// The report with the rows of the variables named only, or of all where none is.
fn only(report: Report, path: &Path, names: &[PathBuf]) -> Result<Report, Failure> {
    if names.is_empty() {
        return Ok(report);
    }
    let names: Vec<String> = names.iter().map(|name| name.display().to_string()).collect();
    report.only(&names).map_err(|(name, all)| {
        let message = format!("the run in `{}` recorded no `{name}`", path.display());
        let all: Vec<String> = all.iter().map(|name| format!("`{name}`")).collect();
        Failure::new(Exit::Usage, message).hint(format!("it recorded {}", all.join(", ")))
    })
}

fn of_run(path: &Path) -> Result<Summarised, Failure> {
    let run = open_run(path)?;
    let (record, mut notes) = (run.record.clone(), run.notes.clone());
    if !run.missing.is_empty() {
        let missing: Vec<String> = run.missing.iter().map(u32::to_string).collect();
        let (missing, total) = (missing.join(", "), record.config.chains);
        notes.insert(0, format!("chains that are not here: {missing} of {total}"));
    }
    if let Some(error) = &record.error {
        say(&format!("note: the run failed: {error}"));
    }
    let report = Report::of_run(run, record.status.name())?;
    let report = match record.method {
        Method::Sample => report,
        Method::Laplace | Method::Variational => report.without_statistics("independent draw"),
        _ => report.without_statistics("draw"),
    };
    Ok((report, ("directory", path.display().to_string().into()), notes))
}

fn of_netcdf(path: &Path) -> Result<Summarised, Failure> {
    let read = exmc_files::read_netcdf(path)?;
    let report = Report::of(read.posterior, "completed");
    let report = if read.has_statistics { report } else { report.without_statistics("draw") };
    Ok((report, ("files", vec![path.display().to_string()].into()), read.notes))
}

fn of_files(paths: &[PathBuf]) -> Result<Summarised, Failure> {
    if let Some(path) = paths.iter().find(|path| path.is_dir()) {
        let message =
            format!("`{}` is a directory among {} arguments", path.display(), paths.len());
        let help = "give the directory of one run, or the CSV files of one run's chains; \
                    `exmc compare` is for several runs";
        return Err(Failure::new(Exit::Usage, message).hint(help));
    }
    let read = read_stan_csv(paths)?;
    let report = Report::of(read.posterior, "completed");
    let report = if read.has_statistics { report } else { report.without_statistics("draw") };
    let files: Value = paths.iter().map(|path| path.display().to_string()).collect();
    Ok((report, ("files", files), read.notes))
}
