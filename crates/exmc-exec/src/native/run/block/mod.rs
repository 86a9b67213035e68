//! Instructions: one operation on one block, each a routine of its own for every level of
//! instructions.
//!
//! Every result has the same bits at every level: functions by their own promise, sums because they
//! have eight lanes and one order.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

mod index;
mod inputs_outputs;
mod matrix;
mod routines;
mod scalar;
mod single_precision;
mod sums;

use std::sync::{Arc, OnceLock};

use exmc_graph::{Op, Shape};
use exmc_math::simd::Address;

pub(in crate::native) use inputs_outputs::{
    Input, Inputs, Output, Outputs, Position, ReadInputs, Results, WriteOutputs,
};
pub(in crate::native) use routines::{Reach, routine};
pub(in crate::native) use single_precision::{
    FIRST_BITS, Form, SIGN_OF_FIRST, forms, has_single, single_routine,
};
pub(in crate::native) use sums::{
    EXPONENTS, FACTORS, FRACTION, MAX_FACTOR, MIN_FACTOR, MIN_FACTORS, NO_NUMBER, finish_emitted,
};

use super::pack::PackedIndex;
use crate::native::emit::Pages;
use crate::native::program::{Code, LANES};

pub(in crate::native) type Lanes = [f64; LANES];

/// Which elements of its loop a block is.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Span {
    /// Elements of a whole block.
    pub(in crate::native) size: usize,
    /// First element.
    pub(in crate::native) start: usize,
    /// Elements of this block.
    pub(in crate::native) len: usize,
    /// Vectors that they fill.
    pub(in crate::native) vectors: usize,
    /// Whether this is the first and the last block of the loop, or of one of its shards.
    pub(in crate::native) first: bool,
    pub(in crate::native) last: bool,
}

impl Span {
    /// The first block, of at most `size` elements, of the loop's elements from `start` to `end`.
    pub(in crate::native) fn new(size: usize, start: usize, end: usize) -> Self {
        let len = size.min(end - start);
        let vectors = len.div_ceil(LANES);
        Self { size, start, len, vectors, first: true, last: start + len == end }
    }
}

/// An instruction with the addresses of its routine and of its operands in one instance's memory.
#[derive(Debug)]
pub(in crate::native) struct Step {
    pub(in crate::native) routine: Address<Span, Step>,
    pub(in crate::native) out: Operand,
    pub(in crate::native) a: Operand,
    pub(in crate::native) b: Operand,
    pub(in crate::native) c: Operand,
    pub(in crate::native) d: Operand,
    pub(in crate::native) detail: Option<Box<Detail>>,
    /// Its loop's first block.
    pub(in crate::native) span: Span,
}

/// Where an instruction reads or writes.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Operand {
    /// The first element; of memory that is only read, too, and then only read. Of an array of
    /// `f32`, too.
    pub(in crate::native) first: *mut f64,
    /// How far apart neighbouring vectors are: 8, or 0 for a scalar's line.
    pub(in crate::native) step: u16,
    /// How far apart neighbouring elements of the loop are: 1, or 0 if all blocks begin at the
    /// first element.
    pub(in crate::native) advance: u16,
    /// Of a scalar, whether it may be a number that is no `f32`: only data are known not to be.
    pub(in crate::native) wide: bool,
}

/// What some instructions need besides operands.
#[derive(Debug)]
pub(in crate::native) enum Detail {
    /// An elementwise function, with the shapes of a whole block and of the last one.
    Lane { op: Op, shapes: [Shape; 2] },
    /// An index, and the length of the array that it reads or adds to.
    Index { index: Arc<PackedIndex>, len: usize },
    /// A piece's first element in the result, and its length.
    Piece { start: usize, len: usize },
    /// Three factors each of the terms of a sum.
    Terms(Box<[[*const Lanes; 3]]>),
    /// Columns of a packed matrix, which operand `b` is.
    Matrix { columns: usize },
    /// Generated code, where in it the instruction begins, and the sums that it leaves to be
    /// finished after each block.
    Emitted { pages: Arc<OnceLock<Pages>>, entry: usize, sums: Box<[(Code, Step)]> },
}

/// A block as a routine sees it; a `SINGLE` one is the only one of its loop and fills at most one
/// vector, which makes routines straight lines.
#[derive(Clone, Copy)]
struct Block<'a, const SINGLE: bool>(&'a Span);

