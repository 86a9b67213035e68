//! A trajectory between two gradients: a leaf and its log density -> where the next gradient is
//! needed, or the end.

use exmc_density::EvaluationError;
use exmc_fault::{Fault, planted};
use exmc_math::random::ChainRng;
use exmc_math::simd::{Kernel, Simd};

use super::u_turn::Subtree;
use super::{Proposal, Scratch, TreeLimits};
use crate::error::SampleError;
use crate::integrator::leapfrog::{Departure, Endpoint, kinetic_energy};
use crate::linalg::kernels::{Exponential, SumOfSquares};
use crate::metric::Metric;
use crate::state::{Info, State};

/// A weight of $e^{500}$ leaves room for $2^{30}$ leaves below the largest double.
pub(super) const MAX_LOG_WEIGHT: f64 = 500.0;

/// The tree of doublings between two gradients; its vectors are in [`Scratch`].
#[derive(Clone, Debug)]
pub(super) struct TreeBuilder {
    pub(super) step_size: f64,
    /// Doublings go forward where the bits are one, the lowest first.
    directions: u64,
    /// Energy of the proposal that the trajectory has made so far.
    pub(super) energy: f64,
    pub(super) moved: bool,
    /// Doublings so far.
    pub(super) depth: u32,
    /// Of the subtree that grows: whether it goes forward, and the leaf that comes next.
    pub(super) forward: bool,
    pub(super) leaf: u64,
    /// What became of the subtree before.
    grown: SubtreeOutcome,
    /// Squared length of the momentum at the first leaf of a pair.
    pub(super) first_norm2: f64,
    pub(super) totals: Totals,
}

/// Running totals of one trajectory.
#[derive(Clone, Debug)]
pub(super) struct Totals {
    pub(super) start_energy: f64,
    pub(super) n_steps: u32,
    pub(super) accept_sum: f64,
    pub(super) max_energy_error: f64,
    pub(super) divergent: bool,
    /// Whether the density could not be evaluated at the leaf that ended the trajectory.
    pub(super) recovered: bool,
    /// Weights are $e^{H_0-H-\text{reference}}$, so that no energy can overflow them.
    pub(super) reference: f64,
    trajectory_weight: f64,
    pub(super) subtree_weight: f64,
}

/// How a complete subtree ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum SubtreeOutcome {
    /// It turns back on itself inside, or diverges: it is discarded and the trajectory ends.
    Discarded,
    /// It is valid, but the trajectory that includes it turns: its proposal counts, and the
    /// trajectory ends.
    TrajectoryTurns,
    /// It is valid, and the trajectory may double again.
    Valid,
}

impl TreeBuilder {
    /// No trajectory.
    pub(super) const NONE: Self = Self {
        step_size: f64::NAN,
        directions: 0,
        energy: f64::NAN,
        moved: false,
        depth: 0,
        forward: false,
        leaf: 0,
        grown: SubtreeOutcome::Discarded,
        first_norm2: f64::NAN,
        totals: Totals {
            start_energy: f64::NAN,
            n_steps: 0,
            accept_sum: 0.0,
            max_energy_error: 0.0,
            divergent: false,
            recovered: false,
            reference: 0.0,
            trajectory_weight: 1.0,
            subtree_weight: 0.0,
        },
    };

    /// Departs in both directions with the momentum in `scratch`.
    #[inline(always)]
    pub(super) fn begin<S: Simd, const N: usize>(
        s: S,
        state: &State,
        metric: &Metric,
        step_size: f64,
        directions: u64,
        scratch: &mut Scratch,
    ) -> Self {
        let Scratch { momentum, left, right, current, work, .. } = scratch;
        let norm2 = SumOfSquares(momentum.known::<N>()).run(s);
        let start_energy = kinetic_energy(metric, momentum, norm2, work) - state.logp;
        let (backward, forward) = (left, right);
        // The first subtree is one leaf, which makes a pair with the start.
        current.first.known_mut::<N>().copy_from_slice(momentum.known::<N>());
        Departure::<N> { backward, forward, state, momentum, metric, step_size }.run(s);
        Self {
            step_size,
            directions,
            energy: start_energy,
            forward: directions & 1 == 1,
            grown: SubtreeOutcome::Valid,
            first_norm2: norm2,
            totals: Totals { start_energy, ..Self::NONE.totals },
            ..Self::NONE
        }
    }

