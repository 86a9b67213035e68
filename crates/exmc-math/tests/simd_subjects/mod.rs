//! The vector functions of one argument, and what the tests of them share.

use exmc_math::simd::{self, Level};

pub(crate) const INF: f64 = f64::INFINITY;
pub(crate) const TINY: f64 = 5e-324;
pub(crate) const TOP: f64 = f64::MAX;

pub(crate) type Unary = fn(Level, &[f64], &mut [f64]);

pub(crate) const UNARY: [(&str, Unary); 31] = [
    ("exp", simd::exp),
    ("expm1", simd::expm1),
    ("tanh", simd::tanh),
    ("sigmoid", simd::sigmoid),
    ("softplus", simd::softplus),
    ("log", simd::log),
    ("log1p", simd::log1p),
    ("sqrt", simd::sqrt),
    ("reciprocal", simd::reciprocal),
    ("erf", simd::erf),
    ("erfc", simd::erfc),
    ("lgamma", simd::lgamma),
    ("digamma", simd::digamma),
    ("sin", simd::sin),
    ("cos", simd::cos),
    ("tan", simd::tan),
    ("asin", simd::asin),
    ("acos", simd::acos),
    ("atan", simd::atan),
    ("sinh", simd::sinh),
    ("cosh", simd::cosh),
    ("floor", simd::floor),
    ("ceil", simd::ceil),
    ("round", simd::round),
    ("log1m_exp", simd::log1m_exp),
    ("trigamma", simd::trigamma),
    ("tetragamma", simd::tetragamma),
    ("log_std_normal_cdf", simd::log_std_normal_cdf),
    ("std_normal_quantile", simd::std_normal_quantile),
    ("log_bessel_i0", simd::log_bessel_i0),
    ("bessel_i1_i0_ratio", simd::bessel_i1_i0_ratio),
];

pub(crate) type Binary = fn(Level, &[f64], &[f64], &mut [f64]);

pub(crate) const BINARY: [(&str, Binary); 7] = [
    ("pow", simd::pow),
    ("atan2", simd::atan2),
    ("log_add_exp", simd::log_add_exp),
    ("log_add_exp_share", simd::log_add_exp_share),
    ("log_diff_exp", simd::log_diff_exp),
    ("lbeta", simd::lbeta),
    ("digamma_rise", simd::digamma_rise),
];

/// All bits of a number, but one NaN for all: the sign and payload of a NaN are left open.
pub(crate) fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}
