//! Instructions on `f32`: the routines of those that have one, each a function of its own for every
//! level.
//!
//! Arrays that are read or written element by element are `f32`, sixteen to a vector; scalars'
//! lines, tables, factors and sums are `f64`. So a sum of any length has the digits of its terms.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

mod convert;
mod matrix;
mod numbers;
mod sums;

pub(super) use convert::{narrow, widen};
use exmc_math::simd::single::{self, Single};
use exmc_math::simd::{Address, Level, Routine, Simd};
pub(in crate::native) use numbers::{FIRST_BITS, Form, SIGN_OF_FIRST, forms};

use super::{Block, Operand, Span, Step};
use crate::native::program::{Code, LANES};

/// Lanes of a vector of `f32`.
const SINGLES: usize = 2 * LANES;

type Lanes = [f32; SINGLES];

impl<const SINGLE: bool> Block<'_, SINGLE> {
    /// Vectors that the block's elements fill.
    #[inline(always)]
    fn single_vectors(self) -> usize {
        self.len().div_ceil(SINGLES)
    }

    /// Where this block of an array that is written begins.
    #[inline(always)]
    fn write_single(self, operand: Operand) -> *mut f32 {
        // SAFETY: as for `write`; the place is one of `f32`.
        unsafe { operand.first.cast::<f32>().add(self.start() * operand.advance as usize) }
    }

    /// Where this block of an operand begins: of an array, or a scalar's line, which is `f64`.
    #[inline(always)]
    fn read_single(self, operand: Operand) -> Source {
        if operand.step != 0 {
            return Source::Array(self.write_single(operand).cast_const());
        }
        // SAFETY: a scalar has a line.
        let value = unsafe { *operand.first };
        if operand.wide { Source::Wide(value) } else { Source::Scalar(value as f32) }
    }
}

/// An operand of a block.
#[derive(Clone, Copy)]
enum Source {
    Array(*const f32),
    /// A number that is an `f32`.
    Scalar(f32),
    /// Any other, see [`numbers`].
    Wide(f64),
}

impl Source {
    #[inline(always)]
    fn is_wide(self) -> bool {
        matches!(self, Self::Wide(_))
    }
}

/// Vector number `v` of a source.
macro_rules! load {
    ($t:expr, $source:expr, $v:expr) => {
        match $source {
            // SAFETY: `v` is below the block's number of vectors; arrays of `f32` are there to the
            // end of a vector.
            Source::Array(first) => $t.load(unsafe { &*first.add($v * SINGLES).cast::<Lanes>() }),
            Source::Scalar(x) => $t.splat(x),
            Source::Wide(x) => $t.splat(x as f32),
        }
    };
}

/// The same as two vectors of `f64`.
macro_rules! load_wide {
    ($t:expr, $source:expr, $v:expr) => {
        match $source {
            Source::Wide(x) => [$t.wide().splat(x); 2],
            source => $t.widen(load!($t, source, $v)),
        }
    };
}

/// Writes vector number `v` of a result.
macro_rules! store {
    ($t:expr, $out:expr, $v:expr, $x:expr) => {{
        let x = $x;
        // SAFETY: as for `load`; nothing else refers to the memory while it is written.
        $t.store(x, unsafe { &mut *$out.add($v * SINGLES).cast::<Lanes>() })
    }};
}

use {load, load_wide, store};

macro_rules! map1 {
    ($t:ident, $block:ident, $i:ident, |$x:ident| $e:expr) => {{
        let (a, out) = ($block.read_single($i.a), $block.write_single($i.out));
        for v in 0..$block.single_vectors() {
            let $x = load!($t, a, v);
            store!($t, out, v, $e);
        }
    }};
}

/// Whether an operand is a factor in parts, or all are numbers of `f64`.
fn has_parts(code: Code, i: &Step) -> bool {
    forms(code, [&i.a, &i.b, &i.c]).contains(&Form::Parts)
}

fn is_double(code: Code, i: &Step) -> bool {
    forms(code, [&i.a, &i.b, &i.c]).contains(&Form::Double)
}

