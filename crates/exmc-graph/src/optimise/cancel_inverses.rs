//! `log(exp(x))` -> `x`, logs of probabilities that are made from log odds -> softplus, and the
//! like.
//!
//! `c * x - x` -> `(c - 1) * x`. Scales and probabilities are often transformed parameters whose
//! log a density takes: the log is then known already. `x / exp(y)` of arrays -> `x * exp(-y)`,
//! which spares the derivative its divisions. Values agree to rounding wherever the inner function
//! neither overflows nor rounds to zero or one; there the new form is the more exact one.

use super::rewrite_carry::change_states;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Unary};

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
    match (f, inner(g, args[0])?) {
        (Unary::Log, (Unary::Exp, x)) => Some(x),
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
