//! One leapfrog step of chains side by side: their gradients -> where the next ones are needed, and
//! whose trajectories end.

use exmc_fault::{Fault, planted};
use exmc_math::random::ChainRng;
use exmc_math::simd::{Kernel, Simd, vector};

use super::masked_store::{put, put_all};
use super::u_turn::{dot, lanes};
use super::{BATCH, BatchedNuts, End, Proposals};
use crate::linalg::aligned_vector::{AlignedVec, Row};
use crate::nuts::TreeLimits;
use crate::nuts::trajectory::{MAX_LOG_WEIGHT, SubtreeOutcome, TreeBuilder};

/// [`BatchedNuts::step`] for vectors of P rows.
pub(super) struct Step<'a, 'b, const P: usize> {
    pub(super) batch: &'a mut BatchedNuts,
    pub(super) limits: TreeLimits,
    pub(super) rngs: &'a mut [Option<&'b mut ChainRng>; BATCH],
}

impl<const P: usize> Kernel for Step<'_, '_, P> {
    type Output = u8;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> u8 {
        let Self { batch, limits, rngs } = self;
        // What cannot be foreseen is a number here and not a branch, as far as it happens in every
        // step.
        let active = batch.active;
        let (mut opening, mut last) = (0, 0);
        let mut sizes = [0; BATCH];
        for (lane, size) in sizes.iter_mut().enumerate() {
            let (leaf, depth) = (batch.leaves[lane], batch.depths[lane]);
            opening |= u8::from((leaf & 1 == 0) & (depth > 0)) << lane;
            let is_last = leaf + 1 == 1 << depth;
            last |= u8::from(is_last) << lane;
            // BatchedSubtree complete as a binary counter carries; the last leaf joins the
            // trajectory so far as well.
            let carried = leaf.trailing_ones().wrapping_sub(1);
            *size = if is_last { depth } else { carried } as usize;
            batch.leaves[lane] += 1;
        }
        let mut ahead = [s.splat(0.0); P];
        let norm2 = batch.close::<S, P>(s, opening, &mut ahead);
        put(s, lanes::<S>(s, opening), norm2, &mut batch.first_norm2);
        batch.steps = batch.steps.wrapping_add(1);

        let energy = s.sub(s.mul(s.splat(0.5), norm2), s.twice(&batch.logps));
        let start_energy = s.load(&batch.start_energy);
        let (error, log_weight) = (s.sub(energy, start_energy), s.sub(start_energy, energy));
        let relative = s.sub(log_weight, s.load(&batch.reference));
        let weight = vector::exp(s, relative);
        let is_fine = s.both(
            s.le(error, s.splat(limits.max_energy_error)),
            s.lt(s.abs(error), s.splat(f64::INFINITY)),
        );
        let diverged = active & !s.lanes_of(is_fine);
        let is_ordinary = s.both(
            s.eq(s.load(&batch.reference), s.splat(0.0)),
            s.le(relative, s.splat(MAX_LOG_WEIGHT)),
        );
        let taken = if diverged == 0 && active & !s.lanes_of(is_ordinary) == 0 {
            let largest = s.load(&batch.max_energy_error);
            let larger = s.lt(s.abs(largest), s.abs(error));
            s.store(s.select(larger, error, largest), &mut batch.max_energy_error);
            let accepted = s.min(weight, s.splat(1.0));
            s.store(s.add(s.load(&batch.accept_sum), accepted), &mut batch.accept_sum);
            let before = s.load(&batch.subtree_weight);
            let total = s.add(before, weight);
            s.store(total, &mut batch.subtree_weight);
            let (before, total) = (s.to_array(before), s.to_array(total));
            let weight = s.to_array(weight);
            let mut taken = 0;
            for (lane, rng) in rngs.iter_mut().enumerate() {
                let Some(rng) = rng else { continue };
                let is_first = before[lane] == 0.0;
                let uniform = rng.uniform_if(!is_first & (active >> lane & 1 == 1));
                taken |= u8::from(is_first | (uniform * total[lane] < weight[lane])) << lane;
            }
            taken
        } else {
            batch.choose_one_by_one(s.to_array(energy), s.to_array(weight), limits, rngs, diverged)
        };
        // What diverges is kept there, too: its subtree is discarded.
        batch.propose::<S, P>(s, taken | diverged, energy);
        let position = &mut batch.current.position.rows_mut()[..P];
        for k in 0..P {
            s.store(ahead[k], &mut position[k]);
        }

        let closing = active & !opening & !diverged;
        let norms = [s.load(&batch.first_norm2), norm2];
        let merges_passed = match closing {
            0 => [0; BATCH],
            _ => batch.piece.merge::<S, P>(s, closing, norms, sizes, &mut batch.pending),
        };
        let mut grown = 0;
        for lane in 0..BATCH {
            grown |= u8::from(merges_passed[lane] <= sizes[lane]) << lane;
        }
        let mut grown = (closing & (grown | last)) | diverged;
        let (mut merged, mut turned, mut ended) = (0, 0, 0);
        while grown != 0 {
            let lane = grown.trailing_zeros() as usize;
            let bit = 1 << lane;
            grown &= !bit;
            let Some(rng) = &mut rngs[lane] else { continue };
            let is_last = last & bit != 0;
            let found = match diverged & bit {
                0 => TreeBuilder::outcome(is_last, sizes[lane], merges_passed[lane])
                    .unwrap_or(SubtreeOutcome::Valid),
                _ => SubtreeOutcome::Discarded,
            };
            let walk = &mut batch.walks[lane];
            walk.totals.subtree_weight = batch.subtree_weight[lane];
            match walk.merge(found, rng) {
                None => {
                    ended |= bit;
                    continue;
                }
                Some(taken) => merged |= u8::from(taken) << lane,
            }
            match walk.next_subtree(limits) {
                None => ended |= bit,
                Some(turns_round) => {
                    batch.leaves[lane] = 0;
                    batch.depths[lane] = walk.depth;
                    batch.subtree_weight[lane] = 0.0;
                    batch.subtree_weight[lane + BATCH] = 0.0;
                    if turns_round {
                        turned |= bit;
                        batch.pending[walk.depth as usize - 1].reverse(lane);
                        batch.step[lane] = -batch.step[lane];
                        batch.step[lane + BATCH] = -batch.step[lane + BATCH];
                    }
                }
            }
        }
        if merged != 0 {
            batch.accept::<S, P>(s, merged);
        }
        if turned != 0 {
            batch.turn_round::<S, P>(s, turned);
        }
        ended
    }
}

