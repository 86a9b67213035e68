//! Running: a program, packed data and a position -> values in an instance's arena.
//!
//! A loop runs block after block, and for each block its instructions one after the other; a block's
//! registers stay in the first-level cache. Nothing is allocated or looked up.
#![expect(
    unsafe_code,
    reason = "a frame holds addresses of its own memory, which only it knows to move with it"
)]

use std::sync::Arc;

use exmc_graph::kernels::{Arg, concat_into, evaluate_into};
use exmc_graph::{EvaluateError, Op, Shape};
use exmc_math::simd::Level;

use super::pack::{Line, Packed, elements, read_elements, zeros};
use super::program::{Call, LANES, Place, Program, Region, Scan, Stage};
use super::resolve::{Walk, resolve};
use crate::reference;

/// An instance's memory, and its program's loops with the addresses there.
#[derive(Debug)]
pub(crate) struct Frame {
    arena: Vec<Line>,
    packed: Arc<Packed>,
    walks: Vec<Walk>,
    /// Frames of the scans' plans.
    scans: Vec<reference::Frame>,
}

// SAFETY: the addresses in `walks` are those of `arena`, which nobody else has, and of `packed`, which is only
// read; both move with the frame, which moves neither's elements.
unsafe impl Send for Frame {}

impl Frame {
    /// Memory for a program, zeros.
    pub(crate) fn new(level: Level, program: &Program, packed: &Arc<Packed>) -> Self {
        let scans = program.scans.iter().map(|scan| reference::Frame::new(&scan.plan)).collect();
        let mut arena = zeros(program.arena);
        let walks = resolve(level, program, packed, &mut arena);
        Self { arena, packed: Arc::clone(packed), walks, scans }
    }

    /// Evaluates the program that the frame was made for, at a position.
    ///
    /// # Errors
    /// When an index that a scan computes leaves its extent.
    pub(crate) fn run(&mut self, program: &Program, position: &[f64]) -> Result<(), EvaluateError> {
        let arena = elements(&mut self.arena);
        for &(from, len, place) in &program.inputs {
            let to = place.offset as usize;
            if len == 1 {
                arena[to..to + LANES].fill(position[from]);
            } else {
                arena[to..to + len].copy_from_slice(&position[from..from + len]);
            }
        }
        let mut walks = self.walks.iter();
        for stage in &program.stages {
            match stage {
                Stage::Loop(_) => walks.next().into_iter().for_each(run_loop),
                Stage::Call(call) => run_call(call, &self.packed, elements(&mut self.arena))?,
                Stage::Scan(k) => {
                    let arena = elements(&mut self.arena);
                    run_scan(&program.scans[*k], &mut self.scans[*k], &self.packed, arena)?;
                }
            }
        }
        Ok(())
    }

    /// Copies root `number` after a run; one element stands for as many as there are in `out`.
    pub(crate) fn read(&self, program: &Program, number: usize, out: &mut [f64]) {
        let (place, len) = program.roots[number];
        let shared = place.region == Region::Shared;
        let lines = if shared { &self.packed.lines } else { &self.arena };
        let (values, start) = (read_elements(lines), place.offset as usize);
        if len == 1 {
            out.fill(values[start]);
        } else {
            out.copy_from_slice(&values[start..start + out.len()]);
        }
    }
}

fn run_loop(walk: &Walk) {
    let mut span = walk.span;
    loop {
        for step in &walk.steps {
            step.routine.call(&span, step);
        }
        if span.last {
            return;
        }
        span.start += span.len;
        span.len = span.size.min(walk.n - span.start);
        span.vectors = span.len.div_ceil(LANES);
        span.last = span.start + span.len == walk.n;
    }
}

/// Elements of a place that is read as a whole.
fn whole<'a>(arena: &'a [f64], packed: &'a Packed, place: Place, len: usize) -> &'a [f64] {
    let start = place.offset as usize;
    match place.region {
        Region::Shared => &read_elements(&packed.lines)[start..start + len],
        _ => &arena[start..start + len],
    }
}

fn run_call(call: &Call, packed: &Packed, arena: &mut [f64]) -> Result<(), EvaluateError> {
    // A result is allocated when its call is lowered, after everything that the call reads.
    let (before, after) = arena.split_at_mut(call.out.offset as usize);
    let len = call.shape.len();
    let out = &mut after[..len.max(usize::from(call.out.step == 0) * LANES)];
    let arg = |k: usize| {
        let (place, shape) = &call.args[k];
        Arg { shape, values: whole(before, packed, *place, shape.len()) }
    };
    apply(&call.op, call.args.len(), arg, &call.shape, &mut out[..len])?;
    if call.out.step == 0 {
        let value = out[0];
        out.fill(value);
    }
    Ok(())
}

fn apply<'a>(
    op: &Op,
    count: usize,
    arg: impl Fn(usize) -> Arg<'a>,
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
        frame.input(slot).copy_from_slice(whole(arena, packed, place, len));
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
