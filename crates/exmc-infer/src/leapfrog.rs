//! The leapfrog integrator: an end of a trajectory -> the next point along it.
//!
//! Half step of the momentum, full step of the position, half step of the momentum, all with the
//! whitened momentum of [`crate::metric`]. Reversible and volume preserving; its energy error is of
//! second order in the step size (Neal 2011, section 2.3).

use exmc_density::LogDensity;
use exmc_fault::{Fault, planted};

use crate::error::SampleError;
use crate::metric::Metric;
use crate::state::{State, evaluate_into};
use crate::vector::{add_scaled, dot, kick, kick_and_drift};

/// One end of a trajectory: the point that the integrator goes on from.
#[derive(Clone, Debug, Default)]
pub struct Endpoint {
    /// Position, unconstrained.
    pub position: Vec<f64>,
    /// Whitened momentum $L^\top p$.
    pub momentum: Vec<f64>,
    /// Gradient of the log density.
    pub gradient: Vec<f64>,
    /// Whitened gradient $L^\top\nabla\log p(q)$; unused with a diagonal metric, whose
    /// scales the kernels apply on the fly.
    force: Vec<f64>,
}

impl Endpoint {
    /// Room for a position of length `dim`.
    pub fn new(dim: usize) -> Self {
        let zeros = || vec![0.0; dim];
        Self { position: zeros(), momentum: zeros(), gradient: zeros(), force: zeros() }
    }

    /// Puts the end at a state with a whitened momentum.
    pub fn place(&mut self, state: &State, momentum: &[f64], metric: &Metric) {
        self.position.copy_from_slice(&state.position);
        self.gradient.copy_from_slice(&state.gradient);
        self.momentum.copy_from_slice(momentum);
        if metric.diagonal_sigma().is_none() {
            metric.pull(&self.gradient, &mut self.force);
        }
    }
}

/// What one step found at its end.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Log density at the new position; NaN when it could not be evaluated.
    pub logp: f64,
    /// Kinetic energy of the new momentum, in nats.
    pub kinetic: f64,
    /// Squared length of the new whitened momentum.
    pub norm2: f64,
}

/// Moves `end` by one leapfrog step of signed size `step_size`.
///
/// Writes a copy of the new whitened momentum to `momentum_copy`; `work` is scratch. All slices have
/// the metric's dimension.
///
/// # Errors
/// Only when the density fails fatally; anything else is in the numbers.
#[inline]
pub fn leapfrog(
    density: &mut impl LogDensity,
    metric: &Metric,
    step_size: f64,
    end: &mut Endpoint,
    momentum_copy: &mut [f64],
    work: &mut [f64],
) -> Result<Step, SampleError> {
    let Endpoint { position, momentum, gradient, force } = end;
    let half = if planted(Fault::HalfStepOmitted) { 0.0 } else { 0.5 * step_size };
    let (logp, norm2) = if let Some(sigma) = metric.diagonal_sigma() {
        kick_and_drift(step_size, sigma, gradient, momentum, position);
        let logp = evaluate_into(density, position, gradient)?;
        (logp, kick(half, sigma, gradient, momentum, momentum_copy))
    } else {
        add_scaled(0.5 * step_size, force, momentum);
        metric.push(momentum, work);
        add_scaled(step_size, work, position);
        let logp = evaluate_into(density, position, gradient)?;
        metric.pull(gradient, force);
        (logp, kick(half, metric.unit(), force, momentum, momentum_copy))
    };
    Ok(Step { logp, kinetic: kinetic_energy(metric, momentum_copy, norm2, work), norm2 })
}

/// Kinetic energy of a whitened momentum whose squared length is `norm2`.
#[inline(always)]
pub(crate) fn kinetic_energy(
    metric: &Metric,
    momentum: &[f64],
    norm2: f64,
    work: &mut [f64],
) -> f64 {
    if planted(Fault::KineticEnergyWrongMetric) {
        metric.unwhiten(momentum, work);
        return 0.5 * dot(work, work);
    }
    0.5 * norm2
}
