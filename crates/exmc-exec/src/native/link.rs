//! Resolving: a program and packed data -> steps with the addresses of one instance's memory.
#![expect(
    unsafe_code,
    reason = "addresses are found once, so that an instruction reads its operands without looking them up"
)]

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use exmc_graph::Precision;
use exmc_math::simd::{Address, Level, Line};

use super::emit::{self, Emitter, Ends, Item, Pages, Part};
use super::program::{Call, Extra, Instruction, LANES, Loop, Place, Program, Region, Stage};
use super::run::block::{
    Detail, Input, Inputs, Lanes, Operand, Output, Outputs, Position, Reach, ReadInputs, Results,
    Span, Step, WriteOutputs, routine, single_routine,
};
use super::run::kernels;
use super::run::linear_scan::LinkedLinearScan;
use super::run::log_sum_exp_scan::LinkedLogSumExpScan;
use super::run::ode_rhs::OdeRhs;
use super::run::pack::{Packed, read_elements};
use super::run::scan_loop::{LinkedRecurrence, LinkedScanLoop, ScanLoop};
use super::run::shards::Shards;

/// A part of a program that knows its addresses, or where it stands in the program.
#[derive(Debug)]
pub(super) enum Task {
    /// Loops of one block each, one after the other: a straight line.
    Line(Vec<Step>),
    /// A part of such a line as machine code: where in the pages it begins.
    Emitted(usize),
    /// A loop with carried state as machine code, which calls some of its instructions.
    LinkedScanLoop {
        entry: usize,
        #[expect(dead_code, reason = "kept for the code")]
        body: Arc<[Item]>,
    },
    /// A loop of more blocks.
    Blocks { n: usize, steps: Vec<Step> },
    /// What is not a loop over blocks.
    Whole(Whole),
}

/// What runs as a whole.
#[derive(Debug)]
pub(super) enum Whole {
    Kernel(kernels::LinkedKernel),
    /// A call of the reference machinery.
    Call(Arc<Call>),
    /// A call that solves an initial value problem with emitted code.
    OdeRhs(Box<OdeRhs>),
    /// Number of the scan.
    Scan(usize),
    Recurrence(Address<(), LinkedRecurrence>, LinkedRecurrence),
    LogSumExpScan(Address<(), LinkedLogSumExpScan>, LinkedLogSumExpScan),
    LinearScan(Address<(), LinkedLinearScan>, LinkedLinearScan),
    ScanLoop(LinkedScanLoop),
    Shards(Shards),
}

/// A program whose addresses are those of one instance's memory.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) inputs: Inputs,
    pub(super) read_inputs: Address<Inputs, Position>,
    /// Where in the pages the function begins that does all of it, ends included, if there is one.
    pub(super) program_entry: Option<usize>,
    pub(super) tasks: Vec<Task>,
    /// What emitted tasks run.
    pub(super) pages: Arc<OnceLock<Pages>>,
    pub(super) outputs: Outputs,
    pub(super) write_outputs: Address<Outputs, Results>,
    /// The first root's first element.
    pub(super) first: *const f64,
}

/// Which roots are results: number of a root, its first element among the results, and its length
/// there.
pub(crate) type Targets = [(usize, usize, usize)];

/// Finds the addresses, which are those of `arena` and `packed`; the caller keeps both as they are
/// for as long as it uses the result.
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
    // Taken from the vector, not from a slice of it: such an address outlives other borrows of the
    // elements.
    let (arena, thread_start) = (arena.as_mut_ptr().cast::<f64>(), program.thread_start);
    let shared = packed.lines.as_ptr();
    let emission = Emitter::new(level, [arena.addr(), shared.addr()])
        .map(|emitter| Emission { emitter: RefCell::new(emitter), pages: Arc::default() });
    let emission = emission.as_ref();
    let mut memory =
        Linker { level, arena, packed, thread_start, apart, threads, thread: 0, emission };
    let inputs: Box<_> = program
        .inputs
        .iter()
        .map(|&(from, len, place)| Input { from, len, to: memory.operand(place).first })
        .collect();
    let outputs: Box<_> = targets
        .iter()
        .map(|&(root, start, len)| {
            let (place, root_len) = program.roots[root];
            assert!(root_len == 1 || root_len == len, "a root is as long as its result");
            Output { from: memory.operand(place).first, scalar: root_len == 1, start, len }
        })
        .collect();
    let first = program
        .roots
        .first()
        .map_or(std::ptr::null(), |&(place, _)| memory.operand(place).first.cast_const());
    let is_narrow = program.is_narrow;
    let mut program_entry = memory.whole_program(
        &program.stages,
        Ends { inputs: &inputs, outputs: &outputs, first, is_narrow },
    );
    let mut tasks =
        if program_entry.is_some() { Vec::new() } else { memory.tasks(&program.stages) };
    let pages = emission.map(|emission| Arc::clone(&emission.pages)).unwrap_or_default();
    match emission.map(|emission| emission.emitter.borrow().finish()) {
        Some(Some(finished)) => {
            pages.get_or_init(|| finished);
        }
        // The system refuses: once more without.
        Some(None) => {
            memory.emission = None;
            program_entry = None;
            tasks = memory.tasks(&program.stages);
        }
        None => {}
    }
    Resolved {
        inputs: Inputs::new(inputs),
        read_inputs: level.address::<ReadInputs>(),
        program_entry,
        tasks,
        pages,
        outputs: Outputs::new(outputs),
        write_outputs: level.address::<WriteOutputs>(),
        first,
    }
}

