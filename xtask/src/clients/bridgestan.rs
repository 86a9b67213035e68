//! BridgeStan's Python tests, run on exmc in its place -> which pass, and a record.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{BAR, copy_folder, output, page, parse, report, run};
use crate::record;

/// Runs the tests of a checkout, as one process for each group that the suite keeps apart, then the
/// code of `docs/from-bridgestan.md`.
///
/// # Errors
/// When something does not run, or fewer tests pass than must.
pub(super) fn run_tests(
    folder: &Path,
    python: &str,
    exmc: &Path,
    work: &Path,
) -> Result<(), String> {
    let home = work.join("bridgestan-home");
    let _ = fs::remove_dir_all(&home);
    run(Command::new(exmc).args(["bridgestan", "install"]).arg(&home))?;
    let copy = work.join("bridgestan");
    let _ = fs::remove_dir_all(&copy);
    copy_folder(&folder.join("python/test"), &copy.join("python/test"))?;
    copy_folder(&folder.join("test_models"), &copy.join("test_models"))?;
    // The tests expect the libraries of all models but two, which do not compile without C++.
    let models = copy.join("test_models").canonicalize().map_err(|e| e.to_string())?;
    for entry in fs::read_dir(&models).map_err(|e| format!("{}: {e}", models.display()))? {
        let path = entry.map_err(|e| format!("{}: {e}", models.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !["syntax_error", "external"].contains(&&*name) {
            let goal = path.join(format!("{name}_model.so"));
            run(Command::new("make").arg("STAN_THREADS=true").arg(goal).current_dir(&home))?;
        }
    }
    let version = output(Command::new(python).args([
        "-c",
        "import bridgestan, sys; print(bridgestan.__version__, 'Python', sys.version.split()[0])",
    ]))?;
    let mut outcomes = std::collections::BTreeMap::new();
    for group in ["default", "ad_hessian"] {
        let mut command = Command::new(python);
        command.args([
            "-m",
            "pytest",
            "python/test",
            "-q",
            "-rA",
            "--tb=line",
            "-p",
            "no:cacheprovider",
        ]);
        command.args(["--run-type", group]).current_dir(&copy);
        command.env("BRIDGESTAN", &home).env("COLUMNS", "400");
        let said = command.output().map_err(|e| format!("{python}: {e}"))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let found = parse(&said);
        if found.is_empty() {
            return Err(format!("pytest ran no test:\n{said}"));
        }
        // Tests of the other group are skipped.
        let other = |why: &str| why.contains("--run-type");
        outcomes.extend(found.into_iter().filter(|(_, outcome)| match outcome {
            super::Outcome::Skipped(why) => !other(why),
            _ => true,
        }));
    }
    let command = format!("--bridgestan DIR --python PATH`, BridgeStan {}", version.trim());
    let (text, share) = report(&outcomes, &command);
    println!("{text}");
    let path = record::path("clients-bridgestan");
    let text =
        format!("# The Python tests of BridgeStan on exmc\n\n{}\n\n{text}", record::machine());
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    let mut command = Command::new(python);
    command.env("BRIDGESTAN", &home);
    page("docs/from-bridgestan.md", "python", command, work)?;
    if share >= BAR {
        Ok(())
    } else {
        Err(format!("{:.1} % pass, {:.0} % must", 100.0 * share, 100.0 * BAR))
    }
}
