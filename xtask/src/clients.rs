//! Clients of CmdStan and BridgeStan: their own test suites, run on exmc in its place -> which
//! tests pass, and a record.
//!
//! A client's tests are taken from a checkout of its repository, which is copied first: the tests
//! write into their own folders. What asks for something that exmc has no counterpart of is listed
//! in [`reasons`] with the reason, and does not count.

mod bridgestan;
mod cmdstanr;
mod pages;
mod reasons;

pub(crate) use pages::pages;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ci, record};

/// Share of the applicable tests that must pass.
const BAR: f64 = 0.95;

/// What became of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
}

/// `clients` with its arguments.
///
/// # Errors
/// When an argument is not understood, something does not run, or fewer tests pass than must.
pub(crate) fn clients(args: &[&str]) -> Result<(), String> {
    let (mut folder, mut python, mut exmc, mut only) = (None, "python3".to_owned(), None, None);
    let (mut bridgestan, mut cmdstanr, mut brms) = (None, None, None);
    let mut rscript = "Rscript".to_owned();
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        let mut value =
            || args.next().map(|v| (*v).to_owned()).ok_or(format!("{arg} needs a value"));
        match arg {
            "--cmdstanpy" => folder = Some(PathBuf::from(value()?)),
            "--bridgestan" => bridgestan = Some(PathBuf::from(value()?)),
            "--cmdstanr" => cmdstanr = Some(PathBuf::from(value()?)),
            "--brms" => brms = Some(PathBuf::from(value()?)),
            "--rscript" => rscript = value()?,
            "--python" => python = value()?,
            "--exmc" => exmc = Some(PathBuf::from(value()?)),
            "--only" => only = Some(value()?),
            other => return Err(format!("clients has no setting `{other}`: see cargo xtask")),
        }
    }
    let exmc = match exmc {
        Some(path) => path,
        None => {
            ci::cargo(&["build", "--release", "-p", "exmc-cli", "-p", "exmc-bridgestan"], &[])?;
            ci::target_folder().join("release/exmc")
        }
    };
    let work = ci::target_folder().join("clients");
    fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    if let Some(folder) = bridgestan {
        return bridgestan::run_tests(&folder, &python, &exmc, &work);
    }
    // Processes run in folders of their own.
    let work = work.canonicalize().map_err(|e| format!("{}: {e}", work.display()))?;
    if let Some(folder) = cmdstanr {
        return cmdstanr::run_tests((&folder, only.as_deref()), &rscript, &exmc, &work);
    }
    if let Some(folder) = brms {
        return cmdstanr::run_brms(&folder, &rscript, &exmc, &work);
    }
    let folder = folder.ok_or(
        "clients needs --cmdstanpy, --bridgestan, --cmdstanr or --brms with a checkout of the client's repository",
    )?;
    let home = work.join("cmdstan");
    let _ = fs::remove_dir_all(&home);
    run(Command::new(&exmc).args(["cmdstan", "install"]).arg(&home))?;
    let copy = work.join("cmdstanpy");
    let _ = fs::remove_dir_all(&copy);
    copy_folder(&folder.join("test"), &copy.join("test"))?;

    let version = output(Command::new(&python).args([
        "-c",
        "import cmdstanpy, sys; print(cmdstanpy.__version__, 'Python', sys.version.split()[0])",
    ]))?;
    let mut command = Command::new(&python);
    let tests = only.clone().unwrap_or_else(|| "test".to_owned());
    command.args(["-m", "pytest", &tests, "-q", "-rA", "--tb=line", "-p", "no:cacheprovider"]);
    command.current_dir(&copy).env("CMDSTAN", &home).env_remove("TQDM_DISABLE");
    command.env("COLUMNS", "400");
    let said = command.output().map_err(|e| format!("{python}: {e}"))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let outcomes = parse(&said);
    if outcomes.is_empty() {
        return Err(format!("pytest ran no test:\n{said}"));
    }
    let (text, share) =
        report(&outcomes, &format!("--cmdstanpy DIR --python PATH`, CmdStanPy {}", version.trim()));
    println!("{text}");
    if only.is_none() {
        let path = record::path("clients-cmdstanpy");
        let text = format!("# The tests of CmdStanPy on exmc\n\n{}\n\n{text}", record::machine());
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("written to {}", path.display());
    }
    pages::CMDSTANPY.run(&exmc, Command::new(&python))?;
    if share >= BAR {
        Ok(())
    } else {
        Err(format!("{:.1} % pass, {:.0} % must", 100.0 * share, 100.0 * BAR))
    }
}

