//! MergeKernel of pieces side by side: the momenta of four trajectories -> which of them turn back
//! on themselves.
//!
//! As [`Subtree::merge`](crate::nuts::u_turn::Subtree), with the same sums in the same order for
//! each trajectory.

use exmc_math::simd::Simd;

use super::masked_store::{put, put_all};
use crate::linalg::aligned_vector::{AlignedVec, Row};

/// A piece of consecutive leaves of each of four trajectories.
#[derive(Clone, Debug)]
pub(super) struct BatchedSubtree {
    pub(super) first: AlignedVec,
    pub(super) last: AlignedVec,
    sum: AlignedVec,
    /// At the first leaf and at the last one: $p\cdot p$ and $\rho\cdot p$, each twice in a row.
    first_end: [Row; 2],
    last_end: [Row; 2],
}

/// The sum of products of each lane, in both halves: eight sums of which each takes every eighth
/// element, added up as in [`Simd::total`].
#[inline(always)]
pub(super) fn dot<S: Simd, const P: usize>(s: S, a: &[Row], b: &[Row]) -> S::Vector {
    let mut sums = [s.splat(0.0); 4];
    for k in 0..P {
        sums[k % 4] = s.fma(s.load(&a[k]), s.load(&b[k]), sums[k % 4]);
    }
    s.add_halves(s.add(s.add(sums[0], sums[2]), s.add(sums[1], sums[3])))
}

/// The lanes where the velocity at either end does not point along the summed momentum; NaN counts
/// as turning.
#[inline(always)]
fn turning<S: Simd>(s: S, first: S::Vector, last: S::Vector) -> u8 {
    let zero = s.splat(0.0);
    !s.lanes_of(s.both(s.lt(zero, first), s.lt(zero, last)))
}

impl BatchedSubtree {
    pub(super) fn new(numbers: usize) -> Self {
        let zeros = || AlignedVec::zeros(numbers);
        let end = [[0.0; 8]; 2];
        Self { first: zeros(), last: zeros(), sum: zeros(), first_end: end, last_end: end }
    }

    /// Turns the order of a lane's leaves round.
    pub(super) fn reverse(&mut self, lane: usize) {
        let (first, _) = self.first.as_chunks_mut::<4>();
        let (last, _) = self.last.as_chunks_mut::<4>();
        for (first, last) in first.iter_mut().zip(last) {
            std::mem::swap(&mut first[lane], &mut last[lane]);
        }
        for (first, last) in self.first_end.iter_mut().zip(&mut self.last_end) {
            std::mem::swap(&mut first[lane], &mut last[lane]);
            std::mem::swap(&mut first[lane + 4], &mut last[lane + 4]);
        }
    }

