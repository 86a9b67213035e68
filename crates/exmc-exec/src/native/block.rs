//! Instructions: one operation on one block.
//!
//! Everything is inlined into one function per level of instructions. Every result has the same bits at
//! every level: functions by their own promise, sums because they have eight lanes and one order.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_fault::{Fault, planted};
use exmc_graph::kernels::{Arg, evaluate_into};
use exmc_graph::{Op, Shape};
use exmc_math::simd::{Simd, vector};

use super::pack::{PackedIndex, Run};
use super::program::{Code, Extra, Instruction, LANES, Place, Region};
use super::values::NOTHING;

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

/// A function without a vector kernel.
fn one_by_one<const SINGLE: bool>(block: &Block<'_, SINGLE>, i: &Instruction) {
    let Extra::Lane { op, shapes } = &block.extras[i.extra as usize] else {
        unreachable!("lowered with its function")
    };
    let scalar = i.out.step == 0;
    let count = if scalar { 1 } else { block.len };
    let shape: &Shape = if block.len == block.size { &shapes[0] } else { &shapes[1] };
    let arg = |place: Place| {
        let (first, step) = block.read(place);
        let len = if step == 0 { 1 } else { count };
        // SAFETY: memory that `read` has; registers of operands are not the result's (`registers`).
        Arg { shape, values: unsafe { std::slice::from_raw_parts(first, len) } }
    };
    // SAFETY: memory that `write` has, and that no operand overlaps.
    let out = unsafe { std::slice::from_raw_parts_mut(block.write(i.out), count) };
    let outcome = match op {
        Op::Unary(_) => evaluate_into(op, &[arg(i.a)], shape, out),
        Op::Binary(_) => evaluate_into(op, &[arg(i.a), arg(i.b)], shape, out),
        _ => evaluate_into(op, &[arg(i.a), arg(i.b), arg(i.c)], shape, out),
    };
    debug_assert_eq!(outcome, Ok(()), "elementwise functions do not fail");
    if scalar {
        let value = out[0];
        // SAFETY: a scalar has a line.
        unsafe { std::slice::from_raw_parts_mut(block.write(i.out), LANES) }.fill(value);
    }
}

fn index<'a, const SINGLE: bool>(
    block: &'a Block<'_, SINGLE>,
    i: &Instruction,
) -> (&'a PackedIndex, usize) {
    let Extra::Index { number, len } = &block.extras[i.extra as usize] else {
        unreachable!("lowered with its index")
    };
    (&block.indices[*number], *len)
}

/// The runs of a block.
fn block_runs<'a, const SINGLE: bool>(
    block: &Block<'_, SINGLE>,
    index: &'a PackedIndex,
) -> &'a [Run] {
    let number = block.start() / block.size;
    &index.runs[index.first_runs[number] as usize..index.first_runs[number + 1] as usize]
}

#[inline(always)]
fn load_by_index<S: Simd, const HOLES: bool, const SINGLE: bool>(
    s: S,
    block: &Block<'_, SINGLE>,
    i: &Instruction,
) {
    let (index, _) = index(block, i);
    let at = &index.at[block.start()..block.start() + block.len];
    let (table, out) = (block.array(i.a), block.write(i.out));
    if i.out.step == 0 {
        let k = at[0];
        // SAFETY: `pack` checked every index against the table's length; a scalar has a line.
        unsafe {
            let value = if HOLES && k == NOTHING { 0.0 } else { *table.add(k as usize) };
            std::slice::from_raw_parts_mut(out, LANES).fill(value);
        }
        return;
    }
    if !HOLES && !index.first_runs.is_empty() {
        for run in block_runs(block, index) {
            // SAFETY: `pack` checked every index against the table's length.
            let value = unsafe { *table.add(run.target as usize) };
            let (from, to) = (run.start as usize, run.end as usize);
            // SAFETY: the run is inside the block.
            let part =
                unsafe { std::slice::from_raw_parts_mut(out.add(from - block.start()), to - from) };
            let (lines, rest) = part.as_chunks_mut::<LANES>();
            for line in lines {
                s.store(s.splat(value), line);
            }
            rest.fill(value);
        }
        return;
    }
    for (j, &k) in at.iter().enumerate() {
        // SAFETY: `pack` checked every index against the table's length; j is inside the block.
        unsafe {
            *out.add(j) = if HOLES && k == NOTHING { 0.0 } else { *table.add(k as usize) };
        }
    }
}

