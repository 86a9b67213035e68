//! Between `f64` and `f32`: a block of one type -> the same of the other; elements of a table by
//! index -> a block of `f32`.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_math::simd::Simd;
use exmc_math::simd::single::Single;

use super::{Lanes, SINGLES};
use crate::native::program::LANES;
use crate::native::run::block::index::{block_runs, index};
use crate::native::run::block::{Block, Step, load, store};

/// Vectors of `f64` that vector number `v` of `f32` stands for: the second may lie behind the
/// array's end.
#[inline(always)]
fn has_second<const SINGLE: bool>(block: Block<'_, SINGLE>, v: usize) -> bool {
    2 * v + 1 < block.vectors()
}

/// An array of `f64`, rounded to one of `f32`.
#[inline(always)]
pub(in crate::native::run::block) fn narrow<S: Simd, const SINGLE: bool>(
    s: S,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let t = s.single();
    let w = t.wide();
    let (a, out) = (block.read(i.a), block.write_single(i.out));
    for v in 0..block.single_vectors() {
        let low = load!(w, a, 2 * v);
        let high = if has_second(block, v) { load!(w, a, 2 * v + 1) } else { w.splat(0.0) };
        super::store!(t, out, v, t.narrow([low, high]));
    }
}

/// An array of `f32` as one of `f64`.
#[inline(always)]
pub(in crate::native::run::block) fn widen<S: Simd, const SINGLE: bool>(
    s: S,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let t = s.single();
    let w = t.wide();
    let (a, out) = (block.write_single(i.a).cast_const(), block.write(i.out));
    for v in 0..block.single_vectors() {
        // SAFETY: `v` is below the block's number of vectors; arrays of `f32` are there to the end
        // of a vector.
        let x = t.load(unsafe { &*a.add(v * SINGLES).cast::<Lanes>() });
        let [low, high] = t.widen(x);
        store!(w, out, 2 * v, low);
        if has_second(block, v) {
            store!(w, out, 2 * v + 1, high);
        }
    }
}

/// Elements of a table of `f64`, rounded.
#[inline(always)]
pub(super) fn load_by_index<T: Single, const SINGLE: bool>(
    t: T,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let (index, _) = index(i);
    let (table, out) = (i.a.first, block.write_single(i.out));
    if index.first_runs.is_empty() || index.rises {
        let elements = &index.elements[block.start()..block.start() + block.len()];
        for (j, &k) in elements.iter().enumerate() {
            // SAFETY: `pack` checked every index against the table's length; j is inside the block.
            unsafe { *out.add(j) = *table.add(k as usize) as f32 };
        }
        return;
    }
    for run in block_runs(block, index) {
        // SAFETY: `pack` checked every index against the table's length.
        let value = unsafe { *table.add(run.target as usize) } as f32;
        let (from, len) = (run.start as usize - block.start(), (run.end - run.start) as usize);
        // SAFETY: the run is inside the block.
        let part = unsafe { std::slice::from_raw_parts_mut(out.add(from), len) };
        let (lines, rest) = part.as_chunks_mut::<SINGLES>();
        for line in lines {
            t.store(t.splat(value), line);
        }
        rest.fill(value);
    }
}

const _: () = assert!(SINGLES == 2 * LANES, "a vector of f32 is two of f64");
