//! Supports: the set that a value must lie in -> a predicate in the graph, a proof, or a sentence.

use std::collections::BTreeMap;

use exmc_graph::{Graph, NodeId, Op, Reduction, Tensor};

/// Where the values of an outcome or a parameter lie. `Argument` limits refer to the distribution's
/// parameters by position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Any finite real number (outcomes), any real number (parameters).
    Real,
    /// $x > 0$.
    Positive,
    /// $x \ge 0$.
    NonNegative,
    /// $0 < x < 1$.
    UnitOpen,
    /// $0 \le x \le 1$.
    Unit,
    /// $-1 < x < 1$.
    MinusOneToOne,
    /// Between the values of two parameters, each optional.
    Between {
        /// Position of the parameter that is the lower limit.
        lower: Option<usize>,
        /// Position of the parameter that is the upper limit.
        upper: Option<usize>,
    },
    /// An angle in $[-\pi, \pi]$.
    Circle,
    /// Integers 0 and 1.
    Binary,
    /// Integers $0, 1, 2, \dots$
    Count,
    /// Integers from 0 to the value of a parameter.
    CountUpTo(usize),
    /// Integers from 0 to the last extent of a parameter less one plus `extra`.
    Category {
        /// Position of the parameter whose last extent counts.
        parameter: usize,
        /// Categories more than that extent (cut points separate one category more).
        extra: usize,
    },
    /// Positive vectors that sum to one.
    Simplex,
    /// Counts whose sum along the last axis is the value of a parameter.
    CountsSummingTo(usize),
    /// Vectors that increase.
    Ordered,
    /// Symmetric positive definite matrices.
    PositiveDefinite,
    /// Lower triangular matrices with a positive diagonal.
    CholeskyFactor,
    /// Lower triangular matrices with a positive diagonal and rows of length one.
    CorrelationCholesky,
}

impl Support {
    /// Whether outcomes are integers, which have no gradient and cannot be sampled by NUTS.
    pub fn is_discrete(self) -> bool {
        matches!(
            self,
            Self::Binary
                | Self::Count
                | Self::CountUpTo(_)
                | Self::Category { .. }
                | Self::CountsSummingTo(_)
        )
    }

    /// Whether it is a set of single numbers that no argument of a distribution limits.
    pub(crate) fn is_elementwise(self) -> bool {
        matches!(
            self,
            Self::Real
                | Self::Positive
                | Self::NonNegative
                | Self::UnitOpen
                | Self::Unit
                | Self::MinusOneToOne
                | Self::Circle
                | Self::Binary
                | Self::Count
        )
    }

