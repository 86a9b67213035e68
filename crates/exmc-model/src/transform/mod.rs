//! Transforms: an unconstrained array -> a constrained value and the log of the Jacobian, and back.
//!
//! One file a family; all are made of graph operations, so their derivatives come for free and the
//! inverse also serves initial values. No graph grows with the size of what it transforms.
//!
//! **Far out.** Exponentials are taken of `z` clamped to ±200, so that a variable and its square
//! stay finite and positive wherever a sampler strays; there the derivative of the value is exactly
//! zero. The log Jacobian is never clamped: it keeps falling on both sides, so that the density
//! that is sampled stays proper and the gradient leads back.

use exmc_graph::{Graph, NodeId, Shape};

mod bounded;
mod cholesky;
mod limits;
mod matrix;
mod ordered;
mod positive;
mod simplex;
mod simplex_softmax;
mod sum_to_zero;
mod unit_vector;

/// A smooth bijection from an unconstrained array to a support. Limits are nodes of the same graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transform {
    /// $x = z$.
    Identity,
    /// $x = e^z$, onto the positive numbers.
    Log,
    /// $x = \log(1+e^z)$, onto the positive numbers.
    Softplus,
    /// $x = 1/(1+e^{-z})$, onto (0, 1).
    Logit,
    /// $x = a + e^z$; where $a = -\infty$, $x = z$.
    Lower(NodeId),
    /// $x = b - e^z$; where $b = \infty$, $x = z$.
    Upper(NodeId),
    /// $x = a + (b-a)/(1+e^{-z})$; where a limit is infinite, as if it were not there.
    Interval(NodeId, NodeId),
    /// An angle in $(-\pi, \pi)$: `Interval` with these limits.
    Circle,
    /// Increasing vectors (last axis): first element free, then log differences.
    Ordered,
    /// Increasing positive vectors (last axis).
    PositiveOrdered,
    /// Stick breaking with Stan's offset, so that z = 0 is the uniform point (last axis).
    Simplex,
    /// Stick breaking without the offset, as eXMC has it (last axis).
    SimplexPlain,
    /// Softmax of a vector with sum zero, as Stan has it since 2.37 (last axis).
    SimplexSoftmax,
    /// Lower Cholesky factors of correlation matrices, from n(n-1)/2 numbers (Stan's scheme by
    /// tanh).
    CorrelationCholesky,
    /// Lower Cholesky factors of covariance matrices, from n(n+1)/2 numbers; with more rows than
    /// columns, the rows below are free.
    CovarianceCholesky,
    /// Correlation matrices, from n(n-1)/2 numbers (Stan's order and scheme).
    CorrelationMatrix,
    /// Covariance matrices, from n(n+1)/2 numbers.
    CovarianceMatrix,
    /// Matrices of which each column is a simplex, by softmax (last two axes).
    ColumnSimplex,
    /// Matrices whose rows and columns have sum zero, from (n-1)(m-1) numbers, isometric (last two
    /// axes).
    SumToZeroMatrix,
    /// Vectors with sum zero (last axis), from n-1 numbers, isometric.
    SumToZero,
    /// Vectors of length one (last axis), from n numbers, with a standard normal radius.
    UnitVector,
}

