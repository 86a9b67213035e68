//! What `run.json` says of a run <-> its JSON text.
//!
//! The sampler's own types carry no serialisation: the structs here mirror them, so that the file's
//! format changes only when this file does.

use exmc_infer::{
    ChainOutcome, InverseMetric, MetricKind, Restart, RestartReason, SamplerConfig, WarmStart,
};
use serde::{Deserialize, Serialize};

use crate::json_text::json_text;
use crate::origin::Origin;
use crate::posterior::{ChainDraws, Variable};

/// Free variables' share of the unconstrained vector, in its order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coordinates {
    /// The variable.
    pub name: String,
    /// Its number of coordinates.
    pub length: usize,
    /// How far they are centred, in [0, 1], where that was chosen: one number, or one a coordinate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub centred: Option<Vec<f64>>,
}

/// How far a run got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunStatus {
    /// It has not ended, or its process was killed.
    Running,
    /// All chains made all their draws.
    Completed,
    /// It was stopped.
    Interrupted,
    /// Its time was up (`--max-seconds`).
    Stopped,
    /// A chain failed, or draws could not be written.
    Failed,
}

impl RunStatus {
    /// The word that `run.json` and `--json` output use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Interrupted => "interrupted",
            Self::Stopped => "stopped",
            Self::Failed => "failed",
        }
    }
}

/// How a chain ended, as it was stored.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum StoredOutcome {
    /// It made all its draws.
    Completed,
    /// Somebody stopped it.
    Interrupted,
    /// Its time was up (`--max-seconds`).
    Stopped,
    /// It stopped with this error.
    Failed(String),
    /// The run's process ended before it could say.
    Unknown,
}

/// What `run.json` holds on one chain.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredChain {
    /// Number of the chain.
    pub chain: u32,
    /// How it ended.
    pub outcome: StoredOutcome,
    /// Leapfrog steps, warmup included.
    pub leapfrogs: u64,
    /// The acceptance that the step size was adapted to, where warmup raised it.
    pub raised_target: Option<f64>,
    /// Where it went on from another place during warmup.
    pub restarts: Vec<Restart>,
    /// Wall-clock seconds of warmup.
    pub warmup_seconds: f64,
    /// Wall-clock seconds of sampling.
    pub sampling_seconds: f64,
    /// Position, metric and step size at the end.
    pub tuned: Option<WarmStart>,
}

/// What made the draws of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Method {
    /// NUTS, whose statistics each draw has.
    #[default]
    Sample,
    /// Independent draws from a normal approximation at a mode.
    Laplace,
    /// Quantities computed from the draws of another run.
    Generate,
    /// Draws of normal approximations along paths to modes.
    Pathfinder,
    /// Independent draws from the normal approximation with the largest evidence lower bound.
    Variational,
}

impl Method {
    /// The word that `run.json` and `--json` output use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sample => "sample",
            Self::Laplace => "laplace",
            Self::Generate => "generate",
            Self::Pathfinder => "pathfinder",
            Self::Variational => "variational",
        }
    }
}

/// Everything that `run.json` holds.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRecord {
    /// Name and version of the program that made the run.
    pub program: String,
    /// What made the draws.
    pub method: Method,
    /// The model's name, as files made from the run are called.
    pub model: String,
    /// When the run began: seconds since the start of 1970, UTC; 0 when that is unknown.
    pub started: u64,
    /// How far the run got.
    pub status: RunStatus,
    /// Why it failed, if it did.
    pub error: Option<String>,
    /// The settings, every default filled in.
    pub config: SamplerConfig,
    /// The executor's name.
    pub executor: String,
    /// Names of rewrite passes that were left out.
    pub without: Vec<String>,
    /// Whether the chains' files hold warmup draws.
    pub save_warmup: bool,
    /// What each draw records, in column order.
    pub variables: Vec<Variable>,
    /// The unconstrained vector's parts, in order.
    pub coordinates: Vec<Coordinates>,
    /// What was found wrong with the density while it was sampled, in words.
    pub warnings: Vec<String>,
    /// Wall-clock seconds of the whole run; 0 until it ends.
    pub seconds: f64,
    /// The chains; empty until the run ends.
    pub chains: Vec<StoredChain>,
    /// What it takes to go on with the run; nothing where nobody can.
    pub origin: Option<Origin>,
}

