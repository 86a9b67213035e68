//! Resolving: a program and packed data -> steps with the addresses of one instance's memory.
#![expect(
    unsafe_code,
    reason = "addresses are found once, so that an instruction reads its operands without looking them up"
)]

use std::sync::Arc;

use exmc_math::simd::Level;

use super::block::{Detail, Operand, Span, Step, routine};
use super::pack::{Line, Packed};
use super::program::{Extra, Instruction, LANES, Loop, Place, Program, Region, Stage};

/// A loop whose instructions know their addresses.
#[derive(Debug)]
pub(super) struct Walk {
    /// The first block.
    pub(super) span: Span,
    /// Elements of all blocks.
    pub(super) n: usize,
    pub(super) steps: Box<[Step]>,
}

/// The loops of a program, in order. The addresses are those of `arena` and `packed`, which the caller keeps
/// as they are for as long as it runs the loops.
pub(super) fn resolve(
    level: Level,
    program: &Program,
    packed: &Packed,
    arena: &mut Vec<Line>,
) -> Vec<Walk> {
    // Taken from the vector, not from a slice of it: such an address outlives other borrows of the elements.
    let memory = Memory { arena: arena.as_mut_ptr().cast(), packed };
    let loops = program.stages.iter().filter_map(|stage| match stage {
        Stage::Loop(stage) => Some(memory.walk(level, stage)),
        Stage::Call(_) | Stage::Scan(_) => None,
    });
    loops.collect()
}

/// The two regions.
struct Memory<'a> {
    arena: *mut f64,
    packed: &'a Packed,
}

impl Memory<'_> {
    fn walk(&self, level: Level, stage: &Loop) -> Walk {
        let len = stage.block.min(stage.n);
        let span = Span {
            size: stage.block,
            start: 0,
            len,
            vectors: len.div_ceil(LANES),
            last: len == stage.n,
        };
        let steps = stage.body.iter().map(|i| self.step(level, stage, i)).collect();
        Walk { span, n: stage.n, steps }
    }

    fn step(&self, level: Level, stage: &Loop, i: &Instruction) -> Step {
        let [out, a, mut b, c] = [i.out, i.a, i.b, i.c].map(|place| self.operand(place));
        let detail = i.extra.map(|k| match &stage.extras[k as usize] {
            Extra::Lane { op, shapes } => Detail::Lane { op: op.clone(), shapes: shapes.clone() },
            Extra::Index { number, len } => {
                Detail::Index { index: Arc::clone(&self.packed.indices[*number]), len: *len }
            }
            Extra::Piece { start, len } => Detail::Piece { start: *start, len: *len },
            Extra::Matrix { offset, columns } => {
                b = self.at(Region::Shared, *offset, 0, false);
                Detail::Matrix { columns: *columns }
            }
        });
        let routine = routine(level, i.code, stage.single);
        Step { routine, out, a, b, c, detail: detail.map(Arc::new) }
    }

    fn operand(&self, place: Place) -> Operand {
        self.at(place.region, place.offset as usize, place.step, place.stream)
    }

    fn at(&self, region: Region, offset: usize, step: u8, stream: bool) -> Operand {
        let base = match region {
            Region::Shared => self.packed.lines.as_ptr().cast::<f64>().cast_mut(),
            Region::Arena | Region::Register => self.arena,
        };
        // SAFETY: the regions are as large as the program says, and its places lie inside.
        let first = unsafe { base.add(offset) };
        Operand { first, step: u32::from(step), advance: u32::from(stream) }
    }
}
