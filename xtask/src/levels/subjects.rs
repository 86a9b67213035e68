//! Test binaries: how they are built -> programs, what each printed -> numbers of tests.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::{ci, root};

/// What cargo builds: all tests of the crates with instructions of their own, and the bits of whole
/// chains.
const WANTED: [&[&str]; 2] = [
    &["-p", "exmc-math", "-p", "exmc-exec", "--lib", "--tests"],
    &["-p", "exmc-infer", "--test", "determinism", "--test", "levels"],
];

/// How tests are built.
pub(super) struct Build {
    /// Where, in cargo's folder: flags differ, and builds would replace each other.
    pub(super) folder: &'static str,
    pub(super) target: Option<&'static str>,
    pub(super) flags: &'static str,
    pub(super) variables: Vec<(&'static str, String)>,
}

/// A test binary.
pub(super) struct Subject {
    /// Its crate and its name.
    pub(super) name: String,
    pub(super) program: PathBuf,
    /// The folder of its crate, where it runs.
    pub(super) folder: PathBuf,
}

/// What became of a test binary.
pub(super) struct Outcome {
    pub(super) name: String,
    pub(super) passed: usize,
    failed: usize,
    /// What it ended with, if it came to its end.
    status: Option<i32>,
    /// Whether failures count, or only the status.
    memory_only: bool,
    /// The levels that its tests say they ran.
    levels: Vec<String>,
}

impl Build {
    /// Builds the wanted tests, or those of these names in the same crates, `lib` being the tests
    /// beside the sources.
    ///
    /// # Errors
    /// When cargo fails; it says so of a name that no test has.
    pub(super) fn tests(&self, names: &[String]) -> Result<Vec<Subject>, String> {
        let mut wanted: Vec<Vec<&str>> = WANTED.iter().map(|wanted| wanted.to_vec()).collect();
        if !names.is_empty() {
            let mut named = vec!["-p", "exmc-math", "-p", "exmc-exec", "-p", "exmc-infer"];
            for name in names {
                match name.as_str() {
                    "lib" => named.push("--lib"),
                    name => named.extend(["--test", name]),
                }
            }
            wanted = vec![named];
        }
        let mut subjects = Vec::new();
        for wanted in wanted {
            let messages = self.cargo(&wanted)?;
            let messages = messages.lines().filter_map(|line| serde_json::from_str(line).ok());
            subjects.extend(messages.filter_map(|message| Subject::of_message(&message)));
        }
        subjects.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(subjects)
    }

    /// Cargo's messages on building the wanted tests.
    fn cargo(&self, wanted: &[&str]) -> Result<String, String> {
        let mut command = Command::new(ci::program());
        command.current_dir(root()).args(["test", "--no-run"]).args(wanted);
        command.arg("--message-format=json-render-diagnostics");
        if let Some(target) = self.target {
            command.args(["--target", target]);
        }
        command.env("CARGO_TARGET_DIR", ci::target_folder().join("levels").join(self.folder));
        command.env("RUSTFLAGS", self.flags);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output =
            command.stderr(Stdio::inherit()).output().map_err(|e| format!("cargo: {e}"))?;
        if !output.status.success() {
            return Err(format!("building the tests: {}", output.status));
        }
        String::from_utf8(output.stdout).map_err(|e| format!("cargo: {e}"))
    }
}

impl Subject {
    /// A test binary that one of cargo's messages is about.
    fn of_message(message: &Value) -> Option<Self> {
        let program = PathBuf::from(message.get("executable")?.as_str()?);
        let manifest = PathBuf::from(message.get("manifest_path")?.as_str()?);
        let folder = manifest.parent()?.to_owned();
        let target = message.get("target")?.get("name")?.as_str()?;
        let package = folder.file_name()?.to_string_lossy().into_owned();
        let name = if target.replace('_', "-") == package {
            package
        } else {
            format!("{package}/{target}")
        };
        Some(Subject { name, program, folder })
    }

    /// What a run of it says, by what it printed.
    pub(super) fn outcome(&self, text: &str, status: Option<i32>) -> Outcome {
        let (mut passed, mut failed, mut ended) = (0, 0, false);
        let mut levels = Vec::new();
        for line in text.lines() {
            if let Some(counts) = line.split_once("test result: ").map(|(_, counts)| counts) {
                let count = |what: &str| -> usize {
                    let part =
                        counts.split([';', '.']).find(|part| part.trim_end().ends_with(what));
                    part.and_then(|part| part.split_whitespace().next()?.parse().ok()).unwrap_or(0)
                };
                (passed, failed) = (passed + count("passed"), failed + count("failed"));
                ended = true;
            }
            if let Some((_, list)) = line.split_once("levels here: ") {
                levels.extend(list.split('"').skip(1).step_by(2).map(str::to_owned));
            }
        }
        let name = self.name.clone();
        let status = status.filter(|_| ended);
        Outcome { name, passed, failed, status, memory_only: false, levels }
    }
}

impl Outcome {
    /// The same where a checker of memory has the word, which ends with `errors` when it has one to
    /// report: its arithmetic may differ from the processor's (valgrind 3.19 gives `0 - 0 0`,
    /// fused, the wrong sign), so a test of bits may fail.
    pub(super) fn of_memory(self, errors: i32) -> Self {
        let status = match self.status {
            Some(status) if status != errors => Some(0),
            _ => None,
        };
        Outcome { status, memory_only: true, ..self }
    }

    pub(super) fn passed_all(&self) -> bool {
        self.status == Some(0) && (self.memory_only || self.failed == 0)
    }

    /// What a table says of it.
    pub(super) fn cell(&self) -> String {
        let Outcome { passed, failed, .. } = self;
        match (self.passed_all(), failed) {
            (true, 0) => passed.to_string(),
            (true, failed) => format!("{passed} ({failed} by its arithmetic)"),
            (false, failed) => format!("{passed}, **{failed} failed, or an error**"),
        }
    }
}

/// Runs each subject by a command and prints what fails, as `judged` has it.
///
/// # Errors
/// When a command cannot be started.
pub(super) fn run(
    subjects: &[Subject],
    command: impl Fn(&Subject) -> Command,
    judged: impl Fn(Outcome) -> Outcome,
) -> Result<Vec<Outcome>, String> {
    let mut outcomes = Vec::new();
    for subject in subjects {
        let mut command = command(subject);
        command.args(ARGUMENTS).current_dir(&subject.folder);
        let output = command.output().map_err(|e| format!("{}: {e}", subject.name))?;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let outcome = judged(subject.outcome(&text, output.status.code()));
        println!("{}: {}", outcome.name, outcome.cell());
        if outcome.failed > 0 || !outcome.passed_all() {
            println!("{text}");
        }
        outcomes.push(outcome);
    }
    Ok(outcomes)
}

/// Arguments of every test binary: one test at a time, and what they print is seen, as the levels
/// are.
pub(super) const ARGUMENTS: [&str; 2] = ["--test-threads=1", "--nocapture"];

/// That the tests which list their levels had this one.
///
/// # Errors
/// When they ran without it.
pub(super) fn has_level(outcomes: &[Outcome], level: &str) -> Result<(), String> {
    let listed: Vec<&String> = outcomes.iter().flat_map(|outcome| &outcome.levels).collect();
    if listed.is_empty() || listed.iter().any(|name| *name == level) {
        return Ok(());
    }
    Err(format!("the emulated processor has no {level}: the tests ran {listed:?}"))
}