    /// The end that grows.
    #[inline(always)]
    pub(super) fn end<'a>(&self, scratch: &'a mut Scratch) -> &'a mut Endpoint {
        if self.forward { &mut scratch.right } else { &mut scratch.left }
    }

    /// Takes in that the density failed at the leaf: its log density if the trajectory merely ends
    /// there.
    #[cold]
    pub(super) fn fail(&mut self, error: EvaluationError) -> Result<f64, SampleError> {
        match SampleError::from_evaluation(error) {
            Some(error) => Err(error),
            None => {
                // Planted: as if it were a divergence.
                self.totals.recovered = !planted(Fault::RecoveredDiverges);
                Ok(f64::NAN)
            }
        }
    }

    /// Goes on from the gradient at the point where the end that grows had its [`Endpoint::open`],
    /// and the log density there. Returns whether the trajectory has ended.
    #[expect(clippy::too_many_arguments, reason = "what a chain consists of")]
    #[inline(always)]
    pub(super) fn advance<S: Simd, const N: usize>(
        &mut self,
        s: S,
        logp: f64,
        state: &mut State,
        metric: &Metric,
        limits: TreeLimits,
        rng: &mut ChainRng,
        scratch: &mut Scratch,
    ) -> bool {
        let Some(grown) = self.take_leaf::<S, N>(s, logp, metric, limits, rng, scratch) else {
            self.leaf += 1;
            return false;
        };
        let Some(taken) = self.merge(grown, rng) else { return true };
        if taken {
            let Proposal { point, logp, energy } = &mut scratch.proposal;
            std::mem::swap(&mut state.position, &mut point.position);
            std::mem::swap(&mut state.gradient, &mut point.gradient);
            state.logp = *logp;
            self.energy = *energy;
        }
        let Some(turns_round) = self.next_subtree(limits) else { return true };
        if turns_round {
            scratch.pending[self.depth as usize - 1].reverse();
        }
        false
    }

    /// MergeKernel a subtree that has grown with the trajectory: whether the proposal of the
    /// subtree is taken, or nothing if the subtree is discarded, which ends the trajectory.
    #[inline(always)]
    pub(super) fn merge(&mut self, grown: SubtreeOutcome, rng: &mut ChainRng) -> Option<bool> {
        self.grown = grown;
        self.depth += 1;
        if grown == SubtreeOutcome::Discarded && !planted(Fault::AcceptInvalidSubtree) {
            return None;
        }
        let Totals { subtree_weight, trajectory_weight, .. } = self.totals;
        let odds = if planted(Fault::UniformMergeWeight) {
            0.5
        } else {
            subtree_weight / trajectory_weight
        };
        let taken = odds >= 1.0 || rng.uniform() < odds;
        self.moved |= taken;
        self.totals.trajectory_weight += subtree_weight;
        Some(taken)
    }

    /// Begins the next subtree: whether it grows at the other end, or nothing if the trajectory has
    /// ended.
    #[inline(always)]
    pub(super) fn next_subtree(&mut self, limits: TreeLimits) -> Option<bool> {
        if self.depth == limits.max_depth || self.grown != SubtreeOutcome::Valid {
            return None;
        }
        let before = self.forward;
        self.forward = (self.directions >> self.depth) & 1 == 1;
        self.leaf = 0;
        self.totals.subtree_weight = 0.0;
        Some(self.forward != before)
    }

    /// Whether the leaf that comes next is the first one of a pair.
    #[inline(always)]
    pub(super) fn opens_pair(&self) -> bool {
        self.leaf & 1 == 0 && self.depth > 0
    }

    /// Whether the leaf that comes next, the last one of a pair, is the subtree's last one, and how
    /// many earlier pieces it completes another piece with.
    #[inline(always)]
    pub(super) fn merges(&self) -> (bool, usize) {
        // BatchedSubtree complete as a binary counter carries; the last leaf joins the trajectory
        // so far as well.
        let is_last = self.leaf + 1 == 1 << self.depth;
        (is_last, if is_last { self.depth } else { self.leaf.trailing_ones() - 1 } as usize)
    }

    /// Outcome of the subtree after its newest pair of leaves merged with `merges_passed` earlier
    /// subtrees; `None` while it is still growing.
    #[inline(always)]
    pub(super) fn outcome(
        is_last: bool,
        size: usize,
        merges_passed: usize,
    ) -> Option<SubtreeOutcome> {
        if merges_passed > size {
            return is_last.then_some(SubtreeOutcome::Valid);
        }
        let only_outside = is_last && merges_passed == size;
        Some(if only_outside { SubtreeOutcome::TrajectoryTurns } else { SubtreeOutcome::Discarded })
    }

    /// Adds one leaf to the subtree of `2^depth` leaves that grows; what became of the subtree,
    /// once that is known.
    #[inline(always)]
    fn take_leaf<S: Simd, const N: usize>(
        &mut self,
        s: S,
        logp: f64,
        metric: &Metric,
        limits: TreeLimits,
        rng: &mut ChainRng,
        scratch: &mut Scratch,
    ) -> Option<SubtreeOutcome> {
        let Scratch { left, right, current, pending, joined, proposal, diverged, .. } = scratch;
        let end = if self.forward { right } else { left };
        let opens_pair = self.opens_pair();
        let momentum = if opens_pair { &mut current.first } else { &mut current.last };
        let leaf = end.close::<S, N>(s, logp, metric, momentum);
        let energy = leaf.kinetic - leaf.logp;
        if !self.totals.count_leaf(energy, limits.max_energy_error) {
            end.take_leaf(diverged);
            return Some(SubtreeOutcome::Discarded);
        }
        if self.totals.choose_leaf(s, energy, rng) {
            end.take_leaf(&mut proposal.point);
            proposal.logp = leaf.logp;
            proposal.energy = energy;
        }
        if opens_pair {
            self.first_norm2 = leaf.norm2;
            return None;
        }
        let (is_last, size) = self.merges();
        if pending.len() <= size {
            deepen(pending, current);
        }
        let earlier = &mut pending[..size];
        let merges_passed =
            current.merge::<S, N>(s, [self.first_norm2, leaf.norm2], earlier, joined);
        if merges_passed > size {
            std::mem::swap(current, &mut pending[size]);
        }
        Self::outcome(is_last, size, merges_passed)
    }

    /// What the transition did, once the trajectory has ended; `state` is where it led.
    #[inline(always)]
    pub(super) fn info(&self, state: &State, limits: TreeLimits) -> Info {
        let Self { step_size, energy, moved, depth, grown, totals, .. } = self;
        // A leaf without a density says nothing about the step size, unless there is no other.
        let evaluated = totals.n_steps - u32::from(totals.recovered && totals.n_steps > 1);
        Info {
            logp: state.logp,
            tree_depth: *depth,
            n_steps: totals.n_steps,
            moved: *moved,
            last_discarded: *grown == SubtreeOutcome::Discarded,
            divergent: totals.divergent,
            recovered: totals.recovered,
            reached_max_depth: *depth == limits.max_depth && *grown == SubtreeOutcome::Valid,
            accept_stat: totals.accept_sum / f64::from(evaluated),
            energy: *energy,
            energy_error: energy - totals.start_energy,
            max_energy_error: totals.max_energy_error,
            step_size: *step_size,
        }
    }
}

/// Makes room for one more piece, as long as another.
#[cold]
#[inline(never)]
fn deepen(pending: &mut Vec<Subtree>, like: &Subtree) {
    pending.push(Subtree::new(like.first.len()));
}

impl Totals {
    /// Counts a leaf of the given energy; `false` when it is a divergence, or one where the density
    /// could not be evaluated.
    #[inline(always)]
    pub(super) fn count_leaf(&mut self, energy: f64, max_energy_error: f64) -> bool {
        let error = energy - self.start_energy;
        self.n_steps += 1;
        if !error.is_finite() || error > max_energy_error {
            self.divergent = !self.recovered;
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
        let log_weight = self.start_energy - energy;
        let weight = Exponential(log_weight - self.reference).run(s);
        self.choose(log_weight, weight, rng)
    }

    /// The same of a leaf whose weight is known.
    #[inline(always)]
    pub(super) fn choose(&mut self, log_weight: f64, mut weight: f64, rng: &mut ChainRng) -> bool {
        // $e^{\min(0, x)}$, without a branch on x.
        self.accept_sum +=
            if self.reference == 0.0 { weight.min(1.0) } else { libm::exp(log_weight.min(0.0)) };
        if log_weight - self.reference > MAX_LOG_WEIGHT {
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
