//! Emitting: instructions in a row -> machine code.
//!
//! Instructions are calls whose operands come from memory and whose results go back there. A small
//! model spends its time between them, and a long loop much of it on loads and stores. Generated
//! code keeps results in registers. It does the same operations in the same order as the routines
//! of [`block`](super::run::block), so it has the same bits; what it has no code for, and every
//! instruction where there are no such processors or no such memory, stays a call.
//!
//! A straight line of loops of a few vectors is one function, which writes every result to its
//! place, too; if it is all of a program, it reads the caller's position and writes the caller's
//! results itself. Of longer loops, elementwise instructions in a row are one, which runs for a
//! block and writes what others read. A loop with carried state whose steps are a straight line is
//! one function as a whole. So is the slope of an initial value problem.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod assembler;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod basic_block;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod cache;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod code_pages;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod functions;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod index;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod lane_functions;
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
mod none;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod ode_rhs;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod scan_loop;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod single_precision;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod sums;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod unrolled_loop;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod vector_loop;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod whole_program;

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) use basic_block::Emitter;
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) use code_pages::Pages;
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(super) use none::{Emitter, Pages};

use std::sync::{Arc, OnceLock};

use exmc_math::simd::{Level, Routine, Simd};

use super::program::{Code, LANES};
use super::run::block::{Detail, Input, Operand, Output, Span, Step, finish_emitted};

/// An instruction of a loop that is a few vectors, or of one that is not.
#[derive(Debug)]
pub(super) struct Item {
    /// Its code where it works on `f64`, and where it works on `f32`.
    pub(super) code: Option<Code>,
    pub(super) single: Option<Code>,
    pub(super) step: Step,
}

/// Where a program's values come from and where they go.
#[derive(Clone, Copy)]
pub(super) struct Ends<'a> {
    pub(super) inputs: &'a [Input],
    pub(super) outputs: &'a [Output],
    /// The first root, which is read from memory.
    pub(super) first: *const f64,
    /// Whether every array has at most half a vector's elements, at the beginning of a line of its
    /// own.
    pub(super) is_narrow: bool,
}

/// A part of a straight line.
#[derive(Debug)]
pub(super) enum Part {
    Steps(Vec<Step>),
    /// Where in the emitted code the part begins.
    Code(usize),
}

/// The code of an instruction that is emitted.
fn has_code(item: &Item) -> Option<Code> {
    item.code.filter(|&code| Emitter::has(code, &item.step))
}

/// Vectors of a loop that is a part of a straight line.
pub(super) const UNROLL_LIMIT: usize = 4;

/// The instructions of a loop of up to [`UNROLL_LIMIT`] vectors as those of a straight line:
/// elementwise ones with code are one for each vector.
pub(super) fn in_line(items: impl Iterator<Item = Item>) -> Vec<Item> {
    let mut line = Vec::new();
    for item in items {
        let Item { code: Some(code), step, .. } = &item else {
            line.push(item);
            continue;
        };
        let elementwise = !code.is_sink() && !matches!(code, Code::Piece | Code::Load);
        let n = step.span.len;
        if n <= LANES || !elementwise || !Emitter::has_in_line(*code, step) {
            line.push(item);
            continue;
        }
        for v in 0..n.div_ceil(LANES) {
            let vector_of = |operand: &Operand| vector(operand, v);
            let [out, a, mut b, c, d] =
                [&step.out, &step.a, &step.b, &step.c, &step.d].map(vector_of);
            let detail = match step.detail.as_deref() {
                // Rows of the matrix, times all numbers of the other operand.
                Some(&Detail::Matrix { columns }) => {
                    b.first = b.first.wrapping_add(v * columns * LANES);
                    Some(Box::new(Detail::Matrix { columns }))
                }
                _ => None,
            };
            let a = if detail.is_some() { step.a } else { a };
            let start = v * LANES;
            let span = Span::new(LANES, 0, LANES.min(n - start));
            let routine = step.routine;
            line.push(Item {
                code: Some(*code),
                single: None,
                step: Step { routine, out, a, b, c, d, detail, span },
            });
        }
    }
    line
}

/// An operand's vector.
pub(super) fn vector(operand: &Operand, number: usize) -> Operand {
    let first = operand.first.wrapping_add(number * operand.step as usize);
    Operand { first, ..*operand }
}

