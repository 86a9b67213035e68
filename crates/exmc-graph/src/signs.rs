//! Asking: on which side of zero is an expression, whatever the parameters are?
//!
//! Roundings do not make an exact zero negative in any of the operations that are looked through;
//! NaN is not below zero. An exponential counts as positive, although it may underflow: what
//! divides by it is then infinite, and a log density that is not finite is rejected like any other.

use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Reduction, Ternary, Unary};

/// How many nodes to look at; one that is read twice counts twice.
const BUDGET: usize = 400;

/// What is known of all elements of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sign {
    not_negative: bool,
    not_positive: bool,
    not_zero: bool,
}

const UNKNOWN: Sign = Sign { not_negative: false, not_positive: false, not_zero: false };
const POSITIVE: Sign = Sign { not_negative: true, not_positive: false, not_zero: true };

impl Sign {
    fn opposite(self) -> Self {
        Self { not_negative: self.not_positive, not_positive: self.not_negative, ..self }
    }

    fn times(self, other: Self) -> Self {
        let same = |a: Self, b: Self| a.not_negative && b.not_negative;
        let not_negative = same(self, other) || same(self.opposite(), other.opposite());
        let not_positive = same(self, other.opposite()) || same(self.opposite(), other);
        Self { not_negative, not_positive, not_zero: self.not_zero && other.not_zero }
    }

    fn plus(self, other: Self) -> Self {
        let not_negative = self.not_negative && other.not_negative;
        let not_positive = self.not_positive && other.not_positive;
        let not_zero = (not_negative || not_positive) && (self.not_zero || other.not_zero);
        Self { not_negative, not_positive, not_zero }
    }

    /// What holds of either.
    fn either(self, other: Self) -> Self {
        Self {
            not_negative: self.not_negative && other.not_negative,
            not_positive: self.not_positive && other.not_positive,
            not_zero: self.not_zero && other.not_zero,
        }
    }
}

/// Whether all elements are plainly above zero.
pub(crate) fn is_positive(g: &Graph, id: NodeId) -> bool {
    let sign = sign(g, id, &|_| false, &mut { BUDGET });
    sign.not_negative && sign.not_zero
}

/// Whether all elements are plainly never below zero; `input` says it of inputs by name.
pub(crate) fn is_not_negative(g: &Graph, id: NodeId, input: &dyn Fn(&str) -> bool) -> bool {
    sign(g, id, input, &mut { BUDGET }).not_negative
}

fn sign(g: &Graph, id: NodeId, input: &dyn Fn(&str) -> bool, budget: &mut usize) -> Sign {
    if *budget == 0 {
        return UNKNOWN;
    }
    *budget -= 1;
    if let Some(value) = g.as_constant(id) {
        let any = |test: fn(&f64) -> bool| value.values().iter().any(test);
        return Sign {
            not_negative: !any(|v| *v < 0.0),
            not_positive: !any(|v| *v > 0.0),
            not_zero: !any(|v| *v == 0.0 || v.is_nan()),
        };
    }
    let node = g.node(id);
    let args = &node.args;
    let mut sign_of = |k: usize| sign(g, args[k], input, budget);
    match &node.op {
        Op::Input { name, .. } => Sign { not_negative: input(name), ..UNKNOWN },
        Op::Unary(Unary::Exp | Unary::InvLogit | Unary::Softplus) => POSITIVE,
        Op::Unary(Unary::Neg) => sign_of(0).opposite(),
        // What is finite has a reciprocal that is not zero.
        Op::Unary(Unary::Reciprocal) => Sign { not_zero: true, ..sign_of(0) },
        Op::Unary(Unary::Square | Unary::Abs) => Sign { not_zero: sign_of(0).not_zero, ..POSITIVE },
        Op::Unary(Unary::Sqrt) => {
            let inner = sign_of(0);
            Sign { not_zero: inner.not_negative && inner.not_zero, ..POSITIVE }
        }
        Op::Binary(Binary::Mul) if args[0] == args[1] => {
            Sign { not_zero: sign_of(0).not_zero, ..POSITIVE }
        }
        Op::Binary(Binary::Mul) => sign_of(0).times(sign_of(1)),
        Op::Binary(Binary::Div) => sign_of(0).times(Sign { not_zero: true, ..sign_of(1) }),
        Op::Binary(Binary::Add) => sign_of(0).plus(sign_of(1)),
        Op::Binary(Binary::Sub) => {
            let least = g.as_uniform(args[0]).is_some_and(|most| most >= 1.0);
            let difference = sign_of(0).plus(sign_of(1).opposite());
            let not_negative = difference.not_negative || least && is_at_most_one(g, args[1]);
            Sign { not_negative, ..difference }
        }
        Op::Binary(Binary::Min) => {
            let (a, b) = (sign_of(0), sign_of(1));
            let below = (a.not_positive && a.not_zero) || (b.not_positive && b.not_zero);
            Sign {
                not_positive: a.not_positive || b.not_positive,
                not_zero: below || a.either(b).not_zero,
                ..a.either(b)
            }
        }
        Op::Binary(Binary::Max) => {
            let (a, b) = (sign_of(0), sign_of(1));
            let above = (a.not_negative && a.not_zero) || (b.not_negative && b.not_zero);
            Sign {
                not_negative: a.not_negative || b.not_negative,
                not_zero: above || a.either(b).not_zero,
                ..a.either(b)
            }
        }
        Op::Ternary(Ternary::Select) => sign_of(1).either(sign_of(2)),
        Op::Broadcast(_)
        | Op::Reshape(_)
        | Op::Permute(_)
        | Op::Slice { .. }
        | Op::Gather
        | Op::Hold => sign_of(0),
        Op::ScatterAdd { .. } | Op::Unslice { .. } => Sign { not_zero: false, ..sign_of(0) },
        Op::Reduce(Reduction::Sum, _) => {
            let inner = sign_of(0);
            let signed = inner.not_negative || inner.not_positive;
            let empty = g.shape(args[0]).is_empty();
            Sign { not_zero: inner.not_zero && signed && !empty, ..inner }
        }
        Op::Reduce(Reduction::Max | Reduction::Min, _) => sign_of(0),
        Op::Concat { .. } => {
            let first = sign_of(0);
            (1..args.len()).fold(first, |all, k| all.either(sign_of(k)))
        }
        _ => UNKNOWN,
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
