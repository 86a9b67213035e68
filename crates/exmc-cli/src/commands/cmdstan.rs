//! `exmc cmdstan`: a folder that CmdStan's clients take for an installation of CmdStan.

use std::io;
use std::path::{Path, PathBuf};

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
    tell(install(directory, &own_file()?), directory, "CMDSTAN")
}

/// The file of this program, which installations are copies of.
pub(crate) fn own_file() -> Result<PathBuf, Failure> {
    std::env::current_exe().map_err(|error| {
        Failure::new(Exit::Io, format!("cannot find the file of this program: {error}"))
    })
}

/// Says where an installation lies and which variable of the environment names it, or why there is
/// none.
pub(crate) fn tell(
    installed: io::Result<PathBuf>,
    directory: &Path,
    variable: &str,
) -> Result<Exit, Failure> {
    let path = installed.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => Failure::new(Exit::Usage, error.to_string()),
        io::ErrorKind::InvalidInput => Failure::new(Exit::Io, error.to_string()),
        _ => Failure::new(Exit::Io, format!("cannot write `{}`: {error}", directory.display())),
    })?;
    let path = path.display();
    put(&format!("{path}\nset the environment variable {variable} to it\n"))?;
    Ok(Exit::Success)
}