    /// In words, for messages: "must be …".
    pub fn describe(self) -> &'static str {
        match self {
            Self::Real => "real and not NaN",
            Self::Positive => "positive",
            Self::NonNegative => "zero or positive",
            Self::UnitOpen => "strictly between 0 and 1",
            Self::Unit => "between 0 and 1",
            Self::MinusOneToOne => "strictly between -1 and 1",
            Self::Between { .. } => "between the distribution's limits",
            Self::Circle => "an angle between -pi and pi",
            Self::Binary => "0 or 1",
            Self::Count => "a count 0, 1, 2, ...",
            Self::CountUpTo(_) => "a count from 0 to the number of trials",
            Self::Category { .. } => "a category counted from 0, below the number of categories",
            Self::Simplex => "positive with sum 1",
            Self::CountsSummingTo(_) => "counts that sum to the number of trials",
            Self::Ordered => "increasing",
            Self::PositiveDefinite => "symmetric and positive definite (not singular)",
            Self::CholeskyFactor => "lower triangular with a positive diagonal",
            Self::CorrelationCholesky => {
                "lower triangular with a positive diagonal and rows of length 1"
            }
        }
    }

    /// A scalar node that is 1 where all of `x` lies in the support and 0 elsewhere; `args` are the
    /// distribution's arguments. NaN is in no support.
    pub fn predicate(self, g: &mut Graph, x: NodeId, args: &[NodeId]) -> NodeId {
        let inside = self.holds(g, x, args);
        all(g, inside)
    }

    /// The same by element, for supports of single numbers; for supports of vectors and matrices
    /// the answer for all of `x`.
    pub fn holds(self, g: &mut Graph, x: NodeId, args: &[NodeId]) -> NodeId {
        let zero = g.scalar(0.0);
        let one = g.scalar(1.0);
        match self {
            Self::Real => g.eq(x, x),
            Self::Positive => g.lt(zero, x),
            Self::NonNegative => g.le(zero, x),
            Self::UnitOpen => within(g, x, Some((zero, true)), Some((one, true))),
            Self::Unit => within(g, x, Some((zero, false)), Some((one, false))),
            Self::MinusOneToOne => {
                let minus = g.scalar(-1.0);
                within(g, x, Some((minus, true)), Some((one, true)))
            }
            Self::Between { lower, upper } => {
                within(g, x, lower.map(|k| (args[k], false)), upper.map(|k| (args[k], false)))
            }
            Self::Circle => {
                // A little room for angles that were printed with fewer digits.
                let limit = g.scalar(std::f64::consts::PI + 1e-9);
                let magnitude = g.abs(x);
                g.le(magnitude, limit)
            }
            Self::Binary => {
                let is_zero = g.eq(x, zero);
                let is_one = g.eq(x, one);
                g.or(is_zero, is_one)
            }
            Self::Count => count(g, x),
            Self::CountUpTo(k) => {
                let is_count = count(g, x);
                let below = g.le(x, args[k]);
                g.and(is_count, below)
            }
            Self::Category { parameter, extra } => {
                let last = g.shape(args[parameter]).extents().last().copied().unwrap_or(0) + extra;
                let limit = g.scalar(last as f64);
                let is_count = count(g, x);
                let below = g.lt(x, limit);
                g.and(is_count, below)
            }
            Self::Simplex => {
                let positive = g.le(zero, x);
                let total = g.sum_last(x);
                let close = near(g, total, one, 1e-8);
                let positive = self::all(g, positive);
                let close = self::all(g, close);
                g.and(positive, close)
            }
            Self::CountsSummingTo(k) => {
                let are_counts = count(g, x);
                let total = g.sum_last(x);
                let equal = g.eq(total, args[k]);
                let are_counts = self::all(g, are_counts);
                let equal = self::all(g, equal);
                g.and(are_counts, equal)
            }
            Self::Ordered => {
                let last = g.shape(x).rank() - 1;
                let n = g.shape(x).extents()[last];
                if n < 2 {
                    let real = g.eq(x, x);
                    all(g, real)
                } else {
                    let (head, tail) = (g.slice(x, last, 0, n - 1), g.slice(x, last, 1, n));
                    let increases = g.lt(head, tail);
                    all(g, increases)
                }
            }
            Self::PositiveDefinite => {
                let factor = g.cholesky(x);
                let finite = g.is_finite(factor);
                let mirrored = g.transpose(x);
                let symmetric = near(g, x, mirrored, 1e-8);
                let finite = all(g, finite);
                let symmetric = all(g, symmetric);
                g.and(finite, symmetric)
            }
            Self::CholeskyFactor => cholesky_factor(g, x),
            Self::CorrelationCholesky => {
                let factor = cholesky_factor(g, x);
                let squares = g.square(x);
                let lengths = g.sum_last(squares);
                let unit = near(g, lengths, one, 1e-8);
                let unit = all(g, unit);
                g.and(factor, unit)
            }
        }
    }

    /// Whether every value in `self` is also in `other`.
    pub fn implies(self, other: Self) -> bool {
        use Support::{
            Binary, Circle, Count, MinusOneToOne, NonNegative, Positive, Real, Simplex, Unit,
            UnitOpen,
        };
        self == other
            || match other {
                Real => !matches!(self, Self::Between { .. }),
                Positive => matches!(self, UnitOpen),
                NonNegative => matches!(
                    self,
                    Positive | UnitOpen | Unit | Binary | Count | Simplex | Self::CountUpTo(_)
                ),
                Unit => matches!(self, UnitOpen | Binary | Simplex),
                MinusOneToOne => matches!(self, UnitOpen),
                Count => matches!(self, Binary | Self::CountUpTo(_)),
                Self::CholeskyFactor => matches!(self, Self::CorrelationCholesky),
                Circle => matches!(self, Unit | UnitOpen | MinusOneToOne),
                _ => false,
            }
    }
}

