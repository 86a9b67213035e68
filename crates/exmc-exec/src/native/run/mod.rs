//! Running: a program, packed data and a position -> values in an instance's arena.
//!
//! A loop runs block after block, and for each block its instructions one after the other; a
//! block's registers stay in the first-level cache. Nothing is allocated or looked up.
#![expect(
    unsafe_code,
    reason = "a frame holds addresses of its own memory, which only it knows to move with it"
)]

pub(super) mod block;
pub(super) mod kernels;
pub(super) mod large_pages;
pub(super) mod linear_scan;
pub(super) mod log_sum_exp_scan;
pub(super) mod ode_rhs;
pub(super) mod pack;
pub(super) mod pool;
pub(super) mod scan_loop;
pub(super) mod shards;

use std::sync::Arc;

use exmc_graph::kernels::{Arg, concat_into, evaluate_into};
use exmc_graph::{EvaluateError, Op, Shape};
use exmc_math::simd::{Level, Line};

use super::compile::batch::BATCH;
use super::emit::Pages;
use super::link::{Resolved, Targets, Task, Whole, resolve};
use super::program::{Call, LANES, Place, Program, Region, Scan};
use super::run::block::{Span, Step};
use super::run::pack::{Packed, elements, read_elements, zeros};
use super::run::pool::Pool;
use crate::reference;

/// An instance's memory, and its program with the addresses there.
#[derive(Debug)]
pub(crate) struct Frame {
    arena: Vec<Line>,
    packed: Arc<Packed>,
    resolved: Resolved,
    /// Frames of the scans' plans.
    scans: Vec<reference::Frame>,
}

// SAFETY: the addresses in `resolved` are those of `arena`, which nobody else has, and of `packed`,
// which is only read; both move with the frame, which moves neither's elements. A pool's threads
// have addresses only while `run` waits for them.
unsafe impl Send for Frame {}

impl Frame {
    /// Memory for a program, zeros, for so many threads that run its loops in shards.
    pub(crate) fn new(
        level: Level,
        program: &Program,
        packed: &Arc<Packed>,
        targets: &Targets,
        threads: usize,
    ) -> Self {
        let threads = if program.shards() > 1 { threads } else { 1 };
        let scans = program.scans.iter().map(|scan| reference::Frame::new(&scan.plan)).collect();
        let mut arena = zeros(program.arena_of(threads).0);
        let resolved = resolve(level, program, packed, &mut arena, targets, threads);
        Self { arena, packed: Arc::clone(packed), resolved, scans }
    }

    /// Evaluates the program that the frame was made for, at a position, and copies the roots that
    /// are results, if all of it is one function; whether it is.
    #[inline]
    pub(crate) fn run_at_once(&mut self, position: &[f64], results: &mut [f64]) -> bool {
        let Resolved { inputs, program_entry, pages, outputs, .. } = &self.resolved;
        let (Some(entry), Some(pages)) = (program_entry, pages.get()) else { return false };
        // What reads memory that nobody wrote in this run shows in the result.
        if cfg!(debug_assertions) {
            self.arena.fill(Line([f64::NAN; LANES]));
        }
        // SAFETY: the frame owns its arena and holds its data; `verify` has checked the program.
        unsafe { pages.run_whole(*entry, &inputs.position(position), &outputs.results(results)) };
        true
    }

    /// Evaluates the program that the frame was made for, at a position, and copies the roots that
    /// are results.
    ///
    /// # Errors
    /// When an index that a scan computes leaves its extent.
    #[inline]
    pub(crate) fn run(
        &mut self,
        program: &Program,
        position: &[f64],
        results: &mut [f64],
        pool: Option<&mut Pool>,
    ) -> Result<(), EvaluateError> {
        if self.run_at_once(position, results) {
            return Ok(());
        }
        if cfg!(debug_assertions) {
            self.arena.fill(Line([f64::NAN; LANES]));
        }
        self.run_parts(program, position, results, pool)
    }

