//! A log density -> the best of the normal approximations along a path to its mode (Pathfinder,
//! single path).
//!
//! A quasi-Newton walk towards a mode passes through the region where most of the mass is. At each
//! of its points the steps so far imply an inverse Hessian, and with it a normal [`Approximation`];
//! a few draws from each estimate its evidence lower bound, $\mathrm{E}_q[\log p - \log q]$ (ELBO),
//! and the best of them is kept. Where the density has a spike, as at the end of a funnel, the best
//! is not the last.
//!
//! Points on the way whose Newton decrement says that the mode is further away than the whole of a
//! posterior would be are passed without draws: from a start where the density is $10^{-100}$ there
//! are hundreds.
//!
//! Several [`Path`]s can be compared and their draws weighted: each keeps its draws with both log
//! densities. [`multi_path`] does so.
//!
//! **Reference**: Zhang, Carpenter, Gelman and Vehtari 2022, "Pathfinder: parallel quasi-Newton
//! variational inference", JMLR 23(306), algorithms 1 to 4.

mod approximation;
mod diagonal;
mod multi;

use std::ops::ControlFlow;

use exmc_density::LogDensity;
use exmc_math::linear::dot;
use exmc_math::random::ChainRng;

use crate::error::SampleError;
use crate::optimise::{Descent, History, OptimizeConfig, Step, Stopped, descend, initial_point};
use crate::run::chain::Start;
use crate::state::evaluate_into;
pub use approximation::Approximation;
use diagonal::update_diagonal;
pub use multi::{MultiPath, MultiPathConfig, MultiPathDraw, multi_path};

/// A walk that has stopped is begun again without memory until that gains less than this (nats).
/// The curvature of a steep wall makes any place behind it look flat.
const ARRIVED: f64 = 1e-3;

/// Settings of [`pathfinder`]. Start from [`PathfinderConfig::default`], whose values are the
/// paper's (section 3.5).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PathfinderConfig {
    /// Random initial coordinates are uniform on `(-radius, radius)`. Default 2.
    pub initial_radius: f64,
    /// How many random starts are tried until one has a finite density. Default 100 (Stan).
    pub initial_attempts: u32,
    /// Largest number of steps of the walk. Default 1000.
    pub iterations: u64,
    /// How many steps the curvature is taken from. Default 6.
    pub history: usize,
    /// Draws from each approximation. Default 5.
    pub draws: usize,
    /// Tolerances and first step of the walk; its start, history and iterations are those above.
    pub tolerances: OptimizeConfig,
}

impl Default for PathfinderConfig {
    fn default() -> Self {
        Self {
            initial_radius: 2.0,
            initial_attempts: 100,
            iterations: 1000,
            history: 6,
            draws: 5,
            tolerances: OptimizeConfig::default(),
        }
    }
}

/// A path and the best approximation along it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Path {
    /// The approximation with the largest ELBO; `None` where all of them have draws at which the
    /// density is zero or cannot be evaluated.
    pub best: Option<Candidate>,
    /// Where the walk ended (unconstrained scale).
    pub end: Vec<f64>,
    /// The log density there, in nats.
    pub logp: f64,
    /// Steps of the walk.
    pub iterations: u64,
    /// Evaluations of the density, those at draws included.
    pub evaluations: u64,
    /// Why the walk ended.
    pub stopped: Stopped,
}

/// An approximation and its draws.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// Number of the step after which it was made, from 1.
    pub iteration: u64,
    /// Mean of `logps - logqs`: an estimate of a lower bound of the log of the density's integral,
    /// in nats.
    pub elbo: f64,
    /// The approximation.
    pub approximation: Approximation,
    /// The draws that estimate the ELBO, row-major.
    pub draws: Vec<f64>,
    /// The log density at each of them.
    pub logps: Vec<f64>,
    /// The approximation's normalised log density at each of them.
    pub logqs: Vec<f64>,
}

impl Candidate {
    /// The draw where the log density is largest, and its value there; there must be a draw.
    pub(crate) fn highest(&self) -> (&[f64], f64) {
        let dim = self.approximation.mean().len();
        let mut best = 0;
        for (k, logp) in self.logps.iter().enumerate() {
            if *logp > self.logps[best] {
                best = k;
            }
        }
        (&self.draws[best * dim..(best + 1) * dim], self.logps[best])
    }
}

