//! Warmup draws -> whether a chain is stuck, and a better place for it to go on from.
//!
//! A chain may start where the density is $10^{-100}$, or where no step is small enough, and then spend its warmup on the way, with
//! a metric and a step size that fit the way and not the posterior. [`Vigil`] looks at a few draws at the ends of early parts of
//! warmup. It finds that a chain is *on its way*, when the log density changes by more than a posterior's would, or that it
//! *does not move*: transitions that stay where they were, or trajectories of the largest length.
//!
//! Such a chain walks to a mode by [`pathfinder`] from where it is, and goes on at a draw of the best normal approximation, with
//! that one's variances for a metric, if the log density is far larger there. One that does not move also looks at paths from other
//! random points; it takes one of them only if its evidence lower bound is far larger than that of its own path, so that a chain
//! in a mode of its own stays there. A chain that moves is never restarted, however low its mode is: that other chains are elsewhere
//! is for R-hat to say.
//!
//! A chain judges itself by (seed, chain) alone, with random numbers of its own phase, so that draws depend neither on other
//! chains nor on when they run.

use exmc_density::LogDensity;
use exmc_fault::{Fault, planted};
use exmc_math::random::{ChainRng, Phase};

use crate::adaptation::wide_range;
use crate::chain::Start;
use crate::config::SamplerConfig;
use crate::error::SampleError;
use crate::fisher::VARIANCE_RANGE;
use crate::metric::InverseMetric;
use crate::pathfinder::{Path, PathfinderConfig, pathfinder};
use crate::state::{Info, State};

/// Why a chain was restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestartReason {
    /// Its log density still rose by far more than the log densities of a posterior vary.
    OnItsWay,
    /// Most of its transitions stayed where they were.
    Still,
    /// Most of its trajectories had the largest length.
    TinySteps,
}

/// That a chain went on from another place during warmup.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Restart {
    /// Warmup draws before it.
    pub iteration: u64,
    /// What was wrong.
    pub reason: RestartReason,
    /// Log density of the draw before it, in nats.
    pub logp_before: f64,
    /// Log density where the chain went on.
    pub logp_after: f64,
    /// Evaluations of the density that it took, which no count of leapfrog steps has.
    pub evaluations: u64,
}

impl Restart {
    /// A restart, as it was recorded.
    pub fn new(
        iteration: u64,
        reason: RestartReason,
        [logp_before, logp_after]: [f64; 2],
        evaluations: u64,
    ) -> Self {
        Self { iteration, reason, logp_before, logp_after, evaluations }
    }
}

impl RestartReason {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OnItsWay, Self::Still, Self::TinySteps];

    /// The word that records use.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnItsWay => "on-its-way",
            Self::Still => "still",
            Self::TinySteps => "tiny-steps",
        }
    }
}

/// Draws that are looked at before a judgement.
const BLOCK: u64 = 25;
/// Trajectories of the largest length among them that show tiny steps.
const MOST_SATURATED: u32 = 10;
/// Restarts of one chain at most.
const MOST_RESTARTS: usize = 3;
/// Paths from other random points, for a chain that does not move.
const OTHER_PATHS: u64 = 3;
/// A log density or an evidence lower bound is far larger if the difference is more than this many nats: the other place then
/// has some $e^{-10}$ of the mass.
const FAR: f64 = 10.0;

/// What a chain has seen of itself in the part of warmup that is judged next, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct Vigil {
    /// Draws looked at.
    pub draws: u32,
    /// The smallest log density among them.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Transitions that stayed where they were.
    pub still: u32,
    /// Trajectories of the largest length.
    pub saturated: u32,
    /// Whether this part was judged before its end.
    pub is_judged: bool,
    /// What is to be done before the next draw.
    pub due: Option<RestartReason>,
    /// The largest log density before that.
    pub reached: f64,
    /// How often paths were looked for, which numbers their random streams.
    pub searches: u64,
    /// The restarts that were made.
    pub restarts: Vec<Restart>,
}

impl Vigil {
    /// Before the first draw.
    pub(crate) fn new() -> Self {
        Self {
            draws: 0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            still: 0,
            saturated: 0,
            is_judged: false,
            due: None,
            reached: f64::NEG_INFINITY,
            searches: 0,
            restarts: Vec::new(),
        }
    }

