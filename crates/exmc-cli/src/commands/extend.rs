//! `exmc extend DIR --draws N`: a run -> the same with more draws.

use std::path::PathBuf;

use clap::Args;

use crate::commands::resume::{ReportArgs, go_on};
use crate::failure::{Exit, Failure};
use crate::settings::{CheckpointArgs, whole_number};

/// Append draws to a run
///
/// The run is then the one that it would have been with as many draws from the start, to the bit.
#[derive(Args, Debug)]
pub(crate) struct ExtendArgs {
    /// The run's directory
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Draws of each chain after warmup, in all
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    draws: u64,
    /// Threads to run chains on; the draws do not depend on it [default: as before]
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    #[command(flatten)]
    checkpoints: CheckpointArgs,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

pub(crate) fn run(args: &ExtendArgs) -> Result<Exit, Failure> {
    go_on(&args.directory, Some(args.draws), (args.threads, &args.checkpoints), &args.report)
}