fn copy_piece<const SINGLE: bool>(block: &Block<'_, SINGLE>, i: &Instruction) {
    let &Extra::Piece { start, len } = &block.extras[i.extra as usize] else {
        unreachable!("lowered with its piece")
    };
    let from = start.max(block.start());
    let to = (start + len).min(block.start() + block.len);
    if from < to {
        let (source, out) = (block.array(i.a), block.write(i.out));
        // SAFETY: elements from..to are inside the piece and inside the block; the piece is in memory
        // of its own.
        unsafe {
            std::ptr::copy_nonoverlapping(
                source.add(from - start),
                out.add(from - block.start()),
                to - from,
            );
        }
    }
}

/// Which lanes of the block's last vector are elements, if not all.
#[inline(always)]
fn tail<S: Simd>(s: S, len: usize) -> S::Mask {
    const COUNT: Lanes = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
    s.lt(s.load(&COUNT), s.splat((len % LANES) as f64))
}

/// Adds a block's sum of each lane to those of the blocks before, and after the last all lanes to the result.
macro_rules! finish_sum {
    ($s:ident, $block:ident, $i:ident, $sum:ident) => {{
        let mut sum = $sum;
        let partial = $block.write($i.c);
        if $block.start() > 0 {
            sum = $s.add(load!($s, (partial.cast_const(), 0), 0), sum);
        }
        if $block.last() {
            store!($s, $block.write($i.out), 0, $s.splat($s.total(sum)));
        } else {
            store!($s, partial, 0, sum);
        }
    }};
}

/// Adds up a block's terms.
///
/// Vectors 0, 4, 8, ... of a block have one sum, as have 1, 5, ... and so on; these are added as
/// `(0 + 1) + (2 + 3)` and then to the sum of the blocks before.
macro_rules! add_up {
    ($s:ident, $block:ident, $i:ident, |$v:ident| $term:expr) => {{
        let zero = $s.splat(0.0);
        let whole = $block.len / LANES;
        let mut sum = zero;
        let mut first = 0;
        if whole >= 4 {
            let (mut s1, mut s2, mut s3) = (zero, zero, zero);
            while first + 4 <= whole {
                let $v = first;
                sum = $s.add(sum, $term);
                let $v = first + 1;
                s1 = $s.add(s1, $term);
                let $v = first + 2;
                s2 = $s.add(s2, $term);
                let $v = first + 3;
                s3 = $s.add(s3, $term);
                first += 4;
            }
            sum = $s.add($s.add(sum, s1), $s.add(s2, s3));
        }
        while first < whole {
            let $v = first;
            sum = $s.add(sum, $term);
            first += 1;
        }
        if $block.vectors() > whole {
            let $v = whole;
            sum = $s.add(sum, $s.select(tail($s, $block.len), $term, zero));
        }
        finish_sum!($s, $block, $i, sum);
    }};
}

#[inline(always)]
fn sum<S: Simd, const SINGLE: bool>(s: S, block: &Block<'_, SINGLE>, i: &Instruction) {
    let a = block.read(i.a);
    add_up!(s, block, i, |v| load!(s, a, v));
}

#[inline(always)]
fn dot<S: Simd, const SINGLE: bool>(s: S, block: &Block<'_, SINGLE>, i: &Instruction) {
    let (a, b) = (block.read(i.a), block.read(i.b));
    add_up!(s, block, i, |v| s.mul(load!(s, a, v), load!(s, b, v)));
}

