//! Instructions: one operation on one block.
//!
//! Everything is inlined into one function per level of instructions. Every result has the same bits at
//! every level: functions by their own promise, sums because they have eight lanes and one order.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

mod index;
mod matrix;
mod scalar;
mod sums;

use exmc_math::simd::{Simd, vector};

use index::{copy_piece, load_by_index, scatter};
use matrix::{mat_t_vec, mat_vec};
use scalar::one_by_one;
use sums::{dot, sum, sum_log};

use super::pack::PackedIndex;
use super::program::{Code, Extra, Instruction, LANES, Place, Region};

/// Where the two regions begin: the arena, then what is shared.
pub(super) type Memory = [*mut f64; 2];

/// A block of a loop; a `SINGLE` one is the only one of its loop and fills at most one vector, which makes
/// its instructions straight lines.
pub(super) struct Block<'a, const SINGLE: bool> {
    pub(super) memory: Memory,
    pub(super) indices: &'a [PackedIndex],
    pub(super) extras: &'a [Extra],
    /// Elements of a whole block.
    pub(super) size: usize,
    /// First element.
    pub(super) start: usize,
    /// Elements of this block.
    pub(super) len: usize,
    /// Vectors that they fill.
    pub(super) vectors: usize,
    /// Whether this is the loop's last block.
    pub(super) last: bool,
}

type Lanes = [f64; LANES];

impl<const SINGLE: bool> Block<'_, SINGLE> {
    #[inline(always)]
    fn start(&self) -> usize {
        if SINGLE { 0 } else { self.start }
    }

    #[inline(always)]
    fn vectors(&self) -> usize {
        if SINGLE { 1 } else { self.vectors }
    }

    #[inline(always)]
    fn last(&self) -> bool {
        SINGLE || self.last
    }

    /// Where this block of a place that is read begins, and how far apart its vectors are.
    #[inline(always)]
    fn read(&self, place: Place) -> (*const f64, usize) {
        let base = self.memory[usize::from(place.region == Region::Shared)].cast_const();
        let skip = if place.stream { self.start() } else { 0 };
        // SAFETY: `lower` gives every place memory for its loop's elements, up to the end of a line more
        // than the last; the regions are as large as the program says.
        (unsafe { base.add(place.offset as usize + skip) }, usize::from(place.step))
    }

    /// Where this block of a place that is written begins.
    #[inline(always)]
    fn write(&self, place: Place) -> *mut f64 {
        let skip = if place.stream { self.start() } else { 0 };
        // SAFETY: as in `read`; only places of the arena are written.
        unsafe { self.memory[0].add(place.offset as usize + skip) }
    }

    /// Where an array begins, whatever the block.
    #[inline(always)]
    fn array(&self, place: Place) -> *const f64 {
        self.read(Place { stream: false, ..place }).0
    }
}

/// Vector number `v` of an operand.
macro_rules! load {
    ($s:expr, $operand:expr, $v:expr) => {{
        let (first, step) = $operand;
        // SAFETY: `v` is below the block's number of vectors, for which `read` has memory.
        $s.load(unsafe { &*first.add($v * step).cast::<Lanes>() })
    }};
}

