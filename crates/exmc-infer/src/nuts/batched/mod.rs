//! Transitions side by side: four chains in few dimensions, one in each lane -> one leapfrog step
//! of all.
//!
//! Where a gradient costs less than what lies between two of them, a chain alone waits for its own
//! results most of the time. Here every vector has the elements of four chains side by side, so
//! that one instruction does for four chains what [`trajectory`](fn@super::trajectory) does for
//! one: in the same order and with the same roundings, so that a chain makes the draws that it
//! makes alone. What decides is in a [`TreeBuilder`] for each chain; what it decides becomes a
//! mask.

mod masked_store;
mod step;
#[cfg(test)]
mod tests;
mod u_turn;

use exmc_math::random::ChainRng;
use exmc_math::simd::Level;
use step::Step;
use u_turn::BatchedSubtree;

use super::trajectory::TreeBuilder;
use super::{Scratch, TreeLimits};
use crate::linalg::aligned_vector::{AlignedVec, Row};
use crate::metric::Metric;
use crate::state::{Info, State};

pub(crate) use exmc_density::BATCH;

/// The most dimensions of chains side by side: as many as a dense map in registers' reach has.
pub(crate) const MAX_DIM: usize = 16;

/// Four chains in the middle of their transitions. Element `k` of lane `c` of a vector is number
/// `BATCH * k + c`; two elements fill a row. Lanes without a chain hold any numbers.
#[derive(Clone, Debug)]
pub(crate) struct BatchedNuts {
    dim: usize,
    /// Rows of a vector.
    pairs: usize,
    level: Level,
    walks: [TreeBuilder; BATCH],
    /// The lanes with a chain.
    active: u8,
    /// The lanes whose metric is not diagonal.
    has_maps: u8,
    /// Standard deviations of diagonal metrics.
    sigma: AlignedVec,
    /// The maps $L^\top$ and $L L^\top$ of other metrics, column after column.
    pull: AlignedVec,
    inverse: AlignedVec,
    /// The signed step sizes, and of each walk what its leaves' energies are taken from; numbers
    /// are twice in a row.
    step: Row,
    start_energy: Row,
    reference: Row,
    first_norm2: Row,
    accept_sum: Row,
    max_energy_error: Row,
    subtree_weight: Row,
    /// Of each walk, the leaf that comes next in its subtree, and how many doublings there were
    /// before that.
    leaves: [u64; BATCH],
    depths: [u32; BATCH],
    /// Steps of all lanes, and those before each walk.
    steps: u32,
    began: [u32; BATCH],
    current: End,
    other: End,
    gradient: AlignedVec,
    logps: [f64; BATCH],
    piece: BatchedSubtree,
    pending: Vec<BatchedSubtree>,
    /// Of the subtree, and of the trajectory.
    proposals: [Proposals; 2],
}

/// Where lanes need the gradient, where that and the log densities go, and which lanes there are;
/// as [`LaneDensity`](exmc_density::LaneDensity) takes it.
pub(crate) struct Pending<'a> {
    pub(crate) positions: &'a [[f64; BATCH]],
    pub(crate) gradients: &'a mut [[f64; BATCH]],
    pub(crate) logps: &'a mut [f64; BATCH],
    pub(crate) active: [bool; BATCH],
}

/// An end of each trajectory: where the next gradient is needed, the whitened momentum half a step
/// before, and the velocity that belongs to it where the metric is not diagonal.
#[derive(Clone, Debug)]
struct End {
    position: AlignedVec,
    half: AlignedVec,
    velocity: AlignedVec,
}

#[derive(Clone, Debug)]
struct Proposals {
    position: AlignedVec,
    gradient: AlignedVec,
    logp: Row,
    energy: Row,
}

