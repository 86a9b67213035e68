//! The second workspace, `nn/`: a stage's name -> its commands run.
//!
//! It has a lock file and a target folder of its own, so that building the engine needs no Burn.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::ci::{program, target_folder};
use crate::{record, root};

/// Folders of tests that the planted faults are tried on, quickest first.
const TESTED: [&str; 2] = ["nn/penalties/tests", "nn/matrix/tests"];

/// Format, lints, documentation and tests, as integration runs them.
///
/// # Errors
/// The command that failed.
pub(crate) fn stages() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"], &[])?;
    cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings".into())])?;
    test(false)
}

/// The tests; `quick` leaves out the table of all penalties on all devices.
///
/// # Errors
/// The command that failed.
pub(crate) fn test(quick: bool) -> Result<(), String> {
    let args: &[&str] =
        if quick { &["test", "-p", "plain", "-p", "penalties"] } else { &["test", "--workspace"] };
    cargo(args, &engine())
}

/// The engine's program for the tests that compare with it, if it has been built.
fn engine() -> Vec<(&'static str, OsString)> {
    let kinds = ["release", "debug"];
    let places = kinds.iter().map(|kind| target_folder().join(kind).join("exmc"));
    let found = places.map(|p| p.with_extension(std::env::consts::EXE_EXTENSION));
    found.filter(|p| p.is_file()).take(1).map(|p| ("EXMC_BIN", p.into_os_string())).collect()
}

/// The tables of penalties and of policies' logits with backends that need more than a Rust
/// toolchain, one or several with commas between them: `wgpu` and `vulkan` a Vulkan driver (Mesa's
/// lavapipe will do: `apt install mesa-vulkan-drivers libvulkan1`), `tch` PyTorch 2.9.0.
///
/// # Errors
/// The command that failed, or an unknown backend.
pub(crate) fn backend(args: &[&str]) -> Result<(), String> {
    let usage = "usage: cargo xtask nn backend tch|vulkan|wgpu[,...] [--python PATH] [--penalties] [--record]";
    let [names, rest @ ..] = args else { return Err(usage.to_owned()) };
    let chosen: Vec<&str> = names.split(',').collect();
    if !chosen.iter().all(|name| ["tch", "vulkan", "wgpu"].contains(name)) {
        return Err(usage.to_owned());
    }
    let (mut python, mut is_recorded, mut has_logits) = (None, false, true);
    let mut rest = rest.iter();
    while let Some(option) = rest.next() {
        match *option {
            "--python" => python = Some(PathBuf::from(*rest.next().ok_or(usage)?)),
            "--penalties" => has_logits = false,
            "--record" => is_recorded = true,
            _ => return Err(usage.to_owned()),
        }
    }
    let variables = match chosen.contains(&"tch") {
        true => libtorch(python)?,
        false => Vec::new(),
    };
    let (report, label) = match is_recorded {
        true => (root().join("bench/record"), format!("{}-{}", chosen.join("-"), record::today())),
        false => (nn_target().join("report"), chosen.join("-")),
    };
    std::fs::create_dir_all(&report).map_err(|e| format!("{}: {e}", report.display()))?;
    let report = report.to_string_lossy().into_owned();
    // Alone, the table of penalties needs none of the other backends, which take longest to build;
    // the logits need them all, and one build serves both.
    let only = ["--no-default-features"];
    let only = if has_logits { &only[1..] } else { &only[..] };
    let args = [&["run", "--release", "-p", "matrix"], only, &["--features", names]].concat();
    let table = [&args[..], &["--bin", "report", "--", &report, &label], &chosen].concat();
    // A backend's table shows what it misses; the logits must be there all the same.
    let table = cargo(&table, &variables);
    if !has_logits {
        return table;
    }
    let logits = [&args[..], &["--bin", "logits", "--", &report, &label]].concat();
    table.and(cargo(&logits, &variables))
}

/// What the build of `tch` and its programs need to find PyTorch's libraries, of the given Python,
/// of `LIBTORCH`, or of an environment that is made for them.
fn libtorch(python: Option<PathBuf>) -> Result<Vec<(&'static str, OsString)>, String> {
    if python.is_none() && std::env::var_os("LIBTORCH").is_some() {
        return Ok(Vec::new());
    }
    let python = match python {
        Some(python) => python,
        None => environment()?,
    };
    let output = Command::new(&python)
        .args(["-c", "import torch, os; print(os.path.dirname(torch.__file__))"])
        .output()
        .map_err(|e| format!("{}: {e}", python.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let package = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    // The build script asks the Python that comes first.
    let python_folder = python.parent().map(PathBuf::from).unwrap_or_default();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(python_folder).chain(std::env::split_paths(&others));
    let path = std::env::join_paths(paths).map_err(|e| e.to_string())?;
    let libraries = package.join("lib").into_os_string();
    Ok(vec![("LIBTORCH_USE_PYTORCH", "1".into()), ("PATH", path), ("LD_LIBRARY_PATH", libraries)])
}

/// A Python with the PyTorch that this version of `tch` wants, of several gigabytes.
fn environment() -> Result<PathBuf, String> {
    let folder = nn_target().join("pytorch");
    let python = folder.join("bin/python3");
    let run = |command: &mut Command| match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{command:?}: {status}")),
        Err(e) => Err(format!("{command:?}: {e}")),
    };
    if !python.is_file() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
        let packages = ["torch==2.9.0", "numpy"];
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(packages))?;
    }
    Ok(python)
}

