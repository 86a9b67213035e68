//! Target, metric and the error that must be visible -> a verdict on every known scalar.
//!
//! A first run of four chains tells how many effective draws an iteration is worth; a second one is
//! as long as the wanted error needs. A run that cannot get there is inconclusive, which is not a
//! pass.

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Mutex;

use exmc::SamplerConfig;
use exmc::advanced::{BoundModel, Recorder, sample_with, variables};
use exmc::diagnose::Draws;
use exmc::diagnose::gate::{MomentGate, Verdict, moment_gate};
use exmc::infer::{ChainOutcome, MetricKind, RunPhase};
use exmc::model::Values;

use crate::targets::{Known, Target};

/// Every metric, with its name on command lines and in reports.
pub const METRICS: [(&str, MetricKind); 4] = [
    ("diag", MetricKind::Diag),
    ("stan", MetricKind::Stan),
    ("dense", MetricKind::Dense),
    ("low-rank", MetricKind::LowRank),
];

/// What a gate run is asked to do.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GateSettings {
    /// How the metric is adapted.
    pub metric: MetricKind,
    /// Relative variance error that must be visible; default 0.05, a minute of all targets and
    /// metrics.
    pub wanted: f64,
    /// Most draws a chain; default 200 000, which bounds a hopeless target to some seconds.
    pub most_draws: u64,
    /// Seed of the run; the default 1 is arbitrary.
    pub seed: u64,
    /// Threads; default 1, as the test harness runs several targets at once.
    pub threads: u32,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            metric: MetricKind::default(),
            wanted: 0.05,
            most_draws: 200_000,
            seed: 1,
            threads: 1,
        }
    }
}

/// The verdict on one scalar of a target.
#[derive(Clone, Debug)]
pub struct Row {
    /// The target.
    pub target: &'static str,
    /// The metric's name.
    pub metric: &'static str,
    /// The scalar.
    pub scalar: String,
    /// Draws a chain of the run that was judged.
    pub draws: u64,
    /// What the gate says.
    pub verdict: Verdict,
}

impl Row {
    /// Whether the gate saw no error and could have seen the wanted one.
    pub fn passed(&self) -> bool {
        matches!(self.verdict, Verdict::Pass(_))
    }

    /// Whether the gate saw an error.
    pub fn failed(&self) -> bool {
        matches!(self.verdict, Verdict::Fail { .. })
    }

    /// A row of a markdown table: target, metric, scalar, draws, mean error, variance error,
    /// detectable, verdict.
    pub fn markdown(&self) -> String {
        let Self { target, metric, scalar, draws, verdict } = self;
        let (word, evidence) = match verdict {
            Verdict::Pass(e) => ("pass".to_owned(), Some(*e)),
            Verdict::Fail { evidence: Some(e), .. } => ("**FAIL**".to_owned(), Some(*e)),
            Verdict::Fail { reason, evidence } => (format!("**FAIL**: {reason}"), *evidence),
            Verdict::Inconclusive { reason, evidence } => {
                (format!("**INCONCLUSIVE**: {reason}"), *evidence)
            }
        };
        let numbers = evidence.map_or_else(
            || "| | |".to_owned(),
            |e| {
                format!(
                    "{:+.4} ({:.4}) | {:+.2} % ({:.2} %) | {:.0} |",
                    e.mean_error,
                    e.mean_detectable,
                    100.0 * e.variance_error,
                    100.0 * e.variance_detectable,
                    e.ess_square
                )
            },
        );
        format!("| {target} | {metric} | {scalar} | {draws} | {numbers} {word} |")
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, metric, scalar, draws, verdict } = self;
        write!(f, "{target} {metric} {scalar} ({draws} draws): {verdict}")
    }
}

/// The heading of a table of [`Row::markdown`].
pub const MARKDOWN_HEADING: &str = "\
| target | metric | scalar | draws a chain | mean error, sd (detectable) | variance error (detectable) | ESS of squares | verdict |
|---|---|---|---|---|---|---|---|";

/// Name of a metric.
pub fn metric_name(kind: MetricKind) -> &'static str {
    METRICS.iter().find(|(_, k)| *k == kind).map_or("other", |(name, _)| name)
}

/// Runs a target until the wanted error would be visible in every scalar, and judges it.
///
/// **False alarms**: 1.1e-6 for each scalar and each of at most four judgements, see
/// [`moment_gate`]. **Power**: an error of the detectable size that a row states is seen half the
/// time.
///
/// # Errors
/// When sampling fails altogether, or a chain does not complete.
pub fn run_gate(target: &Target, settings: &GateSettings) -> Result<Vec<Row>, String> {
    const PILOT: u64 = 1000;
    let model = target.bind();
    let metric = metric_name(settings.metric);
    let mut draws = PILOT.min(settings.most_draws);
    let mut attempt = 0;
    loop {
        let columns = if attempt == 0 {
            kept_columns(target, &model, &config(target, settings, draws, settings.seed))?
        } else {
            let seed = settings.seed.wrapping_add(attempt << 32);
            recorded_columns(target, &model, &config(target, settings, draws, seed))?
        };
        let rows = judge(target, metric, draws, settings.wanted, &columns);
        let enough = rows.iter().all(Row::passed) || rows.iter().any(Row::failed);
        if enough || draws >= settings.most_draws || attempt == 3 {
            return Ok(rows);
        }
        // Twice as many as the first run's noisy estimate asks for costs less than a third run.
        let factor = rows.iter().filter_map(|row| shortfall(&row.verdict)).fold(1.5, f64::max);
        draws = ((draws as f64 * factor * 1.3).ceil() as u64).min(settings.most_draws);
        attempt += 1;
    }
}

