//! Flags that commands share -> the library's settings.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use exmc::SamplerConfig;
use exmc::advanced::{
    BoundModel, COMPILE_QUANTITIES, CompileOptions, Executor, MARGINALISE, OPTIMISATIONS, PASSES,
    Precision, RECENTRE,
};
use exmc::infer::{MetricKind, WarmStart};
use exmc::stan::Interpreter;
use exmc_draws::{Coordinates, METRICS, Origin, read_record, read_run};

use crate::failure::{Exit, Failure};
use crate::points::free_values;
use crate::rules::{Rule, Rules, rule};

/// How a model is compiled.
#[derive(Args, Clone, Debug)]
pub(crate) struct CompileArgs {
    /// What evaluates the log density and its gradient; `interpreter` runs a Stan program's
    /// statements one by one, as every program does that cannot be compiled
    #[arg(long, value_name = "E", default_value = Executor::default().name(),
          value_parser = PossibleValuesParser::new(executors()))]
    executor: String,
    /// Type of numbers in long arrays: `f32` takes half the memory where data are large, with seven
    /// digits of every term of the log density
    #[arg(long, value_name = "P", default_value = Precision::default().name(),
          value_parser = PossibleValuesParser::new(Precision::ALL.iter().map(|p| p.name())))]
    precision: String,
    /// Leave out a rewrite pass of the model, or an optimisation of its density (may be repeated)
    #[arg(long, value_name = "PASS", value_parser = PossibleValuesParser::new(passes()))]
    without: Vec<String>,
}

/// Names of what evaluates densities.
fn executors() -> impl Iterator<Item = &'static str> {
    Executor::ALL.iter().map(|e| e.name()).chain([Interpreter::NAME])
}

/// Names of what can be left out.
fn passes() -> impl Iterator<Item = &'static str> {
    let rewrites = PASSES.iter().map(|p| p.name);
    rewrites
        .chain([MARGINALISE, RECENTRE, COMPILE_QUANTITIES])
        .chain(OPTIMISATIONS.iter().map(|p| p.name))
}

impl CompileArgs {
    /// Those of a stored run.
    pub(crate) fn of_run(origin: &Origin, without: &[String]) -> Self {
        let (executor, precision) = (origin.executor.clone(), origin.precision.clone());
        Self { executor, precision, without: without.to_vec() }
    }

    /// The executor's name.
    pub(crate) fn executor(&self) -> &str {
        &self.executor
    }

    pub(crate) fn options(&self) -> CompileOptions {
        let mut options = CompileOptions::default();
        match Executor::from_name(&self.executor) {
            Some(executor) => options.executor = executor,
            None => options.interpreter = Interpreter::Always,
        }
        options.precision = Precision::from_name(&self.precision).expect("the parser checked it");
        options.without = self.without.clone();
        options
    }

    /// The same for a command that takes small differences of the density.
    pub(crate) fn options_in_f64(&self) -> Result<CompileOptions, Failure> {
        let options = self.options();
        if options.precision == Precision::F64 {
            return Ok(options);
        }
        let message = "invalid value for `--precision`: a mode and its curvature need all digits";
        Err(Failure::new(Exit::Usage, message).hint("leave `--precision` out"))
    }
}

/// What ends a run before it has all its draws.
#[derive(Args, Clone, Debug)]
pub(crate) struct RuleArgs {
    /// End when it holds for every recorded number, or for NAME: `ess=400`, `ess=400:theta`,
    /// `mcse=0.01:mu`, the smaller of bulk and tail effective sample size, or the Monte Carlo
    /// standard error of the mean (may be repeated; all must hold)
    #[arg(long, value_name = "RULE", value_parser = rule)]
    pub(crate) until: Vec<Rule>,
    /// End after so many seconds of sampling; `exmc resume` goes on
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    max_seconds: Option<f64>,
}

/// How often a run stores where its chains stand.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckpointArgs {
    /// Seconds between checkpoints of a chain, from which `exmc resume` goes on; the draws do not
    /// depend on it
    #[arg(long, value_name = "S", default_value_t = 1.0)]
    checkpoint_every: f64,
}

