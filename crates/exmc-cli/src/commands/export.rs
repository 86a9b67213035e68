//! `exmc export DIR`: a stored run -> its draws in a form that other programs read.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use exmc_draws::{StoredRun, export_stan_csv, open_run};

use crate::display::{put, say};
use crate::failure::{Exit, Failure};

/// Write a stored run's draws in a form that other programs read
///
/// `stan-csv` is the form of CmdStan's output, which CmdStanPy, CmdStanR and ArviZ read: one file a
/// chain, `MODEL_1.csv`, `MODEL_2.csv` and so on. Files that exist are never written to.
#[derive(Args, Debug)]
pub(crate) struct ExportArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The form: `stan-csv` is CmdStan's
    #[arg(long, value_name = "F", default_value = "stan-csv")]
    format: Exported,
    /// Directory for the files [default: the run's own]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Where a run of `laplace` keeps its mode.
pub(crate) const MODE_FILE: &str = "mode.csv";

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Exported {
    StanCsv,
}

pub(crate) fn run(args: &ExportArgs) -> Result<Exit, Failure> {
    let Exported::StanCsv = args.format;
    let stored = open_run(&args.directory)?;
    for note in &stored.notes {
        say(&format!("note: {note}"));
    }
    let out = args.out.as_deref().unwrap_or(&args.directory);
    for path in export(&stored, &args.directory, out)? {
        put(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Success)
}

/// Writes the CmdStan CSV files of the run that `directory` holds.
pub(crate) fn export(
    run: &StoredRun,
    directory: &Path,
    out: &Path,
) -> Result<Vec<PathBuf>, Failure> {
    let data = directory.join("data.json").exists().then_some("data.json");
    // CmdStanPy opens this one.
    let mode = directory.join(MODE_FILE);
    let mode = mode.exists().then(|| mode.display().to_string());
    Ok(export_stan_csv(run, [data, mode.as_deref()], out)?)
}
