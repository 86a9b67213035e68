//! Runs gates by name: arguments -> lines on standard output, and an exit code.
//!
//! 0: passed, 1: a gate saw an error, 2: inconclusive (it could not have seen the wanted error), 3:
//! not understood.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command line program")]

use std::process::ExitCode;
use std::time::Instant;

use exmc_testkit::gates::{GateSettings, METRICS, Row, run_gate};
use exmc_testkit::{
    alike_terms, behaviour, function_sweep, hierarchies, one_step, random_graphs, random_models,
    sbc, stan_programs, targets,
};

const USAGE: &str = "\
exmc-gates list targets|sbc
exmc-gates moments TARGET METRIC [WANTED [SEED]]
exmc-gates one-step TARGET METRIC
exmc-gates behaviour CHECK
exmc-gates sbc MODEL REPLICATIONS
exmc-gates fuzz SECONDS [FIRST_SEED]
exmc-gates graphs COUNT [FIRST_SEED]
exmc-gates singles COUNT [FIRST_SEED]
exmc-gates alike COUNT [FIRST_SEED]
exmc-gates hierarchies COUNT [FIRST_SEED]
exmc-gates functions
exmc-gates stan COUNT [FIRST_SEED [THREADS]]
exmc-gates stan-program SEED";

/// Exact draws for a one-step gate: a variance changed by 3 % is seen on a normal target.
const ONE_STEP_DRAWS: usize = 100_000;

#[derive(Clone, Copy, PartialEq)]
enum Outcome {
    Pass,
    Fail,
    Inconclusive,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(Outcome::Pass) => ExitCode::SUCCESS,
        Ok(Outcome::Fail) => ExitCode::from(1),
        Ok(Outcome::Inconclusive) => ExitCode::from(2),
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(3)
        }
    }
}