impl CheckpointArgs {
    pub(crate) fn wait(&self) -> Result<Duration, Failure> {
        Duration::try_from_secs_f64(self.checkpoint_every).map_err(|_| {
            let message = format!(
                "invalid value for `--checkpoint-every`: expected a number from 0 on, found {}",
                self.checkpoint_every
            );
            Failure::new(Exit::Usage, message)
        })
    }
}

impl RuleArgs {
    pub(crate) fn rules(&self) -> Result<Rules, Failure> {
        let time = self.max_seconds.map(|seconds| {
            let time = Duration::try_from_secs_f64(seconds).ok();
            time.ok_or_else(|| {
                let message = format!(
                    "invalid value for `--max-seconds`: expected a number from 0 on, found {seconds}"
                );
                Failure::new(Exit::Usage, message)
            })
        });
        Ok(Rules { until: self.until.clone(), time: time.transpose()? })
    }
}

/// Which parameters are sampled as something else.
#[derive(Args, Clone, Debug)]
pub(crate) struct CentringArgs {
    /// Sample a parameter of a Stan program as location + scale * z, where the model says `NAME ~
    /// family(location, scale)` (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub(crate) non_centre: Vec<String>,
}

/// How a model is sampled.
#[derive(Args, Clone, Debug)]
pub(crate) struct SamplingArgs {
    /// Number of chains
    #[arg(long, value_name = "N", default_value_t = SamplerConfig::default().chains, allow_negative_numbers = true)]
    chains: u32,
    /// Warmup draws of each chain, in which the sampler adapts
    #[arg(long, value_name = "N", default_value_t = SamplerConfig::default().warmup,
          allow_negative_numbers = true, value_parser = whole_number)]
    warmup: u64,
    /// Draws of each chain after warmup [default: 1000; with a rule that ends the run, 100000 at
    /// most]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole_number)]
    pub(crate) draws: Option<u64>,
    /// Seed of every random stream: the same seed gives the same draws
    #[arg(long, value_name = "S", default_value_t = SamplerConfig::default().seed,
          allow_negative_numbers = true, value_parser = whole_number)]
    seed: u64,
    /// How the metric is estimated during warmup
    #[arg(long, value_name = "M", default_value = default_metric(),
          value_parser = PossibleValuesParser::new(METRICS.map(|(name, _)| name)))]
    metric: String,
    /// Acceptance statistic that the step size is adapted to; one that is given is kept [default:
    /// 0.8, raised where warmup diverges]
    #[arg(long, value_name = "P")]
    target_accept: Option<f64>,
    /// Largest number of doublings of a trajectory
    #[arg(long, value_name = "N", default_value_t = SamplerConfig::default().max_depth, allow_negative_numbers = true)]
    max_depth: u32,
    /// Relative half-width of a random jitter of the step size after warmup
    #[arg(long, value_name = "J", default_value_t = SamplerConfig::default().step_jitter)]
    step_jitter: f64,
    /// Threads to run chains on; 0 takes as many as the machine has. The draws do not depend on it
    #[arg(long, value_name = "N", default_value_t = SamplerConfig::default().threads, allow_negative_numbers = true)]
    threads: u32,
    /// Threads that share the work of one chain, where data are large enough; 0 shares `--threads`
    /// evenly among the chains that run at once. The draws do not depend on it
    #[arg(long, value_name = "N", default_value_t = SamplerConfig::default().threads_per_chain, allow_negative_numbers = true)]
    threads_per_chain: u32,
}

/// A number that is counted with. What is negative is told so, and not taken for a flag.
pub(crate) fn whole_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number from 0 to {}", u64::MAX))
}

fn default_metric() -> &'static str {
    let default = METRICS.iter().find(|(_, kind)| *kind == MetricKind::default());
    default.expect("every kind has a name").0
}

impl SamplingArgs {
    /// The settings; the observer keeps draws, so the sampler need not.
    pub(crate) fn config(&self) -> SamplerConfig {
        let metric = METRICS.iter().find(|(name, _)| *name == self.metric);
        let mut config = SamplerConfig::default();
        config.chains = self.chains;
        config.warmup = self.warmup;
        config.draws = self.draws.unwrap_or(config.draws);
        config.seed = self.seed;
        config.metric = metric.expect("the parser checked it").1;
        if let Some(target) = self.target_accept {
            (config.target_accept, config.raise_target_accept) = (target, false);
        }
        config.max_depth = self.max_depth;
        config.step_jitter = self.step_jitter;
        config.threads = self.threads;
        config.threads_per_chain = self.threads_per_chain;
        config
    }
}

