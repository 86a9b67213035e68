//! The syntax tree: what a program says, with a place for everything and names not yet looked up.

use std::sync::Arc;

use crate::source::Span;

/// A name where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// The characters.
    pub text: Arc<str>,
    /// Where.
    pub span: Span,
}

/// A program: its blocks, each at most once, in the order of the language.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// `functions`.
    pub functions: Option<Block>,
    /// `data`.
    pub data: Option<Block>,
    /// `transformed data`.
    pub transformed_data: Option<Block>,
    /// `parameters`.
    pub parameters: Option<Block>,
    /// `transformed parameters`.
    pub transformed_parameters: Option<Block>,
    /// `model`.
    pub model: Option<Block>,
    /// `generated quantities`.
    pub generated_quantities: Option<Block>,
    /// Comments in the order of the text, for printing.
    pub comments: Vec<Comment>,
}

/// A comment.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    /// With its marks, `//…` or `/*…*/`.
    pub text: Arc<str>,
    /// Where.
    pub span: Span,
}

/// A block's statements (in `functions`, all are [`StatementKind::Function`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// In order.
    pub statements: Vec<Statement>,
    /// From its keyword to its closing brace.
    pub span: Span,
}

/// A type without sizes, as function arguments have.
#[derive(Clone, Debug, PartialEq)]
pub enum UnsizedType {
    /// `int`.
    Int,
    /// `real`.
    Real,
    /// `complex`.
    Complex,
    /// `vector`.
    Vector,
    /// `row_vector`.
    RowVector,
    /// `matrix`.
    Matrix,
    /// `complex_vector`.
    ComplexVector,
    /// `complex_row_vector`.
    ComplexRowVector,
    /// `complex_matrix`.
    ComplexMatrix,
    /// `array[,,] T`: the number of dimensions and what they hold.
    Array(usize, Box<UnsizedType>),
    /// `tuple(…)`.
    Tuple(Vec<UnsizedType>),
}

/// A declared type: sizes, constraints.
#[derive(Clone, Debug, PartialEq)]
pub struct DeclaredType {
    /// What.
    pub kind: DeclaredKind,
    /// Where.
    pub span: Span,
}

/// See [`DeclaredType`].
#[derive(Clone, Debug, PartialEq)]
pub enum DeclaredKind {
    /// A scalar, vector or matrix.
    Leaf {
        /// The type's keyword.
        base: Base,
        /// Sizes in brackets after the type: none, one or two.
        sizes: Vec<Expr>,
        /// What is in angle brackets.
        bounds: Box<Bounds>,
    },
    /// `array[n, …] T`.
    Array {
        /// Extents.
        sizes: Vec<Expr>,
        /// What it holds.
        element: Box<DeclaredType>,
    },
    /// `tuple(…)`.
    Tuple(Vec<DeclaredType>),
}

/// A type's keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// `int`.
    Int,
    /// `real`.
    Real,
    /// `complex`.
    Complex,
    /// `vector`.
    Vector,
    /// `row_vector`.
    RowVector,
    /// `matrix`.
    Matrix,
    /// `complex_vector`.
    ComplexVector,
    /// `complex_row_vector`.
    ComplexRowVector,
    /// `complex_matrix`.
    ComplexMatrix,
    /// `simplex`.
    Simplex,
    /// `ordered`.
    Ordered,
    /// `positive_ordered`.
    PositiveOrdered,
    /// `unit_vector`.
    UnitVector,
    /// `sum_to_zero_vector`.
    SumToZeroVector,
    /// `sum_to_zero_matrix`.
    SumToZeroMatrix,
    /// `cholesky_factor_corr`.
    CholeskyFactorCorr,
    /// `cholesky_factor_cov`.
    CholeskyFactorCov,
    /// `corr_matrix`.
    CorrMatrix,
    /// `cov_matrix`.
    CovMatrix,
    /// `column_stochastic_matrix`.
    ColumnStochasticMatrix,
    /// `row_stochastic_matrix`.
    RowStochasticMatrix,
}

/// What stands in a declaration's angle brackets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds {
    /// `lower=`.
    pub lower: Option<Expr>,
    /// `upper=`.
    pub upper: Option<Expr>,
    /// `offset=`.
    pub offset: Option<Expr>,
    /// `multiplier=`.
    pub multiplier: Option<Expr>,
}

