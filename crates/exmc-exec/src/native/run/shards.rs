//! Loops in shards: a loop, the memory of every thread -> the loop's results, the same at any
//! number of threads.
#![expect(
    unsafe_code,
    reason = "threads write to parts of one arena, which slices of it cannot say"
)]

use super::block::{Span, Step};
use super::pool::Pool;
use super::run_blocks;
use crate::native::link::Linker;
use crate::native::program::{LANES, Loop, Place, Slots};

/// A loop in shards whose instructions know their addresses.
#[derive(Debug)]
pub(in crate::native) struct Shards {
    n: usize,
    block: usize,
    shards: usize,
    /// The loop with every thread's registers, and where its sinks leave their results there.
    threads: Box<[Thread]>,
    slots: Box<[Slot]>,
}

#[derive(Debug)]
struct Thread {
    steps: Box<[Step]>,
    /// What a sink found in the shard that the thread ran last.
    parts: Box<[*const f64]>,
}

/// Where the shards' results of a sink are, and where their sum belongs.
#[derive(Debug)]
struct Slot {
    /// Of the first shard; the others' are `stride` elements apart.
    first: *mut f64,
    stride: usize,
    len: usize,
    out: *mut f64,
    /// Whether the sum is a scalar, which fills a line.
    scalar: bool,
}

// SAFETY: what is shared is addresses. A thread writes only its own registers, the elements of its
// shard's blocks, and its shard's slots, and reads besides only what nobody writes during the loop
// (`lower` splits no other loops).
unsafe impl Sync for Shards {}

impl Shards {
    /// Finds the addresses.
    pub(in crate::native) fn new(memory: &Linker<'_>, stage: &Loop) -> Self {
        let threads = memory.of_threads().map(|memory| {
            let parts = stage.slots.iter().map(|s| memory.first(s.part).cast_const());
            Thread { steps: memory.steps(stage).into(), parts: parts.collect() }
        });
        let slots = stage.slots.iter().map(|slots| {
            let &Slots { first, len, out, .. } = slots;
            let first = memory.first(Place { offset: first, ..out });
            let (stride, scalar) = (Slots::stride(len), out.step == 0);
            Slot { first, stride, len, out: memory.first(out), scalar }
        });
        let (threads, slots) = (threads.collect(), slots.collect());
        Self { n: stage.n, block: stage.block, shards: stage.shards, threads, slots }
    }

    /// Runs all shards, on the pool's threads if there is one. A function of its own, so that short
    /// programs need not make room for it.
    ///
    /// # Safety
    /// As for [`run_blocks`].
    #[inline(never)]
    pub(in crate::native) unsafe fn run(&self, pool: Option<&mut Pool>) {
        // SAFETY: the caller vouches for the frame; no two threads have one number.
        let run_shard = |thread, shard| unsafe { self.run_shard(thread, shard) };
        match pool {
            Some(pool) => pool.run(self.shards, &run_shard),
            None => (0..self.shards).for_each(|shard| run_shard(0, shard)),
        }
        self.slots.iter().for_each(|slot| slot.add_up(self.shards));
    }

    /// # Safety
    /// As for [`run_blocks`], and no other thread of this number runs.
    unsafe fn run_shard(&self, thread: usize, shard: usize) {
        let blocks = self.n.div_ceil(self.block);
        let start = |shard: usize| shard * blocks / self.shards * self.block;
        let end = start(shard + 1).min(self.n);
        let Thread { steps, parts } = &self.threads[thread];
        // SAFETY: the caller vouches for it.
        unsafe { run_blocks(steps, Span::new(self.block, start(shard), end), end) };
        for (slot, part) in self.slots.iter().zip(parts) {
            // SAFETY: the part has `len` elements, which only this thread writes; so has the
            // shard's slot.
            unsafe {
                let to = slot.first.add(shard * slot.stride);
                std::ptr::copy_nonoverlapping(*part, to, slot.len);
            }
        }
    }
}

impl Slot {
    /// Adds up the slots in the order of shards, all of which are done.
    fn add_up(&self, shards: usize) {
        // SAFETY: slots and result have `len` elements, a scalar result a line, in memory of their
        // own; no thread of the loop is at work any more.
        let (out, slots) = unsafe {
            let len = if self.scalar { LANES } else { self.len };
            let slots = std::slice::from_raw_parts(self.first.cast_const(), shards * self.stride);
            (std::slice::from_raw_parts_mut(self.out, len), slots)
        };
        let sum = &mut out[..self.len];
        let mut slots = slots.chunks_exact(self.stride);
        if let Some(first) = slots.next() {
            sum.copy_from_slice(&first[..self.len]);
        }
        for slot in slots {
            sum.iter_mut().zip(slot).for_each(|(sum, term)| *sum += term);
        }
        if self.scalar {
            let value = out[0];
            out.fill(value);
        }
    }
}
