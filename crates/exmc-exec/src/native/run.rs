//! Running: a program, packed data and a position -> values in an instance's arena.
//!
//! A loop runs block after block, and for each block its instructions one after the other; a block's
//! registers stay in the first-level cache. Nothing is allocated or looked up.

use exmc_graph::kernels::{Arg, concat_into, evaluate_into};
use exmc_graph::{EvaluateError, Op, Shape};
use exmc_math::simd::{Kernel, Level, Simd};

use super::block::{Block, run_instruction};
use super::pack::{Line, Packed, elements, read_elements, zeros};
use super::program::{Call, LANES, Loop, Place, Program, Region, Scan, Stage};
use crate::reference;

/// An instance's memory.
#[derive(Debug)]
pub(crate) struct Frame {
    arena: Vec<Line>,
    /// Frames of the scans' plans.
    scans: Vec<reference::Frame>,
}

impl Frame {
    /// Memory for a program, zeros.
    pub(crate) fn new(program: &Program) -> Self {
        let scans = program.scans.iter().map(|scan| reference::Frame::new(&scan.plan)).collect();
        Self { arena: zeros(program.arena), scans }
    }

    /// Evaluates a program at a position.
    ///
    /// # Errors
    /// When an index that a scan computes leaves its extent.
    pub(crate) fn run(
        &mut self,
        level: Level,
        program: &Program,
        packed: &Packed,
        position: &[f64],
    ) -> Result<(), EvaluateError> {
        let arena = elements(&mut self.arena);
        for &(from, len, place) in &program.inputs {
            let to = place.offset as usize;
            if len == 1 {
                arena[to..to + LANES].fill(position[from]);
            } else {
                arena[to..to + len].copy_from_slice(&position[from..from + len]);
            }
        }
        level.run(Walk { program, packed, arena, scans: &mut self.scans })
    }

    /// Copies root `number` after a run; one element stands for as many as there are in `out`.
    pub(crate) fn read(&self, program: &Program, packed: &Packed, number: usize, out: &mut [f64]) {
        let (place, len) = program.roots[number];
        let lines = if place.region == Region::Shared { &packed.lines } else { &self.arena };
        let (values, start) = (read_elements(lines), place.offset as usize);
        if len == 1 {
            out.fill(values[start]);
        } else {
            out.copy_from_slice(&values[start..start + out.len()]);
        }
    }
}

/// All stages of a program.
struct Walk<'a> {
    program: &'a Program,
    packed: &'a Packed,
    arena: &'a mut [f64],
    scans: &'a mut [reference::Frame],
}

impl Kernel for Walk<'_> {
    type Output = Result<(), EvaluateError>;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> Result<(), EvaluateError> {
        for stage in &self.program.stages {
            match stage {
                Stage::Loop(stage) if stage.single => {
                    run_loop::<S, true>(s, stage, self.packed, self.arena);
                }
                Stage::Loop(stage) => run_loop::<S, false>(s, stage, self.packed, self.arena),
                Stage::Call(call) => run_call(call, self.packed, self.arena)?,
                Stage::Scan(k) => {
                    let scan = &self.program.scans[*k];
                    run_scan(scan, &mut self.scans[*k], self.packed, self.arena)?;
                }
            }
        }
        Ok(())
    }
}

#[inline(always)]
fn run_loop<S: Simd, const SINGLE: bool>(s: S, stage: &Loop, packed: &Packed, arena: &mut [f64]) {
    // Places of the shared region are never written.
    let memory = [arena.as_mut_ptr(), packed.lines.as_ptr().cast::<f64>().cast_mut()];
    let mut start = 0;
    loop {
        let len = stage.block.min(stage.n - start);
        let block = Block::<SINGLE> {
            memory,
            indices: &packed.indices,
            extras: &stage.extras,
            size: stage.block,
            start,
            len,
            vectors: len.div_ceil(LANES),
            last: start + len == stage.n,
        };
        // Seen through a black box, the block's numbers are read where an instruction needs them; otherwise
        // the compiler works out before each block what every kind of instruction might need.
        let seen = if SINGLE { &block } else { std::hint::black_box(&block) };
        for instruction in &stage.body {
            run_instruction(s, seen, instruction);
        }
        start += len;
        if block.last {
            return;
        }
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
