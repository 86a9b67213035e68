//! Chains in the course of a run: started chains -> their results, alone or several in step.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use exmc_density::{BATCH, LaneDensity, LogDensity};
use exmc_fault::{Fault, planted};
use exmc_math::interruption::StopFlag;

use crate::config::{SamplerConfig, WarmStart};
use crate::error::SampleError;
use crate::nuts::batched::{BatchedNuts, Pending};
use crate::run::chain::{Chain, Start};
use crate::run::interruption::Interruptible;
use crate::run::observer::{Draw, Observer};
use crate::run::{ChainOutcome, ChainResult};
use crate::state::{Info, RunPhase};

/// Runs one chain from its start; a panic inside it becomes its outcome.
pub(crate) fn run_alone<L: LogDensity>(
    started: Result<Running<'_, L>, Box<ChainResult>>,
) -> ChainResult {
    let mut running = match started {
        Ok(running) => running,
        Err(result) => return *result,
    };
    let ended = isolated(|| {
        while running.chain.next_phase().is_some() {
            let advanced = running.chain.advance();
            let ended = running.after(advanced);
            if ended.is_some() {
                return ended;
            }
        }
        Some(ChainOutcome::Completed)
    });
    running.finish(ended.unwrap_or(ChainOutcome::Completed))
}

/// Runs chains from their starts, at most [`BATCH`] of them side by side: each takes one leapfrog
/// step at a time, and their gradients are evaluated together.
///
/// A panic in what belongs to one chain becomes its outcome; one in a step ends all of them.
pub(crate) fn run_together<'a, L: LogDensity>(
    lanes: &mut dyn LaneDensity,
    mut side_by_side: BatchedNuts,
    started: impl Iterator<Item = Result<Running<'a, L>, Box<ChainResult>>>,
    stop: &StopFlag,
) -> Vec<ChainResult> {
    let mut running = [const { None }; BATCH];
    let mut results = Vec::new();
    for (lane, started) in started.enumerate() {
        match started {
            Ok(chain) => running[lane] = Some(chain),
            Err(result) => results.push(*result),
        }
    }
    let mut ended = [true; BATCH];
    loop {
        for (lane, chain) in running.iter_mut().enumerate().filter(|(lane, _)| ended[*lane]) {
            let outcome = chain
                .as_mut()
                .and_then(|chain| isolated(|| chain.next_draw(lane, &mut side_by_side)));
            if let Some(outcome) = outcome {
                side_by_side.give_up(lane);
                results.extend(chain.take().map(|chain| chain.finish(outcome)));
            }
        }
        if running.iter().all(Option::is_none) {
            return results;
        }
        let stepped = catch_unwind(AssertUnwindSafe(|| {
            loop {
                ended = step(lanes, &mut side_by_side, &mut running);
                if stop.is_raised() {
                    // The step has no meaning, and none of these draws is made.
                    for chain in running.iter_mut().flatten() {
                        chain.error = Some(SampleError::interrupted());
                    }
                    ended = [true; BATCH];
                }
                if ended.contains(&true) {
                    break;
                }
            }
        }));
        if let Err(payload) = stepped {
            let error = SampleError::panicked(panic_text(&*payload));
            let failed = |chain: Running<'_, L>| chain.finish(ChainOutcome::Failed(error.clone()));
            results.extend(running.into_iter().flatten().map(failed));
            return results;
        }
    }
}

/// One leapfrog step of all chains; whose draws end by that.
fn step<L: LogDensity>(
    lanes: &mut dyn LaneDensity,
    side_by_side: &mut BatchedNuts,
    running: &mut [Option<Running<'_, L>>; BATCH],
) -> [bool; BATCH] {
    let Pending { positions, gradients, logps, active } = side_by_side.pending();
    let failures = lanes.logp_grads(positions, gradients, logps, active);
    let (mut failed, mut recovered) = ([false; BATCH], [false; BATCH]);
    for (lane, error) in failures {
        logps[lane] = f64::NAN;
        match (SampleError::from_evaluation(error), &mut running[lane]) {
            (Some(error), Some(chain)) => {
                chain.error = Some(error);
                failed[lane] = true;
            }
            _ => recovered[lane] = true,
        }
    }
    for lane in (0..BATCH).filter(|lane| recovered[*lane]) {
        side_by_side.recover(lane);
    }
    for lane in (0..BATCH).filter(|lane| failed[*lane]) {
        side_by_side.give_up(lane);
    }
    let limits = running.iter().flatten().next().map(|chain| chain.config.tree_limits());
    let Some(limits) = limits else { return [true; BATCH] };
    let mut rngs = running.each_mut().map(|chain| chain.as_mut().map(|chain| chain.chain.rng()));
    let mut ended = side_by_side.step(limits, &mut rngs);
    for (ended, failed) in ended.iter_mut().zip(failed) {
        *ended |= failed;
    }
    ended
}

/// What a part of a chain's run says of the chain, which is that it failed if the part panics.
///
/// Only a chain's result outlives a panic in it, and each draw enters that whole or not at all (see
/// [`keep`]).
fn isolated(part: impl FnOnce() -> Option<ChainOutcome>) -> Option<ChainOutcome> {
    catch_unwind(AssertUnwindSafe(part)).unwrap_or_else(|payload| {
        Some(ChainOutcome::Failed(SampleError::panicked(panic_text(&*payload))))
    })
}

fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_string())
}

/// A chain in the course of a run.
pub(crate) struct Running<'a, L> {
    chain: Chain<'a, Interruptible<L>>,
    number: u32,
    config: &'a SamplerConfig,
    observer: &'a dyn Observer,
    phase_began: Instant,
    result: ChainResult,
    /// Of a chain among others, whether a draw was begun, and why that failed.
    has_begun: bool,
    error: Option<SampleError>,
}

