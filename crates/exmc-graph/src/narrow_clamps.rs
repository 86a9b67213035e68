//! Clamps of transforms that keep exponentials in the range of `f64` -> those that keep them in the
//! range of `f32`.
//!
//! A transform takes exponentials of a parameter held between -200 and 200, and keeps a probability
//! below the last number before one. Where a long array is computed in `f32`, the exponential of
//! 200 is infinite, that of -200 zero, and that probability one, so that the density of a position
//! from which a sampler would come back is none. Only what a transform wrote is changed: the same
//! limits, as it sets them, around the argument of such a function.

use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::precision::Precision;
use crate::simplify::rebuild;

/// The limit of exponents in transforms.
const FAR: f64 = 200.0;
/// The largest number below one.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;
/// The limit for `f32`, whose exponential of 85 is 8e36 and that of -85 is 1e-37, an ordinary
/// number. There is no limit at which a square would be in range too and a scale of 1e20 a scale;
/// so no density squares what may be one.
const MAX_LOG_RATIO: f64 = 85.0;
/// The largest `f32` below one.
const BELOW_ONE_SINGLE: f64 = 1.0 - f32::EPSILON as f64 / 2.0;

/// The expression for a precision of long arrays; nothing where it is the same.
pub fn narrow_clamps(graph: &Graph, root: NodeId, precision: Precision) -> Option<(Graph, NodeId)> {
    let mut limits: Vec<Option<f64>> = vec![None; graph.len()];
    for id in graph.ids().filter(|id| precision.of(graph.shape(*id).len()) == Precision::F32) {
        let node = graph.node(id);
        match node.op {
            Op::Unary(Unary::Exp | Unary::Softplus | Unary::InvLogit) => {
                let mut inner = node.args[0];
                while let Some((x, limit)) = clamp(graph, inner)
                    && limit.abs() == FAR
                {
                    limits[inner.index()] = Some(MAX_LOG_RATIO.copysign(limit));
                    inner = x;
                }
            }
            Op::Binary(Binary::Min) => {
                if let Some((x, limit)) = clamp(graph, id)
                    && limit == BELOW_ONE
                    && graph.node(x).op == Op::Unary(Unary::InvLogit)
                {
                    limits[id.index()] = Some(BELOW_ONE_SINGLE);
                }
            }
            _ => {}
        }
    }
    if limits.iter().all(Option::is_none) {
        return None;
    }
    let (graph, roots) = rebuild(graph, &[root], |g, id, args| {
        let op = &graph.node(id).op;
        match (limits[id.index()], clamp(graph, id)) {
            (Some(limit), Some((x, _))) => {
                let place = graph.node(id).args.iter().position(|arg| *arg == x);
                let x = args[place.expect("it is one of the arguments")];
                let limit = g.scalar(limit);
                let shape = g.shape(x).clone();
                let limit = g.broadcast_to(limit, &shape);
                g.must(op.clone(), &[x, limit])
            }
            _ => g.must(op.clone(), args),
        }
    });
    Some((graph, roots[0]))
}

/// What is held at a limit, and the limit: the smaller of x and a positive number, or the larger of
/// x and a negative one.
fn clamp(graph: &Graph, id: NodeId) -> Option<(NodeId, f64)> {
    let node = graph.node(id);
    let is_min = match node.op {
        Op::Binary(Binary::Min) => true,
        Op::Binary(Binary::Max) => false,
        _ => return None,
    };
    let &[a, b] = &node.args[..] else { return None };
    let (x, limit) = match (graph.as_uniform(a), graph.as_uniform(b)) {
        (None, Some(limit)) => (a, limit),
        (Some(limit), None) => (b, limit),
        _ => return None,
    };
    (is_min == (limit > 0.0)).then_some((x, limit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Role;
    use crate::print::print;
    use crate::tensor::{DType, Shape};

    /// The sum over an expression of n numbers, for `f32`; empty where it is the same.
    fn text(n: usize, write: impl FnOnce(&mut Graph, NodeId) -> NodeId) -> String {
        let mut g = Graph::new();
        let z = g.input("z", Role::Parameter, Shape::from([n]), DType::Real).unwrap();
        let x = write(&mut g, z);
        let root = g.sum(x);
        let narrowed = narrow_clamps(&g, root, Precision::F32);
        narrowed.map_or_else(String::new, |(g, _)| print(&g))
    }

    /// What a transform makes of z: its value and the logarithm of its slope, with one clamp for
    /// both.
    fn transformed(g: &mut Graph, z: NodeId) -> NodeId {
        let (low, high) = (g.scalar(-FAR), g.scalar(FAR));
        let below = g.min(z, high);
        let inside = g.max(below, low);
        let value = g.exp(inside);
        let twice = g.scale(below, 2.0);
        let log_slope = g.sub(twice, z);
        g.add(value, log_slope)
    }

    #[test]
    fn limits_of_transforms_of_long_arrays_are_those_of_f32() {
        let after = text(65, transformed);
        for (part, count) in [("constant 85.0", 1), ("constant -85.0", 1), ("min(", 1), ("200", 0)]
        {
            assert_eq!(after.matches(part).count(), count, "{part} in\n{after}");
        }
        let after = text(65, |g, z| {
            let below_one = g.scalar(BELOW_ONE);
            let share = g.inv_logit(z);
            g.min(share, below_one)
        });
        assert!(after.contains("0.99999994"), "{after}");
    }

    #[test]
    fn short_arrays_and_what_no_transform_wrote_stay() {
        assert_eq!(text(64, transformed), "");
        let other = |g: &mut Graph, z| {
            let limit = g.scalar(FAR);
            let least = g.min(z, limit);
            let limit = g.scalar(150.0);
            let clamped = g.min(z, limit);
            let clamped = g.exp(clamped);
            g.add(least, clamped)
        };
        assert_eq!(text(65, other), "");
    }
}
