//! The typed tree: a program whose names are looked up and whose every expression has a type. The
//! host interpreter and the lowering to a graph both walk it; nothing here can be ill-typed.

use std::sync::Arc;

use crate::source::{Sources, Span};
pub use crate::syntax::tree::{BinaryOp, UnaryOp};

/// A type of values.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Type {
    /// An integer.
    Int,
    /// A real number.
    Real,
    /// A complex number.
    Complex,
    /// A column vector.
    Vector,
    /// A row vector.
    RowVector,
    /// A matrix.
    Matrix,
    /// A column vector of complex numbers.
    ComplexVector,
    /// A row vector of complex numbers.
    ComplexRowVector,
    /// A matrix of complex numbers.
    ComplexMatrix,
    /// An array, one level for each dimension.
    Array(Box<Type>),
    /// A tuple.
    Tuple(Vec<Type>),
    /// A function given to another by its name.
    Function(FunctionId),
    /// No value: what a `void` function returns.
    Void,
}

impl Type {
    /// Number of array dimensions, and what the innermost holds.
    pub fn array_parts(&self) -> (usize, &Self) {
        let (mut depth, mut inner) = (0, self);
        while let Self::Array(element) = inner {
            depth += 1;
            inner = element;
        }
        (depth, inner)
    }

    /// An array of `depth` dimensions of this.
    #[must_use]
    pub fn array(self, depth: usize) -> Self {
        (0..depth).fold(self, |inner, _| Self::Array(Box::new(inner)))
    }

    /// Extents that a value of this type has: array dimensions, then 1 for vectors and 2 for
    /// matrices. Tuples count as scalars.
    pub fn rank(&self) -> usize {
        match self {
            Self::Array(element) => 1 + element.rank(),
            Self::Vector | Self::RowVector | Self::ComplexVector | Self::ComplexRowVector => 1,
            Self::Matrix | Self::ComplexMatrix => 2,
            _ => 0,
        }
    }
}

/// An index into [`Program::variables`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub u32);

/// An index into [`Program::functions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// The identity of a statement or an expression in its program: what is remembered of it is looked
/// up by this.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SyntaxId(pub u32);

impl SyntaxId {
    /// Of what was made on the way, of which nothing is remembered.
    pub const NONE: Self = Self(0);
}

/// Where a variable was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Top level of `data`.
    Data,
    /// Top level of `transformed data`.
    TransformedData,
    /// Top level of `parameters`.
    Parameters,
    /// Top level of `transformed parameters`.
    TransformedParameters,
    /// Top level of `model`.
    Model,
    /// Top level of `generated quantities`.
    GeneratedQuantities,
    /// Inside a nested block of any of them.
    Local,
    /// A function's argument.
    Argument,
    /// A loop's variable.
    Loop,
}

/// A variable: everything that has a name and a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// Where it was declared.
    pub scope: Scope,
    /// Its name's place.
    pub span: Span,
}

/// A checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The texts that spans point into.
    pub sources: Sources,
    /// All variables of all scopes; each declaration has its own.
    pub variables: Vec<Variable>,
    /// The user's functions, overloads apart.
    pub functions: Vec<Function>,
    /// Declarations of `data`.
    pub data: Vec<Declaration>,
    /// Statements of `transformed data`.
    pub transformed_data: Vec<Statement>,
    /// Declarations of `parameters`.
    pub parameters: Vec<Declaration>,
    /// Statements of `transformed parameters`.
    pub transformed_parameters: Vec<Statement>,
    /// Statements of `model`.
    pub model: Vec<Statement>,
    /// Statements of `generated quantities`.
    pub generated_quantities: Vec<Statement>,
    /// The last [`SyntaxId`] that was given away.
    pub last_id: u32,
}

impl Program {
    /// A variable.
    pub fn variable(&self, id: VariableId) -> &Variable {
        &self.variables[id.0 as usize]
    }

    /// A function.
    pub fn function(&self, id: FunctionId) -> &Function {
        &self.functions[id.0 as usize]
    }
}

/// A user's function.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Its name, with any suffix (`_lpdf`, `_lp`, `_rng` …).
    pub name: Arc<str>,
    /// [`Type::Void`] if it returns nothing.
    pub returns: Type,
    /// Its arguments, in order.
    pub arguments: Vec<FunctionArgument>,
    /// Its body; empty while only declared (a program with a use of such a function is refused).
    pub body: Vec<Statement>,
    /// Its name's place.
    pub span: Span,
}