/// A function's argument.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// Whether it is marked `data`.
    pub data_only: bool,
    /// Its type.
    pub ty: UnsizedType,
    /// Its name.
    pub name: Name,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What.
    pub kind: StatementKind,
    /// Where.
    pub span: Span,
}

/// See [`Statement`].
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// Variables of one type: `real x = 1, y;`.
    Declare {
        /// Their type.
        ty: DeclaredType,
        /// Names with initial values.
        variables: Vec<(Name, Option<Expr>)>,
    },
    /// A function's declaration or definition.
    Function {
        /// `None` for `void`.
        returns: Option<UnsizedType>,
        /// Its name.
        name: Name,
        /// Its arguments.
        arguments: Vec<Argument>,
        /// `None` for a declaration without a body.
        body: Option<Box<Statement>>,
    },
    /// `target op= value`, with `op` absent for `=`.
    Assign {
        /// What is assigned to.
        target: LValue,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// The value.
        value: Expr,
    },
    /// `target += e;`
    TargetPlus(Expr),
    /// `jacobian += e;`
    JacobianPlus(Expr),
    /// `y ~ d(args) T[lower, upper];`
    Tilde {
        /// The left side.
        outcome: Expr,
        /// The distribution's name, without suffix.
        distribution: Name,
        /// Its arguments.
        args: Vec<Expr>,
        /// Limits of a truncation: absent ones are open.
        truncation: Option<(Option<Expr>, Option<Expr>)>,
    },
    /// A call of a function that returns nothing.
    Call {
        /// The function.
        function: Name,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// `print(…);`
    Print(Vec<PrintItem>),
    /// `reject(…);`
    Reject(Vec<PrintItem>),
    /// `fatal_error(…);`
    FatalError(Vec<PrintItem>),
    /// `if (c) a else b`
    If {
        /// The condition.
        condition: Expr,
        /// Where it is not zero.
        then: Box<Statement>,
        /// Where it is.
        otherwise: Option<Box<Statement>>,
    },
    /// `while (c) body`
    While {
        /// The condition.
        condition: Expr,
        /// The body.
        body: Box<Statement>,
    },
    /// `for (n in lower:upper) body`
    For {
        /// The loop's variable.
        variable: Name,
        /// First value.
        lower: Expr,
        /// Last value.
        upper: Expr,
        /// The body.
        body: Box<Statement>,
    },
    /// `for (x in container) body`
    ForEach {
        /// The loop's variable.
        variable: Name,
        /// What it walks through.
        over: Expr,
        /// The body.
        body: Box<Statement>,
    },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return e;`
    Return(Option<Expr>),
    /// `{ … }`
    Block(Vec<Statement>),
    /// `profile("name") { … }`
    Profile {
        /// The name, without quotes.
        name: Arc<str>,
        /// The body.
        body: Vec<Statement>,
    },
    /// `;`
    Empty,
}

/// One item of `print` and its like.
#[derive(Clone, Debug, PartialEq)]
pub enum PrintItem {
    /// Characters, without quotes.
    Text(Arc<str>),
    /// A value.
    Value(Expr),
}

/// What an assignment assigns to.
#[derive(Clone, Debug, PartialEq)]
pub struct LValue {
    /// What.
    pub kind: LValueKind,
    /// Where.
    pub span: Span,
}

/// See [`LValue`].
#[derive(Clone, Debug, PartialEq)]
pub enum LValueKind {
    /// A variable.
    Variable(Name),
    /// Elements.
    Index(Box<LValue>, Vec<Index>),
    /// A tuple's slot, from 1.
    Field(Box<LValue>, usize),
    /// Several at once, `(a, b) = …`.
    Tuple(Vec<LValue>),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// See [`Expr`].
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An integer, with its characters (they may not fit any integer).
    Int(Arc<str>),
    /// A real number, with its characters.
    Real(Arc<str>),
    /// An imaginary number, with its characters before the `i`.
    Imaginary(Arc<str>),
    /// A variable or a function.
    Name(Name),
    /// `op e`
    Unary(UnaryOp, Box<Expr>),
    /// `e'`
    Transpose(Box<Expr>),
    /// `a op b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `e[…]`
    Index(Box<Expr>, Vec<Index>),
    /// `e.n`, from 1.
    Field(Box<Expr>, usize),
    /// `{…}`
    Array(Vec<Expr>),
    /// `[…]`
    RowVector(Vec<Expr>),
    /// `(…, …)`
    Tuple(Vec<Expr>),
    /// `(e)`
    Parenthesised(Box<Expr>),
    /// `f(…)`, or `f(a | …)` with a bar after the first argument.
    Call {
        /// The function.
        function: Name,
        /// Its arguments.
        args: Vec<Expr>,
        /// Whether a bar follows the first argument.
        bar: bool,
    },
    /// `target()`
    Target,
}

