//! One transition of multinomial NUTS: a state -> the next state, leaving the target invariant.
//!
//! The trajectory doubles in random directions until it turns back on itself (Betancourt 2017,
//! appendix A.4). A doubling adds a *subtree* of $2^j$ leaves, built leaf by leaf; neighbouring
//! pieces merge as a binary counter would carry, and each merge checks the generalised U-turn
//! criterion over the whole piece and across its seam. Within a subtree one leaf is drawn with
//! probability proportional to its weight $e^{H_0-H}$, as a running choice; the whole subtree then
//! replaces the proposal with probability $\min(1, w_\text{new}/w_\text{old})$.
//!
//! **An invalid subtree is discarded before anything is taken from it.** A subtree that turns
//! inside or diverges could not have been built from its own leaves' point of view, so taking a
//! proposal from it breaks detailed balance: on a standard normal it inflates the variance to about
//! 1.38. Its leaves still count in `n_steps` and in the accept statistic.
//!
//! The criterion is symmetric under reversal of time, so pieces are kept in the order in which they
//! were built and one rule serves both directions; the trajectory so far is the piece that the last
//! leaf of a subtree is joined to. Nothing here allocates: [`Scratch`] holds every vector.
//!
//! A `TreeBuilder` is a trajectory between two gradients without its vectors:
//! [`trajectory`](fn@trajectory) walks to the end with one density, `lanes` has four of them whose
//! vectors lie side by side.

pub(crate) mod batched;
mod trajectory;
pub(super) mod u_turn;

use exmc_density::LogDensity;
use exmc_fault::{Fault, planted};
use exmc_math::random::ChainRng;
use exmc_math::simd::{Kernel, Simd};
use trajectory::TreeBuilder;

use crate::error::SampleError;
use crate::integrator::leapfrog::{Endpoint, Point};
use crate::linalg::aligned_vector::AlignedVec;
use crate::metric::Metric;
use crate::nuts::u_turn::{MergeProducts, Subtree};
use crate::state::{Info, State};

/// Limits of a trajectory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeLimits {
    /// Largest number of doublings, 1 to 30.
    pub max_depth: u32,
    /// A leaf whose energy exceeds the start's by more than this (nats) is a divergence.
    pub max_energy_error: f64,
}

/// In more dimensions room for deep trajectories is made when the first one comes: three vectors a
/// doubling, which most runs never need.
const LARGE: usize = 4096;

/// Every vector that a transition needs, allocated once, but for those of trajectories that are
/// deeper than any before in many dimensions.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// Whitened momentum at the start of the trajectory.
    momentum: AlignedVec,
    momentum_drawn: bool,
    left: Endpoint,
    right: Endpoint,
    current: Subtree,
    /// Completed pieces that wait for their neighbour: the k-th has $2^{k+1}$ leaves. In many
    /// dimensions there are as many as the deepest trajectory so far has needed.
    pending: Vec<Subtree>,
    joined: Vec<MergeProducts>,
    proposal: Proposal,
    diverged: Point,
    work: AlignedVec,
}

#[derive(Clone, Debug)]
struct Proposal {
    point: Point,
    logp: f64,
    energy: f64,
}

impl Scratch {
    /// Room for trajectories of at most `max_depth` doublings in `dim` dimensions.
    pub fn new(dim: usize, max_depth: u32) -> Self {
        Self {
            momentum: AlignedVec::zeros(dim),
            momentum_drawn: false,
            left: Endpoint::new(dim),
            right: Endpoint::new(dim),
            current: Subtree::new(dim),
            pending: (0..if dim > LARGE { 1 } else { max_depth })
                .map(|_| Subtree::new(dim))
                .collect(),
            joined: vec![MergeProducts::NONE; max_depth as usize],
            proposal: Proposal { point: Point::new(dim), logp: f64::NAN, energy: f64::NAN },
            diverged: Point::new(dim),
            work: AlignedVec::zeros(dim),
        }
    }

    /// Draws a whitened momentum, a standard normal vector.
    pub fn draw_momentum(&mut self, metric: &Metric, rng: &mut ChainRng) {
        if planted(Fault::StaleMomentum) && self.momentum_drawn {
            return;
        }
        self.momentum_drawn = true;
        rng.fill_standard_normal(&mut self.momentum);
        if planted(Fault::MomentumVariance) {
            metric.push(&self.momentum, &mut self.work);
            metric.pull(&self.work, &mut self.momentum);
        }
    }

    /// Sets the whitened momentum that the next [`trajectory`](fn@trajectory) starts with.
    pub fn set_momentum(&mut self, momentum: &[f64]) {
        self.momentum.copy_from_slice(momentum);
    }