impl<const SINGLE: bool> Block<'_, SINGLE> {
    #[inline(always)]
    fn start(self) -> usize {
        if SINGLE { 0 } else { self.0.start }
    }

    #[inline(always)]
    fn len(self) -> usize {
        self.0.len
    }

    #[inline(always)]
    fn vectors(self) -> usize {
        if SINGLE { 1 } else { self.0.vectors }
    }

    #[inline(always)]
    fn first(self) -> bool {
        SINGLE || self.0.first
    }

    #[inline(always)]
    fn last(self) -> bool {
        SINGLE || self.0.last
    }

    /// Where this block of an operand that is read begins, and how far apart its vectors are.
    #[inline(always)]
    fn read(self, operand: Operand) -> (*const f64, usize) {
        (self.write(operand).cast_const(), operand.step as usize)
    }

    /// Where this block of an operand that is written begins.
    #[inline(always)]
    fn write(self, operand: Operand) -> *mut f64 {
        // SAFETY: `lower` gives every place memory for its loop's elements, up to the end of a line
        // more than the last; the regions are as large as the program says.
        unsafe { operand.first.add(self.start() * operand.advance as usize) }
    }
}

/// Vector number `v` of an operand.
macro_rules! load {
    ($s:expr, $operand:expr, $v:expr) => {{
        let (first, step) = $operand;
        // SAFETY: `v` is below the block's number of vectors, for which `read` has memory.
        $s.load(unsafe { &*first.add($v * step).cast::<$crate::native::run::block::Lanes>() })
    }};
}

/// Writes vector number `v` of a result.
macro_rules! store {
    ($s:expr, $out:expr, $v:expr, $x:expr) => {{
        let x = $x;
        // SAFETY: as for `load`; nothing else refers to the memory while it is written.
        $s.store(x, unsafe {
            &mut *$out
                .add($v * $crate::native::program::LANES)
                .cast::<$crate::native::run::block::Lanes>()
        })
    }};
}

use {load, store};

macro_rules! map1 {
    ($s:ident, $block:ident, $i:ident, |$x:ident| $e:expr) => {{
        let (a, out) = ($block.read($i.a), $block.write($i.out));
        for v in 0..$block.vectors() {
            let $x = load!($s, a, v);
            store!($s, out, v, $e);
        }
    }};
}

/// The same for a function that is a long chain of operations: of two vectors at a time.
macro_rules! map1_in_pairs {
    ($s:ident, $block:ident, $i:ident, $function:path) => {{
        let (a, out) = ($block.read($i.a), $block.write($i.out));
        let pairs = $block.vectors() / 2;
        for v in 0..pairs {
            let x = [load!($s, a, 2 * v), load!($s, a, 2 * v + 1)];
            let [first, second] = $function(exmc_math::simd::Twice::new($s), x);
            store!($s, out, 2 * v, first);
            store!($s, out, 2 * v + 1, second);
        }
        for v in 2 * pairs..$block.vectors() {
            store!($s, out, v, $function($s, load!($s, a, v)));
        }
    }};
}

macro_rules! map2 {
    ($s:ident, $block:ident, $i:ident, |$x:ident, $y:ident| $e:expr) => {{
        let (a, b, out) = ($block.read($i.a), $block.read($i.b), $block.write($i.out));
        for v in 0..$block.vectors() {
            let $x = load!($s, a, v);
            let $y = load!($s, b, v);
            store!($s, out, v, $e);
        }
    }};
}

macro_rules! map3 {
    ($s:ident, $block:ident, $i:ident, |$x:ident, $y:ident, $z:ident| $e:expr) => {{
        let (a, b, c) = ($block.read($i.a), $block.read($i.b), $block.read($i.c));
        let out = $block.write($i.out);
        for v in 0..$block.vectors() {
            let $x = load!($s, a, v);
            let $y = load!($s, b, v);
            let $z = load!($s, c, v);
            store!($s, out, v, $e);
        }
    }};
}

/// A function with two results: the second goes where operand `b` would be.
macro_rules! map_pair {
    ($s:ident, $block:ident, $i:ident, |$x:ident| $e:expr) => {{
        let (a, out, second) = ($block.read($i.a), $block.write($i.out), $block.write($i.b));
        for v in 0..$block.vectors() {
            let $x = load!($s, a, v);
            let (one, other) = $e;
            store!($s, out, v, one);
            store!($s, second, v, other);
        }
    }};
}

use {map_pair, map1, map1_in_pairs, map2, map3};