/// The sum of the logarithms of `a`, or of `1 + a`, as the logarithm of a product: fractions are multiplied
/// and exponents added, a logarithm is taken once per block and lane.
///
/// A product of 64 numbers is off by 64 half ulps, that is $7\cdot10^{-15}$ in its logarithm, as a sum of 64
/// terms of size one would be. Where a number is not positive, normal and finite, the block's logarithms
/// are added one by one.
#[inline(always)]
fn sum_log<S: Simd, const PLUS_ONE: bool, const SINGLE: bool>(
    s: S,
    block: &Block<'_, SINGLE>,
    i: &Instruction,
) {
    const FRACTION: u64 = (1 << 52) - 1;
    /// 2^52, to whose fraction an integer is added as bits.
    const SHIFT: f64 = 4_503_599_627_370_496.0;
    let a = block.read(i.a);
    let one = s.splat(1.0);
    let (mut product, mut exponents) = (one, s.splat_bits(0));
    let mut ordinary = s.eq(one, one);
    for v in 0..block.vectors() {
        let mut x = load!(s, a, v);
        if PLUS_ONE {
            x = s.add(x, one);
        }
        if v * LANES + LANES > block.len {
            x = s.select(tail(s, block.len), x, one);
        }
        let normal = s.both(s.le(s.splat(f64::MIN_POSITIVE), x), s.lt(x, s.splat(f64::INFINITY)));
        ordinary = s.both(ordinary, normal);
        let bits = s.to_bits(x);
        exponents = s.add_bits(exponents, s.shift_right::<52>(bits));
        let fraction = s.and_bits(bits, s.splat_bits(FRACTION));
        product = s.mul(product, s.with_bits(s.or_bits(fraction, s.to_bits(one))));
    }
    if s.all(ordinary) {
        let count = s.with_bits(s.add_bits(exponents, s.to_bits(s.splat(SHIFT))));
        let bias = 1023.0 * block.vectors() as f64;
        let exponent = s.sub(s.sub(count, s.splat(SHIFT)), s.splat(bias));
        let sum = s.fma(exponent, s.splat(std::f64::consts::LN_2), vector::log(s, product));
        finish_sum!(s, block, i, sum);
    } else if PLUS_ONE {
        add_up!(s, block, i, |v| vector::log1p(s, load!(s, a, v)));
    } else {
        add_up!(s, block, i, |v| vector::log(s, load!(s, a, v)));
    }
}

/// Adds to a number.
///
/// # Safety
/// The number must be there, and nothing else may refer to it.
#[inline(always)]
unsafe fn add_to(target: *mut f64, value: f64) {
    // SAFETY: the caller vouches for it.
    unsafe {
        *target = if planted(Fault::GradientGatherOverwrites) { value } else { *target + value }
    }
}

#[inline(always)]
fn scatter<S: Simd, const SINGLE: bool>(s: S, block: &Block<'_, SINGLE>, i: &Instruction) {
    let (index, len) = index(block, i);
    let out = block.write(Place { stream: false, ..i.out });
    let (values, step) = block.read(i.a);
    if block.start() == 0 {
        // SAFETY: the result has `len` elements.
        unsafe { std::slice::from_raw_parts_mut(out, len) }.fill(0.0);
    }
    if index.first_runs.is_empty() {
        let at = &index.at[block.start()..block.start() + block.len];
        for (j, &k) in at.iter().enumerate() {
            let j = if step == 0 { 0 } else { j };
            // SAFETY: `pack` checked every index against the result's length; j is inside the block.
            unsafe { add_to(out.add(k as usize), *values.add(j)) };
        }
    } else {
        for run in block_runs(block, index) {
            let (from, len) = (run.start as usize - block.start(), (run.end - run.start) as usize);
            let from = if step == 0 { 0 } else { from };
            let whole = len / LANES;
            let mut total = s.splat(0.0);
            // SAFETY: the run is inside the block, for which `read` has memory to the end of a line more.
            let operand = (unsafe { values.add(from) }, step);
            for v in 0..whole {
                total = s.add(total, load!(s, operand, v));
            }
            if len % LANES > 0 {
                let term = s.select(tail(s, len), load!(s, operand, whole), s.splat(0.0));
                total = s.add(total, term);
            }
            // SAFETY: `pack` checked every index against the result's length.
            unsafe { add_to(out.add(run.target as usize), s.total(total)) };
        }
    }
    if block.last() && i.out.step == 0 {
        // SAFETY: a scalar has a line.
        unsafe {
            let value = *out;
            std::slice::from_raw_parts_mut(out, LANES).fill(value);
        }
    }
}

fn matrix<const SINGLE: bool>(block: &Block<'_, SINGLE>, i: &Instruction) -> (*const f64, usize) {
    let &Extra::Matrix { offset, columns } = &block.extras[i.extra as usize] else {
        unreachable!("lowered with its matrix")
    };
    // SAFETY: the shared region holds all tiles; a block begins with a tile.
    (unsafe { block.memory[1].cast_const().add(offset + block.start() * columns) }, columns)
}

