//! One chain: a density instance, settings and a start -> draws, one at a time.
//!
//! A chain can be taken apart into a [`Checkpoint`] between any two draws and put together again;
//! the draws that follow are the same to the bit.

use exmc_density::LogDensity;
use exmc_fault::{Fault, planted};
use exmc_math::random::{ChainRng, Phase};
use exmc_math::simd::Level;

use crate::config::{SamplerConfig, WarmStart};
use crate::error::SampleError;
use crate::metric::{InverseMetric, Metric};
use crate::nuts::batched::BatchedNuts;
use crate::nuts::{Scratch, transition};
use crate::run::initial::initial_state;
use crate::state::{Info, RunPhase, State};
use crate::warmup::adaptation::{Adaptation, MetricEstimator, WarmupDraw, initial_metric};
use crate::warmup::restart::{Restart, StuckDetector};
use crate::warmup::step_size::search_step_size;

/// Where a chain starts.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Start {
    /// At a random point.
    #[default]
    Random,
    /// At this unconstrained position; coordinates that are NaN are random.
    At(Vec<f64>),
    /// Where an earlier chain stopped; one that has all draws makes no more.
    Resume(Box<Checkpoint>),
}

/// A chain between two draws, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// Number of the chain, which chooses its random streams.
    pub chain: u32,
    /// Draws made so far, warmup included.
    pub iteration: u64,
    /// Position, log density and gradient.
    pub state: State,
    /// Inverse metric in force.
    pub inverse_metric: InverseMetric,
    /// Step size for the draws after warmup.
    pub step_size: f64,
    /// What warmup has learnt.
    pub adaptation: Adaptation,
    /// Whether the chain is stuck, as far as it has seen, and its restarts.
    pub stuck_detector: StuckDetector,
    /// Position in the current random stream, in words.
    pub rng_position: u128,
    /// Leapfrog steps so far, warmup included.
    pub leapfrogs: u64,
}

/// A running chain.
#[derive(Debug)]
pub struct Chain<'a, L> {
    density: L,
    config: &'a SamplerConfig,
    chain: u32,
    iteration: u64,
    state: State,
    metric: Metric,
    step_size: f64,
    adaptation: Adaptation,
    stuck_detector: StuckDetector,
    rng: ChainRng,
    leapfrogs: u64,
    scratch: Scratch,
}

impl<'a, L: LogDensity> Chain<'a, L> {
    /// Starts chain number `chain`. The settings must be valid for the density
    /// ([`SamplerConfig::validate`]) and given positions must have its dimension.
    ///
    /// # Errors
    /// No usable initial point, a checkpoint that does not fit, or a fatal failure of the density.
    pub fn start(
        mut density: L,
        config: &'a SamplerConfig,
        chain: u32,
        start: &Start,
    ) -> Result<Self, SampleError> {
        let given = match start {
            Start::Resume(checkpoint) => return Self::resume(density, config, chain, checkpoint),
            Start::At(position) => Some(&position[..]),
            Start::Random => None,
        };
        let dim = density.dim();
        let mut initial = ChainRng::new(config.seed, chain, Phase::Initial);
        let state = initial_state(&mut density, given, config, &mut initial)?;
        let metric = Metric::new(initial_metric(config, &state))?;
        let mut rng = ChainRng::new(config.seed, chain, Phase::Warmup);
        let step_size = match &config.warm_start {
            Some(warm) => warm.step_size,
            None => search_step_size(&state, &mut density, &metric, 1.0, &mut rng)?,
        };
        if config.warmup == 0 {
            rng = stream(config, chain, 0);
        }
        Ok(Self {
            adaptation: Adaptation::new(dim, config, step_size),
            scratch: Scratch::new(dim, config.max_depth),
            stuck_detector: StuckDetector::new(),
            iteration: 0,
            leapfrogs: 0,
            density,
            config,
            chain,
            state,
            metric,
            step_size,
            rng,
        })
    }

