//! The leapfrog integrator: an end of a trajectory -> the next point along it.
//!
//! Half step of the momentum, full step of the position, half step of the momentum, all with the
//! whitened momentum of [`crate::metric`]. Reversible and volume preserving; its energy error is of
//! second order in the step size (Neal 2011, section 2.3).
//!
//! With a diagonal metric, with a few directions beside it, and in few dimensions, an end runs half a step ahead: one
//! kernel closes a step and opens the next one in other buffers, so that the leaf just visited can be kept by swapping
//! it out. A large dense metric opens a step when it is asked for, because moving the position costs it a matrix.

use exmc_density::LogDensity;
use exmc_fault::{Fault, planted};

use crate::error::SampleError;
use crate::low_rank_steps::AdvanceLowRank;
use crate::metric::Metric;
use crate::padded::Padded;
use crate::small_steps::{AdvanceSmall, DepartSmall};
use crate::state::{State, evaluate_into};
use crate::vector::{AddScaled, Advance, Depart, Kick, dot};

/// A position and the gradient of the log density there.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The position, on the unconstrained scale.
    pub position: Padded,
    /// Gradient of the log density at the position.
    pub gradient: Padded,
}

/// One end of a trajectory, which steps away from where it departed.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Signed.
    step_size: f64,
    /// Whether steps are opened in advance.
    runs_ahead: bool,
    /// The last leaf, if the end runs ahead.
    leaf: Point,
    /// Where the next step evaluates if the end runs ahead, else the last leaf.
    next: Point,
    /// Whitened momentum half a step beyond the last leaf.
    half: Padded,
    work: Padded,
}

