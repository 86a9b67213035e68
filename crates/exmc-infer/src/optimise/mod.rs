//! A log density -> the position where it is largest, by L-BFGS (limited-memory quasi-Newton).
//!
//! Every iteration takes a direction from the last few steps and the changes of the gradient along
//! them, and goes along it to a point that satisfies the strong Wolfe conditions, so that the
//! curvature of every step is positive. Tolerances have CmdStan's names, meanings and defaults.
//! Positions where the density is minus infinity, NaN or fails recoverably are never taken; a line
//! search goes round them.
//!
//! **Reference**: Liu and Nocedal 1989; Nocedal and Wright 2006, algorithms 7.4 and 7.5.

mod direction;
mod line_search;

use std::ops::ControlFlow;

use exmc_density::LogDensity;
use exmc_math::linear::dot;
use exmc_math::random::{ChainRng, Phase};

use crate::config::SamplerConfig;
use crate::error::SampleError;
use crate::run::chain::Start;
use crate::run::initial::initial_state;
use crate::state::State;
pub(crate) use direction::History;
use line_search::{Searched, search};

/// Settings of [`maximise`]. Start from [`OptimizeConfig::default`], whose values are CmdStan's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OptimizeConfig {
    /// Seed of the random start. Default 0.
    pub seed: u64,
    /// Random initial coordinates are uniform on `(-radius, radius)`. Default 2.
    pub initial_radius: f64,
    /// How many random starts are tried until one has a finite density. Default 100.
    pub initial_attempts: u32,
    /// Largest number of iterations. Default 2000.
    pub iterations: u64,
    /// How many steps the curvature is taken from. Default 5.
    pub history: usize,
    /// Multiple of the gradient that the first line search starts with. Default 0.001.
    pub initial_step: f64,
    /// Converged when the log density changes by less than this (nats). Default 1e-12.
    pub objective_change: f64,
    /// Converged when it changes by at most this many units of rounding, relative to itself or 1 if
    /// that is larger. Default 1e4.
    pub relative_objective_change: f64,
    /// Converged when the Euclidean norm of the gradient is less than this. Default 1e-8.
    pub gradient_norm: f64,
    /// Converged when $g^\top H^{-1} g$, which estimates twice the distance to the maximum in nats,
    /// is at most this many units of rounding, relative to the log density or 1 if that is larger.
    /// Default 1e7.
    pub relative_gradient: f64,
    /// Converged when the Euclidean norm of a step is less than this. Default 1e-8.
    pub position_change: f64,
}

impl Default for OptimizeConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            initial_radius: 2.0,
            initial_attempts: 100,
            iterations: 2000,
            history: 5,
            initial_step: 0.001,
            objective_change: 1e-12,
            relative_objective_change: 1e4,
            gradient_norm: 1e-8,
            relative_gradient: 1e7,
            position_change: 1e-8,
        }
    }
}

/// Steps that can be remembered at most: two vectors each, and far more than help.
const MAX_HISTORY: usize = 10_000;

impl OptimizeConfig {
    /// Checks every field against its domain.
    ///
    /// # Errors
    /// A config error ([`SampleError::is_config`]) that names the first bad field.
    pub fn validate(&self) -> Result<(), SampleError> {
        let expect = |ok: bool, field, expected: &str, found: &dyn std::fmt::Display| {
            let message = || format!("expected {expected}, found {found}");
            if ok { Ok(()) } else { Err(SampleError::config(field, message())) }
        };
        let positive = |x: f64| x > 0.0 && x.is_finite();
        let tolerance = |x: f64| x >= 0.0 && x.is_finite();
        expect(
            self.initial_radius >= 0.0 && self.initial_radius.is_finite(),
            "initial_radius",
            "a finite number that is not negative",
            &self.initial_radius,
        )?;
        expect(
            self.initial_attempts >= 1,
            "initial_attempts",
            "at least 1",
            &self.initial_attempts,
        )?;
        let held = (1..=MAX_HISTORY).contains(&self.history);
        expect(held, "history", &format!("1 to {MAX_HISTORY}"), &self.history)?;
        expect(
            positive(self.initial_step),
            "initial_step",
            "a positive number",
            &self.initial_step,
        )?;
        for (field, value) in [
            ("objective_change", self.objective_change),
            ("relative_objective_change", self.relative_objective_change),
            ("gradient_norm", self.gradient_norm),
            ("relative_gradient", self.relative_gradient),
            ("position_change", self.position_change),
        ] {
            expect(tolerance(value), field, "a finite number that is not negative", &value)?;
        }
        Ok(())
    }
}

