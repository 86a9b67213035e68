//! Collections of Stan programs: a checkout's path -> a table on standard output.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::path::PathBuf;
use std::process::ExitCode;

use exmc_corpus::example_models::{self, Outcome};
use exmc_corpus::posteriordb;

const USAGE: &str = "\
exmc-corpus posteriordb --dir PATH [--oracle PYTHON] [--sample] [NAME ...]
exmc-corpus example-models --dir PATH [--list]";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> Result<(), String> {
    let (command, rest) = args.split_first().ok_or(USAGE)?;
    let (mut dir, mut settings, mut list) = (None, posteriordb::Settings::default(), false);
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        let mut path = || rest.next().map(PathBuf::from).ok_or(format!("{arg} needs a path"));
        match arg.as_str() {
            "--dir" => dir = Some(path()?),
            "--oracle" => settings.oracle = Some(path()?),
            "--sample" => settings.sample = true,
            "--list" => list = true,
            name if !name.starts_with('-') => settings.only.push(name.to_owned()),
            _ => return Err(USAGE.to_owned()),
        }
    }
    settings.dir = dir.ok_or(USAGE)?;
    match command.as_str() {
        "posteriordb" => {
            println!(
                "| posterior | d | nodes | parse + data + lower + compile, ms | finite | Stan | reference |"
            );
            println!("|---|---|---|---|---|---|---|");
            let rows =
                posteriordb::run(&settings, &mut |row| println!("{}", posteriordb::line(row)))?;
            println!("\n{}", posteriordb::totals(&rows));
            Ok(())
        }
        "example-models" => {
            let (mut counts, mut with_model) = ([0_usize; 6], 0);
            for path in example_models::programs(&settings.dir)? {
                let row = example_models::run(&path);
                let shown = path.strip_prefix(&settings.dir).unwrap_or(&path).display();
                let (kind, text) = match &row.outcome {
                    Outcome::Rejected(e) => (0, format!("rejected: {e}")),
                    Outcome::BadData(e) => (1, format!("data: {e}")),
                    Outcome::NotCompiled(e) => (2, format!("not compiled: {e}")),
                    Outcome::Compiled(true) => (3, String::new()),
                    Outcome::Compiled(false) => (4, "nowhere finite".to_owned()),
                    Outcome::Accepted => (5, String::new()),
                };
                if row.has_model {
                    with_model += 1;
                    counts[kind] += 1;
                }
                if list && !text.is_empty() {
                    println!("{shown}: {text}");
                }
            }
            let [rejected, data, not_compiled, compiled, nowhere, accepted] = counts;
            println!(
                "{with_model} programs with a model: {rejected} rejected, {data} with data that do not fit, {not_compiled} not compiled, {compiled} compiled, {nowhere} compiled and nowhere finite, {accepted} accepted without data"
            );
            Ok(())
        }
        _ => Err(USAGE.to_owned()),
    }
}
