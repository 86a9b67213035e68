//! One transition of multinomial NUTS: a state -> the next state, leaving the target invariant.
//!
//! The trajectory doubles in random directions until it turns back on itself (Betancourt 2017,
//! appendix A.4). A doubling adds a *subtree* of $2^j$ leaves, built leaf by leaf; neighbouring
//! pieces merge as a binary counter would carry, and each merge checks the generalised U-turn
//! criterion over the whole piece and across its seam. Within a subtree one leaf is drawn with
//! probability proportional to its weight $e^{H_0-H}$, as a running choice; the whole subtree then
//! replaces the proposal with probability $\min(1, w_\text{new}/w_\text{old})$.
//!
//! **An invalid subtree is discarded before anything is taken from it.** A subtree that turns inside
//! or diverges could not have been built from its own leaves' point of view, so taking a proposal
//! from it breaks detailed balance: on a standard normal it inflates the variance to about 1.38.
//! Its leaves still count in `n_steps` and in the accept statistic.
//!
//! The criterion is symmetric under reversal of time, so pieces are kept in the order in which they
//! were built and one rule serves both directions; the trajectory so far is the piece that the last leaf
//! of a subtree is joined to. Nothing here allocates: [`Scratch`] holds every vector.

use exmc_density::LogDensity;
use exmc_fault::{Fault, planted};
use exmc_math::random::ChainRng;
use exmc_math::simd::{Kernel, Simd};

use crate::error::SampleError;
use crate::leapfrog::{Departure, Endpoint, Point, kinetic_energy};
use crate::metric::Metric;
use crate::padded::Padded;
use crate::state::{Info, State};
use crate::turning::{JoinSums, Piece};
use crate::vector::{Exponential, SumOfSquares};

/// Limits of a trajectory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeLimits {
    /// Largest number of doublings, 1 to 30.
    pub max_depth: u32,
    /// A leaf whose energy exceeds the start's by more than this (nats) is a divergence.
    pub max_energy_error: f64,
}

/// Every vector that a transition needs, allocated once.
#[derive(Clone, Debug)]
pub struct Scratch {
    /// Whitened momentum at the start of the trajectory.
    momentum: Padded,
    momentum_drawn: bool,
    left: Endpoint,
    right: Endpoint,
    current: Piece,
    /// Completed pieces that wait for their neighbour: the k-th has $2^{k+1}$ leaves.
    pending: Vec<Piece>,
    joined: Vec<JoinSums>,
    proposal: Proposal,
    diverged: Point,
    work: Padded,
}

#[derive(Clone, Debug)]
struct Proposal {
    point: Point,
    logp: f64,
    energy: f64,
}

/// Running totals of one trajectory.
struct Totals {
    start_energy: f64,
    n_steps: u32,
    accept_sum: f64,
    max_energy_error: f64,
    divergent: bool,
    /// Weights are $e^{H_0-H-\text{reference}}$, so that no energy can overflow them.
    reference: f64,
    trajectory_weight: f64,
    subtree_weight: f64,
}

/// What became of a subtree.
#[derive(Clone, Copy, PartialEq)]
enum Grown {
    /// It turns inside or diverges.
    Invalid,
    /// It is fine by itself, but the trajectory with it turns.
    Turning,
    /// The trajectory may go on.
    Fine,
}

impl Scratch {
    /// Room for trajectories of at most `max_depth` doublings in `dim` dimensions.
    pub fn new(dim: usize, max_depth: u32) -> Self {
        Self {
            momentum: Padded::zeros(dim),
            momentum_drawn: false,
            left: Endpoint::new(dim),
            right: Endpoint::new(dim),
            current: Piece::new(dim),
            pending: (0..max_depth).map(|_| Piece::new(dim)).collect(),
            joined: vec![JoinSums::NONE; max_depth as usize],
            proposal: Proposal { point: Point::new(dim), logp: f64::NAN, energy: f64::NAN },
            diverged: Point::new(dim),
            work: Padded::zeros(dim),
        }
    }

