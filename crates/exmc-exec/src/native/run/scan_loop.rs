//! Loops with carried state: what they carry and move, and running them.
//!
//! A [`Recurrence`] is a whole loop in one routine, for states with `next = a state + b`. A
//! [`ScanLoop`] runs a part of the program once a step, with copies between the arrays of all steps
//! and the body's memory; a value that is the same in all steps is read where it is.
#![expect(
    unsafe_code,
    reason = "steps read and write at addresses that are found once, when memory is made"
)]

use std::fmt;

use exmc_math::simd::{Address, Level, Routine, Simd};

use crate::native::link::{Linker, Task};
use crate::native::program::{LANES, Place, Stage};

/// `next = a state + b`, element by element, one step after the other.
#[derive(Debug)]
pub(in crate::native) struct Recurrence {
    pub(in crate::native) length: usize,
    pub(in crate::native) reverse: bool,
    /// Elements of the state.
    pub(in crate::native) width: usize,
    pub(in crate::native) start: Place,
    /// What the state is while the loop runs.
    pub(in crate::native) state: Place,
    pub(in crate::native) a: Coefficient,
    pub(in crate::native) b: Coefficient,
    /// The states before every step, after it, and after the last step, where somebody reads them.
    pub(in crate::native) before: Option<Place>,
    pub(in crate::native) after: Option<Place>,
    pub(in crate::native) last: Option<Place>,
}

/// What a state is multiplied by or what is added to it.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Coefficient {
    pub(in crate::native) place: Place,
    /// How far apart the coefficients of neighbouring steps and of neighbouring elements are.
    pub(in crate::native) strides: [usize; 2],
}

/// A part of a program that runs once a step.
#[derive(Debug)]
pub(in crate::native) struct ScanLoop {
    pub(in crate::native) length: usize,
    pub(in crate::native) reverse: bool,
    pub(in crate::native) body: Vec<Stage>,
    /// Before the first step.
    pub(in crate::native) starts: Vec<Move>,
    /// Before and after every step.
    pub(in crate::native) reads: Vec<Move>,
    pub(in crate::native) writes: Vec<Move>,
    /// After the last step.
    pub(in crate::native) ends: Vec<Move>,
}

/// Some elements and where they go.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Move {
    pub(in crate::native) from: Place,
    pub(in crate::native) to: Place,
    pub(in crate::native) len: usize,
    /// Whether one element is copied to all.
    pub(in crate::native) stretch: bool,
    /// How far apart the elements of neighbouring steps are there.
    pub(in crate::native) strides: [usize; 2],
}

impl fmt::Display for Recurrence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outputs: Vec<_> =
            [self.before, self.after, self.last].iter().flatten().map(Place::to_string).collect();
        let Self { length, start, a, b, .. } = self;
        let outputs = outputs.join(", ");
        write!(
            f,
            "recurrence {outputs} = {} state + {} from {start} // {length} steps",
            a.place, b.place
        )
    }
}

impl fmt::Display for ScanLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = |moves: &[Move], target: bool| -> String {
            let place = |m: &Move| (if target { m.to } else { m.from }).to_string();
            moves.iter().map(place).collect::<Vec<_>>().join(", ")
        };
        let (outputs, inputs) = (places(&self.ends, true), places(&self.starts, false));
        let rows = places(&self.reads, false);
        write!(f, "repeat {outputs} from {inputs} with {rows} // {} steps", self.length)
    }
}

/// A [`Recurrence`] with addresses.
#[derive(Debug)]
pub(in crate::native) struct LinkedRecurrence {
    length: usize,
    reverse: bool,
    width: usize,
    start: *const f64,
    state: *mut f64,
    a: (*const f64, [usize; 2]),
    b: (*const f64, [usize; 2]),
    before: Option<*mut f64>,
    after: Option<*mut f64>,
    last: Option<*mut f64>,
    /// Lines of single elements, to be filled with them.
    lines: Vec<*mut f64>,
}