impl<'a, L: LogDensity> Running<'a, L> {
    /// Starts a chain; its result, if that fails.
    pub(crate) fn start(
        instance: impl FnOnce() -> L,
        (dim, start): (usize, &Start),
        (config, stop): (&'a SamplerConfig, &StopFlag),
        number: u32,
        observer: &'a dyn Observer,
    ) -> Result<Self, Box<ChainResult>> {
        let mut result = ChainResult::new(number, dim);
        let phase_began = Instant::now();
        let started = catch_unwind(AssertUnwindSafe(|| {
            let density = Interruptible::new(instance(), stop.clone());
            let chain = Chain::start(density, config, number, start)?;
            // Where it starts is not where it ends.
            result.tuned = Some(WarmStart { positions: Vec::new(), ..chain.warm_start() });
            result.leapfrogs = chain.leapfrogs();
            result.raised_target = chain.raised_target();
            result.restarts = chain.restarts().to_vec();
            if config.keep_draws {
                reserve(&mut result.draws, &mut result.infos, config.draws, dim)?;
            }
            if config.save_warmup {
                reserve(&mut result.warmup_draws, &mut result.warmup_infos, config.warmup, dim)?;
            }
            observer.chain_started(number, chain.state());
            Ok(chain)
        }));
        let error = match started {
            Ok(Ok(chain)) => {
                return Ok(Self {
                    chain,
                    number,
                    config,
                    observer,
                    phase_began,
                    result,
                    has_begun: false,
                    error: None,
                });
            }
            Ok(Err(error)) => error,
            Err(payload) => SampleError::panicked(panic_text(&*payload)),
        };
        Err(Box::new(finished(result, outcome_of(error), observer)))
    }

    /// Takes in the draw of a chain among others that has ended, if one was begun, and begins the
    /// next one; the chain's outcome, if it ends here.
    fn next_draw(&mut self, lane: usize, others: &mut BatchedNuts) -> Option<ChainOutcome> {
        if let Some(error) = self.error.take() {
            return self.after(Err(error));
        }
        if self.has_begun {
            let made = self.chain.end(lane, others);
            let ended = self.after(made.map(Some));
            if ended.is_some() {
                return ended;
            }
        }
        if self.chain.next_phase().is_none() {
            return Some(ChainOutcome::Completed);
        }
        if let Err(error) = self.chain.begin(lane, others, self.has_begun) {
            return self.after(Err(error));
        }
        self.has_begun = true;
        None
    }

    /// Takes in a draw; the chain's outcome, if it ends here.
    fn after(&mut self, advanced: Result<Option<Info>, SampleError>) -> Option<ChainOutcome> {
        let Self { chain, number, config, observer, result, .. } = self;
        result.leapfrogs = chain.leapfrogs();
        result.raised_target = chain.raised_target();
        if result.restarts.len() < chain.restarts().len() {
            result.restarts = chain.restarts().to_vec();
        }
        let info = match advanced {
            Ok(info) => info?,
            Err(error) => return Some(outcome_of(error)),
        };
        let iteration = chain.iteration() - 1;
        keep(result, config, iteration, &info, &chain.state().position);
        let (phase, index) = match iteration.checked_sub(config.warmup) {
            None => (RunPhase::Warmup, iteration),
            Some(index) => (RunPhase::Sampling, index),
        };
        let flow = observer.draw(&Draw {
            chain: *number,
            phase,
            index,
            position: &chain.state().position,
            gradient: &chain.state().gradient,
            info: &info,
            divergence: (info.divergent || info.recovered).then(|| chain.divergence()),
            snapshot: &|| chain.checkpoint(),
        });
        if chain.iteration() == config.warmup {
            result.warmup_seconds = self.phase_began.elapsed().as_secs_f64();
            self.phase_began = Instant::now();
        }
        let is_last = chain.next_phase().is_none();
        if flow == ControlFlow::Break(()) && !is_last {
            return Some(ChainOutcome::Interrupted);
        }
        is_last.then_some(ChainOutcome::Completed)
    }

    /// The chain's result.
    fn finish(self, outcome: ChainOutcome) -> ChainResult {
        let Self { chain, config, observer, phase_began, mut result, .. } = self;
        if !matches!(outcome, ChainOutcome::Failed(_)) {
            result.tuned = Some(chain.warm_start());
            let seconds = phase_began.elapsed().as_secs_f64();
            if chain.iteration() > config.warmup {
                result.sampling_seconds = seconds;
            } else if chain.iteration() < config.warmup {
                result.warmup_seconds = seconds;
            }
        }
        finished(result, outcome, observer)
    }
}

/// How a chain ends that cannot go on.
fn outcome_of(error: SampleError) -> ChainOutcome {
    if error.is_interrupted() { ChainOutcome::Interrupted } else { ChainOutcome::Failed(error) }
}

/// Tells the observer that a chain is done.
fn finished(
    mut result: ChainResult,
    outcome: ChainOutcome,
    observer: &dyn Observer,
) -> ChainResult {
    result.outcome = outcome;
    let told = catch_unwind(AssertUnwindSafe(|| observer.chain_finished(&result)));
    if let Err(payload) = told {
        result.outcome = ChainOutcome::Failed(SampleError::panicked(panic_text(&*payload)));
    }
    result
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
        result.warmup_recovered += u64::from(info.recovered);
    } else {
        result.n_draws += 1;
        result.divergences += u64::from(info.divergent);
        result.recovered += u64::from(info.recovered);
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

/// Makes room for `n` draws, so that running out of memory is an error before the run, not an
/// abort.
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
