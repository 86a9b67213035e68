//! Benchmarks: what to measure -> programs run, a dated table in `bench/record`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::{ci, root};

mod hierarchies;
mod kernels;
mod memory;
mod peer_tables;
mod peers;
mod posteriordb;
mod process;
mod sampler;
mod storage;

/// `bench kernels` with its arguments.
///
/// # Errors
/// When an argument is not understood, or measuring fails.
pub(crate) fn kernels(args: &[&str]) -> Result<(), String> {
    let (mut models, mut write_record, mut names) = (None, false, Vec::new());
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        match arg {
            "--models" => models = Some(folder(args.next(), arg)?),
            "--record" => write_record = true,
            name if name.starts_with('-') => {
                return Err(format!("bench kernels has no setting `{name}`: see cargo xtask"));
            }
            name => names.push(name),
        }
    }
    kernels::kernels(models.as_deref(), &names, write_record)
}

/// `bench peers` with its arguments.
///
/// # Errors
/// When an argument is not understood, or exmc's own side fails.
pub(crate) fn peers(args: &[&str]) -> Result<(), String> {
    peers::compare(&peers::read(args)?)
}

/// `bench posteriordb` with its arguments.
///
/// # Errors
/// When an argument is not understood, building fails, or there is no posterior.
pub(crate) fn posteriordb(args: &[&str]) -> Result<(), String> {
    posteriordb::posteriordb(args)
}

/// `bench hierarchies` with its arguments.
///
/// # Errors
/// When an argument is not understood, building fails, or a hierarchy has no truth or does not run.
pub(crate) fn hierarchies(args: &[&str]) -> Result<(), String> {
    hierarchies::hierarchies(args)
}

/// `bench storage` with its arguments.
///
/// # Errors
/// When an argument is not understood, or measuring fails.
pub(crate) fn storage(args: &[&str]) -> Result<(), String> {
    storage::storage(args)
}

/// `bench memory` with its arguments.
///
/// # Errors
/// When an argument is not understood, or a command fails.
pub(crate) fn memory(args: &[&str]) -> Result<(), String> {
    memory::memory(args)
}

/// A folder that exists, as an absolute path.
fn folder(given: Option<&&str>, setting: &str) -> Result<PathBuf, String> {
    let given = given.ok_or_else(|| format!("{setting} needs a folder"))?;
    std::fs::canonicalize(given).map_err(|e| format!("{setting} {given}: {e}"))
}

/// Builds a program of a crate and says where it lies.
fn build(package: &str, kind: &str, name: &str) -> Result<PathBuf, String> {
    ci::cargo(&["build", "--release", "-p", package, kind, name], &[])?;
    let folder = if kind == "--example" { "release/examples" } else { "release" };
    let program = ci::target_folder().join(folder).join(name);
    Ok(program.with_extension(std::env::consts::EXE_EXTENSION))
}

/// The JSON objects that a program prints, one a line; other lines are passed on.
fn records(program: &Path, args: &[&str]) -> Result<Vec<Value>, String> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    println!("$ {name} {}", args.join(" "));
    let output = Command::new(program)
        .args(args)
        .current_dir(root())
        .output()
        .map_err(|e| format!("{}: {e}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name}: {}: {}", output.status, complaint.trim()));
    }
    said.lines().map(|l| serde_json::from_str(l).map_err(|e| format!("{name}: {l}: {e}"))).collect()
}

/// A field that is a number.
fn number(record: &Value, name: &str) -> Option<f64> {
    record.get(name)?.as_f64()
}

/// A field that is a text.
fn text<'a>(record: &'a Value, name: &str) -> &'a str {
    record.get(name).and_then(Value::as_str).unwrap_or("")
}

/// A time with a unit that gives it one to three digits before the point.
fn duration(nanoseconds: Option<f64>) -> String {
    match nanoseconds {
        None => String::new(),
        Some(t) if t < 1e3 => format!("{t:.1} ns"),
        Some(t) if t < 1e6 => format!("{:.2} us", t / 1e3),
        Some(t) => format!("{:.2} ms", t / 1e6),
    }
}

/// A ratio, or nothing.
fn ratio(value: Option<f64>) -> String {
    value.map_or_else(String::new, |r| format!("{r:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        let found = [None, Some(12.34), Some(4_560.0), Some(7_890_000.0)].map(duration);
        assert_eq!(found, ["", "12.3 ns", "4.56 us", "7.89 ms"]);
    }
}
