//! Asking: which expressions are finite, with finite derivatives, wherever parameters are finite?
//!
//! A table's element that no row reads must not matter. Where elements are summed with counts, it
//! enters as zero times its value, and an infinite value would make that NaN.

use crate::graph::{Dependence, Graph, NodeId};
use crate::op::{Binary, Op, Reduction, Unary};

/// How many nodes to look at; one that is read twice counts twice.
const BUDGET: usize = 200;

/// Whether a node is finite, with finite derivatives, at finite parameters, but for overflow. False
/// where that is not plain to see.
pub(super) fn is_tame(g: &Graph, id: NodeId) -> bool {
    tame(g, id, &mut { BUDGET })
}

/// Whether there is something left to spend.
fn spend(budget: &mut usize) -> bool {
    let left = *budget > 0;
    *budget = budget.saturating_sub(1);
    left
}

fn tame(g: &Graph, id: NodeId, budget: &mut usize) -> bool {
    let node = g.node(id);
    if !spend(budget) {
        return false;
    }
    if node.dependence == Dependence::Constant {
        return g.as_constant(id).is_none_or(|t| t.values().iter().all(|v| v.is_finite()));
    }
    let mut all = || node.args.iter().all(|&arg| tame(g, arg, budget));
    match &node.op {
        Op::Input { .. }
        | Op::Broadcast(_)
        | Op::Reshape(_)
        | Op::Slice { .. }
        | Op::Unslice { .. }
        | Op::Concat { .. }
        | Op::Permute(_)
        | Op::Gather
        | Op::CumSum { .. }
        | Op::MatMul
        | Op::Reduce(Reduction::Sum, _)
        | Op::Binary(Binary::Add | Binary::Sub | Binary::Mul | Binary::Min | Binary::Max) => all(),
        Op::Unary(f) => match f {
            Unary::Neg
            | Unary::Abs
            | Unary::Exp
            | Unary::Expm1
            | Unary::Square
            | Unary::Sin
            | Unary::Cos
            | Unary::Tanh
            | Unary::Atan
            | Unary::InvLogit
            | Unary::Softplus
            | Unary::Erf
            | Unary::Erfc => all(),
            Unary::Log | Unary::Sqrt | Unary::Reciprocal | Unary::Log1p => {
                all() && positive(g, node.args[0], budget)
            }
            _ => false,
        },
        Op::Binary(Binary::Div) => all() && positive(g, node.args[1], budget),
        _ => false,
    }
}

/// Whether a node is plainly above zero, but for underflow.
fn positive(g: &Graph, id: NodeId, budget: &mut usize) -> bool {
    if !spend(budget) {
        return false;
    }
    if let Some(value) = g.as_constant(id) {
        return value.values().iter().all(|&v| v > 0.0 && v.is_finite());
    }
    let node = g.node(id);
    let mut argument = |k: usize| positive(g, node.args[k], budget);
    match &node.op {
        Op::Broadcast(_)
        | Op::Reshape(_)
        | Op::Slice { .. }
        | Op::Gather
        | Op::Unary(Unary::Sqrt | Unary::Reciprocal | Unary::Square) => argument(0),
        Op::Unary(Unary::Exp | Unary::Softplus | Unary::InvLogit) => true,
        Op::Binary(Binary::Add | Binary::Mul | Binary::Div) => argument(0) && argument(1),
        _ => false,
    }
}