    /// The same of a program that is not one function.
    #[inline(never)]
    fn run_parts(
        &mut self,
        program: &Program,
        position: &[f64],
        results: &mut [f64],
        pool: Option<&mut Pool>,
    ) -> Result<(), EvaluateError> {
        let Resolved { inputs, read_inputs, tasks, pages, outputs, write_outputs, .. } =
            &self.resolved;
        let (position, results) = (inputs.position(position), outputs.results(results));
        // SAFETY: the frame owns its arena and holds its data; `verify` has checked the program;
        // position and results have been checked for all that the ends name.
        unsafe { read_inputs.call(inputs, &position) };
        let (packed, arena, scans) = (&self.packed, &mut self.arena, &mut self.scans);
        let pages = pages.get();
        let mut memory = Memory { program, packed, arena, scans, pages, pool };
        // SAFETY: as above.
        unsafe {
            run_tasks(tasks, &mut memory)?;
            write_outputs.call(outputs, &results);
        }
        Ok(())
    }

    /// Evaluates at a few positions, of which element k of position c is number `BATCH * k + c`,
    /// and copies the roots that are results; the first root at all positions. Of a narrow program
    /// that is [one function](Self::is_whole).
    #[inline]
    pub(super) fn run_narrow(&mut self, positions: &[f64], results: &mut [f64]) -> [f64; BATCH] {
        if cfg!(debug_assertions) {
            self.arena.fill(Line([f64::NAN; LANES]));
        }
        let Resolved { inputs, program_entry, pages, outputs, first, .. } = &self.resolved;
        if let (Some(entry), Some(pages)) = (program_entry, pages.get()) {
            // SAFETY: as in `run_at_once`.
            unsafe {
                pages.run_whole(*entry, &inputs.position(positions), &outputs.results(results))
            };
        }
        // SAFETY: a narrow program's numbers and constants have lines of their own, which nothing
        // writes now.
        unsafe { *first.cast() }
    }

    /// Whether all of the program is one function.
    pub(super) fn is_whole(&self) -> bool {
        self.resolved.program_entry.is_some() && self.resolved.pages.get().is_some()
    }

    /// After a run, the first root's first element; there must be one.
    #[inline]
    pub(crate) fn first(&self) -> f64 {
        // SAFETY: a root has an element, which nothing writes now.
        unsafe { *self.resolved.first }
    }
}

/// Runs a block and all that follow it up to the element `end`.
///
/// # Safety
/// The frame whose addresses the steps hold lives, its program was verified, and nothing else
/// refers to what the steps write.
pub(super) unsafe fn run_blocks(steps: &[Step], mut span: Span, end: usize) {
    loop {
        for step in steps {
            // SAFETY: the caller vouches for the frame.
            unsafe { step.routine.call(&span, step) };
        }
        if span.last {
            return;
        }
        span.start += span.len;
        span.len = span.size.min(end - span.start);
        span.vectors = span.len.div_ceil(LANES);
        span.first = false;
        span.last = span.start + span.len == end;
    }
}

/// What tasks that do not know their addresses work with.
struct Memory<'a> {
    program: &'a Program,
    packed: &'a Packed,
    arena: &'a mut [Line],
    scans: &'a mut [reference::Frame],
    pages: Option<&'a Pages>,
    pool: Option<&'a mut Pool>,
}

/// Runs tasks in order.
///
/// # Safety
/// As for [`run_blocks`].
#[inline]
unsafe fn run_tasks(tasks: &[Task], memory: &mut Memory<'_>) -> Result<(), EvaluateError> {
    for task in tasks {
        match task {
            Task::Line(steps) => {
                for step in steps {
                    // SAFETY: the caller vouches for the frame.
                    unsafe { step.routine.call(&step.span, step) };
                }
            }
            Task::Emitted(entry) | Task::LinkedScanLoop { entry, .. } => {
                if let Some(pages) = memory.pages {
                    // SAFETY: as above.
                    unsafe { pages.run(*entry, 0, 0, false) };
                }
            }
            Task::Blocks { n, steps } => {
                let Some(first) = steps.first() else { continue };
                // SAFETY: as above.
                unsafe { run_blocks(steps, first.span, *n) };
            }
            // SAFETY: as above.
            Task::Whole(whole_task) => unsafe { run_whole(whole_task, memory)? },
        }
    }
    Ok(())
}

