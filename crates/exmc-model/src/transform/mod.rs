//! Transforms: an unconstrained array -> a constrained value and the log of the Jacobian, and back.
//!
//! One file a transform; all are made of graph operations, so their derivatives come for free and
//! the inverse also serves initial values.

use exmc_graph::{Graph, NodeId, Shape};

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
    /// $x = a + e^z$.
    Lower(NodeId),
    /// $x = b - e^z$.
    Upper(NodeId),
    /// $x = a + (b-a)/(1+e^{-z})$.
    Interval(NodeId, NodeId),
    /// Increasing vectors (last axis): first element free, then log differences.
    Ordered,
    /// Increasing positive vectors (last axis).
    PositiveOrdered,
    /// Stick breaking with Stan's offset, so that z = 0 is the uniform point (last axis).
    Simplex,
    /// Stick breaking without the offset, as eXMC has it (last axis).
    SimplexPlain,
    /// Lower Cholesky factors of correlation matrices, from n(n-1)/2 numbers (Stan's scheme by tanh).
    CorrelationCholesky,
    /// Lower Cholesky factors of covariance matrices, from n(n+1)/2 numbers.
    CovarianceCholesky,
    /// Vectors with sum zero (last axis), from n-1 numbers, isometric.
    SumToZero,
    /// Vectors of length one (last axis), from n numbers, with a standard normal radius.
    UnitVector,
}

impl Transform {
    /// The shape of the unconstrained array for a constrained value of shape `shape`.
    ///
    /// # Errors
    /// A sentence when no value of that shape can be constrained this way.
    pub fn unconstrained_shape(&self, shape: &Shape) -> Result<Shape, String> {
        let _ = self;
        Ok(shape.clone())
    }

    /// The constrained value (of shape `shape`) and the log absolute Jacobian determinant summed to
    /// a scalar, or `None` when it is zero.
    pub fn constrain(&self, _g: &mut Graph, z: NodeId, _shape: &Shape) -> (NodeId, Option<NodeId>) {
        (z, None)
    }

    /// The unconstrained array of a constrained value.
    pub fn unconstrain(&self, _g: &mut Graph, x: NodeId) -> NodeId {
        x
    }
}
