//! `exmc bridgestan`: a folder that BridgeStan's clients take for theirs.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use exmc_cmdstan::bridgestan::{LIBRARY, install, library_of};

use super::cmdstan::{own_file, tell};
use crate::failure::{Exit, Failure};

/// Take the place of BridgeStan for its clients in Python, R, Julia and Rust
#[derive(Args, Debug)]
pub(crate) struct BridgestanArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Make a directory that clients take for BridgeStan's, or bring it up to date
    ///
    /// Set the environment variable `BRIDGESTAN` to it, or call the client's `set_bridgestan_path`.
    Install {
        /// The directory; it must not hold anything else
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// The library that models are copies of; it comes with exmc and lies beside it
        #[arg(long, value_name = "FILE")]
        library: Option<PathBuf>,
    },
}

pub(crate) fn run(args: &BridgestanArgs) -> Result<Exit, Failure> {
    let Command::Install { directory, library } = &args.command;
    let image = own_file()?;
    let library = library.clone().or_else(|| library_of(&image)).ok_or_else(|| {
        let folder = image.parent().unwrap_or(&image).display();
        let text = format!("there is no `{LIBRARY}` in `{folder}`: name the file with `--library`");
        Failure::new(Exit::Io, text)
    })?;
    tell(install(directory, &image, &library), directory, "BRIDGESTAN")
}
