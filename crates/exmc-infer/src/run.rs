//! The run loop: a density model, starts and settings -> the draws of all chains.
//!
//! Chains run on scoped threads and share nothing but the model and the observer. Each has its own
//! random streams, so the draws do not depend on the number of threads or on the order in which
//! chains run; a chain that fails or panics leaves the others alone.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use exmc_density::{DensityModel, LogDensity};
use exmc_fault::{Fault, planted};

use crate::chain::{Chain, Start};
use crate::config::{SamplerConfig, WarmStart};
use crate::error::SampleError;
use crate::observer::{Draw, Observer};
use crate::state::{Info, RunPhase};

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
    /// Divergent transitions after warmup.
    pub divergences: u64,
    /// Divergent transitions during warmup.
    pub warmup_divergences: u64,
    /// Leapfrog steps, warmup included.
    pub leapfrogs: u64,
    /// Metric and step size at the end, for a warm start; `None` when the chain did not start.
    pub tuned: Option<WarmStart>,
    /// Wall-clock seconds of warmup (for reports; not reproducible).
    pub warmup_seconds: f64,
    /// Wall-clock seconds of sampling.
    pub sampling_seconds: f64,
    /// How the chain ended.
    pub outcome: ChainOutcome,
}

impl ChainResult {
    fn new(chain: u32, dim: usize) -> Self {
        Self {
            chain,
            dim,
            draws: Vec::new(),
            infos: Vec::new(),
            warmup_draws: Vec::new(),
            warmup_infos: Vec::new(),
            divergences: 0,
            warmup_divergences: 0,
            leapfrogs: 0,
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

/// Samples from `model` with every chain of `config`.
///
/// **Shapes**: `starts` is empty (all random), holds one start for all chains, or one per chain;
/// positions have length `model.dim()`, NaN meaning "not given". **Determinism**: the same model,
/// starts and settings give the same bits at any number of threads. **Edges**: a model of dimension 0
/// gives empty draws.
///
/// # Errors
/// Invalid settings or starts; or, when no chain could start at all, the first chain's error. A chain
/// that fails alone is an [`ChainOutcome::Failed`] in its result.
pub fn sample<M: DensityModel>(
    model: &M,
    starts: &[Start],
    config: &SamplerConfig,
    observer: &dyn Observer,
) -> Result<Run, SampleError> {
    let began = Instant::now();
    let dim = model.dim();
    config.validate(dim)?;
    check_starts(starts, config, dim)?;

    let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let (chains_at_once, threads_per_chain) = config.threads_at_once(cores);
    let next = AtomicU32::new(0);
    let results: Mutex<Vec<ChainResult>> = Mutex::new(Vec::new());
    let work = || {
        loop {
            let chain = next.fetch_add(1, Ordering::Relaxed);
            if chain >= config.chains {
                break;
            }
            let start = match starts {
                [] => &Start::Random,
                [one] => one,
                many => &many[chain as usize],
            };
            let instance = || model.threaded_instance(threads_per_chain as usize);
            let result = run_isolated(instance, dim, start, config, chain, observer);
            results.lock().unwrap_or_else(|poison| poison.into_inner()).push(result);
        }
    };
    if chains_at_once <= 1 {
        work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..chains_at_once {
                scope.spawn(work);
            }
        });
    }
    let mut chains = results.into_inner().unwrap_or_else(|poison| poison.into_inner());
    chains.sort_by_key(|result| result.chain);
    if chains.iter().all(|chain| chain.tuned.is_none())
        && let Some(ChainOutcome::Failed(error)) = chains.first().map(|chain| &chain.outcome)
    {
        return Err(error.clone());
    }
    Ok(Run { chains, seconds: began.elapsed().as_secs_f64() })
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

/// Runs one chain; a panic inside it becomes its outcome.
fn run_isolated<L: LogDensity>(
    instance: impl FnOnce() -> L,
    dim: usize,
    start: &Start,
    config: &SamplerConfig,
    chain: u32,
    observer: &dyn Observer,
) -> ChainResult {
    let mut result = ChainResult::new(chain, dim);
    // The result is the only thing that outlives a panic, and each draw enters it whole or not at all
    // (see `keep`).
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        run_chain(instance(), start, config, chain, observer, &mut result)
    }));
    result.outcome = match outcome {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => ChainOutcome::Failed(error),
        Err(payload) => ChainOutcome::Failed(SampleError::panicked(panic_text(&*payload))),
    };
    let finished = catch_unwind(AssertUnwindSafe(|| observer.chain_finished(&result)));
    if let Err(payload) = finished {
        result.outcome = ChainOutcome::Failed(SampleError::panicked(panic_text(&*payload)));
    }
    result
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_string())
}