/// Sets a lane of a vector; elements beyond those of `from` become zero.
#[inline(always)]
fn spread(from: &[f64], lane: usize, to: &mut AlignedVec) {
    let (elements, _) = to.as_chunks_mut::<BATCH>();
    let (filled, beyond) = elements.split_at_mut(from.len());
    filled.iter_mut().zip(from).for_each(|(to, from)| to[lane] = *from);
    beyond.iter_mut().for_each(|to| to[lane] = 0.0);
}

/// Reads a lane of a vector.
#[inline(always)]
fn collect(from: &AlignedVec, lane: usize, to: &mut [f64]) {
    let (elements, _) = from.as_chunks::<BATCH>();
    to.iter_mut().zip(elements).for_each(|(to, from)| *to = from[lane]);
}

impl BatchedNuts {
    /// Room for four chains with trajectories of at most `max_depth` doublings, of which none has
    /// begun; nothing where there are too many dimensions, or none.
    pub(crate) fn new(level: Level, dim: usize, max_depth: u32) -> Option<Self> {
        if !(1..=MAX_DIM).contains(&dim) {
            return None;
        }
        let pairs = if dim <= 2 { 1 } else { dim.div_ceil(2).next_multiple_of(2) };
        let row = 2 * BATCH;
        let zeros = || AlignedVec::zeros(row * pairs);
        let end = || End { position: zeros(), half: zeros(), velocity: zeros() };
        let proposals = || Proposals {
            position: zeros(),
            gradient: zeros(),
            logp: [f64::NAN; 8],
            energy: [f64::NAN; 8],
        };
        Some(Self {
            dim,
            pairs,
            level,
            walks: [const { TreeBuilder::NONE }; BATCH],
            active: 0,
            has_maps: 0,
            sigma: zeros(),
            pull: AlignedVec::zeros(row * pairs * dim),
            inverse: AlignedVec::zeros(row * pairs * dim),
            step: [0.0; 8],
            start_energy: [0.0; 8],
            reference: [0.0; 8],
            first_norm2: [0.0; 8],
            accept_sum: [0.0; 8],
            max_energy_error: [0.0; 8],
            subtree_weight: [0.0; 8],
            leaves: [0; BATCH],
            depths: [0; BATCH],
            steps: 0,
            began: [0; BATCH],
            current: end(),
            other: end(),
            gradient: zeros(),
            logps: [f64::NAN; BATCH],
            piece: BatchedSubtree::new(row * pairs),
            pending: (0..max_depth).map(|_| BatchedSubtree::new(row * pairs)).collect(),
            proposals: [proposals(), proposals()],
        })
    }

