//! The generalised U-turn criterion: momenta of neighbouring subtrees of a trajectory -> whether it
//! turns back on itself.
//!
//! A piece with summed momentum $\rho$ goes on while the velocity at both of its ends points along
//! it, $\rho\cdot M^{-1}p > 0$ (Betancourt 2017, appendix A.4.2); with whitened momenta that is a
//! plain inner product. When a left and a right piece join, three pieces are checked: the whole;
//! the left one with the first leaf of the right one; the last leaf of the left one with the right
//! one. (The last two close the gap that lets a trajectory of about one period slip through.)
//!
//! Every inner product expands into ones of the six vectors at hand, and those within one piece are
//! known from when it was made: a join costs six inner products and one addition. A leaf that
//! completes several pieces at once joins them in one pass, which reads each vector once.

use exmc_fault::{Fault, planted};
use exmc_math::simd::{Kernel, Simd};

use crate::linalg::aligned_vector::{AlignedVec, Row};

/// A subtree: consecutive leaves of the trajectory, in the order in which they were built.
#[derive(Clone, Debug)]
pub(crate) struct Subtree {
    /// Momentum at the first leaf.
    pub(crate) first: AlignedVec,
    /// Momentum at the last leaf.
    pub(crate) last: AlignedVec,
    /// Sum of the momenta of all leaves, $\rho$.
    sum: AlignedVec,
    first_end: End,
    last_end: End,
}

/// Inner products at one end of a piece.
#[derive(Clone, Copy, Debug)]
struct End {
    /// $p\cdot p$.
    norm2: f64,
    /// $\rho\cdot p$.
    along_sum: f64,
}

/// The six inner products of one join, in the order of [`merge_block`], and their lanes while there
/// are more blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MergeProducts {
    lanes: [Row; 6],
    sums: [f64; 6],
}

impl MergeProducts {
    pub(crate) const NONE: Self = Self { lanes: [[0.0; 8]; 6], sums: [0.0; 6] };
}

impl Subtree {
    pub(crate) fn new(dim: usize) -> Self {
        let zeros = || AlignedVec::zeros(dim);
        let end = End { norm2: 0.0, along_sum: 0.0 };
        Self { first: zeros(), last: zeros(), sum: zeros(), first_end: end, last_end: end }
    }

    /// Turns the order of the leaves round.
    pub(crate) fn reverse(&mut self) {
        std::mem::swap(&mut self.first, &mut self.last);
        std::mem::swap(&mut self.first_end, &mut self.last_end);
    }

    /// MergeKernel the leaves whose momenta are in `first` and `last`, then the pieces `earlier`
    /// that were built before them, the latest of them first.
    ///
    /// Returns how many joins went well before one turned: `earlier.len() + 1` when all did. Unless
    /// one turned this is the piece of all leaves afterwards, and the last of `earlier` has lost
    /// its `first`. `scratch` is as long as `earlier` at least; N is the number of rows of all
    /// vectors, 0 for any.
    #[inline(always)]
    pub(crate) fn merge<S: Simd, const N: usize>(
        &mut self,
        s: S,
        [first_norm2, last_norm2]: [f64; 2],
        earlier: &mut [Subtree],
        scratch: &mut [MergeProducts],
    ) -> usize {
        let joined = &mut scratch[..earlier.len()];
        let across = MergeKernel::<N> {
            first: self.first.known::<N>(),
            last: self.last.known::<N>(),
            sum: self.sum.known_mut::<N>(),
            earlier,
            joined,
        }
        .run(s);
        let mut first = End { norm2: first_norm2, along_sum: first_norm2 + across };
        let mut last = End { norm2: last_norm2, along_sum: across + last_norm2 };
        // The checks across the seam of two leaves are the check of the whole.
        if is_turning(first.along_sum, last.along_sum) {
            return 0;
        }
        for (k, (piece, joined)) in earlier.iter().zip(joined).enumerate() {
            let sums = &joined.sums;
            let (from, to) = (piece.first_end, piece.last_end);
            let all_leaves = [from.along_sum + sums[0], sums[1] + last.along_sum];
            let left_and_first = [from.along_sum + sums[2], sums[3] + first.norm2];
            let last_and_right = [to.norm2 + sums[4], sums[5] + last.along_sum];
            first = End { norm2: from.norm2, along_sum: all_leaves[0] };
            last = End { norm2: last.norm2, along_sum: all_leaves[1] };
            // Without branches between the checks: which one of them fails cannot be foreseen.
            let turning = is_turning(all_leaves[0], all_leaves[1])
                | (!planted(Fault::SkipSubtreeUturnChecks)
                    & (is_turning(left_and_first[0], left_and_first[1])
                        | is_turning(last_and_right[0], last_and_right[1])));
            if turning {
                return k + 1;
            }
        }
        if let Some(piece) = earlier.last_mut() {
            std::mem::swap(&mut self.first, &mut piece.first);
        }
        (self.first_end, self.last_end) = (first, last);
        earlier.len() + 1
    }
}

