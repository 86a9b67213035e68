//! The vocabulary of operations: what a node can compute, with names for text and JSON.
//!
//! Every elementwise operation takes arguments of one shape (the builder inserts
//! [`Op::Broadcast`]); every operation's derivative is itself made of operations here
//! (`differentiate`).

mod facts;

pub(crate) use facts::ELEMENT;
pub use facts::{Cost, Digits, OpFacts, OverSteps};

use std::sync::Arc;

use crate::NodeId;
use crate::decomposition::Decomposition;
use crate::graph::Graph;
use crate::ode::{OdeLayout, SharedOde};
use crate::tensor::{Shape, Tensor};

/// Whether an input changes from one evaluation to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Bound once for many evaluations.
    Data,
    /// Changes with the position; derivatives are taken with respect to it.
    Parameter,
}

/// What a function costs.
#[derive(Clone, Copy)]
pub(crate) struct Estimate {
    /// Of an element.
    nanoseconds: f64,
    /// Whether the value is better kept from step to step of a loop than computed again.
    is_dear: bool,
}

const fn cheap(nanoseconds: f64) -> Estimate {
    Estimate { nanoseconds, is_dear: false }
}

const fn dear(nanoseconds: f64) -> Estimate {
    Estimate { nanoseconds, is_dear: true }
}

/// Functions with their names, costs and meanings.
macro_rules! elementwise {
    ($(#[$meta:meta])* $ty:ident { $($variant:ident = $name:literal, $cost:expr => $doc:literal),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $ty { $(#[doc = $doc] $variant),* }

        impl $ty {
            /// Every operation of this kind, in declaration order.
            pub const ALL: &'static [$ty] = &[$($ty::$variant),*];

            /// The name in text, JSON and messages.
            pub const fn name(self) -> &'static str {
                match self { $($ty::$variant => $name),* }
            }

            /// Estimated cost; `optimise::cost` says what it is multiplied with.
            pub(crate) const fn estimate(self) -> Estimate {
                match self { $($ty::$variant => $cost),* }
            }

            /// The operation of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some($ty::$variant),)* _ => None }
            }
        }
    };
}

elementwise!(
    /// Elementwise functions of one argument.
    Unary {
        Neg = "neg", cheap(ELEMENT) => "$-x$",
        Abs = "abs", cheap(ELEMENT) => "$|x|$; derivative sign(x), 0 at 0",
        Sign = "sign", cheap(ELEMENT) => "-1, 0 or 1; derivative 0",
        Floor = "floor", cheap(1.0) => "largest integer not above; derivative 0",
        Ceil = "ceil", cheap(1.0) => "smallest integer not below; derivative 0",
        Round = "round", cheap(1.0) => "nearest integer, halves away from zero; derivative 0",
        Not = "not", cheap(ELEMENT) => "1 where x is 0, else 0; derivative 0",
        IsFinite = "is_finite", cheap(ELEMENT) => "1 where x is finite, else 0; derivative 0",
        Exp = "exp", dear(1.5) => "$e^x$",
        Expm1 = "expm1", cheap(1.5) => "$e^x - 1$",
        Log = "log", dear(1.5) => "natural logarithm; -inf at 0, NaN below",
        Log1p = "log1p", dear(1.5) => "$\\log(1+x)$",
        Sqrt = "sqrt", dear(1.0) => "$\\sqrt x$; NaN below 0; derivative 0 at 0, as in Stan",
        Square = "square", cheap(ELEMENT) => "$x^2$",
        Reciprocal = "reciprocal", dear(1.0) => "$1/x$",
        Sin = "sin", cheap(3.0) => "sine, radians",
        Cos = "cos", cheap(3.0) => "cosine, radians",
        Tan = "tan", cheap(40.0) => "tangent, radians",
        Asin = "asin", cheap(40.0) => "arc sine",
        Acos = "acos", cheap(40.0) => "arc cosine",
        Atan = "atan", cheap(40.0) => "arc tangent",
        Sinh = "sinh", cheap(40.0) => "hyperbolic sine",
        Cosh = "cosh", cheap(40.0) => "hyperbolic cosine",
        Tanh = "tanh", dear(1.5) => "hyperbolic tangent",
        InvLogit = "inv_logit", dear(1.5) => "$1/(1+e^{-x})$",
        Softplus = "softplus", dear(3.0) => "$\\log(1+e^x)$",
        Log1mExp = "log1m_exp", cheap(40.0) => "$\\log(1-e^x)$ for $x<0$; -inf at 0, NaN above",
        Lgamma = "lgamma", cheap(8.0) => "$\\log|\\Gamma(x)|$",
        Digamma = "digamma", cheap(8.0) => "$\\psi(x)$",
        Trigamma = "trigamma", cheap(40.0) => "$\\psi'(x)$",
        Tetragamma = "tetragamma", cheap(40.0) => "$\\psi''(x)$; has no derivative here",
        Erf = "erf", cheap(3.0) => "error function",
        Erfc = "erfc", cheap(3.0) => "complementary error function",
        LogNormalCdf = "std_normal_lcdf", cheap(40.0) => "$\\log\\Phi(x)$",
        NormalQuantile = "inv_Phi", cheap(40.0) => "$\\Phi^{-1}(x)$",
        NormalQuantileLog = "std_normal_log_qf", cheap(40.0) => "$\\Phi^{-1}(e^x)$, also where $e^x$ is 0 or 1 in floating point; NaN above 0",
        LogBesselI0 = "log_bessel_i0", cheap(40.0) => "$\\log I_0(x)$",
        BesselI1I0 = "bessel_i1_i0", cheap(40.0) => "$I_1(x)/I_0(x)$",
        LambertW0 = "lambert_w0", cheap(40.0) => "upper branch of the inverse of $w e^w$; NaN below $-1/e$",
        LambertWm1 = "lambert_wm1", cheap(40.0) => "lower branch of the inverse of $w e^w$, for $-1/e \\le x \\le 0$",
    }
);

