//! The routine of every instruction: one line here is a function of its own for each level, twice if it also
//! has a straight line for loops of one vector.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_math::simd::{Address, Level, Routine, Simd, vector};

use super::index::{copy_piece, load_by_index, scatter};
use super::matrix::{mat_t_vec, mat_vec};
use super::scalar::one_by_one;
use super::sums::{dot, sum, sum_log};
use super::{Block, Lanes, Span, Step, load, map1, map2, map3, store};
use crate::native::program::{Code, LANES};

/// Makes a routine of every code, whose body sees the level `S`, the block, the instruction, and zero and one.
macro_rules! routines {
    (
        |$s:ident, $block:ident, $i:ident, $zero:ident, $one:ident|
        of_both: { $($both:ident => $for_both:expr,)* }
        of_loops: { $($loops:ident => $for_loops:expr,)* }
    ) => {
        routines!(@define $s, $block, $i, $zero, $one: $($both => $for_both,)* $($loops => $for_loops,)*);

        /// The routine of a code; `single` for loops of one block of at most one vector.
        pub(in crate::native) fn routine(level: Level, code: Code, single: bool) -> Address<Span, Step> {
            match (code, single) {
                $((Code::$both, true) => level.address::<$both<true>>(),)*
                $((Code::$both, false) => level.address::<$both<false>>(),)*
                $((Code::$loops, _) => level.address::<$loops<false>>(),)*
            }
        }
    };
    (@define $s:ident, $block:ident, $i:ident, $zero:ident, $one:ident: $($code:ident => $body:expr,)*) => {
        $(
            struct $code<const SINGLE: bool>;

            impl<const SINGLE: bool> Routine for $code<SINGLE> {
                type Context = Span;
                type Step = Step;

                #[inline(always)]
                #[allow(unused_variables, reason = "most bodies need no zero or one")]
                fn run<S: Simd>($s: S, span: &Span, $i: &Step) {
                    let $block = Block::<SINGLE>(span);
                    let ($zero, $one) = ($s.splat(0.0), $s.splat(1.0));
                    $body
                }
            }
        )*
    };
}

