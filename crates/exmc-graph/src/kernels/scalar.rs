//! Elementwise functions of single numbers, for code that is scalar throughout.

use super::elementwise;
use crate::op::{Binary, Ternary, Unary};

pub(crate) fn unary(f: Unary, x: f64) -> f64 {
    let mut out = [0.0];
    elementwise::unary(f, &[x], &mut out);
    out[0]
}

pub(crate) fn binary(f: Binary, a: f64, b: f64) -> f64 {
    let mut out = [0.0];
    elementwise::binary(f, &[a], &[b], &mut out);
    out[0]
}

pub(crate) fn ternary(f: Ternary, a: f64, b: f64, c: f64) -> f64 {
    let mut out = [0.0];
    elementwise::ternary(f, &[a], &[b], &[c], &mut out);
    out[0]
}
