//! `exmc report DIR`: stored runs -> one HTML page.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use exmc_draws::{StoredRun, read_run};
use exmc_report::{Fit, SourceText, report};

use crate::commands::plot::predictive_check;
use crate::display::say;
use crate::failure::{Exit, Failure};

/// Write one HTML page on a stored run, or on several side by side
///
/// The page needs no network and no script: model, data, what exmc did, tables, figures, verdict
/// and advice, and how to make the run again.
#[derive(Args, Debug)]
pub(crate) struct ReportArgs {
    /// The runs' directories
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// The page
    #[arg(long, short, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    /// A predictive check: the name of replications in the run and of observations in its data, as
    /// `y_rep=y`; may be repeated
    #[arg(long, value_name = "REP=OBS")]
    check: Vec<String>,
}

pub(crate) fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let mut pairs = Vec::new();
    for check in &args.check {
        let Some(pair) = check.split_once('=') else {
            let message = format!("`{check}` is no pair of replications and observations");
            return Err(Failure::new(Exit::Usage, message).hint("for example --check y_rep=y"));
        };
        pairs.push(pair);
    }
    let runs: Vec<StoredRun> =
        args.directories.iter().map(|d| read_run(d)).collect::<Result<_, _>>()?;
    let mut fits = Vec::new();
    for (directory, run) in args.directories.iter().zip(&runs) {
        let mut checks = Vec::new();
        for (replicated, observed) in &pairs {
            if run.posterior.variable(replicated).is_some() {
                let check = predictive_check(directory, &run.posterior, replicated, observed)?;
                checks.push((format!("{replicated} and {observed}"), check));
            } else if args.directories.len() == 1 {
                let message = format!("the run records no `{replicated}`");
                return Err(Failure::new(Exit::Usage, message));
            }
        }
        fits.push(Fit {
            label: directory.display().to_string(),
            run,
            model: first_of(directory, &["model.stan", "model.json"])?,
            data: first_of(directory, &["data.json"])?,
            checks,
            loo: None,
        });
    }
    fs::write(&args.out, report(&fits, &[])).map_err(|error| {
        Failure::new(Exit::Io, format!("cannot write `{}`: {error}", args.out.display()))
    })?;
    say(&format!("the report is in `{}`", args.out.display()));
    Ok(Exit::Success)
}

/// The first of some files that a directory holds.
fn first_of(directory: &Path, names: &[&str]) -> Result<Option<SourceText>, Failure> {
    for name in names {
        let path = directory.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => return Ok(Some(SourceText { name: (*name).to_owned(), text })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(Failure::unreadable(&path, &error)),
        }
    }
    Ok(None)
}