elementwise!(
    /// Elementwise functions of two arguments.
    Binary {
        Add = "add", cheap(ELEMENT) => "$a+b$",
        Sub = "sub", cheap(ELEMENT) => "$a-b$",
        Mul = "mul", cheap(ELEMENT) => "$ab$",
        Div = "div", dear(1.0) => "$a/b$",
        Pow = "pow", dear(5.0) => "$a^b$",
        Min = "min", cheap(ELEMENT) => "smaller of both; NaN if either is; derivative to the first on ties",
        Max = "max", cheap(ELEMENT) => "larger of both; NaN if either is; derivative to the first on ties",
        LogAddExp = "log_add_exp", dear(5.0) => "$\\log(e^a+e^b)$",
        LogAddExpShare = "log_add_exp_share", dear(1.5) => "$e^a/(e^a+e^b)$, the slope of log_add_exp by a; 0 where both are -inf",
        LogDiffExp = "log_diff_exp", cheap(50.0) => "$\\log(e^a-e^b)$ for $a>b$; -inf on equality, NaN below",
        Atan2 = "atan2", cheap(50.0) => "angle of the point (b, a)",
        Lt = "lt", cheap(ELEMENT) => "1 where $a<b$, else 0",
        Le = "le", cheap(ELEMENT) => "1 where $a\\le b$, else 0",
        Eq = "eq", cheap(ELEMENT) => "1 where $a=b$, else 0",
        Ne = "ne", cheap(ELEMENT) => "1 where $a\\ne b$, else 0",
        And = "and", cheap(ELEMENT) => "1 where both are non-zero, else 0",
        Or = "or", cheap(ELEMENT) => "1 where either is non-zero, else 0",
        Lbeta = "lbeta", cheap(50.0) => "$\\log B(a,b)$",
        DigammaRise = "digamma_rise", cheap(50.0) => "$\\psi(a+b)-\\psi(a)$ for positive a and b, minus the slope of lbeta by a",
        LogGammaP = "log_gamma_p", cheap(50.0) => "log of the lower regularised incomplete gamma function $P(a,x)$, arguments (a, x)",
        LogGammaQ = "log_gamma_q", cheap(50.0) => "log of the upper regularised incomplete gamma function $Q(a,x)$, arguments (a, x)",
        LogGammaPDa = "log_gamma_p_da", cheap(50.0) => "$\\partial_a \\log P(a,x)$; has no derivative here",
        LogGammaQDa = "log_gamma_q_da", cheap(50.0) => "$\\partial_a \\log Q(a,x)$; has no derivative here",
        OwensT = "owens_t", cheap(50.0) => "Owen's T(h, a)",
        BesselJ = "bessel_j", cheap(50.0) => "$J_a(b)$, the Bessel function of the first kind, of whole a; derivative by a 0",
        BesselY = "bessel_y", cheap(50.0) => "$Y_a(b)$, the Bessel function of the second kind, of whole a; derivative by a 0",
        StudentQuantile = "student_t_quantile", cheap(50.0) => "quantile of Student's t, arguments (probability, degrees of freedom)",
        Fmod = "fmod", cheap(50.0) => "what is left of a after b was taken from it a whole number of times; exact, with the sign of a",
    }
);

