//! Functions of complex numbers as formulas of their real and imaginary parts.
//!
//! Branch cuts are those of C. **Reference**: Kahan 1987; Smith 1962.

use std::f64::consts::{FRAC_PI_2, LN_10};

use exmc_graph::{Graph, NodeId};

use super::Pair;
use crate::scalar_functions::powers::hypot;

/// A function of one complex number.
pub(super) fn one(name: &str) -> Option<fn(&mut Graph, Pair) -> Pair> {
    Some(match name {
        "conj" => |g, z| (z.0, g.neg(z.1)),
        "proj" => proj,
        "exp" => exp,
        "log" => log,
        "log10" => |g, z| {
            let z = log(g, z);
            (g.scale(z.0, 1.0 / LN_10), g.scale(z.1, 1.0 / LN_10))
        },
        "sqrt" => sqrt,
        "square" => |g, z| multiply(g, z, z),
        "sin" => sin,
        "cos" => cos,
        "tan" => |g, z| {
            let (s, c) = (sin(g, z), cos(g, z));
            divide(g, s, c)
        },
        "sinh" => sinh,
        "cosh" => cosh,
        "tanh" => |g, z| {
            let (s, c) = (sinh(g, z), cosh(g, z));
            divide(g, s, c)
        },
        "asinh" => asinh,
        "acosh" => acosh,
        "atanh" => atanh,
        // asin z = -i asinh(iz), and acos z = pi/2 - asin z.
        "asin" => |g, z| of_turned(g, z, asinh),
        "acos" => |g, z| {
            let z = of_turned(g, z, asinh);
            let (re, im) = (g.neg(z.0), g.neg(z.1));
            (g.shift(re, FRAC_PI_2), im)
        },
        "atan" => |g, z| of_turned(g, z, atanh),
        _ => return None,
    })
}

/// $-i f(iz)$
fn of_turned(g: &mut Graph, z: Pair, f: fn(&mut Graph, Pair) -> Pair) -> Pair {
    let minus = g.neg(z.1);
    let value = f(g, (minus, z.0));
    (value.1, g.neg(value.0))
}

pub(super) fn squared(g: &mut Graph, z: Pair) -> NodeId {
    let (re, im) = (g.square(z.0), g.square(z.1));
    g.add(re, im)
}

pub(super) fn multiply(g: &mut Graph, a: Pair, b: Pair) -> Pair {
    let (re, both) = (g.mul(a.0, b.0), g.mul(a.1, b.1));
    let (right, left) = (g.mul(a.0, b.1), g.mul(a.1, b.0));
    (g.sub(re, both), g.add(right, left))
}

/// The quotient, with the denominator scaled by its larger part so that no square overflows.
pub(super) fn divide(g: &mut Graph, a: Pair, b: Pair) -> Pair {
    let (re, im) = (g.abs(b.0), g.abs(b.1));
    let largest = g.max(re, im);
    let zero = g.scalar(0.0);
    let nothing = g.eq(largest, zero);
    let one = g.scalar(1.0);
    let scale = g.select(nothing, one, largest);
    // The scale has no part in the result's derivative: it is divided out again.
    let (c, d) = (g.div(b.0, scale), g.div(b.1, scale));
    let length = squared(g, (c, d));
    let minus = g.neg(d);
    let (re, im) = multiply(g, a, (c, minus));
    let divisor = g.mul(length, scale);
    (g.div(re, divisor), g.div(im, divisor))
}

pub(super) fn polar(g: &mut Graph, r: NodeId, angle: NodeId) -> Pair {
    let (cosine, sine) = (g.cos(angle), g.sin(angle));
    (g.mul(r, cosine), g.mul(r, sine))
}

/// Infinite numbers become one infinity.
fn proj(g: &mut Graph, z: Pair) -> Pair {
    let infinity = g.scalar(f64::INFINITY);
    let (re, im) = (g.abs(z.0), g.abs(z.1));
    let (re, im) = (g.eq(re, infinity), g.eq(im, infinity));
    let is_infinite = g.or(re, im);
    let zero = g.scalar(0.0);
    (g.select(is_infinite, infinity, z.0), g.select(is_infinite, zero, z.1))
}

fn exp(g: &mut Graph, z: Pair) -> Pair {
    let size = g.exp(z.0);
    polar(g, size, z.1)
}

fn log(g: &mut Graph, z: Pair) -> Pair {
    let size = hypot(g, z.0, z.1);
    (g.log(size), g.atan2(z.1, z.0))
}