impl BatchedNuts {
    /// Ends the steps of all lanes, whose momenta become the last of their pieces and in the lanes
    /// `opening` the first, and begins the next ones, which go to `ahead`. Returns the squared
    /// lengths of the momenta.
    #[inline(always)]
    fn close<S: Simd, const P: usize>(
        &mut self,
        s: S,
        opening: u8,
        ahead: &mut [S::Vector; P],
    ) -> S::Vector {
        let Self { current, gradient, sigma, pull, inverse, piece, has_maps, .. } = self;
        let End { position, half, velocity } = current;
        let (position, half) = (&position.rows()[..P], &mut half.rows_mut()[..P]);
        let (velocity, sigma) = (&mut velocity.rows_mut()[..P], &sigma.rows()[..P]);
        let step = s.load(&self.step);
        let half_step = s.mul(s.splat(0.5), step);
        let with_maps = *has_maps & self.active;
        let mut momentum = [s.splat(0.0); P];
        if with_maps != self.active {
            let gradient = &gradient.rows()[..P];
            for k in 0..P {
                let sigma = s.load(&sigma[k]);
                let force = s.mul(sigma, s.load(&gradient[k]));
                momentum[k] = s.fma(half_step, force, s.load(&half[k]));
                let next = s.fma(half_step, force, momentum[k]);
                ahead[k] = s.fma(s.mul(step, sigma), next, s.load(&position[k]));
                if with_maps == 0 {
                    s.store(next, &mut half[k]);
                } else {
                    put(s, lanes::<S>(s, !with_maps), next, &mut half[k]);
                }
            }
        }
        if with_maps != 0 {
            let mask = lanes::<S>(s, with_maps);
            let both = s.add(half_step, half_step);
            let change = columns::<S, P>(s, inverse.rows(), gradient, self.dim);
            for k in 0..P {
                let next = s.fma(both, change[k], s.load(&velocity[k]));
                s.store(next, &mut velocity[k]);
                ahead[k] = s.select(mask, s.fma(step, next, s.load(&position[k])), ahead[k]);
            }
            let force = columns::<S, P>(s, pull.rows(), gradient, self.dim);
            for k in 0..P {
                let p = s.fma(half_step, force[k], s.load(&half[k]));
                momentum[k] = s.select(mask, p, momentum[k]);
                put(s, mask, s.fma(half_step, force[k], p), &mut half[k]);
            }
        }
        let mask = lanes::<S>(s, opening);
        put_all(s, mask, momentum, &mut piece.first.rows_mut()[..P]);
        let last = &mut piece.last.rows_mut()[..P];
        for k in 0..P {
            s.store(momentum[k], &mut last[k]);
        }
        dot::<S, P>(s, last, last)
    }

