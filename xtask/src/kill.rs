//! Runs of `exmc sample` that are killed at random moments -> whether each goes on to the bits of a
//! run that was not.
//!
//! Four models: chains side by side in learned coordinates, variables that are integrated out, a
//! Stan program with random generated quantities, and gradients that take long. Three kills in four
//! are SIGKILL, the others SIGTERM; a third of the runs that go on is killed again, and so on.
//! After every kill the chains' files must hold the first draws of the whole run and `exmc summary`
//! must read them. Then the same runs on file systems that are too small (`small_disk`).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{ci, record};

mod small_disk;

/// Kills of a campaign.
const KILLS: usize = 1000;
/// Bytes before a file's first draw.
const HEADER: usize = 32;

const SCHOOLS: &str = r#"{"exmc": 1, "nodes": [
  {"rv": "mu", "dist": "normal", "params": {"mu": 0, "sigma": 5}},
  {"rv": "tau", "dist": "half_normal", "params": {"sigma": 5}},
  {"rv": "theta", "dist": "normal", "params": {"mu": "mu", "sigma": "tau"}, "shape": [8]},
  {"rv": "y", "dist": "normal", "params": {"mu": "theta", "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}},
  {"obs": "y_obs", "of": "y", "value": [28, 8, -3, 7, -1, 1, 18, 12]}
]}
"#;

const COUNTS: &str = "data { int n; array[n] int y; }
parameters { real mu; real<lower=0> tau; vector[n] z; }
model { mu ~ normal(0, 2); tau ~ normal(0, 1); z ~ normal(0, 1); y ~ poisson_log(mu + tau * z); }
generated quantities { array[n] int next; for (i in 1:n) next[i] = poisson_log_rng(mu + tau * z[i]); }
";

/// The sum of a series, term by term, for each gradient.
const SERIES: &str = "parameters { real a; real<lower=0> b; }
model {
  real s = 0;
  for (k in 1:400) s += a * b / (k * k);
  a ~ normal(0, 1); b ~ normal(1, 1); target += -0.5 * square(s - 1);
}
";

struct Case {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    data: Option<&'static str>,
    chains: usize,
    args: &'static [&'static str],
}