elementwise!(
    /// Elementwise functions of three arguments.
    Ternary {
        Select = "select", cheap(ELEMENT) => "b where a is non-zero, else c; the branch not taken gets derivative 0",
        LogBetaInc = "log_beta_inc", cheap(50.0) => "log of the regularised incomplete beta function $I_x(a,b)$, arguments (a, b, x)",
        LogBetaIncDa = "log_beta_inc_da", cheap(50.0) => "$\\partial_a \\log I_x(a,b)$; has no derivative here",
        LogBetaIncDb = "log_beta_inc_db", cheap(50.0) => "$\\partial_b \\log I_x(a,b)$; has no derivative here",
        BetaIncInverse = "beta_inc_inverse", cheap(50.0) => "the x with $I_x(a,b) = p$, arguments (a, b, p)",
    }
);

elementwise!(
    /// Reductions over some axes; those axes are dropped.
    Reduction {
        Sum = "sum", cheap(ELEMENT) => "sum; 0 of nothing",
        Max = "max_of", cheap(ELEMENT) => "largest; -inf of nothing; derivative shared equally among ties",
        Min = "min_of", cheap(ELEMENT) => "smallest; inf of nothing; derivative shared equally among ties",
        LogSumExp = "log_sum_exp", dear(ELEMENT) => "$\\log\\sum e^x$; -inf of nothing",
    }
);

/// A counted loop's body: a graph of its own whose inputs are named `carry0, carry1, …` (state),
/// `x0, x1, …` (this step's slice of a sequence) and `fixed0, fixed1, …` (the same in every step).
#[derive(Debug, PartialEq)]
pub struct ScanBody {
    /// The body's expressions. Its inputs have role [`Role::Parameter`] unless they are integers.
    pub graph: Graph,
    /// The state after the step, one node per carry, with the carry's shape.
    pub next: Vec<NodeId>,
    /// Values of this step that are stacked along a new outermost axis.
    pub stacked: Vec<NodeId>,
    /// Number of carries, of sequences and of fixed values, in argument order.
    pub counts: [usize; 3],
}

/// A [`ScanBody`] shared between graphs; compared by content, so that equal loops are one node and
/// a graph that was printed and parsed equals the original.
#[derive(Clone, Debug)]
pub struct SharedBody(pub Arc<ScanBody>);

impl PartialEq for SharedBody {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}
impl Eq for SharedBody {}
impl std::hash::Hash for SharedBody {
    /// Cheap facts only; bodies that share them are rare.
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.graph.len().hash(state);
        self.0.counts.hash(state);
        self.0.next.hash(state);
        self.0.stacked.hash(state);
    }
}

/// Factors that an [`Op::LogProduct`] has at most: so many numbers between 2^-62 and 2^62 have a
/// normal product.
pub const MAX_FACTORS: usize = 16;

