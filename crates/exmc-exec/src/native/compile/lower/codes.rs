//! Elementwise operations -> their instructions.
//!
//! Every function has a vector kernel or is named below as one of [`Code::Lane`]; there is no third
//! way, so nothing falls back to one element after the other without being listed.

use exmc_graph::{Binary, Op, Ternary, Unary};

use crate::error::CompileError;
use crate::native::program::Code;

/// The instruction of an elementwise function: its own, or [`Code::Lane`] for a function that is
/// computed one element after the other.
///
/// # Errors
/// For an operation that is not elementwise, which is a bug of ours.
pub(in crate::native) fn code_of(op: &Op) -> Result<Code, CompileError> {
    match op {
        Op::Unary(unary) => Ok(of_unary(*unary)),
        Op::Binary(binary) => Ok(of_binary(*binary)),
        Op::Ternary(ternary) => Ok(of_ternary(*ternary)),
        _ => Err(CompileError::new(format!(
            "`{}` is no elementwise operation, so no instruction of the native executor computes it",
            op.name()
        ))),
    }
}

fn of_unary(unary: Unary) -> Code {
    match unary {
        Unary::Neg => Code::Neg,
        Unary::Abs => Code::Abs,
        Unary::Sign => Code::Sign,
        Unary::Floor => Code::Floor,
        Unary::Ceil => Code::Ceil,
        Unary::Round => Code::Round,
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
        Unary::Tan => Code::Tan,
        Unary::Asin => Code::Asin,
        Unary::Acos => Code::Acos,
        Unary::Atan => Code::Atan,
        Unary::Sinh => Code::Sinh,
        Unary::Cosh => Code::Cosh,
        Unary::Tanh => Code::Tanh,
        Unary::InvLogit => Code::InvLogit,
        Unary::Softplus => Code::Softplus,
        Unary::Log1mExp => Code::Log1mExp,
        Unary::Lgamma => Code::Lgamma,
        Unary::Digamma => Code::Digamma,
        Unary::Trigamma => Code::Trigamma,
        Unary::Tetragamma => Code::Tetragamma,
        Unary::Erf => Code::Erf,
        Unary::Erfc => Code::Erfc,
        Unary::LogNormalCdf => Code::LogNormalCdf,
        Unary::NormalQuantile => Code::NormalQuantile,
        // Newton's iteration on log Phi.
        Unary::NormalQuantileLog => Code::Lane,
        Unary::LogBesselI0 => Code::LogBesselI0,
        Unary::BesselI1I0 => Code::BesselI1I0,
        // Iterations.
        Unary::LambertW0 | Unary::LambertWm1 => Code::Lane,
    }
}

fn of_binary(binary: Binary) -> Code {
    match binary {
        Binary::Add => Code::Add,
        Binary::Sub => Code::Sub,
        Binary::Mul => Code::Mul,
        Binary::Div => Code::Div,
        Binary::Pow => Code::Pow,
        Binary::Min => Code::Min,
        Binary::Max => Code::Max,
        Binary::LogAddExp => Code::LogAddExp,
        Binary::LogAddExpShare => Code::LogAddExpShare,
        Binary::LogDiffExp => Code::LogDiffExp,
        Binary::Atan2 => Code::Atan2,
        Binary::Lt => Code::Lt,
        Binary::Le => Code::Le,
        Binary::Eq => Code::Eq,
        Binary::Ne => Code::Ne,
        Binary::And => Code::And,
        Binary::Or => Code::Or,
        Binary::Lbeta => Code::Lbeta,
        Binary::DigammaRise => Code::DigammaRise,
        // Series and continued fractions whose length depends on the arguments, a quadrature of
        // forty points, and a long division.
        Binary::LogGammaP
        | Binary::LogGammaQ
        | Binary::LogGammaPDa
        | Binary::LogGammaQDa
        | Binary::OwensT
        | Binary::BesselJ
        | Binary::BesselY
        | Binary::StudentQuantile
        | Binary::Fmod => Code::Lane,
    }
}

fn of_ternary(ternary: Ternary) -> Code {
    match ternary {
        Ternary::Select => Code::Select,
        // Series and continued fractions, as above.
        Ternary::LogBetaInc
        | Ternary::LogBetaIncDa
        | Ternary::LogBetaIncDb
        | Ternary::BetaIncInverse => Code::Lane,
    }
}

/// The instruction that computes a function together with another one of the same argument, and
/// whether this one is its first result.
pub(super) fn pair_of(op: &Op) -> Option<(Code, bool)> {
    let Op::Unary(unary) = op else { return None };
    Some(match unary {
        Unary::Softplus => (Code::SoftplusInvLogit, true),
        Unary::InvLogit => (Code::SoftplusInvLogit, false),
        Unary::Lgamma => (Code::LgammaDigamma, true),
        Unary::Digamma => (Code::LgammaDigamma, false),
        Unary::Sin => (Code::SinCos, true),
        Unary::Cos => (Code::SinCos, false),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new function must get a vector kernel, or be put on this list on purpose.
    #[test]
    fn only_functions_by_iteration_are_computed_one_by_one() {
        let unary = Unary::ALL.iter().map(|op| Op::Unary(*op));
        let binary = Binary::ALL.iter().map(|op| Op::Binary(*op));
        let ternary = Ternary::ALL.iter().map(|op| Op::Ternary(*op));
        let scalar: Vec<&str> = unary
            .chain(binary)
            .chain(ternary)
            .filter(|op| {
                code_of(op).expect("an elementwise function has an instruction") == Code::Lane
            })
            .map(|op| op.name())
            .collect();
        assert_eq!(
            scalar,
            [
                "std_normal_log_qf",
                "lambert_w0",
                "lambert_wm1",
                "log_gamma_p",
                "log_gamma_q",
                "log_gamma_p_da",
                "log_gamma_q_da",
                "owens_t",
                "bessel_j",
                "bessel_y",
                "student_t_quantile",
                "fmod",
                "log_beta_inc",
                "log_beta_inc_da",
                "log_beta_inc_db",
                "beta_inc_inverse",
            ]
        );
    }

    #[test]
    fn other_operations_have_no_instruction() {
        for op in [Op::MatMul, Op::Cholesky, Op::Gather, Op::Project(0), Op::Concat { axis: 0 }] {
            let error = code_of(&op).expect_err("not elementwise");
            assert!(error.message().contains(op.name()), "{error}");
        }
    }
}