fn run_chain<L: LogDensity>(
    density: L,
    start: &Start,
    config: &SamplerConfig,
    chain_number: u32,
    observer: &dyn Observer,
    result: &mut ChainResult,
) -> Result<ChainOutcome, SampleError> {
    let mut phase_began = Instant::now();
    let mut chain = Chain::start(density, config, chain_number, start)?;
    result.tuned = Some(chain.warm_start());
    if config.keep_draws {
        reserve(&mut result.draws, &mut result.infos, config.draws, result.dim)?;
    }
    if config.save_warmup {
        reserve(&mut result.warmup_draws, &mut result.warmup_infos, config.warmup, result.dim)?;
    }
    observer.chain_started(chain_number, chain.state());
    while let Some(phase) = chain.next_phase() {
        let iteration = chain.iteration();
        let advanced = chain.advance();
        result.leapfrogs = chain.leapfrogs();
        let Some(info) = advanced? else { break };
        keep(result, config, iteration, &info, &chain.state().position);
        let index = match phase {
            RunPhase::Warmup => iteration,
            RunPhase::Sampling => iteration - config.warmup,
        };
        let flow = observer.draw(&Draw {
            chain: chain_number,
            phase,
            index,
            position: &chain.state().position,
            gradient: &chain.state().gradient,
            info: &info,
            divergence: info.divergent.then(|| chain.divergence()),
            snapshot: &|| chain.checkpoint(),
        });
        if chain.iteration() == config.warmup {
            result.warmup_seconds = phase_began.elapsed().as_secs_f64();
            phase_began = Instant::now();
        }
        if flow == ControlFlow::Break(()) && chain.next_phase().is_some() {
            close(result, &chain, config, phase_began);
            return Ok(ChainOutcome::Interrupted);
        }
    }
    close(result, &chain, config, phase_began);
    Ok(ChainOutcome::Completed)
}

fn close<L: LogDensity>(
    result: &mut ChainResult,
    chain: &Chain<'_, L>,
    config: &SamplerConfig,
    phase_began: Instant,
) {
    result.tuned = Some(chain.warm_start());
    let seconds = phase_began.elapsed().as_secs_f64();
    if chain.iteration() > config.warmup {
        result.sampling_seconds = seconds;
    } else if chain.iteration() < config.warmup {
        result.warmup_seconds = seconds;
    }
}

/// Puts one draw into the result, where the settings ask for it.
fn keep(
    result: &mut ChainResult,
    config: &SamplerConfig,
    iteration: u64,
    info: &Info,
    position: &[f64],
) {
    let first_draw = if planted(Fault::WarmupDrawsLeak) {
        config.warmup.saturating_sub(config.draws)
    } else {
        config.warmup
    };
    if iteration < config.warmup {
        result.warmup_divergences += u64::from(info.divergent);
    } else {
        result.divergences += u64::from(info.divergent);
    }
    if config.save_warmup && iteration < config.warmup {
        result.warmup_infos.push(*info);
        result.warmup_draws.extend_from_slice(position);
    }
    let room = (result.infos.len() as u64) < config.draws;
    if config.keep_draws && iteration >= first_draw && room {
        result.infos.push(*info);
        result.draws.extend_from_slice(position);
    }
}

/// Makes room for `n` draws, so that running out of memory is an error before the run, not an abort.
fn reserve(
    draws: &mut Vec<f64>,
    infos: &mut Vec<Info>,
    n: u64,
    dim: usize,
) -> Result<(), SampleError> {
    let bytes = (n as usize).saturating_mul(dim.saturating_mul(8) + size_of::<Info>());
    let too_large = |_| SampleError::out_of_memory(bytes);
    let entries = (n as usize).saturating_mul(dim);
    draws.try_reserve_exact(entries).map_err(too_large)?;
    infos.try_reserve_exact(n as usize).map_err(too_large)
}
