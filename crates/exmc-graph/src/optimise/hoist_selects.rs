//! `sum(select(stretched(c), x, k))` -> `select(c, sum(x), n k)`.
//!
//! A density asks once whether its scalar parameters are in range, and says so for every row. Asked
//! once for all rows, the rows are as if nobody had asked.

use super::terms::stretched;
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Reduction, Ternary};

pub(super) fn rule(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let (Op::Reduce(Reduction::Sum, axes), &[x]) = (op, args) else { return None };
    let shape = g.shape(x).clone();
    if axes.len() != shape.rank() || shape.len() < 2 {
        return None;
    }
    let (Op::Ternary(Ternary::Select), &[condition, yes, no]) =
        (&g.node(x).op, &g.node(x).args[..])
    else {
        return None;
    };
    let condition = stretched(g, condition)?;
    let known = |g: &Graph, id| g.as_uniform(id).map(|value| value * shape.len() as f64);
    let (yes, no) = match (known(g, yes), known(g, no)) {
        (None, Some(no)) => (g.sum(yes), g.scalar(no)),
        (Some(yes), None) => (g.scalar(yes), g.sum(no)),
        _ => return None,
    };
    let condition = g.reshape(condition, []);
    Some(g.select(condition, yes, no))
}
