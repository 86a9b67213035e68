//! Matrices: a packed matrix and a vector -> a block of their product, or a sum for every column.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_math::simd::Simd;

use super::sums::tail;
use super::{Block, Detail, Step, load, store};
use crate::native::program::LANES;

/// The block's tiles of a matrix, and its columns.
fn matrix<const SINGLE: bool>(block: Block<'_, SINGLE>, i: &Step) -> (*const f64, usize) {
    let Some(&Detail::Matrix { columns }) = i.detail.as_deref() else {
        unreachable!("lowered with its matrix")
    };
    // SAFETY: the shared region holds all tiles; a block begins with a tile.
    (unsafe { i.b.first.cast_const().add(block.start() * columns) }, columns)
}

/// Rows of a block times a vector, four tiles at a time, columns in order.
#[inline(always)]
pub(super) fn mat_vec<S: Simd, const SINGLE: bool>(s: S, block: Block<'_, SINGLE>, i: &Step) {
    let (x, columns) = matrix(block, i);
    let (factors, out) = (i.a.first, block.write(i.out));
    let tile = columns * LANES;
    // Vector k of tile t, and factor k; tiles below the block's vectors and columns below `columns`
    // are there.
    macro_rules! entry {
        ($t:expr, $k:expr) => {
            load!(s, (x.wrapping_add($t * tile), LANES), $k)
        };
    }
    macro_rules! factor {
        ($k:expr) => {{
            // SAFETY: there are `columns` factors.
            s.splat(unsafe { *factors.add($k) })
        }};
    }
    let mut t = 0;
    while t + 4 <= block.vectors() {
        let zero = s.splat(0.0);
        let (mut s0, mut s1, mut s2, mut s3) = (zero, zero, zero, zero);
        for k in 0..columns {
            let factor = factor!(k);
            s0 = s.fma(entry!(t, k), factor, s0);
            s1 = s.fma(entry!(t + 1, k), factor, s1);
            s2 = s.fma(entry!(t + 2, k), factor, s2);
            s3 = s.fma(entry!(t + 3, k), factor, s3);
        }
        store!(s, out, t, s0);
        store!(s, out, t + 1, s1);
        store!(s, out, t + 2, s2);
        store!(s, out, t + 3, s3);
        t += 4;
    }
    while t < block.vectors() {
        let mut sum = s.splat(0.0);
        for k in 0..columns {
            sum = s.fma(entry!(t, k), factor!(k), sum);
        }
        store!(s, out, t, sum);
        t += 1;
    }
}

/// The transpose times the block's vector: a line of partial sums per column, rows in order.
///
/// This is the second time that a block's rows are read, from the nearest cache, so meanwhile those
/// of the next block are fetched. Six columns at a time have sums enough to hide the latency of a
/// fused multiply-add, in half the registers of AVX2 each; two more do not fit.
#[inline(always)]
pub(super) fn mat_t_vec<S: Simd, const SINGLE: bool>(s: S, block: Block<'_, SINGLE>, i: &Step) {
    if block.last() {
        all_columns::<S, false, SINGLE>(s, block, i);
    } else {
        all_columns::<S, true, SINGLE>(s, block, i);
    }
}

#[inline(always)]
fn all_columns<S: Simd, const AHEAD: bool, const SINGLE: bool>(
    s: S,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let columns = matrix(block, i).1;
    let mut k = 0;
    while k < columns {
        k += match columns - k {
            // Twice four rather than six and two.
            8 | 4 | 5 => columns_of_transpose::<S, 4, AHEAD, SINGLE>(s, block, i, k),
            1 => columns_of_transpose::<S, 1, AHEAD, SINGLE>(s, block, i, k),
            2 | 3 => columns_of_transpose::<S, 2, AHEAD, SINGLE>(s, block, i, k),
            _ => columns_of_transpose::<S, 6, AHEAD, SINGLE>(s, block, i, k),
        };
    }
}

/// `N` columns from `k` on, while as much of the next block is fetched if it is to be read `AHEAD`;
/// N.
#[inline(always)]
fn columns_of_transpose<S: Simd, const N: usize, const AHEAD: bool, const SINGLE: bool>(
    s: S,
    block: Block<'_, SINGLE>,
    i: &Step,
    k: usize,
) -> usize {
    let (x, columns) = matrix(block, i);
    let residuals = block.read(i.a);
    let sums = i.c.first;
    let tile = columns * LANES;
    let zero = s.splat(0.0);
    let mut c = [zero; N];
    if !block.first() {
        for (j, sum) in c.iter_mut().enumerate() {
            *sum = load!(s, (sums.cast_const(), LANES), k + j);
        }
    }
    for t in 0..block.vectors() {
        let mut r = load!(s, residuals, t);
        if t * LANES + LANES > block.len() {
            r = s.select(tail(s, block.len()), r, zero);
        }
        // Tile t is inside the block, and columns k to k + N inside the matrix.
        let rows = (x.wrapping_add(t * tile + k * LANES), LANES);
        for (j, sum) in c.iter_mut().enumerate() {
            *sum = s.fma(load!(s, rows, j), r, *sum);
            if AHEAD {
                s.prefetch(rows.0.wrapping_add(block.vectors() * tile + j * LANES));
            }
        }
    }
    let out = i.out.first;
    for (j, &sum) in c.iter().enumerate() {
        if !block.last() {
            store!(s, sums, k + j, sum);
        } else if i.out.step == 0 {
            store!(s, out, 0, s.splat(s.total(sum)));
        } else {
            let total = s.total(sum);
            // SAFETY: the result has `columns` elements.
            unsafe { *out.add(k + j) = total };
        }
    }
    N
}
