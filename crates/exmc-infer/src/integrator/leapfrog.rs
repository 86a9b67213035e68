//! The leapfrog integrator: an end of a trajectory -> the next point along it.
//!
//! Half step of the momentum, full step of the position, half step of the momentum, all with the
//! whitened momentum of [`crate::metric::inverse_metric`]. Reversible and volume preserving; its
//! energy error is of second order in the step size (Neal 2011, section 2.3).
//!
//! With a diagonal metric, with a few directions beside it, and in few dimensions, an end runs half
//! a step ahead: one kernel closes a step and opens the next one in other buffers, so that the leaf
//! just visited can be kept by swapping it out. A large dense metric opens a step when it is asked
//! for, because moving the position costs it a matrix.

use exmc_density::LogDensity;
use exmc_fault::{Fault, planted};
use exmc_math::simd::{Kernel, Simd};

use crate::error::SampleError;
use crate::integrator::low_rank::AdvanceLowRank;
use crate::integrator::small_dimension::{AdvanceSmall, DepartSmall, Departing};
use crate::linalg::aligned_vector::AlignedVec;
use crate::linalg::kernels::{AddScaled, Advance, Depart, Kick, dot};
use crate::metric::Metric;
use crate::state::{State, evaluate_into};

/// A position and the gradient of the log density there.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The position, on the unconstrained scale.
    pub position: AlignedVec,
    /// Gradient of the log density at the position.
    pub gradient: AlignedVec,
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
    half: AlignedVec,
    /// Room for forces; in few dimensions, unless the metric is diagonal, the velocity that belongs
    /// to `half`.
    work: AlignedVec,
}

impl Point {
    pub(crate) fn new(dim: usize) -> Self {
        Self { position: AlignedVec::zeros(dim), gradient: AlignedVec::zeros(dim) }
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
    momentum: &AlignedVec,
    metric: &Metric,
    step_size: f64,
) {
    metric.level().run(Departure::<0> { backward, forward, state, momentum, metric, step_size });
}

/// [`depart`] as a part of other kernels, for vectors of N rows, or of any number for N = 0.
pub(crate) struct Departure<'a, const N: usize> {
    pub(crate) backward: &'a mut Endpoint,
    pub(crate) forward: &'a mut Endpoint,
    pub(crate) state: &'a State,
    pub(crate) momentum: &'a AlignedVec,
    pub(crate) metric: &'a Metric,
    pub(crate) step_size: f64,
}