/// The lines of pytest's summary: `PASSED test/test_x.py::name`, `FAILED name - why`.
fn parse(said: &str) -> BTreeMap<String, Outcome> {
    let mut outcomes = BTreeMap::new();
    for line in said.lines() {
        let Some((word, rest)) = line.split_once(' ') else { continue };
        let (name, why) = rest.split_once(" - ").unwrap_or((rest, ""));
        let name = name.trim().trim_start_matches("python/").trim_start_matches("test/").to_owned();
        match word {
            "PASSED" => _ = outcomes.insert(name, Outcome::Passed),
            "FAILED" | "ERROR" if name.contains("::") => {
                let why = why.trim().chars().take(160).collect();
                outcomes.insert(name, Outcome::Failed(why));
            }
            // `SKIPPED [2] test/test_x.py:12: why`: pytest counts these without names.
            "SKIPPED" => {
                let rest = rest.split_once("] ").map_or(rest, |(_, rest)| rest);
                let (place, why) = rest.split_once(": ").unwrap_or((rest, ""));
                let place = place.trim_start_matches("test/").to_owned();
                outcomes.insert(place, Outcome::Skipped(why.to_owned()));
            }
            _ => {}
        }
    }
    outcomes
}

/// The record, and the share of applicable tests that pass.
fn report(outcomes: &BTreeMap<String, Outcome>, version: &str) -> (String, f64) {
    let (mut passed, mut failed, mut apart) = (Vec::new(), Vec::new(), Vec::new());
    for (name, outcome) in outcomes {
        match (outcome, reasons::not_applicable(name)) {
            (Outcome::Skipped(why), _) => {
                apart.push((name, format!("skipped by the suite: {why}")))
            }
            (Outcome::Passed, _) => passed.push(name),
            (Outcome::Failed(_), Some(why)) => apart.push((name, why.to_owned())),
            (Outcome::Failed(why), None) => failed.push((name, why)),
        }
    }
    let applicable = passed.len() + failed.len();
    let share = passed.len() as f64 / applicable.max(1) as f64;
    let mut text = format!(
        "Command: `cargo xtask clients {version}.\n\n\
         {} of {applicable} applicable tests pass ({:.1} %); {} do not apply.\n",
        passed.len(),
        100.0 * share,
        apart.len()
    );
    let cell = |text: &str| text.replace('|', "\\|");
    if !failed.is_empty() {
        text.push_str("\n## Failed\n\n| test | what it said | reason |\n|---|---|---|\n");
        for (name, said) in &failed {
            let why = reasons::failure(name).unwrap_or("not known");
            let _ = writeln!(text, "| `{name}` | {} | {} |", cell(said), cell(why));
        }
    }
    if !apart.is_empty() {
        text.push_str("\n## Not applicable\n\n| test | why |\n|---|---|\n");
        for (name, why) in &apart {
            let _ = writeln!(text, "| `{name}` | {} |", cell(why));
        }
    }
    text.push_str("\n## Passed\n\n");
    for name in &passed {
        let _ = writeln!(text, "- `{name}`");
    }
    (text, share)
}

/// The version that a makefile of an installation tells of.
fn version<'a>(makefile: &'a str, variable: &str) -> Result<&'a str, String> {
    let value = |line: &'a str| line.strip_prefix(variable)?.strip_prefix(" := ");
    makefile.lines().find_map(value).ok_or_else(|| format!("the makefile has no {variable}"))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed")) }
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), String> {
    let wrong = |path: &Path, e: std::io::Error| format!("{}: {e}", path.display());
    fs::create_dir_all(to).map_err(|e| wrong(to, e))?;
    for entry in fs::read_dir(from).map_err(|e| wrong(from, e))? {
        let entry = entry.map_err(|e| wrong(from, e))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(|e| wrong(&path, e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_pytest_is_read() {
        let said = "....\nPASSED test/test_a.py::one\nFAILED test/test_a.py::two[x] - ValueError: no | yes\n\
                    SKIPPED [1] test/test_b.py:12: not here\nERROR test/test_cxx_installation.py::three - x\n";
        let outcomes = parse(said);
        assert_eq!(outcomes["test_a.py::one"], Outcome::Passed);
        let (text, share) = report(&outcomes, "--x`");
        assert_eq!(share, 0.5);
        assert!(text.contains("1 of 2 applicable tests pass (50.0 %); 2 do not apply."), "{text}");
        assert!(
            text.contains("| `test_a.py::two[x]` | ValueError: no \\| yes | not known |"),
            "{text}"
        );
    }
}
