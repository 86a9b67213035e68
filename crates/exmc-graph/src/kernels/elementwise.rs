//! Elementwise functions: one operation -> one pass over its arguments.
//!
//! An argument with a single element stands for an array of equal elements. Others are stretched
//! row by row.

use exmc_math as math;

use super::Arg;
use super::reduce::{larger, smaller};
use crate::op::{Binary, Ternary, Unary};
use crate::tensor::Shape;

/// Applies a function of `N` arguments to those that broadcast to `shape`, in the longest rows
/// along which each of them is an array or a single element.
pub(super) fn in_rows<const N: usize>(
    args: &[Arg<'_>],
    shape: &Shape,
    out: &mut [f64],
    function: &mut impl FnMut([&[f64]; N], &mut [f64]),
) {
    let args: [(&[f64], &[usize]); N] =
        std::array::from_fn(|k| (args[k].values, args[k].shape.extents()));
    rows(args, shape.extents(), out, function);
}

fn rows<const N: usize>(
    args: [(&[f64], &[usize]); N],
    to: &[usize],
    out: &mut [f64],
    function: &mut impl FnMut([&[f64]; N], &mut [f64]),
) {
    if args.iter().all(|(values, _)| values.len() == 1 || values.len() == out.len()) {
        return function(args.map(|(values, _)| values), out);
    }
    let Some((&count, inner)) = to.split_first().filter(|_| !out.is_empty()) else { return };
    for (k, target) in out.chunks_exact_mut(inner.iter().product()).enumerate() {
        let row = args.map(|(values, from)| {
            if from.len() < to.len() || values.len() == 1 {
                return (values, from);
            }
            let width = values.len() / from[0];
            let first = if from[0] == count { k * width } else { 0 };
            (&values[first..first + width], &from[1..])
        });
        rows(row, inner, target, function);
    }
}

pub(super) fn unary(op: Unary, x: &[f64], out: &mut [f64]) {
    match op {
        Unary::Neg => map1(x, out, |x| -x),
        Unary::Abs => map1(x, out, f64::abs),
        Unary::Sign => map1(x, out, sign),
        Unary::Floor => map1(x, out, f64::floor),
        Unary::Ceil => map1(x, out, f64::ceil),
        Unary::Round => map1(x, out, f64::round),
        Unary::Not => map1(x, out, |x| truth(x == 0.0)),
        Unary::IsFinite => map1(x, out, |x| truth(x.is_finite())),
        Unary::Exp => map1(x, out, math::exp),
        Unary::Expm1 => map1(x, out, math::expm1),
        Unary::Log => map1(x, out, math::log),
        Unary::Log1p => map1(x, out, math::log1p),
        Unary::Sqrt => map1(x, out, f64::sqrt),
        Unary::Square => map1(x, out, |x| x * x),
        Unary::Reciprocal => map1(x, out, |x| 1.0 / x),
        Unary::Sin => map1(x, out, math::sin),
        Unary::Cos => map1(x, out, math::cos),
        Unary::Tan => map1(x, out, math::tan),
        Unary::Asin => map1(x, out, math::asin),
        Unary::Acos => map1(x, out, math::acos),
        Unary::Atan => map1(x, out, math::atan),
        Unary::Sinh => map1(x, out, math::sinh),
        Unary::Cosh => map1(x, out, math::cosh),
        Unary::Tanh => map1(x, out, math::tanh),
        Unary::InvLogit => map1(x, out, math::inv_logit),
        Unary::Softplus => map1(x, out, math::softplus),
        Unary::Log1mExp => map1(x, out, math::log1m_exp),
        Unary::Lgamma => map1(x, out, math::lgamma),
        Unary::Digamma => map1(x, out, math::digamma),
        Unary::Trigamma => map1(x, out, math::trigamma),
        Unary::Tetragamma => map1(x, out, |x| math::polygamma(2, x)),
        Unary::Erf => map1(x, out, math::erf),
        Unary::Erfc => map1(x, out, math::erfc),
        Unary::LogNormalCdf => map1(x, out, math::log_std_normal_cdf),
        Unary::NormalQuantile => map1(x, out, math::std_normal_quantile),
        Unary::NormalQuantileLog => map1(x, out, math::std_normal_quantile_log),
        Unary::LogBesselI0 => map1(x, out, math::log_bessel_i0),
        Unary::BesselI1I0 => map1(x, out, math::bessel_i1_i0_ratio),
        Unary::LambertW0 => map1(x, out, math::lambert_w0),
        Unary::LambertWm1 => map1(x, out, math::lambert_wm1),
    }
}

pub(super) fn binary(op: Binary, a: &[f64], b: &[f64], out: &mut [f64]) {
    match op {
        Binary::Add => map2(a, b, out, |a, b| a + b),
        Binary::Sub => map2(a, b, out, |a, b| a - b),
        Binary::Mul => map2(a, b, out, |a, b| a * b),
        Binary::Div => map2(a, b, out, |a, b| a / b),
        Binary::Pow => map2(a, b, out, math::pow),
        Binary::Min => map2(a, b, out, smaller),
        Binary::Max => map2(a, b, out, larger),
        Binary::LogAddExp => map2(a, b, out, math::log_add_exp),
        Binary::LogAddExpShare => map2(a, b, out, math::log_add_exp_share),
        Binary::LogDiffExp => map2(a, b, out, math::log_diff_exp),
        Binary::Atan2 => map2(a, b, out, math::atan2),
        Binary::Lt => map2(a, b, out, |a, b| truth(a < b)),
        Binary::Le => map2(a, b, out, |a, b| truth(a <= b)),
        Binary::Eq => map2(a, b, out, |a, b| truth(a == b)),
        Binary::Ne => map2(a, b, out, |a, b| truth(a != b)),
        Binary::And => map2(a, b, out, |a, b| truth(a != 0.0 && b != 0.0)),
        Binary::Or => map2(a, b, out, |a, b| truth(a != 0.0 || b != 0.0)),
        Binary::Lbeta => map2(a, b, out, math::lbeta),
        Binary::DigammaRise => map2(a, b, out, math::digamma_rise),
        Binary::LogGammaP => map2(a, b, out, math::log_gamma_p),
        Binary::LogGammaQ => map2(a, b, out, math::log_gamma_q),
        Binary::LogGammaPDa => map2(a, b, out, math::log_gamma_p_da),
        Binary::LogGammaQDa => map2(a, b, out, math::log_gamma_q_da),
        Binary::OwensT => map2(a, b, out, math::owens_t),
        Binary::BesselJ => map2(a, b, out, math::bessel_j),
        Binary::BesselY => map2(a, b, out, math::bessel_y),
        Binary::StudentQuantile => map2(a, b, out, math::student_t_quantile),
        Binary::Fmod => map2(a, b, out, math::fmod),
    }
}

pub(super) fn ternary(op: Ternary, a: &[f64], b: &[f64], c: &[f64], out: &mut [f64]) {
    match op {
        Ternary::Select => map3(a, b, c, out, |a, b, c| if a != 0.0 { b } else { c }),
        Ternary::LogBetaInc => map3(a, b, c, out, math::log_beta_inc),
        Ternary::LogBetaIncDa => {
            map3(a, b, c, out, |a, b, x| math::log_beta_inc_slopes(a, b, x)[0]);
        }
        Ternary::LogBetaIncDb => {
            map3(a, b, c, out, |a, b, x| math::log_beta_inc_slopes(a, b, x)[1]);
        }
        Ternary::BetaIncInverse => map3(a, b, c, out, math::beta_inc_inverse),
    }
}

fn truth(holds: bool) -> f64 {
    f64::from(u8::from(holds))
}

/// -1, 0 or 1; NaN of NaN.
fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else if x == 0.0 {
        0.0
    } else {
        x
    }
}

