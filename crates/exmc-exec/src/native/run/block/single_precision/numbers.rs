//! Numbers among operands of `f32`: which of them an instruction takes in `f64`, and products with
//! one that is no `f32`.
//!
//! Such a number is not rounded before its use: all elements would be off in the same direction, so
//! that their sum would be off by as many times as much. A product with it is one with its first 24
//! bits, to which one with the next ones is added before it is rounded. Sums with it and
//! comparisons are those of `f64`, rounded once.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_math::simd::Simd;
use exmc_math::simd::single::Single;

use super::{Lanes, SINGLES, Source, load, load_wide, store};
use crate::native::program::Code;
use crate::native::run::block::{Block, Operand, Step};

/// What is left of an `f64`'s fraction in its first part.
pub(in crate::native) const FIRST_BITS: u64 = !((1 << 29) - 1);
/// 2^-60: what the second part has of the first one, so that both have one sign and an infinite
/// element an infinite product.
pub(in crate::native) const SIGN_OF_FIRST: f64 = f64::from_bits((1023 - 60) << 52);

/// How an instruction takes an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Form {
    /// An array, or nothing.
    Array,
    /// A number that is an `f32`, or is rounded as its result would be.
    Rounded,
    /// A factor in two parts.
    Parts,
    /// In `f64`, as all operands and the operation are.
    Double,
}

/// The forms of an instruction's operands.
pub(in crate::native) fn forms(code: Code, operands: [&Operand; 3]) -> [Form; 3] {
    let wide = operands.map(|operand| operand.step == 0 && operand.wide);
    let double = match code {
        Code::Mul | Code::MulThenMul => wide[0] && wide[1],
        Code::AddThenMul | Code::SubThenMul | Code::AddThenReciprocal => wide[0] || wide[1],
        Code::Select => wide[0],
        Code::Dot | Code::Sum => false,
        Code::Neg | Code::Abs | Code::Not | Code::Sqrt | Code::Square | Code::Reciprocal => false,
        Code::MulAdd | Code::MulSub | Code::NegMulAdd => wide != [false; 3],
        _ => wide[0] || wide[1],
    };
    let splits = matches!(code, Code::Mul | Code::MulThenMul | Code::AddThenMul | Code::SubThenMul);
    std::array::from_fn(|k| match operands[k].step {
        0 if double => Form::Double,
        0 if wide[k] && splits => Form::Parts,
        0 => Form::Rounded,
        _ => Form::Array,
    })
}

/// The two parts of a number, which may be infinite or NaN as an `f32`.
#[inline(always)]
fn parts(x: f64) -> [f32; 2] {
    let first = f64::from_bits(x.to_bits() & FIRST_BITS);
    let rest = x - first;
    let rest = if rest.is_nan() { 0.0 } else { rest };
    [first as f32, (rest + first * SIGN_OF_FIRST) as f32]
}

/// A factor: an array's vectors, or a number's parts.
#[derive(Clone, Copy)]
enum Factor<T: Single> {
    Source(Source),
    Parts([T::Vector; 2]),
}

impl<T: Single> Factor<T> {
    #[inline(always)]
    fn new(t: T, source: Source) -> Self {
        match source {
            Source::Wide(x) => Self::Parts(parts(x).map(|part| t.splat(part))),
            source => Self::Source(source),
        }
    }

    /// `x` times the factor's vector number `v`.
    #[inline(always)]
    fn times(self, t: T, x: T::Vector, v: usize) -> T::Vector {
        match self {
            Self::Source(source) => t.mul(x, load!(t, source, v)),
            Self::Parts([first, second]) => t.fma(x, first, t.mul(x, second)),
        }
    }
}

/// A function of an instruction's vectors by number.
macro_rules! each {
    ($t:ident, $block:ident, $i:ident, |$v:ident| $e:expr) => {{
        let out = $block.write_single($i.out);
        for $v in 0..$block.single_vectors() {
            store!($t, out, $v, $e);
        }
    }};
}

/// `a b`, one of which at most is such a number.
#[inline(always)]
pub(super) fn mul<T: Single, const SINGLE: bool>(t: T, block: Block<'_, SINGLE>, i: &Step) {
    let (a, b) = (block.read_single(i.a), block.read_single(i.b));
    let (x, factor) = if a.is_wide() { (b, a) } else { (a, b) };
    let factor = Factor::new(t, factor);
    each!(t, block, i, |v| factor.times(t, load!(t, x, v), v));
}

/// `a b c`, of which one of the first two at most is such a number.
#[inline(always)]
pub(super) fn mul_then_mul<T: Single, const SINGLE: bool>(
    t: T,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let (a, b) = (block.read_single(i.a), block.read_single(i.b));
    let (x, factor) = if a.is_wide() { (b, a) } else { (a, b) };
    let (factor, last) = (Factor::new(t, factor), Factor::new(t, block.read_single(i.c)));
    each!(t, block, i, |v| last.times(t, factor.times(t, load!(t, x, v), v), v));
}

/// `(a + b) c`, or `(a - b) c` if `minus`, where `c` may be such a number.
#[inline(always)]
pub(super) fn sum_then_mul<T: Single, const MINUS: bool, const SINGLE: bool>(
    t: T,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let (a, b) = (block.read_single(i.a), block.read_single(i.b));
    let factor = Factor::new(t, block.read_single(i.c));
    macro_rules! sum {
        ($v:ident) => {{
            let (x, y) = (load!(t, a, $v), load!(t, b, $v));
            if MINUS { t.sub(x, y) } else { t.add(x, y) }
        }};
    }
    each!(t, block, i, |v| factor.times(t, sum!(v), v));
}

/// `1 / (a + b)`, of which one is such a number: the sum is rounded before the division, which is
/// one of `f32`.
#[inline(always)]
pub(super) fn add_then_reciprocal<T: Single, const SINGLE: bool>(
    t: T,
    block: Block<'_, SINGLE>,
    i: &Step,
) {
    let (s, one) = (t.wide(), t.splat(1.0));
    let (a, b) = (block.read_single(i.a), block.read_single(i.b));
    each!(t, block, i, |v| {
        let (x, y) = (load_wide!(t, a, v), load_wide!(t, b, v));
        t.div(one, t.narrow([s.add(x[0], y[0]), s.add(x[1], y[1])]))
    });
}