    fn resume(
        density: L,
        config: &'a SamplerConfig,
        chain: u32,
        checkpoint: &Checkpoint,
    ) -> Result<Self, SampleError> {
        let dim = density.dim();
        let mismatch =
            |what: &str, expected: &dyn std::fmt::Display, found: &dyn std::fmt::Display| {
                Err(SampleError::checkpoint(format!("{what}: expected {expected}, found {found}")))
            };
        if checkpoint.chain != chain {
            return mismatch("chain number", &chain, &checkpoint.chain);
        }
        let length = checkpoint.state.position.len();
        if length != dim || checkpoint.inverse_metric.dim() != dim {
            return mismatch("length of a position", &dim, &length);
        }
        let mut rng = stream(config, chain, checkpoint.iteration);
        if !planted(Fault::ResumedStream) {
            rng.set_word_position(checkpoint.rng_position);
        }
        let inverse_metric = match planted(Fault::ResumedMetric) {
            true => initial_metric(config, &checkpoint.state),
            false => checkpoint.inverse_metric.clone(),
        };
        Ok(Self {
            metric: Metric::new(inverse_metric)?,
            scratch: Scratch::new(dim, config.max_depth),
            iteration: checkpoint.iteration,
            leapfrogs: checkpoint.leapfrogs,
            state: checkpoint.state.clone(),
            step_size: checkpoint.step_size,
            adaptation: checkpoint.adaptation.clone(),
            stuck_detector: checkpoint.stuck_detector.clone(),
            density,
            config,
            chain,
            rng,
        })
    }

    /// Goes on with other vector instructions, for tests: every level gives the same bits.
    pub fn with_level(mut self, level: Level) -> Self {
        self.metric = self.metric.with_level(level);
        self
    }

    /// Makes the next draw; `None` when all draws are made.
    ///
    /// # Errors
    /// When the density fails fatally; the chain must not be used after that.
    pub fn advance(&mut self) -> Result<Option<Info>, SampleError> {
        if self.next_phase().is_none() {
            return Ok(None);
        }
        self.restart_if_due()?;
        let step_size = self.next_step_size();
        let info = transition(
            &mut self.state,
            &mut self.density,
            &self.metric,
            step_size,
            self.config.tree_limits(),
            &mut self.rng,
            &mut self.scratch,
        )?;
        self.conclude(info).map(Some)
    }