fn run(args: &[&str]) -> Result<Outcome, String> {
    match args {
        ["list", "targets"] => {
            targets::targets().iter().for_each(|target| println!("{}", target.name));
            Ok(Outcome::Pass)
        }
        ["list", "sbc"] => {
            sbc::calibrations().iter().for_each(|model| println!("{}", model.name));
            Ok(Outcome::Pass)
        }
        ["sbc", name, replications] => {
            let replications = replications.parse().map_err(|e| format!("{replications}: {e}"))?;
            calibrate(name, replications)
        }
        ["moments", name, metric, rest @ ..] => moments(name, metric, rest),
        ["one-step", name, metric] => {
            let target = targets::target(name).ok_or_else(|| format!("no target `{name}`"))?;
            let steps = one_step::one_step(&target, metric_of(metric)?, ONE_STEP_DRAWS);
            Ok(report(steps.map(|steps| {
                let mut passed = true;
                for step in &steps {
                    let word = if step.passed() { "pass" } else { "FAIL" };
                    println!("{word}: {name} {metric} {step}");
                    passed &= step.passed();
                }
                passed
            })))
        }
        ["behaviour", name] => Ok(report(behaviour::check(name).map(|()| true))),
        ["fuzz", seconds, first @ ..] => {
            let limit = seconds.parse().map_err(|e| format!("{seconds}: {e}"))?;
            Ok(fuzz(limit, first_seed(first)?))
        }
        ["graphs", count, first @ ..] => {
            let count = count.parse().map_err(|e| format!("{count}: {e}"))?;
            let first = first_seed(first)?;
            Ok(graphs("pairs of random graphs", count, first, random_graphs::check))
        }
        ["singles", count, first @ ..] => {
            let count = count.parse().map_err(|e| format!("{count}: {e}"))?;
            let first = first_seed(first)?;
            Ok(graphs("random graphs in f32", count, first, random_graphs::check_singles))
        }
        ["alike", count, first @ ..] => {
            let count = count.parse().map_err(|e| format!("{count}: {e}"))?;
            Ok(report(alike(count, first_seed(first)?)))
        }
        ["hierarchies", count, first @ ..] => {
            let count = count.parse().map_err(|e| format!("{count}: {e}"))?;
            Ok(report(random_hierarchies(count, first_seed(first)?)))
        }
        ["functions"] => Ok(report(function_sweep::check().map(|compared| {
            println!("{compared} values of functions: executors agree");
            true
        }))),
        ["stan", count, rest @ ..] => {
            let count = count.parse().map_err(|e| format!("{count}: {e}"))?;
            let (first, threads) = match rest {
                [] => (0, 1),
                [first] => (first_seed(&[*first])?, 1),
                [first, threads, ..] => {
                    let threads = threads.parse().map_err(|e| format!("{threads}: {e}"))?;
                    (first_seed(&[*first])?, threads)
                }
            };
            Ok(stan(count, first, threads))
        }
        ["stan-program", seed] => {
            print!("{}", stan_programs::text(first_seed(&[*seed])?));
            Ok(Outcome::Pass)
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// Random densities of many alike terms.
fn alike(count: u64, first: u64) -> Result<bool, String> {
    let mut seen = alike_terms::Seen::default();
    for seed in first..first + count {
        alike_terms::check(seed, &mut seen)?;
    }
    println!("{count} densities of scalars agree: {seen:?}");
    Ok(true)
}

/// Random Stan programs, shared among threads.
fn stan(count: u64, first: u64, threads: usize) -> Outcome {
    let began = Instant::now();
    let found = stan_programs::run(first, count, threads);
    let seconds = began.elapsed().as_secs_f64();
    println!("{}", found.table(first, count, seconds));
    if found.failures.is_empty() { Outcome::Pass } else { Outcome::Fail }
}

/// A run that breaks down is a failure like any other.
fn report(passed: Result<bool, String>) -> Outcome {
    match passed {
        Ok(true) => Outcome::Pass,
        Ok(false) => Outcome::Fail,
        Err(why) => {
            println!("{why}");
            Outcome::Fail
        }
    }
}

fn metric_of(name: &str) -> Result<exmc::infer::MetricKind, String> {
    let found = METRICS.iter().find(|(n, _)| *n == name);
    found.map(|(_, kind)| *kind).ok_or_else(|| format!("no metric `{name}`"))
}

fn moments(name: &str, metric: &str, rest: &[&str]) -> Result<Outcome, String> {
    let target = targets::target(name).ok_or_else(|| format!("no target `{name}`"))?;
    let mut settings = GateSettings::default();
    settings.metric = metric_of(metric)?;
    let number = |text: &str| text.parse::<f64>().map_err(|e| format!("{text}: {e}"));
    if let Some(wanted) = rest.first() {
        settings.wanted = number(wanted)?;
        // The default bound is for 5 %; draws grow with the square.
        settings.most_draws =
            (settings.most_draws as f64 * (0.05 / settings.wanted).powi(2)) as u64;
    }
    if let Some(seed) = rest.get(1) {
        settings.seed = number(seed)? as u64;
    }
    let rows = match run_gate(&target, &settings) {
        Ok(rows) => rows,
        Err(why) => {
            println!("{why}");
            return Ok(Outcome::Fail);
        }
    };
    for row in &rows {
        println!("{}", row.markdown());
    }
    Ok(if rows.iter().any(Row::failed) {
        Outcome::Fail
    } else if rows.iter().all(Row::passed) {
        Outcome::Pass
    } else {
        Outcome::Inconclusive
    })
}

fn calibrate(name: &str, replications: usize) -> Result<Outcome, String> {
    let models = sbc::calibrations();
    let model =
        models.iter().find(|m| m.name == name).ok_or_else(|| format!("no model `{name}`"))?;
    Ok(report(sbc::calibrate(model, replications, 1).map(|rows| {
        println!("| quantity | chi-square p | leaves the band | verdict |\n|---|---|---|---|");
        for row in &rows {
            let e = &row.evidence;
            let crossing = e.crossing.map_or("no".to_owned(), |c| format!("at rank {}", c.rank));
            let verdict = if e.uniform { "uniform" } else { "**NOT UNIFORM**" };
            let p = e.chi_square.p_value;
            println!("| {} | {p:.4} | {crossing} | {verdict} |", row.quantity);
        }
        rows.iter().all(|row| row.evidence.uniform)
    })))
}

fn fuzz(seconds: f64, first: u64) -> Outcome {
    let began = std::time::Instant::now();
    let mut seed = first;
    while began.elapsed().as_secs_f64() < seconds {
        if let Err(why) = random_models::check(seed) {
            println!("{why}");
            return Outcome::Fail;
        }
        seed += 1;
    }
    println!("{} random models, seeds {first} to {}: all paths agree", seed - first, seed - 1);
    Outcome::Pass
}

/// Random hierarchical models, one a seed.
fn random_hierarchies(count: u64, first: u64) -> Result<bool, String> {
    let mut all = hierarchies::Seen::default();
    for seed in first..first.saturating_add(count) {
        all.add(&hierarchies::check(seed)?);
    }
    all.spread()?;
    println!("seeds from {first}: {all}");
    Ok(true)
}

fn first_seed(args: &[&str]) -> Result<u64, String> {
    let first = args.first().map_or(Ok(1000), |s| s.parse());
    first.map_err(|e: std::num::ParseIntError| e.to_string())
}

/// Random graphs of `count` seeds, each by `check`, which gives the largest difference in units of
/// its tolerance.
fn graphs(
    what: &str,
    count: u64,
    first: u64,
    check: impl Fn(u64) -> Result<f64, String>,
) -> Outcome {
    let mut seeds = first..first + count;
    let worst = seeds.try_fold(0.0, |worst: f64, seed| Ok(worst.max(check(seed)?)));
    report(worst.map(|worst| {
        let last = (first + count).saturating_sub(1);
        println!(
            "{count} {what}, seeds {first} to {last}: executors agree at every level (largest difference {worst:.2} of the tolerance)"
        );
        true
    }))
}
