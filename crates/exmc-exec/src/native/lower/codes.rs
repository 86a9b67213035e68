//! Elementwise operations -> their instructions.

use exmc_graph::{Binary, Op, Ternary, Unary};

use crate::native::program::Code;

/// The instruction of an elementwise function, if it has a vector kernel.
pub(super) fn code_of(op: &Op) -> Option<Code> {
    Some(match op {
        Op::Unary(unary) => match unary {
            Unary::Neg => Code::Neg,
            Unary::Abs => Code::Abs,
            Unary::Sign => Code::Sign,
            Unary::Not => Code::Not,
            Unary::IsFinite => Code::IsFinite,
            Unary::Exp => Code::Exp,
            Unary::Expm1 => Code::Expm1,
            Unary::Log => Code::Log,
            Unary::Log1p => Code::Log1p,
            Unary::Sqrt => Code::Sqrt,
            Unary::Square => Code::Square,
            Unary::Reciprocal => Code::Reciprocal,
            Unary::Sin => Code::Sin,
            Unary::Cos => Code::Cos,
            Unary::Tanh => Code::Tanh,
            Unary::InvLogit => Code::InvLogit,
            Unary::Softplus => Code::Softplus,
            Unary::Lgamma => Code::Lgamma,
            Unary::Digamma => Code::Digamma,
            Unary::Erf => Code::Erf,
            Unary::Erfc => Code::Erfc,
            _ => return None,
        },
        Op::Binary(binary) => match binary {
            Binary::Add => Code::Add,
            Binary::Sub => Code::Sub,
            Binary::Mul => Code::Mul,
            Binary::Div => Code::Div,
            Binary::Pow => Code::Pow,
            Binary::Min => Code::Min,
            Binary::Max => Code::Max,
            Binary::LogAddExp => Code::LogAddExp,
            Binary::Lt => Code::Lt,
            Binary::Le => Code::Le,
            Binary::Eq => Code::Eq,
            Binary::Ne => Code::Ne,
            Binary::And => Code::And,
            Binary::Or => Code::Or,
            _ => return None,
        },
        Op::Ternary(Ternary::Select) => Code::Select,
        _ => return None,
    })
}
