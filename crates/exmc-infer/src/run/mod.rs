//! The run loop: a density model, starts and settings -> the draws of all chains.
//!
//! Chains run on scoped threads and share nothing but the model and the observer. Each has its own
//! random streams, so the draws do not depend on the number of threads or on the order in which
//! chains run; a chain that fails or panics leaves the others alone. Where the system gives fewer
//! threads than asked for, those that there are run all chains; the caller's is one of them. Where
//! there are four times as many chains as threads, four of one thread may run side by side
//! ([`DensityModel::lane_instance`]), which changes no bit either.

pub mod chain;
pub(super) mod drive;
pub(super) mod initial;
mod interruption;
pub mod observer;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, mpsc};
use std::time::Instant;

use exmc_density::{BATCH, DensityModel, LaneDensity};
use exmc_fault::{Fault, planted};
use exmc_math::interruption::StopFlag;
use exmc_math::simd::Level;

use crate::config::{SamplerConfig, WarmStart};
use crate::error::SampleError;
use crate::nuts::batched::BatchedNuts;
use crate::run::chain::Start;
use crate::run::drive::{Running, run_alone, run_together};
use crate::run::observer::Observer;
use crate::state::Info;
use crate::warmup::restart::Restart;

/// All chains of a run, in order of their numbers.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Run {
    /// One result per chain.
    pub chains: Vec<ChainResult>,
    /// Wall-clock time of the whole run in seconds (for reports; not reproducible).
    pub seconds: f64,
}

/// How a chain ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ChainOutcome {
    /// It made all its draws.
    Completed,
    /// It stopped with an error; the draws made before are kept.
    Failed(SampleError),
    /// The observer stopped it.
    Interrupted,
}

/// What one chain made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChainResult {
    /// Number of the chain.
    pub chain: u32,
    /// Length of a position.
    pub dim: usize,
    /// Draws after warmup, unconstrained, row-major `[n, dim]`; empty unless kept.
    pub draws: Vec<f64>,
    /// What each of those transitions did; empty unless kept.
    pub infos: Vec<Info>,
    /// Warmup draws, row-major; empty unless saved.
    pub warmup_draws: Vec<f64>,
    /// What each warmup transition did; empty unless saved.
    pub warmup_infos: Vec<Info>,
    /// Draws made after warmup, whether or not they are kept.
    pub n_draws: u64,
    /// Divergent transitions after warmup.
    pub divergences: u64,
    /// Divergent transitions during warmup.
    pub warmup_divergences: u64,
    /// Transitions after warmup that ended where the density could not be evaluated
    /// ([`Info::recovered`]).
    pub recovered: u64,
    /// The same during warmup.
    pub warmup_recovered: u64,
    /// Leapfrog steps, warmup included.
    pub leapfrogs: u64,
    /// The acceptance that the step size was adapted to, where warmup raised it because of
    /// divergences.
    pub raised_target: Option<f64>,
    /// Where the chain went on from another place during warmup, because it was stuck.
    pub restarts: Vec<Restart>,
    /// Position, metric and step size at the end, for a warm start; `None` when the chain did not
    /// start. A chain that failed has no position.
    pub tuned: Option<WarmStart>,
    /// Wall-clock seconds of warmup (for reports; not reproducible).
    pub warmup_seconds: f64,
    /// Wall-clock seconds of sampling.
    pub sampling_seconds: f64,
    /// How the chain ended.
    pub outcome: ChainOutcome,
}

impl ChainResult {
    pub(crate) fn new(chain: u32, dim: usize) -> Self {
        Self {
            chain,
            dim,
            draws: Vec::new(),
            infos: Vec::new(),
            warmup_draws: Vec::new(),
            warmup_infos: Vec::new(),
            n_draws: 0,
            divergences: 0,
            warmup_divergences: 0,
            recovered: 0,
            warmup_recovered: 0,
            leapfrogs: 0,
            restarts: Vec::new(),
            raised_target: None,
            tuned: None,
            warmup_seconds: 0.0,
            sampling_seconds: 0.0,
            outcome: ChainOutcome::Completed,
        }
    }

    /// Draw number `index` after warmup.
    ///
    /// # Panics
    /// When the result does not hold it.
    pub fn draw(&self, index: usize) -> &[f64] {
        &self.draws[index * self.dim..(index + 1) * self.dim]
    }
}

/// Cores that this process may use, asked for once: the answer comes from files, and takes as long
/// as many draws.
fn cores() -> u32 {
    static CORES: OnceLock<u32> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, |n| n.get() as u32))
}

/// Samples from `model` with every chain of `config`.
///
/// **Shapes**: `starts` is empty (all where a warm start says, or random), holds one start for all
/// chains, or one per chain; positions have length `model.dim()`, NaN meaning "not given".
/// **Determinism**: the same model, starts and settings give the same bits at any number of
/// threads. **Edges**: a model of dimension 0 gives empty draws.
///
/// # Errors
/// Invalid settings or starts; or, when all chains failed before any of them made a draw that
/// counts, the first chain's error. A chain that fails otherwise is an [`ChainOutcome::Failed`] in
/// its result, which keeps the draws that it made.
pub fn sample<M: DensityModel>(
    model: &M,
    starts: &[Start],
    config: &SamplerConfig,
    observer: &dyn Observer,
) -> Result<Run, SampleError> {
    let all: Vec<u32> = (0..config.chains).collect();
    sample_chains(model, &all, starts, config, observer)
}