/// Switches each planted fault of the penalties on in turn and runs their tests, which must fail.
/// Writes `bench/record/nn-mutants-DATE.md` when it ran all. `--release` among the names takes the
/// optimised build, which the reports have made already.
///
/// # Errors
/// When the tests fail without a fault, or fewer than 95 % of the faults are caught.
pub(crate) fn mutants(args: &[&str]) -> Result<(), String> {
    let (options, names): (Vec<&str>, Vec<&str>) = args.iter().partition(|a| **a == "--release");
    let source = std::fs::read_to_string(root().join("nn/penalties/src/fault.rs"))
        .map_err(|e| format!("nn/penalties/src/fault.rs: {e}"))?;
    let known = faults(&source);
    let chosen: Vec<&(String, String)> =
        known.iter().filter(|(name, _)| names.is_empty() || names.contains(&&**name)).collect();
    if chosen.is_empty() || !names.is_empty() && chosen.len() != names.len() {
        return Err(format!("no such fault among {names:?}"));
    }
    // The whole workspace with a choice of tests: with a choice of packages, features would differ
    // from those of the other stages, and Burn be built again.
    let tests = |folder: &str, fault: &str| -> Result<Option<String>, String> {
        let mut command = Command::new(program());
        command.current_dir(root().join("nn")).args(["test", "--workspace"]).args(&options);
        for name in test_programs(folder)? {
            command.args(["--test", &name]);
        }
        command.args(["--features", "matrix/planted"]).envs(engine());
        command.env("CARGO_TARGET_DIR", nn_target()).env("PENALTIES_FAULT", fault);
        let output = command.output().map_err(|e| format!("cargo test: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(None);
        }
        let failed = said.lines().filter(|l| l.starts_with("test ") && l.ends_with("FAILED"));
        let failed: Vec<&str> = failed.filter_map(|l| l.split(' ').nth(1)).collect();
        if failed.is_empty() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(Some(failed.join(", ")))
    };
    // The tests of one folder, up to the first program that fails, before those of the next.
    let run = |fault: &str| {
        let mut found = Ok(None);
        for folder in TESTED {
            found = tests(folder, fault);
            if !matches!(found, Ok(None)) {
                break;
            }
        }
        found
    };
    println!("building and running the tests without a fault");
    if let Some(failed) = run("")? {
        return Err(format!("without a fault, tests fail: {failed}"));
    }
    let mut table = String::from("| fault | what | caught by | seconds |\n|---|---|---|---|\n");
    let mut caught = 0;
    for (name, what) in &chosen {
        let began = Instant::now();
        let by = run(name)?;
        caught += usize::from(by.is_some());
        let by = by.unwrap_or_else(|| "**nothing**".to_owned());
        println!("{name}: {by}");
        let seconds = began.elapsed().as_secs_f64();
        let _ = writeln!(table, "| {name} | {what} | {by} | {seconds:.0} |");
    }
    println!("{table}\n{caught} of {} caught", chosen.len());
    if names.is_empty() {
        let command = ["cargo xtask nn mutants"].iter().chain(&options).copied();
        let command = command.collect::<Vec<_>>().join(" ");
        let text = format!(
            "# Planted faults of the penalties\n\n{}\n\nCommand: `{command}`. Without a fault all tests of \
             `penalties` and `matrix` pass. {caught} of {} caught.\n\n{table}",
            record::machine(),
            chosen.len()
        );
        let path = record::path("nn-mutants");
        std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    if caught * 100 >= chosen.len() * 95 {
        Ok(())
    } else {
        Err("fewer than 95 % of the faults are caught".to_owned())
    }
}

/// Names of the test programs in a folder.
fn test_programs(folder: &str) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(root().join(folder)).map_err(|e| format!("{folder}: {e}"))?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let programs = paths.filter(|path| path.extension().is_some_and(|e| e == "rs"));
    let mut names: Vec<String> =
        programs.filter_map(|p| p.file_stem().map(|s| s.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

/// Names and descriptions in the list of faults: lines `("name", "What."),`.
fn faults(source: &str) -> Vec<(String, String)> {
    let list = source.split("pub const ALL").nth(1).and_then(|rest| rest.split("];").next());
    let texts: Vec<&str> = list.unwrap_or_default().split('"').skip(1).step_by(2).collect();
    texts.chunks_exact(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// The release build of the program `policy`.
///
/// # Errors
/// When building fails.
pub(crate) fn policy() -> Result<PathBuf, String> {
    cargo(&["build", "--release", "-p", "policy", "--bin", "policy"], &[])?;
    Ok(nn_target().join("release/policy").with_extension(std::env::consts::EXE_EXTENSION))
}

/// Where the second workspace's builds go.
fn nn_target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder).join("nn"),
        None => root().join("nn/target"),
    }
}

/// Runs cargo in `nn/` with its output on the terminal.
fn cargo(args: &[&str], variables: &[(&str, OsString)]) -> Result<(), String> {
    println!("$ cd nn && cargo {}", args.join(" "));
    let mut command = Command::new(program());
    command.current_dir(root().join("nn")).args(args).env("CARGO_TARGET_DIR", nn_target());
    command.envs(variables.iter().map(|(name, value)| (*name, value)));
    let status = command.status().map_err(|e| format!("cargo {}: {e}", args.join(" ")))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {} in nn: {status}", args.join(" "))) }
}

#[cfg(test)]
mod tests {
    use super::faults;

    #[test]
    fn faults_are_read_from_their_list() {
        let source = "// \"no\"\npub const ALL: &[(&str, &str)] = &[\n    (\"a\", \"Wrong.\"),\n    (\n        \"b\",\n        \"Worse.\",\n    ),\n];\n\"c\"";
        let pairs = [("a", "Wrong."), ("b", "Worse.")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(faults(source), pairs);
    }
}
