//! CmdStanR's tests, and brms with CmdStanR behind it, run on exmc -> which pass, and records.
//!
//! The R packages that CmdStanR asks for must be there; CmdStanR itself is installed from the
//! checkout into a library of its own. Its tests look for CmdStan in the home folder, so each runs
//! with one that has our directory in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Outcome, copy_folder, output, pages, parse, report, run, version};
use crate::{record, root};

/// Share of the applicable tests that must pass.
const BAR: f64 = 0.9;

/// Runs one file of tests.
const TEST_FILE: &str = include_str!("test_file.R");

/// Fits models of four kinds and compares them with what their data were made from.
const BRMS_MODELS: &str = "bench/peers/brms_models.R";

/// R with CmdStanR, and a home folder that has our directory in CmdStan's place.
struct R {
    program: String,
    library: PathBuf,
    home: PathBuf,
}

impl R {
    /// Installs our directory and CmdStanR.
    fn new(folder: &Path, program: &str, exmc: &Path, work: &Path) -> Result<Self, String> {
        let first = work.join("cmdstan");
        let _ = fs::remove_dir_all(&first);
        run(Command::new(exmc).args(["cmdstan", "install"]).arg(&first))?;
        let makefile = fs::read_to_string(first.join("makefile")).map_err(|e| e.to_string())?;
        let version = version(&makefile, "CMDSTAN_VERSION")?;
        let (library, home) = (work.join("r-library"), work.join("home"));
        let _ = fs::remove_dir_all(&home);
        for path in [&library, &home.join(".cmdstan")] {
            fs::create_dir_all(path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let place = home.join(format!(".cmdstan/cmdstan-{version}"));
        run(Command::new(exmc).args(["cmdstan", "install"]).arg(place))?;
        let r = Self { program: program.to_owned(), library, home };
        let install = "args <- commandArgs(TRUE); \
                       install.packages(args[1], lib = args[2], repos = NULL, type = 'source', \
                       INSTALL_opts = '--no-docs', quiet = TRUE)";
        let folder = folder.canonicalize().map_err(|e| format!("{}: {e}", folder.display()))?;
        run(r.command().args(["-e", install]).arg(folder).arg(&r.library))?;
        Ok(r)
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("HOME", &self.home).env("R_LIBS", &self.library).env("NOT_CRAN", "true");
        command.env("CMDSTANR_NO_VER_CHECK", "true").env_remove("CMDSTAN");
        command
    }

    fn version(&self, packages: &str) -> Result<String, String> {
        let script = format!(
            "for (p in strsplit('{packages}', ' ')[[1]]) cat(p, as.character(packageVersion(p)), ''); \
             cat('R', as.character(getRversion()))"
        );
        output(self.command().args(["-e", &script]))
    }
}

/// Runs the tests of a checkout, each file in a process of its own.
///
/// # Errors
/// When something does not run, or fewer tests pass than must.
pub(super) fn run_tests(
    (folder, only): (&Path, Option<&str>),
    program: &str,
    exmc: &Path,
    work: &Path,
) -> Result<(), String> {
    let r = R::new(folder, program, exmc, work)?;
    let copy = work.join("cmdstanr");
    let _ = fs::remove_dir_all(&copy);
    copy_folder(&folder.join("tests/testthat"), &copy.join("tests/testthat"))?;
    let tests = copy.join("tests/testthat").canonicalize().map_err(|e| e.to_string())?;
    let script = work.join("test_file.R");
    fs::write(&script, TEST_FILE).map_err(|e| format!("{}: {e}", script.display()))?;
    let script = script.canonicalize().map_err(|e| e.to_string())?;
    let mut files: Vec<String> = fs::read_dir(&tests)
        .map_err(|e| format!("{}: {e}", tests.display()))?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with("test-") && name.ends_with(".R"))
        .filter(|name| only.is_none_or(|only| name == only))
        .collect();
    files.sort();
    let mut outcomes: BTreeMap<String, Outcome> = BTreeMap::new();
    for file in files {
        println!("{file}");
        let said = r.command().arg(&script).arg(&file).current_dir(&tests).output();
        let said = said.map_err(|e| format!("{program}: {e}"))?;
        let found = parse(&String::from_utf8_lossy(&said.stdout));
        if found.is_empty() {
            let why = String::from_utf8_lossy(&said.stderr).lines().last().map(str::to_owned);
            let name = format!("{file}::all");
            outcomes.insert(name, Outcome::Failed(why.unwrap_or_default()));
        }
        outcomes.extend(found);
    }
    let version = r.version("cmdstanr posterior testthat")?;
    let (text, share) = report(&outcomes, &format!("--cmdstanr DIR`, {version}"));
    println!("{text}");
    if only.is_none() {
        let path = record::path("clients-cmdstanr");
        let text = format!("# The tests of CmdStanR on exmc\n\n{}\n\n{text}", record::machine());
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("written to {}", path.display());
    }
    if share >= BAR {
        Ok(())
    } else {
        Err(format!("{:.1} % pass, {:.0} % must", 100.0 * share, 100.0 * BAR))
    }
}

/// Runs brms on models of four kinds, and the R code of `docs/from-cmdstanr-and-brms.md`.
///
/// # Errors
/// When something does not run, or an estimate is not where it must be.
pub(super) fn run_brms(
    folder: &Path,
    program: &str,
    exmc: &Path,
    work: &Path,
) -> Result<(), String> {
    let r = R::new(folder, program, exmc, work)?;
    let said = output(r.command().arg(root().join(BRMS_MODELS)).current_dir(work))?;
    println!("{said}");
    let version = r.version("brms cmdstanr posterior")?;
    let text = format!(
        "# Models of brms on exmc\n\n{}\n\nCommand: `cargo xtask clients --brms DIR`, {version}.\n\n\
         What `{BRMS_MODELS}` says: `backend = \"cmdstanr\"`, four chains each, estimates beside the \
         values that the data were made from.\n\n```text\n{}\n```\n",
        record::machine(),
        said.trim_end()
    );
    let path = record::path("clients-brms");
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    pages::CMDSTANR.run(exmc, r.command())
}
