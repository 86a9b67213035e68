//! The generalised U-turn criterion: momenta of two neighbouring pieces of a trajectory -> whether it
//! turns back on itself.
//!
//! A piece with summed momentum $\rho$ goes on while the velocity at both of its ends points along it,
//! $\rho\cdot M^{-1}p > 0$ (Betancourt 2017, appendix A.4.2); with whitened momenta that is a plain
//! inner product. When a left and a right piece join, three pieces are checked: the whole; the left
//! one with the first leaf of the right one; the last leaf of the left one with the right one. (The
//! last two close the gap that lets a trajectory of about one period slip through.)
//!
//! Every inner product expands into ones of the six vectors at hand, and those within one piece are
//! known from when it was made: a join costs six inner products and one addition.

use exmc_fault::{Fault, planted};

use crate::vector::{add_and_dot, add_scaled, dot};

/// A piece of consecutive leaves, in the order in which they were built.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// Momentum at the first leaf.
    pub(crate) first: Vec<f64>,
    /// Momentum at the last leaf.
    pub(crate) last: Vec<f64>,
    /// Sum of the momenta of all leaves, $\rho$.
    pub(crate) sum: Vec<f64>,
    pub(crate) ends: Ends,
}

/// Inner products at the two ends of a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) first: End,
    pub(crate) last: End,
}

/// Inner products at one end of a piece.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// $p\cdot p$.
    pub(crate) norm2: f64,
    /// $\rho\cdot p$.
    pub(crate) along_sum: f64,
}

/// A borrowed [`Piece`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side<'a> {
    pub(crate) first: &'a [f64],
    pub(crate) last: &'a [f64],
    pub(crate) sum: &'a [f64],
    pub(crate) ends: Ends,
}

impl Piece {
    pub(crate) fn new(dim: usize) -> Self {
        let end = End { norm2: 0.0, along_sum: 0.0 };
        Self {
            first: vec![0.0; dim],
            last: vec![0.0; dim],
            sum: vec![0.0; dim],
            ends: Ends { first: end, last: end },
        }
    }

    pub(crate) fn side(&self) -> Side<'_> {
        Side { first: &self.first, last: &self.last, sum: &self.sum, ends: self.ends }
    }

    /// Makes this the piece of the single leaf whose momentum is in `first`.
    pub(crate) fn single(&mut self, norm2: f64) {
        self.last.copy_from_slice(&self.first);
        self.sum.copy_from_slice(&self.first);
        let end = End { norm2, along_sum: norm2 };
        self.ends = Ends { first: end, last: end };
    }

    /// Makes this the piece of the two leaves whose momenta are in `first` and `last`, and returns
    /// whether it turns. (The checks across the seam are the check of the whole.)
    #[inline]
    pub(crate) fn pair(&mut self, first_norm2: f64, last_norm2: f64) -> bool {
        let across = add_and_dot(&self.first, &self.last, &mut self.sum);
        self.ends = Ends {
            first: End { norm2: first_norm2, along_sum: first_norm2 + across },
            last: End { norm2: last_norm2, along_sum: across + last_norm2 },
        };
        is_turning(self.ends.first.along_sum, self.ends.last.along_sum)
    }

    /// Joins the piece that was built before this one to it and returns whether they turn together.
    ///
    /// Sum and inner products cover both afterwards; `first` is left for the caller to swap in.
    #[inline]
    pub(crate) fn prepend(&mut self, left: Side<'_>) -> bool {
        // Block by block, so that each vector is fetched from beyond the first-level cache once.
        const BLOCK: usize = 256;
        let mut sums = [0.0; 6];
        let right = self.first.chunks(BLOCK).zip(self.last.chunks(BLOCK));
        let right = right.zip(self.sum.chunks_mut(BLOCK));
        let left_blocks = left.first.chunks(BLOCK).zip(left.last.chunks(BLOCK));
        let left_blocks = left_blocks.zip(left.sum.chunks(BLOCK));
        for (((l_first, l_last), l_sum), ((r_first, r_last), r_sum)) in left_blocks.zip(right) {
            sums[0] += dot(r_sum, l_first);
            sums[1] += dot(l_sum, r_last);
            sums[2] += dot(l_first, r_first);
            sums[3] += dot(l_sum, r_first);
            sums[4] += dot(l_last, r_sum);
            sums[5] += dot(l_last, r_last);
            add_scaled(1.0, l_sum, r_sum);
        }
        let (l, r) = (left.ends, self.ends);
        let whole = [l.first.along_sum + sums[0], sums[1] + r.last.along_sum];
        let left_and_first = [l.first.along_sum + sums[2], sums[3] + r.first.norm2];
        let last_and_right = [l.last.norm2 + sums[4], sums[5] + r.last.along_sum];
        self.ends = Ends {
            first: End { norm2: left.ends.first.norm2, along_sum: whole[0] },
            last: End { norm2: self.ends.last.norm2, along_sum: whole[1] },
        };
        is_turning(whole[0], whole[1])
            || (!planted(Fault::SkipSubtreeUturnChecks)
                && (is_turning(left_and_first[0], left_and_first[1])
                    || is_turning(last_and_right[0], last_and_right[1])))
    }
}