pub(super) static ONE: Line = Line([1.0; LANES]);
pub(super) static MINUS_ONE: Line = Line([-1.0; LANES]);

/// The two regions as a thread sees them.
#[derive(Clone, Copy)]
pub(super) struct Linker<'a> {
    level: Level,
    arena: *mut f64,
    packed: &'a Packed,
    /// Where in the arena the first thread's own part begins, and how far apart such parts are.
    thread_start: usize,
    apart: usize,
    threads: usize,
    thread: usize,
    emission: Option<&'a Emission>,
}

/// Code that is being written, and where it will be.
struct Emission {
    emitter: RefCell<Emitter>,
    pages: Arc<OnceLock<Pages>>,
}

/// Whether a loop may be a part of a straight line.
pub(super) fn is_short(stage: &Loop) -> bool {
    stage.shards == 1 && (1..=emit::UNROLL_LIMIT * LANES).contains(&stage.n)
}

impl Linker<'_> {
    pub(super) fn tasks(&self, stages: &[Stage]) -> Vec<Task> {
        let mut tasks = Vec::new();
        let mut line = Vec::new();
        for stage in stages {
            let task = match stage {
                Stage::Loop(l) if l.shards > 1 => Task::Whole(Whole::Shards(Shards::new(self, l))),
                Stage::Loop(l) if l.n > l.block => Task::Blocks { n: l.n, steps: self.steps(l) },
                Stage::Loop(l) if l.single || (self.emission.is_some() && is_short(l)) => {
                    line.extend(emit::in_line(self.items(l)));
                    continue;
                }
                Stage::Loop(l) => {
                    line.extend(self.steps(l).into_iter().map(|step| Item {
                        code: None,
                        single: None,
                        step,
                    }));
                    continue;
                }
                Stage::Call(call) => {
                    Task::Whole(match kernels::LinkedKernel::new(self.level, call, self) {
                        Some(task) => Whole::Kernel(task),
                        None => match self.emitted_flow(call) {
                            Some(flow) => Whole::OdeRhs(Box::new(flow)),
                            None => Whole::Call(Arc::clone(call)),
                        },
                    })
                }
                Stage::Scan(k) => Task::Whole(Whole::Scan(*k)),
                Stage::Recurrence(recurrence) => {
                    let address = LinkedRecurrence::address(self.level);
                    Task::Whole(Whole::Recurrence(address, recurrence.steps(self)))
                }
                Stage::LogSumExpScan(markov) => {
                    let address = LinkedLogSumExpScan::address(self.level);
                    Task::Whole(Whole::LogSumExpScan(address, markov.chain(self)))
                }
                Stage::LinearScan(mixing) => {
                    let address = LinkedLinearScan::address(self.level);
                    Task::Whole(Whole::LinearScan(address, mixing.mixer(self)))
                }
                Stage::ScanLoop(repeat) => self
                    .emitted_turns(repeat)
                    .unwrap_or_else(|| Task::Whole(Whole::ScanLoop(repeat.turns(self)))),
            };
            self.end_line(&mut line, &mut tasks);
            tasks.push(task);
        }
        self.end_line(&mut line, &mut tasks);
        tasks
    }

    /// Emits a program that is one straight line as a whole, if there is code for all of it; where
    /// it begins.
    fn whole_program(&self, stages: &[Stage], ends: Ends<'_>) -> Option<usize> {
        let emission = self.emission?;
        let mut line = Vec::new();
        for stage in stages {
            let Stage::Loop(l) = stage else { return None };
            if !is_short(l) {
                return None;
            }
            for Item { code, step, .. } in emit::in_line(self.items(l)) {
                line.push((code?, step));
            }
        }
        emission.emitter.borrow_mut().emit_whole(&line, ends)
    }

    /// A loop with carried state as one function, if its steps are a straight line.
    fn emitted_turns(&self, repeat: &ScanLoop) -> Option<Task> {
        let emission = self.emission?;
        let mut body = Vec::new();
        for stage in &repeat.body {
            match stage {
                Stage::Loop(l) if l.single => body.extend(self.items(l)),
                _ => return None,
            }
        }
        let body: Arc<[Item]> = body.into();
        let entry = emission.emitter.borrow_mut().emit_turns(&repeat.copies(self), &body)?;
        Some(Task::LinkedScanLoop { entry, body })
    }

    /// An initial value problem whose slope is code.
    fn emitted_flow(&self, call: &Arc<Call>) -> Option<OdeRhs> {
        let Emission { emitter, pages } = self.emission?;
        OdeRhs::new(call, &mut emitter.borrow_mut(), pages)
    }

    /// Makes tasks of the straight line that ends here.
    fn end_line(&self, line: &mut Vec<Item>, tasks: &mut Vec<Task>) {
        let line = std::mem::take(line);
        match self.emission {
            _ if line.is_empty() => {}
            None => tasks.push(Task::Line(line.into_iter().map(|item| item.step).collect())),
            Some(emission) => {
                let parts = emit::parts(line, &mut emission.emitter.borrow_mut());
                tasks.extend(parts.into_iter().map(|part| match part {
                    Part::Steps(steps) => Task::Line(steps),
                    Part::Code(entry) => Task::Emitted(entry),
                }));
            }
        }
    }

    /// What every thread sees.
    pub(super) fn of_threads(&self) -> impl Iterator<Item = Self> {
        (0..self.threads).map(|thread| Linker { thread, ..*self })
    }

    /// The instructions of a loop.
    fn items(&self, stage: &Loop) -> impl Iterator<Item = Item> {
        stage.body.iter().map(|i| {
            let single = i.precision == Precision::F32;
            let (code, single) = ((!single).then_some(i.code), single.then_some(i.code));
            Item { code, single, step: self.step(self.level, stage, i) }
        })
    }

    /// The steps of a loop over more than one vector.
    pub(super) fn steps(&self, stage: &Loop) -> Vec<Step> {
        let items = self.items(stage);
        match self.emission {
            None => items.map(|item| item.step).collect(),
            Some(Emission { emitter, pages }) => {
                let (body, n) = (items.collect(), stage.n);
                emit::fuse_loop(self.level, n, body, &mut emitter.borrow_mut(), pages)
            }
        }
    }

    /// The first element of a place.
    pub(super) fn first(&self, place: Place) -> *mut f64 {
        self.operand(place).first
    }

    fn step(&self, level: Level, stage: &Loop, i: &Instruction) -> Step {
        let [out, a, mut b, c, d] = [i.out, i.a, i.b, i.c, i.d].map(|place| self.operand(place));
        let detail = i.extra.map(|k| match &stage.extras[k as usize] {
            Extra::Lane { op, shapes } => Detail::Lane { op: op.clone(), shapes: shapes.clone() },
            Extra::Index { number, len } => {
                Detail::Index { index: Arc::clone(&self.packed.indices[*number]), len: *len }
            }
            Extra::Piece { start, len } => Detail::Piece { start: *start, len: *len },
            Extra::Terms(terms) => Detail::Terms(terms.iter().map(|t| self.term(t)).collect()),
            Extra::Matrix { offset, columns } => {
                b = self.operand_at(Region::Shared, *offset, 0, false);
                Detail::Matrix { columns: *columns }
            }
        });
        // A scalar's line has eight equal lanes, which is what makes results of scalars alone lines
        // again.
        let reach = match [out, a, b, c, d].iter().all(|operand| operand.step == 0) {
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
        Step { routine, out, a, b, c, d, detail: detail.map(Box::new), span }
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
        self.operand_at(place.region, place.offset as usize, place.step, place.stream)
    }

    fn operand_at(&self, region: Region, offset: usize, step: u8, stream: bool) -> Operand {
        let shared = self.packed.lines.as_ptr().cast::<f64>().cast_mut();
        let (base, offset) = match region {
            Region::Shared => (shared, offset),
            Region::Single => {
                // SAFETY: as below; such an offset counts halves.
                let first = unsafe { shared.cast::<f32>().add(offset) };
                let (step, advance) = (u16::from(step), u16::from(stream));
                return Operand { first: first.cast(), step, advance, wide: false };
            }
            _ if offset < self.thread_start => (self.arena, offset),
            _ => (self.arena, offset + self.thread * self.apart),
        };
        // SAFETY: the regions are as large as the program says, and its places lie inside.
        let first = unsafe { base.add(offset) };
        let is_single = |x: &f64| f64::from(*x as f32).to_bits() == x.to_bits();
        let data = || read_elements(&self.packed.lines).get(offset);
        let narrow = || region == Region::Shared && data().is_some_and(is_single);
        let wide = step == 0 && !narrow();
        Operand { first, step: u16::from(step), advance: u16::from(stream), wide }
    }
}
