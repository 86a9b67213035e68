//! A log density -> the normal distribution with the largest evidence lower bound (automatic
//! differentiation variational inference, ADVI).
//!
//! The bound, `E_q[log p] + H[q]`, is climbed by stochastic gradients: draws
//! $\zeta=\mu+S\eta$ with fixed $\eta$ make its slope by $\mu$ and $S$ a mean of slopes of
//! $\log p$. The length of steps falls with the iteration and with each parameter's own past
//! slopes. The scale of all steps is chosen first, by short climbs with several; the climb ends
//! where the bound, evaluated now and then, changes little.
//!
//! **Reference**: Kucukelbir, Tran, Ranganath, Gelman and Blei 2017, "Automatic differentiation
//! variational inference", JMLR 18(14), algorithm 1 and section 2.6; the choice of the scale and
//! the rule of convergence are those that Stan documents.

mod family;

use std::ops::ControlFlow;

use exmc_density::LogDensity;
use exmc_math::random::{ChainRng, Phase};

use crate::config::SamplerConfig;
use crate::error::SampleError;
use crate::run::chain::Start;
use crate::run::initial::initial_state;
use crate::state::evaluate_into;
pub use family::{Family, NormalApproximation};

/// Scales of steps that are tried, largest first (Stan).
const STEP_SCALES: [f64; 5] = [100.0, 10.0, 1.0, 0.1, 0.01];
/// Share of a new squared slope in the running mean of squares (Stan).
const NEW_SHARE: f64 = 0.1;
/// What is added to the root of that mean, so that first steps are no longer than the scale (Stan).
const DAMPING: f64 = 1.0;
/// Draws that may fail for each that is asked for, before the climb is given up.
const MAX_FAILED: usize = 10;
/// Relative changes above this after many evaluations are told as divergence (Stan).
const DIVERGING: f64 = 0.5;

/// Settings of [`variational`]. Start from [`VariationalConfig::default`], whose values are
/// CmdStan's.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct VariationalConfig {
    /// Seed of all random numbers. Default 0.
    pub seed: u64,
    /// Random initial coordinates are uniform on `(-radius, radius)`. Default 2.
    pub initial_radius: f64,
    /// How many random starts are tried until one has a finite density. Default 100.
    pub initial_attempts: u32,
    /// Which normal distributions are tried. Default [`Family::MeanField`].
    pub family: Family,
    /// Largest number of iterations. Default 10 000.
    pub iterations: u64,
    /// Draws for each estimate of the slope. Default 1.
    pub gradient_draws: u32,
    /// Draws for each estimate of the bound. Default 100.
    pub elbo_draws: u32,
    /// Iterations between two evaluations of the bound. Default 100.
    pub evaluate_every: u64,
    /// Relative change of the bound, in the mean or the median of the last evaluations, below which
    /// the climb has converged. Default 0.01.
    pub relative_change: f64,
    /// Scale of all steps; none chooses it. Default none.
    pub step_scale: Option<f64>,
    /// Iterations of each climb that a scale is tried with. Default 50.
    pub adaptation_iterations: u64,
}

impl Default for VariationalConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            initial_radius: 2.0,
            initial_attempts: 100,
            family: Family::default(),
            iterations: 10_000,
            gradient_draws: 1,
            elbo_draws: 100,
            evaluate_every: 100,
            relative_change: 0.01,
            step_scale: None,
            adaptation_iterations: 50,
        }
    }
}

