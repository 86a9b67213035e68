//! Sizes, signs, rounding, remainders and choices of two numbers.

use exmc_graph::{Graph, NodeId, Unary};

use super::Values::{Real1, Real2};
use super::{ScalarFunction, Shapes, Two, binary, unary};

/// See [`ScalarFunction`].
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    unary("abs", Graph::abs).slope(|x, _| if x == 0.0 { 0.0 } else { x.signum() }),
    unary("fabs", Graph::abs)
        .values(Real1(f64::abs))
        .slope(|x, _| if x == 0.0 { 0.0 } else { x.signum() }),
    unary("floor", Graph::floor).shapes(Shapes::Containers).values(Real1(f64::floor)).flat(),
    unary("ceil", |g, x| g.unary(Unary::Ceil, x))
        .shapes(Shapes::Containers)
        .values(Real1(f64::ceil))
        .flat(),
    unary("round", |g, x| g.unary(Unary::Round, x))
        .shapes(Shapes::Containers)
        .values(Real1(f64::round))
        .flat(),
    unary("trunc", |g, x| {
        let (size, sign) = (g.abs(x), g.sign(x));
        let floor = g.floor(size);
        g.mul(sign, floor)
    })
    .shapes(Shapes::Containers)
    .values(Real1(f64::trunc))
    .flat(),
    // Stan's int_step is 1 for positive numbers only, its step for all that is not below zero:
    // for NaN, too.
    unary("step", |g, x| {
        let zero = g.scalar(0.0);
        let below = g.lt(x, zero);
        g.not(below)
    })
    .values(Real1(|x| if x < 0.0 { 0.0 } else { 1.0 }))
    .flat(),
    unary("int_step", |g, x| {
        let zero = g.scalar(0.0);
        g.lt(zero, x)
    }),
    unary("is_nan", |g, x| g.ne(x, x)),
    unary("is_inf", |g, x| {
        let (size, infinity) = (g.abs(x), g.scalar(f64::INFINITY));
        g.eq(size, infinity)
    }),
    binary("fmin", |g, a, b| of_numbers(g, a, b, Graph::min))
        .shapes(Shapes::Pairs)
        .values(Real2(f64::min))
        .slopes(|x, y, _| chosen(x.0 < y.0 || y.0.is_nan(), x.0 == y.0)),
    // Of equal numbers each has half of the slope.
    binary("fmax", |g, a, b| of_numbers(g, a, b, Graph::max))
        .shapes(Shapes::Pairs)
        .values(Real2(f64::max))
        .slopes(|x, y, _| chosen(x.0 > y.0 || y.0.is_nan(), x.0 == y.0)),
    binary("fdim", |g, a, b| {
        // A choice, as infinity less infinity is NaN.
        let (difference, zero) = (g.sub(a, b), g.scalar(0.0));
        let none = g.le(a, b);
        g.select(none, zero, difference)
    })
    .shapes(Shapes::Pairs)
    .values(Real2(|x, y| if x <= y { 0.0 } else { x - y }))
    .slopes(|x, y, _| if x.0 > y.0 { (1.0, -1.0) } else { (0.0, 0.0) }),
    binary("fmod", Graph::fmod)
        .shapes(Shapes::Pairs)
        .values(Real2(libm::fmod))
        .slopes(|x, y, _| (1.0, -(x.0 / y.0).trunc())),
];

/// The smaller or larger of two numbers, or the other one where one is NaN, as in C.
fn of_numbers(g: &mut Graph, a: NodeId, b: NodeId, of_both: Two) -> NodeId {
    let value = of_both(g, a, b);
    let not_a = g.ne(a, a);
    let not_b = g.ne(b, b);
    let value = g.select(not_b, a, value);
    g.select(not_a, b, value)
}

fn chosen(first: bool, tie: bool) -> (f64, f64) {
    match (tie, first) {
        (true, _) => (0.5, 0.5),
        (_, true) => (1.0, 0.0),
        _ => (0.0, 1.0),
    }
}