    /// Counts the leaves of all lanes and chooses among them where one of them diverges or its
    /// weight is out of the ordinary; the lanes whose leaves become the proposals of their
    /// subtrees.
    #[cold]
    #[inline(never)]
    fn choose_one_by_one(
        &mut self,
        energies: Row,
        weights: Row,
        limits: TreeLimits,
        rngs: &mut [Option<&mut ChainRng>; BATCH],
        diverged: u8,
    ) -> u8 {
        let mut taken = 0;
        for (lane, rng) in rngs.iter_mut().enumerate() {
            let Some(rng) = rng.as_mut().filter(|_| self.active >> lane & 1 == 1) else { continue };
            let totals = &mut self.walks[lane].totals;
            totals.accept_sum = self.accept_sum[lane];
            totals.max_energy_error = self.max_energy_error[lane];
            totals.subtree_weight = self.subtree_weight[lane];
            let counts = totals.count_leaf(energies[lane], limits.max_energy_error);
            debug_assert_eq!(counts, diverged >> lane & 1 == 0);
            if counts {
                let log_weight = totals.start_energy - energies[lane];
                taken |= u8::from(totals.choose(log_weight, weights[lane], rng)) << lane;
            }
            for lane in [lane, lane + BATCH] {
                self.reference[lane] = totals.reference;
                self.accept_sum[lane] = totals.accept_sum;
                self.max_energy_error[lane] = totals.max_energy_error;
                self.subtree_weight[lane] = totals.subtree_weight;
            }
        }
        taken
    }

    /// In some lanes, the leaf becomes the proposal of the subtree.
    #[inline(always)]
    fn propose<S: Simd, const P: usize>(&mut self, s: S, lane_bits: u8, leaf_energy: S::Vector) {
        let lane_bits = if planted(Fault::NeighboursLane) {
            lane_bits << 1 | lane_bits >> 3
        } else {
            lane_bits
        };
        let mask = lanes::<S>(s, lane_bits);
        let [Proposals { position, gradient, logp, energy }, _] = &mut self.proposals;
        put(s, mask, s.twice(&self.logps), logp);
        put(s, mask, leaf_energy, energy);
        let leaf = [(&self.current.position, position), (&self.gradient, gradient)];
        for (from, to) in leaf {
            let (from, to) = (&from.rows()[..P], &mut to.rows_mut()[..P]);
            for k in 0..P {
                put(s, mask, s.load(&from[k]), &mut to[k]);
            }
        }
    }

    /// In some lanes, the proposal of the subtree becomes that of the trajectory.
    #[inline(always)]
    fn accept<S: Simd, const P: usize>(&mut self, s: S, lane_bits: u8) {
        let mask = lanes::<S>(s, lane_bits);
        let [of_subtree, of_trajectory] = &mut self.proposals;
        put(s, mask, s.load(&of_subtree.logp), &mut of_trajectory.logp);
        put(s, mask, s.load(&of_subtree.energy), &mut of_trajectory.energy);
        let parts = [
            (&of_subtree.position, &mut of_trajectory.position),
            (&of_subtree.gradient, &mut of_trajectory.gradient),
        ];
        for (from, to) in parts {
            let (from, to) = (&from.rows()[..P], &mut to.rows_mut()[..P]);
            for k in 0..P {
                put(s, mask, s.load(&from[k]), &mut to[k]);
            }
        }
    }

    /// In some lanes, the other end of the trajectory grows from now on.
    #[inline(always)]
    fn turn_round<S: Simd, const P: usize>(&mut self, s: S, lane_bits: u8) {
        let mask = lanes::<S>(s, lane_bits);
        let (a, b) = (&mut self.current, &mut self.other);
        let parts = [
            (&mut a.position, &mut b.position),
            (&mut a.half, &mut b.half),
            (&mut a.velocity, &mut b.velocity),
        ];
        for (a, b) in parts {
            let (a, b) = (&mut a.rows_mut()[..P], &mut b.rows_mut()[..P]);
            for k in 0..P {
                let (x, y) = (s.load(&a[k]), s.load(&b[k]));
                s.store(s.select(mask, y, x), &mut a[k]);
                s.store(s.select(mask, x, y), &mut b[k]);
            }
        }
    }
}

/// The sum of the columns, each of P rows, times the elements of `x`: those at even and at odd
/// places apart.
#[inline(always)]
fn columns<S: Simd, const P: usize>(
    s: S,
    columns: &[Row],
    x: &AlignedVec,
    dim: usize,
) -> [S::Vector; P] {
    let (x, _) = x.as_chunks::<BATCH>();
    let mut sums = [[s.splat(0.0); P]; 2];
    let columns = columns.chunks_exact(P);
    let mut pairs = columns.zip(&x[..dim]);
    while let Some((even, a)) = pairs.next() {
        let a = s.twice(a);
        for k in 0..P {
            sums[0][k] = s.fma(s.load(&even[k]), a, sums[0][k]);
        }
        let Some((odd, b)) = pairs.next() else { break };
        let b = s.twice(b);
        for k in 0..P {
            sums[1][k] = s.fma(s.load(&odd[k]), b, sums[1][k]);
        }
    }
    let mut sum = sums[0];
    for k in 0..P {
        sum[k] = s.add(sums[0][k], sums[1][k]);
    }
    sum
}
