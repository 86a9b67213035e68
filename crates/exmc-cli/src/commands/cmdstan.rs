//! `exmc cmdstan`: a folder that CmdStan's clients take for an installation of CmdStan.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use exmc_cmdstan::install;

use crate::display::put;
use crate::failure::{Exit, Failure};

/// Take the place of CmdStan for CmdStanPy, CmdStanR and shell scripts
#[derive(Args, Debug)]
pub(crate) struct CmdstanArgs {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Make a directory that clients take for a CmdStan installation, or bring it up to date
    ///
    /// Set the environment variable `CMDSTAN` to it, or call the client's `set_cmdstan_path`.
    Install {
        /// The directory; it must not hold anything else
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

pub(crate) fn run(args: &CmdstanArgs) -> Result<Exit, Failure> {
    let Command::Install { directory } = &args.command;
    let image = std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Io, format!("cannot find the file of this program: {error}"))
    })?;
    let path = install(directory, &image).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::new(Exit::Usage, error.to_string()),
        _ => Failure::new(Exit::Io, format!("cannot write `{}`: {error}", directory.display())),
    })?;
    let path = path.display();
    put(&format!("{path}\nset the environment variable CMDSTAN to it\n"))?;
    Ok(Exit::Success)
}