impl Recurrence {
    pub(in crate::native) fn steps(&self, memory: &Linker<'_>) -> LinkedRecurrence {
        let first = |place: Option<Place>| place.map(|place| memory.first(place));
        let coefficient = |c: Coefficient| (memory.first(c.place).cast_const(), c.strides);
        let outputs = [self.before, self.after, self.last];
        let single = outputs.iter().flatten().filter(|place| place.step == 0);
        LinkedRecurrence {
            length: self.length,
            reverse: self.reverse,
            width: self.width,
            start: memory.first(self.start),
            state: memory.first(self.state),
            a: coefficient(self.a),
            b: coefficient(self.b),
            before: first(self.before),
            after: first(self.after),
            last: first(self.last),
            lines: single.map(|&place| memory.first(place)).collect(),
        }
    }
}

struct RunRecurrence;

impl Routine for RunRecurrence {
    type Context = ();
    type Step = LinkedRecurrence;

    #[inline(always)]
    unsafe fn run<S: Simd>(_: S, (): &(), steps: &LinkedRecurrence) {
        match (steps.width, steps.before, steps.after) {
            (1, Some(before), None) => run_scalar(steps, [before, steps.state], [1, 0]),
            (1, None, Some(after)) => run_scalar(steps, [steps.state, after], [0, 1]),
            (1, Some(before), Some(after)) => run_scalar(steps, [before, after], [1, 1]),
            (1, None, None) => run_scalar(steps, [steps.state; 2], [0, 0]),
            _ => run_elements(steps),
        }
        for &line in &steps.lines {
            // SAFETY: a place of one element is a line.
            unsafe { fill_line(line, *line) };
        }
    }
}

/// The order of the steps.
#[inline(always)]
fn step_at(steps: &LinkedRecurrence, k: usize) -> usize {
    if steps.reverse { steps.length - 1 - k } else { k }
}

/// A state of one number; `outputs` are where it goes before and after each step, this far apart.
#[inline(always)]
fn run_scalar(steps: &LinkedRecurrence, outputs: [*mut f64; 2], strides: [usize; 2]) {
    let ((a, [a_stride, _]), (b, [b_stride, _])) = (steps.a, steps.b);
    // SAFETY: a state has an element.
    let mut state = unsafe { *steps.start };
    for k in 0..steps.length {
        let row_index = step_at(steps, k);
        // SAFETY: coefficients and stacked outputs have `length` elements where they change from
        // step to step; only this loop refers to its outputs, one of which may be the state's own
        // line.
        unsafe {
            *outputs[0].add(row_index * strides[0]) = state;
            state = (*a.add(row_index * a_stride)).mul_add(state, *b.add(row_index * b_stride));
            *outputs[1].add(row_index * strides[1]) = state;
        }
    }
    if let Some(last) = steps.last {
        // SAFETY: a state has an element.
        unsafe { *last = state };
    }
}

#[inline(always)]
fn run_elements(steps: &LinkedRecurrence) {
    let &LinkedRecurrence { width, state, .. } = steps;
    let ((a, [a_stride, a_next]), (b, [b_stride, b_next])) = (steps.a, steps.b);
    // SAFETY: start and state have `width` elements each, and do not overlap.
    unsafe { std::ptr::copy_nonoverlapping(steps.start, state, width) };
    for k in 0..steps.length {
        let row_index = step_at(steps, k);
        // SAFETY: as in `run_scalar`, with `width` elements a step.
        unsafe {
            if let Some(before) = steps.before {
                std::ptr::copy_nonoverlapping(state, before.add(row_index * width), width);
            }
            let (a, b) = (a.add(row_index * a_stride), b.add(row_index * b_stride));
            for j in 0..width {
                *state.add(j) = (*a.add(j * a_next)).mul_add(*state.add(j), *b.add(j * b_next));
            }
            if let Some(after) = steps.after {
                std::ptr::copy_nonoverlapping(state, after.add(row_index * width), width);
            }
        }
    }
    if let Some(last) = steps.last {
        // SAFETY: the last state has `width` elements.
        unsafe { std::ptr::copy_nonoverlapping(state, last, width) };
    }
}

