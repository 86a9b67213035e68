//! Powers and roots.

use exmc_graph::{Graph, NodeId};
use exmc_math as m;

use super::Values::{Real1, Real2, Real3};
use super::{ScalarFunction, Shapes, binary, ternary, unary};

/// See [`ScalarFunction`].
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    unary("sqrt", Graph::sqrt)
        .shapes(Shapes::Containers)
        .values(Real1(f64::sqrt))
        .slope(|_, y| 0.5 / y),
    unary("cbrt", |g, x| {
        let (size, sign) = (g.abs(x), g.sign(x));
        let third = g.scalar(1.0 / 3.0);
        let root = g.pow(size, third);
        g.mul(sign, root)
    })
    .shapes(Shapes::Containers)
    .values(Real1(m::cbrt))
    .slope(|_, y| 1.0 / (3.0 * y * y)),
    unary("square", Graph::square)
        .shapes(Shapes::Containers)
        .values(Real1(|x| x * x))
        .slope(|x, _| 2.0 * x),
    unary("inv", Graph::reciprocal)
        .shapes(Shapes::Containers)
        .values(Real1(|x| 1.0 / x))
        .slope(|_, y| -y * y),
    unary("inv_sqrt", |g, x| {
        let root = g.sqrt(x);
        g.reciprocal(root)
    })
    .shapes(Shapes::Containers)
    .values(Real1(|x| 1.0 / x.sqrt()))
    .slope(|x, y| -0.5 * y / x),
    unary("inv_square", |g, x| {
        let square = g.square(x);
        g.reciprocal(square)
    })
    .shapes(Shapes::Containers)
    .values(Real1(|x| 1.0 / (x * x)))
    .slope(|x, y| -2.0 * y / x),
    binary("pow", pow).shapes(Shapes::Pairs).values(Real2(m::pow)).slopes(slopes_of_power),
    binary("hypot", hypot)
        .shapes(Shapes::Pairs)
        .values(Real2(m::hypot))
        .slopes(|x, y, h| (x.0 / h, y.0 / h)),
    binary("ldexp", |g, a, b| {
        // In two steps, as one power may leave the range where the product does not.
        let two = g.scalar(2.0);
        let half = g.scale(b, 0.5);
        let half = g.floor(half);
        let rest = g.sub(b, half);
        let (first, second) = (g.pow(two, half), g.pow(two, rest));
        let product = g.mul(a, first);
        g.mul(product, second)
    })
    .shapes(Shapes::RealAndInt)
    .values(Real2(|x, n| libm::ldexp(x, n as i32))),
    ternary("fma", |g, a, b, c| {
        let product = g.mul(a, b);
        g.add(product, c)
    })
    .values(Real3(libm::fma)),
    // The operator `.^`.
    binary("elt_pow", pow),
];

/// $s\sqrt{(a/s)^2+(b/s)^2}$ with s the larger size: no square overflows, and as s has no part in
/// the value, the derivative is right where both are equal too.
pub(crate) fn hypot(g: &mut Graph, a: NodeId, b: NodeId) -> NodeId {
    let (a, b) = (g.abs(a), g.abs(b));
    let (first, second) = (a, b);
    let large = g.max(a, b);
    let zero = g.scalar(0.0);
    let both_zero = g.eq(large, zero);
    let one = g.scalar(1.0);
    let scale = g.select(both_zero, one, large);
    let (a, b) = (g.div(a, scale), g.div(b, scale));
    let (a, b) = (g.square(a), g.square(b));
    let sum = g.add(a, b);
    let root = g.sqrt(sum);
    let value = g.mul(scale, root);
    // Infinite where either is, even beside NaN, as in C.
    let infinity = g.scalar(f64::INFINITY);
    let endless = [first, second].map(|size| g.eq(size, infinity));
    let endless = g.or(endless[0], endless[1]);
    g.select(endless, infinity, value)
}

/// $x^y$; small known powers by what costs less and has a derivative everywhere.
fn pow(g: &mut Graph, x: NodeId, y: NodeId) -> NodeId {
    match g.as_uniform(y) {
        Some(1.0) if g.shape(y).broadcasts_to(g.shape(x)) => x,
        Some(2.0) => g.square(x),
        Some(0.5) => g.sqrt(x),
        Some(-1.0) => g.reciprocal(x),
        Some(3.0) => {
            let square = g.square(x);
            g.mul(square, x)
        }
        _ => g.pow(x, y),
    }
}

/// Derivatives of $x^y$: $y x^{y-1}$ and $x^y \log x$, the latter 0 at $x = 0$.
pub(crate) fn slopes_of_power(
    (x, by_x): (f64, bool),
    (y, by_y): (f64, bool),
    value: f64,
) -> (f64, f64) {
    let dx = if by_x && y != 0.0 { y * m::pow(x, y - 1.0) } else { 0.0 };
    let dy = if by_y && x != 0.0 { value * m::log(x) } else { 0.0 };
    (dx, dy)
}