impl VariationalConfig {
    /// Checks every field against its domain.
    ///
    /// # Errors
    /// A config error ([`SampleError::is_config`]) that names the first bad field.
    pub fn validate(&self) -> Result<(), SampleError> {
        let counts = [
            ("iterations", self.iterations),
            ("gradient_draws", u64::from(self.gradient_draws)),
            ("elbo_draws", u64::from(self.elbo_draws)),
            ("evaluate_every", self.evaluate_every),
            ("adaptation_iterations", self.adaptation_iterations),
            ("initial_attempts", u64::from(self.initial_attempts)),
        ];
        if let Some((field, _)) = counts.into_iter().find(|(_, n)| *n == 0) {
            return Err(SampleError::config(field, "expected at least 1, found 0"));
        }
        let numbers =
            [("relative_change", Some(self.relative_change)), ("step_scale", self.step_scale)];
        for (field, value) in numbers {
            if let Some(x) = value.filter(|x| !(*x > 0.0 && x.is_finite())) {
                let message = format!("expected a positive number, found {x}");
                return Err(SampleError::config(field, message));
            }
        }
        if !(self.initial_radius >= 0.0 && self.initial_radius.is_finite()) {
            let found = self.initial_radius;
            let message = format!("expected a finite number that is not negative, found {found}");
            return Err(SampleError::config("initial_radius", message));
        }
        Ok(())
    }
}

/// Why a climb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum VariationalEnd {
    /// The mean of the last relative changes of the bound is small.
    Mean,
    /// Their median is.
    Median,
    /// The largest number of iterations was reached.
    Iterations,
    /// The observer stopped it.
    Interrupted,
}

impl VariationalEnd {
    /// Whether the bound has settled, as far as the tolerance tells.
    pub fn is_converged(self) -> bool {
        matches!(self, Self::Mean | Self::Median)
    }
}

/// What an observer sees; `Break` ends the climb there.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Progress {
    /// A scale of steps was tried: the bound that it led to.
    Tried {
        /// The scale.
        step_scale: f64,
        /// The bound, in nats; minus infinity where it cannot be evaluated.
        elbo: f64,
    },
    /// The bound was evaluated.
    Evaluated {
        /// Iterations so far.
        iteration: u64,
        /// The bound, in nats.
        elbo: f64,
        /// Mean of the last relative changes.
        mean_change: f64,
        /// Their median.
        median_change: f64,
        /// Whether they are so large that the climb may diverge.
        may_diverge: bool,
    },
}

/// What a climb came to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Variational {
    /// The normal distribution where it ended.
    pub approximation: NormalApproximation,
    /// The scale of steps.
    pub step_scale: f64,
    /// The bound at the last evaluation, in nats.
    pub elbo: f64,
    /// Iterations.
    pub iterations: u64,
    /// Why it ended.
    pub end: VariationalEnd,
}

/// Climbs the evidence lower bound from a given or random start with unit variances.
///
/// **Scale**: unconstrained, log Jacobians included. **Determinism**: all random numbers come from
/// the seed.
///
/// # Errors
/// Invalid settings, no usable start, a fatal failure of the density, a density that cannot be
/// evaluated at most draws, or no scale of steps that raises the bound. No convergence is no error:
/// [`Variational::end`] tells.
///
/// ```
/// # use exmc_density::{EvaluationError, LogDensity};
/// # use exmc_infer::{Start, variational::{VariationalConfig, variational}};
/// # use std::ops::ControlFlow;
/// struct Normal;
/// impl LogDensity for Normal {
///     fn dim(&self) -> usize { 1 }
///     fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
///         g[0] = 3.0 - q[0];
///         Ok(-0.5 * g[0] * g[0])
///     }
/// }
/// let quiet = |_: &_| ControlFlow::Continue(());
/// let found = variational(&mut Normal, &Start::Random, &VariationalConfig::default(), quiet)?;
/// assert!((found.approximation.mean()[0] - 3.0).abs() < 0.5);
/// # Ok::<(), exmc_infer::SampleError>(())
/// ```
pub fn variational(
    density: &mut impl LogDensity,
    start: &Start,
    config: &VariationalConfig,
    mut observe: impl FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Variational, SampleError> {
    config.validate()?;
    let settings = SamplerConfig {
        initial_radius: config.initial_radius,
        initial_attempts: config.initial_attempts,
        ..SamplerConfig::default()
    };
    let mut rng = ChainRng::new(config.seed, 0, Phase::Variational);
    let given = match start {
        Start::Random => None,
        Start::At(position) => Some(position.as_slice()),
        Start::Resume(checkpoint) => Some(&checkpoint.state.position[..]),
    };
    if let Some(position) = given
        && position.len() != density.dim()
    {
        let (expected, found) = (density.dim(), position.len());
        let message = format!("expected {expected} coordinates, found {found}");
        return Err(SampleError::config("start", message));
    }
    let state = initial_state(density, given, &settings, &mut rng)?;
    let first = NormalApproximation::around(config.family, &state.position);
    let mut climb = Climb::new(density, config, rng, first);
    let step_scale = match config.step_scale {
        Some(scale) => scale,
        None => match climb.choose_scale(&mut observe)? {
            ControlFlow::Continue(scale) => scale,
            ControlFlow::Break(scale) => return Ok(climb.end(scale, VariationalEnd::Interrupted)),
        },
    };
    climb.ascend(step_scale, &mut observe)
}

struct Climb<'a, L> {
    density: &'a mut L,
    config: &'a VariationalConfig,
    rng: ChainRng,
    first: NormalApproximation,
    now: NormalApproximation,
    /// Running means of squared slopes.
    squares: Vec<f64>,
    elbo: f64,
    iteration: u64,
    eta: Vec<f64>,
    zeta: Vec<f64>,
    slope: Vec<f64>,
}