/// Why an optimisation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stopped {
    /// The gradient is small ([`OptimizeConfig::gradient_norm`]).
    Gradient,
    /// The gradient is small in the metric of the curvature
    /// ([`OptimizeConfig::relative_gradient`]).
    RelativeGradient,
    /// The log density hardly changed ([`OptimizeConfig::objective_change`]).
    Objective,
    /// The log density hardly changed, relative to itself
    /// ([`OptimizeConfig::relative_objective_change`]).
    RelativeObjective,
    /// The position hardly changed ([`OptimizeConfig::position_change`]).
    Position,
    /// The largest number of iterations was reached.
    Iterations,
    /// No step along the gradient makes the log density larger: it is not smooth there, or its
    /// gradient is wrong or too inexact.
    LineSearch,
    /// The log density grows without bound.
    Unbounded,
    /// The observer stopped it.
    Interrupted,
}

impl Stopped {
    /// Whether the position is a maximum as far as the tolerances tell.
    pub fn is_converged(self) -> bool {
        !matches!(self, Self::Iterations | Self::LineSearch | Self::Unbounded | Self::Interrupted)
    }

    /// The reason as a sentence without a full stop.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Gradient => "the norm of the gradient is below its tolerance",
            Self::RelativeGradient => "the relative size of the gradient is below its tolerance",
            Self::Objective => "the change of the log density is below its tolerance",
            Self::RelativeObjective => {
                "the relative change of the log density is below its tolerance"
            }
            Self::Position => "the change of the position is below its tolerance",
            Self::Iterations => "the largest number of iterations was reached",
            Self::LineSearch => "no step along the gradient makes the log density larger",
            Self::Unbounded => "the log density grows without bound",
            Self::Interrupted => "it was interrupted",
        }
    }
}

/// Where an optimisation ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Optimum {
    /// The best position (unconstrained scale).
    pub position: Vec<f64>,
    /// Its log density, in nats.
    pub logp: f64,
    /// The gradient there.
    pub gradient: Vec<f64>,
    /// Steps taken.
    pub iterations: u64,
    /// Evaluations of the density.
    pub evaluations: u64,
    /// Why it ended.
    pub stopped: Stopped,
}

impl Optimum {
    /// Euclidean norm of the gradient.
    pub fn gradient_norm(&self) -> f64 {
        dot(&self.gradient, &self.gradient).sqrt()
    }
}

/// What an observer sees after every iteration; `Break` ends the optimisation there.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Iteration {
    /// Number of the iteration, from 1.
    pub number: u64,
    /// Log density reached.
    pub logp: f64,
    /// Euclidean norm of the gradient.
    pub gradient_norm: f64,
}

/// A point, where the objective is what is made small: the log density with its sign turned.
pub(crate) struct Point {
    pub(crate) position: Vec<f64>,
    pub(crate) objective: f64,
    pub(crate) gradient: Vec<f64>,
}

/// One iteration: the step that was taken, how the gradient of the objective changed along it, and
/// where it led.
pub(crate) struct Step<'a> {
    pub(crate) number: u64,
    pub(crate) step: &'a [f64],
    pub(crate) change: &'a [f64],
    pub(crate) reached: &'a Point,
}

/// Where a descent ended, and why.
pub(crate) struct Descent {
    pub(crate) end: Point,
    pub(crate) iterations: u64,
    pub(crate) evaluations: u64,
    pub(crate) stopped: Stopped,
}

/// Finds a local maximum of a log density, from a given or random start.
///
/// **Scale**: unconstrained. Whether log Jacobians count is the density's business: without them
/// the result is the mode of the constrained values, with them that of the unconstrained ones.
///
/// # Errors
/// Invalid settings, no usable start, or a fatal failure of the density. An optimisation that does
/// not converge is no error: [`Optimum::stopped`] says why it ended.
///
/// ```
/// # use exmc_density::{EvaluationError, LogDensity};
/// # use exmc_infer::{Start, optimise::{OptimizeConfig, maximise}};
/// struct Normal;
/// impl LogDensity for Normal {
///     fn dim(&self) -> usize { 1 }
///     fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
///         g[0] = 3.0 - q[0];
///         Ok(-0.5 * g[0] * g[0])
///     }
/// }
/// let quiet = |_: &_| std::ops::ControlFlow::Continue(());
/// let mode = maximise(&mut Normal, &Start::Random, &OptimizeConfig::default(), quiet)?;
/// assert!(mode.stopped.is_converged() && (mode.position[0] - 3.0).abs() < 1e-6);
/// # Ok::<(), exmc_infer::SampleError>(())
/// ```
pub fn maximise(
    density: &mut impl LogDensity,
    start: &Start,
    config: &OptimizeConfig,
    mut observe: impl FnMut(&Iteration) -> ControlFlow<()>,
) -> Result<Optimum, SampleError> {
    config.validate()?;
    let mut rng = ChainRng::new(config.seed, 0, Phase::Mode);
    let start = initial_point(density, start, config, &mut rng)?;
    let descent = descend(density, start, config, |_, step| {
        Ok(observe(&Iteration {
            number: step.number,
            logp: -step.reached.objective,
            gradient_norm: norm(&step.reached.gradient),
        }))
    })?;
    let Descent { end: Point { position, objective, gradient }, iterations, evaluations, stopped } =
        descent;
    let gradient = gradient.into_iter().map(|g| -g).collect();
    Ok(Optimum { position, logp: -objective, gradient, iterations, evaluations, stopped })
}

