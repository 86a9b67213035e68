//! What passes and executors must know of an operation, in one match: an operation -> its facts.
//!
//! A new operation is named here once; nothing that reads its facts has an arm for it.

use super::{Estimate, Op};

/// Facts of one operation.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpFacts {
    /// The name in text, JSON and messages.
    pub name: &'static str,
    /// Number of arguments; none where the operation or its user decides.
    pub arity: Option<usize>,
    /// Whether each element is a function of its arguments' elements at the same place.
    pub is_elementwise: bool,
    /// What an evaluation costs.
    pub cost: Cost,
    /// Whether the value is better kept from step to step of a loop than computed again.
    pub is_dear: bool,
    /// Whether the operation of every step of a loop has a form for all steps at once.
    pub over_steps: OverSteps,
    /// What becomes of digits, where an executor may compute in `f32`.
    pub digits: Digits,
}

/// Estimated nanoseconds of an operation, beyond its dispatch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cost {
    /// Nothing at all: another name for memory, or work that is done before.
    Nothing,
    /// This for each element of the result.
    Elements(f64),
    /// This for each element of a function, of which a few take as long as one vector.
    Function(f64),
    /// As the shapes of the arguments say; see `optimise::cost`.
    OfShapes,
}

/// Whether an operation of one step has a form for all steps, along a new outermost axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverSteps {
    /// It has.
    Always,
    /// It has for some arguments.
    OfArguments,
    /// It has none.
    Never,
}

/// What an operation needs of its arguments' digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// As many as its result has.
    Plain,
    /// All: it makes much of small differences.
    All,
    /// All, and sums of products with its result do, too: large numbers nearly cancel in it.
    Decomposition,
}

/// An element of an addition or product, in a loop with others.
pub(crate) const ELEMENT: f64 = 0.2;

impl Op {
    /// What passes and executors must know of the operation.
    pub fn facts(&self) -> OpFacts {
        use Digits::{All, Decomposition};
        use OverSteps::{Never, OfArguments};
        let plain = OpFacts {
            name: "",
            arity: Some(1),
            is_elementwise: false,
            cost: Cost::OfShapes,
            is_dear: false,
            over_steps: OverSteps::Always,
            digits: Digits::Plain,
        };
        let one = |name| OpFacts { name, ..plain };
        let with_arity = |name, arity| OpFacts { name, arity: Some(arity), ..plain };
        let free = |name, arity| OpFacts { cost: Cost::Nothing, ..with_arity(name, arity) };
        let copies = |name| OpFacts { cost: Cost::Elements(ELEMENT), ..one(name) };
        let elementwise = |name, arity, Estimate { nanoseconds, is_dear }| {
            let cost = Cost::Elements(nanoseconds);
            OpFacts { is_elementwise: true, cost, is_dear, ..with_arity(name, arity) }
        };
        // What is computed step by step and from all digits.
        let decomposition = |name, arity| OpFacts {
            over_steps: Never,
            digits: Decomposition,
            ..with_arity(name, arity)
        };
        match self {
            Self::Constant(_) => free("constant", 0),
            Self::Input { .. } => free("input", 0),
            Self::Unary(f) => {
                let Estimate { nanoseconds, is_dear } = f.estimate();
                let cost = Cost::Function(nanoseconds);
                OpFacts { is_elementwise: true, cost, is_dear, ..one(f.name()) }
            }
            Self::Binary(f) => elementwise(f.name(), 2, f.estimate()),
            Self::Ternary(f) => elementwise(f.name(), 3, f.estimate()),
            // Of one element it is another name; see `optimise::cost`.
            Self::Broadcast(_) => one("broadcast"),
            Self::Reshape(_) => free("reshape", 1),
            Self::Permute(_) => one("permute"),
            Self::Slice { .. } => copies("slice"),
            Self::Unslice { .. } => copies("unslice"),
            Self::Concat { .. } => OpFacts { arity: None, ..copies("concat") },
            Self::Gather => OpFacts { over_steps: OfArguments, ..with_arity("gather", 2) },
            Self::ScatterAdd { .. } => {
                OpFacts { over_steps: OfArguments, ..with_arity("scatter_add", 2) }
            }
            Self::Reduce(f, _) => OpFacts { is_dear: f.estimate().is_dear, ..one(f.name()) },
            Self::CumSum { .. } => OpFacts { digits: All, ..one("cumulative_sum") },
            Self::LogProduct(powers) => with_arity("log_product", powers.len()),
            Self::MatMul => OpFacts { over_steps: OfArguments, ..with_arity("matmul", 2) },
            Self::Cholesky => decomposition("cholesky", 1),
            Self::CholeskyAdjoint => decomposition("cholesky_adjoint", 2),
            Self::TriangularSolve { .. } => {
                OpFacts { over_steps: OfArguments, ..decomposition("triangular_solve", 2) }
            }
            Self::Lu => decomposition("lu", 1),
            Self::LuSolve { .. } => decomposition("lu_solve", 3),
            Self::LogAbsDet => decomposition("log_abs_det", 2),
            Self::SymmetricEigen => decomposition("symmetric_eigen", 1),
            Self::Decompose(kind) => decomposition(kind.name(), 1),
            Self::DecomposeAdjoint(kind) => decomposition(kind.adjoint_name(), 3),
            // Of data only.
            Self::LeastSquares { .. } => OpFacts { digits: All, ..free("least_squares", 3) },
            Self::Scan { .. } => {
                OpFacts { arity: None, over_steps: Never, digits: All, ..one("scan") }
            }
            Self::Project(_) => OpFacts { over_steps: Never, ..free("project", 1) },
            Self::Ode(_) => OpFacts { over_steps: Never, digits: All, ..one("ode") },
            Self::OdeSolution(_) => {
                let cost = Cost::Elements(ELEMENT);
                OpFacts { cost, over_steps: Never, digits: All, ..with_arity("ode_solution", 2) }
            }
            Self::Hold => free("hold", 1),
        }
    }

    /// Whether each element is a function of its arguments' elements at the same place.
    pub fn is_elementwise(&self) -> bool {
        self.facts().is_elementwise
    }

    /// Whether the value is better kept from step to step of a loop than computed again.
    pub fn is_dear(&self) -> bool {
        self.facts().is_dear
    }

    /// The name in text, JSON and messages.
    pub fn name(&self) -> &'static str {
        self.facts().name
    }
}
