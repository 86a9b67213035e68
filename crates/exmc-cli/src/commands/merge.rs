//! `exmc merge DIR... --out DIR`: chains that ran apart -> one run.

use std::path::PathBuf;

use clap::Args;
use exmc_draws::merge_runs;

use crate::display::{put, say};
use crate::failure::{Exit, Failure};

/// Put chains together that ran apart (`exmc sample --chain K`)
///
/// Runs of another model, other data, settings or another version are refused, and so is a run that
/// lacks a chain. The order of the directories does not matter.
#[derive(Args, Debug)]
pub(crate) struct MergeArgs {
    /// Directories of runs
    #[arg(value_name = "DIR", required = true)]
    directories: Vec<PathBuf>,
    /// Directory for the run; it must not be there yet
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn run(args: &MergeArgs) -> Result<Exit, Failure> {
    for note in merge_runs(&args.directories, &args.out)? {
        say(&format!("note: {note}"));
    }
    put(&format!("draws are in `{}`\n", args.out.display()))?;
    Ok(Exit::Success)
}