/// Rows of a block times a vector, four tiles at a time, columns in order.
#[inline(always)]
fn mat_vec<S: Simd, const SINGLE: bool>(s: S, block: &Block<'_, SINGLE>, i: &Instruction) {
    let (x, columns) = matrix(block, i);
    let (factors, out) = (block.array(i.a), block.write(i.out));
    let tile = columns * LANES;
    // Vector k of tile t, and factor k; tiles below the block's vectors and columns below `columns` are there.
    macro_rules! entry {
        ($t:expr, $k:expr) => {
            load!(s, (x.wrapping_add($t * tile), LANES), $k)
        };
    }
    macro_rules! factor {
        ($k:expr) => {{
            // SAFETY: there are `columns` factors.
            s.splat(unsafe { *factors.add($k) })
        }};
    }
    let mut t = 0;
    while t + 4 <= block.vectors() {
        let zero = s.splat(0.0);
        let (mut s0, mut s1, mut s2, mut s3) = (zero, zero, zero, zero);
        for k in 0..columns {
            let factor = factor!(k);
            s0 = s.fma(entry!(t, k), factor, s0);
            s1 = s.fma(entry!(t + 1, k), factor, s1);
            s2 = s.fma(entry!(t + 2, k), factor, s2);
            s3 = s.fma(entry!(t + 3, k), factor, s3);
        }
        store!(s, out, t, s0);
        store!(s, out, t + 1, s1);
        store!(s, out, t + 2, s2);
        store!(s, out, t + 3, s3);
        t += 4;
    }
    while t < block.vectors() {
        let mut sum = s.splat(0.0);
        for k in 0..columns {
            sum = s.fma(entry!(t, k), factor!(k), sum);
        }
        store!(s, out, t, sum);
        t += 1;
    }
}

/// The transpose times the block's vector: a line of partial sums per column, rows in order.
#[inline(always)]
fn mat_t_vec<S: Simd, const SINGLE: bool>(s: S, block: &Block<'_, SINGLE>, i: &Instruction) {
    let columns = matrix(block, i).1;
    let mut k = 0;
    while k + 8 <= columns {
        columns_of_transpose::<S, 8, SINGLE>(s, block, i, k);
        k += 8;
    }
    if k + 4 <= columns {
        columns_of_transpose::<S, 4, SINGLE>(s, block, i, k);
        k += 4;
    }
    while k < columns {
        columns_of_transpose::<S, 1, SINGLE>(s, block, i, k);
        k += 1;
    }
}

/// `N` columns from `k` on.
#[inline(always)]
fn columns_of_transpose<S: Simd, const N: usize, const SINGLE: bool>(
    s: S,
    block: &Block<'_, SINGLE>,
    i: &Instruction,
    k: usize,
) {
    let (x, columns) = matrix(block, i);
    let residuals = block.read(i.a);
    let sums = block.write(Place { stream: false, ..i.c });
    let tile = columns * LANES;
    let zero = s.splat(0.0);
    let mut c = [zero; N];
    if block.start() > 0 {
        for (j, sum) in c.iter_mut().enumerate() {
            *sum = load!(s, (sums.cast_const(), LANES), k + j);
        }
    }
    for t in 0..block.vectors() {
        let mut r = load!(s, residuals, t);
        if t * LANES + LANES > block.len {
            r = s.select(tail(s, block.len), r, zero);
        }
        // Tile t is inside the block, and columns k to k + N inside the matrix.
        let rows = (x.wrapping_add(t * tile + k * LANES), LANES);
        for (j, sum) in c.iter_mut().enumerate() {
            *sum = s.fma(load!(s, rows, j), r, *sum);
        }
    }
    let out = block.write(Place { stream: false, ..i.out });
    for (j, &sum) in c.iter().enumerate() {
        if !block.last() {
            store!(s, sums, k + j, sum);
        } else if i.out.step == 0 {
            store!(s, out, 0, s.splat(s.total(sum)));
        } else {
            let total = s.total(sum);
            // SAFETY: the result has `columns` elements.
            unsafe { *out.add(k + j) = total };
        }
    }
}
