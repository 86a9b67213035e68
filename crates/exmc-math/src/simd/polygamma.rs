//! Trigamma and tetragamma, the second and third derivatives of log gamma.
//!
//! From 1 on, with w = 1/x, they are w + w^2/2 + w^3 R and -(w^2 + w^3 + w^4 R), where R is a
//! polynomial in (x - 2)/(x + 2). Below, one step of the recurrence adds 1/x^2 and -2/x^3. Powers
//! of a quotient take its remainder to first order. Zero, negative and infinite arguments go lane
//! by lane to the scalar functions.

use super::gamma::scalar_lanes;
use super::lanes::Simd;
use super::special_coefficients::{TETRAGAMMA, TRIGAMMA};

/// `1 / x` and its relative remainder: 1/x is nearly `inverse (1 + remainder)`.
#[inline(always)]
fn reciprocal<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let one = s.splat(1.0);
    let inverse = s.div(one, x);
    (inverse, s.fnma(inverse, x, one))
}

/// `power (1 + order remainder)`, where that is finite.
#[inline(always)]
fn corrected<S: Simd>(s: S, power: S::Vector, order: f64, remainder: S::Vector) -> S::Vector {
    let better = s.fma(power, s.mul(s.splat(order), remainder), power);
    s.select(s.lt(power, s.splat(f64::INFINITY)), better, power)
}

/// Arguments below one and one more than they are, else what they are.
#[inline(always)]
fn from_one<S: Simd>(s: S, x: S::Vector) -> (S::Mask, S::Vector) {
    let up = s.lt(x, s.splat(1.0));
    (up, s.select(up, s.add(x, s.splat(1.0)), x))
}

/// `(y - 2) / (y + 2)`
#[inline(always)]
fn variable<S: Simd>(s: S, y: S::Vector) -> S::Vector {
    let two = s.splat(2.0);
    s.div(s.sub(y, two), s.add(y, two))
}

/// Trigamma, the derivative of digamma; infinite at zero and at negative integers.
#[inline(always)]
pub fn trigamma<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let regular = s.between(0.0, x, f64::INFINITY);
    let (up, y) = from_one(s, x);
    let w = s.div(s.splat(1.0), y);
    let inner = s.fma(w, s.polynomial(variable(s, y), &TRIGAMMA), s.splat(0.5));
    let mut sum = s.fma(s.mul(w, w), inner, w);
    if s.any(up) {
        let (inverse, remainder) = reciprocal(s, x);
        let square = corrected(s, s.mul(inverse, inverse), 2.0, remainder);
        sum = s.select(up, s.add(square, sum), sum);
    }
    if s.all(regular) { sum } else { scalar_lanes(s, regular, x, sum, crate::trigamma) }
}

/// Tetragamma, the derivative of trigamma; -∞ at zero, NaN at negative integers.
#[inline(always)]
pub fn tetragamma<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let regular = s.between(0.0, x, f64::INFINITY);
    let (up, y) = from_one(s, x);
    let (w, remainder) = reciprocal(s, y);
    let one = s.splat(1.0);
    let inner = s.fma(w, s.fma(w, s.polynomial(variable(s, y), &TETRAGAMMA), one), one);
    let mut sum = corrected(s, s.mul(s.mul(w, w), inner), 2.0, remainder);
    if s.any(up) {
        let (inverse, remainder) = reciprocal(s, x);
        let cube = s.mul(s.mul(inverse, inverse), inverse);
        let cube = corrected(s, s.add(cube, cube), 3.0, remainder);
        sum = s.select(up, s.add(cube, sum), sum);
    }
    let y = s.neg(sum);
    if s.all(regular) { y } else { scalar_lanes(s, regular, x, y, scalar_tetragamma) }
}

fn scalar_tetragamma(x: f64) -> f64 {
    crate::polygamma(2, x)
}
