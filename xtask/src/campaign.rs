//! The slow statistics: 1 % gates on every target and metric, calibration, random models -> a
//! record.
//!
//! With `--minutes` the campaign starts no further gate after that time and says which it left out.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::{ci, record};

/// Relative error of a variance that every gate must be able to see.
const WANTED: &str = "0.01";
/// Replications of each calibration model.
const REPLICATIONS: &str = "200";
/// Seeds of random graphs, two graphs each, in jobs of their own so that they share the processors.
const GRAPH_SEEDS: u64 = 50_000;
const GRAPH_JOBS: u64 = 4;
/// Seconds of random models.
const FUZZ_SECONDS: &str = "60";
const METRICS: [&str; 4] = ["diag", "stan", "dense", "low-rank"];

/// Runs everything and writes `bench/record/campaign-<date>.md`; with a metric, only its known
/// targets, into `campaign-<metric>-<date>.md`.
///
/// # Errors
/// When there is no such metric, building fails, or a gate fails or is inconclusive.
pub(crate) fn campaign(metric: Option<&str>, minutes: Option<f64>) -> Result<(), String> {
    if let Some(metric) = metric.filter(|m| !METRICS.contains(m)) {
        return Err(format!(
            "there is no metric `{metric}`; the metrics are {}",
            METRICS.join(", ")
        ));
    }
    // The commit that is built, not one that is made meanwhile.
    let machine = record::machine();
    ci::cargo(&["build", "--release", "-p", "exmc-testkit", "--bin", "exmc-gates"], &[])?;
    let gates = ci::target_folder()
        .join("release/exmc-gates")
        .with_extension(std::env::consts::EXE_EXTENSION);
    let list = |what: &str| -> Result<Vec<String>, String> {
        let output =
            Command::new(&gates).args(["list", what]).output().map_err(|e| e.to_string())?;
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    };
    let mut jobs: Vec<Vec<String>> = Vec::new();
    let arguments = |args: &[&str]| args.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>();
    if metric.is_none() {
        let count = GRAPH_SEEDS / GRAPH_JOBS;
        for job in 0..GRAPH_JOBS {
            jobs.push(arguments(&["graphs", &count.to_string(), &(1 + job * count).to_string()]));
        }
        jobs.push(arguments(&["fuzz", FUZZ_SECONDS]));
        for model in list("sbc")? {
            jobs.push(arguments(&["sbc", &model, REPLICATIONS]));
        }
    }
    // The default metric first: a campaign that is cut short has seen what most users run.
    let targets = list("targets")?;
    for metric in METRICS.into_iter().filter(|m| metric.is_none_or(|only| only == *m)) {
        for target in &targets {
            jobs.push(arguments(&["moments", target, metric, WANTED]));
        }
    }

    let began = Instant::now();
    let limit = minutes.map(|m: f64| Duration::from_secs_f64(60.0 * m.max(0.0)));
    let results = run_all(&gates, &jobs, || limit.is_none_or(|limit| began.elapsed() < limit));
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    let (name, command) = match metric {
        None => ("campaign".to_owned(), "cargo xtask campaign".to_owned()),
        Some(metric) => {
            (format!("campaign-{metric}"), format!("cargo xtask campaign --metric {metric}"))
        }
    };
    report((&name, &command), &machine, &jobs, &results, minutes)
}

/// What came of each job; `None` for those that were not started.
type Results = Vec<Option<Result<Output, String>>>;

fn run_all(gates: &PathBuf, jobs: &[Vec<String>], go_on: impl Fn() -> bool + Sync) -> Results {
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    let next = AtomicUsize::new(0);
    let results: Mutex<Results> = Mutex::new(jobs.iter().map(|_| None).collect());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while go_on() {
                    let place = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(place) else { break };
                    let output = Command::new(gates).args(job).output().map_err(|e| e.to_string());
                    let code = output.as_ref().ok().and_then(|o| o.status.code());
                    println!("{}: {}", job.join(" "), word(code));
                    let mut results = results.lock().unwrap_or_else(|poison| poison.into_inner());
                    results[place] = Some(output);
                }
            });
        }
    });
    results.into_inner().unwrap_or_else(|poison| poison.into_inner())
}

fn word(code: Option<i32>) -> &'static str {
    match code {
        Some(0) => "pass",
        Some(1) => "FAIL",
        Some(2) => "INCONCLUSIVE",
        _ => "BROKEN",
    }
}

fn report(
    (name, command): (&str, &str),
    machine: &str,
    jobs: &[Vec<String>],
    results: &Results,
    minutes: f64,
) -> Result<(), String> {
    let (mut moments, mut others) = (String::new(), String::new());
    let (mut bad, mut left_out) = (Vec::new(), Vec::new());
    let mut passed = 0;
    for (job, result) in jobs.iter().zip(results) {
        let name = job.join(" ");
        let Some(result) = result else {
            left_out.push(name);
            continue;
        };
        let output = result.as_ref().map_err(|e| format!("{name}: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        match output.status.code() {
            Some(0) => passed += 1,
            code => bad.push(format!("{name} ({})", word(code))),
        }
        if job[0] == "moments" {
            moments.push_str(&said);
        } else {
            let _ = writeln!(
                others,
                "### `exmc-gates {name}`: {}\n\n{said}",
                word(output.status.code())
            );
        }
    }
    let list =
        |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join("; ") };
    let text = format!(
        "# Campaign\n\n{machine}\n\nCommand: `{command}`, {minutes:.1} minutes. {passed} gates passed. Not passed: {}. \
         Not run for want of time: {}.\n\n## Known targets\n\nEvery scalar: mean and variance within 5 standard errors of the \
         truth; in parentheses what would have been seen.\n\n{HEADING}\n{moments}\n## Calibration and random models\n\n{others}",
        list(&bad),
        list(&left_out),
    );
    let path = record::path(name);
    std::fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("written to {}", path.display());
    if bad.is_empty() { Ok(()) } else { Err(format!("not passed: {}", bad.join("; "))) }
}

/// As `exmc_testkit::gates::MARKDOWN_HEADING`; this program does not depend on the sampler.
const HEADING: &str = "\
| target | metric | scalar | draws a chain | mean error, sd (detectable) | variance error (detectable) | ESS of squares | verdict |
|---|---|---|---|---|---|---|---|";
