//! Vectors of lanes -> rows, in the lanes of a mask.

use exmc_math::simd::Simd;

use crate::linalg::aligned_vector::Row;

/// Sets the lanes of a mask.
#[inline(always)]
pub(super) fn put<S: Simd>(s: S, mask: S::Mask, x: S::Vector, to: &mut Row) {
    s.store(s.select(mask, x, s.load(to)), to);
}

/// The same of a vector.
#[inline(always)]
pub(super) fn put_all<S: Simd, const P: usize>(
    s: S,
    mask: S::Mask,
    x: [S::Vector; P],
    to: &mut [Row],
) {
    for k in 0..P {
        put(s, mask, x[k], &mut to[k]);
    }
}