/// A function of two or three arguments: in `f32`, or in `f64` and rounded once where [`forms`]
/// says so. The expression is written for both.
macro_rules! map {
    (
        $code:ident, $t:ident, $block:ident, $i:ident, $zero:ident, $one:ident,
        |$($x:ident: $operand:ident),*| $e:expr
    ) => {{
        let out = $block.write_single($i.out);
        $(let $operand = $block.read_single($i.$operand);)*
        if is_double(Code::$code, $i) {
            let single = $t;
            let $t = single.wide();
            #[allow(unused_variables, reason = "most expressions need no zero or one")]
            let ($zero, $one) = ($t.splat(0.0), $t.splat(1.0));
            for v in 0..$block.single_vectors() {
                $(let $operand = load_wide!(single, $operand, v);)*
                let low = { $(let $x = $operand[0];)* $e };
                let high = { $(let $x = $operand[1];)* $e };
                store!(single, out, v, single.narrow([low, high]));
            }
        } else {
            for v in 0..$block.single_vectors() {
                $(let $x = load!($t, $operand, v);)*
                store!($t, out, v, $e);
            }
        }
    }};
}

/// A function with two results: the second goes where operand `b` would be.
macro_rules! map_pair {
    ($t:ident, $block:ident, $i:ident, |$x:ident| $e:expr) => {{
        let a = $block.read_single($i.a);
        let (out, second) = ($block.write_single($i.out), $block.write_single($i.b));
        for v in 0..$block.single_vectors() {
            let $x = load!($t, a, v);
            let (one, other) = $e;
            store!($t, out, v, one);
            store!($t, second, v, other);
        }
    }};
}

/// Makes a routine of every code; bodies see the level's token for `f32`, the block, the
/// instruction, and zero and one.
macro_rules! routines {
    (
        |$t:ident, $block:ident, $i:ident, $zero:ident, $one:ident|
        $($code:ident => $body:expr,)*
    ) => {
        $(
            struct $code;

            impl Routine for $code {
                type Context = Span;
                type Step = Step;

                #[inline(always)]
                #[allow(unused_variables, reason = "most bodies need no zero or one")]
                unsafe fn run<S: Simd>(s: S, span: &Span, $i: &Step) {
                    let $t = s.single();
                    let $block = Block::<false>(span);
                    let ($zero, $one) = ($t.splat(0.0), $t.splat(1.0));
                    $body
                }
            }
        )*

        /// The routine of a code, if it has one for `f32`.
        pub(in crate::native) fn single_routine(level: Level, code: Code) -> Option<Address<Span, Step>> {
            match code {
                $(Code::$code => Some(level.address::<$code>()),)*
                _ => None,
            }
        }

        /// Whether a code has a routine for `f32`.
        pub(in crate::native) fn has_single(code: Code) -> bool {
            matches!(code, $(Code::$code)|*)
        }
    };
}