    /// The whitened momentum that the next trajectory starts with.
    pub fn momentum(&self) -> &[f64] {
        &self.momentum
    }

    /// Begins a transition up to its first gradient, with the random numbers that [`transition`]
    /// would take.
    fn begin(
        &mut self,
        state: &State,
        metric: &Metric,
        step_size: f64,
        rng: &mut ChainRng,
    ) -> TreeBuilder {
        self.draw_momentum(metric, rng);
        let start = (state, metric, step_size, rng.next_u64());
        let level = metric.level();
        match self.momentum.rows().len() {
            1 => level.run(Begin::<1> { start, scratch: self }),
            2 => level.run(Begin::<2> { start, scratch: self }),
            _ => level.run(Begin::<0> { start, scratch: self }),
        }
    }

    /// Where the last divergence happened: position and gradient (which may not be finite).
    pub fn divergence(&self) -> (&[f64], &[f64]) {
        (&self.diverged.position, &self.diverged.gradient)
    }
}

/// Moves `state` by one NUTS transition and says what happened.
///
/// **Invariant**: leaves $e^{\text{logp}}$ invariant for any metric and step size that do not
/// depend on the chain. **Shapes**: `state`, `metric` and `scratch` have the density's dimension.
/// **Edges**: dimension 0 returns at once. Non-finite values are divergences; a recoverable failure
/// of the density ends the trajectory like one, but is counted apart ([`Info::recovered`]).
///
/// # Errors
/// Only when the density fails fatally.
pub fn transition(
    state: &mut State,
    density: &mut dyn LogDensity,
    metric: &Metric,
    step_size: f64,
    limits: TreeLimits,
    rng: &mut ChainRng,
    scratch: &mut Scratch,
) -> Result<Info, SampleError> {
    if state.position.is_empty() {
        return Ok(Info::still(state.logp, step_size));
    }
    scratch.draw_momentum(metric, rng);
    let directions = rng.next_u64();
    trajectory(state, density, metric, step_size, limits, directions, rng, scratch)
}

/// [`transition`] from the momentum already in `scratch`, doubling forward where the bits of
/// `directions` (lowest first) are one.
///
/// # Errors
/// Only when the density fails fatally.
#[expect(clippy::too_many_arguments, reason = "the arguments of `transition` and the directions")]
pub fn trajectory(
    state: &mut State,
    density: &mut dyn LogDensity,
    metric: &Metric,
    step_size: f64,
    limits: TreeLimits,
    directions: u64,
    rng: &mut ChainRng,
    scratch: &mut Scratch,
) -> Result<Info, SampleError> {
    let level = metric.level();
    let start = (state, metric, step_size, directions);
    match scratch.momentum.rows().len() {
        1 => level.run(Trajectory::<1> { start, density, limits, rng, scratch }),
        2 => level.run(Trajectory::<2> { start, density, limits, rng, scratch }),
        _ => level.run(Trajectory::<0> { start, density, limits, rng, scratch }),
    }
}

/// [`trajectory`](fn@trajectory) as one kernel: everything between two gradients is compiled for
/// the level's instructions, without calls but that of the density. N is the number of rows of all
/// vectors, so that short ones have no loops; 0 for any number.
struct Trajectory<'a, const N: usize> {
    /// State, metric, step size and directions.
    start: (&'a mut State, &'a Metric, f64, u64),
    density: &'a mut dyn LogDensity,
    limits: TreeLimits,
    rng: &'a mut ChainRng,
    scratch: &'a mut Scratch,
}

impl<const N: usize> Kernel for Trajectory<'_, N> {
    type Output = Result<Info, SampleError>;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Self::Output {
        let Self { start: (state, metric, step_size, directions), density, limits, rng, scratch } =
            self;
        let mut walk = TreeBuilder::begin::<S, N>(s, state, metric, step_size, directions, scratch);
        loop {
            let Point { position, gradient } = walk.end(scratch).open(s, metric);
            let logp = match density.logp_grad(position, gradient) {
                Ok(logp) => logp,
                Err(error) => walk.fail(error)?,
            };
            if walk.advance::<S, N>(s, logp, state, metric, limits, rng, scratch) {
                return Ok(walk.info(state, limits));
            }
        }
    }
}

/// [`TreeBuilder::begin`] as a kernel of its own.
struct Begin<'a, const N: usize> {
    /// State, metric, step size and directions.
    start: (&'a State, &'a Metric, f64, u64),
    scratch: &'a mut Scratch,
}

impl<const N: usize> Kernel for Begin<'_, N> {
    type Output = TreeBuilder;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> TreeBuilder {
        let Self { start: (state, metric, step_size, directions), scratch } = self;
        TreeBuilder::begin::<S, N>(s, state, metric, step_size, directions, scratch)
    }
}