/// What a node computes from its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A number or array known when the graph is built.
    Constant(Tensor),
    /// A value from outside, by name.
    Input {
        /// Name, unique in the graph.
        name: Arc<str>,
        /// Data or parameter.
        role: Role,
    },
    /// Elementwise function of one argument.
    Unary(Unary),
    /// Elementwise function of two arguments of one shape.
    Binary(Binary),
    /// Elementwise function of three arguments of one shape.
    Ternary(Ternary),
    /// Stretches its argument to the node's shape (right-aligned, extents of one stretch).
    Broadcast(Shape),
    /// The same elements under another shape.
    Reshape(Shape),
    /// Axes in another order: axis `i` of the result is axis `permutation[i]` of the argument.
    Permute(Vec<usize>),
    /// Elements `start, start + step, …` (`len` of them) along one axis.
    Slice {
        /// Axis.
        axis: usize,
        /// First element.
        start: usize,
        /// Distance between elements, at least one.
        step: usize,
        /// Number of elements.
        len: usize,
    },
    /// The transpose of [`Op::Slice`]: zeros of extent `extent` along `axis`, with the argument's
    /// elements at `start, start + step, …`.
    Unslice {
        /// Axis.
        axis: usize,
        /// Position of the first element.
        start: usize,
        /// Distance between elements, at least one.
        step: usize,
        /// Extent of the result along `axis`.
        extent: usize,
    },
    /// Arguments one after the other along one axis.
    Concat {
        /// Axis.
        axis: usize,
    },
    /// Rows of the first argument chosen by the second (integer, any shape, zero-based):
    /// `x: [n, rest]`, `index: I` gives `I ++ rest`. Indices never depend on parameters.
    Gather,
    /// The transpose of [`Op::Gather`], arguments (values, index): zeros of shape `[len] ++ rest`
    /// to which row `k` of the values is added at row `index[k]`.
    ScatterAdd {
        /// Outermost extent of the result.
        len: usize,
    },
    /// Reduction over `axes` (ascending), which are dropped.
    Reduce(Reduction, Vec<usize>),
    /// Running sum along an axis, from the end if `reverse`.
    CumSum {
        /// Axis.
        axis: usize,
        /// Sum from the end.
        reverse: bool,
    },
    /// $\\sum_i p_i \\sum_j \\log x_{ij}$ of arguments $x_i$ of any shapes, as the logarithm of one
    /// product of at most [`MAX_FACTORS`](crate::MAX_FACTORS) factors, each as often as its power
    /// $p_i$ says. An executor may give NaN where a factor lies outside of 2^-62 to 2^62; who runs
    /// it must then ask one that takes each logarithm.
    LogProduct(Vec<usize>),
    /// Matrix product `[m, k] x [k, n]`; `[m, k] x [k]` gives `[m]`.
    MatMul,
    /// Lower Cholesky factor of a symmetric positive definite matrix; only its lower triangle is
    /// read. NaN everywhere when it is not positive definite.
    Cholesky,
    /// What the adjoint of a [`Op::Cholesky`] gives its argument, arguments (the factor L, the
    /// adjoint of L): with $S = L^{-\\top}\\Phi(L^\\top \\bar L)L^{-1}$, the lower triangle of $S +
    /// S^\\top$ with half of its diagonal, where $\\Phi$ keeps the lower triangle and halves the
    /// diagonal. Only lower triangles are read; the upper one is 0.
    CholeskyAdjoint,
    /// Solves `T X = B` for a lower triangular T (arguments T, B; B a matrix or vector), or
    /// `T' X = B` when `transposed`. Only the lower triangle is read.
    TriangularSolve {
        /// Solve with the transpose.
        transposed: bool,
    },
    /// The LU factors of a square matrix with partial pivoting, `[n, n]` to `[n, n + 1]`: the unit
    /// lower and the upper factor in one matrix, and a last column with the row that was swapped in
    /// at each step. Its users have their own derivatives; it has none.
    Lu,
    /// Solves `A x = b` (or `A' x = b` when `transposed`), arguments (A, its [`Op::Lu`], b), where
    /// b is a vector or a matrix. Non-finite where A is singular.
    LuSolve {
        /// Solve with the transpose.
        transposed: bool,
    },
    /// $\\log|\\det A|$, arguments (A, its [`Op::Lu`]); -inf where A is singular.
    LogAbsDet,
    /// Eigenvalues, ascending, and orthonormal eigenvectors of a symmetric matrix of which only the
    /// lower triangle is read, `[n, n]` to `[n + 1, n]`: the values, then a row for each vector,
    /// whose largest element is positive. NaN everywhere when an element is not finite. The
    /// derivative by a pair of equal values is that of functions that turning their vectors does
    /// not change by the pair's common part: zero.
    SymmetricEigen,
    /// A decomposition or transform of complex matrices, a flat array laid out as [`Decomposition`]
    /// says.
    Decompose(Decomposition),
    /// What the adjoint of an [`Op::Decompose`] gives its argument, arguments (that argument, the
    /// decomposition, its adjoint): the adjoint's elements, and behind them the memory of the
    /// computation. It has no derivative.
    DecomposeAdjoint(Decomposition),
    /// Many rows that are affine in unknowns, as few with the same sum of squares: arguments
    /// (columns `[n, k]`, offset `[n]`, group `[n]` of integers), the result packed as
    /// [`LeastSquares`](crate::LeastSquares) says. The first `local` columns multiply unknowns of
    /// the row's own group, the others unknowns of all rows. Only of what is known before any
    /// parameter.
    LeastSquares {
        /// Number of groups.
        groups: usize,
        /// Number of columns with unknowns of the group.
        local: usize,
    },
    /// A counted loop with carried state. Arguments: initial carries, sequences (outermost extent
    /// `length`), fixed values. Its outputs, read by [`Op::Project`], are the final carries and
    /// then the stacked values (outermost extent `length`, in the sequence's order also when
    /// `reverse`).
    Scan {
        /// Number of steps.
        length: usize,
        /// Walk the sequences from the end.
        reverse: bool,
        /// One step.
        body: SharedBody,
    },
    /// Output `k` of a [`Op::Scan`].
    Project(usize),
    /// The solution of an initial value problem with its sensitivities, packed as [`OdeLayout`]
    /// says. Its reader [`Op::OdeSolution`] has the derivative; it has none. NaN where there is no
    /// solution.
    Ode(SharedOde),
    /// The states `[T, n]` of a solution, arguments (the problem's argument, its [`Op::Ode`]).
    OdeSolution(OdeLayout),
    /// Its argument, which derivatives take as known: for values at which what is differentiated
    /// has no slope.
    Hold,
}

impl Unary {
    /// Whether every value is 0 or 1.
    pub(crate) fn is_truth(self) -> bool {
        matches!(self, Self::Not | Self::IsFinite)
    }
}

impl Binary {
    /// Whether every value is 0 or 1.
    pub(crate) fn is_truth(self) -> bool {
        matches!(self, Self::Lt | Self::Le | Self::Eq | Self::Ne | Self::And | Self::Or)
    }
}
