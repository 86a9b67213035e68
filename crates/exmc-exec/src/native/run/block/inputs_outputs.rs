//! Both ends of a run: a position -> places in an instance's arena; places there -> a gradient or
//! other results.
//!
//! Routines, because vectors must be written as they will be read: a vector that is read soon after
//! its halves were written apart waits until both have left for the cache.
#![expect(unsafe_code, reason = "places of the arena are addresses, which slices cannot say")]

use exmc_math::simd::{Routine, Simd};

use super::{load, store};
use crate::native::program::LANES;

/// A part of the position and where it belongs.
#[derive(Debug)]
pub(in crate::native) struct Input {
    /// First element in the position, and their number.
    pub(in crate::native) from: usize,
    pub(in crate::native) len: usize,
    /// As many elements of the arena; a line for one.
    pub(in crate::native) to: *mut f64,
}

/// All parts of the position that a program reads.
#[derive(Debug)]
pub(in crate::native) struct Inputs {
    parts: Box<[Input]>,
    /// Elements of a position of which all parts are there.
    end: usize,
}

/// A position that is long enough for its [`Inputs`].
#[derive(Debug)]
pub(in crate::native) struct Position(*const f64);

impl Position {
    pub(in crate::native) fn first(&self) -> *const f64 {
        self.0
    }
}

impl Inputs {
    pub(in crate::native) fn new(parts: Box<[Input]>) -> Self {
        let end = parts.iter().map(|part| part.from + part.len).max().unwrap_or(0);
        Self { parts, end }
    }

    /// The position, checked; it stands for `position` while that is borrowed.
    pub(in crate::native) fn position(&self, position: &[f64]) -> Position {
        assert!(position.len() >= self.end, "a position has at least {} elements", self.end);
        Position(position.as_ptr())
    }
}

/// Copies all parts.
pub(in crate::native) struct ReadInputs;

impl Routine for ReadInputs {
    type Context = Inputs;
    type Step = Position;

    #[inline(always)]
    unsafe fn run<S: Simd>(s: S, inputs: &Inputs, position: &Position) {
        for &Input { from, len, to } in &inputs.parts {
            // SAFETY: the part is inside the position, which was checked when `Position` was made.
            let part = unsafe { position.0.add(from) };
            if len == 1 {
                // SAFETY: as above; a scalar's place is a line.
                let value = s.splat(unsafe { *part });
                store!(s, to, 0, value);
                continue;
            }
            // SAFETY: as above; the part is in the position of the caller, `to` in the arena of the
            // instance.
            unsafe { copy(s, part, to, len) };
        }
    }
}

/// Copies whole lines as vectors, and what remains one by one.
///
/// # Safety
/// There must be so many elements, and nothing else may refer to those of `to` meanwhile.
#[inline(always)]
unsafe fn copy<S: Simd>(s: S, from: *const f64, to: *mut f64, len: usize) {
    let full_vectors = len / LANES;
    for v in 0..full_vectors {
        let line = load!(s, (from, LANES), v);
        store!(s, to, v, line);
    }
    for k in full_vectors * LANES..len {
        // SAFETY: the caller vouches for the elements.
        unsafe { *to.add(k) = *from.add(k) };
    }
}

/// Where a root goes among the results.
#[derive(Debug)]
pub(in crate::native) struct Output {
    pub(in crate::native) from: *const f64,
    /// Whether one element stands for all.
    pub(in crate::native) scalar: bool,
    /// First element among the results, and their number.
    pub(in crate::native) start: usize,
    pub(in crate::native) len: usize,
}

/// Roots that are results.
#[derive(Debug)]
pub(in crate::native) struct Outputs {
    parts: Box<[Output]>,
    end: usize,
}

/// Memory of results that is long enough for its [`Outputs`].
#[derive(Debug)]
pub(in crate::native) struct Results(*mut f64);

impl Results {
    pub(in crate::native) fn first(&self) -> *mut f64 {
        self.0
    }
}

impl Outputs {
    pub(in crate::native) fn new(parts: Box<[Output]>) -> Self {
        let end = parts.iter().map(|part| part.start + part.len).max().unwrap_or(0);
        Self { parts, end }
    }

    /// The memory, checked; it stands for `results` while that is borrowed.
    pub(in crate::native) fn results(&self, results: &mut [f64]) -> Results {
        assert!(results.len() >= self.end, "there are at least {} results", self.end);
        Results(results.as_mut_ptr())
    }
}

/// Copies all results.
pub(in crate::native) struct WriteOutputs;

impl Routine for WriteOutputs {
    type Context = Outputs;
    type Step = Results;

    #[inline(always)]
    unsafe fn run<S: Simd>(s: S, outputs: &Outputs, results: &Results) {
        for &Output { from, scalar, start, len } in &outputs.parts {
            // SAFETY: the part is inside the results, which was checked when `Results` was made;
            // `from` has as many elements, or one that stands for all.
            unsafe {
                let to = results.0.add(start);
                if !scalar {
                    copy(s, from, to, len);
                } else {
                    for k in 0..len {
                        *to.add(k) = *from;
                    }
                }
            }
        }
    }
}
