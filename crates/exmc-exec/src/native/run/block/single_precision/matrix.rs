//! Matrices of `f32`: a packed matrix and a vector -> a block of their product, or a sum in `f64`
//! for every column.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_math::simd::Simd;
use exmc_math::simd::single::Single;

use super::sums::{lanes, tail};
use super::{Lanes, SINGLES, Source, load, store};
use crate::native::program::LANES;
use crate::native::run::block;
use crate::native::run::block::{Block, Detail, Step};

/// Columns whose products are added up at a time: a sum of `f32` is off by half an ulp for each of
/// so many at most.
const COLUMNS: usize = 64;

/// The block's tiles of a matrix, and its columns.
fn matrix<const SINGLE: bool>(block: Block<'_, SINGLE>, i: &Step) -> (*const f32, usize) {
    let Some(&Detail::Matrix { columns }) = i.detail.as_deref() else {
        unreachable!("lowered with its matrix")
    };
    // SAFETY: the shared region holds all tiles; a block begins with a tile.
    (unsafe { i.b.first.cast_const().cast::<f32>().add(block.start() * columns) }, columns)
}

/// Rows of a block times a vector of `f64`, four tiles at a time, columns in order.
#[inline(always)]
pub(super) fn mat_vec<T: Single, const SINGLE: bool>(t: T, block: Block<'_, SINGLE>, i: &Step) {
    let (x, columns) = matrix(block, i);
    let (factors, out) = (i.a.first, block.write_single(i.out));
    let height = columns * SINGLES;
    // Vector k of tile v, and factor k; tiles below the block's vectors and columns below `columns`
    // are there.
    macro_rules! entry {
        ($v:expr, $k:expr) => {
            load!(t, Source::Array(x.wrapping_add($v * height)), $k)
        };
    }
    macro_rules! factor {
        ($k:expr) => {{
            // SAFETY: there are `columns` factors.
            t.splat(unsafe { *factors.add($k) } as f32)
        }};
    }
    // What the columns before gave, and this.
    macro_rules! finish {
        ($first:expr, $v:expr, $sum:expr) => {{
            let so_far = if $first == 0 {
                $sum
            } else {
                t.add(load!(t, Source::Array(out.cast_const()), $v), $sum)
            };
            store!(t, out, $v, so_far);
        }};
    }
    let mut first = 0;
    while first < columns {
        let end = columns.min(first + COLUMNS);
        let mut v = 0;
        while v + 4 <= block.single_vectors() {
            let zero = t.splat(0.0);
            let (mut s0, mut s1, mut s2, mut s3) = (zero, zero, zero, zero);
            for k in first..end {
                let factor = factor!(k);
                s0 = t.fma(entry!(v, k), factor, s0);
                s1 = t.fma(entry!(v + 1, k), factor, s1);
                s2 = t.fma(entry!(v + 2, k), factor, s2);
                s3 = t.fma(entry!(v + 3, k), factor, s3);
            }
            finish!(first, v, s0);
            finish!(first, v + 1, s1);
            finish!(first, v + 2, s2);
            finish!(first, v + 3, s3);
            v += 4;
        }
        while v < block.single_vectors() {
            let mut sum = t.splat(0.0);
            for k in first..end {
                sum = t.fma(entry!(v, k), factor!(k), sum);
            }
            finish!(first, v, sum);
            v += 1;
        }
        first = end;
    }
}

/// The transpose times the block's vector: a line of partial sums per column, rows in order.
///
/// A block's rows are added up in `f32`, at most sixteen to a lane, and blocks in `f64`.
#[inline(always)]
pub(super) fn mat_t_vec<T: Single, const SINGLE: bool>(t: T, block: Block<'_, SINGLE>, i: &Step) {
    let columns = matrix(block, i).1;
    let mut k = 0;
    while k + 4 <= columns {
        columns_of_transpose::<T, 4, SINGLE>(t, block, i, k);
        k += 4;
    }
    while k < columns {
        columns_of_transpose::<T, 1, SINGLE>(t, block, i, k);
        k += 1;
    }
}

/// `N` columns from `k` on.
#[inline(always)]
fn columns_of_transpose<T: Single, const N: usize, const SINGLE: bool>(
    t: T,
    block: Block<'_, SINGLE>,
    i: &Step,
    k: usize,
) {
    let (x, columns) = matrix(block, i);
    let residuals = block.read_single(i.a);
    let height = columns * SINGLES;
    let mut c = [t.splat(0.0); N];
    for v in 0..block.single_vectors() {
        let mut r = load!(t, residuals, v);
        if v * SINGLES + SINGLES > block.len() {
            r = t.select(tail(t, block.len()), r, t.splat(0.0));
        }
        // Tile v is inside the block, and columns k to k + N inside the matrix.
        let rows = Source::Array(x.wrapping_add(v * height + k * SINGLES));
        for (j, sum) in c.iter_mut().enumerate() {
            *sum = t.fma(load!(t, rows, j), r, *sum);
        }
    }
    let s = t.wide();
    let (sums, out) = (i.c.first, i.out.first);
    for (j, &sum) in c.iter().enumerate() {
        let mut sum = t.fold(sum);
        if !block.first() {
            sum = s.add(block::load!(s, (sums.cast_const(), LANES), k + j), sum);
        }
        if !block.last() {
            block::store!(s, sums, k + j, sum);
        } else if i.out.step == 0 {
            block::store!(s, out, 0, s.splat(s.total(lanes(s, sum))));
        } else {
            let total = s.total(lanes(s, sum));
            // SAFETY: the result has `columns` elements.
            unsafe { *out.add(k + j) = total };
        }
    }
}