#[inline(always)]
fn map1(x: &[f64], out: &mut [f64], f: impl Fn(f64) -> f64) {
    if let [x] = x {
        out.fill(f(*x));
    } else {
        for (target, &x) in out.iter_mut().zip(x) {
            *target = f(x);
        }
    }
}

#[inline(always)]
fn map2(a: &[f64], b: &[f64], out: &mut [f64], f: impl Fn(f64, f64) -> f64) {
    match (a, b) {
        ([a], [b]) => out.fill(f(*a, *b)),
        ([a], b) => {
            for (target, &b) in out.iter_mut().zip(b) {
                *target = f(*a, b);
            }
        }
        (a, [b]) => {
            for (target, &a) in out.iter_mut().zip(a) {
                *target = f(a, *b);
            }
        }
        (a, b) => {
            for ((target, &a), &b) in out.iter_mut().zip(a).zip(b) {
                *target = f(a, b);
            }
        }
    }
}

#[inline(always)]
fn map3(a: &[f64], b: &[f64], c: &[f64], out: &mut [f64], f: impl Fn(f64, f64, f64) -> f64) {
    let n = out.len();
    if a.len() == n && b.len() == n && c.len() == n {
        for (((target, &a), &b), &c) in out.iter_mut().zip(a).zip(b).zip(c) {
            *target = f(a, b, c);
        }
    } else {
        let element = |x: &[f64], k: usize| if let [x] = x { *x } else { x[k] };
        for (k, target) in out.iter_mut().enumerate() {
            *target = f(element(a, k), element(b, k), element(c, k));
        }
    }
}
