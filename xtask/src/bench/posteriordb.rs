//! A checkout of posteriordb -> how many posteriors `exmc sample` solves at its default settings,
//! and what that costs.
//!
//! Several programs and stanli run in turn, posterior by posterior and seed by seed, so that ratios
//! are between runs beside each other. A posterior is solved when R-hat is below 1.01, bulk and
//! tail ESS are above 400 for every parameter, and the program has no warning. What a run is judged
//! by is the summary that the program prints, but for stuck chains, which are looked for in the
//! draws that it stored.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{build, folder};
use crate::timed::{Ended, timed};
use crate::{record, root};

pub(super) mod chains;
pub(super) mod judge;
mod posteriors;
pub(super) mod tables;

use chains::{Chain, chains};
use judge::{Judged, Outcome, judge};
use posteriors::{Posterior, posteriors};
use tables::page;

/// Wall seconds after which a run is stopped.
const LIMIT: f64 = 60.0;
/// What is said where a setting is not understood.
const USAGE: &str = "cargo xtask bench posteriordb --dir DIR [--seeds 1,2 or 1..40] [--exmc [LABEL=]PATH,...] [--stanli PYTHON] \
                     [--limit S] [--record] [NAME ...]";

/// What is run, by a label for the tables.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct System {
    /// As the tables have it.
    pub(super) label: String,
    /// The program `exmc`, or a Python with stanli.
    pub(super) path: PathBuf,
    is_exmc: bool,
}

/// Settings of a comparison.
#[derive(Debug)]
pub(crate) struct Settings {
    /// The checkout.
    dir: PathBuf,
    /// Programs `exmc` with labels; today's if there are none.
    systems: Vec<System>,
    seeds: Vec<u64>,
    limit: f64,
    write_record: bool,
    /// Parts of names of posteriors; all if there are none.
    names: Vec<String>,
}

/// One run of one system on one posterior.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Place of the system.
    system: usize,
    seed: u64,
    outcome: Outcome,
    /// What its summary says; nothing if it failed.
    judged: Option<Judged>,
    /// Its chains; nothing for stanli.
    chains: Vec<Chain>,
    /// Seconds of all its threads, compilation and summary included (of stanli, without imports and
    /// summary).
    cpu: f64,
    /// Wall seconds of the same.
    wall: f64,
}

impl Run {
    /// Smaller of least bulk and tail ESS a processor second.
    fn rate(&self) -> Option<f64> {
        let judged = self.judged.as_ref()?;
        let ess = judged.ess_bulk.min(judged.ess_tail);
        (ess.is_finite() && ess > 0.0 && self.cpu > 0.0).then(|| ess / self.cpu)
    }

    /// Whether chains are apart: the mean log density of one is far below that of the best, or
    /// R-hat says so.
    fn is_stuck(&self) -> bool {
        chains::stuck(&self.chains) > 0 || self.judged.as_ref().is_some_and(|j| j.rhat > 1.05)
    }
}

/// All runs on one posterior.
#[derive(Debug)]
pub(crate) struct Row {
    posterior: String,
    runs: Vec<Run>,
}

