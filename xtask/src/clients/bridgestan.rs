//! BridgeStan's Python tests, run on exmc in its place, and what other clients do with it -> which
//! tests pass, and a record.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{BAR, copy_folder, output, pages, parse, report, run, version};
use crate::ci::program;
use crate::{record, root};

/// Samples a program through the library.
const NUTPIE: &str = "bench/peers/nutpie_schools.py";

/// A program with the client of Rust.
const RUST: &str = "bench/peers/bridgestan_client.rs";

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
    let client = output(Command::new(python).args([
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
    let command = format!("--bridgestan DIR --python PATH`, BridgeStan {}", client.trim());
    let (text, share) = report(&outcomes, &command);
    println!("{text}");
    let path = record::path("clients-bridgestan");
    let others = [("nutpie", nutpie(python, &home)), ("the crate `bridgestan`", rust(&home, work))];
    let mut lines = String::new();
    for (name, said) in &others {
        let said = said.as_ref().map_or_else(|why| format!("FAILED: {why}"), Clone::clone);
        let _ = writeln!(lines, "### {name}\n\n```text\n{}\n```\n", said.trim());
    }
    println!("{lines}");
    let text = format!(
        "# The Python tests of BridgeStan on exmc\n\n{}\n\n{text}\n## Other clients\n\n\
         What `{NUTPIE}` and `{RUST}` say, with the same directory.\n\n{}\n",
        record::machine(),
        lines.trim_end()
    );
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    pages::BRIDGESTAN.run(exmc, Command::new(python))?;
    if let Some((name, _)) = others.iter().find(|(_, said)| said.is_err()) {
        return Err(format!("{name} fails: see above"));
    }
    if share >= BAR {
        Ok(())
    } else {
        Err(format!("{:.1} % pass, {:.0} % must", 100.0 * share, 100.0 * BAR))
    }
}

/// What [`NUTPIE`] says.
fn nutpie(python: &str, home: &Path) -> Result<String, String> {
    let script = root().join(NUTPIE).canonicalize().map_err(|e| format!("{NUTPIE}: {e}"))?;
    output(Command::new(python).arg("-W").arg("ignore").arg(script).env("BRIDGESTAN", home))
}

/// What [`RUST`] says: a package of its own, whose dependency needs libclang (`LIBCLANG_PATH`).
fn rust(home: &Path, work: &Path) -> Result<String, String> {
    let folder = work.join("bridgestan-rust");
    let source = folder.join("src");
    fs::create_dir_all(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let makefile = fs::read_to_string(home.join("Makefile")).map_err(|e| e.to_string())?;
    let version = version(&makefile, "BRIDGESTAN_VERSION")?;
    let manifest = format!(
        "[package]\nname = \"client\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\nbridgestan = \"={version}\"\n\n[workspace]\n"
    );
    let wrong = |e: std::io::Error| format!("{}: {e}", folder.display());
    fs::write(folder.join("Cargo.toml"), manifest).map_err(wrong)?;
    fs::copy(root().join(RUST), source.join("main.rs")).map_err(wrong)?;
    let home = home.canonicalize().map_err(wrong)?;
    let mut cargo = Command::new(program());
    cargo.args(["run", "--quiet", "--"]).arg(home).current_dir(&folder);
    output(cargo.env("CARGO_TARGET_DIR", folder.join("target")))
}