    /// Takes in the draw with `index` draws before it; a judgement may be due after it.
    ///
    /// Judged are the last 25 of the first 50, 100, 200, ... draws, as long as half of warmup is left to learn in. Trajectories of
    /// the largest length are what costs, so the tenth of them is waited for no longer, and the first 25 draws are looked
    /// at for those alone: they begin at a random point and may well be on their way.
    pub(crate) fn watch(&mut self, index: u64, config: &SamplerConfig, dim: usize, info: &Info) {
        let end = judgement_after(index);
        let in_time = end <= config.warmup / 2 || planted(Fault::RestartWhileSampling);
        if dim == 0 || config.warm_start.is_some() || !in_time || index + BLOCK < end {
            return;
        }
        self.draws += 1;
        self.least = self.least.min(info.logp);
        self.most = self.most.max(info.logp);
        self.still += u32::from(!info.moved);
        self.saturated += u32::from(info.reached_max_depth);
        let is_last = index + 1 == end;
        let reason = if self.is_judged {
            None
        } else if self.saturated >= MOST_SATURATED {
            Some(RestartReason::TinySteps)
        } else if !is_last || end == BLOCK {
            None
        } else if 5 * self.still >= 4 * self.draws {
            Some(RestartReason::Still)
        } else if self.most - self.least > wide_range(dim) {
            Some(RestartReason::OnItsWay)
        } else {
            None
        };
        if reason.is_some() {
            self.is_judged = true;
            self.due = reason.filter(|_| self.restarts.len() < MOST_RESTARTS);
            self.reached = self.most;
        }
        if is_last {
            (self.draws, self.still, self.saturated) = (0, 0, 0);
            (self.least, self.most) = (f64::INFINITY, f64::NEG_INFINITY);
            self.is_judged = false;
        }
    }

    /// Looks for a better place, if a judgement is due: the state there and an estimate of the variances around it.
    ///
    /// # Errors
    /// A fatal failure of the density.
    pub(crate) fn better_place(
        &mut self,
        density: &mut impl LogDensity,
        config: &SamplerConfig,
        (chain, iteration): (u32, u64),
        state: &State,
    ) -> Result<Option<(State, Option<InverseMetric>)>, SampleError> {
        let Some(reason) = self.due.take() else { return Ok(None) };
        let settings = PathfinderConfig {
            initial_radius: config.initial_radius,
            initial_attempts: config.initial_attempts,
            ..PathfinderConfig::default()
        };
        let (mut own, mut other): (Option<Path>, Option<Path>) = (None, None);
        let mut evaluations = 0;
        for number in 0..=OTHER_PATHS {
            if number > 0 && reason == RestartReason::OnItsWay && elbo(&own).is_finite() {
                break;
            }
            let mut rng = ChainRng::new(config.seed, chain, Phase::Path);
            // Every path has 2^40 words of the stream for itself, so that the length of one moves no other.
            let stream = self.searches * (1 + OTHER_PATHS) + number;
            rng.set_word_position(u128::from(stream) << 40);
            let start = match number {
                0 => Start::At(state.position.to_vec()),
                _ => Start::Random,
            };
            let path = match pathfinder(density, &start, &settings, &mut rng) {
                Ok(path) => Some(path),
                Err(error) if error.is_initial_point() => continue,
                Err(error) => return Err(error),
            };
            evaluations += path.as_ref().map_or(0, |path| path.evaluations);
            if number == 0 {
                own = path;
            } else if elbo(&path) > elbo(&other) {
                other = path;
            }
        }
        self.searches += 1;
        // A chain in a mode of its own stays there, unless that has next to none of the mass.
        let chosen = if elbo(&other) > elbo(&own) + FAR { other } else { own };
        let Some(path) = chosen else { return Ok(None) };
        let (position, metric) = match &path.best {
            Some(best) => {
                let (least, most) = VARIANCE_RANGE;
                let variances = best.approximation.variances();
                let usable = variances.iter().all(|v| *v > 0.0);
                let variances = variances.into_iter().map(|v| v.clamp(least, most)).collect();
                let metric = usable.then_some(InverseMetric::Diagonal(variances));
                (best.highest().0.to_vec(), metric)
            }
            None => (path.end, None),
        };
        let Ok(there) = State::evaluate(density, position) else { return Ok(None) };
        let dim = state.position.len() as f64;
        // Draws of an approximation vary by $\sqrt{d/2}$ nats; being a draw must not look like being far better.
        if !there.is_usable() || there.logp < self.reached + FAR + 2.0 * dim.sqrt() {
            return Ok(None);
        }
        self.restarts.push(Restart {
            iteration,
            reason,
            logp_before: state.logp,
            logp_after: there.logp,
            evaluations,
        });
        Ok(Some((there, metric)))
    }
}

/// The largest evidence lower bound on a path, minus infinity where there is none.
fn elbo(path: &Option<Path>) -> f64 {
    let best = path.as_ref().and_then(|path| path.best.as_ref());
    best.map_or(f64::NEG_INFINITY, |best| best.elbo)
}

/// The number of draws after which the part of warmup that holds draw `index` is judged: 25 doubled some times.
fn judgement_after(index: u64) -> u64 {
    let parts = (index / BLOCK + 1).checked_next_power_of_two().unwrap_or(u64::MAX);
    parts.saturating_mul(BLOCK)
}
