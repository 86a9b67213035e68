//! Modified Bessel functions: an order and a number -> sums of positive terms along one more axis.
//!
//! $I_\nu(z) = \frac{(z/2)^\nu}{\sqrt\pi\,\Gamma(\nu+\frac12)}\int_{-1}^1(1-t^2)^{\nu-1/2}e^{zt}dt$
//! with $t=\tanh(y/2)$, and $K_\nu(x) = \frac12\int_{-\infty}^\infty e^{\nu t - x\cosh t}dt$, both
//! by the trapezoidal rule around the peak, which converges exponentially for such integrands; no
//! term is negative, so nothing cancels for any order and any number. Derivatives are those of the
//! sums. **Reference**: DLMF 10.32.2 and 10.32.10; Trefethen and Weideman 2014.

use exmc_graph::{Graph, NodeId, Tensor, Unary};

use super::align::{elementwise, known};
use super::special::by_integer;
use super::{Answer, Argument, LibraryError, Output};

/// Points on each side of the peak of the integral of the first kind: those of order 0, whose tails
/// are longest, end 40 nats below it.
const POINTS: usize = 330;

/// Steps between the ends of the integral of the second kind.
const STEPS: usize = 400;

/// How far below its peak, in nats, the second integrand ends.
const DEPTH: f64 = 45.0;

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    let [order, _] = args else { return None };
    Some(match name {
        "log_modified_bessel_first_kind" => {
            let is_positive =
                known(g, order.node).is_some_and(|orders| orders.iter().all(|v| *v >= 0.0));
            elementwise(g, args, |g, x| log_first_kind_with_ends(g, x[0], x[1], is_positive))
        }
        "modified_bessel_first_kind" => whole_order(g, args, first_kind),
        "modified_bessel_second_kind" => whole_order(g, args, second_kind),
        _ => return None,
    })
}

/// A function of an integer and numbers; orders that differ among elements are Stan's for
/// containers, one for each.
fn whole_order(
    g: &mut Graph,
    args: &[Argument],
    formula: fn(&mut Graph, i64, NodeId) -> NodeId,
) -> Result<Output, LibraryError> {
    by_integer(g, args, &formula)
}

/// One more axis of extent 1.
fn column(g: &mut Graph, x: NodeId) -> NodeId {
    let shape = g.shape(x).join(&[1]);
    g.reshape(x, shape)
}

fn log_sum(g: &mut Graph, terms: NodeId) -> NodeId {
    let last = g.shape(terms).rank() - 1;
    g.log_sum_exp(terms, last)
}

/// $\log\left(e^{-z}\int_{-1}^1(1-t^2)^{\nu-1/2}e^{zt}dt\right)$ for $\nu\ge0$.
fn log_integral(g: &mut Graph, order: NodeId, z: NodeId) -> NodeId {
    let a = g.shift(order, 0.5);
    // The peak: 1 - t = (a + a^2 / (r + z)) / (r + a) and 1 + t = (r + a + z) / (r + a), r =
    // sqrt(a^2 + z^2).
    let (a_square, z_square) = (g.square(a), g.square(z));
    let square = g.add(a_square, z_square);
    let r = g.sqrt(square);
    let (wide, base) = (g.add(r, z), g.add(r, a));
    let rest = g.div(a_square, wide);
    let (low, high) = (g.add(a, rest), g.add(base, z));
    let ratio = g.div(high, low);
    let peak = g.log(ratio);
    let one_more = g.shift(a, 1.0);
    let root = g.sqrt(one_more);
    let step = g.reciprocal(root);
    let step = g.scale(step, 0.3);

    let ends = POINTS as f64;
    let numbers: Vec<f64> = (0..=2 * POINTS).map(|k| k as f64 - ends).collect();
    let numbers = g.constant(Tensor::vector(&numbers));
    let (a, z) = (column(g, a), column(g, z));
    let (peak, spacing) = (column(g, peak), column(g, step));
    let moved = g.mul(spacing, numbers);
    let y = g.add(peak, moved);
    // (1 - t)(1 + t) = 4 / (1 + e^y) / (1 + e^-y)
    let minus = g.neg(y);
    let (above, below) = (g.softplus(y), g.softplus(minus));
    let both = g.add(above, below);
    let product = g.neg(both);
    let product = g.shift(product, 2.0 * std::f64::consts::LN_2);
    let powers = g.mul(a, product);
    let share = g.inv_logit(minus);
    let share = g.scale(share, 2.0);
    let lost = g.mul(z, share);
    let terms = g.sub(powers, lost);
    let sum = log_sum(g, terms);
    let width = g.scale(step, 0.5);
    let width = g.log(width);
    g.add(sum, width)
}