routines! {
    |t, block, i, zero, one|
    Neg => map1!(t, block, i, |x| t.neg(x)),
    Abs => map1!(t, block, i, |x| t.abs(x)),
    Sign => map1!(t, block, i, |x| {
        let up = t.select(t.lt(zero, x), one, x);
        let down = t.select(t.lt(x, zero), t.splat(-1.0), up);
        t.select(t.eq(x, zero), zero, down)
    }),
    Not => map1!(t, block, i, |x| t.select(t.eq(x, zero), one, zero)),
    IsFinite => {
        map1!(t, block, i, |x| { t.select(t.lt(t.abs(x), t.splat(f32::INFINITY)), one, zero) })
    },
    Exp => map1!(t, block, i, |x| single::exp(t, x)),
    Log => map1!(t, block, i, |x| single::log(t, x)),
    Sqrt => map1!(t, block, i, |x| t.sqrt(x)),
    Square => map1!(t, block, i, |x| t.mul(x, x)),
    Reciprocal => map1!(t, block, i, |x| t.div(one, x)),
    InvLogit => map1!(t, block, i, |x| single::sigmoid(t, x)),
    Softplus => map1!(t, block, i, |x| single::softplus(t, x)),
    Add => map!(Add, t, block, i, zero, one, |x: a, y: b| t.add(x, y)),
    Sub => map!(Sub, t, block, i, zero, one, |x: a, y: b| t.sub(x, y)),
    Mul => if has_parts(Code::Mul, i) {
        numbers::mul(t, block, i)
    } else {
        map!(Mul, t, block, i, zero, one, |x: a, y: b| t.mul(x, y))
    },
    Div => map!(Div, t, block, i, zero, one, |x: a, y: b| t.div(x, y)),
    Min => map!(Min, t, block, i, zero, one, |x: a, y: b| {
        // NaN if either is; the first on ties.
        let other = t.select(t.eq(x, x), y, x);
        t.select(t.le(x, y), x, other)
    }),
    Max => map!(Max, t, block, i, zero, one, |x: a, y: b| {
        let other = t.select(t.eq(x, x), y, x);
        t.select(t.le(y, x), x, other)
    }),
    Lt => map!(Lt, t, block, i, zero, one, |x: a, y: b| t.select(t.lt(x, y), one, zero)),
    Le => map!(Le, t, block, i, zero, one, |x: a, y: b| t.select(t.le(x, y), one, zero)),
    Eq => map!(Eq, t, block, i, zero, one, |x: a, y: b| t.select(t.eq(x, y), one, zero)),
    Ne => map!(Ne, t, block, i, zero, one, |x: a, y: b| t.select(t.eq(x, y), zero, one)),
    And => map!(And, t, block, i, zero, one, |x: a, y: b| {
        t.select(t.eq(x, zero), zero, t.select(t.eq(y, zero), zero, one))
    }),
    Or => map!(Or, t, block, i, zero, one, |x: a, y: b| {
        t.select(t.eq(x, zero), t.select(t.eq(y, zero), zero, one), one)
    }),
    Select => map!(Select, t, block, i, zero, one, |x: a, y: b, z: c| t.select(t.eq(x, zero), z, y)),
    MulAdd => map!(MulAdd, t, block, i, zero, one, |x: a, y: b, z: c| t.fma(x, y, z)),
    MulSub => map!(MulSub, t, block, i, zero, one, |x: a, y: b, z: c| t.fma(x, y, t.neg(z))),
    NegMulAdd => map!(NegMulAdd, t, block, i, zero, one, |x: a, y: b, z: c| t.fnma(x, y, z)),
    AddThenMul => if has_parts(Code::AddThenMul, i) {
        numbers::sum_then_mul::<_, false, false>(t, block, i)
    } else {
        map!(AddThenMul, t, block, i, zero, one, |x: a, y: b, z: c| t.mul(t.add(x, y), z))
    },
    SubThenMul => if has_parts(Code::SubThenMul, i) {
        numbers::sum_then_mul::<_, true, false>(t, block, i)
    } else {
        map!(SubThenMul, t, block, i, zero, one, |x: a, y: b, z: c| t.mul(t.sub(x, y), z))
    },
    MulThenMul => if has_parts(Code::MulThenMul, i) {
        numbers::mul_then_mul(t, block, i)
    } else {
        map!(MulThenMul, t, block, i, zero, one, |x: a, y: b, z: c| t.mul(t.mul(x, y), z))
    },
    AddThenReciprocal => if is_double(Code::AddThenReciprocal, i) {
        numbers::add_then_reciprocal(t, block, i)
    } else {
        map!(AddThenReciprocal, t, block, i, zero, one, |x: a, y: b| t.div(one, t.add(x, y)))
    },
    SoftplusInvLogit => {
        map_pair!(t, block, i, |x| {
            let (logistic, softplus) = single::sigmoid_softplus(t, x);
            (softplus, logistic)
        });
    },
    Load => convert::load_by_index(t, block, i),
    Sum => sums::sum(t, block, i),
    Dot => sums::dot(t, block, i),
    SumSoftplusInvLogit => sums::sum_softplus(t, block, i),
    MatVec => matrix::mat_vec(t, block, i),
    MatTVec => matrix::mat_t_vec(t, block, i),
}