/// Writes vector number `v` of a result.
macro_rules! store {
    ($s:expr, $out:expr, $v:expr, $x:expr) => {{
        let x = $x;
        // SAFETY: as for `load`; nothing else refers to the memory while it is written.
        $s.store(x, unsafe { &mut *$out.add($v * LANES).cast::<Lanes>() })
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

/// Whether an instruction is one of those that a straight line may have.
pub(super) fn runs_in_single(code: Code) -> bool {
    !matches!(
        code,
        Code::Sin
            | Code::Cos
            | Code::Lgamma
            | Code::Digamma
            | Code::Erf
            | Code::Erfc
            | Code::Expm1
            | Code::Pow
            | Code::LogAddExp
            | Code::MatVec
            | Code::MatTVec
            | Code::SumLog
            | Code::SumLog1p
    )
}

/// Runs one instruction on one block.
#[inline(always)]
pub(super) fn run_instruction<S: Simd, const SINGLE: bool>(
    s: S,
    block: &Block<'_, SINGLE>,
    i: &Instruction,
) {
    /// What `runs_in_single` leaves out of straight lines, to keep their code small.
    macro_rules! in_loops {
        ($e:expr) => {
            if SINGLE {
                unreachable!("a loop with {:?} is not run as a straight line", i.code)
            } else {
                $e
            }
        };
    }
    let (zero, one) = (s.splat(0.0), s.splat(1.0));
    match i.code {
        Code::Neg => map1!(s, block, i, |x| s.neg(x)),
        Code::Abs => map1!(s, block, i, |x| s.abs(x)),
        Code::Sign => map1!(s, block, i, |x| {
            let up = s.select(s.lt(zero, x), one, x);
            let down = s.select(s.lt(x, zero), s.splat(-1.0), up);
            s.select(s.eq(x, zero), zero, down)
        }),
        Code::Not => map1!(s, block, i, |x| s.select(s.eq(x, zero), one, zero)),
        Code::IsFinite => {
            map1!(s, block, i, |x| { s.select(s.lt(s.abs(x), s.splat(f64::INFINITY)), one, zero) })
        }
        Code::Exp => map1!(s, block, i, |x| vector::exp(s, x)),
        Code::Expm1 => in_loops!(map1!(s, block, i, |x| vector::expm1(s, x))),
        Code::Log => map1!(s, block, i, |x| vector::log(s, x)),
        Code::Log1p => map1!(s, block, i, |x| vector::log1p(s, x)),
        Code::Sqrt => map1!(s, block, i, |x| s.sqrt(x)),
        Code::Square => map1!(s, block, i, |x| s.mul(x, x)),
        Code::Reciprocal => map1!(s, block, i, |x| s.div(one, x)),
        Code::Sin => in_loops!(map1!(s, block, i, |x| vector::sin(s, x))),
        Code::Cos => in_loops!(map1!(s, block, i, |x| vector::cos(s, x))),
        Code::Tanh => map1!(s, block, i, |x| vector::tanh(s, x)),
        Code::InvLogit => map1!(s, block, i, |x| vector::sigmoid(s, x)),
        Code::Softplus => map1!(s, block, i, |x| vector::softplus(s, x)),
        Code::Lgamma => in_loops!(map1!(s, block, i, |x| vector::lgamma(s, x))),
        Code::Digamma => in_loops!(map1!(s, block, i, |x| vector::digamma(s, x))),
        Code::Erf => in_loops!(map1!(s, block, i, |x| vector::erf(s, x))),
        Code::Erfc => in_loops!(map1!(s, block, i, |x| vector::erfc(s, x))),
        Code::Add => map2!(s, block, i, |x, y| s.add(x, y)),
        Code::Sub => map2!(s, block, i, |x, y| s.sub(x, y)),
        Code::Mul => map2!(s, block, i, |x, y| s.mul(x, y)),
        Code::Div => map2!(s, block, i, |x, y| s.div(x, y)),
        Code::Pow => in_loops!(map2!(s, block, i, |x, y| vector::pow(s, x, y))),
        Code::Min => map2!(s, block, i, |x, y| {
            // NaN if either is; the first on ties.
            let other = s.select(s.eq(x, x), y, x);
            s.select(s.le(x, y), x, other)
        }),
        Code::Max => map2!(s, block, i, |x, y| {
            let other = s.select(s.eq(x, x), y, x);
            s.select(s.le(y, x), x, other)
        }),
        Code::LogAddExp => in_loops!(map2!(s, block, i, |x, y| log_add_exp(s, x, y))),
        Code::Lt => map2!(s, block, i, |x, y| s.select(s.lt(x, y), one, zero)),
        Code::Le => map2!(s, block, i, |x, y| s.select(s.le(x, y), one, zero)),
        Code::Eq => map2!(s, block, i, |x, y| s.select(s.eq(x, y), one, zero)),
        Code::Ne => map2!(s, block, i, |x, y| s.select(s.eq(x, y), zero, one)),
        Code::And => map2!(s, block, i, |x, y| {
            s.select(s.eq(x, zero), zero, s.select(s.eq(y, zero), zero, one))
        }),
        Code::Or => map2!(s, block, i, |x, y| {
            s.select(s.eq(x, zero), s.select(s.eq(y, zero), zero, one), one)
        }),
        Code::Select => map3!(s, block, i, |x, y, z| s.select(s.eq(x, zero), z, y)),
        Code::Copy => map1!(s, block, i, |x| x),
        Code::MulAdd => map3!(s, block, i, |x, y, z| s.fma(x, y, z)),
        Code::MulSub => map3!(s, block, i, |x, y, z| s.fma(x, y, s.neg(z))),
        Code::NegMulAdd => map3!(s, block, i, |x, y, z| s.fnma(x, y, z)),
        Code::AddThenMul => map3!(s, block, i, |x, y, z| s.mul(s.add(x, y), z)),
        Code::SubThenMul => map3!(s, block, i, |x, y, z| s.mul(s.sub(x, y), z)),
        Code::MulThenMul => map3!(s, block, i, |x, y, z| s.mul(s.mul(x, y), z)),
        Code::AddThenReciprocal => map2!(s, block, i, |x, y| s.div(one, s.add(x, y))),
        Code::SoftplusInvLogit => {
            let (a, softplus, logistic) = (block.read(i.a), block.write(i.out), block.write(i.b));
            for v in 0..block.vectors() {
                let (p, l) = vector::sigmoid_softplus(s, load!(s, a, v));
                store!(s, softplus, v, l);
                store!(s, logistic, v, p);
            }
        }
        Code::Lane => one_by_one(block, i),
        Code::Pick => {
            // SAFETY: a view that is picked from lies inside its array.
            let value = unsafe { *block.array(i.a) };
            store!(s, block.write(i.out), 0, s.splat(value));
        }
        Code::Load => load_by_index::<S, false, SINGLE>(s, block, i),
        Code::LoadOrZero => load_by_index::<S, true, SINGLE>(s, block, i),
        Code::Zero => {
            let out = block.write(i.out);
            for v in 0..block.vectors() {
                store!(s, out, v, zero);
            }
        }
        Code::Piece => copy_piece(block, i),
        Code::MatVec => in_loops!(mat_vec(s, block, i)),
        Code::Sum => sum(s, block, i),
        Code::Dot => dot(s, block, i),
        Code::SumLog => in_loops!(sum_log::<S, false, SINGLE>(s, block, i)),
        Code::SumLog1p => in_loops!(sum_log::<S, true, SINGLE>(s, block, i)),
        Code::Scatter => scatter(s, block, i),
        Code::MatTVec => in_loops!(mat_t_vec(s, block, i)),
    }
}

/// $\log(e^a+e^b)$; the larger one where that is infinite, NaN if either is.
#[inline(always)]
fn log_add_exp<S: Simd>(s: S, a: S::Vector, b: S::Vector) -> S::Vector {
    let larger = s.select(s.le(b, a), a, b);
    let smaller = s.select(s.le(b, a), b, a);
    let difference = s.sub(smaller, larger);
    let sum = s.add(larger, vector::log1p(s, vector::exp(s, difference)));
    let finite = s.lt(s.abs(larger), s.splat(f64::INFINITY));
    // Where the larger one is infinite the difference may be NaN; a NaN of either stays.
    let edge = s.select(s.eq(smaller, smaller), larger, smaller);
    s.select(finite, sum, edge)
}
