//! `min(x, 200)` of a parameter -> `x`, for positions inside of the limits.
//!
//! Transforms hold their parameters in a range in which exponentials neither overflow nor vanish.
//! Samplers are inside of it nearly always, so an executor that checks the limits first can run a
//! density without the clamps and their derivatives' case distinctions, and leave the rest to the
//! one with them.

use rustc_hash::FxHashMap;

use super::terms::is_known;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op};
use crate::simplify::rebuild;

/// The name of this optimisation.
pub(super) const NAME: &str = "drop-clamps";
/// Limits nearer to zero than that are the model's, not a transform's.
const FAR: f64 = 20.0;

/// Where all elements of a parameter must lie, ends included.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// The parameter's input.
    pub input: String,
    /// Smallest value.
    pub low: f64,
    /// Largest value.
    pub high: f64,
}

/// The expression without clamps of single parameters, and where it has the same value and
/// gradient; nothing where there are none.
pub fn drop_clamps(graph: &Graph, root: NodeId) -> Option<(Graph, NodeId, Vec<Limits>)> {
    let mut all: Vec<Limits> = Vec::new();
    let mut place: FxHashMap<NodeId, usize> = FxHashMap::default();
    let (graph, roots) = rebuild(graph, &[root], |g, id, args| {
        let op = &graph.node(id).op;
        let (&Op::Binary(f @ (Binary::Min | Binary::Max)), &[x, limit]) = (op, args) else {
            return g.must(op.clone(), args);
        };
        let far = g.as_uniform(limit).filter(|limit| match f {
            Binary::Min => *limit >= FAR,
            _ => *limit <= -FAR,
        });
        match (&g.node(x).op, far) {
            (Op::Input { name, .. }, Some(limit)) if !is_known(g, x) => {
                let index = *place.entry(x).or_insert_with(|| {
                    let (low, high) = (f64::NEG_INFINITY, f64::INFINITY);
                    all.push(Limits { input: name.to_string(), low, high });
                    all.len() - 1
                });
                let limits = &mut all[index];
                match f {
                    Binary::Min => limits.high = limits.high.min(limit),
                    _ => limits.low = limits.low.max(limit),
                }
                x
            }
            _ => g.must(op.clone(), args),
        }
    });
    (!all.is_empty()).then(|| (graph, roots[0], all))
}