/// The root with non-negative real part.
fn sqrt(g: &mut Graph, z: Pair) -> Pair {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let size = hypot(g, z.0, z.1);
    let nothing = g.eq(size, zero);
    let (re, im) = (g.abs(z.0), g.abs(z.1));
    let twice = g.add(size, re);
    let square = g.scale(twice, 0.5);
    let square = g.select(nothing, one, square);
    let large = g.sqrt(square);
    let large = g.select(nothing, zero, large);
    let double = g.scale(large, 2.0);
    let double = g.select(nothing, one, double);
    let small = g.div(im, double);
    let left = g.lt(z.0, zero);
    let (re, size) = (g.select(left, small, large), g.select(left, large, small));
    let below = g.lt(z.1, zero);
    let minus = g.neg(size);
    (re, g.select(below, minus, size))
}

/// $e^{b\log a}$; 0 for a zero base, and 1 where the exponent is zero too.
pub(super) fn power(g: &mut Graph, a: Pair, b: Pair) -> Pair {
    if let (Some(n), Some(0.0)) = (g.as_uniform(b.0), g.as_uniform(b.1)) {
        match n {
            1.0 => return a,
            2.0 => return multiply(g, a, a),
            3.0 => {
                let square = multiply(g, a, a);
                return multiply(g, square, a);
            }
            _ => {}
        }
    }
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let is_zero = |g: &mut Graph, z: Pair| {
        let (re, im) = (g.eq(z.0, zero), g.eq(z.1, zero));
        g.and(re, im)
    };
    let (nothing, unit) = (is_zero(g, a), is_zero(g, b));
    let safe = (g.select(nothing, one, a.0), a.1);
    let logarithm = log(g, safe);
    let exponent = multiply(g, b, logarithm);
    let value = exp(g, exponent);
    let at_zero = g.select(unit, one, zero);
    (g.select(nothing, at_zero, value.0), g.select(nothing, zero, value.1))
}

fn sin(g: &mut Graph, z: Pair) -> Pair {
    let (s, c, sh, ch) = (g.sin(z.0), g.cos(z.0), g.sinh(z.1), g.cosh(z.1));
    (g.mul(s, ch), g.mul(c, sh))
}

fn cos(g: &mut Graph, z: Pair) -> Pair {
    let (s, c, sh, ch) = (g.sin(z.0), g.cos(z.0), g.sinh(z.1), g.cosh(z.1));
    let im = g.mul(s, sh);
    (g.mul(c, ch), g.neg(im))
}

fn sinh(g: &mut Graph, z: Pair) -> Pair {
    let (s, c, sh, ch) = (g.sin(z.1), g.cos(z.1), g.sinh(z.0), g.cosh(z.0));
    (g.mul(sh, c), g.mul(ch, s))
}

fn cosh(g: &mut Graph, z: Pair) -> Pair {
    let (s, c, sh, ch) = (g.sin(z.1), g.cos(z.1), g.sinh(z.0), g.cosh(z.0));
    (g.mul(ch, c), g.mul(sh, s))
}

/// $\log(z + \sqrt{z^2 + 1})$, odd: computed for the half plane in which nothing cancels.
fn asinh(g: &mut Graph, z: Pair) -> Pair {
    let zero = g.scalar(0.0);
    let left = g.lt(z.0, zero);
    let minus = g.neg(z.1);
    let right = (g.abs(z.0), g.select(left, minus, z.1));
    let square = multiply(g, right, right);
    let inside = (g.shift(square.0, 1.0), square.1);
    let root = sqrt(g, inside);
    let total = (g.add(right.0, root.0), g.add(right.1, root.1));
    let value = log(g, total);
    let (re, im) = (g.neg(value.0), g.neg(value.1));
    (g.select(left, re, value.0), g.select(left, im, value.1))
}

/// $\log(z + \sqrt{z + 1}\sqrt{z - 1})$
fn acosh(g: &mut Graph, z: Pair) -> Pair {
    let (up, down) = ((g.shift(z.0, 1.0), z.1), (g.shift(z.0, -1.0), z.1));
    let (up, down) = (sqrt(g, up), sqrt(g, down));
    let root = multiply(g, up, down);
    let total = (g.add(z.0, root.0), g.add(z.1, root.1));
    log(g, total)
}

/// $\tfrac12(\log(1 + z) - \log(1 - z))$
fn atanh(g: &mut Graph, z: Pair) -> Pair {
    let (minus_re, minus_im) = (g.neg(z.0), g.neg(z.1));
    let (up, down) = ((g.shift(z.0, 1.0), z.1), (g.shift(minus_re, 1.0), minus_im));
    let (up, down) = (log(g, up), log(g, down));
    let (re, im) = (g.sub(up.0, down.0), g.sub(up.1, down.1));
    (g.scale(re, 0.5), g.scale(im, 0.5))
}
