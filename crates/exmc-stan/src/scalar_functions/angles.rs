//! Trigonometric and hyperbolic functions, in radians.

use std::f64::consts::LN_2;

use exmc_graph::{Graph, NodeId};
use exmc_math as m;

use super::Values::{Real1, Real2, Within};
use super::exponentials::log1m;
use super::{ScalarFunction, Shapes, binary, unary};

const INF: f64 = f64::INFINITY;

/// See [`ScalarFunction`].
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    unary("sin", Graph::sin)
        .shapes(Shapes::Containers)
        .values(Real1(m::sin))
        .slope(|x, _| m::cos(x)),
    unary("cos", Graph::cos)
        .shapes(Shapes::Containers)
        .values(Real1(m::cos))
        .slope(|x, _| -m::sin(x)),
    unary("tan", Graph::tan)
        .shapes(Shapes::Containers)
        .values(Real1(m::tan))
        .slope(|_, y| 1.0 + y * y),
    unary("asin", Graph::asin)
        .shapes(Shapes::Containers)
        .values(Real1(m::asin))
        .slope(|x, _| 1.0 / (1.0 - x * x).sqrt()),
    unary("acos", Graph::acos)
        .shapes(Shapes::Containers)
        .values(Real1(m::acos))
        .slope(|x, _| -1.0 / (1.0 - x * x).sqrt()),
    unary("atan", Graph::atan)
        .shapes(Shapes::Containers)
        .values(Real1(m::atan))
        .slope(|x, _| 1.0 / (1.0 + x * x)),
    unary("sinh", Graph::sinh)
        .shapes(Shapes::Containers)
        .values(Real1(m::sinh))
        .slope(|x, _| m::cosh(x)),
    unary("cosh", Graph::cosh)
        .shapes(Shapes::Containers)
        .values(Real1(m::cosh))
        .slope(|x, _| m::sinh(x)),
    unary("tanh", Graph::tanh).shapes(Shapes::Containers).values(Real1(m::tanh)).slope(|x, _| {
        let size = m::cosh(x);
        1.0 / size / size
    }),
    unary("asinh", asinh)
        .shapes(Shapes::Containers)
        .values(Real1(m::asinh))
        .slope(|x, _| 1.0 / m::hypot(x, 1.0)),
    unary("acosh", |g, x| {
        // log(x + sqrt(x^2 - 1)) by u = x - 1, which keeps the digits near one; two roots, as a
        // square may overflow.
        let u = g.shift(x, -1.0);
        let twice = g.shift(x, 1.0);
        let (low, high) = (g.sqrt(u), g.sqrt(twice));
        let root = g.mul(low, high);
        let total = g.add(u, root);
        g.log1p(total)
    })
    .shapes(Shapes::Containers)
    .values(Within(m::acosh, 1.0, INF))
    .slope(|x, _| 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt())),
    unary("atanh", |g, x| {
        let up = g.log1p(x);
        let down = log1m(g, x);
        let difference = g.sub(up, down);
        g.scale(difference, 0.5)
    })
    .shapes(Shapes::Containers)
    .values(Within(m::atanh, -1.0, 1.0))
    .slope(|x, _| 1.0 / ((1.0 - x) * (1.0 + x))),
    binary("atan2", Graph::atan2).shapes(Shapes::Pairs).values(Real2(m::atan2)).slopes(
        |y, x, _| {
            let square = x.0 * x.0 + y.0 * y.0;
            (x.0 / square, -y.0 / square)
        },
    ),
];

/// $\operatorname{artanh}(x/\sqrt{1+x^2})$ up to one, where it is odd with slope one at zero;
/// beyond $\operatorname{sign}(x)\log(|x| + \sqrt{x^2+1})$, whose square is left out where it is
/// all.
fn asinh(g: &mut Graph, x: NodeId) -> NodeId {
    const LARGE: f64 = 1e9;
    let (size, one) = (g.abs(x), g.scalar(1.0));
    let is_small = g.lt(size, one);
    let zero = g.scalar(0.0);
    let near = g.select(is_small, x, zero);
    let square = g.square(near);
    let inside = g.shift(square, 1.0);
    let root = g.sqrt(inside);
    let ratio = g.div(near, root);
    let (up, down) = (g.log1p(ratio), log1m(g, ratio));
    let difference = g.sub(up, down);
    let small = g.scale(difference, 0.5);
    let limit = g.scalar(LARGE);
    let is_large = g.lt(limit, size);
    let middle = g.select(is_large, one, size);
    let square = g.square(middle);
    let inside = g.shift(square, 1.0);
    let root = g.sqrt(inside);
    let sum = g.add(middle, root);
    // Twice a huge number may overflow: its logarithm by parts.
    let log = g.log(size);
    let doubled = g.shift(log, LN_2);
    let log = g.log(sum);
    let large = g.select(is_large, doubled, log);
    let sign = g.sign(x);
    let large = g.mul(sign, large);
    g.select(is_small, small, large)
}
