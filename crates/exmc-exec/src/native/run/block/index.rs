//! Elements by index: an array and an index -> a block, and a block added to an array.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use std::ops::Range;

use exmc_fault::{Fault, planted};
use exmc_math::simd::Simd;

use super::sums::tail;
use super::{Block, Detail, Step, load, store};
use crate::native::compile::loop_ir::NOTHING;
use crate::native::program::LANES;
use crate::native::run::pack::{PackedIndex, Run};

pub(super) fn index(i: &Step) -> (&PackedIndex, usize) {
    let Some(Detail::Index { index, len }) = i.detail.as_deref() else {
        unreachable!("lowered with its index")
    };
    (index, *len)
}

/// The runs of a block.
pub(super) fn block_runs<'a, const SINGLE: bool>(
    block: Block<'_, SINGLE>,
    index: &'a PackedIndex,
) -> &'a [Run] {
    let number = block.start() / block.0.size;
    &index.runs[index.first_runs[number] as usize..index.first_runs[number + 1] as usize]
}

#[inline(always)]
pub(super) fn load_by_index<S: Simd, const HOLES: bool, const SINGLE: bool>(
    s: S,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let (index, _) = index(i);
    let elements = &index.elements[block.start()..block.start() + block.len()];
    let (table, out) = (i.a.first, block.write(i.out));
    if i.out.step == 0 {
        let k = elements[0];
        // SAFETY: `pack` checked every index against the table's length; a scalar has a line.
        unsafe {
            let value = if HOLES && k == NOTHING { 0.0 } else { *table.add(k as usize) };
            std::slice::from_raw_parts_mut(out, LANES).fill(value);
        }
        return;
    }
    if !HOLES && !index.first_runs.is_empty() {
        for run in block_runs(block, index) {
            // SAFETY: `pack` checked every index against the table's length.
            let value = unsafe { *table.add(run.target as usize) };
            let (from, to) = (run.start as usize, run.end as usize);
            // SAFETY: the run is inside the block.
            let part =
                unsafe { std::slice::from_raw_parts_mut(out.add(from - block.start()), to - from) };
            if index.rises {
                // SAFETY: `pack` checked all indices of the run; the result is in memory of its
                // own.
                part.copy_from_slice(unsafe {
                    std::slice::from_raw_parts(table.add(run.target as usize), to - from)
                });
                continue;
            }
            let (lines, rest) = part.as_chunks_mut::<LANES>();
            for line in lines {
                s.store(s.splat(value), line);
            }
            rest.fill(value);
        }
        return;
    }
    for (j, &k) in elements.iter().enumerate() {
        // SAFETY: `pack` checked every index against the table's length; j is inside the block.
        unsafe {
            *out.add(j) = if HOLES && k == NOTHING { 0.0 } else { *table.add(k as usize) };
        }
    }
}

/// Copies a piece's elements of the block: whole vectors as such, because who reads a vector soon
/// after waits if it was not written as one.
#[inline(always)]
pub(super) fn copy_piece<S: Simd, const SINGLE: bool>(s: S, block: Block<'_, SINGLE>, i: &Step) {
    let Some(&Detail::Piece { start, len }) = i.detail.as_deref() else {
        unreachable!("lowered with its piece")
    };
    let from = start.max(block.start());
    let to = (start + len).min(block.start() + block.len());
    if from >= to {
        return;
    }
    // Elements of the block.
    let (first, end) = (from - block.start(), to - block.start());
    let aligned = first.next_multiple_of(LANES).min(end)..end / LANES * LANES;
    // SAFETY: elements `from` to `to` are inside the piece.
    let (source, out) = (unsafe { i.a.first.cast_const().add(from - start) }, block.write(i.out));
    let copy = |range: Range<usize>| {
        for k in range {
            // SAFETY: so is element k, and inside the block; the piece is in memory of its own.
            unsafe { *out.add(k) = *source.add(k - first) };
        }
    };
    if aligned.is_empty() {
        return copy(first..end);
    }
    copy(first..aligned.start);
    // SAFETY: this element is inside the piece.
    let vectors = (unsafe { source.add(aligned.start - first) }, LANES);
    for v in aligned.start / LANES..aligned.end / LANES {
        let line = load!(s, vectors, v - aligned.start / LANES);
        store!(s, out, v, line);
    }
    copy(aligned.end..end);
}

/// Adds to a number.
///
/// # Safety
/// The number must be there, and nothing else may refer to it.
#[inline(always)]
pub(super) unsafe fn add_to(target: *mut f64, value: f64) {
    // SAFETY: the caller vouches for it.
    unsafe {
        *target = if planted(Fault::GradientGatherOverwrites) { value } else { *target + value }
    }
}

/// Adds elements of a block, from `from` on, to as many neighbours.
///
/// # Safety
/// They must be there, and nothing else may refer to the neighbours.
#[inline(always)]
unsafe fn add_run<S: Simd>(
    s: S,
    to: *mut f64,
    (values, step): (*const f64, usize),
    from: usize,
    len: usize,
) {
    let full_vectors =
        if step == 0 || planted(Fault::GradientGatherOverwrites) { 0 } else { len / LANES };
    for v in 0..full_vectors {
        // SAFETY: the caller vouches for the elements.
        let terms = load!(s, (unsafe { values.add(from) }, LANES), v);
        let before = load!(s, (to.cast_const(), LANES), v);
        store!(s, to, v, s.add(before, terms));
    }
    for j in full_vectors * LANES..len {
        let k = if step == 0 { 0 } else { from + j };
        // SAFETY: as above.
        unsafe { add_to(to.add(j), *values.add(k)) };
    }
}

#[inline(always)]
pub(super) fn scatter<S: Simd, const SINGLE: bool>(s: S, block: Block<'_, SINGLE>, i: &Step) {
    let (index, len) = index(i);
    let out = i.out.first;
    let (values, step) = block.read(i.a);
    if block.first() {
        // SAFETY: the result has `len` elements.
        unsafe { std::slice::from_raw_parts_mut(out, len) }.fill(0.0);
    }
    if index.first_runs.is_empty() {
        let elements = &index.elements[block.start()..block.start() + block.len()];
        for (j, &k) in elements.iter().enumerate() {
            let j = if step == 0 { 0 } else { j };
            // SAFETY: `pack` checked every index against the result's length; j is inside the
            // block.
            unsafe { add_to(out.add(k as usize), *values.add(j)) };
        }
    } else {
        for run in block_runs(block, index) {
            let (from, len) = (run.start as usize - block.start(), (run.end - run.start) as usize);
            if index.rises {
                // SAFETY: `pack` checked all indices of the run against the result's length; the
                // run is inside the block.
                unsafe { add_run(s, out.add(run.target as usize), (values, step), from, len) };
                continue;
            }
            let from = if step == 0 { 0 } else { from };
            let full_vectors = len / LANES;
            let mut total = s.splat(0.0);
            // SAFETY: the run is inside the block, for which `read` has memory to the end of a line
            // more.
            let operand = (unsafe { values.add(from) }, step);
            for v in 0..full_vectors {
                total = s.add(total, load!(s, operand, v));
            }
            if len % LANES > 0 {
                let term = s.select(tail(s, len), load!(s, operand, full_vectors), s.splat(0.0));
                total = s.add(total, term);
            }
            // SAFETY: `pack` checked every index against the result's length.
            unsafe { add_to(out.add(run.target as usize), s.total(total)) };
        }
    }
    if block.last() && i.out.step == 0 {
        // SAFETY: a scalar has a line.
        unsafe {
            let value = *out;
            std::slice::from_raw_parts_mut(out, LANES).fill(value);
        }
    }
}
