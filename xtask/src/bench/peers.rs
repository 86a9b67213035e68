//! exmc and its peers in turn on the same models -> a record of gradients, leapfrogs, effective
//! draws and first draws.
//!
//! Peers are run by the scripts of a folder that the user made (models generated, a virtual
//! environment in `venv`); `bench/peers/run_stanli.py` is ours. After every run of a peer exmc runs
//! too, and ratios are between those two, because the machine's speed drifts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::peer_tables::{Pair, details, summary};
use super::process::{Finished, run};
use super::sampler::transitions;
use super::{build, duration, number};
use crate::{record, root};

/// What can be asked for with `--systems`, in the order of the table.
pub(crate) const SYSTEMS: [&str; 5] = ["stanli", "stan", "nutpie", "numpyro", "pymc"];
/// Systems that run unless others are asked for: the rest takes minutes of compilation a model.
const USUAL: [&str; 3] = ["stanli", "nutpie", "numpyro"];
/// The model whose first draw is timed.
const FIRST_DRAW: &str = "eight_schools_noncentered";

/// Settings of a comparison.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The peers' folder.
    pub(crate) folder: PathBuf,
    /// Models by name; empty for all that lie in the folder and that exmc-bench knows.
    pub(crate) models: Vec<String>,
    /// Peers by name; empty for the usual ones.
    pub(crate) systems: Vec<String>,
    /// Seeds, one chain each, with commas.
    pub(crate) seeds: String,
    /// The core that all processes are pinned to.
    pub(crate) core: usize,
    /// Seconds after which a run is given up.
    pub(crate) limit: f64,
    /// Whether to write `bench/record/peers-<date>.md`.
    pub(crate) write_record: bool,
}

/// Runs everything, prints the tables and writes them.
///
/// # Errors
/// When building fails, a name is unknown, or exmc's own run fails; a peer that cannot run is left
/// out with its reason.
pub(crate) fn compare(comparison: &Comparison) -> Result<(), String> {
    let machine = record::machine();
    let program = build("exmc-bench", "--bin", "exmc-peer")?;
    let kernels = build("exmc-bench", "--bin", "exmc-kernels")?;
    let known = run(&[kernels.to_string_lossy().into_owned(), "list".into()], &root(), 10.0)?;
    let known: Vec<&str> = known.output.lines().collect();
    let folder = comparison.folder.join("models");
    let present = |name: &str| folder.join(name).join("data.json").exists();
    let mut models = comparison.models.clone();
    if models.is_empty() {
        models = known.iter().filter(|m| present(m)).map(|m| (*m).to_owned()).collect();
    }
    for model in &models {
        if !known.contains(&model.as_str()) {
            return Err(format!("exmc-bench has no model `{model}`: see exmc-kernels list"));
        }
        if !present(model) {
            let path = folder.join(model);
            return Err(format!("no {}/data.json: run gen_models.py first", path.display()));
        }
    }
    let mut systems = comparison.systems.clone();
    if systems.is_empty() {
        systems = USUAL.map(str::to_owned).to_vec();
    }
    if let Some(unknown) = systems.iter().find(|s| !SYSTEMS.contains(&s.as_str())) {
        return Err(format!("there is no peer `{unknown}`; peers are {}", SYSTEMS.join(", ")));
    }

    let runner = Runner { comparison, program, kernels };
    let mut results: BTreeMap<&str, Vec<Pair>> = BTreeMap::new();
    let mut left_out = Vec::new();
    for model in &models {
        let mut pairs = Vec::new();
        for system in &systems {
            match runner.peer(system, model) {
                Ok(peer) => {
                    pairs.push(Pair { system: system.clone(), peer, exmc: runner.exmc(model)? })
                }
                Err(why) => {
                    println!("left out: {system} on {model}: {why}");
                    left_out.push(format!("- {system} on {model}: {why}"));
                }
            }
        }
        if pairs.is_empty() {
            pairs.push(Pair {
                system: "none".into(),
                peer: Value::Null,
                exmc: runner.exmc(model)?,
            });
        }
        results.insert(model, pairs);
    }
    let mut page = format!(
        "# exmc and its peers\n\n{machine} Load when it ended: {}.\n\nCommand: `cargo xtask bench peers --peers DIR --models {} --systems {} \
         --seeds {} --record`, pinned to one core, one chain of 1000 + 1000 draws a seed, target acceptance 0.8, default metrics, processor \
         time. ESS is the least bulk ESS over the model's parameters. Ratios above 1 are exmc's favour and compare with the run of \
         exmc that followed the peer's.\n",
        load(),
        models.join(","),
        systems.join(","),
        comparison.seeds,
    );
    page.push_str(&summary(&models, &results));
    page.push_str(&details(&models, &results));
    page.push_str(&runner.first_draws(&systems));
    page.push_str(&transitions(Some(&comparison.folder))?);
    if !left_out.is_empty() {
        let _ = write!(page, "\n## Left out\n\n{}\n", left_out.join("\n"));
    }
    println!("{page}");
    if comparison.write_record {
        let path = record::path("peers");
        std::fs::write(&path, page).map_err(|e| format!("{}: {e}", path.display()))?;
        println!("written to {}", path.display());
    }
    Ok(())
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_owned()
}

