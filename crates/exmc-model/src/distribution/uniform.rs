//! Uniform distribution between two limits, 0 and 1 unless given.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;

use super::tails::{lower_tail, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Uniform(lower, upper).
#[derive(Debug)]
pub(crate) struct Uniform;

impl Distribution for Uniform {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["uniform01"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("lower", Support::Real).or(&["alpha", "low"]).default(0.0),
            Parameter::new("upper", Support::Real).or(&["beta", "high"]).default(1.0),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Between { lower: Some(0), upper: Some(1) }
    }

    /// $-\log(b - a)$ for the limits a and b. **Edges**: with $a > b$ no outcome lies in the
    /// support.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[lower, upper] = args else { unreachable!("two parameters") };
        let width = g.sub(upper, lower);
        let log_width = g.log(width);
        let density = g.neg(log_width);
        let shape = g
            .shape(density)
            .broadcast(g.shape(y))
            .expect("outcome and parameters broadcast, as was checked before");
        g.broadcast_to(density, &shape)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let (limits, anchor) = ([Some(args[0]), Some(args[1])], middle(g, args));
        Some(lower_tail(g, y, limits, anchor, |g, y| {
            let [below, above] = fractions(g, y, args);
            log_of_fraction(g, below, above)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let (limits, anchor) = ([Some(args[0]), Some(args[1])], middle(g, args));
        Some(upper_tail(g, y, limits, anchor, |g, y| {
            let [below, above] = fractions(g, y, args);
            log_of_fraction(g, above, below)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let (lower, upper) = (args[0][0], args[1][0]);
        out[0] = (lower + (upper - lower) * rng.uniform_open()).clamp(lower, upper);
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let width = args[1] - args[0];
        Some((args[0] + 0.5 * width, width * width / 12.0))
    }
}

fn middle(g: &mut Graph, args: &[NodeId]) -> NodeId {
    let sum = g.add(args[0], args[1]);
    g.scale(sum, 0.5)
}

/// The parts of the interval below and above y.
fn fractions(g: &mut Graph, y: NodeId, args: &[NodeId]) -> [NodeId; 2] {
    let width = g.sub(args[1], args[0]);
    let (below, above) = (g.sub(y, args[0]), g.sub(args[1], y));
    [g.div(below, width), g.div(above, width)]
}

/// The log of a fraction, through the rest of it where that is smaller.
fn log_of_fraction(g: &mut Graph, this: NodeId, rest: NodeId) -> NodeId {
    let is_large = g.lt(rest, this);
    let direct = g.log(this);
    let missing = g.neg(rest);
    let half = g.scalar(-0.5);
    let missing = g.max(missing, half);
    let complement = g.log1p(missing);
    g.select(is_large, complement, direct)
}