impl Transform {
    /// The name in JSON and printed models.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Log => "log",
            Self::Softplus => "softplus",
            Self::Logit => "logit",
            Self::Lower(_) => "lower",
            Self::Upper(_) => "upper",
            Self::Interval(..) => "interval",
            Self::Circle => "circle",
            Self::Ordered => "ordered",
            Self::PositiveOrdered => "positive_ordered",
            Self::Simplex => "simplex",
            Self::SimplexPlain => "simplex_plain",
            Self::SimplexSoftmax => "simplex_softmax",
            Self::CorrelationCholesky => "correlation_cholesky",
            Self::CovarianceCholesky => "covariance_cholesky",
            Self::CorrelationMatrix => "correlation_matrix",
            Self::CovarianceMatrix => "covariance_matrix",
            Self::ColumnSimplex => "column_simplex",
            Self::SumToZeroMatrix => "sum_to_zero_matrix",
            Self::SumToZero => "sum_to_zero",
            Self::UnitVector => "unit_vector",
        }
    }

    /// The nodes that it refers to.
    pub fn arguments(&self) -> Vec<NodeId> {
        match *self {
            Self::Lower(a) | Self::Upper(a) => vec![a],
            Self::Interval(a, b) => vec![a, b],
            _ => Vec::new(),
        }
    }

    /// The same transform over other nodes.
    #[must_use]
    pub fn map_arguments(&self, f: &mut dyn FnMut(NodeId) -> NodeId) -> Self {
        match *self {
            Self::Lower(a) => Self::Lower(f(a)),
            Self::Upper(b) => Self::Upper(f(b)),
            Self::Interval(a, b) => Self::Interval(f(a), f(b)),
            other => other,
        }
    }

    /// The shape of the unconstrained array for a constrained value of shape `shape`.
    ///
    /// **Shapes**: elementwise transforms keep it; vector transforms act on the last axis and treat
    /// those before it as a batch; a Cholesky factor is one matrix and comes from a vector.
    ///
    /// # Errors
    /// A sentence when no value of that shape can be constrained this way: a scalar where a vector
    /// is needed, a vector without elements where none exists, a value that is not a square matrix.
    pub fn unconstrained_shape(&self, shape: &Shape) -> Result<Shape, String> {
        match self {
            Self::Identity | Self::Log | Self::Softplus | Self::Logit => Ok(shape.clone()),
            Self::Lower(_) | Self::Upper(_) | Self::Interval(..) | Self::Circle => {
                Ok(shape.clone())
            }
            Self::Ordered => vector("an increasing vector", shape, 0, 0),
            Self::PositiveOrdered => vector("an increasing positive vector", shape, 0, 0),
            Self::Simplex | Self::SimplexPlain | Self::SimplexSoftmax => {
                vector("a simplex", shape, 1, 1)
            }
            Self::SumToZero => vector("a vector with sum zero", shape, 1, 1),
            Self::UnitVector => vector("a vector of length one", shape, 1, 0),
            Self::CorrelationCholesky => {
                square("the Cholesky factor of a correlation matrix", shape)
                    .map(|n| Shape::from([n * (n - 1) / 2]))
            }
            Self::CovarianceCholesky => {
                let [m, n] = tall("the Cholesky factor of a covariance matrix", shape)?;
                Ok(Shape::from([n * (n + 1) / 2 + (m - n) * n]))
            }
            Self::CorrelationMatrix => {
                square("a correlation matrix", shape).map(|n| Shape::from([n * (n - 1) / 2]))
            }
            Self::CovarianceMatrix => {
                square("a covariance matrix", shape).map(|n| Shape::from([n * (n + 1) / 2]))
            }
            Self::ColumnSimplex => match shape.extents() {
                [batch @ .., n, m] if *n > 0 => Ok(Shape::from(batch).join(&[n - 1, *m])),
                _ => Err(format!(
                    "a matrix of simplexes has a row, but the value's shape is {shape}"
                )),
            },
            Self::SumToZeroMatrix => match shape.extents() {
                [batch @ .., n, m] if *n > 0 && *m > 0 => {
                    Ok(Shape::from(batch).join(&[n - 1, m - 1]))
                }
                _ => Err(format!(
                    "a matrix with sums zero has a row and a column, but the value's shape is {shape}"
                )),
            },
        }
    }

    /// The constrained value (of shape `shape`) and the log absolute Jacobian determinant summed to
    /// a scalar, or `None` when it is zero.
    ///
    /// **Shapes**: `z` has the [unconstrained shape](Self::unconstrained_shape) of `shape`; limits
    /// broadcast to `shape`. **Scale**: nats. The determinant is that of the map to the value's
    /// free coordinates: all but the last element of a simplex, the elements below the diagonal of
    /// a correlation matrix's factor (also those on it, of a covariance matrix's). For
    /// [`Self::UnitVector`] it is the log density of the radius instead, up to a constant.
    /// **Edges**: finite for every finite `z`, except that a unit vector has no value at zero
    /// (NaN). **Reference**: Stan reference manual, "Constraint transforms".
    ///
    /// # Panics
    /// When shapes do not fit, which the caller has checked before.
    pub fn constrain(&self, g: &mut Graph, z: NodeId, shape: &Shape) -> (NodeId, Option<NodeId>) {
        let (value, log_slope) = match *self {
            Self::Identity => (z, None),
            Self::Log => positive::log(g, z),
            Self::Softplus => positive::softplus(g, z),
            Self::Logit => bounded::logit(g, z),
            Self::Lower(a) => limits::constrain(g, z, Some(a), None),
            Self::Upper(b) => limits::constrain(g, z, None, Some(b)),
            Self::Interval(a, b) => limits::constrain(g, z, Some(a), Some(b)),
            Self::Circle => bounded::circle(g, z),
            Self::Ordered => ordered::ordered(g, z),
            Self::PositiveOrdered => ordered::positive_ordered(g, z),
            Self::Simplex => simplex::constrain(g, z, shape, simplex::Offset::Uniform),
            Self::SimplexPlain => simplex::constrain(g, z, shape, simplex::Offset::None),
            Self::SimplexSoftmax => simplex_softmax::constrain(g, z, shape),
            Self::CorrelationCholesky => cholesky::correlation(g, z, shape),
            Self::CovarianceCholesky => cholesky::covariance(g, z, shape),
            Self::CorrelationMatrix => matrix::correlation(g, z, shape),
            Self::CovarianceMatrix => matrix::covariance(g, z, shape),
            Self::ColumnSimplex => matrix::columns(g, z, shape),
            Self::SumToZeroMatrix => (matrix::sum_to_zero(g, z, shape), None),
            Self::SumToZero => (sum_to_zero::constrain(g, z, shape), None),
            Self::UnitVector => unit_vector::constrain(g, z),
        };
        (value, log_slope.map(|terms| g.sum(terms)))
    }

    /// The unconstrained array of a constrained value: the inverse of [`Self::constrain`].
    ///
    /// **Edges**: a limit, a zero or equal neighbours give an element that is not finite. A simplex
    /// or the rows of a correlation factor need not be normalised, and a sum-to-zero vector's mean
    /// is dropped. A unit vector's array is the vector itself, of radius one.
    ///
    /// **Numerics**: remainders are summed from the far end and never found by subtraction from
    /// one, so small elements keep their digits.
    pub fn unconstrain(&self, g: &mut Graph, x: NodeId) -> NodeId {
        match *self {
            Self::Identity | Self::UnitVector => x,
            Self::Log => g.log(x),
            Self::Softplus => positive::softplus_inverse(g, x),
            Self::Logit => bounded::logit_inverse(g, x),
            Self::Lower(a) => limits::unconstrain(g, x, Some(a), None),
            Self::Upper(b) => limits::unconstrain(g, x, None, Some(b)),
            Self::Interval(a, b) => limits::unconstrain(g, x, Some(a), Some(b)),
            Self::Circle => bounded::circle_inverse(g, x),
            Self::Ordered => ordered::ordered_inverse(g, x),
            Self::PositiveOrdered => ordered::positive_ordered_inverse(g, x),
            Self::Simplex => simplex::unconstrain(g, x, simplex::Offset::Uniform),
            Self::SimplexPlain => simplex::unconstrain(g, x, simplex::Offset::None),
            Self::SimplexSoftmax => simplex_softmax::unconstrain(g, x),
            Self::CorrelationCholesky => cholesky::correlation_inverse(g, x),
            Self::CovarianceCholesky => cholesky::covariance_inverse(g, x),
            Self::CorrelationMatrix => matrix::correlation_inverse(g, x),
            Self::CovarianceMatrix => matrix::covariance_inverse(g, x),
            Self::ColumnSimplex => matrix::columns_inverse(g, x),
            Self::SumToZeroMatrix => matrix::sum_to_zero_inverse(g, x),
            Self::SumToZero => sum_to_zero::unconstrain(g, x),
        }
    }
}