struct Runner<'a> {
    comparison: &'a Comparison,
    program: PathBuf,
    kernels: PathBuf,
}

impl Runner<'_> {
    /// A command pinned to the core, where there is a program that pins.
    fn pinned(&self, command: &[&str]) -> Vec<String> {
        let core = self.comparison.core.to_string();
        let pin: &[&str] = if cfg!(target_os = "linux") { &["taskset", "-c", &core] } else { &[] };
        pin.iter().chain(command).map(|part| (*part).to_owned()).collect()
    }

    fn python(&self) -> String {
        let interpreter = self.comparison.folder.join("venv/bin/python");
        if interpreter.exists() {
            interpreter.to_string_lossy().into_owned()
        } else {
            "python3".to_owned()
        }
    }

    fn exmc(&self, model: &str) -> Result<Value, String> {
        let data = self.comparison.folder.join("models").join(model).join("data.json");
        let (program, data) = (self.program.to_string_lossy(), data.to_string_lossy());
        let seeds = &self.comparison.seeds;
        let command = [&program, "--model", model, "--data", &data, "--seeds", seeds, "--grad"];
        let finished = run(&self.pinned(&command), &root(), self.comparison.limit)?;
        last_record(&finished)
    }

    fn peer(&self, system: &str, model: &str) -> Result<Value, String> {
        let folder = &self.comparison.folder;
        let (python, seeds) = (self.python(), &self.comparison.seeds);
        // Stan has a fused form of the likelihood, which its users would take.
        let fused = format!("{model}_glm");
        let name = model;
        let model = match system {
            "stan" | "stanli" if folder.join("models").join(&fused).exists() => &fused,
            _ => model,
        };
        if system == "stanli" {
            let script = root().join("bench/peers/run_stanli.py");
            let (script, data) = (script.to_string_lossy(), folder.join("models").join(model));
            let data = data.to_string_lossy();
            let kernels = self.kernels.to_string_lossy().into_owned();
            let bulk = run(&[kernels, "bulk".into(), name.to_owned()], &root(), 10.0)?.output;
            let command =
                [&*python, &script, &data, "--seeds", seeds, "--grad", "--at", bulk.trim()];
            return last_record(&run(&self.pinned(&command), folder, self.comparison.limit)?);
        }
        let core = self.comparison.core.to_string();
        let out = std::env::temp_dir().join(format!("exmc-peer-{}.json", std::process::id()));
        let file = out.to_string_lossy();
        let command = [
            &*python,
            "run_peer.py",
            "--system",
            system,
            "--model",
            model,
            "--seeds",
            seeds,
            "--grad",
            "--core",
            &core,
            "--json",
            &file,
        ];
        run(&self.pinned(&command), folder, self.comparison.limit)?;
        let text = std::fs::read_to_string(&out).map_err(|e| e.to_string())?;
        // A leftover must not stand in for the next run's record.
        std::fs::remove_file(&out).map_err(|e| e.to_string())?;
        serde_json::from_str(&text).map_err(|e| e.to_string())
    }

    /// Wall time of a cold process up to its first draw, warmup of ten draws included.
    fn first_draws(&self, systems: &[String]) -> String {
        let mut page = format!(
            "\n## First draw\n\nA process that reads the model `{FIRST_DRAW}` and its data, compiles it and makes 10 + 1 draws; peers of Python \
             pay for their imports, exmc's model is in the program. The quickest of three.\n\n| system | wall time |\n|---|---|\n"
        );
        let folder = &self.comparison.folder;
        let data = folder.join("models").join(FIRST_DRAW);
        if !data.join("data.json").exists() {
            return String::new();
        }
        let (python, data, file) = (self.python(), data.clone(), data.join("data.json"));
        let (data, file) = (data.to_string_lossy(), file.to_string_lossy());
        let program = self.program.to_string_lossy();
        let script = root().join("bench/peers/run_stanli.py");
        let script = script.to_string_lossy();
        for system in std::iter::once("exmc").chain(systems.iter().map(String::as_str)) {
            let command: Vec<&str> = match system {
                "exmc" => {
                    let few = ["--warmup", "10", "--draws", "1"];
                    [&[&*program, "--model", FIRST_DRAW, "--data", &file], &few[..]].concat()
                }
                "stanli" => vec![&python, &script, &data, "--ttfd"],
                _ => {
                    vec![
                        &python,
                        "run_peer.py",
                        "--system",
                        system,
                        "--model",
                        FIRST_DRAW,
                        "--ttfd",
                    ]
                }
            };
            let command = self.pinned(&command);
            let times = (0..3).map(|_| run(&command, folder, self.comparison.limit));
            let times: Result<Vec<f64>, String> = times
                .map(|finished| {
                    let finished = finished?;
                    // The script of the peers runs the process that counts within its own.
                    let inner = last_record(&finished).ok().and_then(|r| number(&r, "ttfd_s"));
                    Ok(inner.unwrap_or(finished.seconds))
                })
                .collect();
            let said = match times {
                Ok(times) => duration(times.into_iter().reduce(f64::min).map(|s| 1e9 * s)),
                Err(why) => why,
            };
            let _ = writeln!(page, "| {system} | {said} |");
        }
        page
    }
}