impl<'a, L: LogDensity> Climb<'a, L> {
    fn new(
        density: &'a mut L,
        config: &'a VariationalConfig,
        rng: ChainRng,
        first: NormalApproximation,
    ) -> Self {
        let dim = density.dim();
        let zeros = || vec![0.0; dim];
        Self {
            density,
            config,
            rng,
            now: first.clone(),
            squares: vec![0.0; first.parameters().len()],
            first,
            elbo: f64::NEG_INFINITY,
            iteration: 0,
            eta: zeros(),
            zeta: zeros(),
            slope: zeros(),
        }
    }

    /// Back to the start.
    fn restart(&mut self) {
        self.now = self.first.clone();
        self.squares.fill(0.0);
        self.iteration = 0;
    }

    fn end(self, step_scale: f64, end: VariationalEnd) -> Variational {
        let (elbo, iterations) = (self.elbo, self.iteration);
        Variational { approximation: self.now, step_scale, elbo, iterations, end }
    }

    /// Draws a point and evaluates the density and its slope there; again where it cannot be
    /// evaluated. `failed` counts.
    fn draw(&mut self, (failed, most): (&mut usize, usize)) -> Result<f64, SampleError> {
        loop {
            self.rng.fill_standard_normal(&mut self.eta);
            self.now.transform(&self.eta, &mut self.zeta);
            let is_finite = self.zeta.iter().all(|x| x.is_finite());
            let logp = match is_finite {
                true => evaluate_into(self.density, &self.zeta, &mut self.slope)?,
                false => f64::NAN,
            };
            if logp.is_finite() && self.slope.iter().all(|g| g.is_finite()) {
                return Ok(logp);
            }
            *failed += 1;
            if *failed >= most {
                return Err(SampleError::fatal(
                    "the density cannot be evaluated at most draws of the approximation: it is ill-conditioned or the \
                     model is misspecified",
                ));
            }
        }
    }

    /// An estimate of the bound.
    fn evaluate(&mut self) -> Result<f64, SampleError> {
        let n = self.config.elbo_draws as usize;
        let (mut failed, mut total) = (0, 0.0);
        for _ in 0..n {
            total += self.draw((&mut failed, n.max(MAX_FAILED)))?;
        }
        Ok(total / n as f64 + self.now.entropy())
    }