/// Fewer instructions than this in a row are not worth a part of their own.
const MIN_INSTRUCTIONS: usize = 2;

/// Parts of a line, in order.
pub(super) fn parts(line: Vec<Item>, emitter: &mut Emitter) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut waiting: Vec<Step> = Vec::new();
    let mut run: Vec<(Code, Step)> = Vec::new();
    let mut finish = |run: &mut Vec<(Code, Step)>, waiting: &mut Vec<Step>| {
        if run.len() < MIN_INSTRUCTIONS {
            waiting.extend(run.drain(..).map(|(_, step)| step));
            return;
        }
        if !waiting.is_empty() {
            parts.push(Part::Steps(std::mem::take(waiting)));
        }
        parts.push(Part::Code(emitter.emit(run)));
        run.clear();
    };
    for item in line {
        match item.code.filter(|&code| Emitter::has_in_line(code, &item.step)) {
            Some(code) => run.push((code, item.step)),
            None => {
                finish(&mut run, &mut waiting);
                waiting.push(item.step);
            }
        }
    }
    finish(&mut run, &mut waiting);
    if !waiting.is_empty() {
        parts.push(Part::Steps(waiting));
    }
    parts
}

/// The steps of a loop over `n` elements, more than one vector, with elementwise ones and sums in a
/// row as one.
pub(super) fn fuse_loop(
    level: Level,
    n: usize,
    body: Vec<Item>,
    emitter: &mut Emitter,
    pages: &Arc<OnceLock<Pages>>,
) -> Vec<Step> {
    // Runs that are emitted: first and last instruction, and where the code begins.
    let mut runs = Vec::new();
    let mut start = 0;
    while start < body.len() {
        let len = emitter.run_in_loop(&body[start..]);
        if len >= MIN_INSTRUCTIONS {
            let (run, after) = body[start..].split_at(len);
            runs.push((start, start + len, emitter.emit_loop(run, after, n % LANES)));
        }
        start += len.max(1);
    }
    let mut steps = Vec::with_capacity(body.len());
    let mut runs = runs.into_iter();
    let mut body = body.into_iter().enumerate();
    let mut next = runs.next();
    while let Some((k, item)) = body.next() {
        let Some((_, end, entry)) = next.filter(|&(start, ..)| start == k) else {
            steps.push(item.step);
            continue;
        };
        next = runs.next();
        let step = &item.step;
        let (span, [out, a, b, c, d]) = (step.span, [step.out, step.a, step.b, step.c, step.d]);
        let run = std::iter::once(item);
        let run = run.chain(body.by_ref().take(end - k - 1).map(|(_, item)| item));
        let sums = run.filter_map(|item| {
            let code = item.code.or(item.single).filter(|code| code.is_sink());
            Some((code?, item.step))
        });
        let detail = Detail::Emitted { pages: Arc::clone(pages), entry, sums: sums.collect() };
        let detail = Some(Box::new(detail));
        steps.push(Step { routine: level.address::<RunEmitted>(), out, a, b, c, d, detail, span });
    }
    steps
}

/// Bytes of a vector, and of a number.
const LINE: usize = 64;
const NUMBER: usize = 8;

/// Runs a block by the code that stands in the step's detail.
struct RunEmitted;

#[expect(
    unsafe_code,
    reason = "generated code reads and writes at addresses that it was emitted with"
)]
impl Routine for RunEmitted {
    type Context = Span;
    type Step = Step;

    #[inline(always)]
    unsafe fn run<S: Simd>(s: S, span: &Span, step: &Step) {
        let Some(Detail::Emitted { pages, entry, sums }) = step.detail.as_deref() else {
            unreachable!("made with its code")
        };
        let Some(pages) = pages.get() else { unreachable!("the code was finished before it runs") };
        // What is behind the last element is there to be written.
        if sums.is_empty() {
            if span.vectors > 0 {
                // SAFETY: the caller vouches for the frame's memory, which the code was emitted
                // for.
                unsafe { pages.run(*entry, span.start * NUMBER, span.vectors * LINE, false) };
            }
            return;
        }
        let full_vectors = span.len / LANES;
        // SAFETY: as above.
        unsafe {
            pages.run(*entry, span.start * NUMBER, full_vectors * LINE, full_vectors < span.vectors)
        };
        for (code, sum) in sums {
            finish_emitted(s, span, *code, sum);
        }
    }
}