/// Samples with some chains of `config` only, by their numbers; the others are made elsewhere, or
/// were made before. Each has the draws that it has among all.
///
/// **Shapes**: as [`sample`], with one start per chain of `config`, also for those that do not run.
///
/// # Errors
/// As [`sample`], and when there is no chain of that number.
pub fn sample_chains<M: DensityModel>(
    model: &M,
    numbers: &[u32],
    starts: &[Start],
    config: &SamplerConfig,
    observer: &dyn Observer,
) -> Result<Run, SampleError> {
    let began = Instant::now();
    let dim = model.dim();
    config.validate(dim)?;
    check_starts(starts, config, dim)?;
    if let Some(number) = numbers.iter().find(|number| **number >= config.chains) {
        let message = format!("expected a number below {}, found {number}", config.chains);
        return Err(SampleError::config("chain", message));
    }

    let ends: Vec<Start> = match (starts, &config.warm_start) {
        ([], Some(warm)) => warm.positions.iter().cloned().map(Start::At).collect(),
        _ => Vec::new(),
    };
    let cores = cores();
    let (chains_at_once, threads_per_chain) = config.threads_at_once(numbers.len() as u32, cores);
    let stop = StopFlag::default();
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<ChainResult>> = Mutex::new(Vec::new());
    let start = |chain: u32| {
        let start = match starts {
            [] if ends.is_empty() => &Start::Random,
            [] => &ends[chain as usize % ends.len()],
            [one] => one,
            many => &many[chain as usize],
        };
        let instance = || model.threaded_instance(threads_per_chain as usize);
        Running::start(instance, (dim, start), (config, &stop), chain, observer)
    };
    // Where every thread has four chains, they run side by side: that takes as long as three of
    // them one after the other.
    let are_waiting = numbers.len() / chains_at_once as usize >= BATCH;
    let work = || {
        let mut lanes = if are_waiting { lanes_of(model, config) } else { None };
        let n = if lanes.is_some() { BATCH } else { 1 };
        loop {
            let first = next.fetch_add(n, Ordering::Relaxed);
            if first >= numbers.len() {
                break;
            }
            let claimed = &numbers[first..numbers.len().min(first + n)];
            let chains = claimed.iter().map(|number| start(*number));
            let made = match &mut lanes {
                Some((lanes, side_by_side)) if claimed.len() == n => {
                    run_together(&mut **lanes, side_by_side.clone(), chains, &stop)
                }
                _ => chains.map(run_alone).collect(),
            };
            results.lock().unwrap_or_else(|poison| poison.into_inner()).extend(made);
        }
    };
    std::thread::scope(|scope| {
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let (running, chains) = mpsc::channel::<()>();
        if interruption::wish(observer).is_some() {
            let stop = &stop;
            // Without a thread, which a system may refuse, runs end at their next draws only.
            let watch = move || interruption::watch(observer, stop, &chains);
            let _ = thread("exmc-watch").spawn_scoped(scope, watch);
        }
        let work = &work;
        let worker = || {
            let (running, stop) = (running.clone(), &stop);
            move || {
                stop.scope(work);
                drop(running);
            }
        };
        for _ in 1..chains_at_once {
            if thread("exmc-chain").spawn_scoped(scope, worker()).is_err() {
                break;
            }
        }
        let last = worker();
        drop(running);
        last();
    });
    let mut chains = results.into_inner().unwrap_or_else(|poison| poison.into_inner());
    chains.sort_by_key(|result| result.chain);
    let fruitless = |chain: &ChainResult| match &chain.outcome {
        ChainOutcome::Failed(error) if chain.n_draws == 0 && chain.warmup_infos.is_empty() => {
            Some(error.clone())
        }
        _ => None,
    };
    let errors: Option<Vec<SampleError>> = chains.iter().map(fruitless).collect();
    if let Some(error) = errors.and_then(|errors| errors.into_iter().next()) {
        return Err(error);
    }
    Ok(Run { chains, seconds: began.elapsed().as_secs_f64() })
}

/// What evaluates for chains side by side, and their memory, where both can be had.
fn lanes_of<M: DensityModel>(
    model: &M,
    config: &SamplerConfig,
) -> Option<(Box<dyn LaneDensity + Send>, BatchedNuts)> {
    // Most faults are planted in what one chain does.
    let of_lanes = |fault: Fault| matches!(fault, Fault::NeighboursLane | Fault::LaneOrder);
    if Fault::ALL.iter().any(|fault| planted(*fault) && !of_lanes(*fault)) {
        return None;
    }
    let side_by_side =
        BatchedNuts::new(Level::for_length(model.dim()), model.dim(), config.max_depth)?;
    Some((model.lane_instance()?, side_by_side))
}

fn check_starts(starts: &[Start], config: &SamplerConfig, dim: usize) -> Result<(), SampleError> {
    if starts.len() > 1 && starts.len() != config.chains as usize {
        return Err(SampleError::config(
            "initial values",
            format!(
                "expected none, one or one per chain ({}), found {}",
                config.chains,
                starts.len()
            ),
        ));
    }
    for start in starts {
        let Start::At(position) = start else { continue };
        if position.len() != dim {
            return Err(SampleError::config(
                "initial values",
                format!("expected length {dim}, found {}", position.len()),
            ));
        }
        if let Some(i) = position.iter().position(|x| x.is_infinite()) {
            return Err(SampleError::config(
                "initial values",
                format!(
                    "expected finite numbers (or nan for a random one), found {} at index {i}",
                    position[i]
                ),
            ));
        }
    }
    Ok(())
}