static CASES: [Case; 4] = [
    Case {
        name: "chains side by side, learned coordinates",
        file: "lanes.json",
        text: SCHOOLS,
        data: None,
        chains: 8,
        args: &["--without", "marginalise", "--draws", "15000", "--chains", "8"],
    },
    Case {
        name: "variables integrated out, warmup stored",
        file: "integrated.json",
        text: SCHOOLS,
        data: None,
        chains: 4,
        args: &["--draws", "40000", "--save-warmup"],
    },
    Case {
        name: "random generated quantities",
        file: "counts.stan",
        text: COUNTS,
        data: Some(r#"{"n": 6, "y": [1, 0, 3, 7, 2, 4]}"#),
        chains: 4,
        args: &["--draws", "5000", "--metric", "dense"],
    },
    Case {
        name: "slow gradients",
        file: "series.stan",
        text: SERIES,
        data: None,
        chains: 2,
        args: &["--executor", "interpreter", "--chains", "2", "--warmup", "300", "--draws", "300"],
    },
];

/// Kills `--count` runs (1000) of `--exmc` (a release build of this tree), and writes
/// `bench/record/kill-<date>.md`.
///
/// # Errors
/// When building fails, or the first run that is not what it should be; its directory is kept.
pub(crate) fn kill(args: &[&str]) -> Result<(), String> {
    let (mut count, mut exmc) = (KILLS, None);
    let mut rest = args;
    loop {
        rest = match rest {
            [] => break,
            ["--count", n, more @ ..] => {
                count = n.parse().map_err(|e| format!("--count {n}: {e}"))?;
                more
            }
            ["--exmc", path, more @ ..] => {
                exmc = Some(fs::canonicalize(path).map_err(|e| format!("{path}: {e}"))?);
                more
            }
            _ => return Err("usage: cargo xtask kill [--count N] [--exmc PATH]".to_owned()),
        };
    }
    let machine = record::machine();
    let exmc = match exmc {
        Some(exmc) => exmc,
        None => {
            ci::cargo(&["build", "--release", "-p", "exmc-cli", "--bin", "exmc"], &[])?;
            ci::target_folder().join("release/exmc").with_extension(std::env::consts::EXE_EXTENSION)
        }
    };
    let folder = std::env::temp_dir().join(format!("exmc-kill-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let began = Instant::now();
    let mut table = String::from(
        "| model | threads | runs | SIGKILL | SIGTERM | before `run.json` | in warmup | in sampling | with all draws | \
         in the middle of a draw | of a checkpoint | killed when ended |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    let mut disks = String::from(
        "| model | threads | runs | no room for the first files | directory taken away |\n|---|---|---|---|---|\n",
    );
    let has_disks = small_disk::is_possible(&folder);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let settings: Vec<(&Case, &str)> =
        CASES.iter().flat_map(|case| ["1", "2"].map(|threads| (case, threads))).collect();
    let (mut total, mut all_terms) = (0, 0);
    for (k, (case, threads)) in settings.iter().enumerate() {
        let trial = Trial::new(&exmc, &folder, case, threads)?;
        let share = count / settings.len() + usize::from(k < count % settings.len());
        let mut seen = Seen::default();
        while seen.kills < share {
            trial.run(&mut random, &mut seen)?;
        }
        total += seen.kills;
        all_terms += seen.terms;
        let Seen { runs, kills, terms, anew, warmup, sampling, complete, torn, unplaced, ended } =
            seen;
        println!(
            "{} on {threads} threads: {kills} kills in {runs} runs, all as they should be",
            case.name
        );
        let name = case.name;
        let _ = writeln!(
            table,
            "| {name} | {threads} | {runs} | {} | {terms} | {anew} | {warmup} | {sampling} | {complete} | {torn} | {unplaced} | \
             {ended} |",
            kills - terms
        );
        if has_disks {
            let seen = small_disk::small_disks(&trial, &mut random)?;
            println!("{name} on {threads} threads: {} runs on small disks", seen.runs);
            let small_disk::Seen { runs, not_begun, vanished } = seen;
            let _ = writeln!(disks, "| {name} | {threads} | {runs} | {not_begun} | {vanished} |");
        }
    }
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let _ = fs::remove_dir_all(&folder);
    let kills = total - all_terms;
    let mut text = format!(
        "# Killed runs\n\n{machine}\n\nCommand: `cargo xtask kill --count {count}`, {minutes:.1} minutes. {kills} runs got SIGKILL and {all_terms} \
         SIGTERM at random moments: every run went on to the draws of a run that was not killed, byte for byte. After every kill \
         the files held the first draws of that run and nothing else, and `exmc summary` read them. What a kill hit is seen in the \
         files that it left, of all chains together: *in the middle of a draw*: a file ends within a record; *of a checkpoint*: one \
         had not taken its place yet. Killed before `run.json` was there, `exmc sample` was started again, else `exmc resume`. \
         *Killed when ended*: the process was gone before the kill.\n\n{table}\n## Small disks\n\n"
    );
    if has_disks {
        let _ = write!(
            text,
            "Each run wrote to a file system of at most 1 MB, of random size, that was too small for it. It ended with exit code 4 and a \
             message with the file; what was there were the first draws of the whole run; `exmc summary` read them; and \
             when there was room, the run went on to the same bytes. *Directory taken away*: a run whose directory was removed while \
             it wrote; it ended with exit code 4, or had ended before. That each single call that writes fails in turn is the test \
             `every_call_that_fails_leaves_a_run_that_goes_on` of `exmc-draws`.\n\n{disks}"
        );
    } else {
        text.push_str("Left out: this process may not mount file systems.\n");
    }
    let path = record::path("kill");
    fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{total} kills in {minutes:.1} minutes; written to {}", path.display());
    Ok(())
}

/// What happened to the runs of one setting.
#[derive(Default)]
struct Seen {
    runs: usize,
    kills: usize,
    terms: usize,
    /// Before there was a `run.json`.
    anew: usize,
    /// Without draws after warmup.
    warmup: usize,
    sampling: usize,
    /// With all draws.
    complete: usize,
    /// With a part of a record at the end of a file.
    torn: usize,
    /// With a file that had not taken another's place yet.
    unplaced: usize,
    ended: usize,
}

/// One model on a number of threads.
struct Trial<'a> {
    exmc: &'a Path,
    folder: PathBuf,
    case: &'a Case,
    sample: Vec<String>,
    uncut: Vec<Vec<u8>>,
    /// Bytes of a draw.
    record: usize,
    time: Duration,
}

impl<'a> Trial<'a> {
    fn new(exmc: &'a Path, folder: &Path, case: &'a Case, threads: &str) -> Result<Self, String> {
        let folder = folder.join(format!("{}-{threads}", case.file));
        let write = |name: &str, text: &str| {
            fs::write(folder.join(name), text).map_err(|e| format!("{name}: {e}"))
        };
        fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
        write(case.file, case.text)?;
        let mut sample = vec!["sample", case.file, "--threads", threads, "--seed", "3", "-q"];
        sample.extend(["--checkpoint-every", "0.02"]);
        if let Some(data) = case.data {
            write("data.json", data)?;
            sample.extend(["--data", "data.json"]);
        }
        sample.extend(case.args);
        let sample = sample.into_iter().map(str::to_owned).collect();
        let (uncut, time) = (Vec::new(), Duration::ZERO);
        let mut trial = Self { exmc, folder, case, sample, uncut, record: 0, time };
        let began = Instant::now();
        trial.complete(&trial.sample("whole"))?;
        trial.time = began.elapsed();
        trial.uncut = trial.draws("whole")?;
        let text =
            fs::read_to_string(trial.folder.join("whole/run.json")).map_err(|e| e.to_string())?;
        let run: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
        let width: u64 = run["variables"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|v| {
                v["shape"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|n| n.as_u64())
                    .product::<u64>()
            })
            .sum();
        trial.record = 24 + 8 * (6 + width as usize);
        Ok(trial)
    }

    fn sample(&self, out: &str) -> Vec<String> {
        let mut args = self.sample.clone();
        args.extend(["--out".to_owned(), out.to_owned()]);
        args
    }

    fn command(&self, args: &[String]) -> Command {
        let mut command = Command::new(self.exmc);
        command.args(args).current_dir(&self.folder).stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn complete(&self, args: &[String]) -> Result<(), String> {
        let output =
            self.command(args).stderr(Stdio::piped()).output().map_err(|e| e.to_string())?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(format!(
            "{}: exmc {} ended with {}: {said}",
            self.folder.display(),
            args.join(" "),
            output.status
        ))
    }

    fn draws(&self, run: &str) -> Result<Vec<Vec<u8>>, String> {
        let file = |k| self.folder.join(run).join(format!("chain-{k}.draws"));
        let read = |k| fs::read(file(k)).map_err(|e| format!("{}: {e}", file(k).display()));
        (0..self.case.chains).map(read).collect()
    }

    /// A run that is killed at least once, and goes on until it has ended.
    fn run(&self, random: &mut Random, seen: &mut Seen) -> Result<(), String> {
        let _ = fs::remove_dir_all(self.folder.join("run"));
        let resume = ["resume", "run", "-q", "--checkpoint-every", "0.02"].map(str::to_owned);
        seen.runs += 1;
        let mut args = self.sample("run");
        loop {
            self.kill(&args, random, seen)?;
            self.check("run")?;
            args = if self.look(seen)? { resume.to_vec() } else { self.sample("run") };
            if random.below(3) > 0 {
                break;
            }
        }
        self.complete(&args)?;
        if self.draws("run")? != self.uncut {
            return Err(format!("{}: `run` has other draws than `whole`", self.folder.display()));
        }
        self.complete(&["summary", "run"].map(str::to_owned))
    }

    /// Starts the program and ends it after a random part of the time that a whole run takes.
    fn kill(&self, args: &[String], random: &mut Random, seen: &mut Seen) -> Result<(), String> {
        let mut child =
            self.command(args).stderr(Stdio::null()).spawn().map_err(|e| e.to_string())?;
        std::thread::sleep(self.time.mul_f64(1.05 * random.below(10_000) as f64 / 1e4));
        seen.ended += usize::from(child.try_wait().map_err(|e| e.to_string())?.is_some());
        seen.kills += 1;
        if random.below(4) == 0 {
            seen.terms += 1;
            let status = Command::new("kill")
                .args(["-TERM", &child.id().to_string()])
                .stderr(Stdio::null())
                .status();
            status.map_err(|e| e.to_string())?;
        } else {
            child.kill().map_err(|e| e.to_string())?;
        }
        child.wait().map(drop).map_err(|e| e.to_string())
    }

    /// Notes what the kill hit; whether there is a run to go on with.
    fn look(&self, seen: &mut Seen) -> Result<bool, String> {
        let run = self.folder.join("run");
        let entries = fs::read_dir(&run).into_iter().flatten().flatten();
        let is_unplaced = |name: &str| name.ends_with(".tmp") && name.contains(".checkpoint.");
        seen.unplaced += usize::from(
            entries
                .filter_map(|entry| entry.file_name().into_string().ok())
                .any(|name| is_unplaced(&name)),
        );
        if !run.join("run.json").exists() {
            seen.anew += 1;
            return Ok(false);
        }
        let parts = self.draws("run")?;
        let rest = |part: &Vec<u8>| part.len().saturating_sub(HEADER) % self.record;
        seen.torn += usize::from(parts.iter().any(|part| rest(part) > 0));
        if parts == self.uncut {
            seen.complete += 1;
        } else if parts.iter().any(|part| self.holds_draws(part)) {
            seen.sampling += 1;
        } else {
            seen.warmup += 1;
        }
        Ok(true)
    }

    /// Whether a chain's file holds a draw after warmup.
    fn holds_draws(&self, part: &[u8]) -> bool {
        let records = part.get(HEADER..).unwrap_or_default().chunks_exact(self.record);
        // Bit 0 of a record's flags says that it is of warmup.
        records.last().is_some_and(|record| record[16] & 1 == 0)
    }

    /// What a run that was cut off left: whole draws of the run, and perhaps a part of one.
    fn check(&self, run: &str) -> Result<(), String> {
        let path = self.folder.join(run);
        for (k, uncut) in self.uncut.iter().enumerate() {
            let part = fs::read(path.join(format!("chain-{k}.draws"))).unwrap_or_default();
            let held = part.len().saturating_sub(HEADER) / self.record * self.record;
            let held = (HEADER + held).min(part.len());
            if uncut.get(..held) != Some(&part[..held]) {
                return Err(format!(
                    "{}: chain {k} has other draws than the whole run",
                    path.display()
                ));
            }
        }
        if path.join("run.json").exists() {
            self.complete(&["summary", run].map(str::to_owned))?;
        }
        Ok(())
    }
}

/// Numbers that decide when to kill (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }
}