    /// Begins the next draw among others, up to its first gradient; there must be one to make.
    /// `is_known` says that the lane has had the metric of the draw before.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub(crate) fn begin(
        &mut self,
        lane: usize,
        others: &mut BatchedNuts,
        is_known: bool,
    ) -> Result<(), SampleError> {
        self.restart_if_due()?;
        let step_size = self.next_step_size();
        let Self { state, metric, rng, scratch, .. } = self;
        if !is_known || self.iteration <= self.config.warmup {
            others.set_metric(lane, metric);
        }
        others.begin(lane, state, metric, step_size, rng, scratch);
        Ok(())
    }

    /// Goes on from a better place, where the last draws were those of a chain that is stuck and
    /// there is one.
    fn restart_if_due(&mut self) -> Result<(), SampleError> {
        if self.stuck_detector.due.is_none() {
            return Ok(());
        }
        let number = (self.chain, self.iteration);
        let found = self.stuck_detector.better_place(
            &mut self.density,
            self.config,
            number,
            &self.state,
        )?;
        let Some((state, metric)) = found else { return Ok(()) };
        self.state = state;
        // Planted: the step size and the metric of the place where the chain was stuck.
        if planted(Fault::RestartKeepsAdaptation) {
            return Ok(());
        }
        let metric = metric.unwrap_or_else(|| initial_metric(self.config, &self.state));
        self.metric.replace(metric);
        let step_size =
            search_step_size(&self.state, &mut self.density, &self.metric, 1.0, &mut self.rng)?;
        self.adaptation = Adaptation::new(self.state.position.len(), self.config, step_size);
        Ok(())
    }

    /// Ends the draw that was begun.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    pub(crate) fn end(
        &mut self,
        lane: usize,
        others: &mut BatchedNuts,
    ) -> Result<Info, SampleError> {
        let limits = self.config.tree_limits();
        let info = others.end(lane, &mut self.state, limits, &mut self.scratch);
        self.conclude(info)
    }

    /// The random numbers of the next draw, or of the one that was begun.
    pub(crate) fn rng(&mut self) -> &mut ChainRng {
        &mut self.rng
    }

    /// The step size of the next draw.
    fn next_step_size(&mut self) -> f64 {
        if self.iteration < self.config.warmup {
            return self.adaptation.step_size.step_size();
        }
        let jitter = self.config.step_jitter;
        let factor =
            if jitter > 0.0 { 1.0 + jitter * (2.0 * self.rng.uniform() - 1.0) } else { 1.0 };
        self.step_size * factor
    }

    /// Counts a draw that was made, and learns from it during warmup.
    fn conclude(&mut self, info: Info) -> Result<Info, SampleError> {
        self.leapfrogs += u64::from(info.n_steps);
        if self.iteration < self.config.warmup || planted(Fault::RestartWhileSampling) {
            let dim = self.state.position.len();
            self.stuck_detector.watch(self.iteration, self.config, dim, &info);
        }
        if self.iteration < self.config.warmup {
            self.learn(&info)?;
        } else if planted(Fault::AdaptDuringSampling) {
            self.adaptation.step_size.update(info.accept_stat);
            self.step_size = self.adaptation.step_size.step_size();
        }
        self.iteration += 1;
        if self.iteration == self.config.warmup {
            self.step_size = self.adaptation.step_size.sampling_step_size();
            self.rng = stream(self.config, self.chain, self.iteration);
            // Nothing is learnt any more: the windows' memory is free.
            self.adaptation.estimator = MetricEstimator::Fixed;
        }
        Ok(info)
    }

    fn learn(&mut self, info: &Info) -> Result<(), SampleError> {
        let draw = WarmupDraw {
            index: self.iteration,
            warmup: self.config.warmup,
            state: &self.state,
            info,
            divergence: self.scratch.divergence(),
        };
        if self.adaptation.learn(&draw, &mut self.metric) {
            let step_size = search_step_size(
                &self.state,
                &mut self.density,
                &self.metric,
                self.adaptation.step_size.step_size(),
                &mut self.rng,
            )?;
            self.adaptation.step_size.restart(step_size);
        }
        Ok(())
    }

    /// The phase of the next draw; `None` when all draws are made.
    pub fn next_phase(&self) -> Option<RunPhase> {
        if self.iteration < self.config.warmup {
            Some(RunPhase::Warmup)
        } else if self.iteration < self.config.warmup + self.config.draws {
            Some(RunPhase::Sampling)
        } else {
            None
        }
    }

    /// Draws made so far, warmup included.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// The last draw (or the initial point).
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Position of the last divergence or failure; meaningful after a transition that met one.
    pub fn divergence(&self) -> &[f64] {
        self.scratch.divergence().0
    }

    /// Leapfrog steps so far, warmup included, those of searches for a step size not.
    pub fn leapfrogs(&self) -> u64 {
        self.leapfrogs
    }

    /// Where the chain went on from another place during warmup.
    pub fn restarts(&self) -> &[Restart] {
        &self.stuck_detector.restarts
    }

    /// The acceptance that warmup has raised the target to, if it has.
    pub fn raised_target(&self) -> Option<f64> {
        let target = self.adaptation.step_size.target;
        (target > self.config.target_accept).then_some(target)
    }

    /// Position, metric and step size as they are, for a later run.
    pub fn warm_start(&self) -> WarmStart {
        let in_warmup = self.iteration < self.config.warmup;
        let adapted = self.adaptation.step_size.sampling_step_size();
        WarmStart {
            step_size: if in_warmup { adapted } else { self.step_size },
            inverse_metric: self.metric.inverse().clone(),
            adapt_metric: false,
            positions: vec![self.state.position.to_vec()],
        }
    }

    /// Everything that is needed to go on from here.
    pub fn checkpoint(&self) -> Checkpoint {
        let Adaptation { step_size, review, estimator } = &self.adaptation;
        // After warmup nobody asks for the draws that the metric was estimated from.
        let estimator = match self.next_phase() {
            Some(RunPhase::Warmup) => estimator.clone(),
            _ => MetricEstimator::Fixed,
        };
        let adaptation = Adaptation { step_size: step_size.clone(), review: *review, estimator };
        Checkpoint {
            chain: self.chain,
            iteration: self.iteration,
            state: self.state.clone(),
            inverse_metric: self.metric.inverse().clone(),
            step_size: self.step_size,
            adaptation,
            stuck_detector: self.stuck_detector.clone(),
            rng_position: self.rng.word_position(),
            leapfrogs: self.leapfrogs,
        }
    }
}

/// The random stream that the draw after `iteration` draws uses.
fn stream(config: &SamplerConfig, chain: u32, iteration: u64) -> ChainRng {
    let phase = if iteration < config.warmup { Phase::Warmup } else { Phase::Sampling };
    ChainRng::new(config.seed, chain, phase)
}