routines! {
    |s, block, i, zero, one|
    of_both: {
        Neg => map1!(s, block, i, |x| s.neg(x)),
        Abs => map1!(s, block, i, |x| s.abs(x)),
        Sign => map1!(s, block, i, |x| {
            let up = s.select(s.lt(zero, x), one, x);
            let down = s.select(s.lt(x, zero), s.splat(-1.0), up);
            s.select(s.eq(x, zero), zero, down)
        }),
        Not => map1!(s, block, i, |x| s.select(s.eq(x, zero), one, zero)),
        IsFinite => {
            map1!(s, block, i, |x| { s.select(s.lt(s.abs(x), s.splat(f64::INFINITY)), one, zero) })
        },
        Exp => map1!(s, block, i, |x| vector::exp(s, x)),
        Log => map1!(s, block, i, |x| vector::log(s, x)),
        Log1p => map1!(s, block, i, |x| vector::log1p(s, x)),
        Sqrt => map1!(s, block, i, |x| s.sqrt(x)),
        Square => map1!(s, block, i, |x| s.mul(x, x)),
        Reciprocal => map1!(s, block, i, |x| s.div(one, x)),
        Tanh => map1!(s, block, i, |x| vector::tanh(s, x)),
        InvLogit => map1!(s, block, i, |x| vector::sigmoid(s, x)),
        Softplus => map1!(s, block, i, |x| vector::softplus(s, x)),
        Add => map2!(s, block, i, |x, y| s.add(x, y)),
        Sub => map2!(s, block, i, |x, y| s.sub(x, y)),
        Mul => map2!(s, block, i, |x, y| s.mul(x, y)),
        Div => map2!(s, block, i, |x, y| s.div(x, y)),
        Min => map2!(s, block, i, |x, y| {
            // NaN if either is; the first on ties.
            let other = s.select(s.eq(x, x), y, x);
            s.select(s.le(x, y), x, other)
        }),
        Max => map2!(s, block, i, |x, y| {
            let other = s.select(s.eq(x, x), y, x);
            s.select(s.le(y, x), x, other)
        }),
        Lt => map2!(s, block, i, |x, y| s.select(s.lt(x, y), one, zero)),
        Le => map2!(s, block, i, |x, y| s.select(s.le(x, y), one, zero)),
        Eq => map2!(s, block, i, |x, y| s.select(s.eq(x, y), one, zero)),
        Ne => map2!(s, block, i, |x, y| s.select(s.eq(x, y), zero, one)),
        And => map2!(s, block, i, |x, y| {
            s.select(s.eq(x, zero), zero, s.select(s.eq(y, zero), zero, one))
        }),
        Or => map2!(s, block, i, |x, y| {
            s.select(s.eq(x, zero), s.select(s.eq(y, zero), zero, one), one)
        }),
        Select => map3!(s, block, i, |x, y, z| s.select(s.eq(x, zero), z, y)),
        Copy => map1!(s, block, i, |x| x),
        MulAdd => map3!(s, block, i, |x, y, z| s.fma(x, y, z)),
        MulSub => map3!(s, block, i, |x, y, z| s.fma(x, y, s.neg(z))),
        NegMulAdd => map3!(s, block, i, |x, y, z| s.fnma(x, y, z)),
        AddThenMul => map3!(s, block, i, |x, y, z| s.mul(s.add(x, y), z)),
        SubThenMul => map3!(s, block, i, |x, y, z| s.mul(s.sub(x, y), z)),
        MulThenMul => map3!(s, block, i, |x, y, z| s.mul(s.mul(x, y), z)),
        AddThenReciprocal => map2!(s, block, i, |x, y| s.div(one, s.add(x, y))),
        SoftplusInvLogit => {
            let (a, softplus, logistic) = (block.read(i.a), block.write(i.out), block.write(i.b));
            for v in 0..block.vectors() {
                let (p, l) = vector::sigmoid_softplus(s, load!(s, a, v));
                store!(s, softplus, v, l);
                store!(s, logistic, v, p);
            }
        },
        Lane => one_by_one(block, i),
        Pick => {
            // SAFETY: a view that is picked from lies inside its array.
            let value = unsafe { *i.a.first };
            store!(s, i.out.first, 0, s.splat(value));
        },
        Load => load_by_index::<S, false, SINGLE>(s, block, i),
        LoadOrZero => load_by_index::<S, true, SINGLE>(s, block, i),
        Zero => {
            let out = block.write(i.out);
            for v in 0..block.vectors() {
                store!(s, out, v, zero);
            }
        },
        Piece => copy_piece(block, i),
        Sum => sum(s, block, i),
        Dot => dot(s, block, i),
        Scatter => scatter(s, block, i),
    }
    of_loops: {
        Expm1 => map1!(s, block, i, |x| vector::expm1(s, x)),
        Sin => map1!(s, block, i, |x| vector::sin(s, x)),
        Cos => map1!(s, block, i, |x| vector::cos(s, x)),
        Lgamma => map1!(s, block, i, |x| vector::lgamma(s, x)),
        Digamma => map1!(s, block, i, |x| vector::digamma(s, x)),
        Erf => map1!(s, block, i, |x| vector::erf(s, x)),
        Erfc => map1!(s, block, i, |x| vector::erfc(s, x)),
        Pow => map2!(s, block, i, |x, y| vector::pow(s, x, y)),
        LogAddExp => map2!(s, block, i, |x, y| log_add_exp(s, x, y)),
        MatVec => mat_vec(s, block, i),
        SumLog => sum_log::<S, false, SINGLE>(s, block, i),
        SumLog1p => sum_log::<S, true, SINGLE>(s, block, i),
        MatTVec => mat_t_vec(s, block, i),
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