    /// Draws a whitened momentum, a standard normal vector.
    pub fn draw_momentum(&mut self, metric: &Metric, rng: &mut ChainRng) {
        if planted(Fault::StaleMomentum) && self.momentum_drawn {
            return;
        }
        self.momentum_drawn = true;
        self.momentum.fill_with(|| rng.standard_normal());
        if planted(Fault::MomentumVariance) {
            metric.push(&self.momentum, &mut self.work);
            metric.pull(&self.work, &mut self.momentum);
        }
    }

    /// Sets the whitened momentum that the next [`trajectory`] starts with.
    pub fn set_momentum(&mut self, momentum: &[f64]) {
        self.momentum.copy_from_slice(momentum);
    }

    /// The whitened momentum that the next trajectory starts with.
    pub fn momentum(&self) -> &[f64] {
        &self.momentum
    }

    /// Where the last divergence happened: position and gradient (which may not be finite).
    pub fn divergence(&self) -> (&[f64], &[f64]) {
        (&self.diverged.position, &self.diverged.gradient)
    }
}

/// Moves `state` by one NUTS transition and says what happened.
///
/// **Invariant**: leaves $e^{\text{logp}}$ invariant for any metric and step size that do not depend
/// on the chain. **Shapes**: `state`, `metric` and `scratch` have the density's dimension.
/// **Edges**: dimension 0 returns at once. Non-finite values are divergences.
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

/// [`trajectory`] as one kernel: everything between two gradients is compiled for the level's instructions, without
/// calls but that of the density. N is the number of rows of all vectors, so that short ones have no loops; 0 for any
/// number.
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
        let norm2 = SumOfSquares(scratch.momentum.known::<N>()).run(s);
        let kinetic = kinetic_energy(metric, &scratch.momentum, norm2, &mut scratch.work);
        let start_energy = kinetic - state.logp;
        let mut energy = start_energy;
        let mut totals = Totals {
            start_energy,
            n_steps: 0,
            accept_sum: 0.0,
            max_energy_error: 0.0,
            divergent: false,
            reference: 0.0,
            trajectory_weight: 1.0,
            subtree_weight: 0.0,
        };
        let (backward, forward) = (&mut scratch.left, &mut scratch.right);
        let momentum = &scratch.momentum;
        Departure::<N> { backward, forward, state, momentum, metric, step_size }.run(s);
        // The first subtree is one leaf, which makes a pair with the start.
        scratch.current.first.known_mut::<N>().copy_from_slice(scratch.momentum.known::<N>());

        let mut depth = 0;
        let (mut grown, mut moved) = (Grown::Fine, false);
        let mut last_leaf_is_right = true;
        while depth < limits.max_depth && grown == Grown::Fine {
            let forward = (directions >> depth) & 1 == 1;
            if depth > 0 && forward != last_leaf_is_right {
                scratch.pending[depth as usize - 1].reverse();
            }
            last_leaf_is_right = forward;
            let subtree = Subtree { forward, depth, start_norm2: norm2, limits };
            grown = subtree.grow::<S, N>(s, density, metric, rng, scratch, &mut totals)?;
            depth += 1;
            if grown == Grown::Invalid && !planted(Fault::AcceptInvalidSubtree) {
                break;
            }
            let odds = if planted(Fault::UniformMergeWeight) {
                0.5
            } else {
                totals.subtree_weight / totals.trajectory_weight
            };
            if odds >= 1.0 || rng.uniform() < odds {
                let Proposal { point, logp, energy: new } = &mut scratch.proposal;
                std::mem::swap(&mut state.position, &mut point.position);
                std::mem::swap(&mut state.gradient, &mut point.gradient);
                state.logp = *logp;
                energy = *new;
                moved = true;
            }
            totals.trajectory_weight += totals.subtree_weight;
        }
        Ok(Info {
            logp: state.logp,
            tree_depth: depth,
            n_steps: totals.n_steps,
            moved,
            last_discarded: grown == Grown::Invalid,
            divergent: totals.divergent,
            reached_max_depth: depth == limits.max_depth && grown == Grown::Fine,
            accept_stat: totals.accept_sum / f64::from(totals.n_steps),
            energy,
            energy_error: energy - start_energy,
            max_energy_error: totals.max_energy_error,
            step_size,
        })
    }
}

/// A subtree of `2^depth` leaves.
struct Subtree {
    forward: bool,
    depth: u32,
    /// Squared length of the momentum that the trajectory started with.
    start_norm2: f64,
    limits: TreeLimits,
}

