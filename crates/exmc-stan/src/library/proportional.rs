//! `_lupdf` and `~`: a log density -> the same without the terms that no parameter changes.

use exmc_graph::{Binary, Dependence, Graph, NodeId, Op, Reduction, Unary};

/// The node without its additive terms that depend on no parameter, or `None` if nothing is left. The
/// result has the same shape or one that broadcasts to it. Arguments of the density, `whole`, are kept as they are: of
/// `-rate * y` with y = 1 + exp(x) nothing is left out.
pub(super) fn drop_constants(g: &mut Graph, id: NodeId, whole: &[NodeId]) -> Option<NodeId> {
    if g.dependence(id) != Dependence::Parameter {
        return None;
    }
    if whole.contains(&id) {
        return Some(id);
    }
    let (op, args) = (g.node(id).op.clone(), g.node(id).args.clone());
    let same = Some(id);
    match op {
        Op::Binary(Binary::Add) => {
            let [a, b] = [args[0], args[1]].map(|arg| drop_constants(g, arg, whole));
            match (a, b) {
                (Some(a), Some(b)) if [a, b] == args[..] => same,
                (Some(a), Some(b)) => Some(g.add(a, b)),
                (a, b) => a.or(b),
            }
        }
        Op::Binary(Binary::Sub) => {
            let [a, b] = [args[0], args[1]].map(|arg| drop_constants(g, arg, whole));
            match (a, b) {
                (Some(a), Some(b)) if [a, b] == args[..] => same,
                (Some(a), Some(b)) => Some(g.sub(a, b)),
                (None, Some(b)) => Some(g.neg(b)),
                (a, None) => a,
            }
        }
        Op::Binary(Binary::Mul) => {
            // A known factor of a sum leaves its terms apart.
            let (factor, rest) = match g.as_uniform(args[0]) {
                Some(_) => (args[0], args[1]),
                None if g.as_uniform(args[1]).is_some() => (args[1], args[0]),
                None => return same,
            };
            let kept = drop_constants(g, rest, whole)?;
            if kept == rest { same } else { Some(g.mul(factor, kept)) }
        }
        Op::Unary(Unary::Neg) => {
            let kept = drop_constants(g, args[0], whole)?;
            Some(g.neg(kept))
        }
        Op::Broadcast(_) => drop_constants(g, args[0], whole),
        Op::Reduce(Reduction::Sum, axes) => {
            let kept = drop_constants(g, args[0], whole)?;
            if kept == args[0] {
                return same;
            }
            let shape = g.shape(args[0]).clone();
            let kept = g.broadcast_to(kept, &shape);
            Some(g.reduce(Reduction::Sum, kept, &axes))
        }
        _ => same,
    }
}
