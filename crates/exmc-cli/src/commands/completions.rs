//! `exmc completions SHELL`: a script that completes the program's arguments.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};

use super::Cli;
use crate::display::put;
use crate::failure::{Exit, Failure};

/// Write a completion script for a shell
#[derive(Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "exmc", &mut script);
    put(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
