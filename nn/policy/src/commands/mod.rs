//! Arguments -> one command; errors -> stderr and an exit code.

mod train;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use policy::Error;

/// Learns a game controller's policy from Slippi replays, judges it and plays it.
#[derive(Debug, Parser)]
#[command(name = "policy", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Trains a policy on replays.
    Train(train::Train),
    /// Goes on with a run that was stopped or killed.
    Resume(train::Resume),
}

/// Runs the program.
pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and the version go to stdout and are no mistake.
            error.print().ok();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let done = match &arguments.command {
        Command::Train(train) => train.run(),
        Command::Resume(resume) => resume.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(std::io::stderr(), "error: {error}").ok();
            ExitCode::from(error.exit_code())
        }
    }
}

/// Says a line on stdout. A reader that is gone ends nothing: files matter more.
pub(crate) fn say(line: &str) {
    writeln!(std::io::stdout(), "{line}").ok();
}

/// A file's text.
pub(crate) fn read_text(path: &std::path::Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|e| Error::unreadable(path, &e))
}
