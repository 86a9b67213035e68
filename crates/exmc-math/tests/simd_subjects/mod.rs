//! The vector functions of one argument, and what the tests of them share.

use exmc_math::simd::{self, Level};

pub(crate) const INF: f64 = f64::INFINITY;
pub(crate) const TINY: f64 = 5e-324;
pub(crate) const TOP: f64 = f64::MAX;

pub(crate) type Unary = fn(Level, &[f64], &mut [f64]);

pub(crate) const UNARY: [(&str, Unary); 15] = [
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
];

/// All bits of a number, but one NaN for all: the sign and payload of a NaN are left open.
pub(crate) fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}
