//! `exmc summary DIR`: a stored run -> the summary table, totals and warnings.

use std::path::PathBuf;

use clap::Args;
use exmc_draws::{StoredRun, read_run};

use crate::display::{put, put_json, say};
use crate::failure::{Exit, Failure};
use crate::report::Report;

/// Summarise a stored run, also one that is unfinished
#[derive(Args, Debug)]
pub(crate) struct SummaryArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Write JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// End with exit code 3 when there are warnings
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &SummaryArgs) -> Result<Exit, Failure> {
    let StoredRun { record, posterior, notes } = read_run(&args.directory)?;
    for note in &notes {
        say(&format!("note: {note}"));
    }
    if let Some(error) = &record.error {
        say(&format!("note: the run failed: {error}"));
    }
    let report = Report::of(posterior, record.status.name());
    if args.json {
        let mut json = report.to_json();
        json["directory"] = args.directory.display().to_string().into();
        json["notes"] = notes.into();
        put_json(&json)?;
    } else {
        put(&report.to_text(usize::MAX))?;
    }
    Ok(if args.check && report.has_warnings() { Exit::Diagnostics } else { Exit::Success })
}