/// One index in brackets.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// An expression: one index, or an array of them.
    Expr(Expr),
    /// `lo:hi`, either absent; `:` and nothing at all have neither.
    Range(Option<Expr>, Option<Expr>),
}

/// Operators before an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `!`
    Not,
    /// `-`
    Minus,
    /// `+`
    Plus,
}

/// Operators between expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `%/%`
    IntDivide,
    /// `\`
    LeftDivide,
    /// `.*`
    ElementMultiply,
    /// `./`
    ElementDivide,
    /// `^`
    Power,
    /// `.^`
    ElementPower,
}

impl BinaryOp {
    /// Its characters.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::IntDivide => "%/%",
            Self::LeftDivide => "\\",
            Self::ElementMultiply => ".*",
            Self::ElementDivide => "./",
            Self::Power => "^",
            Self::ElementPower => ".^",
        }
    }
}

impl UnaryOp {
    /// Its character.
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Not => "!",
            Self::Minus => "-",
            Self::Plus => "+",
        }
    }
}

/// Every type's keyword, with its characters.
const BASES: [(&str, Base); 21] = [
    ("int", Base::Int),
    ("real", Base::Real),
    ("complex", Base::Complex),
    ("vector", Base::Vector),
    ("row_vector", Base::RowVector),
    ("matrix", Base::Matrix),
    ("complex_vector", Base::ComplexVector),
    ("complex_row_vector", Base::ComplexRowVector),
    ("complex_matrix", Base::ComplexMatrix),
    ("simplex", Base::Simplex),
    ("ordered", Base::Ordered),
    ("positive_ordered", Base::PositiveOrdered),
    ("unit_vector", Base::UnitVector),
    ("sum_to_zero_vector", Base::SumToZeroVector),
    ("sum_to_zero_matrix", Base::SumToZeroMatrix),
    ("cholesky_factor_corr", Base::CholeskyFactorCorr),
    ("cholesky_factor_cov", Base::CholeskyFactorCov),
    ("corr_matrix", Base::CorrMatrix),
    ("cov_matrix", Base::CovMatrix),
    ("column_stochastic_matrix", Base::ColumnStochasticMatrix),
    ("row_stochastic_matrix", Base::RowStochasticMatrix),
];

impl Base {
    /// Its characters.
    pub fn keyword(self) -> &'static str {
        let found = BASES.iter().find(|(_, base)| *base == self);
        found.expect("every type has its line in the table").0
    }

    /// The type that a keyword names.
    pub fn from_keyword(text: &str) -> Option<Self> {
        BASES.iter().find(|(keyword, _)| *keyword == text).map(|(_, base)| *base)
    }

    /// How many sizes stand in brackets after it: least and most.
    pub fn size_count(self) -> (usize, usize) {
        match self {
            Self::Int | Self::Real | Self::Complex => (0, 0),
            Self::Matrix
            | Self::ComplexMatrix
            | Self::SumToZeroMatrix
            | Self::ColumnStochasticMatrix
            | Self::RowStochasticMatrix => (2, 2),
            Self::CholeskyFactorCov => (1, 2),
            _ => (1, 1),
        }
    }

    /// Whether the keyword itself is a constraint, so that none can be added to it.
    pub fn is_constrained(self) -> bool {
        self.unconstrained() != self
    }

    /// The type without its constraint.
    pub fn unconstrained(self) -> Self {
        match self {
            Self::Simplex
            | Self::Ordered
            | Self::PositiveOrdered
            | Self::UnitVector
            | Self::SumToZeroVector => Self::Vector,
            Self::SumToZeroMatrix
            | Self::CholeskyFactorCorr
            | Self::CholeskyFactorCov
            | Self::CorrMatrix
            | Self::CovMatrix
            | Self::ColumnStochasticMatrix
            | Self::RowStochasticMatrix => Self::Matrix,
            other => other,
        }
    }
}