/// The JSON object on the last line of the output.
fn last_record(finished: &Finished) -> Result<Value, String> {
    let line = finished.output.lines().last().unwrap_or_default();
    serde_json::from_str(line).map_err(|e| format!("no record on the last line: {e}"))
}

/// The arguments after `bench peers`.
///
/// # Errors
/// When one is not understood.
pub(crate) fn read(args: &[&str]) -> Result<Comparison, String> {
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut comparison = Comparison {
        folder: PathBuf::new(),
        models: Vec::new(),
        systems: Vec::new(),
        seeds: "1,2,3,4,5".to_owned(),
        core: cores - 1,
        limit: 600.0,
        write_record: false,
    };
    let mut args = args.iter();
    while let Some(&arg) = args.next() {
        if arg == "--record" {
            comparison.write_record = true;
            continue;
        }
        let value = || -> Result<&str, String> {
            args.clone().next().copied().ok_or_else(|| format!("{arg} needs a value"))
        };
        let list = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<String>>();
        match arg {
            "--peers" => comparison.folder = super::folder(Some(&value()?), arg)?,
            "--models" => comparison.models = list(value()?),
            "--systems" => comparison.systems = list(value()?),
            "--seeds" => {
                comparison.seeds = value()?.to_owned();
                if list(&comparison.seeds).iter().any(|s| s.parse::<u32>().is_err()) {
                    let given = &comparison.seeds;
                    return Err(format!("--seeds {given}: expected numbers with commas"));
                }
            }
            "--core" => {
                comparison.core = value()?.parse().map_err(|e| format!("--core: {e}"))?;
            }
            "--limit" => {
                comparison.limit = value()?.parse().map_err(|e| format!("--limit: {e}"))?;
            }
            _ => return Err(format!("bench peers has no setting `{arg}`: see cargo xtask")),
        }
        args.next();
    }
    if comparison.folder == Path::new("") {
        return Err(
            "--peers DIR is needed: a copy of the peers' folder, see bench/peers".to_owned()
        );
    }
    Ok(comparison)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_or_refused() {
        let read = |args: &[&str]| read(args).map(|c| (c.models, c.seeds, c.limit));
        let folder = std::env::temp_dir();
        let folder = folder.to_string_lossy();
        let found =
            read(&["--peers", &folder, "--models", "a,b", "--seeds", "1,2", "--limit", "9"]);
        assert_eq!(found, Ok((vec!["a".to_owned(), "b".to_owned()], "1,2".to_owned(), 9.0)));
        assert!(read(&[]).is_err_and(|e| e.contains("--peers DIR is needed")));
        assert!(read(&["--peers"]).is_err_and(|e| e.contains("needs a value")));
        assert!(read(&["--seeds", "1,x"]).is_err_and(|e| e.contains("expected numbers")));
        assert!(read(&["--peers", &folder, "extra"]).is_err_and(|e| e.contains("no setting")));
    }
}
