//! `log(exp(x))` -> `x`, logs of probabilities that are made from log odds -> softplus, and the
//! like.
//!
//! `c * x - x` -> `(c - 1) * x`. Scales and probabilities are often transformed parameters whose
//! log a density takes: the log is then known already. `x / exp(y)` of arrays -> `x * exp(-y)`,
//! which spares the derivative its divisions. A probability that a softmax gives and a density
//! looks up is the exponential of its logarithm; what the density asks of all of them (not
//! negative, with a sum of one) holds but for rounding wherever they are numbers. Values agree to
//! rounding wherever the inner function neither overflows nor rounds to zero or one; there the new
//! form is the more exact one.

use super::rewrite_carry::change_states;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Reduction, Unary};

pub(super) fn rule(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let inner = |g: &Graph, id: NodeId| match g.node(id).op {
        Op::Unary(f) => Some((f, g.node(id).args[0])),
        _ => None,
    };
    if let Op::Project(_) = op {
        return change_states(g, op, args);
    }
    if let (Op::Binary(Binary::Sub), &[a, b]) = (op, args) {
        return multiple_less_one(g, a, b);
    }
    if let (Op::Binary(Binary::Le), &[low, x]) = (op, args) {
        let (Unary::Exp, exponent) = inner(g, x)? else { return None };
        return (g.as_uniform(low)? <= 0.0).then(|| g.eq(exponent, exponent));
    }
    if let (Op::Reduce(Reduction::Sum, axes), &[x]) = (op, args) {
        let (Unary::Exp, exponent) = inner(g, x)? else { return None };
        return sum_of_softmax(g, axes, exponent);
    }
    if let (Op::Binary(Binary::Div), &[a, b]) = (op, args) {
        let (Unary::Exp, y) = inner(g, b)? else { return None };
        let is_array = g.shape(b).len() > 1;
        return is_array.then(|| {
            let minus = g.neg(y);
            let inverse = g.exp(minus);
            g.mul(a, inverse)
        });
    }
    let &Op::Unary(f) = op else { return None };
    if f == Unary::Log
        && let Some(exponent) = exponent(g, args[0])
    {
        return Some(exponent);
    }
    match (f, inner(g, args[0])?) {
        (Unary::Log, (Unary::InvLogit, x)) => {
            let minus = g.neg(x);
            let softplus = g.softplus(minus);
            Some(g.neg(softplus))
        }
        (Unary::Log, (Unary::Reciprocal, x)) => {
            let log = g.log(x);
            let x = rule(g, &Op::Unary(Unary::Log), &[x]).unwrap_or(log);
            Some(g.neg(x))
        }
        (Unary::Log, (Unary::Sqrt, x)) => {
            let log = g.log(x);
            Some(g.scale(log, 0.5))
        }
        (Unary::Log1p, (Unary::Exp, x)) => Some(g.softplus(x)),
        (Unary::Log1p, (Unary::Neg, minus)) => match inner(g, minus)? {
            (Unary::InvLogit, x) => {
                let softplus = g.softplus(x);
                Some(g.neg(softplus))
            }
            (Unary::Exp, x) => Some(g.log1m_exp(x)),
            _ => None,
        },
        _ => None,
    }
}

/// The exponents of elements of exponentials, which are taken and laid out as these are.
fn exponent(g: &mut Graph, id: NodeId) -> Option<NodeId> {
    let node = g.node(id);
    let (&first, rest) = node.args.split_first()?;
    match &node.op {
        Op::Unary(Unary::Exp) => Some(first),
        op @ (Op::Gather | Op::Slice { .. } | Op::Reshape(_) | Op::Broadcast(_)) => {
            let (op, mut args) = (op.clone(), vec![first]);
            args.extend(rest);
            args[0] = exponent(g, first)?;
            Some(g.must(op, &args))
        }
        _ => None,
    }
}

/// $\sum \exp(x - \operatorname{lse}(x))$ over the axes of the logarithm: one, or NaN where the
/// logarithm is not finite.
fn sum_of_softmax(g: &mut Graph, axes: &[usize], exponent: NodeId) -> Option<NodeId> {
    let (Op::Binary(Binary::Sub), &[x, subtracted]) =
        (&g.node(exponent).op, &g.node(exponent).args[..])
    else {
        return None;
    };
    let mut log = subtracted;
    while let Op::Broadcast(_) | Op::Reshape(_) = g.node(log).op {
        log = g.node(log).args[0];
    }
    let (Op::Reduce(Reduction::LogSumExp, over), &[summed]) =
        (&g.node(log).op, &g.node(log).args[..])
    else {
        return None;
    };
    if summed != x || over != axes {
        return None;
    }
    // Laid out along x again, and in no other way.
    let mut kept = g.shape(x).extents().to_vec();
    axes.iter().for_each(|axis| kept[*axis] = 1);
    let (along, shape) = (g.reshape(log, kept), g.shape(x).clone());
    let is_scalar = g.shape(log).is_scalar();
    let is_along = g.broadcast_to(along, &shape) == subtracted
        || is_scalar && g.broadcast_to(log, &shape) == subtracted;
    if !is_along {
        return None;
    }
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let nothing = g.mul(zero, log);
    Some(g.add(one, nothing))
}

/// `c * x - x`, as the Jacobian of a transform without its clamps has it.
fn multiple_less_one(g: &mut Graph, a: NodeId, b: NodeId) -> Option<NodeId> {
    let (Op::Binary(Binary::Mul), &[factor, x]) = (&g.node(a).op, &g.node(a).args[..]) else {
        return None;
    };
    let less = g.as_uniform(factor)? - 1.0;
    match less {
        _ if x != b => None,
        1.0 => Some(x),
        less => Some(g.scale(x, less)),
    }
}
