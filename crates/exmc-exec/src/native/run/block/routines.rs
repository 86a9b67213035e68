//! The routine of every instruction: one line here is a function of its own for each level, more
//! than one if it also has a straight line for loops of one vector, or for scalars.
#![expect(
    unsafe_code,
    reason = "operands of a block may overlap its result, which slices cannot say"
)]

use exmc_math::simd::{Address, Level, Routine, Simd, vector};

use super::index::{copy_piece, load_by_index, scatter};
use super::matrix::{mat_t_vec, mat_vec};
use super::scalar::one_by_one;
use super::single_precision::{narrow, widen};
use super::sums::{dot, factor, product, sum, sum_log, sum_log_add_exp, sum_softplus, terms};
use super::{Block, Span, Step, load, map_pair, map1, map1_in_pairs, map2, map3, store};
use crate::native::program::Code;

/// What an instruction reaches over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::native) enum Reach {
    /// Scalars.
    Uniform,
    /// The only block of its loop, of at most one vector.
    Single,
    /// Any blocks.
    Blocks,
}

/// Makes a routine of every code: `elementwise` ones have a straight line for one vector,
/// `functions`, whose own work is far more than the loop's, only one for scalars. Bodies see the
/// level `S`, the block, the instruction, and zero and one.
macro_rules! routines {
    (
        |$s:ident, $block:ident, $i:ident, $zero:ident, $one:ident|
        elementwise: { $($map:ident => $for_map:expr,)* }
        functions: { $($function:ident => $for_function:expr,)* }
        of_both: { $($both:ident => $for_both:expr,)* }
        of_loops: { $($loops:ident => $for_loops:expr,)* }
    ) => {
        routines!(@define $s, $block, $i, $zero, $one: $($map => $for_map,)*);
        routines!(@define $s, $block, $i, $zero, $one: $($function => $for_function,)*);
        routines!(@define $s, $block, $i, $zero, $one: $($both => $for_both,)*);
        routines!(@define $s, $block, $i, $zero, $one: $($loops => $for_loops,)*);

        /// The routine of a code.
        pub(in crate::native) fn routine(level: Level, code: Code, reach: Reach) -> Address<Span, Step> {
            match (code, reach) {
                $((Code::$map, Reach::Uniform) => level.uniform_address::<$map<true>>(),)*
                $((Code::$map, Reach::Single) => level.address::<$map<true>>(),)*
                $((Code::$map, Reach::Blocks) => level.address::<$map<false>>(),)*
                $((Code::$function, Reach::Uniform) => level.uniform_address::<$function<false>>(),)*
                $((Code::$function, Reach::Single | Reach::Blocks) => level.address::<$function<false>>(),)*
                $((Code::$both, Reach::Uniform | Reach::Single) => level.address::<$both<true>>(),)*
                $((Code::$both, Reach::Blocks) => level.address::<$both<false>>(),)*
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
                unsafe fn run<S: Simd>($s: S, span: &Span, $i: &Step) {
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
    elementwise: {
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
        Exp => map1_in_pairs!(s, block, i, vector::exp),
        Log => map1_in_pairs!(s, block, i, vector::log),
        Log1p => map1_in_pairs!(s, block, i, vector::log1p),
        Sqrt => map1!(s, block, i, |x| s.sqrt(x)),
        Square => map1!(s, block, i, |x| s.mul(x, x)),
        Reciprocal => map1!(s, block, i, |x| s.div(one, x)),
        Tanh => map1!(s, block, i, |x| vector::tanh(s, x)),
        InvLogit => map1_in_pairs!(s, block, i, vector::sigmoid),
        Softplus => map1_in_pairs!(s, block, i, vector::softplus),
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
        ExpOfOrdinary => map1_in_pairs!(s, block, i, vector::exp_of_ordinary),
        LogOfNormal => map1_in_pairs!(s, block, i, vector::log_of_normal),
        Factor => map1!(s, block, i, |x| factor(s, x)),
        Terms => terms(s, i),
        SoftplusInvLogit => {
            map_pair!(s, block, i, |x| {
                let (logistic, softplus) = vector::sigmoid_softplus(s, x);
                (softplus, logistic)
            });
        },
    }
    functions: {
        Shares => {
            let (a, c) = (block.read(i.a), block.read(i.c));
            let (out, second) = (block.write(i.out), block.write(i.b));
            for v in 0..block.vectors() {
                let [share, other] = vector::addends(s, load!(s, a, v), load!(s, c, v)).shares;
                store!(s, out, v, share);
                store!(s, second, v, other);
            }
        },
        LogAddExpShares => {
            let (a, c, out) = (block.read(i.a), block.read(i.c), block.write(i.out));
            let (second, third) = (block.write(i.b), block.write(i.d));
            for v in 0..block.vectors() {
                let (x, y) = (load!(s, a, v), load!(s, c, v));
                let (log, [share, other]) = vector::log_add_exp_shares(s, x, y);
                store!(s, out, v, log);
                store!(s, second, v, share);
                store!(s, third, v, other);
            }
        },
        LgammaDigamma => map_pair!(s, block, i, |x| vector::lgamma_digamma(s, x)),
        SinCos => map_pair!(s, block, i, |x| vector::sin_cos(s, x)),
        Expm1 => map1!(s, block, i, |x| vector::expm1(s, x)),
        Sin => map1!(s, block, i, |x| vector::sin(s, x)),
        Cos => map1!(s, block, i, |x| vector::cos(s, x)),
        Tan => map1!(s, block, i, |x| vector::tan(s, x)),
        Asin => map1!(s, block, i, |x| vector::asin(s, x)),
        Acos => map1!(s, block, i, |x| vector::acos(s, x)),
        Atan => map1!(s, block, i, |x| vector::atan(s, x)),
        Sinh => map1!(s, block, i, |x| vector::sinh(s, x)),
        Cosh => map1!(s, block, i, |x| vector::cosh(s, x)),
        Log1mExp => map1!(s, block, i, |x| vector::log1m_exp(s, x)),
        Lgamma => map1!(s, block, i, |x| vector::lgamma(s, x)),
        Digamma => map1!(s, block, i, |x| vector::digamma(s, x)),
        Trigamma => map1!(s, block, i, |x| vector::trigamma(s, x)),
        Tetragamma => map1!(s, block, i, |x| vector::tetragamma(s, x)),
        Erf => map1!(s, block, i, |x| vector::erf(s, x)),
        Erfc => map1!(s, block, i, |x| vector::erfc(s, x)),
        LogNormalCdf => map1!(s, block, i, |x| vector::log_std_normal_cdf(s, x)),
        NormalQuantile => map1!(s, block, i, |x| vector::std_normal_quantile(s, x)),
        LogBesselI0 => map1!(s, block, i, |x| vector::log_bessel_i0(s, x)),
        BesselI1I0 => map1!(s, block, i, |x| vector::bessel_i1_i0_ratio(s, x)),
        Floor => map1!(s, block, i, |x| vector::floor(s, x)),
        Ceil => map1!(s, block, i, |x| vector::ceil(s, x)),
        Round => map1!(s, block, i, |x| vector::round(s, x)),
        Pow => map2!(s, block, i, |x, y| vector::pow(s, x, y)),
        LogAddExp => map2!(s, block, i, |x, y| vector::log_add_exp(s, x, y)),
        LogAddExpShare => map2!(s, block, i, |x, y| vector::log_add_exp_share(s, x, y)),
        LogDiffExp => map2!(s, block, i, |x, y| vector::log_diff_exp(s, x, y)),
        Atan2 => map2!(s, block, i, |x, y| vector::atan2(s, x, y)),
        Lbeta => map2!(s, block, i, |x, y| vector::lbeta(s, x, y)),
        DigammaRise => map2!(s, block, i, |x, y| vector::digamma_rise(s, x, y)),
    }
    of_both: {
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
        Piece => copy_piece(s, block, i),
        Sum => sum(s, block, i),
        Dot => dot(s, block, i),
        Product => product(s, block, i),
        Scatter => scatter(s, block, i),
    }
    of_loops: {
        MatVec => mat_vec(s, block, i),
        SumLog => sum_log::<S, false, SINGLE>(s, block, i),
        SumLog1p => sum_log::<S, true, SINGLE>(s, block, i),
        MatTVec => mat_t_vec(s, block, i),
        SumSoftplusInvLogit => sum_softplus(s, block, i),
        SumLogAddExpShares => sum_log_add_exp(s, block, i),
        Narrow => narrow(s, block, i),
        Widen => widen(s, block, i),
    }
}
