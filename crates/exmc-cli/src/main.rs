//! The program `exmc`: arguments -> a command's output, its messages and an exit code.

mod commands;
mod display;
mod failure;
mod panics;
mod points;
mod progress;
mod report;
mod settings;
mod signals;
mod source;
mod table;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    panics::guard(commands::run)
}