/// How many times more effective draws an inconclusive gate needs.
fn shortfall(verdict: &Verdict) -> Option<f64> {
    match verdict {
        Verdict::Inconclusive { evidence: Some(e), .. } => {
            let smallest = e.ess_square.min(e.ess_mean).max(1.0);
            Some((e.ess_needed / e.ess_square.max(1.0)).max(200.0 / smallest))
        }
        Verdict::Inconclusive { evidence: None, .. } => Some(10.0),
        _ => None,
    }
}

fn config(target: &Target, settings: &GateSettings, draws: u64, seed: u64) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    config.metric = settings.metric;
    config.draws = draws;
    config.seed = seed;
    config.threads = settings.threads;
    config.target_accept = target.target_accept;
    config
}

/// One scalar's draws, a vector a chain.
type Columns = Vec<Vec<Vec<f64>>>;

fn starts(target: &Target) -> Vec<Values> {
    if target.start.is_empty() { Vec::new() } else { vec![target.start.clone()] }
}

/// The known scalars' draws from a posterior as users get it.
fn kept_columns(
    target: &Target,
    model: &BoundModel,
    config: &SamplerConfig,
) -> Result<Columns, String> {
    let posterior = sample_with(model, config, &starts(target), &exmc::infer::Silent)
        .map_err(|error| format!("{}: {error}", target.name))?;
    if let Some(chain) = posterior.chains.iter().find(|c| c.outcome != ChainOutcome::Completed) {
        return Err(format!("{}: chain {} {:?}", target.name, chain.chain, chain.outcome));
    }
    let column = |known: &Known| {
        posterior.draws_of(known.variable, known.element).expect("a known scalar is recorded")
    };
    Ok(target.known.iter().map(column).collect())
}

/// The known scalars' draws through an observer: long runs keep nothing else.
fn recorded_columns(
    target: &Target,
    model: &BoundModel,
    config: &SamplerConfig,
) -> Result<Columns, String> {
    let mut config = config.clone();
    config.keep_draws = false;
    let variables = variables(model);
    let places: Vec<usize> = target
        .known
        .iter()
        .map(|known| {
            let variable = variables.iter().find(|v| v.name == known.variable);
            variable.expect("a known scalar is recorded").offset + known.element
        })
        .collect();
    let room = || Mutex::new(vec![Vec::with_capacity(config.draws as usize); places.len()]);
    let chains: Vec<Mutex<Vec<Vec<f64>>>> = (0..config.chains).map(|_| room()).collect();
    let recorder = Recorder::new(model, config.chains, config.seed, |draw, values| {
        let Ok(values) = values else { return ControlFlow::Break(()) };
        if draw.phase == RunPhase::Sampling {
            let mut chain_columns =
                chains[draw.chain as usize].lock().expect("a chain is one thread's");
            for (column, place) in chain_columns.iter_mut().zip(&places) {
                column.push(values[*place]);
            }
        }
        ControlFlow::Continue(())
    });
    let recorder = recorder.map_err(|error| format!("{}: {error}", target.name))?;
    let posterior = sample_with(model, &config, &starts(target), &recorder)
        .map_err(|error| format!("{}: {error}", target.name))?;
    if let Some(chain) = posterior.chains.iter().find(|c| c.outcome != ChainOutcome::Completed) {
        return Err(format!("{}: chain {} {:?}", target.name, chain.chain, chain.outcome));
    }
    drop(recorder);
    let mut columns: Columns = places.iter().map(|_| Vec::new()).collect();
    for chain in chains {
        let chain_columns = chain.into_inner().expect("a chain is one thread's");
        for (column, values) in columns.iter_mut().zip(chain_columns) {
            column.push(values);
        }
    }
    Ok(columns)
}

fn judge(
    target: &Target,
    metric: &'static str,
    draws: u64,
    wanted: f64,
    columns: &Columns,
) -> Vec<Row> {
    let gate = MomentGate { wanted, ..MomentGate::default() };
    let rows = target.known.iter().zip(columns);
    rows.map(|(known, chains)| {
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let draws_of = Draws::new(&chains).expect("all chains completed, so none is shorter");
        let verdict = moment_gate(&draws_of, &known.moments, &gate);
        let scalar = format!("{}[{}]", known.variable, known.element);
        Row { target: target.name, metric, scalar, draws, verdict }
    })
    .collect()
}
