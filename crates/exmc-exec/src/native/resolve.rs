//! Resolving: a program and packed data -> steps with the addresses of one instance's memory.
#![expect(
    unsafe_code,
    reason = "addresses are found once, so that an instruction reads its operands without looking them up"
)]

use std::sync::Arc;

use exmc_graph::Precision;
use exmc_math::simd::{Address, Level};

use super::block::{
    Detail, Input, Inputs, Lanes, Operand, Output, Outputs, Position, Reach, ReadInputs, Results,
    Span, Step, WriteOutputs, routine, single_routine,
};
use super::kernels;
use super::pack::{Line, Packed};
use super::program::{Call, Extra, Instruction, LANES, Loop, Place, Program, Region, Stage};
use super::repeat::{Steps, Turns};
use super::shards::Shards;

/// A part of a program that knows its addresses, or where it stands in the program.
#[derive(Debug)]
pub(super) enum Task {
    /// Loops of one block each, one after the other: a straight line.
    Line(Vec<Step>),
    /// A loop of more blocks.
    Blocks { n: usize, steps: Vec<Step> },
    /// What is not a loop over blocks.
    Whole(Whole),
}

/// What runs as a whole.
#[derive(Debug)]
pub(super) enum Whole {
    Kernel(kernels::Task),
    /// A call of the reference machinery.
    Call(Arc<Call>),
    /// Number of the scan.
    Scan(usize),
    Recurrence(Address<(), Steps>, Steps),
    Repeat(Turns),
    Shards(Shards),
}

/// A program whose addresses are those of one instance's memory.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) inputs: Inputs,
    pub(super) read_inputs: Address<Inputs, Position>,
    pub(super) tasks: Vec<Task>,
    pub(super) outputs: Outputs,
    pub(super) write_outputs: Address<Outputs, Results>,
    /// The first root's first element.
    pub(super) first: *const f64,
}

/// Which roots are results: number of a root, its first element among the results, and its length there.
pub(crate) type Targets = [(usize, usize, usize)];

/// Finds the addresses, which are those of `arena` and `packed`; the caller keeps both as they are for as
/// long as it uses the result.
pub(super) fn resolve(
    level: Level,
    program: &Program,
    packed: &Packed,
    arena: &mut Vec<Line>,
    targets: &Targets,
    threads: usize,
) -> Resolved {
    let (len, apart) = program.arena_of(threads);
    assert!(len <= arena.len() * LANES, "the arena has room for every thread");
    // Taken from the vector, not from a slice of it: such an address outlives other borrows of the elements.
    let (arena, own) = (arena.as_mut_ptr().cast(), program.own);
    let memory = Memory { level, arena, packed, own, apart, threads, thread: 0 };
    let inputs = program.inputs.iter().map(|&(from, len, place)| {
        let to = memory.operand(place).first;
        Input { from, len, to }
    });
    let outputs = targets.iter().map(|&(root, start, len)| {
        let (place, there) = program.roots[root];
        assert!(there == 1 || there == len, "a root is as long as its result");
        Output { from: memory.operand(place).first, scalar: there == 1, start, len }
    });
    let first = program
        .roots
        .first()
        .map_or(std::ptr::null(), |&(place, _)| memory.operand(place).first.cast_const());
    Resolved {
        inputs: Inputs::new(inputs.collect()),
        read_inputs: level.address::<ReadInputs>(),
        tasks: memory.tasks(&program.stages),
        outputs: Outputs::new(outputs.collect()),
        write_outputs: level.address::<WriteOutputs>(),
        first,
    }
}

static ONE: Line = Line([1.0; LANES]);
static MINUS_ONE: Line = Line([-1.0; LANES]);

/// The two regions as a thread sees them.
#[derive(Clone, Copy)]
pub(super) struct Memory<'a> {
    level: Level,
    arena: *mut f64,
    packed: &'a Packed,
    /// Where in the arena the first thread's own part begins, and how far apart such parts are.
    own: usize,
    apart: usize,
    threads: usize,
    thread: usize,
}