/// Whether the velocity at either end does not point along the summed momentum; NaN counts as
/// turning.
#[inline(always)]
fn is_turning(first: f64, last: f64) -> bool {
    let last = if planted(Fault::UturnSign) { -last } else { last };
    !((first > 0.0) & (last > 0.0))
}

/// The sums and inner products of several joins: two leaves, then pieces that were built before
/// them.
///
/// Returns the inner product of the two leaves; `sum` becomes the sum over all. Block by block, so
/// that the vectors that all joins share stay in the first-level cache. N is the number of rows, 0
/// for any.
struct MergeKernel<'a, const N: usize> {
    first: &'a [Row],
    last: &'a [Row],
    sum: &'a mut [Row],
    earlier: &'a [Subtree],
    joined: &'a mut [MergeProducts],
}

impl<const N: usize> Kernel for MergeKernel<'_, N> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        /// Rows of a block: three shared vectors of 2 KiB each.
        const BLOCK: usize = 32;
        let rows = self.last.len();
        let mut across = s.splat(0.0);
        let mut from = 0;
        while from < rows {
            let to = rows.min(from + BLOCK);
            let (first, last) = (&self.first[from..to], &self.last[from..to]);
            let sum = &mut self.sum[from..to];
            for ((first, last), sum) in first.iter().zip(last).zip(&mut *sum) {
                let (first, last) = (s.load(first), s.load(last));
                s.store(s.add(first, last), sum);
                across = s.fma(first, last, across);
            }
            let mut right_first = first;
            for (piece, joined) in self.earlier.iter().zip(&mut *self.joined) {
                let left_first = &piece.first.known::<N>()[from..to];
                let left_last = &piece.last.known::<N>()[from..to];
                let left_sum = &piece.sum.known::<N>()[from..to];
                let [a, b, c, d, e, f] = &joined.lanes;
                let before = match from {
                    0 => [s.splat(0.0); 6],
                    _ => [s.load(a), s.load(b), s.load(c), s.load(d), s.load(e), s.load(f)],
                };
                let left = [left_first, left_last, left_sum];
                let [a, b, c, d, e, f] = merge_block(s, left, right_first, last, sum, before);
                if to == rows {
                    let (a, b, c) = (s.total(a), s.total(b), s.total(c));
                    joined.sums = [a, b, c, s.total(d), s.total(e), s.total(f)];
                } else {
                    for (lanes, to) in [a, b, c, d, e, f].into_iter().zip(&mut joined.lanes) {
                        s.store(lanes, to);
                    }
                }
                right_first = left_first;
            }
            from = to;
        }
        s.total(across)
    }
}