/// `bench posteriordb` with its arguments.
///
/// # Errors
/// When an argument is not understood, a program cannot be built, or there is no posterior.
pub(crate) fn posteriordb(args: &[&str]) -> Result<(), String> {
    let mut settings = read(args)?;
    let chosen = posteriors(&settings.dir, &settings.names)?;
    let machine = record::machine();
    if !settings.systems.iter().any(|system| system.is_exmc) {
        let path = build("exmc-cli", "--bin", "exmc")?;
        settings.systems.insert(0, System { label: "exmc".to_owned(), path, is_exmc: true });
    }
    let place = std::env::temp_dir().join(format!("exmc-posteriordb-{}", std::process::id()));
    std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let head = head(&settings, &machine);
    let mut rows = Vec::new();
    for posterior in &chosen {
        rows.push(row(&settings, posterior, &place)?);
        let text = page(&head, &settings.systems, settings.seeds.len(), &rows);
        if settings.write_record {
            let path = record::path("posteriordb");
            std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    // What is left in the folder of temporary files is of no use to anybody.
    let _ = std::fs::remove_dir_all(&place);
    println!("\n{}", page(&head, &settings.systems, settings.seeds.len(), &rows));
    Ok(())
}

fn read(args: &[&str]) -> Result<Settings, String> {
    let (mut dir, mut systems, mut seeds) = (None, Vec::new(), vec![1]);
    let (mut limit, mut write_record, mut names) = (LIMIT, false, Vec::new());
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"));
        match arg {
            "--dir" => dir = Some(folder(Some(value()?), arg)?),
            "--seeds" => seeds = read_seeds(value()?)?,
            "--exmc" => {
                for (k, program) in value()?.split(',').enumerate() {
                    systems.push(system(program, k)?);
                }
            }
            "--stanli" => {
                let path = absolute(value()?)?;
                systems.push(System { label: "stanli".to_owned(), path, is_exmc: false });
            }
            "--limit" => {
                let text = value()?;
                limit = text.parse().map_err(|e| format!("--limit {text}: {e}"))?;
            }
            "--record" => write_record = true,
            name if name.starts_with('-') => {
                return Err(format!("bench posteriordb has no setting `{name}`: {USAGE}"));
            }
            name => names.push(name.to_owned()),
        }
    }
    let dir = dir.ok_or_else(|| format!("--dir is missing: {USAGE}"))?;
    Ok(Settings { dir, systems, seeds, limit, write_record, names })
}

/// `1,2,5`, or `1..40` with both ends.
pub(super) fn read_seeds(text: &str) -> Result<Vec<u64>, String> {
    let number =
        |part: &str| part.trim().parse::<u64>().map_err(|e| format!("--seeds {text}: {e}"));
    let seeds: Vec<u64> = match text.split_once("..") {
        Some((first, last)) => (number(first)?..=number(last)?).collect(),
        None => text.split(',').map(number).collect::<Result<_, _>>()?,
    };
    if seeds.is_empty() { Err(format!("--seeds {text}: there is no seed")) } else { Ok(seeds) }
}

/// `LABEL=PATH`, or a path, which gets a label by its place.
pub(super) fn system(text: &str, place: usize) -> Result<System, String> {
    let (label, path) = match text.split_once('=') {
        Some((label, path)) => (label.to_owned(), path),
        None => (format!("exmc {}", place + 1), text),
    };
    Ok(System { label, path: absolute(path)?, is_exmc: true })
}

/// A program's path; links stay, because a virtual environment of Python is known by its own link.
fn absolute(path: &str) -> Result<PathBuf, String> {
    let absolute = std::path::absolute(path).map_err(|e| format!("{path}: {e}"))?;
    if absolute.is_file() { Ok(absolute) } else { Err(format!("there is no program `{path}`")) }
}

fn head(settings: &Settings, machine: &str) -> String {
    let seeds: Vec<String> = settings.seeds.iter().map(u64::to_string).collect();
    let (seeds, limit) = (seeds.join(","), settings.limit);
    let labels: Vec<&str> = settings.systems.iter().map(|s| s.label.as_str()).collect();
    format!(
        "# posteriordb\n\n{machine}\n\nCommand: `cargo xtask bench posteriordb`, seeds {seeds}, systems {}: 4 chains of 1000 + 1000 draws at default \
         settings, stopped after {limit} wall seconds. Solved: R-hat below 1.01, bulk and tail ESS above 400 for every parameter that \
         varies, and no warning of the program. Processor seconds are those of the whole process with all its threads, from the \
         program's text to the printed summary (of stanli: reading the model and sampling, without imports and summary; its warnings \
         are those that the same thresholds give). ESS is the smaller of the least bulk and the least tail ESS over all parameters.\n",
        labels.join(", "),
    )
}

fn row(settings: &Settings, posterior: &Posterior, place: &Path) -> Result<Row, String> {
    let mut row = Row { posterior: posterior.name.clone(), runs: Vec::new() };
    let data = place.join("data.json");
    let ready = posterior.data().and_then(|text| {
        std::fs::write(&data, text).map_err(|e| format!("{}: {e}", data.display()))
    });
    let first = settings.systems.iter().find(|system| system.is_exmc);
    let first = first.ok_or_else(|| "there is no program to run".to_owned())?;
    let ready = ready.and_then(|()| parameters(&first.path, &posterior.program));
    for &seed in &settings.seeds {
        for (k, system) in settings.systems.iter().enumerate() {
            let run = match &ready {
                Err(why) => failed(k, seed, why.clone()),
                Ok(_) if !system.is_exmc => stanli(k, system, posterior, &data, seed, settings)?,
                Ok(names) => {
                    let runner = Own { system: k, path: &system.path, names, place };
                    runner.run(&posterior.program, &data, seed, settings)?
                }
            };
            println!("{}", tables::line(&row.posterior, &system.label, &run));
            row.runs.push(run);
        }
    }
    Ok(row)
}

fn failed(system: usize, seed: u64, why: String) -> Run {
    let outcome = Outcome::Failed(why);
    Run { system, seed, outcome, judged: None, chains: Vec::new(), cpu: 0.0, wall: 0.0 }
}

/// Names that the program's parameters block declares.
fn parameters(exmc: &Path, program: &Path) -> Result<Vec<String>, String> {
    let output = Command::new(exmc).args(["check", "--info"]).arg(program).output();
    let output = output.map_err(|e| format!("{}: {e}", exmc.display()))?;
    let said: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("it has no `check --info`: {}", last_line(&output.stderr)))?;
    let block = said.get("parameters").and_then(Value::as_object);
    block.map(|b| b.keys().cloned().collect()).ok_or_else(|| "it tells no parameters".to_owned())
}

fn last_line(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("no message").trim().to_owned()
}

/// A program `exmc`, and where it writes.
struct Own<'a> {
    system: usize,
    path: &'a Path,
    /// What the parameters block declares.
    names: &'a [String],
    place: &'a Path,
}

