//! A vector of numbers -> whole rows of eight lanes on cache lines, as the kernels read it.
//!
//! Kernels run over rows and need no loop for a tail: the numbers that fill up the last row are
//! zero and stay zero, so they add nothing to an inner product. Everyone else sees a slice of the
//! length asked for.

use std::fmt;
use std::ops::{Deref, DerefMut};

use exmc_math::simd::Line;

/// Eight neighbouring numbers.
pub(crate) type Row = [f64; LANES];

pub(crate) use exmc_math::simd::LANES;

/// Rows that hold `len` numbers.
pub(crate) const fn rows_for(len: usize) -> usize {
    len.div_ceil(LANES)
}

/// A vector of fixed length that the sampler's kernels read and write in whole rows.
///
/// It is a slice of `f64` for everyone else. **Memory**: rows begin on cache lines.
///
/// ```
/// use exmc_infer::AlignedVec;
/// let mut x = AlignedVec::from(vec![1.0, 2.0, 3.0]);
/// x[1] = 5.0;
/// assert_eq!(&x[..], [1.0, 5.0, 3.0]);
/// ```
#[derive(Clone)]
pub struct AlignedVec {
    lines: Box<[Line]>,
    len: usize,
}

impl AlignedVec {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { lines: vec![Line::ZERO; rows_for(len)].into_boxed_slice(), len }
    }

    /// Keeps the first `len` numbers, a whole number of rows.
    pub(crate) fn truncate(&mut self, len: usize) {
        debug_assert!(len <= self.len && len.is_multiple_of(LANES), "whole rows stay");
        let mut lines = std::mem::take(&mut self.lines).into_vec();
        lines.truncate(rows_for(len));
        (self.lines, self.len) = (lines.into_boxed_slice(), len);
    }

    /// All rows; the last one ends with zeros.
    #[inline(always)]
    pub(crate) fn rows(&self) -> &[Row] {
        Line::rows(&self.lines)
    }

    /// Makes what lies beyond the length zero again, after a kernel that may have multiplied it by
    /// infinity.
    #[inline(always)]
    pub(crate) fn clear_padding(&mut self) {
        let len = self.len;
        self.rows_mut().as_flattened_mut()[len..].fill(0.0);
    }

    /// The first N rows, whose number the compiler knows; all rows for N = 0.
    #[inline(always)]
    pub(crate) fn known<const N: usize>(&self) -> &[Row] {
        if N == 0 { self.rows() } else { &self.rows()[..N] }
    }

    /// The same, to be written; what lies beyond the length must stay zero.
    #[inline(always)]
    pub(crate) fn known_mut<const N: usize>(&mut self) -> &mut [Row] {
        if N == 0 { self.rows_mut() } else { &mut self.rows_mut()[..N] }
    }

    /// All rows, to be written; what lies beyond the length must stay zero.
    #[inline(always)]
    pub(crate) fn rows_mut(&mut self) -> &mut [Row] {
        Line::rows_mut(&mut self.lines)
    }
}

impl Deref for AlignedVec {
    type Target = [f64];
    #[inline(always)]
    fn deref(&self) -> &[f64] {
        &self.rows().as_flattened()[..self.len]
    }
}

impl DerefMut for AlignedVec {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f64] {
        let len = self.len;
        &mut self.rows_mut().as_flattened_mut()[..len]
    }
}

impl From<&[f64]> for AlignedVec {
    fn from(numbers: &[f64]) -> Self {
        let mut out = Self::zeros(numbers.len());
        out.copy_from_slice(numbers);
        out
    }
}

impl From<Vec<f64>> for AlignedVec {
    fn from(numbers: Vec<f64>) -> Self {
        Self::from(&numbers[..])
    }
}

impl PartialEq for AlignedVec {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl fmt::Debug for AlignedVec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self[..].fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_aligned_and_end_with_zeros() {
        for len in 0..40_usize {
            let numbers: Vec<f64> = (1..=len).map(|i| i as f64).collect();
            let padded = AlignedVec::from(numbers.clone());
            let copy = padded.clone();
            for padded in [&padded, &copy] {
                assert_eq!(padded[..], numbers[..]);
                assert_eq!(padded.rows().len(), len.div_ceil(8));
                let flat = padded.rows().as_flattened();
                assert_eq!(flat[..len], numbers[..]);
                assert!(flat[len..].iter().all(|x| *x == 0.0));
                assert_eq!(padded.rows().as_ptr().align_offset(64), 0, "length {len}");
            }
            assert_eq!(padded, copy);
        }
        assert_ne!(AlignedVec::zeros(2), AlignedVec::zeros(3));
    }
}