    /// What all lanes wait for.
    pub(crate) fn pending(&mut self) -> Pending<'_> {
        let active = std::array::from_fn(|lane| (self.active >> lane) & 1 == 1);
        let (positions, _) = self.current.position.as_chunks();
        let (gradients, _) = self.gradient.as_chunks_mut();
        let (positions, gradients) = (&positions[..self.dim], &mut gradients[..self.dim]);
        Pending { positions, gradients, logps: &mut self.logps, active }
    }

    /// The metric of the chain in a lane.
    pub(crate) fn set_metric(&mut self, lane: usize, metric: &Metric) {
        let bit = 1 << lane;
        if let Some(sigma) = metric.diagonal_sigma() {
            self.has_maps &= !bit;
            spread(sigma, lane, &mut self.sigma);
        } else if let Some(maps) = metric.small_maps() {
            self.has_maps |= bit;
            let stride = maps.stride();
            for (from, to) in [(maps.pull(), &mut self.pull), (maps.inverse(), &mut self.inverse)] {
                let columns = to.chunks_exact_mut(2 * BATCH * self.pairs);
                for (to, from) in columns.zip(from.chunks_exact(stride)) {
                    let (to, _) = to.as_chunks_mut::<BATCH>();
                    to.iter_mut().zip(from).for_each(|(to, from)| to[lane] = *from);
                }
            }
        }
    }

    /// Begins a transition of the chain in a lane, with the random numbers that
    /// [`transition`](super::transition) takes.
    pub(crate) fn begin(
        &mut self,
        lane: usize,
        state: &State,
        metric: &Metric,
        step_size: f64,
        rng: &mut ChainRng,
        scratch: &mut Scratch,
    ) {
        let walk = scratch.begin(state, metric, step_size, rng);
        let (current, other) = match walk.forward {
            true => (&scratch.right, &scratch.left),
            false => (&scratch.left, &scratch.right),
        };
        let has_maps = (self.has_maps >> lane) & 1 == 1;
        for (from, to) in [(current, &mut self.current), (other, &mut self.other)] {
            let [position, half, velocity] = from.departed();
            spread(position, lane, &mut to.position);
            spread(half, lane, &mut to.half);
            if has_maps {
                spread(velocity, lane, &mut to.velocity);
            }
        }
        spread(scratch.momentum(), lane, &mut self.piece.first);
        let signed = if walk.forward { step_size } else { -step_size };
        for lane in [lane, lane + BATCH] {
            self.step[lane] = signed;
            self.start_energy[lane] = walk.totals.start_energy;
            self.reference[lane] = walk.totals.reference;
            self.first_norm2[lane] = walk.first_norm2;
            self.accept_sum[lane] = 0.0;
            self.max_energy_error[lane] = 0.0;
            self.subtree_weight[lane] = 0.0;
        }
        (self.leaves[lane], self.depths[lane], self.began[lane]) = (0, 0, self.steps);
        self.active |= 1 << lane;
        self.walks[lane] = walk;
    }

    /// Ends the transition of the chain in a lane and moves the state; what it did.
    pub(crate) fn end(
        &mut self,
        lane: usize,
        state: &mut State,
        limits: TreeLimits,
        scratch: &mut Scratch,
    ) -> Info {
        self.active &= !(1 << lane);
        let walk = &mut self.walks[lane];
        walk.totals.n_steps = self.steps.wrapping_sub(self.began[lane]);
        walk.totals.accept_sum = self.accept_sum[lane];
        walk.totals.max_energy_error = self.max_energy_error[lane];
        let [of_subtree, of_trajectory] = &self.proposals;
        if walk.totals.divergent || walk.totals.recovered {
            collect(&of_subtree.position, lane, &mut scratch.diverged.position);
            collect(&of_subtree.gradient, lane, &mut scratch.diverged.gradient);
        }
        if walk.moved {
            collect(&of_trajectory.position, lane, &mut state.position);
            collect(&of_trajectory.gradient, lane, &mut state.gradient);
            state.logp = of_trajectory.logp[lane];
            walk.energy = of_trajectory.energy[lane];
        }
        walk.info(state, limits)
    }

    /// The density could not be evaluated where a lane waits for it, but other positions may be
    /// fine.
    pub(crate) fn recover(&mut self, lane: usize) {
        self.walks[lane].totals.recovered = true;
    }

    /// Gives up the transition of the chain in a lane.
    pub(crate) fn give_up(&mut self, lane: usize) {
        self.active &= !(1 << lane);
    }

    /// Goes on from the gradients to where the next ones are needed; the lanes whose trajectories
    /// have ended by that.
    pub(crate) fn step(
        &mut self,
        limits: TreeLimits,
        rngs: &mut [Option<&mut ChainRng>; BATCH],
    ) -> [bool; BATCH] {
        let level = self.level;
        let ended = match self.pairs {
            1 => level.run(Step::<1> { batch: self, limits, rngs }),
            2 => level.run(Step::<2> { batch: self, limits, rngs }),
            4 => level.run(Step::<4> { batch: self, limits, rngs }),
            6 => level.run(Step::<6> { batch: self, limits, rngs }),
            _ => level.run(Step::<8> { batch: self, limits, rngs }),
        };
        std::array::from_fn(|lane| ended >> lane & 1 == 1)
    }
}
