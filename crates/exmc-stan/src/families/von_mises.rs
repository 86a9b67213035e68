//! Distribution functions of an angle: outcome, mean direction and concentration -> the logarithm
//! of $\int_{-\pi}^y$ of the density.
//!
//! The density is monotone between the mean direction and its opposite, so the range below (or
//! above) the outcome falls into at most four pieces of monotone density. Each is summed by Gauss's
//! rule where the density is not negligible beside its largest value there, and no term is
//! negative: neither tail loses digits. **Reference**: Mardia and Jupp 2000, section 3.5.4.

use std::f64::consts::PI;

use exmc_graph::{Graph, NodeId, Op, Reduction, Tensor};

use super::quadrature::gauss_legendre;
use super::{Tail, of_model};

/// Points of the rule for each piece.
const POINTS: usize = 48;
/// Half of how far, in nats, the density falls within a piece before it counts as nothing.
const DEPTH: f64 = 22.5;

/// $\log P(Y\le y)$ or $\log P(Y>y)$ of outcomes in $[-\pi,\pi]$, NaN outside.
pub(super) fn tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
    let &[mu, kappa] = p else { unreachable!("two parameters") };
    // The mean direction in [-pi, pi]; turns have no derivative.
    let turns = g.scale(mu, 0.5 / PI);
    let turns = g.unary(exmc_graph::Unary::Round, turns);
    let turned = g.scale(turns, 2.0 * PI);
    let mode = g.sub(mu, turned);
    // The upper tail is the lower one of the mirrored angle.
    let (x, m) = match tail {
        Tail::Lower => (y, mode),
        Tail::Upper => (g.neg(y), g.neg(mode)),
    };
    let (zero, half_turn) = (g.scalar(0.0), g.scalar(PI));
    let ahead = g.sub(x, m);
    let behind = g.neg(ahead);
    let within = |g: &mut Graph, r: NodeId| {
        let r = g.max(r, zero);
        g.min(r, half_turn)
    };
    // Distances from the nearest mean direction at which each piece begins and ends, the first
    // being the nearer one.
    let after = g.shift(m, PI);
    let from_left = within(g, after);
    let mirrored = g.neg(m);
    let past = g.shift(mirrored, PI);
    let first = within(g, past);
    let lapped = g.shift(ahead, 2.0 * PI);
    let first_end = within(g, lapped);
    let first_end = g.max(first, first_end);
    let second = within(g, behind);
    let second = g.min(second, from_left);
    let third_end = within(g, ahead);
    let returning = g.shift(behind, 2.0 * PI);
    let fourth = within(g, returning);
    let pieces = [(first, first_end), (second, from_left), (zero, third_end), (fourth, half_turn)];

    let (nodes, weights) = gauss_legendre::<POINTS>();
    let nodes = g.constant(Tensor::vector(&nodes));
    let weights = g.constant(Tensor::vector(&weights));
    let column = |g: &mut Graph, x: NodeId| {
        let shape = g.shape(x).join(&[1]);
        g.reshape(x, shape)
    };
    let height = |g: &mut Graph, r: NodeId, kappa: NodeId| {
        let half = g.scale(r, 0.5);
        let sine = g.sin(half);
        let square = g.square(sine);
        let product = g.mul(kappa, square);
        g.scale(product, -2.0)
    };
    let never = g.scalar(f64::NEG_INFINITY);
    let mut top: Option<NodeId> = None;
    let mut ends = Vec::new();
    for (near, far) in pieces {
        // Where the density has fallen by e^-45 from the nearer end.
        let half = g.scale(near, 0.5);
        let sine = g.sin(half);
        let square = g.square(sine);
        let inverse = g.reciprocal(kappa);
        let drop = g.scale(inverse, DEPTH);
        let sum = g.add(square, drop);
        let one = g.scalar(1.0);
        let sum = g.min(sum, one);
        let root = g.sqrt(sum);
        let angle = g.asin(root);
        let reach = g.scale(angle, 2.0);
        let reach = g.apply(Op::Hold, &[reach]).expect("any number can be held");
        let far = g.min(far, reach);
        let width = g.sub(far, near);
        let exists = g.lt(zero, width);
        let peak = height(g, near, kappa);
        let peak = g.select(exists, peak, never);
        top = Some(top.map_or(peak, |top| g.max(top, peak)));
        ends.push((near, width));
    }
    let top = top.expect("there are four pieces");
    let infinite = g.unary(exmc_graph::Unary::IsFinite, top);
    let top = g.select(infinite, top, zero);
    let top = g.apply(Op::Hold, &[top]).expect("any number can be held");
    let mut total = zero;
    for (near, width) in ends {
        let (near, wide) = (column(g, near), column(g, width));
        let (concentration, level) = (column(g, kappa), column(g, top));
        let moved = g.mul(wide, nodes);
        let r = g.add(near, moved);
        let exponent = height(g, r, concentration);
        let exponent = g.sub(exponent, level);
        // A piece that is not there may be higher than all that are.
        let exponent = g.min(exponent, zero);
        let density = g.exp(exponent);
        let terms = g.mul(density, weights);
        let last = g.shape(terms).rank() - 1;
        let mean = g.reduce(Reduction::Sum, terms, &[last]);
        let mass = g.mul(mean, width);
        total = g.add(total, mass);
    }
    let log = g.log(total);
    let log = g.add(log, top);
    // The density at its mode is one over the constant.
    let constant = of_model("von_mises").lpdf(g, mode, &[mode, kappa]);
    let value = g.add(log, constant);
    let certain = g.scalar(0.0);
    let value = g.min(value, certain);
    let size = g.abs(y);
    let inside = g.le(size, half_turn);
    let nan = g.scalar(f64::NAN);
    g.select(inside, value, nan)
}