impl LinkedRecurrence {
    pub(in crate::native) fn address(level: Level) -> Address<(), Self> {
        level.address::<RunRecurrence>()
    }
}

/// A [`ScanLoop`] with addresses.
#[derive(Debug)]
pub(in crate::native) struct LinkedScanLoop {
    pub(in crate::native) copies: CarryMoves,
    pub(in crate::native) tasks: Vec<Task>,
}

/// The copies of a [`ScanLoop`] with addresses.
#[derive(Debug)]
pub(in crate::native) struct CarryMoves {
    pub(in crate::native) length: usize,
    pub(in crate::native) reverse: bool,
    pub(in crate::native) starts: Vec<CarryMove>,
    pub(in crate::native) reads: Vec<CarryMove>,
    pub(in crate::native) writes: Vec<CarryMove>,
    pub(in crate::native) ends: Vec<CarryMove>,
}

/// A [`Move`] with addresses.
#[derive(Debug)]
pub(in crate::native) struct CarryMove {
    pub(in crate::native) from: *const f64,
    pub(in crate::native) to: *mut f64,
    /// Elements that are written, of which one is read if `next` is zero.
    pub(in crate::native) len: usize,
    pub(in crate::native) next: usize,
    /// Whether they are a scalar's line.
    pub(in crate::native) to_line: bool,
    pub(in crate::native) strides: [usize; 2],
}

impl ScanLoop {
    pub(in crate::native) fn turns(&self, memory: &Linker<'_>) -> LinkedScanLoop {
        LinkedScanLoop { copies: self.copies(memory), tasks: memory.tasks(&self.body) }
    }

    pub(in crate::native) fn copies(&self, memory: &Linker<'_>) -> CarryMoves {
        let copies = |moves: &[Move]| {
            let copy = |m: &Move| CarryMove {
                from: memory.first(m.from),
                to: memory.first(m.to),
                len: if m.to.step == 0 { LANES } else { m.len },
                next: usize::from(m.to.step != 0 && !m.stretch),
                to_line: m.to.step == 0,
                strides: m.strides,
            };
            moves.iter().map(copy).collect()
        };
        CarryMoves {
            length: self.length,
            reverse: self.reverse,
            starts: copies(&self.starts),
            reads: copies(&self.reads),
            writes: copies(&self.writes),
            ends: copies(&self.ends),
        }
    }
}

impl CarryMoves {
    pub(in crate::native) fn start(&self) {
        self.starts.iter().for_each(|copy| copy.run(0));
    }

    pub(in crate::native) fn read(&self, step: usize) {
        self.reads.iter().for_each(|copy| copy.run(step));
    }

    pub(in crate::native) fn write(&self, step: usize) {
        self.writes.iter().for_each(|copy| copy.run(step));
    }

    pub(in crate::native) fn finish(&self) {
        self.ends.iter().for_each(|copy| copy.run(0));
    }
}

impl CarryMove {
    #[inline(always)]
    fn run(&self, step: usize) {
        // SAFETY: both places have elements for all steps, and nothing else refers to them now. The
        // elements of a step do not overlap: what a state takes from another state goes through
        // memory of its own.
        unsafe {
            let (from, to) =
                (self.from.add(step * self.strides[0]), self.to.add(step * self.strides[1]));
            if self.len <= LANES || self.next == 0 {
                for j in 0..self.len {
                    *to.add(j) = *from.add(j * self.next);
                }
            } else {
                std::ptr::copy_nonoverlapping(from, to, self.len);
            }
        }
    }
}

/// # Safety
/// A line begins there, and nothing else refers to it.
#[inline(always)]
unsafe fn fill_line(line: *mut f64, value: f64) {
    // SAFETY: the caller vouches for it.
    unsafe { *line.cast::<[f64; LANES]>() = [value; LANES] };
}