/// What is known of the values of a graph's nodes: stated for some, inferred from structure for
/// others.
#[derive(Debug, Default)]
pub struct KnownSupports {
    stated: BTreeMap<NodeId, Support>,
    /// By node: nothing where nobody asked yet.
    inferred: Vec<Option<Option<Support>>>,
}

impl KnownSupports {
    /// States that a node's values lie in a support, before anything that uses it is asked about.
    pub fn state(&mut self, id: NodeId, support: Support) {
        self.stated.insert(id, support);
        self.inferred.truncate(id.index());
    }

    /// Forgets what was stated and found out about all nodes but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        self.inferred.truncate(len);
        self.stated.retain(|id, _| id.index() < len);
    }

    /// What is known of a node; `None` when nothing is.
    pub fn of(&mut self, g: &Graph, id: NodeId) -> Option<Support> {
        if self.inferred.len() <= id.index() {
            self.inferred.resize(g.len(), None);
        }
        // Arguments first: expressions may be deeper than the stack.
        let mut waiting = vec![id];
        while let Some(&next) = waiting.last() {
            let known = self.inferred[next.index()].is_some();
            let before = waiting.len();
            if !known && !self.stated.contains_key(&next) {
                let open = |arg: &&NodeId| self.inferred[arg.index()].is_none();
                waiting.extend(g.node(next).args.iter().filter(open));
            }
            if waiting.len() > before {
                continue;
            }
            if !known {
                let support = self.stated.get(&next).copied().or_else(|| self.infer(g, next));
                self.inferred[next.index()] = Some(support);
            }
            waiting.pop();
        }
        self.inferred[id.index()].flatten()
    }

    fn infer(&self, g: &Graph, id: NodeId) -> Option<Support> {
        use Support::{NonNegative, Positive, Unit, UnitOpen};
        use exmc_graph::{Binary as B, Unary as U};
        let node = g.node(id);
        let arg = |k: usize| node.args.get(k).and_then(|a| self.inferred[a.index()].flatten());
        let positive = |k: usize| arg(k).is_some_and(|s| s.implies(Positive));
        let non_negative = |k: usize| arg(k).is_some_and(|s| s.implies(NonNegative));
        let sign = |all_positive: bool, none_negative: bool| match (all_positive, none_negative) {
            (true, _) => Some(Positive),
            (_, true) => Some(NonNegative),
            _ => None,
        };
        match &node.op {
            Op::Constant(tensor) => constant_support(tensor),
            // A vector of one element that is stretched is no simplex and does not increase.
            Op::Broadcast(shape)
                if shape.extents().last() == g.shape(node.args[0]).extents().last() =>
            {
                arg(0)
            }
            Op::Broadcast(_) | Op::Reshape(_) | Op::Slice { .. } | Op::Gather | Op::Permute(_) => {
                // Parts of a vector-valued support keep only what holds for each element.
                match arg(0)? {
                    Support::Simplex => Some(Unit),
                    s @ (Positive
                    | NonNegative
                    | UnitOpen
                    | Unit
                    | Support::MinusOneToOne
                    | Support::Circle) => Some(s),
                    s @ (Support::Binary | Support::Count) => Some(s),
                    _ => None,
                }
            }
            Op::Unary(U::Exp | U::Softplus) => Some(Positive),
            Op::Unary(U::InvLogit) => Some(UnitOpen),
            Op::Unary(U::Square | U::Abs) => sign(positive(0), true),
            Op::Unary(U::Sqrt | U::Reciprocal) => sign(positive(0), non_negative(0)),
            Op::Binary(B::Add | B::Max) => {
                let positive_sum =
                    (positive(0) && non_negative(1)) || (non_negative(0) && positive(1));
                sign(positive_sum, non_negative(0) && non_negative(1))
            }
            Op::Binary(B::Mul | B::Min) => {
                sign(positive(0) && positive(1), non_negative(0) && non_negative(1))
            }
            Op::Binary(B::Div) => sign(positive(0) && positive(1), false),
            Op::Binary(B::Pow) => sign(positive(0), false),
            Op::Concat { .. } => {
                let parts = 0..node.args.len();
                sign(parts.clone().all(positive), parts.clone().all(non_negative))
            }
            _ => None,
        }
    }
}