    /// In lanes `lane_bits`, joins the leaves whose momenta are in `first` and `last`, then as many
    /// of the pieces `earlier` as `sizes` says, the latest of them first; where none of them turns,
    /// the piece of all leaves is put behind those.
    ///
    /// Returns how many joins went well before one turned.
    #[inline(always)]
    pub(super) fn merge<S: Simd, const P: usize>(
        &mut self,
        s: S,
        lane_bits: u8,
        [first_norm2, last_norm2]: [S::Vector; 2],
        sizes: [usize; 4],
        earlier: &mut [Self],
    ) -> [usize; 4] {
        let Self { first, last, sum, .. } = self;
        let (first, last, sum) = (first.rows_mut(), last.rows(), sum.rows_mut());
        let (first, last, sum) = (&mut first[..P], &last[..P], &mut sum[..P]);
        for k in 0..P {
            s.store(s.add(s.load(&first[k]), s.load(&last[k])), &mut sum[k]);
        }
        let across = dot::<S, P>(s, first, last);
        let mut first_end = [first_norm2, s.add(first_norm2, across)];
        let mut last_end = [last_norm2, s.add(across, last_norm2)];
        let mut merges_passed = [0; 4];
        // The checks across the seam of two leaves are the check of the whole.
        let mut left = lane_bits & !turning(s, first_end[1], last_end[1]);
        for (size, piece) in earlier.iter_mut().enumerate() {
            if left == 0 {
                break;
            }
            let (mut ends, mut goes_on) = (0, 0);
            for lane in 0..4 {
                let is_left = left >> lane & 1;
                merges_passed[lane] += usize::from(is_left);
                ends |= (is_left & u8::from(sizes[lane] == size)) << lane;
                goes_on |= (is_left & u8::from(sizes[lane] > size)) << lane;
            }
            if goes_on == 0 {
                piece.take::<S, P>(s, ends, [first, last, sum], [first_end, last_end]);
                break;
            }
            let (l_first, l_last) = (&piece.first.rows()[..P], &piece.last.rows()[..P]);
            let l_sum = &piece.sum.rows()[..P];
            let (c, d) = (dot::<S, P>(s, l_first, first), dot::<S, P>(s, l_sum, first));
            let (a, b) = (dot::<S, P>(s, sum, l_first), dot::<S, P>(s, l_sum, last));
            let (e, f) = (dot::<S, P>(s, l_last, sum), dot::<S, P>(s, l_last, last));
            let [from_norm2, from_along] =
                [s.load(&piece.first_end[0]), s.load(&piece.first_end[1])];
            let to_norm2 = s.load(&piece.last_end[0]);
            let all_leaves = [s.add(from_along, a), s.add(b, last_end[1])];
            let left_and_first = turning(s, s.add(from_along, c), s.add(d, first_end[0]));
            let last_and_right = turning(s, s.add(to_norm2, e), s.add(f, last_end[1]));
            let turns = turning(s, all_leaves[0], all_leaves[1]) | left_and_first | last_and_right;
            let mask = lanes::<S>(s, goes_on);
            let before = [first_end, last_end];
            first_end = [
                s.select(mask, from_norm2, first_end[0]),
                s.select(mask, all_leaves[0], first_end[1]),
            ];
            last_end[1] = s.select(mask, all_leaves[1], last_end[1]);
            // What those lanes take that end here is what they had before this join.
            let mut sums = [s.splat(0.0); P];
            for k in 0..P {
                sums[k] = s.add(s.load(&l_sum[k]), s.load(&sum[k]));
            }
            let mut firsts = [s.splat(0.0); P];
            for k in 0..P {
                firsts[k] = s.load(&l_first[k]);
            }
            if ends != 0 {
                piece.take::<S, P>(s, ends, [first, last, sum], before);
            }
            put_all(s, mask, firsts, first);
            put_all(s, mask, sums, sum);
            left = goes_on & !turns;
        }
        merges_passed
    }

    /// Becomes another piece in some lanes.
    #[inline(always)]
    fn take<S: Simd, const P: usize>(
        &mut self,
        s: S,
        lane_bits: u8,
        [first, last, sum]: [&[Row]; 3],
        [first_end, last_end]: [[S::Vector; 2]; 2],
    ) {
        let mask = lanes::<S>(s, lane_bits);
        let parts = [(first, &mut self.first), (last, &mut self.last), (sum, &mut self.sum)];
        for (from, to) in parts {
            let to = &mut to.rows_mut()[..P];
            for k in 0..P {
                put(s, mask, s.load(&from[k]), &mut to[k]);
            }
        }
        for k in 0..2 {
            put(s, mask, first_end[k], &mut self.first_end[k]);
            put(s, mask, last_end[k], &mut self.last_end[k]);
        }
    }
}

/// A mask of lanes, in both halves.
#[inline(always)]
pub(super) fn lanes<S: Simd>(s: S, lane_bits: u8) -> S::Mask {
    const NUMBERS: [[f64; 4]; 16] = {
        let mut numbers = [[0.0; 4]; 16];
        let mut index = 0;
        while index < 64 {
            numbers[index / 4][index % 4] = (((index / 4) >> (index % 4)) & 1) as f64;
            index += 1;
        }
        numbers
    };
    s.lt(s.splat(0.0), s.twice(&NUMBERS[usize::from(lane_bits & 15)]))
}