    /// One step up.
    fn step(&mut self, step_scale: f64) -> Result<(), SampleError> {
        let n = self.config.gradient_draws;
        let mut slopes = vec![0.0; self.squares.len()];
        let mut failed = 0;
        for _ in 0..n {
            self.draw((&mut failed, MAX_FAILED * n as usize))?;
            self.now.add_slopes(&self.eta, &self.slope, &mut slopes);
        }
        slopes.iter_mut().for_each(|g| *g /= f64::from(n));
        self.now.add_entropy_slopes(&mut slopes);
        self.iteration += 1;
        let length = step_scale / (self.iteration as f64).sqrt();
        let is_first = self.iteration == 1;
        let parameters = self.now.parameters_mut().iter_mut();
        for ((x, g), square) in parameters.zip(&slopes).zip(&mut self.squares) {
            *square = match is_first {
                true => g * g,
                false => NEW_SHARE * g * g + (1.0 - NEW_SHARE) * *square,
            };
            *x += length * g / (DAMPING + square.sqrt());
        }
        Ok(())
    }

    /// The scale that leads highest in a few steps: larger ones are tried first, until a smaller
    /// one leads less high than the one before, which is above the start.
    fn choose_scale(
        &mut self,
        observe: &mut impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<ControlFlow<f64, f64>, SampleError> {
        let at_start = self.evaluate()?;
        let mut best: Option<(f64, f64)> = None;
        for step_scale in STEP_SCALES {
            self.restart();
            let elbo = match self.try_scale(step_scale) {
                Ok(elbo) if elbo.is_finite() => elbo,
                Err(error) if error.is_ended() => return Err(error),
                // A step that is too long leads where nothing can be evaluated.
                _ => f64::NEG_INFINITY,
            };
            let is_stopped = observe(&Progress::Tried { step_scale, elbo }).is_break();
            match best {
                Some((scale, highest)) if elbo < highest && highest > at_start => {
                    self.restart();
                    return Ok(ControlFlow::Continue(scale));
                }
                _ => best = Some((step_scale, elbo)),
            }
            if is_stopped {
                return Ok(ControlFlow::Break(step_scale));
            }
        }
        self.restart();
        match best {
            Some((scale, highest)) if highest > at_start => Ok(ControlFlow::Continue(scale)),
            _ => Err(SampleError::fatal(
                "all proposed step sizes failed: the model may be ill-conditioned or misspecified",
            )),
        }
    }

    fn try_scale(&mut self, step_scale: f64) -> Result<f64, SampleError> {
        for _ in 0..self.config.adaptation_iterations {
            self.step(step_scale)?;
        }
        self.evaluate()
    }

    fn ascend(
        mut self,
        step_scale: f64,
        observe: &mut impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<Variational, SampleError> {
        let every = self.config.evaluate_every;
        // The last tenth of all evaluations, and two at least.
        let kept = ((0.1 * self.config.iterations as f64 / every as f64) as usize).max(2);
        let mut changes: Vec<f64> = Vec::new();
        self.elbo = self.evaluate()?;
        while self.iteration < self.config.iterations {
            self.step(step_scale)?;
            if !self.iteration.is_multiple_of(every) {
                continue;
            }
            let before = self.elbo;
            self.elbo = self.evaluate()?;
            changes.push(((self.elbo - before) / before).abs());
            if changes.len() > kept {
                changes.remove(0);
            }
            let mean_change = changes.iter().sum::<f64>() / changes.len() as f64;
            let median_change = median(&changes);
            let late = self.iteration > 10 * every;
            let may_diverge = late && (mean_change > DIVERGING || median_change > DIVERGING);
            let (iteration, elbo) = (self.iteration, self.elbo);
            let seen =
                Progress::Evaluated { iteration, elbo, mean_change, median_change, may_diverge };
            if observe(&seen).is_break() {
                return Ok(self.end(step_scale, VariationalEnd::Interrupted));
            }
            if mean_change < self.config.relative_change {
                return Ok(self.end(step_scale, VariationalEnd::Mean));
            }
            if median_change < self.config.relative_change {
                return Ok(self.end(step_scale, VariationalEnd::Median));
            }
        }
        Ok(self.end(step_scale, VariationalEnd::Iterations))
    }
}

/// The middle one of sorted numbers, the upper of two.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