/// One join over one block: adds to the lanes of its inner products, which it returns, and to the
/// sum of the right piece.
#[inline(always)]
fn merge_block<S: Simd>(
    s: S,
    [left_first, left_last, left_sum]: [&[Row]; 3],
    right_first: &[Row],
    right_last: &[Row],
    right_sum: &mut [Row],
    [mut a, mut b, mut c, mut d, mut e, mut f]: [S::Vector; 6],
) -> [S::Vector; 6] {
    let n = right_sum.len();
    let (left_first, left_last) = (&left_first[..n], &left_last[..n]);
    let (left_sum, right_first) = (&left_sum[..n], &right_first[..n]);
    let right_last = &right_last[..n];
    // Twice over the block: the lanes of three sums stay in registers everywhere, those of six do
    // not.
    for i in 0..n {
        let (r_first, r_last) = (s.load(&right_first[i]), s.load(&right_last[i]));
        c = s.fma(s.load(&left_first[i]), r_first, c);
        d = s.fma(s.load(&left_sum[i]), r_first, d);
        f = s.fma(s.load(&left_last[i]), r_last, f);
    }
    for i in 0..n {
        let (l_sum, r_sum) = (s.load(&left_sum[i]), s.load(&right_sum[i]));
        a = s.fma(r_sum, s.load(&left_first[i]), a);
        b = s.fma(l_sum, s.load(&right_last[i]), b);
        e = s.fma(s.load(&left_last[i]), r_sum, e);
        s.store(s.add(l_sum, r_sum), &mut right_sum[i]);
    }
    [a, b, c, d, e, f]
}

#[cfg(test)]
mod tests {
    use exmc_math::simd::Level;

    use super::*;
    use crate::linalg::kernels::dot;

