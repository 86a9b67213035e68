//! Asking: which expressions are never below zero, whatever the parameters are?
//!
//! Roundings do not make an exact zero negative in any of the operations that are looked through; NaN is not below zero.

use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Reduction, Ternary, Unary};

/// How many nodes to look at; one that is read twice counts twice.
const BUDGET: usize = 200;

/// Whether a node is plainly never below zero; `input` says it of inputs by name. False where that is not plain to see.
pub(super) fn is_not_negative(g: &Graph, id: NodeId, input: &dyn Fn(&str) -> bool) -> bool {
    not_negative(g, id, input, &mut { BUDGET })
}

fn not_negative(g: &Graph, id: NodeId, input: &dyn Fn(&str) -> bool, budget: &mut usize) -> bool {
    if *budget == 0 {
        return false;
    }
    *budget -= 1;
    if let Some(value) = g.as_constant(id) {
        return !value.values().iter().any(|v| *v < 0.0);
    }
    let node = g.node(id);
    let args = &node.args;
    let mut holds = |k: usize| not_negative(g, args[k], input, budget);
    match &node.op {
        Op::Input { name, .. } => input(name),
        Op::Unary(Unary::Exp | Unary::Square | Unary::Abs | Unary::Sqrt) => true,
        Op::Unary(Unary::InvLogit | Unary::Softplus) => true,
        Op::Unary(Unary::Reciprocal) => holds(0),
        Op::Binary(Binary::Mul) if args[0] == args[1] => true,
        Op::Binary(Binary::Add | Binary::Mul | Binary::Div | Binary::Min) => holds(0) && holds(1),
        Op::Binary(Binary::Max) => holds(0) || holds(1),
        Op::Binary(Binary::Sub) => {
            g.as_uniform(args[0]).is_some_and(|most| most >= 1.0) && is_at_most_one(g, args[1])
        }
        Op::Ternary(Ternary::Select) => holds(1) && holds(2),
        Op::Broadcast(_)
        | Op::Reshape(_)
        | Op::Permute(_)
        | Op::Slice { .. }
        | Op::Unslice { .. }
        | Op::Gather
        | Op::Reduce(Reduction::Sum | Reduction::Max | Reduction::Min, _) => holds(0),
        Op::Concat { .. } => (0..args.len()).all(&mut holds),
        _ => false,
    }
}

/// Whether a node is plainly at most one: a probability, or the smaller of one and something.
fn is_at_most_one(g: &Graph, id: NodeId) -> bool {
    let node = g.node(id);
    match &node.op {
        Op::Unary(Unary::InvLogit) => true,
        Op::Binary(Binary::Min) => node.args.iter().any(|&arg| {
            let small = g.as_uniform(arg).is_some_and(|value| value <= 1.0);
            small || g.node(arg).op == Op::Unary(Unary::InvLogit)
        }),
        _ => false,
    }
}