/// Whether the velocity at either end does not point along the summed momentum; NaN counts as turning.
#[inline]
fn is_turning(first: f64, last: f64) -> bool {
    let last = if planted(Fault::UturnSign) { -last } else { last };
    !(first > 0.0 && last > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(leaves: &[[f64; 2]]) -> Piece {
        let mut piece = Piece::new(2);
        let (first, last) = (leaves[0], leaves[leaves.len() - 1]);
        piece.first.copy_from_slice(&first);
        piece.last.copy_from_slice(&last);
        for leaf in leaves {
            add_scaled(1.0, leaf, &mut piece.sum);
        }
        piece.ends = Ends {
            first: End { norm2: dot(&first, &first), along_sum: dot(&first, &piece.sum) },
            last: End { norm2: dot(&last, &last), along_sum: dot(&last, &piece.sum) },
        };
        piece
    }

    fn circle(from: u32, to: u32, degrees: f64) -> Vec<[f64; 2]> {
        (from..to)
            .map(|i| libm::sincos((f64::from(i) * degrees).to_radians()))
            .map(|(s, c)| [c, s])
            .collect()
    }

    /// Momenta that turn evenly point away from their sum when the arc exceeds half a turn.
    #[test]
    fn an_arc_turns_when_it_exceeds_half_a_turn() {
        for (degrees, turns) in [(20.0, false), (25.0, false), (26.0, true), (40.0, true)] {
            let mut right = piece(&circle(4, 8, degrees));
            assert_eq!(right.prepend(piece(&circle(0, 4, degrees)).side()), turns, "{degrees}");
            let whole = piece(&circle(0, 8, degrees));
            assert!((right.ends.first.along_sum - whole.ends.first.along_sum).abs() < 1e-14);
            assert!((right.ends.last.along_sum - whole.ends.last.along_sum).abs() < 1e-14);
            assert!(right.sum.iter().zip(&whole.sum).all(|(a, b)| (a - b).abs() < 1e-14));
        }
    }

    /// Two pieces that are fine by themselves and as a whole, with a reversal hidden at the seam.
    #[test]
    fn a_reversal_at_the_seam_is_seen() {
        let left = piece(&[[3.0, 0.0], [3.0, 0.0]]);
        let mut right = piece(&[[-1.0, 0.1], [4.0, 0.0]]);
        let whole = [left.ends.first.along_sum + dot(&right.sum, &left.first), 0.0][0];
        assert!(whole > 0.0);
        assert!(right.prepend(left.side()));
    }

    #[test]
    fn nan_counts_as_turning() {
        assert!(is_turning(f64::NAN, 1.0) && is_turning(1.0, f64::NAN) && !is_turning(1.0, 1.0));
    }
}
