//! Inverse trigonometric functions: arc sine, arc cosine, arc tangent and the angle of a point.
//!
//! Arc tangents of quotients u = n/d are those of t = u, (n - d)/(n + d) or -d/n, whichever is
//! below tan(pi/8) in size, plus 0, pi/4 or pi/2; one division serves all three and its remainder
//! joins at the end. Arc sines are a series up to 1/2 and come from the root of (1 - |x|)/2 beyond,
//! whose remainder joins too.

use super::coefficients::{ASIN, ATAN, HALF_PI};
use super::lanes::Simd;

/// tan(pi/8) and tan(3 pi/8).
const TAN_OF_EIGHTHS: [f64; 2] = [0.41421356237309503, 2.414213562373095];

/// The arc tangent of `above / below` in two parts: a multiple of pi/4 plus a rest, both exact to
/// half an ulp of the rest.
///
/// Both must be positive (or zero above) and their products with 8 and 1/8 finite and normal.
#[inline(always)]
fn arc_tangent_parts<S: Simd>(
    s: S,
    above: S::Vector,
    below: S::Vector,
) -> (S::Vector, S::Vector, S::Vector) {
    let zero = s.splat(0.0);
    let middle = s.lt(s.mul(below, s.splat(TAN_OF_EIGHTHS[0])), above);
    let upper = s.lt(s.mul(below, s.splat(TAN_OF_EIGHTHS[1])), above);
    let difference = s.sub(above, below);
    let sum = s.add(above, below);
    let numerator = s.select(upper, s.neg(below), s.select(middle, difference, above));
    let denominator = s.select(upper, above, s.select(middle, sum, below));
    // What the difference and the sum rounded off, by the two-sum.
    let turns = s.select(upper, zero, s.select(middle, s.splat(1.0), zero));
    let part = s.add(difference, below);
    let difference_low = s.add(s.sub(above, part), s.sub(s.sub(part, difference), below));
    let part = s.sub(sum, below);
    let sum_low = s.add(s.sub(above, part), s.sub(below, s.sub(sum, part)));
    let t = s.div(numerator, denominator);
    let residual = s.fnma(t, denominator, numerator);
    let residual = s.fma(turns, s.fnma(t, sum_low, difference_low), residual);
    // d(atan t) = dt / (1 + t^2)
    let z = s.mul(t, t);
    let slope = s.mul(denominator, s.add(z, s.splat(1.0)));
    let tail = s.fma(s.mul(t, z), s.polynomial(z, &ATAN), s.div(residual, slope));
    let eighths = s.select(upper, s.splat(1.0), s.select(middle, s.splat(0.5), zero));
    (eighths, t, tail)
}

/// `half_pi pi/2 + sign (t + tail)`, rounded once as far as the parts go.
#[inline(always)]
fn turn<S: Simd>(s: S, half_pi: S::Vector, t: S::Vector, tail: S::Vector) -> S::Vector {
    // A fast two-sum: the multiple of pi/4 is the larger one unless it is zero.
    let first = s.mul(half_pi, s.splat(HALF_PI[0]));
    let high = s.add(first, t);
    let low = s.add(s.sub(first, high), t);
    s.add(high, s.add(low, s.fma(half_pi, s.splat(HALF_PI[1]), tail)))
}

/// Arc tangent in $[-\pi/2, \pi/2]$.
#[inline(always)]
pub fn atan<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    // Beyond 1e300 nothing changes.
    let size = s.min(s.splat(1e300), s.abs(x));
    let (half_pi, t, tail) = arc_tangent_parts(s, size, s.splat(1.0));
    s.with_sign(s.abs(turn(s, half_pi, t, tail)), x)
}

/// The angle of the point `(x, y)` in $[-\pi, \pi]$, as C99's annex F has it.
///
/// Points with a coordinate that is zero, not finite or beyond 1e-120 to 1e120 go lane by lane to
/// the scalar function.
#[inline(always)]
pub fn atan2<S: Simd>(s: S, y: S::Vector, x: S::Vector) -> S::Vector {
    let (above, below) = (s.abs(y), s.abs(x));
    let regular = s.both(s.between(1e-120, above, 1e120), s.between(1e-120, below, 1e120));
    let (half_pi, t, tail) = arc_tangent_parts(s, above, below);
    let left = s.lt(x, s.splat(0.0));
    // The mirrored angle is pi minus the angle.
    let half_pi = s.select(left, s.sub(s.splat(2.0), half_pi), half_pi);
    let (t, tail) = (s.select(left, s.neg(t), t), s.select(left, s.neg(tail), tail));
    let angle = s.with_sign(s.abs(turn(s, half_pi, t, tail)), y);
    if s.all(regular) {
        return angle;
    }
    let (ys, xs, mut values) = (s.to_array(y), s.to_array(x), s.to_array(angle));
    for ((value, y), x) in values.iter_mut().zip(ys).zip(xs) {
        let inside = |c: f64| 1e-120 < c.abs() && c.abs() < 1e120;
        if !inside(y) || !inside(x) {
            *value = crate::atan2(y, x);
        }
    }
    s.load(&values)
}

/// `asin |x|` for `|x| <= 1/2`, and for the others `asin r` with `r = sqrt((1 - |x|)/2)`: its
/// argument and the rest.
#[inline(always)]
fn arc_sine_parts<S: Simd>(s: S, size: S::Vector, inner: S::Mask) -> (S::Vector, S::Vector) {
    let (zero, one, half) = (s.splat(0.0), s.splat(1.0), s.splat(0.5));
    // Exact from 1/2 on.
    let complement = s.mul(half, s.sub(one, size));
    let root = s.sqrt(complement);
    let twice = s.add(root, root);
    let at_end = s.eq(complement, zero);
    let root_low = s.div(s.fnma(root, root, complement), s.select(at_end, one, twice));
    let argument = s.select(inner, size, root);
    let z = s.select(inner, s.mul(size, size), complement);
    let cubic = s.mul(s.mul(argument, z), s.polynomial(z, &ASIN));
    (argument, s.add(cubic, s.select(inner, zero, root_low)))
}

/// Arc sine in $[-\pi/2, \pi/2]$; NaN outside $[-1, 1]$.
#[inline(always)]
pub fn asin<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let size = s.abs(x);
    let inner = s.le(size, s.splat(0.5));
    let (argument, rest) = arc_sine_parts(s, size, inner);
    let minus_two = s.splat(-2.0);
    let outside = turn(s, s.splat(1.0), s.mul(minus_two, argument), s.mul(minus_two, rest));
    s.with_sign(s.select(inner, s.add(argument, rest), outside), x)
}

/// Arc cosine in $[0, \pi]$; NaN outside $[-1, 1]$.
#[inline(always)]
pub fn acos<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    let (zero, one, two) = (s.splat(0.0), s.splat(1.0), s.splat(2.0));
    let size = s.abs(x);
    let inner = s.le(size, s.splat(0.5));
    let (argument, rest) = arc_sine_parts(s, size, inner);
    // pi/2 - asin x inside; 2 asin r on the right; pi - 2 asin r on the left.
    let negative = s.lt(x, zero);
    let sign = s.select(negative, one, s.splat(-1.0));
    let factor = s.select(inner, sign, s.select(negative, s.splat(-2.0), two));
    let half_pi = s.select(inner, one, s.select(negative, two, zero));
    turn(s, half_pi, s.mul(factor, argument), s.mul(factor, rest))
}