/// Checks settings against a model before anything is written: errors name the flag.
pub(crate) fn check(config: &SamplerConfig, dim: usize) -> Result<(), Failure> {
    config.validate(dim).map_err(|error| {
        let text = error.to_string();
        // The sampler says `invalid setting `max_depth`: …`; the flag is `--max-depth`.
        let flag = text.split('`').nth(1).map(|field| format!("--{}", field.replace('_', "-")));
        let reason = text.split_once(": ").map(|(_, reason)| reason);
        match (flag, reason) {
            (Some(flag), Some(reason)) => {
                Failure::new(Exit::Usage, format!("invalid value for `{flag}`: {reason}"))
            }
            _ => error.into(),
        }
    })
}

/// A model in the coordinates that an earlier run had.
pub(crate) fn in_coordinates_of(path: &Path, bound: &BoundModel) -> Result<BoundModel, Failure> {
    let record = read_record(path)?;
    let mut coordinates = bound.written_coordinates();
    for coordinate in &mut coordinates {
        let before = record.coordinates.iter().find(|other| other.name == coordinate.name);
        if let Some(Coordinates { centred: Some(shares), .. }) = before {
            coordinate.shares.clone_from(shares);
        }
    }
    let moved = bound.in_coordinates(&coordinates);
    moved.map_err(|error| Failure::from(error).in_file(path))
}

/// Metric and step size of an earlier run, those of the chain with the median step size, and where
/// its chains ended.
pub(crate) fn warm_start(
    path: &Path,
    bound: &BoundModel,
    coordinates: &[Coordinates],
) -> Result<WarmStart, Failure> {
    let record = read_record(path)?;
    let directory = path.display();
    if record.coordinates != coordinates {
        let message = format!("the run in `{directory}` has other free variables than this model");
        let help = "start warm from a run of the same model, with the same passes";
        return Err(Failure::new(Exit::Model, message).hint(help));
    }
    let mut tuned: Vec<&WarmStart> =
        record.chains.iter().filter_map(|chain| chain.tuned.as_ref()).collect();
    tuned.retain(|t| t.step_size > 0.0);
    tuned.sort_by(|a, b| a.step_size.total_cmp(&b.step_size));
    let Some(&middle) = tuned.get(tuned.len() / 2) else {
        let message = format!("the run in `{directory}` holds no metric: it did not end");
        return Err(Failure::new(Exit::Model, message));
    };
    let mut warm = WarmStart { adapt_metric: false, ..middle.clone() };
    warm.positions = record
        .chains
        .iter()
        .filter_map(|chain| chain.tuned.as_ref()?.positions.first().cloned())
        .collect();
    if warm.positions.is_empty() {
        // A run of a version that did not store them.
        warm.positions = last_draws(path, bound)?;
    }
    Ok(warm)
}

/// The last draw of every chain of a stored run, as positions.
fn last_draws(path: &Path, bound: &BoundModel) -> Result<Vec<Vec<f64>>, Failure> {
    let posterior = read_run(path)?.posterior;
    let width = posterior.width();
    let mut positions = Vec::new();
    for chain in &posterior.chains {
        if let Some(row) = chain.values.len().checked_sub(width) {
            let values = free_values(&posterior, &chain.values[row..], bound)
                .map_err(|failure| failure.in_file(path))?;
            let position = bound.unconstrain(&values);
            positions.push(position.map_err(|e| Failure::from(e).in_file(path))?);
        }
    }
    positions.retain(|position| position.iter().all(|x| x.is_finite()));
    Ok(positions)
}

/// What the flags of a warm or given start have in common.
#[derive(Args, Clone, Debug)]
pub(crate) struct StartArgs {
    /// Start where this JSON file says: an object name -> value, or a list with one a chain; or
    /// `pathfinder`: at draws of multi-path Pathfinder (a file of that name is `./pathfinder`)
    #[arg(long, value_name = "FILE")]
    pub(crate) init: Option<PathBuf>,
    /// Start where the chains of an earlier run ended, with its metric and step size; warmup then
    /// only tunes the step size
    #[arg(long, value_name = "DIR")]
    pub(crate) warm_start: Option<PathBuf>,
}
