//! Arguments -> one command; errors -> stderr and an exit code.

mod demo;
mod head;
mod judge;
mod play;
mod train;

use std::io::Write;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use plain::policy::Checkpoint;
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
    /// Says what a policy's file holds.
    Info(judge::Info),
    /// Judges a policy on replays.
    Eval(judge::Eval),
    /// Plays the stub game, whose optimum is known.
    Rollout(play::Rollout),
    /// Plays a game of another program by lines of JSON.
    Play(play::Play),
    /// Measures how long single actions take.
    Bench(play::Bench),
    /// Writes what a component's last layer sees as Stan data, or puts sampled weights back.
    ExportHead(head::ExportHead),
    /// Draws the loss of a run.
    Plot(judge::Plot),
    /// Shows everything on replays that it makes itself, in about a minute.
    Demo(demo::Demo),
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
        Command::Info(info) => info.run(),
        Command::Eval(eval) => eval.run(),
        Command::Rollout(rollout) => rollout.run(),
        Command::Play(play) => play.run(),
        Command::Bench(bench) => bench.run(),
        Command::ExportHead(head) => head.run(),
        Command::Plot(plot) => plot.run(),
        Command::Demo(demo) => demo.run(),
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

/// Says a line on stderr, where stdout carries something else.
pub(crate) fn note(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}

/// Opens a policy's file.
pub(crate) fn open(path: &std::path::Path) -> Result<Checkpoint, Error> {
    let bytes = std::fs::read(path).map_err(|e| Error::unreadable(path, &e))?;
    let in_file = |e: Error| e.context(format!("`{}`", path.display()));
    Checkpoint::read(&bytes).map_err(|e| in_file(e.into()))
}

/// A file's text.
pub(crate) fn read_text(path: &std::path::Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(|e| Error::unreadable(path, &e))
}