/// $-\log\Gamma(\nu+\frac12) - \frac12\log\pi$ and the integral.
fn log_without_power(g: &mut Graph, order: NodeId, z: NodeId) -> NodeId {
    let integral = log_integral(g, order, z);
    let half = g.shift(order, 0.5);
    let gamma = g.lgamma(half);
    let value = g.sub(integral, gamma);
    g.shift(value, -0.5 * exmc_math::log(std::f64::consts::PI))
}

/// $\log I_\nu(z)$ for $\nu\ge-1$ and $z\ge0$, NaN below. At zero it is 0 for order 0, minus
/// infinity above and infinity below, as in Stan; the formula sees neither zero nor infinity.
fn log_first_kind_with_ends(g: &mut Graph, order: NodeId, z: NodeId, is_positive: bool) -> NodeId {
    let (zero, one, none) = (g.scalar(0.0), g.scalar(1.0), g.scalar(f64::NAN));
    let (infinity, least) = (g.scalar(f64::INFINITY), g.scalar(-1.0));
    let (is_zero, is_infinite) = (g.eq(z, zero), g.eq(z, infinity));
    let is_end = g.or(is_zero, is_infinite);
    let safe = g.select(is_end, one, z);
    // Orders 1 and -1 are the same.
    let is_least = g.eq(order, least);
    let safe_order = g.select(is_least, one, order);
    let value = log_first_kind(g, safe_order, safe, is_positive);
    let (is_positive, is_negative) = (g.lt(zero, order), g.lt(order, zero));
    let minus = g.scalar(f64::NEG_INFINITY);
    let at_zero = g.select(is_positive, minus, zero);
    let at_zero = g.select(is_negative, infinity, at_zero);
    let end = g.select(is_infinite, infinity, at_zero);
    let value = g.select(is_end, end, value);
    let (allowed, same) = (g.le(least, order), g.eq(z, z));
    let inside = g.and(allowed, same);
    g.select(inside, value, none)
}

/// $\log I_\nu(z)$ for $\nu > -1$, $z>0$; orders below zero by $I_\nu = I_{\nu+2} +
/// 2(\nu+1)I_{\nu+1}/z$.
fn log_first_kind(g: &mut Graph, order: NodeId, z: NodeId, is_positive: bool) -> NodeId {
    let from_zero = |g: &mut Graph, order: NodeId| {
        let value = log_without_power(g, order, z);
        let half = g.scale(z, 0.5);
        let log = g.log(half);
        // The power zero of zero is one.
        let zero = g.scalar(0.0);
        let (no_order, nothing) = (g.eq(order, zero), g.eq(z, zero));
        let (both, product) = (g.and(no_order, nothing), g.mul(order, log));
        let power = g.select(both, zero, product);
        let value = g.add(power, value);
        g.add(value, z)
    };
    if is_positive {
        return from_zero(g, order);
    }
    let zero = g.scalar(0.0);
    let is_negative = g.lt(order, zero);
    let safe = g.select(is_negative, zero, order);
    let plain = from_zero(g, safe);
    let next = g.select(is_negative, order, zero);
    let (first, second) = (g.shift(next, 1.0), g.shift(next, 2.0));
    let (far, near) = (from_zero(g, second), from_zero(g, first));
    // Not the logarithm of the quotient, whose derivative overflows for a tiny z.
    let twice = g.scale(first, 2.0);
    let (log, log_z) = (g.log(twice), g.log(z));
    let near = g.add(near, log);
    let near = g.sub(near, log_z);
    let sum = g.log_add_exp(far, near);
    g.select(is_negative, sum, plain)
}

