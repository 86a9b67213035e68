//! A fresh folder to run the program in, and expected texts (`EXMC_BLESS=1` writes them anew).

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

use serde_json::Value;

/// Eight schools, with its data in the model.
pub(crate) const SCHOOLS: &str = r#"{"exmc": 1, "nodes": [
  {"rv": "mu", "dist": "normal", "params": {"mu": 0, "sigma": 5}},
  {"rv": "tau", "dist": "half_normal", "params": {"sigma": 5}},
  {"rv": "theta", "dist": "normal", "params": {"mu": "mu", "sigma": "tau"}, "shape": [8]},
  {"rv": "y", "dist": "normal", "params": {"mu": "theta", "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}},
  {"obs": "y_obs", "of": "y", "value": [28, 8, -3, 7, -1, 1, 18, 12]}
]}
"#;

/// A mean with known variance, data to be given.
pub(crate) const MEAN: &str = r#"{"exmc": 1, "nodes": [
  {"data": "n", "dtype": "int", "shape": []},
  {"data": "x", "dtype": "real", "shape": [3]},
  {"rv": "mu", "dist": "normal", "params": {"mu": 0, "sigma": 10}},
  {"rv": "y", "dist": "normal", "params": {"mu": "mu", "sigma": 2}, "shape": [3]},
  {"obs": "y_obs", "of": "y", "value": "x"}
]}
"#;

pub(crate) const MEAN_DATA: &str = r#"{"n": 3, "x": [1, 2.5, 4]}"#;

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Asserts the exit code and hands the run on.
    #[track_caller]
    pub(crate) fn ends_with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:#?}"))
    }

    /// Exit code and both outputs, as one text to compare.
    pub(crate) fn transcript(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |c| c.to_string());
        let Self { stdout, stderr, .. } = self;
        format!("exit code {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
    }
}

/// A folder of its own for one test, removed afterwards.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("cli-{}-{number}", process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// A folder that holds the models and data above.
    pub(crate) fn with_models() -> Self {
        let folder = Self::new();
        folder.write("schools.json", SCHOOLS);
        folder.write("mean.json", MEAN);
        folder.write("mean-data.json", MEAN_DATA);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self, inside: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(inside)).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_exmc"));
        command.args(args).current_dir(&self.0).stdin(Stdio::null());
        command.env_remove("EXMC_TEST_PANIC").env("COLUMNS", "100");
        command
    }

    pub(crate) fn exmc(&self, args: &[&str]) -> Ran {
        Ran::of(self.command(args).output().unwrap())
    }

    /// `exmc sample`, quietly, with 200 warmup draws and 200 draws unless told otherwise.
    pub(crate) fn sample(&self, model: &str, out: &str, more: &[&str]) -> Ran {
        let mut args = vec!["sample", model, "--out", out, "-q"];
        for flag in ["--warmup", "--draws"] {
            if !more.contains(&flag) {
                args.extend([flag, "200"]);
            }
        }
        args.extend(more);
        self.exmc(&args)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Asserts that a text is the expected one.
#[track_caller]
pub(crate) fn expect_text(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expected").join(name);
    if env::var_os("EXMC_BLESS").is_some() {
        fs::write(path, found).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} differs; EXMC_BLESS=1 accepts the new text");
}

/// The entry of a summary's table.
pub(crate) fn parameter<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let rows = summary["parameters"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap()
}