impl Subtree {
    /// Adds the subtree to the trajectory, whose last leaf is where it grows; an invalid subtree stops at the leaf
    /// that shows it.
    #[inline(always)]
    fn grow<S: Simd, const N: usize>(
        self,
        s: S,
        density: &mut dyn LogDensity,
        metric: &Metric,
        rng: &mut ChainRng,
        scratch: &mut Scratch,
        totals: &mut Totals,
    ) -> Result<Grown, SampleError> {
        let Self { forward, depth, start_norm2, limits } = self;
        let Scratch { left, right, current, pending, joined, proposal, diverged, .. } = scratch;
        let end = if forward { right } else { left };
        totals.subtree_weight = 0.0;
        let n_leaves = 1_u64 << depth;
        let mut first_norm2 = start_norm2;
        for leaf in 0..n_leaves {
            let opens_pair = leaf & 1 == 0 && depth > 0;
            let momentum = if opens_pair { &mut current.first } else { &mut current.last };
            let at = end.step_with::<S, N>(s, density, metric, momentum)?;
            let energy = at.kinetic - at.logp;
            if !totals.count_leaf(energy, limits.max_energy_error) {
                end.take_leaf(diverged);
                return Ok(Grown::Invalid);
            }
            if totals.choose_leaf(s, energy, rng) {
                end.take_leaf(&mut proposal.point);
                proposal.logp = at.logp;
                proposal.energy = energy;
            }
            if opens_pair {
                first_norm2 = at.norm2;
                continue;
            }
            // Pieces complete as a binary counter carries; the last leaf joins the trajectory so far as well.
            let is_last = leaf + 1 == n_leaves;
            let size = if is_last { depth } else { leaf.trailing_ones() - 1 } as usize;
            let earlier = &mut pending[..size];
            let joins = current.join::<S, N>(s, [first_norm2, at.norm2], earlier, joined);
            if joins <= size {
                let only_outside = is_last && joins == size;
                return Ok(if only_outside { Grown::Turning } else { Grown::Invalid });
            }
            std::mem::swap(current, &mut pending[size]);
        }
        Ok(Grown::Fine)
    }
}

impl Totals {
    /// Counts a leaf of the given energy; `false` when it is a divergence.
    #[inline(always)]
    fn count_leaf(&mut self, energy: f64, max_energy_error: f64) -> bool {
        let error = energy - self.start_energy;
        self.n_steps += 1;
        if !error.is_finite() || error > max_energy_error {
            self.divergent = true;
            self.max_energy_error = if error.is_finite() { error } else { f64::INFINITY };
            if error.is_finite() {
                self.accept_sum += libm::exp(-error);
            }
            return false;
        }
        if error.abs() > self.max_energy_error.abs() {
            self.max_energy_error = error;
        }
        true
    }

    /// Adds the weight of a leaf to the subtree and says whether it becomes the subtree's proposal,
    /// which it does with probability (its weight) / (weight of the leaves so far).
    #[inline(always)]
    fn choose_leaf<S: Simd>(&mut self, s: S, energy: f64, rng: &mut ChainRng) -> bool {
        /// A weight of $e^{500}$ leaves room for $2^{30}$ leaves below the largest double.
        const LARGEST_LOG_WEIGHT: f64 = 500.0;
        let log_weight = self.start_energy - energy;
        let mut weight = Exponential(log_weight - self.reference).run(s);
        // $e^{\min(0, x)}$, without a branch on x.
        self.accept_sum +=
            if self.reference == 0.0 { weight.min(1.0) } else { libm::exp(log_weight.min(0.0)) };
        if log_weight - self.reference > LARGEST_LOG_WEIGHT {
            let shrink = libm::exp(self.reference - log_weight);
            self.trajectory_weight *= shrink;
            self.subtree_weight *= shrink;
            self.reference = log_weight;
            weight = 1.0;
        }
        if planted(Fault::CappedLeafWeight) {
            weight = weight.min(1.0);
        }
        let before = self.subtree_weight;
        self.subtree_weight = before + weight;
        let total = if planted(Fault::BiasedInnerMerge) { before } else { self.subtree_weight };
        before == 0.0 || rng.uniform() * total < weight
    }
}