/// Runs what is not a loop over blocks; a function of its own, so that straight lines need not make
/// room for it.
///
/// # Safety
/// As for [`run_blocks`].
#[inline(never)]
unsafe fn run_whole(whole_task: &Whole, memory: &mut Memory<'_>) -> Result<(), EvaluateError> {
    let Memory { program, packed, arena, scans, pool, .. } = memory;
    match whole_task {
        // SAFETY: the caller vouches for the frame, here and below.
        Whole::Kernel(task) => unsafe { task.run() },
        Whole::Call(call) => {
            run_call(call, packed, elements(arena), |arg, out| {
                apply(&call.op, call.args.len(), arg, &call.shape, out)
            })?;
        }
        Whole::OdeRhs(flow) => {
            run_call(&flow.call, packed, elements(arena), |arg, out| {
                flow.solve(arg(0).values, out);
                Ok(())
            })?;
        }
        Whole::Scan(k) => {
            run_scan(&program.scans[*k], &mut scans[*k], packed, elements(arena))?;
        }
        // SAFETY: as above.
        Whole::Recurrence(routine, steps) => unsafe { routine.call(&(), steps) },
        // SAFETY: as above.
        Whole::LogSumExpScan(routine, chain) => unsafe { routine.call(&(), chain) },
        // SAFETY: as above.
        Whole::LinearScan(routine, mixer) => unsafe { routine.call(&(), mixer) },
        // SAFETY: as above.
        Whole::Shards(shards) => unsafe { shards.run(pool.as_deref_mut()) },
        Whole::ScanLoop(turns) => {
            let copies = &turns.copies;
            copies.start();
            for step in 0..copies.length {
                let row_index = if copies.reverse { copies.length - 1 - step } else { step };
                copies.read(row_index);
                // SAFETY: as above.
                unsafe { run_tasks(&turns.tasks, memory)? };
                copies.write(row_index);
            }
            copies.finish();
        }
    }
    Ok(())
}

/// Elements of a place that is read as a whole.
fn elements_of<'a>(arena: &'a [f64], packed: &'a Packed, place: Place, len: usize) -> &'a [f64] {
    let start = place.offset as usize;
    match place.region {
        Region::Shared => &read_elements(&packed.lines)[start..start + len],
        _ => &arena[start..start + len],
    }
}

/// Runs a call; `compute` writes its result, given its arguments by number.
fn run_call(
    call: &Call,
    packed: &Packed,
    arena: &mut [f64],
    compute: impl for<'a> FnOnce(&dyn Fn(usize) -> Arg<'a>, &mut [f64]) -> Result<(), EvaluateError>,
) -> Result<(), EvaluateError> {
    // The result lies behind everything that the call reads.
    let (before, after) = arena.split_at_mut(call.out.offset as usize);
    let len = call.shape.len();
    let out = &mut after[..len.max(usize::from(call.out.step == 0) * LANES)];
    let arg = |k: usize| {
        let (place, shape) = &call.args[k];
        Arg { shape, values: elements_of(before, packed, *place, shape.len()) }
    };
    compute(&arg, &mut out[..len])?;
    if call.out.step == 0 {
        let value = out[0];
        out.fill(value);
    }
    Ok(())
}

fn apply<'a>(
    op: &Op,
    count: usize,
    arg: &dyn Fn(usize) -> Arg<'a>,
    shape: &Shape,
    out: &mut [f64],
) -> Result<(), EvaluateError> {
    match (op, count) {
        (Op::Concat { axis }, n) => {
            concat_into(*axis, shape, (0..n).map(arg), out);
            Ok(())
        }
        (_, 1) => evaluate_into(op, &[arg(0)], shape, out),
        (_, 2) => evaluate_into(op, &[arg(0), arg(1)], shape, out),
        _ => evaluate_into(op, &[arg(0), arg(1), arg(2)], shape, out),
    }
}

fn run_scan(
    scan: &Scan,
    frame: &mut reference::Frame,
    packed: &Packed,
    arena: &mut [f64],
) -> Result<(), EvaluateError> {
    for &(slot, place, len) in &scan.args {
        frame.input(slot).copy_from_slice(elements_of(arena, packed, place, len));
    }
    frame.run(&scan.plan, &[])?;
    for &(source, place, len) in &scan.outputs {
        let value = frame.value(source, &[]);
        let start = place.offset as usize;
        if len == 1 {
            arena[start..start + LANES].fill(value[0]);
        } else {
            arena[start..start + len].copy_from_slice(value);
        }
    }
    Ok(())
}