/// The names of metrics in files and on the command line.
pub const METRICS: [(&str, MetricKind); 4] = [
    ("diag", MetricKind::Diag),
    ("stan", MetricKind::Stan),
    ("dense", MetricKind::Dense),
    ("low-rank", MetricKind::LowRank),
];

#[derive(Serialize, Deserialize)]
struct File {
    exmc_run: u64,
    program: String,
    #[serde(default)]
    method: Method,
    #[serde(default = "unnamed")]
    model: String,
    #[serde(default)]
    started: u64,
    status: RunStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    seconds: f64,
    settings: Settings,
    variables: Vec<VariableEntry>,
    coordinates: Vec<Coordinates>,
    chains: Vec<ChainEntry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<Origin>,
}

#[derive(Serialize, Deserialize)]
struct Settings {
    chains: u32,
    warmup: u64,
    draws: u64,
    seed: u64,
    metric: String,
    target_accept: f64,
    #[serde(default)]
    raise_target_accept: bool,
    max_depth: u32,
    step_jitter: f64,
    initial_radius: f64,
    initial_attempts: u32,
    max_energy_error: f64,
    threads: u32,
    #[serde(default)]
    threads_per_chain: u32,
    executor: String,
    without: Vec<String>,
    save_warmup: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    warm_start: Option<Tuned>,
}

#[derive(Serialize, Deserialize)]
struct VariableEntry {
    name: String,
    shape: Vec<usize>,
    dims: Vec<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    first_index: usize,
}

