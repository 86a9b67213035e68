//! `_lupdf` and `~`: a log density -> the same without the terms that Stan leaves out.

use exmc_graph::{Binary, Dependence, Graph, NodeId, Op, Reduction, Unary};

use super::align::known;

/// The density with what Stan leaves out subtracted, where that is not what no parameter changes:
/// `left_out` is the sum of its terms. `args` are the density's arguments, which are taken as they
/// are.
pub(super) fn unnormalised(
    g: &mut Graph,
    id: NodeId,
    args: &[NodeId],
    left_out: impl FnOnce(&mut Graph) -> Option<NodeId>,
) -> NodeId {
    if args.iter().all(|arg| g.dependence(*arg) != Dependence::Parameter) {
        return g.scalar(0.0);
    }
    let Parts { kept, constant } = split(g, id, args);
    let kept = kept.unwrap_or_else(|| g.scalar(0.0));
    match left_out(g).and_then(|left_out| difference(g, constant, left_out)) {
        None => kept,
        Some(rest) => g.add(kept, rest),
    }
}

/// What no parameter changes, less what Stan leaves out of it; `None` where that is rounding.
fn difference(g: &mut Graph, constant: Option<NodeId>, left_out: NodeId) -> Option<NodeId> {
    /// Both are sums of some terms, each exact to some rounding errors.
    const ROUNDING: f64 = 1e-14;
    let constant = constant.unwrap_or_else(|| g.scalar(0.0));
    let rest = g.sub(constant, left_out);
    // Both may be infinite.
    let (same, zero) = (g.eq(constant, left_out), g.scalar(0.0));
    let rest = g.select(same, zero, rest);
    let size = g.abs(left_out);
    let size = g.scale(size, ROUNDING);
    let moved = g.abs(rest);
    let is_rounding = g.le(moved, size);
    let all = known(g, is_rounding).is_some_and(|all| all.iter().all(|is| *is != 0.0));
    if all { None } else { Some(rest) }
}

/// A sum taken apart.
struct Parts {
    /// The terms that depend on parameters; same shape, or one that broadcasts to it.
    kept: Option<NodeId>,
    /// Those that do not.
    constant: Option<NodeId>,
}

impl Parts {
    fn map(self, mut f: impl FnMut(NodeId) -> NodeId) -> Self {
        Self { kept: self.kept.map(&mut f), constant: self.constant.map(f) }
    }
}

/// The terms of a node. Arguments of the density, `density_args`, are kept as they are: of
/// `-rate * y` with y = 1 + exp(x) nothing is left out.
fn split(g: &mut Graph, id: NodeId, density_args: &[NodeId]) -> Parts {
    if g.dependence(id) != Dependence::Parameter {
        return Parts { kept: None, constant: Some(id) };
    }
    let all = Parts { kept: Some(id), constant: None };
    if density_args.contains(&id) {
        return all;
    }
    let (op, args) = (g.node(id).op.clone(), g.node(id).args.clone());
    let parts = match op {
        Op::Binary(Binary::Add | Binary::Sub) => {
            let is_sum = op == Op::Binary(Binary::Add);
            let [a, b] = [args[0], args[1]].map(|arg| split(g, arg, density_args));
            let mut join = |a: Option<NodeId>, b: Option<NodeId>| match (a, b) {
                (Some(a), Some(b)) if is_sum => Some(g.add(a, b)),
                (Some(a), Some(b)) => Some(g.sub(a, b)),
                (None, Some(b)) if !is_sum => Some(g.neg(b)),
                (a, b) => a.or(b),
            };
            Parts { kept: join(a.kept, b.kept), constant: join(a.constant, b.constant) }
        }
        Op::Binary(Binary::Mul) => {
            // A known factor of a sum leaves its terms apart.
            let (factor, rest) = match g.as_uniform(args[0]) {
                Some(_) => (args[0], args[1]),
                None if g.as_uniform(args[1]).is_some() => (args[1], args[0]),
                None => return all,
            };
            split(g, rest, density_args).map(|part| g.mul(factor, part))
        }
        Op::Unary(Unary::Neg) => split(g, args[0], density_args).map(|part| g.neg(part)),
        Op::Broadcast(_) => split(g, args[0], density_args),
        Op::Reduce(Reduction::Sum, axes) => {
            let shape = g.shape(args[0]).clone();
            split(g, args[0], density_args).map(|part| {
                let part = g.broadcast_to(part, &shape);
                g.reduce(Reduction::Sum, part, &axes)
            })
        }
        _ => return all,
    };
    // Nothing was left out: the node itself, not the same anew.
    if parts.constant.is_none() { all } else { parts }
}
