//! A chain that may be stuck -> a better place for it to go on from, or none.

use std::ops::ControlFlow;

use exmc_density::LogDensity;
use exmc_math::random::{ChainRng, Phase};

use super::{Restart, RestartReason, StuckDetector};
use crate::config::SamplerConfig;
use crate::error::SampleError;
use crate::metric::InverseMetric;
use crate::metric::low_rank_estimate::VARIANCE_RANGE;
use crate::optimise::{OptimizeConfig, descend, initial_point};
use crate::pathfinder::{Path, PathfinderConfig, pathfinder};
use crate::run::chain::Start;
use crate::state::State;
use crate::warmup::adaptation::wide_range;

/// A log density or an evidence lower bound is far larger if the difference is more than this many
/// nats: the other place then has some $e^{-10}$ of the mass.
const FAR: f64 = 10.0;
/// Evidence lower bounds of normal approximations are off by about as much in every dimension; a
/// chain that moves is not taken out of a mode for that.
const FAR_PER_DIMENSION: f64 = 1.0;
/// Paths from other random points, for a chain that does not move.
const OTHER_PATHS: u64 = 3;
/// Steps of a walk that only looks how high it leads.
const STEPS: u64 = 200;

impl StuckDetector {
    /// Looks for a better place, if that is due: the state there and an estimate of the variances
    /// around it.
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
        let search = Search { config, chain, number: self.searches, reason };
        self.searches += 1;
        let dim = state.position.len() as f64;
        // Draws of an approximation vary by $\sqrt{d/2}$ nats; being a draw must not look like
        // being far better.
        let better = self.reached
            + match reason {
                // It has all but arrived by itself.
                RestartReason::OnItsWay => wide_range(state.position.len()),
                _ => FAR + 2.0 * dim.sqrt(),
            };
        let mut evaluations = 0;
        if reason == RestartReason::LowMode {
            // A draw is $d/2$ nats below its mode.
            let high = better + FAR_PER_DIMENSION * dim;
            if !search.leads_above(density, None, high, &mut evaluations)? {
                return Ok(None);
            }
            if search.leads_above(density, Some(state), high, &mut evaluations)? {
                // Both ways lead there: a spike, or a tail that the chain is in.
                self.in_vain += 1;
                return Ok(None);
            }
        }
        let path = search.best_path(density, state, &mut evaluations)?;
        let found = path.and_then(|path| place(density, path));
        let Some((better_state, metric)) =
            found.filter(|(better_state, _)| better_state.logp >= better)
        else {
            self.in_vain += u32::from(reason == RestartReason::LowMode);
            return Ok(None);
        };
        self.restarts.push(Restart {
            iteration,
            reason,
            logp_before: state.logp,
            logp_after: better_state.logp,
            evaluations,
        });
        Ok(Some((better_state, metric)))
    }
}

/// One search, with what its random numbers depend on.
struct Search<'a> {
    config: &'a SamplerConfig,
    chain: u32,
    /// Searches before it.
    number: u64,
    reason: RestartReason,
}

impl Search<'_> {
    /// The random numbers of a path, of which number 0 starts from where the chain is. Each has
    /// 2^40 words of the stream for itself, so that the length of one moves no other.
    fn random_numbers(&self, path: u64) -> ChainRng {
        let mut rng = ChainRng::new(self.config.seed, self.chain, Phase::Path);
        rng.set_word_position(u128::from(self.number * (1 + OTHER_PATHS) + path) << 40);
        rng
    }

    /// Whether a walk uphill comes above a log density: from a state, or from the random point of
    /// path 1.
    fn leads_above(
        &self,
        density: &mut impl LogDensity,
        from: Option<&State>,
        logp: f64,
        evaluations: &mut u64,
    ) -> Result<bool, SampleError> {
        let walk = OptimizeConfig {
            initial_radius: self.config.initial_radius,
            initial_attempts: self.config.initial_attempts,
            iterations: STEPS,
            // Hundredths of a nat do not matter here.
            objective_change: 1e-2,
            ..OptimizeConfig::default()
        };
        let start = match from {
            Some(state) => Start::At(state.position.to_vec()),
            None => Start::Random,
        };
        let start = match initial_point(density, &start, &walk, &mut self.random_numbers(1)) {
            Ok(start) => start,
            Err(error) if error.is_initial_point() => return Ok(false),
            Err(error) => return Err(error),
        };
        let descent = descend(density, start, &walk, |_, step| {
            let is_above = -step.reached.objective > logp;
            Ok(if is_above { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        *evaluations += descent.evaluations;
        Ok(-descent.end.objective > logp)
    }

    /// The path from where the chain is, or one from another point that leads to far more mass.
    fn best_path(
        &self,
        density: &mut impl LogDensity,
        state: &State,
        evaluations: &mut u64,
    ) -> Result<Option<Path>, SampleError> {
        let settings = PathfinderConfig {
            initial_radius: self.config.initial_radius,
            initial_attempts: self.config.initial_attempts,
            ..PathfinderConfig::default()
        };
        let (mut chain_path, mut other): (Option<Path>, Option<Path>) = (None, None);
        for number in 0..=OTHER_PATHS {
            let enough = match self.reason {
                // The end of its way may be a corner that has none of the mass, where the walk ends
                // or gets no further: one other path tells, more where the own has no end.
                RestartReason::OnItsWay => {
                    number > 1 && elbo(&chain_path).is_finite() && has_ended(&chain_path)
                }
                RestartReason::LowMode => number > 1,
                RestartReason::Still | RestartReason::TinySteps => false,
            };
            if enough {
                break;
            }
            let start = match number {
                0 => Start::At(state.position.to_vec()),
                _ => Start::Random,
            };
            let found = pathfinder(density, &start, &settings, &mut self.random_numbers(number));
            let path = match found {
                Ok(path) => path,
                Err(error) if error.is_initial_point() => continue,
                Err(error) => return Err(error),
            };
            *evaluations += path.evaluations;
            let path = Some(path);
            if number == 0 {
                chain_path = path;
            } else if elbo(&path) > elbo(&other) {
                other = path;
            }
        }
        let moves = self.reason == RestartReason::LowMode;
        let dim = if moves { state.position.len() as f64 } else { 0.0 };
        let margin = FAR + FAR_PER_DIMENSION * dim;
        Ok(if elbo(&other) > elbo(&chain_path) + margin {
            other
        } else if moves {
            None
        } else {
            chain_path
        })
    }
}

/// A draw of the best approximation on a path, with the approximation's variances for a metric; the
/// end of a path that has none.
fn place(density: &mut impl LogDensity, path: Path) -> Option<(State, Option<InverseMetric>)> {
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
    let state = State::evaluate(density, position).ok()?;
    state.is_usable().then_some((state, metric))
}

/// Whether a walk stopped at a mode, and not at its largest number of steps.
fn has_ended(path: &Option<Path>) -> bool {
    path.as_ref().is_some_and(|path| path.stopped.is_converged())
}

/// The largest evidence lower bound on a path, minus infinity where there is none.
fn elbo(path: &Option<Path>) -> f64 {
    let best = path.as_ref().and_then(|path| path.best.as_ref());
    best.map_or(f64::NEG_INFINITY, |best| best.elbo)
}