/// The shape whose last extent is `fewer` less, when there is a last extent of at least `least`.
fn vector(what: &str, shape: &Shape, least: usize, fewer: usize) -> Result<Shape, String> {
    match shape.extents().split_last() {
        None => Err(format!("{what} needs an axis, but the value is a single number")),
        Some((&n, _)) if n < least => {
            Err(format!("{what} has at least one element, but the value's shape is {shape}"))
        }
        Some((&n, batch)) => Ok(Shape::from(batch).join(&[n - fewer])),
    }
}

/// The extent of a square matrix.
fn square(what: &str, shape: &Shape) -> Result<usize, String> {
    match *shape.extents() {
        [n, m] if n == m && n > 0 => Ok(n),
        _ => Err(format!("{what} is one square matrix, but the value's shape is {shape}")),
    }
}

/// The extents of a matrix with at least as many rows as columns.
fn tall(what: &str, shape: &Shape) -> Result<[usize; 2], String> {
    match *shape.extents() {
        [m, n] if m >= n && n > 0 => Ok([m, n]),
        _ => Err(format!(
            "{what} is one matrix with no fewer rows than columns, but the value's shape is {shape}"
        )),
    }
}

/// Axis and extent of the vectors that a node of rank at least one holds.
fn last_axis(g: &Graph, x: NodeId) -> (usize, usize) {
    let extents = g.shape(x).extents();
    (extents.len() - 1, extents.last().copied().unwrap_or(0))
}

/// An array of `x`'s shape, but with `extent` as its last extent, filled with a number.
fn filled_last(g: &mut Graph, x: NodeId, extent: usize, value: f64) -> NodeId {
    let (axis, _) = last_axis(g, x);
    let shape = Shape::from(&g.shape(x).extents()[..axis]).join(&[extent]);
    g.filled(&shape, value)
}