impl Own<'_> {
    fn run(&self, program: &Path, data: &Path, seed: u64, all: &Settings) -> Result<Run, String> {
        let stored = self.place.join("run");
        // A run's directory must not be there yet.
        let _ = std::fs::remove_dir_all(&stored);
        let seed_text = seed.to_string();
        let mut command = vec![self.path.as_os_str(), OsStr::new("sample"), program.as_os_str()];
        command.extend([OsStr::new("--data"), data.as_os_str()]);
        command.extend(["--seed", &seed_text, "--json", "--quiet", "--out"].map(OsStr::new));
        command.push(stored.as_os_str());
        let ended = timed(&command, self.place, all.limit)?;
        let (outcome, judged) = match summary_of(&ended) {
            Ok(summary) => {
                let judged = judge(&summary, self.names);
                let outcome = if ended.stopped { Outcome::Stopped } else { judged.outcome() };
                (outcome, Some(judged))
            }
            Err(_) if ended.stopped => (Outcome::Stopped, None),
            Err(why) => (Outcome::Failed(why), None),
        };
        let chains = chains(&stored).unwrap_or_default();
        let Ended { cpu, wall, .. } = ended;
        Ok(Run { system: self.system, seed, outcome, judged, chains, cpu, wall })
    }
}

/// The JSON document that a program printed, or what it complained about.
pub(super) fn summary_of(ended: &Ended) -> Result<Value, String> {
    let last = || ended.complaint.lines().rev().find(|line| !line.trim().is_empty());
    let said: Value = serde_json::from_str(&ended.output)
        .map_err(|_| last().unwrap_or("it printed nothing").trim().to_owned())?;
    match said.get("error") {
        Some(error) => {
            let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
            Err(text("message").unwrap_or_else(|| error.to_string()))
        }
        None => Ok(said),
    }
}

fn stanli(
    place: usize,
    system: &System,
    posterior: &Posterior,
    data: &Path,
    seed: u64,
    all: &Settings,
) -> Result<Run, String> {
    let script = root().join("bench/peers/stanli_posterior.py");
    let seed_text = seed.to_string();
    let mut command = vec![system.path.as_os_str(), script.as_os_str()];
    command.extend([posterior.program.as_os_str(), data.as_os_str(), OsStr::new(&seed_text)]);
    let folder = data.parent().unwrap_or(Path::new("."));
    let ended = timed(&command, folder, all.limit)?;
    let said = summary_of(&ended);
    Ok(match said {
        Ok(said) => {
            let judged = Judged::of_peer(&said);
            let seconds = |key: &str| said.get(key).and_then(Value::as_f64);
            let (cpu, wall) =
                (seconds("cpu").unwrap_or(ended.cpu), seconds("wall").unwrap_or(ended.wall));
            let (outcome, judged) = (judged.outcome(), Some(judged));
            Run { system: place, seed, outcome, judged, chains: Vec::new(), cpu, wall }
        }
        Err(why) => {
            let outcome = if ended.stopped { Outcome::Stopped } else { Outcome::Failed(why) };
            let (cpu, wall) = (ended.cpu, ended.wall);
            Run { system: place, seed, outcome, judged: None, chains: Vec::new(), cpu, wall }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_listed_or_a_range_with_both_ends() {
        assert_eq!(read_seeds("1,2,7"), Ok(vec![1, 2, 7]));
        assert_eq!(read_seeds("3..5"), Ok(vec![3, 4, 5]));
        assert!(read_seeds("5..3").is_err_and(|e| e.contains("no seed")));
        assert!(read_seeds("1,x").is_err_and(|e| e.starts_with("--seeds 1,x")));
    }

    #[test]
    fn arguments_that_are_not_understood_are_named() {
        assert!(read(&[]).is_err_and(|e| e.starts_with("--dir is missing")));
        assert!(read(&["--dir"]).is_err_and(|e| e.starts_with("--dir needs a value")));
        assert!(read(&["--sedes", "1"]).is_err_and(|e| e.contains("no setting `--sedes`")));
        let program = read(&["--dir", ".", "--exmc", "new=no/such/program"]);
        assert!(program.is_err_and(|e| e == "there is no program `no/such/program`"));
    }

    #[test]
    fn a_program_is_named_by_its_label_or_its_place() {
        let this_program = std::env::current_exe().expect("a test is a program");
        let this_program = this_program.to_string_lossy();
        assert_eq!(
            system(&format!("new={this_program}"), 1).map(|s| s.label),
            Ok("new".to_owned())
        );
        assert_eq!(system(&this_program, 1).map(|s| s.label), Ok("exmc 2".to_owned()));
    }

    #[test]
    fn what_a_program_says_of_its_failure_is_kept() {
        let ended = |output: &str, complaint: &str| Ended {
            output: output.to_owned(),
            complaint: complaint.to_owned(),
            succeeded: false,
            stopped: false,
            cpu: 1.0,
            wall: 1.0,
        };
        let error = ended(r#"{"exmc": 1, "error": {"code": "model", "message": "no"}}"#, "");
        assert_eq!(summary_of(&error), Err("no".to_owned()));
        assert_eq!(summary_of(&ended("", "one\nlast \n\n")), Err("last".to_owned()));
        assert!(summary_of(&ended(r#"{"parameters": []}"#, "")).is_ok());
    }
}