/// The model's name in runs made before it was recorded.
fn unnamed() -> String {
    "model".to_owned()
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[derive(Serialize, Deserialize)]
struct ChainEntry {
    chain: u32,
    outcome: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    leapfrogs: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    raised_target: Option<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    restarts: Vec<RestartEntry>,
    warmup_seconds: f64,
    sampling_seconds: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tuned: Option<Tuned>,
}

#[derive(Serialize, Deserialize)]
struct RestartEntry {
    iteration: u64,
    reason: String,
    logp_before: f64,
    logp_after: f64,
    evaluations: u64,
}

#[derive(Serialize, Deserialize)]
struct Tuned {
    step_size: f64,
    inverse_metric: Inverse,
    #[serde(default)]
    adapt_metric: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    positions: Vec<Vec<f64>>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum Inverse {
    Diag { variance: Vec<f64> },
    Dense { dim: usize, covariance: Vec<f64> },
    LowRank { scale: Vec<f64>, vectors: Vec<f64>, values: Vec<f64> },
}

/// Why text is no run record.
pub(crate) enum Unreadable {
    Malformed(String),
    Version(u64),
}

impl RunRecord {
    /// The text of `run.json`.
    pub(crate) fn to_json(&self) -> String {
        let file = File {
            exmc_run: crate::FORMAT_VERSION,
            program: self.program.clone(),
            method: self.method,
            model: self.model.clone(),
            started: self.started,
            status: self.status,
            error: self.error.clone(),
            warnings: self.warnings.clone(),
            seconds: self.seconds,
            settings: self.settings(),
            variables: self
                .variables
                .iter()
                .map(|v| VariableEntry {
                    name: v.name.clone(),
                    shape: v.shape.clone(),
                    dims: v.dims.clone(),
                    first_index: v.first_index,
                })
                .collect(),
            coordinates: self.coordinates.clone(),
            chains: self.chains.iter().map(ChainEntry::of).collect(),
            origin: self.origin.clone(),
        };
        json_text(&serde_json::to_value(&file).expect("plain data serialises"))
    }

    fn settings(&self) -> Settings {
        let Self { config, .. } = self;
        let metric = METRICS.iter().find(|(_, kind)| *kind == config.metric);
        let (metric, _) = metric.expect("every metric has a name");
        Settings {
            chains: config.chains,
            warmup: config.warmup,
            draws: config.draws,
            seed: config.seed,
            metric: (*metric).to_owned(),
            target_accept: config.target_accept,
            raise_target_accept: config.raise_target_accept,
            max_depth: config.max_depth,
            step_jitter: config.step_jitter,
            initial_radius: config.initial_radius,
            initial_attempts: config.initial_attempts,
            max_energy_error: config.max_energy_error,
            threads: config.threads,
            threads_per_chain: config.threads_per_chain,
            executor: self.executor.clone(),
            without: self.without.clone(),
            save_warmup: self.save_warmup,
            warm_start: config.warm_start.as_ref().and_then(Tuned::of),
        }
    }

    /// The settings as `run.json` has them.
    pub(crate) fn settings_json(&self) -> serde_json::Value {
        serde_json::to_value(self.settings()).expect("plain data serialises")
    }

    pub(crate) fn from_json(text: &str) -> Result<Self, Unreadable> {
        let malformed = |e: serde_json::Error| Unreadable::Malformed(e.to_string());
        // The version first: other versions may have other fields.
        let any: serde_json::Value = serde_json::from_str(text).map_err(malformed)?;
        match any.get("exmc_run").and_then(serde_json::Value::as_u64) {
            None => return Err(Unreadable::Malformed("it names no format version".into())),
            Some(version) if version != crate::FORMAT_VERSION => {
                return Err(Unreadable::Version(version));
            }
            Some(_) => {}
        }
        let file: File = serde_json::from_value(any).map_err(malformed)?;
        let s = file.settings;
        let metric = METRICS.iter().find(|(name, _)| *name == s.metric);
        let Some((_, metric)) = metric else {
            return Err(Unreadable::Malformed(format!("there is no metric `{}`", s.metric)));
        };
        let mut config = SamplerConfig::default();
        config.chains = s.chains;
        config.warmup = s.warmup;
        config.draws = s.draws;
        config.seed = s.seed;
        config.metric = *metric;
        config.target_accept = s.target_accept;
        config.raise_target_accept = s.raise_target_accept;
        config.max_depth = s.max_depth;
        config.step_jitter = s.step_jitter;
        config.initial_radius = s.initial_radius;
        config.initial_attempts = s.initial_attempts;
        config.max_energy_error = s.max_energy_error;
        config.threads = s.threads;
        config.threads_per_chain = s.threads_per_chain;
        // What the settings of a run must satisfy holds here too; the metric is for who starts from
        // it.
        let dim = file
            .coordinates
            .iter()
            .fold(0_usize, |n, coordinate| n.saturating_add(coordinate.length));
        let wrong = |e: exmc_infer::SampleError| Unreadable::Malformed(e.to_string());
        config.validate(dim).map_err(wrong)?;
        config.warm_start = s.warm_start.map(Tuned::into_warm_start);
        for (k, entry) in file.chains.iter().enumerate() {
            let twice = file.chains[..k].iter().any(|other| other.chain == entry.chain);
            if twice || entry.chain >= config.chains {
                let (chain, chains) = (entry.chain, config.chains);
                let what = format!("it tells of chain {chain}, as the {k}th of {chains}");
                return Err(Unreadable::Malformed(what));
            }
        }
        let mut offset = 0;
        let mut variables = Vec::with_capacity(file.variables.len());
        for entry in file.variables {
            let VariableEntry { name, shape, dims, first_index } = entry;
            let length = shape.iter().try_fold(1_usize, |n, extent| n.checked_mul(*extent));
            let end = length.and_then(|n| n.checked_add(offset));
            let Some(end) = end else {
                return Err(Unreadable::Malformed(format!("`{name}` is too large")));
            };
            variables.push(Variable { name, shape, dims, offset, first_index });
            offset = end;
        }
        Ok(Self {
            program: file.program,
            method: file.method,
            model: file.model,
            started: file.started,
            status: file.status,
            error: file.error,
            config,
            executor: s.executor,
            without: s.without,
            save_warmup: s.save_warmup,
            variables,
            coordinates: file.coordinates,
            warnings: file.warnings,
            seconds: file.seconds,
            chains: file.chains.into_iter().map(ChainEntry::into_stored).collect(),
            origin: file.origin,
        })
    }
}

impl StoredChain {
    /// The text of a task's file.
    pub(crate) fn to_json(&self) -> String {
        json_text(&serde_json::to_value(ChainEntry::of(self)).expect("plain data serialises"))
    }

    /// What a task's file says; nothing where it is damaged.
    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(ChainEntry::into_stored)
    }

    /// What to store of a chain of a run that ended so.
    pub fn of(chain: &ChainDraws, status: RunStatus) -> Self {
        Self {
            chain: chain.chain,
            outcome: match &chain.outcome {
                ChainOutcome::Completed => StoredOutcome::Completed,
                ChainOutcome::Interrupted if status == RunStatus::Stopped => StoredOutcome::Stopped,
                ChainOutcome::Interrupted => StoredOutcome::Interrupted,
                ChainOutcome::Failed(error) => StoredOutcome::Failed(error.to_string()),
                _ => StoredOutcome::Unknown,
            },
            leapfrogs: chain.leapfrogs,
            raised_target: chain.raised_target,
            restarts: chain.restarts.clone(),
            warmup_seconds: chain.warmup_seconds,
            sampling_seconds: chain.sampling_seconds,
            tuned: chain.tuned.clone(),
        }
    }
}

impl ChainEntry {
    fn of(stored: &StoredChain) -> Self {
        let (outcome, error) = match &stored.outcome {
            StoredOutcome::Completed => ("completed", None),
            StoredOutcome::Interrupted => ("interrupted", None),
            StoredOutcome::Stopped => ("stopped", None),
            StoredOutcome::Failed(error) => ("failed", Some(error.clone())),
            StoredOutcome::Unknown => ("unknown", None),
        };
        Self {
            chain: stored.chain,
            outcome: outcome.to_owned(),
            error,
            leapfrogs: stored.leapfrogs,
            raised_target: stored.raised_target,
            restarts: stored.restarts.iter().map(RestartEntry::of).collect(),
            warmup_seconds: stored.warmup_seconds,
            sampling_seconds: stored.sampling_seconds,
            tuned: stored.tuned.as_ref().and_then(Tuned::of),
        }
    }

    fn into_stored(self) -> StoredChain {
        let outcome = match self.outcome.as_str() {
            "completed" => StoredOutcome::Completed,
            "interrupted" => StoredOutcome::Interrupted,
            "stopped" => StoredOutcome::Stopped,
            "failed" => StoredOutcome::Failed(self.error.unwrap_or_default()),
            _ => StoredOutcome::Unknown,
        };
        StoredChain {
            chain: self.chain,
            outcome,
            leapfrogs: self.leapfrogs,
            raised_target: self.raised_target,
            restarts: self.restarts.iter().filter_map(RestartEntry::read).collect(),
            warmup_seconds: self.warmup_seconds,
            sampling_seconds: self.sampling_seconds,
            tuned: self.tuned.map(Tuned::into_warm_start),
        }
    }
}

impl RestartEntry {
    fn of(restart: &Restart) -> Self {
        Self {
            iteration: restart.iteration,
            reason: restart.reason.name().to_owned(),
            logp_before: restart.logp_before,
            logp_after: restart.logp_after,
            evaluations: restart.evaluations,
        }
    }

    /// Nothing for a reason that this version does not know.
    fn read(&self) -> Option<Restart> {
        let reason = RestartReason::ALL.into_iter().find(|r| r.name() == self.reason)?;
        let logps = [self.logp_before, self.logp_after];
        Some(Restart::new(self.iteration, reason, logps, self.evaluations))
    }
}

impl Tuned {
    /// `None` for numbers that JSON cannot hold and no run could start from.
    fn of(warm: &WarmStart) -> Option<Self> {
        let inverse_metric = match &warm.inverse_metric {
            InverseMetric::Dense { dim, covariance } => {
                Inverse::Dense { dim: *dim, covariance: covariance.clone() }
            }
            InverseMetric::LowRank { scale, vectors, values } => Inverse::LowRank {
                scale: scale.clone(),
                vectors: vectors.clone(),
                values: values.clone(),
            },
            other => Inverse::Diag { variance: other.diagonal() },
        };
        let adapt_metric = warm.adapt_metric;
        let finite = warm.step_size.is_finite()
            && warm.inverse_metric.diagonal().iter().all(|v| v.is_finite());
        let mut positions = warm.positions.clone();
        positions.retain(|position| position.iter().all(|x| x.is_finite()));
        finite.then_some(Self {
            step_size: warm.step_size,
            inverse_metric,
            adapt_metric,
            positions,
        })
    }

    fn into_warm_start(self) -> WarmStart {
        let inverse_metric = match self.inverse_metric {
            Inverse::Diag { variance } => InverseMetric::Diagonal(variance),
            Inverse::Dense { dim, covariance } => InverseMetric::Dense { dim, covariance },
            Inverse::LowRank { scale, vectors, values } => {
                InverseMetric::LowRank { scale, vectors, values }
            }
        };
        let Self { step_size, adapt_metric, positions, .. } = self;
        WarmStart { step_size, inverse_metric, adapt_metric, positions }
    }
}
