//! The hierarchies of `bench/hierarchies`, centred and not -> whether `exmc sample` has their true
//! moments at its defaults, and what its coordinates are worth.
//!
//! Each is written centred and non-centred, and each writing runs at the defaults, as it is written
//! (`--without recentre`), and in all its coordinates (without integrating out either), in turn for
//! every seed. Means and standard deviations of what is recorded are compared with `truth.json`, by
//! Monte Carlo errors that are computed here from the draws that the program stored.

use std::ffi::OsStr;
use std::path::Path;

use super::build;
use super::posteriordb::judge::judge;
use super::posteriordb::{read_seeds, summary_of, system};
use crate::timed::timed;
use crate::{record, root};

mod estimates;
mod models;
mod tables;

use estimates::{Stored, stored};
use models::{Hierarchy, Writing, read};
use tables::page;

/// Wall seconds after which a run is stopped.
const LIMIT: f64 = 120.0;
/// What is said where a setting is not understood.
const USAGE: &str =
    "cargo xtask bench hierarchies [--seeds 1..10] [--exmc [LABEL=]PATH] [--record] [NAME ...]";

/// What the sampler may do with a program's coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// All that it does by itself.
    Default,
    /// It integrates out, and else has the coordinates of the program.
    Written,
    /// It has the coordinates of the program, all of them.
    Whole,
}

impl Mode {
    const ALL: [Self; 3] = [Self::Default, Self::Written, Self::Whole];

    fn name(self) -> &'static str {
        match self {
            Self::Default => "defaults",
            Self::Written => "as written",
            Self::Whole => "as written, all coordinates",
        }
    }

    fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Default => &[],
            Self::Written => &["--without", "recentre"],
            Self::Whole => &["--without", "recentre", "--without", "marginalise"],
        }
    }
}

/// One run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    writing: Writing,
    mode: Mode,
    /// Smaller of least bulk and tail ESS over the variables that have a truth; 0 where it is
    /// unknown.
    ess: f64,
    /// Processor seconds of the whole process.
    cpu: f64,
    divergences: u64,
    /// Kinds of the warnings.
    warnings: Vec<String>,
    stored: Stored,
    /// Of these, what the pilot chains took; 0 but for defaults.
    learning: f64,
}

impl Run {
    fn rate(&self) -> f64 {
        if self.cpu > 0.0 { self.ess / self.cpu } else { 0.0 }
    }
}

/// All runs on one hierarchy, in the order of seeds.
#[derive(Debug)]
pub(crate) struct Row {
    hierarchy: Hierarchy,
    /// What is integrated out of each writing, in words.
    integrated: Vec<(Writing, String)>,
    runs: Vec<Run>,
}

/// `bench hierarchies` with its arguments.
///
/// # Errors
/// When an argument is not understood, building fails, or a hierarchy has no truth or does not run.
pub(crate) fn hierarchies(args: &[&str]) -> Result<(), String> {
    let (mut program, mut seeds) = (None, (1..=10).collect::<Vec<u64>>());
    let (mut write_record, mut names) = (false, Vec::new());
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"));
        match arg {
            "--seeds" => seeds = read_seeds(value()?)?,
            "--exmc" => program = Some(system(value()?, 0)?),
            "--record" => write_record = true,
            name if name.starts_with('-') => {
                return Err(format!("bench hierarchies has no setting `{name}`: {USAGE}"));
            }
            name => names.push(name.to_owned()),
        }
    }
    let chosen = read(&root().join("bench/hierarchies"), &names)?;
    let mut machine = record::machine();
    let program = match program {
        Some(program) => {
            // The commit is that of this checkout.
            machine = format!("{machine} The program was built before: {}.", program.label);
            program.path
        }
        None => build("exmc-cli", "--bin", "exmc")?,
    };
    let place = std::env::temp_dir().join(format!("exmc-hierarchies-{}", std::process::id()));
    std::fs::create_dir_all(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let measurement = Own { program: &program, place: &place };
    let mut rows = Vec::new();
    for hierarchy in chosen {
        rows.push(measurement.row(hierarchy, &seeds)?);
        let text = page(&machine, &seeds, &rows);
        if write_record {
            let path = record::path("hierarchies");
            std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        }
    }
    // What is left in the folder of temporary files is of no use to anybody.
    let _ = std::fs::remove_dir_all(&place);
    println!("\n{}", page(&machine, &seeds, &rows));
    Ok(())
}

/// The program, and where it writes.
struct Own<'a> {
    program: &'a Path,
    place: &'a Path,
}

