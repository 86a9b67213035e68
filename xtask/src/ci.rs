//! What continuous integration runs, in order: nothing -> the first step that fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{root, tidy};

/// Format, lints of this platform and of one without generated code, dependencies' licences,
/// documentation, the facade's public items, tidy, tests; then the stages of the second workspace,
/// whose tests use the engine's program.
///
/// # Errors
/// The command that failed; its output went to the terminal.
pub(crate) fn ci() -> Result<(), String> {
    cargo(&["fmt", "--all", "--check"], &[])?;
    cargo(&["clippy", "--workspace", "--lib", "--bins", "--", "-D", "warnings"], &[])?;
    // Tests, examples and benches may use the platform's functions and maps, which the bans keep
    // out of the product.
    let others =
        ["clippy", "--workspace", "--tests", "--examples", "--benches", "--", "-D", "warnings"];
    let allowed = ["-A", "clippy::disallowed_methods", "-A", "clippy::disallowed_types"];
    cargo(&[&others[..], &allowed[..]].concat(), &[])?;
    other_platform()?;
    dependencies()?;
    cargo(&["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    cargo(&["xtask", "api"], &[])?;
    tidy::tidy()?;
    cargo(&["test", "--workspace"], &[])
}

/// All tests of the engine; `quick` leaves out integration tests, for a short loop.
///
/// # Errors
/// The command that failed.
pub(crate) fn test(quick: bool) -> Result<(), String> {
    let engine: &[&str] =
        if quick { &["test", "--workspace", "--lib", "--bins"] } else { &["test", "--workspace"] };
    cargo(engine, &[])
}

/// Licences, bans and sources of both workspaces' dependencies, if `cargo deny` is installed.
/// Advisories, which take a network, are a job of the workflow.
fn dependencies() -> Result<(), String> {
    let asked = Command::new("cargo").args(["deny", "--version"]).output();
    if !asked.is_ok_and(|output| output.status.success()) {
        println!("skipped: dependencies, as there is no `cargo deny` (cargo install cargo-deny)");
        return Ok(());
    }
    for manifest in ["Cargo.toml", "nn/Cargo.toml"] {
        let checks = ["check", "bans", "licenses", "sources"];
        cargo(&[&["deny", "--manifest-path", manifest][..], &checks[..]].concat(), &[])?;
    }
    Ok(())
}

/// A platform without generated code.
const OTHER: &str = "aarch64-unknown-linux-gnu";

/// The lints of what is compiled in other ways on a platform without generated code, if its
/// standard library is installed.
fn other_platform() -> Result<(), String> {
    let output =
        Command::new("rustc").args(["--print", "target-libdir", "--target", OTHER]).output();
    let output = output.map_err(|e| format!("rustc: {e}"))?;
    let folder = String::from_utf8_lossy(&output.stdout).into_owned();
    if !Path::new(folder.trim()).is_dir() {
        println!("skipped: lints for {OTHER}, whose standard library is not installed");
        return Ok(());
    }
    let lints = ["clippy", "-p", "exmc-exec", "-p", "exmc-math", "--target", OTHER, "--lib"];
    cargo(&[&lints[..], &["--", "-D", "warnings"]].concat(), &[])
}

/// Runs cargo in the repository's root with its output on the terminal.
pub(crate) fn cargo(args: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    println!("$ cargo {}", args.join(" "));
    let mut command = Command::new(program());
    command.current_dir(root()).args(args).envs(variables.iter().copied());
    let status = command.status().map_err(|e| format!("cargo {}: {e}", args.join(" ")))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {}: {status}", args.join(" "))) }
}

/// The cargo that runs this program.
pub(crate) fn program() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