    struct Join<'a>(&'a mut Subtree, [f64; 2], &'a mut [Subtree], &'a mut [MergeProducts]);

    impl Kernel for Join<'_> {
        type Output = usize;
        #[inline(always)]
        fn run<S: Simd>(self, s: S) -> usize {
            self.0.merge::<S, 0>(s, self.1, self.2, self.3)
        }
    }

    /// A piece built from its leaves' momenta by the definition.
    fn piece(leaves: &[[f64; 2]]) -> Subtree {
        let (first, last) = (leaves[0], leaves[leaves.len() - 1]);
        let sum = [0, 1].map(|i| leaves.iter().map(|leaf| leaf[i]).sum::<f64>());
        Subtree {
            first: AlignedVec::from(&first[..]),
            last: AlignedVec::from(&last[..]),
            sum: AlignedVec::from(&sum[..]),
            first_end: End { norm2: dot(&first, &first), along_sum: dot(&first, &sum) },
            last_end: End { norm2: dot(&last, &last), along_sum: dot(&last, &sum) },
        }
    }

    /// MergeKernel the last two of `leaves` and then pieces of the given lengths before them.
    fn join(leaves: &[[f64; 2]], lengths: &[usize]) -> (usize, Subtree) {
        let (mut start, mut earlier) = (leaves.len() - 2, Vec::new());
        let mut joined = piece(&leaves[start..]);
        for length in lengths {
            earlier.push(piece(&leaves[start - length..start]));
            start -= length;
        }
        let norms = [joined.first_end.norm2, joined.last_end.norm2];
        let mut merges =
            vec![MergeProducts { lanes: [[f64::NAN; 8]; 6], ..MergeProducts::NONE }; lengths.len()];
        let merges_passed =
            Level::detect().run(Join(&mut joined, norms, &mut earlier, &mut merges));
        (merges_passed, joined)
    }

    fn circle(n: u32, degrees: f64) -> Vec<[f64; 2]> {
        (0..n)
            .map(|i| libm::sincos((f64::from(i) * degrees).to_radians()))
            .map(|(s, c)| [c, s])
            .collect()
    }

    /// Momenta that turn evenly point away from their sum when the arc exceeds half a turn.
    #[test]
    fn an_arc_turns_when_it_exceeds_half_a_turn() {
        for (degrees, merges_passed) in [(20.0, 3), (25.0, 3), (26.0, 2), (40.0, 2), (61.0, 1)] {
            let leaves = circle(8, degrees);
            let (found, joined) = join(&leaves, &[2, 4]);
            assert_eq!(found, merges_passed, "{degrees}");
            if found == 3 {
                let expected = piece(&leaves);
                assert_eq!((joined.first, joined.last), (expected.first, expected.last));
                let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-14, "{a} {b}");
                close(joined.first_end.along_sum, expected.first_end.along_sum);
                close(joined.last_end.along_sum, expected.last_end.along_sum);
                close(joined.first_end.norm2, expected.first_end.norm2);
                close(joined.last_end.norm2, expected.last_end.norm2);
                close(joined.sum[0], expected.sum[0]);
                close(joined.sum[1], expected.sum[1]);
            }
        }
    }

    /// MergeKernel over several blocks, and with a last row that is not full, against the
    /// definition; every level.
    #[test]
    fn long_vectors_have_the_sums_of_the_definition() {
        const DIM: usize = 603;
        let leaf = |k: usize| -> AlignedVec {
            (0..DIM).map(|i| 1.0 + 0.3 * libm::sin((k * DIM + i) as f64)).collect::<Vec<_>>().into()
        };
        let leaves: Vec<AlignedVec> = (0..8).map(leaf).collect();
        let subtree_of = |from: usize, to: usize| {
            let mut piece = Subtree::new(DIM);
            piece.first = leaves[from].clone();
            piece.last = leaves[to - 1].clone();
            for leaf in &leaves[from..to] {
                piece.sum.iter_mut().zip(&leaf[..]).for_each(|(sum, p)| *sum += p);
            }
            let end = |p: &AlignedVec| End { norm2: dot(p, p), along_sum: dot(p, &piece.sum) };
            (piece.first_end, piece.last_end) = (end(&piece.first), end(&piece.last));
            piece
        };
        let expected = subtree_of(0, 8);
        let mut sums = Vec::new();
        for level in Level::available() {
            let mut joined = subtree_of(6, 8);
            let norms = [joined.first_end.norm2, joined.last_end.norm2];
            let mut merges =
                vec![MergeProducts { lanes: [[f64::NAN; 8]; 6], ..MergeProducts::NONE }; 2];
            let mut earlier = [subtree_of(4, 6), subtree_of(0, 4)];
            assert_eq!(level.run(Join(&mut joined, norms, &mut earlier, &mut merges)), 3);
            assert_eq!((&joined.first, &joined.last), (&expected.first, &expected.last));
            let pairs = joined.sum.iter().zip(&expected.sum[..]);
            assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-14));
            for (found, expected) in
                [(joined.first_end, expected.first_end), (joined.last_end, expected.last_end)]
            {
                assert!((found.norm2 / expected.norm2 - 1.0).abs() < 1e-14);
                assert!((found.along_sum / expected.along_sum - 1.0).abs() < 1e-14);
            }
            let along = |end: End| end.along_sum.to_bits();
            sums.push((along(joined.first_end), along(joined.last_end)));
        }
        assert!(sums.iter().all(|sum| *sum == sums[0]), "levels agree to the bit");
    }

    /// Two pieces that are fine by themselves and as a whole, with a reversal hidden at the seam.
    #[test]
    fn a_reversal_at_the_seam_is_seen() {
        let leaves = [[3.0, 0.0], [3.0, 0.0], [-2.0, 2.5], [4.0, 0.0]];
        let full_piece = piece(&leaves);
        assert!(!is_turning(full_piece.first_end.along_sum, full_piece.last_end.along_sum));
        let right = piece(&leaves[2..]);
        assert!(!is_turning(right.first_end.along_sum, right.last_end.along_sum));
        assert_eq!(join(&leaves, &[2]).0, 1);
    }

    #[test]
    fn two_leaves_turn_when_the_longer_one_points_back() {
        assert_eq!(join(&[[1.0, 0.0], [-0.9, 0.1]], &[]).0, 0);
        assert_eq!(join(&[[1.0, 0.0], [-0.9, 1.0]], &[]).0, 1);
    }

    #[test]
    fn nan_counts_as_turning() {
        assert!(is_turning(f64::NAN, 1.0) && is_turning(1.0, f64::NAN) && !is_turning(1.0, 1.0));
    }
}