/// Walks down the objective from a point where it and its gradient are finite; `observe` sees every
/// step and may evaluate the density elsewhere.
///
/// # Errors
/// A fatal failure of the density, or what `observe` returns.
pub(crate) fn descend<L: LogDensity>(
    density: &mut L,
    start: Point,
    config: &OptimizeConfig,
    mut observe: impl FnMut(&mut L, &Step<'_>) -> Result<ControlFlow<()>, SampleError>,
) -> Result<Descent, SampleError> {
    let mut point = start;
    let mut history = History::new(config.history);
    let (mut iterations, mut evaluations) = (0, 1);
    let stopped = loop {
        let slope = norm(&point.gradient);
        if slope < config.gradient_norm {
            break Stopped::Gradient;
        }
        if iterations == config.iterations {
            break Stopped::Iterations;
        }
        let is_first = history.is_empty();
        let direction = history.direction(&point.gradient);
        // Where the density is 10^-100 the gradient is as extreme, and a multiple of it leads
        // nowhere that can be evaluated.
        let length = if is_first { config.initial_step.min(1.0 / slope) } else { 1.0 };
        let found = search(density, &point, &direction, length, &mut evaluations)?;
        let next = match found {
            Searched::Found(next) => next,
            Searched::Unbounded => break Stopped::Unbounded,
            // The curvature that was learnt may mislead; the gradient alone does not.
            Searched::Nothing if !is_first => {
                history.clear();
                continue;
            }
            Searched::Nothing => break Stopped::LineSearch,
        };
        iterations += 1;
        let step = difference(&next.position, &point.position);
        let change = difference(&next.gradient, &point.gradient);
        let step_norm = norm(&step);
        let before = std::mem::replace(&mut point, next).objective;
        let taken = Step { number: iterations, step: &step, change: &change, reached: &point };
        if observe(density, &taken)?.is_break() {
            break Stopped::Interrupted;
        }
        history.push(step, change);
        let change = (before - point.objective).abs();
        let size = point.objective.abs().max(before.abs()).max(1.0);
        let along = -dot(&history.direction(&point.gradient), &point.gradient);
        if change < config.objective_change {
            break Stopped::Objective;
        }
        if along <= config.relative_gradient * f64::EPSILON * point.objective.abs().max(1.0) {
            break Stopped::RelativeGradient;
        }
        if change <= config.relative_objective_change * f64::EPSILON * size {
            break Stopped::RelativeObjective;
        }
        if step_norm < config.position_change {
            break Stopped::Position;
        }
    };
    Ok(Descent { end: point, iterations, evaluations, stopped })
}

pub(crate) fn initial_point(
    density: &mut impl LogDensity,
    start: &Start,
    config: &OptimizeConfig,
    rng: &mut ChainRng,
) -> Result<Point, SampleError> {
    let settings = SamplerConfig {
        initial_radius: config.initial_radius,
        initial_attempts: config.initial_attempts,
        ..SamplerConfig::default()
    };
    let dim = density.dim();
    let given = match start {
        Start::Random => None,
        Start::At(position) => Some(position.as_slice()),
        Start::Resume(checkpoint) => Some(&checkpoint.state.position[..]),
    };
    if let Some(position) = given
        && position.len() != dim
    {
        let message = format!("expected {dim} coordinates, found {}", position.len());
        return Err(SampleError::config("start", message));
    }
    let State { position, logp, gradient } = initial_state(density, given, &settings, rng)?;
    let gradient = gradient.iter().map(|g| -g).collect();
    Ok(Point { position: position.to_vec(), objective: -logp, gradient })
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
