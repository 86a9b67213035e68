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

/// The tables of penalties and of policies' logits with a backend that needs more than a Rust
/// toolchain: `wgpu` and `vulkan` a Vulkan driver (Mesa's lavapipe will do:
/// `apt install mesa-vulkan-drivers libvulkan1`), `tch` the libtorch 2.9.0 that `LIBTORCH` names.
/// Each is a build of its own.
///
/// # Errors
/// The command that failed, or an unknown backend.
pub(crate) fn backend(name: &str) -> Result<(), String> {
    if !["tch", "vulkan", "wgpu"].contains(&name) {
        return Err(format!("no such backend: {name} (there are tch, vulkan, wgpu)"));
    }
    let folder = nn_target().join(name);
    let folder = folder.to_string_lossy().into_owned();
    let report = folder.clone() + "/report";
    std::fs::create_dir_all(&report).map_err(|e| format!("{report}: {e}"))?;
    let args = ["run", "--release", "-p", "matrix", "--features", name, "--target-dir", &folder];
    cargo(&[&args[..], &["--bin", "report", "--", &report, name]].concat(), &[])?;
    cargo(&[&args[..], &["--bin", "logits", "--", &report, name]].concat(), &[])
}

/// Switches each planted fault of the penalties on in turn and runs their tests, which must fail.
/// Writes `bench/record/nn-mutants-DATE.md` when it ran all.
///
/// # Errors
/// When the tests fail without a fault, or fewer than 95 % of the faults are caught.
pub(crate) fn mutants(names: &[&str]) -> Result<(), String> {
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
        command.current_dir(root().join("nn")).args(["test", "--workspace"]);
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
        let text = format!(
            "# Planted faults of the penalties\n\n{}\n\nCommand: `cargo xtask nn mutants`. Without a fault all tests of \
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
