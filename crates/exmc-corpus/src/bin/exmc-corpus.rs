//! Collections of Stan programs: a checkout's path -> a table on standard output.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use exmc_corpus::oracle::Oracle;
use exmc_corpus::{example_models, fuzz, posteriordb};

const USAGE: &str = "\
exmc-corpus posteriordb --dir PATH [--oracle PYTHON] [--host] [--double] [--sample] [NAME ...]
exmc-corpus example-models --dir PATH [--host] [--oracle PYTHON] [--list] [PART OF A PATH ...]
exmc-corpus fuzz --dir PATH [--programs PATH] [--seconds N] [--seed S] [TARGET ...]";

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
    let (mut seconds, mut seed, mut others) = (60, 1, None);
    let mut rest = rest.iter();
    while let Some(arg) = rest.next() {
        let mut path = || rest.next().map(PathBuf::from).ok_or(format!("{arg} needs a path"));
        match arg.as_str() {
            "--dir" => dir = Some(path()?),
            "--oracle" => settings.oracle = Some(path()?),
            "--sample" => settings.sample = true,
            "--double" => settings.double = true,
            "--host" => settings.host = true,
            "--programs" => others = Some(path()?),
            "--seconds" | "--seed" => {
                let number = path()?.to_string_lossy().parse();
                let number: u64 = number.map_err(|e| format!("{arg}: {e}"))?;
                *(if arg == "--seed" { &mut seed } else { &mut seconds }) = number;
            }
            "--list" => list = true,
            name if !name.starts_with('-') => settings.only.push(name.to_owned()),
            _ => return Err(USAGE.to_owned()),
        }
    }
    settings.dir = dir.ok_or(USAGE)?;
    match command.as_str() {
        "posteriordb" => {
            println!(
                "| posterior | d | nodes | parse + data + lower + compile, ms | finite | Stan | host | reference |"
            );
            println!("|---|---|---|---|---|---|---|---|");
            let rows =
                posteriordb::run(&settings, &mut |row| println!("{}", posteriordb::line(row)))?;
            println!("\n{}", posteriordb::totals(&rows));
            Ok(())
        }
        "example-models" => {
            let mut rows = Vec::new();
            let mut oracle = settings.oracle.as_deref().map(Oracle::start).transpose()?;
            for path in example_models::programs(&settings.dir)? {
                if !settings.only.is_empty()
                    && !settings.only.iter().any(|part| path.to_string_lossy().contains(&**part))
                {
                    continue;
                }
                let row = example_models::run(&path, settings.host, oracle.as_mut());
                if list && let Some(text) = example_models::note(&row) {
                    let shown = path.strip_prefix(&settings.dir).unwrap_or(&path).display();
                    println!("{shown}: {text}");
                }
                rows.push(row);
            }
            println!("{}", example_models::totals(&rows));
            Ok(())
        }
        "fuzz" => run_fuzz(&settings, others.as_deref(), Duration::from_secs(seconds), seed),
        _ => Err(USAGE.to_owned()),
    }
}

/// Runs all targets, or those that are named, for a time each, also over other people's programs;
/// an input that fails is kept.
fn run_fuzz(
    settings: &posteriordb::Settings,
    others: Option<&Path>,
    time: Duration,
    seed: u64,
) -> Result<(), String> {
    let kept = settings.dir.join("fuzz/artifacts");
    let wrong = |e: std::io::Error| format!("cannot write `{}`: {e}", kept.display());
    std::fs::create_dir_all(&kept).map_err(wrong)?;
    let mut failed = Vec::new();
    for target in fuzz::TARGETS {
        if !settings.only.is_empty() && !settings.only.iter().any(|name| name == target.name) {
            continue;
        }
        let corpus = fuzz::corpus(target, &settings.dir, others)?;
        let current = kept.join(format!("{}-current", target.name));
        let found = fuzz::fuzz(target, &corpus, seed, time, Some(&current));
        println!("{}: {} inputs", target.name, found.tried);
        match found.failing {
            Some(input) => {
                let path = kept.join(format!("{}-{seed}-{}", target.name, found.tried));
                std::fs::write(&path, input).map_err(wrong)?;
                failed.push(path.display().to_string());
            }
            None => std::fs::remove_file(&current).map_err(wrong)?,
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(format!("these fail: {}", failed.join(", "))) }
}