/// $I_n(x)$, for any sign of both.
fn first_kind(g: &mut Graph, order: i64, x: NodeId) -> NodeId {
    let n = order.unsigned_abs() as f64;
    let size = g.abs(x);
    let order = g.scalar(n);
    let value = log_without_power(g, order, size);
    let value = g.add(value, size);
    let value = g.exp(value);
    let half = g.scale(x, 0.5);
    if n == 0.0 {
        return value;
    }
    let power = g.pow(half, order);
    g.mul(power, value)
}

/// $\log(r+\sqrt{1+r^2})$ for $r\ge0$, without cancelling at zero.
fn asinh(g: &mut Graph, r: NodeId) -> NodeId {
    let square = g.square(r);
    let hypotenuse = g.shift(square, 1.0);
    let hypotenuse = g.sqrt(hypotenuse);
    let base = g.shift(hypotenuse, 1.0);
    let more = g.div(square, base);
    let sum = g.add(r, more);
    g.log1p(sum)
}

/// The inverse of cosh at $1+d$, $\log(1+d+\sqrt{d(d+2)})$.
fn acosh_1p(g: &mut Graph, d: NodeId) -> NodeId {
    let next = g.shift(d, 2.0);
    let product = g.mul(d, next);
    let root = g.sqrt(product);
    let sum = g.add(d, root);
    g.log1p(sum)
}

/// $K_n(x)$ for $x>0$; infinite at zero, NaN below.
fn second_kind(g: &mut Graph, order: i64, x: NodeId) -> NodeId {
    let (zero, one, none) = (g.scalar(0.0), g.scalar(1.0), g.scalar(f64::NAN));
    let is_inside = g.lt(zero, x);
    let safe = g.select(is_inside, x, one);
    let value = second_kind_inside(g, order, safe);
    let (at_zero, infinity) = (g.eq(x, zero), g.scalar(f64::INFINITY));
    let outside = g.select(at_zero, infinity, none);
    g.select(is_inside, value, outside)
}

fn second_kind_inside(g: &mut Graph, order: i64, x: NodeId) -> NodeId {
    let n = order.unsigned_abs() as f64;
    let ratio = g.reciprocal(x);
    let ratio = g.scale(ratio, n);
    let peak = asinh(g, ratio);
    let square = g.square(x);
    let square = g.shift(square, n * n);
    let height = g.sqrt(square);
    let deep = g.reciprocal(height);
    let deep = g.scale(deep, DEPTH);
    let right = acosh_1p(g, deep);
    // On the left the integrand falls by n a step once it has left its peak, and at d steps from it
    // by at least (height - n)(cosh d - 1); for order 0 it is even.
    let left = if n == 0.0 {
        right
    } else {
        let by_order = g.shift(right, DEPTH / n + 2.0);
        let least = g.scalar(1e-100);
        let safe = g.max(x, least);
        let sum = g.shift(height, n);
        let over = g.div(sum, safe);
        let over = g.div(over, safe);
        let deep = g.scale(over, DEPTH);
        let by_size = acosh_1p(g, deep);
        g.min(by_order, by_size)
    };
    let start = g.sub(peak, left);
    let length = g.add(left, right);
    let step = g.scale(length, 1.0 / STEPS as f64);

    let numbers: Vec<f64> = (0..=STEPS).map(|k| k as f64).collect();
    let numbers = g.constant(Tensor::vector(&numbers));
    let (first, spacing, x_column) = (column(g, start), column(g, step), column(g, x));
    let moved = g.mul(spacing, numbers);
    let t = g.add(first, moved);
    let gained = g.scale(t, n);
    let height = g.unary(Unary::Cosh, t);
    let lost = g.mul(x_column, height);
    let terms = g.sub(gained, lost);
    let sum = log_sum(g, terms);
    let width = g.scale(step, 0.5);
    let width = g.log(width);
    let sum = g.add(sum, width);
    g.exp(sum)
}