fn constant_support(tensor: &Tensor) -> Option<Support> {
    let values = tensor.values();
    if all_are(values, |v| (v > 0.0) & (v < 1.0)) {
        Some(Support::UnitOpen)
    } else if all_are(values, |v| v > 0.0) {
        Some(Support::Positive)
    } else if all_are(values, |v| (0.0..=1.0).contains(&v)) {
        Some(Support::Unit)
    } else if all_are(values, |v| v >= 0.0) {
        Some(Support::NonNegative)
    } else {
        None
    }
}

/// Whether a predicate holds for all numbers, found out for some at a time, which needs no branch
/// for each.
fn all_are(values: &[f64], holds: impl Fn(f64) -> bool) -> bool {
    values.chunks(64).all(|some| some.iter().filter(|v| holds(**v)).count() == some.len())
}

fn within(
    g: &mut Graph,
    x: NodeId,
    lower: Option<(NodeId, bool)>,
    upper: Option<(NodeId, bool)>,
) -> NodeId {
    let mut inside = g.eq(x, x);
    if let Some((limit, open)) = lower {
        let above = if open { g.lt(limit, x) } else { g.le(limit, x) };
        inside = g.and(inside, above);
    }
    if let Some((limit, open)) = upper {
        let below = if open { g.lt(x, limit) } else { g.le(x, limit) };
        inside = g.and(inside, below);
    }
    inside
}

fn count(g: &mut Graph, x: NodeId) -> NodeId {
    let zero = g.scalar(0.0);
    let floor = g.floor(x);
    let exact = g.eq(floor, x);
    let not_negative = g.le(zero, x);
    g.and(exact, not_negative)
}

fn near(g: &mut Graph, a: NodeId, b: NodeId, tolerance: f64) -> NodeId {
    let difference = g.sub(a, b);
    let size = g.abs(difference);
    let scale = g.abs(b);
    let scale = g.shift(scale, 1.0);
    let limit = g.scale(scale, tolerance);
    g.le(size, limit)
}

/// Also of a matrix with more rows than columns, as Stan has them.
fn cholesky_factor(g: &mut Graph, x: NodeId) -> NodeId {
    let [rows, columns] = [0, 1].map(|axis| g.shape(x).extents()[axis]);
    let zero = g.scalar(0.0);
    let mut mask = |holds: fn(usize, usize) -> bool| {
        let entries = (0..rows * columns).map(|k| holds(k / columns, k % columns));
        let entries = entries.map(|holds| f64::from(u8::from(holds))).collect::<Vec<f64>>();
        g.constant(Tensor::real([rows, columns], entries).expect("one entry for each place"))
    };
    let (upper, elsewhere) = (mask(|i, j| j > i), mask(|i, j| j != i));
    let diagonal = mask(|i, j| j == i);
    let above = g.mul(upper, x);
    let empty = g.eq(above, zero);
    let on = g.mul(diagonal, x);
    let on_or_one = g.add(on, elsewhere);
    let positive = g.lt(zero, on_or_one);
    let empty = all(g, empty);
    let positive = all(g, positive);
    g.and(empty, positive)
}

/// 1 where every element is non-zero, also where there is none.
pub(crate) fn all(g: &mut Graph, x: NodeId) -> NodeId {
    if g.shape(x).is_empty() {
        return g.scalar(1.0);
    }
    let axes: Vec<_> = (0..g.shape(x).rank()).collect();
    g.reduce(Reduction::Min, x, &axes)
}
