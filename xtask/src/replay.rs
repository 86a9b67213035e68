//! Replays against other readers: a folder and a Python with peppi-py -> differences, speeds,
//! records.
//!
//! The work is done by examples of the crates `replay` and `features`, so that neither depends on
//! another reader.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ci, record, root};

const PARITY_USAGE: &str = "usage: cargo xtask replay-parity --dir DIR --python PATH [--record]";
const BENCH_USAGE: &str =
    "usage: cargo xtask bench replay --dir DIR [--peppi] [--python PATH] [--record]";

/// What both commands take.
#[derive(Default)]
struct Options<'a> {
    folders: Vec<&'a str>,
    python: Option<&'a str>,
    has_peppi: bool,
    is_recorded: bool,
}

fn options<'a>(args: &[&'a str], usage: &str) -> Result<Options<'a>, String> {
    let mut options = Options::default();
    let mut rest = args.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().copied().ok_or_else(|| usage.to_owned());
        match *option {
            "--dir" => options.folders.push(value()?),
            "--python" => options.python = Some(value()?),
            "--peppi" => options.has_peppi = true,
            "--record" => options.is_recorded = true,
            _ => return Err(usage.to_owned()),
        }
    }
    if options.folders.is_empty() { Err(usage.to_owned()) } else { Ok(options) }
}

/// Compares every field of every replay under the folders with what peppi reads of it.
///
/// # Errors
/// When a program does not run, or anything differs.
pub(crate) fn parity(args: &[&str]) -> Result<(), String> {
    let options = options(args, PARITY_USAGE)?;
    let python = options.python.ok_or(PARITY_USAGE)?;
    let mut command = Command::new(ci::program());
    command.current_dir(root()).args(["run", "-p", "replay", "--example", "parity", "--", python]);
    let output = command.args(&options.folders).output().map_err(|e| format!("cargo: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{said}");
    if options.is_recorded {
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

/// Measures the reader and the way to batches, and beside them the crate peppi and peppi-py where
/// they are asked for.
///
/// # Errors
/// When a program does not run, or peppi read something else.
pub(crate) fn bench(args: &[&str]) -> Result<(), String> {
    let options = options(args, BENCH_USAGE)?;
    let scratch = ci::target_folder().join("replays");
    let folder = unpacked(&options.folders, &scratch)?;
    let mut lines = Vec::new();
    for (package, example) in [("replay", "measure_reader"), ("features", "measure_batches")] {
        let run = ["run", "--release", "-p", package, "--example", example, "--"];
        let mut command = Command::new(ci::program());
        let output = command.current_dir(root()).args(run).arg(&folder).output();
        lines.push((example.to_owned(), said(output)?));
    }
    if let Some(python) = options.python {
        let script = root().join("crates/replay/examples/measure_peppi.py");
        let output = Command::new(python).arg(script).arg(&folder).output();
        lines.push(("peppi-py".to_owned(), said(output)?));
    }
    let mut table = String::new();
    for (name, said) in &lines {
        for line in said.lines() {
            let _ = writeln!(table, "{name}: {line}");
        }
    }
    let peppi = if options.has_peppi { against_peppi(&folder)? } else { String::new() };
    print!("{table}\n{peppi}");
    let mut stored = String::new();
    if let (Some(python), true) = (options.python, options.has_peppi) {
        let mut command = Command::new(ci::program());
        command.current_dir(root()).args(["run", "-p", "replay", "--example", "parity", "--"]);
        stored = said(command.arg(python).args(&options.folders).output())?;
        print!("\n{stored}");
    }
    if options.is_recorded {
        let mut text = format!(
            "# Speed of reading replays\n\n{}\n{}\n\nCommand: `cargo xtask bench replay --dir DIR [--peppi] [--python PATH] \
             --record`. Processor seconds of one thread, best of several rounds, files in memory (peppi-py reads them from the \
             disk's cache). `measure_reader`: all fields of all files; `measure_batches`: from a file's bytes to features and \
             targets of every player, windows of 32 frames.\n\n```\n{table}```\n",
            record::machine(),
            record::load()
        );
        if options.has_peppi {
            let _ = write!(
                text,
                "\n## The crate peppi\n\npeppi {PEPPI}, compiled by this command in a folder of its own with the settings of our \
                 release builds. Each file is read by both in turn, from memory, 15 rounds, the least time \
                 counts. 14 columns of every character are compared as bits.\n\n{peppi}"
            );
        }
        if !stored.is_empty() {
            let _ = write!(
                text,
                "\n## Every field\n\nOur reading against peppi's (by peppi-py), of each file as it is and as our writer writes it, and \
                 against the parquet that slippi-ai stored of the human game (`cargo xtask replay-parity`).\n\n```\n{stored}```\n"
            );
        }
        write(&record::path("replay-speed"), &text)?;
    }
    Ok(())
}

/// The version of the crate peppi that is measured.
const PEPPI: &str = "2.1.2";

/// A folder with the replays of all folders, those inside of .zip archives unpacked.
pub(crate) fn unpacked(folders: &[&str], scratch: &Path) -> Result<PathBuf, String> {
    let located = |path: &Path, e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
    // What an earlier call left.
    let _ = fs::remove_dir_all(scratch);
    for (k, folder) in folders.iter().enumerate() {
        let (from, place) = (Path::new(folder), scratch.join(k.to_string()));
        fs::create_dir_all(&place).map_err(|e| located(&place, &e))?;
        let entries = fs::read_dir(from).map_err(|e| located(from, &e))?;
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            let name = path.file_name().unwrap_or_default();
            if path.extension().is_some_and(|e| e == "slp") {
                fs::copy(&path, place.join(name)).map_err(|e| located(&path, &e))?;
            } else if path.extension().is_some_and(|e| e == "zip") {
                let file = fs::File::open(&path).map_err(|e| located(&path, &e))?;
                let mut archive = zip::ZipArchive::new(file).map_err(|e| located(&path, &e))?;
                archive.extract(place.join(name)).map_err(|e| located(&path, &e))?;
            }
        }
    }
    Ok(scratch.to_owned())
}

/// Compiles `xtask/peppi/main.rs` with peppi in a folder of its own, outside of the workspace, and
/// runs it on a folder of replays.
fn against_peppi(replays: &Path) -> Result<String, String> {
    let place = ci::target_folder().join("peppi");
    let source = place.join("src");
    fs::create_dir_all(&source).map_err(|e| format!("{}: {e}", source.display()))?;
    let reader = root().join("crates/replay");
    let manifest = format!(
        "[package]\nname = \"against-peppi\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         peppi = \"={PEPPI}\"\nreplay = {{ path = {:?} }}\nrustix = {{ version = \"1.1\", features = [\"time\"] }}\n",
        reader.display().to_string()
    );
    let write = |path: PathBuf, text: &str| {
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))
    };
    write(place.join("Cargo.toml"), &manifest)?;
    write(source.join("main.rs"), include_str!("../peppi/main.rs"))?;
    let mut command = Command::new(ci::program());
    command.current_dir(&place).env("CARGO_TARGET_DIR", place.join("target"));
    let output = command.args(["run", "--release", "--"]).arg(replays).output();
    said(output)
}

fn said(output: std::io::Result<std::process::Output>) -> Result<String, String> {
    let output = output.map_err(|e| e.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    Ok(())
}
