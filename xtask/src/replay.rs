//! Replays against other readers: a folder and a Python with peppi-py -> differences, speeds,
//! records.
//!
//! The work is done by examples of the crates `replay` and `features`, so that neither depends on
//! another reader.

use std::fmt::Write as _;
use std::process::Command;

use crate::{ci, record, root};

const PARITY_USAGE: &str = "usage: cargo xtask replay-parity --dir DIR --python PATH [--record]";
const BENCH_USAGE: &str = "usage: cargo xtask bench replay --dir DIR [--python PATH] [--record]";

/// The values of options that take one, and whether `--record` was given.
fn options<'a>(
    args: &[&'a str],
    usage: &str,
) -> Result<(Vec<&'a str>, Option<&'a str>, bool), String> {
    let (mut folders, mut python, mut is_recorded) = (Vec::new(), None, false);
    let mut rest = args.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().copied().ok_or_else(|| usage.to_owned());
        match *option {
            "--dir" => folders.push(value()?),
            "--python" => python = Some(value()?),
            "--record" => is_recorded = true,
            _ => return Err(usage.to_owned()),
        }
    }
    if folders.is_empty() { Err(usage.to_owned()) } else { Ok((folders, python, is_recorded)) }
}

/// Compares every field of every replay under the folders with what peppi reads of it.
///
/// # Errors
/// When a program does not run, or anything differs.
pub(crate) fn parity(args: &[&str]) -> Result<(), String> {
    let (folders, python, is_recorded) = options(args, PARITY_USAGE)?;
    let python = python.ok_or(PARITY_USAGE)?;
    let mut command = Command::new(ci::program());
    command.current_dir(root()).args(["run", "-p", "replay", "--example", "parity", "--", python]);
    let output = command.args(&folders).output().map_err(|e| format!("cargo: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{said}");
    if is_recorded {
        let text = format!(
            "# Replays against peppi\n\n{}\n\nCommand: `cargo xtask replay-parity --dir DIR --python PATH --record`. Every \
             pre-frame, post-frame, frame start, frame end and item field, setup, end and metadata of each file is compared \
             with peppi (by peppi-py), values as bits; each file is also written by our writer and compared again as peppi \
             reads it. Files are those of `tests/data` of hohav/peppi, the fixtures of blasphemetheus/exphil and one game of \
             vladfi1/slippi-ai with that project's own parse.\n\n```\n{said}```\n",
            record::machine()
        );
        write(&record::path("replay-parity"), &text)?;
    }
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("readings differ\n{}", String::from_utf8_lossy(&output.stderr)))
    }
}

/// Measures the reader, and peppi where a Python has it, and the way to batches.
///
/// # Errors
/// When a program does not run.
pub(crate) fn bench(args: &[&str]) -> Result<(), String> {
    let (folders, python, is_recorded) = options(args, BENCH_USAGE)?;
    let folder = folders[0];
    let mut lines = Vec::new();
    for (package, example) in [("replay", "measure_reader"), ("features", "measure_batches")] {
        let run = ["run", "--release", "-p", package, "--example", example, "--", folder];
        let mut command = Command::new(ci::program());
        let output = command.current_dir(root()).args(run).output();
        lines.push((example.to_owned(), said(output)?));
    }
    if let Some(python) = python {
        let script = root().join("crates/replay/examples/measure_peppi.py");
        let output = Command::new(python).arg(script).arg(folder).output();
        lines.push(("peppi-py".to_owned(), said(output)?));
    }
    let mut table = String::new();
    for (name, said) in &lines {
        for line in said.lines() {
            let _ = writeln!(table, "{name}: {line}");
        }
    }
    print!("{table}");
    if is_recorded {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let text = format!(
            "# Speed of reading replays\n\n{}\nLoad averages: {}.\n\nCommand: `cargo xtask bench replay --dir DIR --python PATH \
             --record`. Processor seconds of one thread, best of several rounds, files in memory (peppi reads them from the \
             disk's cache). `measure_reader`: all fields of all files; `measure_batches`: from a file's bytes to features and \
             targets of every player, windows of 32 frames.\n\n```\n{table}```\n",
            record::machine(),
            load.trim()
        );
        write(&record::path("replay-speed"), &text)?;
    }
    Ok(())
}

fn said(output: std::io::Result<std::process::Output>) -> Result<String, String> {
    let output = output.map_err(|e| e.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn write(path: &std::path::Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}