impl Point {
    pub(crate) fn new(dim: usize) -> Self {
        Self { position: Padded::zeros(dim), gradient: Padded::zeros(dim) }
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

/// Puts two ends at a state with a whitened momentum: one to go backward in time, one forward.
pub fn depart(
    backward: &mut Endpoint,
    forward: &mut Endpoint,
    state: &State,
    momentum: &Padded,
    metric: &Metric,
    step_size: f64,
) {
    backward.step_size = -step_size;
    forward.step_size = step_size;
    let sigma = metric.diagonal_sigma();
    let small = metric.small_maps();
    let runs_ahead = sigma.is_some() || small.is_some() || metric.low_rank_parts().is_some();
    for end in [&mut *backward, &mut *forward] {
        end.runs_ahead = runs_ahead;
    }
    if let Some(sigma) = sigma {
        metric.level().run(Depart {
            step_size,
            sigma: sigma.rows(),
            position: state.position.rows(),
            gradient: state.gradient.rows(),
            momentum: momentum.rows(),
            backward: (backward.half.rows_mut(), backward.next.position.rows_mut()),
            forward: (forward.half.rows_mut(), forward.next.position.rows_mut()),
        });
        return;
    }
    if let Some(maps) = small {
        metric.level().run(DepartSmall {
            dim: momentum.len(),
            step_size,
            maps,
            position: state.position.rows(),
            gradient: state.gradient.rows(),
            momentum: momentum.rows(),
            ends: [
                (backward.half.rows_mut(), backward.next.position.rows_mut()),
                (forward.half.rows_mut(), forward.next.position.rows_mut()),
            ],
        });
        return;
    }
    metric.pull(&state.gradient, &mut forward.work);
    backward.work.copy_from_slice(&forward.work);
    for end in [backward, forward] {
        end.next.position.copy_from_slice(&state.position);
        end.half.copy_from_slice(momentum);
        let (x, y) = (end.work.rows(), end.half.rows_mut());
        metric.level().run(AddScaled { c: 0.5 * end.step_size, x, y });
        if end.runs_ahead {
            metric.push(&end.half, &mut end.work);
            let (x, y) = (end.work.rows(), end.next.position.rows_mut());
            metric.level().run(AddScaled { c: end.step_size, x, y });
        }
    }
}

impl Endpoint {
    /// Room for a position of length `dim`; [`depart`] says where it is.
    pub fn new(dim: usize) -> Self {
        Self {
            step_size: 0.0,
            runs_ahead: false,
            leaf: Point::new(dim),
            next: Point::new(dim),
            half: Padded::zeros(dim),
            work: Padded::zeros(dim),
        }
    }

    /// The point that the last step reached.
    pub fn leaf(&self) -> &Point {
        if self.runs_ahead { &self.leaf } else { &self.next }
    }

    /// Moves the point that the last step reached to `to`; [`leaf`](Self::leaf) is meaningless until
    /// the next step.
    #[inline]
    pub(crate) fn take_leaf(&mut self, to: &mut Point) {
        if self.runs_ahead {
            std::mem::swap(&mut self.leaf, to);
        } else {
            to.position.copy_from_slice(&self.next.position);
            to.gradient.copy_from_slice(&self.next.gradient);
        }
    }

    /// Moves by one leapfrog step with the metric that the end departed with and writes the new
    /// whitened momentum.
    ///
    /// **Shapes**: `momentum` has the metric's dimension.
    ///
    /// # Errors
    /// Only when the density fails fatally; anything else is in the numbers.
    #[inline]
    pub fn step(
        &mut self,
        density: &mut impl LogDensity,
        metric: &Metric,
        momentum: &mut Padded,
    ) -> Result<Step, SampleError> {
        let Self { step_size, leaf, next, half, work, .. } = self;
        let opening = 0.5 * *step_size;
        let closing = if planted(Fault::HalfStepOmitted) { 0.0 } else { opening };
        let (logp, norm2) = if let Some(sigma) = metric.diagonal_sigma() {
            let logp = evaluate_into(density, &next.position, &mut next.gradient)?;
            let norm2 = metric.level().run(Advance {
                step_size: *step_size,
                closing,
                sigma: sigma.rows(),
                position: next.position.rows(),
                gradient: next.gradient.rows(),
                half: half.rows_mut(),
                ahead: leaf.position.rows_mut(),
                momentum: momentum.rows_mut(),
            });
            std::mem::swap(leaf, next);
            (logp, norm2)
        } else if let Some(maps) = metric.small_maps() {
            let logp = evaluate_into(density, &next.position, &mut next.gradient)?;
            let norm2 = metric.level().run(AdvanceSmall {
                dim: momentum.len(),
                step_size: *step_size,
                closing,
                maps,
                position: next.position.rows(),
                gradient: next.gradient.rows(),
                half: half.rows_mut(),
                ahead: leaf.position.rows_mut(),
                momentum: momentum.rows_mut(),
            });
            std::mem::swap(leaf, next);
            (logp, norm2)
        } else if let Some((scale, vectors, shift)) = metric.low_rank_parts() {
            let logp = evaluate_into(density, &next.position, &mut next.gradient)?;
            let norm2 = metric.level().run(AdvanceLowRank {
                dim: momentum.len(),
                step_size: *step_size,
                closing,
                scale: scale.rows(),
                vectors: vectors.rows(),
                shift,
                position: next.position.rows(),
                gradient: next.gradient.rows(),
                half: half.rows_mut(),
                ahead: leaf.position.rows_mut(),
                momentum: momentum.rows_mut(),
                force: work.rows_mut(),
            });
            std::mem::swap(leaf, next);
            (logp, norm2)
        } else {
            metric.push(half, work);
            let (x, y) = (work.rows(), next.position.rows_mut());
            metric.level().run(AddScaled { c: *step_size, x, y });
            let logp = evaluate_into(density, &next.position, &mut next.gradient)?;
            metric.pull(&next.gradient, work);
            let (force, half) = (work.rows(), half.rows_mut());
            let momentum = momentum.rows_mut();
            (logp, metric.level().run(Kick { opening, closing, force, half, momentum }))
        };
        Ok(Step { logp, kinetic: kinetic_energy(metric, momentum, norm2, work), norm2 })
    }
}

/// Kinetic energy of a whitened momentum whose squared length is `norm2`.
#[inline(always)]
pub(crate) fn kinetic_energy(
    metric: &Metric,
    momentum: &Padded,
    norm2: f64,
    work: &mut Padded,
) -> f64 {
    if planted(Fault::KineticEnergyWrongMetric) {
        metric.unwhiten(momentum, work);
        return 0.5 * dot(work, work);
    }
    0.5 * norm2
}