/// One argument of a user's function.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionArgument {
    /// The variable that holds it.
    pub variable: VariableId,
    /// Whether it takes data only.
    pub data_only: bool,
}

/// A declared variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Declaration {
    /// Which.
    pub variable: VariableId,
    /// Sizes and constraints.
    pub ty: DeclaredType,
    /// Its value, if it is given with the declaration; promoted to the variable's type.
    pub initial: Option<Expr>,
    /// Where.
    pub span: Span,
}

/// Sizes and constraints of a declared variable.
#[derive(Clone, Debug, PartialEq)]
pub enum DeclaredType {
    /// A scalar, vector or matrix.
    Leaf {
        /// One of the types without parts.
        ty: Type,
        /// None, one (vectors) or two (matrices: rows, columns); square constrained matrices have
        /// two equal expressions.
        sizes: Vec<Expr>,
        /// What its values must satisfy.
        constraint: Constraint,
    },
    /// An array; all extents of `array[n, m]` in one, outermost first.
    Array {
        /// Extents.
        sizes: Vec<Expr>,
        /// What it holds.
        element: Box<DeclaredType>,
    },
    /// A tuple.
    Tuple(Vec<DeclaredType>),
}

/// What values must satisfy. Bounds are scalars or have the leaf's or the whole variable's shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// Nothing.
    None,
    /// At least this.
    Lower(Expr),
    /// At most this.
    Upper(Expr),
    /// Between both.
    LowerUpper(Expr, Expr),
    /// Unconstrained, sampled as (x - offset) / multiplier.
    OffsetMultiplier(Option<Expr>, Option<Expr>),
    /// Non-negative with sum one.
    Simplex,
    /// Increasing.
    Ordered,
    /// Increasing and positive.
    PositiveOrdered,
    /// Of length one.
    UnitVector,
    /// Vector or matrix whose sums (for a matrix: of each row and column) are zero.
    SumToZero,
    /// Cholesky factor of a correlation matrix.
    CholeskyFactorCorr,
    /// Cholesky factor of a covariance matrix (rows >= columns).
    CholeskyFactorCov,
    /// Correlation matrix.
    CorrMatrix,
    /// Covariance matrix.
    CovMatrix,
    /// Each column a simplex.
    ColumnStochastic,
    /// Each row a simplex.
    RowStochastic,
}

/// A statement. Statements are equal if they say the same in the same place.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What.
    pub kind: StatementKind,
    /// Where.
    pub span: Span,
    /// Its identity in the program.
    pub id: SyntaxId,
}

impl Statement {
    /// A statement that has no id yet.
    pub const fn new(kind: StatementKind, span: Span) -> Self {
        Self { kind, span, id: SyntaxId::NONE }
    }

    /// What stands in the place of this one, with its id.
    #[must_use]
    pub const fn with(&self, kind: StatementKind) -> Self {
        Self { kind, span: self.span, id: self.id }
    }
}

impl PartialEq for Statement {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.span == other.span
    }
}

/// See [`Statement`].
#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// A variable; `real x, y;` are two statements.
    Declare(Declaration),
    /// An assignment, `op` absent for `=`. The value is promoted to the target's type where there
    /// is no operator.
    Assign {
        /// What is assigned to.
        target: LValue,
        /// The operator of a compound assignment.
        op: Option<BinaryOp>,
        /// The value.
        value: Expr,
    },
    /// Adds to the log density (all elements, if it is a container).
    TargetPlus(Expr),
    /// Adds to the log Jacobian.
    JacobianPlus(Expr),
    /// Adds a log density without the terms that depend on data only.
    Tilde {
        /// The outcome.
        outcome: Expr,
        /// The function's name without suffix: `normal`.
        distribution: Arc<str>,
        /// The user's `_lpdf` or `_lpmf`, if it is one.
        user: Option<FunctionId>,
        /// Its arguments after the outcome.
        args: Vec<Expr>,
        /// Limits, each absent where open.
        truncation: Option<Box<Truncation>>,
    },
    /// A call of a function that returns nothing.
    Call {
        /// Which.
        function: Callee,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// Writes a line.
    Print(Vec<PrintItem>),
    /// Rejects the draw.
    Reject(Vec<PrintItem>),
    /// Ends the run.
    FatalError(Vec<PrintItem>),
    /// Condition, then, else.
    If(Expr, Box<Statement>, Option<Box<Statement>>),
    /// Condition, body.
    While(Expr, Box<Statement>),
    /// A counted loop.
    For {
        /// An integer, read-only.
        variable: VariableId,
        /// First value.
        lower: Expr,
        /// Last value.
        upper: Expr,
        /// The body.
        body: Box<Statement>,
    },
    /// A loop over the elements of a vector or array, or the rows of a matrix.
    ForEach {
        /// Read-only.
        variable: VariableId,
        /// What is walked through.
        over: Expr,
        /// The body.
        body: Box<Statement>,
    },
    /// Leaves the loop.
    Break,
    /// Goes on with the loop.
    Continue,
    /// Leaves the function.
    Return(Option<Expr>),
    /// A scope.
    Block(Vec<Statement>),
    /// A scope that is timed.
    Profile(Arc<str>, Vec<Statement>),
}