impl Own<'_> {
    fn row(&self, hierarchy: Hierarchy, seeds: &[u64]) -> Result<Row, String> {
        let mut integrated = Vec::new();
        for writing in Writing::ALL {
            let (text, _) = self.coordinates(&hierarchy, writing, 1, Mode::Written)?;
            integrated.push((writing, integrated_out(&text)));
        }
        let mut runs = Vec::new();
        for &seed in seeds {
            for mode in Mode::ALL {
                for (writing, gone) in &integrated {
                    // Where nothing is integrated out, all coordinates are those of the program
                    // already.
                    if mode != Mode::Whole || !gone.is_empty() {
                        let run = self.run(&hierarchy, *writing, mode, seed)?;
                        println!("{} seed {seed}: {}", hierarchy.name, tables::line(&run));
                        runs.push(run);
                    }
                }
            }
        }
        Ok(Row { hierarchy, integrated, runs })
    }

    fn run(
        &self,
        hierarchy: &Hierarchy,
        writing: Writing,
        mode: Mode,
        seed: u64,
    ) -> Result<Run, String> {
        let out = self.place.join("run");
        // A run's directory must not be there yet.
        let _ = std::fs::remove_dir_all(&out);
        let (model, data, seed_text) =
            (hierarchy.program(writing), hierarchy.data(), seed.to_string());
        let mut command = vec![self.program.as_os_str(), OsStr::new("sample"), model.as_os_str()];
        command.extend([OsStr::new("--data"), data.as_os_str()]);
        command.extend(["--seed", &seed_text, "--json", "--quiet", "--out"].map(OsStr::new));
        command.push(out.as_os_str());
        command.extend(mode.settings().iter().map(OsStr::new));
        let ended = timed(&command, self.place, LIMIT)?;
        let fail = |why: &dyn std::fmt::Display| {
            let (name, writing, mode) = (&hierarchy.name, writing.name(), mode.name());
            format!("{name}, {writing}, {mode}, seed {seed}: {why}")
        };
        if ended.stopped {
            return Err(fail(&format!("stopped after {LIMIT} seconds")));
        }
        let summary = summary_of(&ended).map_err(|e| fail(&e))?;
        let names = hierarchy.names();
        let judged = judge(&summary, &names);
        let ess = judged.ess_bulk.min(judged.ess_tail);
        let learning = if mode == Mode::Default {
            let learnt = self.coordinates(hierarchy, writing, seed, Mode::Default)?.1;
            let compiled = self.coordinates(hierarchy, writing, seed, Mode::Written)?.1;
            learnt - compiled
        } else {
            0.0
        };
        Ok(Run {
            writing,
            mode,
            // Unknown where a chain does not move.
            ess: if judged.ess_bulk.is_nan() || judged.ess_tail.is_nan() { 0.0 } else { ess },
            cpu: ended.cpu,
            divergences: judged.divergences,
            warnings: judged.warnings,
            stored: stored(&out, &names).map_err(|e| fail(&e))?,
            learning,
        })
    }

    /// What `exmc dump --stage coordinates` says, and its processor seconds: compilation and, at
    /// the defaults, the pilot chains of a run with that seed.
    fn coordinates(
        &self,
        hierarchy: &Hierarchy,
        writing: Writing,
        seed: u64,
        mode: Mode,
    ) -> Result<(String, f64), String> {
        let (model, data, seed) = (hierarchy.program(writing), hierarchy.data(), seed.to_string());
        let mut command = vec![self.program.as_os_str(), OsStr::new("dump"), model.as_os_str()];
        command.extend([OsStr::new("--data"), data.as_os_str()]);
        command.extend(["--stage", "coordinates", "--seed", &seed].map(OsStr::new));
        command.extend(mode.settings().iter().map(OsStr::new));
        let ended = timed(&command, self.place, LIMIT)?;
        if ended.succeeded {
            Ok((ended.output, ended.cpu))
        } else {
            Err(format!("{}: {}", model.display(), ended.complaint.trim()))
        }
    }
}

/// The variables that a list of coordinates says are integrated out.
fn integrated_out(text: &str) -> String {
    let names = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" (")?;
        rest.contains("integrated out").then_some(name)
    });
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_that_are_not_understood_are_named() {
        let refused = |args: &[&str]| hierarchies(args).expect_err("they are refused");
        assert!(refused(&["--sedes", "1"]).contains("no setting `--sedes`"));
        assert!(refused(&["--seeds"]).starts_with("--seeds needs a value"));
        assert_eq!(refused(&["--exmc", "no/such"]), "there is no program `no/such`");
        assert!(refused(&["no-such"]).starts_with("there is no hierarchy `no-such`"));
    }

    #[test]
    fn what_is_integrated_out_is_read_from_the_list() {
        let text =
            "theta (8): integrated out, normal given the rest\nb (3): centred, written centred\n";
        assert_eq!(integrated_out(text), "theta");
        assert_eq!(integrated_out("no variable has a location or a scale that varies\n"), "");
    }
}