impl<'a, const N: usize> Kernel for Departure<'a, N> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let Self { backward, forward, state, momentum, metric, step_size } = self;
        backward.step_size = -step_size;
        forward.step_size = step_size;
        let sigma = metric.diagonal_sigma();
        let small = metric.small_maps();
        let runs_ahead = sigma.is_some() || small.is_some() || metric.low_rank_parts().is_some();
        for end in [&mut *backward, &mut *forward] {
            end.runs_ahead = runs_ahead;
        }
        let (position, gradient) = (state.position.known::<N>(), state.gradient.known::<N>());
        if let Some(sigma) = sigma {
            Depart {
                step_size,
                sigma: sigma.known::<N>(),
                position,
                gradient,
                momentum: momentum.known::<N>(),
                backward: (backward.half.known_mut::<N>(), backward.next.position.known_mut::<N>()),
                forward: (forward.half.known_mut::<N>(), forward.next.position.known_mut::<N>()),
            }
            .run(s);
        } else if let Some(maps) = small {
            let departing = |end: &'a mut Endpoint| Departing {
                half: end.half.known_mut::<N>(),
                velocity: end.work.known_mut::<N>(),
                ahead: end.next.position.known_mut::<N>(),
            };
            DepartSmall {
                dim: momentum.len(),
                step_size,
                maps,
                position,
                gradient,
                momentum: momentum.known::<N>(),
                ends: [departing(backward), departing(forward)],
            }
            .run(s);
        } else {
            metric.pull(&state.gradient, &mut forward.work);
            backward.work.copy_from_slice(&forward.work);
            for end in [backward, forward] {
                end.next.position.copy_from_slice(&state.position);
                end.half.copy_from_slice(momentum);
                let (x, y) = (end.work.rows(), end.half.rows_mut());
                AddScaled { c: 0.5 * end.step_size, x, y }.run(s);
                if end.runs_ahead {
                    metric.push(&end.half, &mut end.work);
                    let (x, y) = (end.work.rows(), end.next.position.rows_mut());
                    AddScaled { c: end.step_size, x, y }.run(s);
                }
            }
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
            half: AlignedVec::zeros(dim),
            work: AlignedVec::zeros(dim),
        }
    }

    /// The point that the last step reached.
    pub fn leaf(&self) -> &Point {
        if self.runs_ahead { &self.leaf } else { &self.next }
    }

    /// Moves the point that the last step reached to `to`; [`leaf`](Self::leaf) is meaningless
    /// until the next step.
    #[inline(always)]
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
    pub fn step(
        &mut self,
        density: &mut dyn LogDensity,
        metric: &Metric,
        momentum: &mut AlignedVec,
    ) -> Result<Step, SampleError> {
        metric.level().run(OneStep { end: self, density, metric, momentum })
    }

    /// Where the next step needs the gradient, and where that goes.
    #[inline(always)]
    pub(crate) fn open<S: Simd>(&mut self, s: S, metric: &Metric) -> &mut Point {
        if !self.runs_ahead {
            let Self { step_size, next, half, work, .. } = self;
            metric.push(half, work);
            let (x, y) = (work.rows(), next.position.rows_mut());
            AddScaled { c: *step_size, x, y }.run(s);
        }
        &mut self.next
    }

    /// Of an end that runs ahead and has just departed, where it needs the gradient, the whitened
    /// momentum half a step from the start, and in few dimensions, unless the metric is diagonal,
    /// the velocity that belongs to that.
    pub(crate) fn departed(&self) -> [&AlignedVec; 3] {
        [&self.next.position, &self.half, &self.work]
    }

    /// Ends the step that was opened, once the gradient is there and the log density is known;
    /// `momentum` becomes that at the new leaf. N is the number of rows of all vectors, or 0 for
    /// any number.
    #[inline(always)]
    pub(crate) fn close<S: Simd, const N: usize>(
        &mut self,
        s: S,
        logp: f64,
        metric: &Metric,
        momentum: &mut AlignedVec,
    ) -> Step {
        let Self { step_size, leaf, next, half, work, .. } = self;
        let opening = 0.5 * *step_size;
        let closing = if planted(Fault::HalfStepOmitted) { 0.0 } else { opening };
        let norm2 = if let Some(sigma) = metric.diagonal_sigma() {
            let norm2 = Advance {
                step_size: *step_size,
                closing,
                sigma: sigma.known::<N>(),
                position: next.position.known::<N>(),
                gradient: next.gradient.known::<N>(),
                half: half.known_mut::<N>(),
                ahead: leaf.position.known_mut::<N>(),
                momentum: momentum.known_mut::<N>(),
            }
            .run(s);
            std::mem::swap(leaf, next);
            norm2
        } else if let Some(maps) = metric.small_maps() {
            let norm2 = AdvanceSmall {
                dim: momentum.len(),
                step_size: *step_size,
                closing,
                maps,
                position: next.position.known::<N>(),
                gradient: next.gradient.known::<N>(),
                half: half.known_mut::<N>(),
                velocity: work.known_mut::<N>(),
                ahead: leaf.position.known_mut::<N>(),
                momentum: momentum.known_mut::<N>(),
            }
            .run(s);
            std::mem::swap(leaf, next);
            norm2
        } else if let Some((scale, vectors, shift)) = metric.low_rank_parts() {
            let norm2 = AdvanceLowRank {
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
            }
            .run(s);
            std::mem::swap(leaf, next);
            norm2
        } else {
            metric.pull(&next.gradient, work);
            let (force, half) = (work.rows(), half.rows_mut());
            let momentum = momentum.rows_mut();
            Kick { opening, closing, force, half, momentum }.run(s)
        };
        Step { logp, kinetic: kinetic_energy(metric, momentum, norm2, work), norm2 }
    }
}

/// [`Endpoint::step`] alone.
struct OneStep<'a> {
    end: &'a mut Endpoint,
    density: &'a mut dyn LogDensity,
    metric: &'a Metric,
    momentum: &'a mut AlignedVec,
}

impl Kernel for OneStep<'_> {
    type Output = Result<Step, SampleError>;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let Self { end, density, metric, momentum } = self;
        let Point { position, gradient } = end.open(s, metric);
        let logp = evaluate_into(density, position, gradient)?;
        Ok(end.close::<S, 0>(s, logp, metric, momentum))
    }
}

/// Kinetic energy of a whitened momentum whose squared length is `norm2`.
#[inline(always)]
pub(crate) fn kinetic_energy(
    metric: &Metric,
    momentum: &AlignedVec,
    norm2: f64,
    work: &mut AlignedVec,
) -> f64 {
    if planted(Fault::KineticEnergyWrongMetric) {
        metric.unwhiten(momentum, work);
        return 0.5 * dot(work, work);
    }
    0.5 * norm2
}
