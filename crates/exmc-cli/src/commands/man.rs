//! `exmc man`: manual pages of the program and of each command, in the form of `man`.

use std::path::{Path, PathBuf};

use clap::{Args, Command, CommandFactory};
use clap_mangen::Man;

use super::Cli;
use crate::display::put;
use crate::failure::{Exit, Failure};

/// Write manual pages
#[derive(Args, Debug)]
pub(crate) struct ManArgs {
    /// Directory for a page of each command, `exmc-sample.1` and so on [default: the program's page
    /// goes to standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &ManArgs) -> Result<Exit, Failure> {
    let mut program = Cli::command();
    program.build();
    let Some(out) = &args.out else {
        put(&page(&program)?)?;
        return Ok(Exit::Success);
    };
    std::fs::create_dir_all(out).map_err(|error| cannot_write(out, &error))?;
    let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
    let of_commands = commands.map(|command| {
        let name = format!("exmc-{}", command.get_name());
        (name.clone(), command.clone().name(name))
    });
    for (name, command) in std::iter::once(("exmc".to_owned(), program.clone())).chain(of_commands)
    {
        let path = out.join(format!("{name}.1"));
        std::fs::write(&path, page(&command)?).map_err(|error| cannot_write(&path, &error))?;
        put(&format!("{}\n", path.display()))?;
    }
    Ok(Exit::Success)
}

fn page(command: &Command) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    Man::new(command.clone()).render(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(Exit::Io, format!("cannot write `{}`: {error}", path.display()))
}
