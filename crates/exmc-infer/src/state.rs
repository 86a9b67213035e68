//! What a transition needs next ([`State`]) and what it says about itself ([`Info`]).

use exmc_density::{EvaluationError, LogDensity};

use crate::error::SampleError;
use crate::linalg::aligned_vector::AlignedVec;

/// Where a chain is: everything that the next transition needs from the last one.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// The position, on the unconstrained scale.
    pub position: AlignedVec,
    /// Log density at the position, in nats.
    pub logp: f64,
    /// Gradient of the log density at the position.
    pub gradient: AlignedVec,
}

impl State {
    /// Evaluates `density` at `position`.
    ///
    /// The result may hold non-finite numbers; see [`is_usable`](Self::is_usable).
    ///
    /// # Errors
    /// [`EvaluationError`] as the density returns it.
    pub fn evaluate(
        density: &mut impl LogDensity,
        position: Vec<f64>,
    ) -> Result<Self, EvaluationError> {
        let position = AlignedVec::from(position);
        let mut gradient = AlignedVec::zeros(position.len());
        let logp = density.logp_grad(&position, &mut gradient)?;
        Ok(Self { position, logp, gradient })
    }

    /// Whether the log density and every entry of its gradient are finite.
    pub fn is_usable(&self) -> bool {
        self.logp.is_finite() && self.gradient.iter().all(|g| g.is_finite())
    }
}

/// What one transition did; for diagnostics and adaptation only.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Log density of the draw, in nats.
    pub logp: f64,
    /// Completed doublings of the trajectory; an invalid last doubling counts.
    pub tree_depth: u32,
    /// Leapfrog steps, those of a discarded subtree included.
    pub n_steps: u32,
    /// Whether the draw is another point than the start.
    pub moved: bool,
    /// Whether the last doubling was discarded: its subtree made a U-turn within itself or
    /// diverged. Stan does not count such a doubling in its `treedepth__`.
    pub last_discarded: bool,
    /// Whether the trajectory met a divergence: a leaf whose energy error is too large or not
    /// finite.
    pub divergent: bool,
    /// Whether the trajectory ended at a leaf where the density could not be evaluated
    /// ([`EvaluationError::Recoverable`]). That is no divergence, which says something about the
    /// step size: the leaf counts in `n_steps`, but not in `accept_stat` (unless it is the
    /// trajectory's only one).
    pub recovered: bool,
    /// Whether the trajectory ended because it reached the maximum depth.
    pub reached_max_depth: bool,
    /// Mean of $\min(1, e^{H_0-H})$ over all leaves that could be evaluated, discarded ones
    /// included; in `[0, 1]`. It is 0 when there was none: a step size that only leads to such
    /// leaves must shrink.
    pub accept_stat: f64,
    /// Hamiltonian of the draw with the momentum that it was reached with, in nats.
    pub energy: f64,
    /// Energy of the draw minus that of the start, in nats.
    pub energy_error: f64,
    /// The energy error with the largest absolute value among the leaves (`inf` for a leaf that
    /// could not be evaluated), in nats.
    pub max_energy_error: f64,
    /// Step size that the transition used (after jitter).
    pub step_size: f64,
}

impl Info {
    /// The record of a transition that did nothing: of a density without coordinates, or to be
    /// filled in when a stored record is read back.
    pub fn still(logp: f64, step_size: f64) -> Self {
        Self {
            logp,
            tree_depth: 0,
            n_steps: 0,
            moved: false,
            last_discarded: false,
            divergent: false,
            recovered: false,
            reached_max_depth: false,
            accept_stat: 1.0,
            energy: -logp,
            energy_error: 0.0,
            max_energy_error: 0.0,
            step_size,
        }
    }
}

/// Which part of a chain a draw belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunPhase {
    /// The sampler still adapts; the draw is not a draw from the target.
    Warmup,
    /// The sampler is fixed.
    Sampling,
}

/// Evaluates in place; a recoverable failure is `NaN`, a fatal one an error.
#[inline]
pub(crate) fn evaluate_into(
    density: &mut (impl LogDensity + ?Sized),
    position: &[f64],
    gradient: &mut [f64],
) -> Result<f64, SampleError> {
    usable(density.logp_grad(position, gradient))
}

/// What a density returned, a recoverable failure as `NaN`.
#[inline]
pub(crate) fn usable(logp: Result<f64, EvaluationError>) -> Result<f64, SampleError> {
    match logp {
        Ok(logp) => Ok(logp),
        Err(error) => SampleError::from_evaluation(error).map_or(Ok(f64::NAN), Err),
    }
}