/// `T[lower, upper]` with the functions that it needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncation {
    /// Lower limit.
    pub lower: Option<Expr>,
    /// Upper limit.
    pub upper: Option<Expr>,
    /// The user's `_lcdf`, if the distribution is the user's.
    pub user_lcdf: Option<FunctionId>,
    /// The user's `_lccdf`.
    pub user_lccdf: Option<FunctionId>,
}

/// One item of `print` and its like.
#[derive(Clone, Debug, PartialEq)]
pub enum PrintItem {
    /// Characters.
    Text(Arc<str>),
    /// A value.
    Value(Expr),
}

/// What an assignment assigns to.
#[derive(Clone, Debug, PartialEq)]
pub struct LValue {
    /// What.
    pub kind: LValueKind,
    /// The type of what is assigned.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// See [`LValue`].
#[derive(Clone, Debug, PartialEq)]
pub enum LValueKind {
    /// A variable, or a part of it: the accesses are applied from left to right.
    Path(VariableId, Vec<Access>),
    /// Several at once.
    Tuple(Vec<LValue>),
}

/// One step from a value to a part of it.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// `[…]`: one index for each of the outermost extents (fewer than all leave the rest whole).
    Index(Vec<Index>),
    /// `.n`, from 0 here.
    Field(usize),
}

/// One index.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// One element, from 1; drops the extent.
    Single(Expr),
    /// Elements by an array of integers, from 1.
    Multiple(Expr),
    /// `lo:hi`, either absent.
    Range(Option<Expr>, Option<Expr>),
}

/// An expression with its type. Expressions are equal if they say the same in the same place.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Where.
    pub span: Span,
    /// Its identity in the program.
    pub id: SyntaxId,
}

impl Expr {
    /// An expression that has no id yet.
    pub const fn new(kind: ExprKind, ty: Type, span: Span) -> Self {
        Self { kind, ty, span, id: SyntaxId::NONE }
    }
}

impl PartialEq for Expr {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.ty == other.ty && self.span == other.span
    }
}

/// See [`Expr`].
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// An integer.
    Int(i64),
    /// A real number.
    Real(f64),
    /// An imaginary number.
    Imaginary(f64),
    /// A variable's value.
    Variable(VariableId),
    /// A function's name, as an argument of a higher-order function. `proportional` when it was
    /// written as `_lupdf` or `_lupmf` (in `reduce_sum`).
    Function {
        /// Which.
        function: FunctionId,
        /// Whether terms that depend on data only may be dropped inside.
        proportional: bool,
    },
    /// A library function's name, as an argument of a higher-order function; its type is
    /// [`Type::Void`].
    LibraryFunction(Arc<str>),
    /// An operator before an expression.
    Unary(UnaryOp, Box<Expr>),
    /// `e'`
    Transpose(Box<Expr>),
    /// An operator between expressions.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Condition, value where it is not zero, value where it is.
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Elements.
    Index(Box<Expr>, Vec<Index>),
    /// A tuple's slot, from 0.
    Field(Box<Expr>, usize),
    /// `{…}`, of the type's elements.
    Array(Vec<Expr>),
    /// `[…]`: numbers give a row vector, row vectors a matrix.
    RowVector(Vec<Expr>),
    /// `(…, …)`
    Tuple(Vec<Expr>),
    /// A call.
    Call(Callee, Vec<Expr>),
    /// The same value as the expression's type: int to real, real to complex, also inside
    /// containers.
    Promote(Box<Expr>),
    /// `target()`
    Target,
}

/// Which function.
#[derive(Clone, Debug, PartialEq)]
pub enum Callee {
    /// One of Stan's, by its name as written (`normal_lpdf`, `normal_lupdf`, `exp` …).
    Library(Arc<str>),
    /// One of the user's. `proportional` when it was called as `_lupdf` or `_lupmf`.
    User {
        /// Which.
        function: FunctionId,
        /// Whether terms that depend on data only may be dropped inside.
        proportional: bool,
    },
}