impl Memory<'_> {
    pub(super) fn tasks(&self, stages: &[Stage]) -> Vec<Task> {
        let mut tasks = Vec::new();
        for stage in stages {
            let whole = match stage {
                Stage::Loop(l) if l.shards > 1 => Whole::Shards(Shards::new(self, l)),
                Stage::Loop(l) => {
                    let steps = self.steps(l);
                    if l.n > l.block {
                        tasks.push(Task::Blocks { n: l.n, steps: steps.collect() });
                    } else if let Some(Task::Line(line)) = tasks.last_mut() {
                        line.extend(steps);
                    } else {
                        tasks.push(Task::Line(steps.collect()));
                    }
                    continue;
                }
                Stage::Call(call) => match kernels::Task::new(self.level, call, self) {
                    Some(task) => Whole::Kernel(task),
                    None => Whole::Call(Arc::clone(call)),
                },
                Stage::Scan(k) => Whole::Scan(*k),
                Stage::Recurrence(recurrence) => {
                    Whole::Recurrence(Steps::address(self.level), recurrence.steps(self))
                }
                Stage::Repeat(repeat) => Whole::Repeat(repeat.turns(self)),
            };
            tasks.push(Task::Whole(whole));
        }
        tasks
    }

    /// What every thread sees.
    pub(super) fn of_threads(&self) -> impl Iterator<Item = Self> {
        (0..self.threads).map(|thread| Memory { thread, ..*self })
    }

    pub(super) fn steps(&self, stage: &Loop) -> impl Iterator<Item = Step> {
        stage.body.iter().map(|i| self.step(self.level, stage, i))
    }

    /// The first element of a place.
    pub(super) fn first(&self, place: Place) -> *mut f64 {
        self.operand(place).first
    }

    fn step(&self, level: Level, stage: &Loop, i: &Instruction) -> Step {
        let [out, a, mut b, c] = [i.out, i.a, i.b, i.c].map(|place| self.operand(place));
        let detail = i.extra.map(|k| match &stage.extras[k as usize] {
            Extra::Lane { op, shapes } => Detail::Lane { op: op.clone(), shapes: shapes.clone() },
            Extra::Index { number, len } => {
                Detail::Index { index: Arc::clone(&self.packed.indices[*number]), len: *len }
            }
            Extra::Piece { start, len } => Detail::Piece { start: *start, len: *len },
            Extra::Terms(terms) => Detail::Terms(terms.iter().map(|t| self.term(t)).collect()),
            Extra::Matrix { offset, columns } => {
                b = self.at(Region::Shared, *offset, 0, false);
                Detail::Matrix { columns: *columns }
            }
        });
        // A scalar's line has eight equal lanes, which is what makes results of scalars alone lines again.
        let reach = match [out, a, b, c].iter().all(|operand| operand.step == 0) {
            true if stage.single => Reach::Uniform,
            false if stage.single => Reach::Single,
            _ => Reach::Blocks,
        };
        let routine = match i.precision {
            Precision::F32 => {
                single_routine(level, i.code).expect("`lower` leaves other instructions to f64")
            }
            _ => routine(level, i.code, reach),
        };
        let span = Span::new(stage.block, 0, stage.n);
        Step { routine, out, a, b, c, detail: detail.map(Box::new), span }
    }

    /// Three factors, of which the first is the sign unless it is taken.
    fn term(&self, (factors, negative): &([Place; 3], bool)) -> [*const Lanes; 3] {
        let sign = if *negative { &MINUS_ONE.0 } else { &ONE.0 };
        let line = |place: Place| self.operand(place).first.cast_const().cast::<Lanes>();
        match *factors {
            [a, Place::NONE, _] => [sign, &ONE.0, line(a)],
            [a, b, Place::NONE] => [sign, line(a), line(b)],
            [a, b, c] => [line(a), line(b), line(c)],
        }
    }

    fn operand(&self, place: Place) -> Operand {
        self.at(place.region, place.offset as usize, place.step, place.stream)
    }

    fn at(&self, region: Region, offset: usize, step: u8, stream: bool) -> Operand {
        let shared = self.packed.lines.as_ptr().cast::<f64>().cast_mut();
        let (base, offset) = match region {
            Region::Shared => (shared, offset),
            Region::Single => {
                // SAFETY: as below; such an offset counts halves.
                let first = unsafe { shared.cast::<f32>().add(offset) };
                let (step, advance) = (u32::from(step), u32::from(stream));
                return Operand { first: first.cast(), step, advance };
            }
            _ if offset < self.own => (self.arena, offset),
            _ => (self.arena, offset + self.thread * self.apart),
        };
        // SAFETY: the regions are as large as the program says, and its places lie inside.
        let first = unsafe { base.add(offset) };
        Operand { first, step: u32::from(step), advance: u32::from(stream) }
    }
}
