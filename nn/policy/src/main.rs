//! The program `policy`: arguments -> a command's output and an exit code.

mod commands;

use std::process::ExitCode;

fn main() -> ExitCode {
    commands::main()
}