/// Walks to a mode and returns the best normal approximation on the way.
///
/// **Scale**: unconstrained. **Determinism**: the start's random coordinates and the draws come
/// from `rng` alone.
///
/// # Errors
/// Invalid settings, no usable start, or a fatal failure of the density.
///
/// ```
/// # use exmc_density::{EvaluationError, LogDensity};
/// # use exmc_infer::{Start, pathfinder::{PathfinderConfig, pathfinder}};
/// # use exmc_math::random::{ChainRng, Phase};
/// struct Normal;
/// impl LogDensity for Normal {
///     fn dim(&self) -> usize { 1 }
///     fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
///         g[0] = (3.0 - q[0]) / 4.0;
///         Ok(-0.5 * (q[0] - 3.0).powi(2) / 4.0)
///     }
/// }
/// let mut rng = ChainRng::new(1, 0, Phase::Path);
/// let path = pathfinder(&mut Normal, &Start::Random, &PathfinderConfig::default(), &mut rng)?;
/// let best = path.best.expect("a normal density is positive everywhere");
/// assert!((best.approximation.mean()[0] - 3.0).abs() < 1e-6);
/// assert!((best.approximation.covariance()[0] - 4.0).abs() < 1e-6);
/// # Ok::<(), exmc_infer::SampleError>(())
/// ```
pub fn pathfinder(
    density: &mut impl LogDensity,
    start: &Start,
    config: &PathfinderConfig,
    rng: &mut ChainRng,
) -> Result<Path, SampleError> {
    if config.draws == 0 {
        return Err(SampleError::config("draws", "expected at least 1, found 0"));
    }
    let mut walk = OptimizeConfig {
        initial_radius: config.initial_radius,
        initial_attempts: config.initial_attempts,
        iterations: config.iterations,
        history: config.history,
        ..config.tolerances.clone()
    };
    walk.validate()?;
    let dim = density.dim();
    let mut point = initial_point(density, start, &walk, rng)?;
    let mut best: Option<Candidate> = None;
    let (mut iterations, mut evaluations) = (0, 0);
    loop {
        let mut history = History::new(config.history);
        let mut diagonal = vec![1.0; dim];
        let before = point.objective;
        let descent = descend(density, point, &walk, |density, step| {
            let Step { number, step, change, reached } = *step;
            if history.push(step.to_vec(), change.to_vec()) {
                update_diagonal(&mut diagonal, step, change);
            }
            let negative = reached.gradient.iter().map(|g| -g).collect();
            let to_mean = history.inverse_hessian_times(&diagonal, negative);
            if is_on_the_way(dim, -dot(&to_mean, &reached.gradient)) {
                return Ok(ControlFlow::Continue(()));
            }
            let mean = reached.position.iter().zip(&to_mean).map(|(x, d)| x + d).collect();
            let Some(approximation) = Approximation::new(mean, &diagonal, &history) else {
                return Ok(ControlFlow::Continue(()));
            };
            let number = iterations + number;
            let candidate =
                judge(density, number, approximation, config.draws, rng, &mut evaluations)?;
            if candidate.elbo > best.as_ref().map_or(f64::NEG_INFINITY, |best| best.elbo) {
                best = Some(candidate);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let Descent { end, iterations: steps, evaluations: of_walk, stopped } = descent;
        iterations += steps;
        evaluations += of_walk;
        walk.iterations -= steps;
        let may_go_on = stopped.is_converged() && stopped != Stopped::Gradient;
        if !may_go_on || before - end.objective < ARRIVED {
            return Ok(Path {
                best,
                logp: -end.objective,
                end: end.position,
                iterations,
                evaluations,
                stopped,
            });
        }
        point = end;
    }
}

/// Whether a point is still far from the mode: half of the Newton decrement, $\tfrac12 g^\top H g$,
/// estimates how many nats below it the point is. Draws of a normal posterior are $d/2$ below, give
/// or take $\sqrt{d/2}$.
fn is_on_the_way(dim: usize, decrement: f64) -> bool {
    const NATS: f64 = 50.0;
    const PER_DIMENSION: f64 = 10.0;
    decrement.is_nan() || 0.5 * decrement > NATS + PER_DIMENSION * dim as f64
}

/// Draws from an approximation, and its ELBO: minus infinity where the density is zero or unknown
/// at a draw.
fn judge(
    density: &mut impl LogDensity,
    iteration: u64,
    approximation: Approximation,
    count: usize,
    rng: &mut ChainRng,
    evaluations: &mut u64,
) -> Result<Candidate, SampleError> {
    let dim = approximation.mean().len();
    let mut draws = vec![0.0; count * dim];
    let (mut logps, mut logqs) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut gradient = vec![0.0; dim];
    let mut sum = 0.0;
    for k in 0..count {
        let draw = &mut draws[k * dim..(k + 1) * dim];
        let logq = approximation.draw(rng, draw);
        let logp = if draw.iter().all(|x| x.is_finite()) {
            *evaluations += 1;
            evaluate_into(density, draw, &mut gradient)?
        } else {
            f64::NAN
        };
        let is_usable = logp.is_finite() && gradient.iter().all(|g| g.is_finite());
        let logp = if is_usable { logp } else { f64::NEG_INFINITY };
        sum += logp - logq;
        logps.push(logp);
        logqs.push(logq);
    }
    let elbo = sum / count as f64;
    Ok(Candidate { iteration, elbo, approximation, draws, logps, logqs })
}
