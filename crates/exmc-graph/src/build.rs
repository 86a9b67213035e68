//! Building by name: `g.add(a, b)` and friends, which broadcast their arguments -> nodes.
//!
//! These methods are for code whose shapes are known to fit (distributions, derivatives, lowering);
//! they panic on a mismatch, which is then our bug. Front ends, whose shapes come from a user, call
//! [`Graph::apply`] and [`Graph::broadcast_together`] and report the error.

use crate::graph::{Graph, GraphError, NodeId};
use crate::op::{Binary, Op, Reduction, Ternary, Unary};
use crate::tensor::{DType, Shape, Tensor};

macro_rules! unary_methods {
    ($($(#[$meta:meta])* $name:ident => $op:ident),* $(,)?) => {
        $($(#[$meta])* #[doc = concat!("[`Unary::", stringify!($op), "`] of every element.")]
        pub fn $name(&mut self, x: NodeId) -> NodeId { self.unary(Unary::$op, x) })*
    };
}

macro_rules! binary_methods {
    ($($name:ident => $op:ident),* $(,)?) => {
        $(#[doc = concat!("[`Binary::", stringify!($op), "`], broadcasting.")]
        pub fn $name(&mut self, a: NodeId, b: NodeId) -> NodeId { self.binary(Binary::$op, a, b) })*
    };
}

impl Graph {
    unary_methods!(
        abs => Abs, sign => Sign, floor => Floor, not => Not, is_finite => IsFinite, exp => Exp, expm1 => Expm1,
        log => Log, log1p => Log1p, sqrt => Sqrt, square => Square, reciprocal => Reciprocal, sin => Sin, cos => Cos,
        tan => Tan, asin => Asin, acos => Acos, atan => Atan, sinh => Sinh, cosh => Cosh, tanh => Tanh,
        inv_logit => InvLogit, softplus => Softplus, log1m_exp => Log1mExp, lgamma => Lgamma, digamma => Digamma,
        trigamma => Trigamma, erf => Erf, erfc => Erfc, log_normal_cdf => LogNormalCdf,
        normal_quantile => NormalQuantile, normal_quantile_log => NormalQuantileLog, log_bessel_i0 => LogBesselI0, bessel_i1_i0 => BesselI1I0,
    );

    binary_methods!(
        pow => Pow, min => Min, max => Max, log_add_exp => LogAddExp, log_add_exp_share => LogAddExpShare,
        log_diff_exp => LogDiffExp, atan2 => Atan2, lt => Lt, le => Le, eq => Eq, ne => Ne, and => And, or => Or, lbeta => Lbeta, digamma_rise => DigammaRise, log_gamma_p => LogGammaP,
        log_gamma_q => LogGammaQ, owens_t => OwensT, fmod => Fmod,
    );

    /// A real scalar constant.
    pub fn scalar(&mut self, value: f64) -> NodeId {
        self.constant(Tensor::scalar(value))
    }

    /// A real constant with one value everywhere.
    pub fn filled(&mut self, shape: &Shape, value: f64) -> NodeId {
        let scalar = self.scalar(value);
        self.broadcast_to(scalar, shape)
    }

    /// An elementwise function of one argument.
    pub fn unary(&mut self, op: Unary, x: NodeId) -> NodeId {
        self.must(Op::Unary(op), &[x])
    }

    /// An elementwise function of two arguments, broadcasting.
    pub fn binary(&mut self, op: Binary, a: NodeId, b: NodeId) -> NodeId {
        let args = self.broadcast_together(&[a, b]).expect("our bug: shapes were checked before");
        self.must(Op::Binary(op), &args)
    }

    /// An elementwise function of three arguments, broadcasting.
    pub fn ternary(&mut self, op: Ternary, a: NodeId, b: NodeId, c: NodeId) -> NodeId {
        let args =
            self.broadcast_together(&[a, b, c]).expect("our bug: shapes were checked before");
        self.must(Op::Ternary(op), &args)
    }

    /// `-x`; of `-x` it is x again.
    pub fn neg(&mut self, x: NodeId) -> NodeId {
        if self.node(x).op == Op::Unary(Unary::Neg) {
            return self.node(x).args[0];
        }
        let scalar = self.as_constant(x).filter(|t| t.shape().is_scalar());
        match scalar.map(|t| (t.as_scalar(), t.dtype())) {
            Some((Some(value), DType::Real)) => self.scalar(-value),
            Some((Some(value), DType::Int)) => {
                let minus = Tensor::int(Shape::scalar(), vec![-value]);
                self.constant(minus.expect("integers are as exact with the other sign"))
            }
            _ => self.unary(Unary::Neg, x),
        }
    }

    /// `a + b`, broadcasting; leaves out a constant zero.
    pub fn add(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if let Some(sum) = self.fold_scalars(a, b, true, |a, b| a + b) {
            return sum;
        }
        if self.as_uniform(b) == Some(0.0) && self.shape(b).broadcasts_to(self.shape(a)) {
            return a;
        }
        if self.as_uniform(a) == Some(0.0) && self.shape(a).broadcasts_to(self.shape(b)) {
            return b;
        }
        self.binary(Binary::Add, a, b)
    }

    /// `a - b`, broadcasting; leaves out a constant zero.
    pub fn sub(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if let Some(difference) = self.fold_scalars(a, b, true, |a, b| a - b) {
            return difference;
        }
        if self.as_uniform(b) == Some(0.0) && self.shape(b).broadcasts_to(self.shape(a)) {
            return a;
        }
        self.binary(Binary::Sub, a, b)
    }

    /// `a * b`, broadcasting; leaves out a constant one.
    pub fn mul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if let Some(product) = self.fold_scalars(a, b, true, |a, b| a * b) {
            return product;
        }
        if self.as_uniform(b) == Some(1.0) && self.shape(b).broadcasts_to(self.shape(a)) {
            return a;
        }
        if self.as_uniform(a) == Some(1.0) && self.shape(a).broadcasts_to(self.shape(b)) {
            return b;
        }
        self.binary(Binary::Mul, a, b)
    }

    /// `a / b`, broadcasting; leaves out a constant one.
    pub fn div(&mut self, a: NodeId, b: NodeId) -> NodeId {
        if let Some(quotient) = self.fold_scalars(a, b, false, |a, b| a / b) {
            return quotient;
        }
        if self.as_uniform(b) == Some(1.0) && self.shape(b).broadcasts_to(self.shape(a)) {
            return a;
        }
        self.binary(Binary::Div, a, b)
    }

    /// `x` times a number.
    pub fn scale(&mut self, x: NodeId, factor: f64) -> NodeId {
        let factor = self.scalar(factor);
        self.mul(factor, x)
    }

    /// `x` plus a number.
    pub fn shift(&mut self, x: NodeId, offset: f64) -> NodeId {
        let offset = self.scalar(offset);
        self.add(x, offset)
    }

    /// `a` where the condition is non-zero, else `b`, broadcasting.
    pub fn select(&mut self, condition: NodeId, a: NodeId, b: NodeId) -> NodeId {
        self.ternary(Ternary::Select, condition, a, b)
    }

    /// Stretches `x` to `shape`; `x` itself when it has that shape.
    pub fn broadcast_to(&mut self, x: NodeId, shape: &Shape) -> NodeId {
        if self.shape(x) == shape { x } else { self.must(Op::Broadcast(shape.clone()), &[x]) }
    }

    /// The same elements under another shape.
    pub fn reshape(&mut self, x: NodeId, shape: impl Into<Shape>) -> NodeId {
        let shape = shape.into();
        if *self.shape(x) == shape { x } else { self.must(Op::Reshape(shape), &[x]) }
    }

    /// Elements `start..stop` along an axis.
    pub fn slice(&mut self, x: NodeId, axis: usize, start: usize, stop: usize) -> NodeId {
        if start == 0 && stop == self.shape(x).extents()[axis] {
            return x;
        }
        self.must(Op::Slice { axis, start, step: 1, len: stop - start }, &[x])
    }

    /// Arguments one after the other along an axis.
    pub fn concat(&mut self, parts: &[NodeId], axis: usize) -> NodeId {
        if let [only] = parts { *only } else { self.must(Op::Concat { axis }, parts) }
    }

    /// Rows of `x` chosen by zero-based integers.
    pub fn gather(&mut self, x: NodeId, index: NodeId) -> NodeId {
        self.must(Op::Gather, &[x, index])
    }

    /// The transpose of a matrix.
    pub fn transpose(&mut self, x: NodeId) -> NodeId {
        self.must(Op::Permute(vec![1, 0]), &[x])
    }

    /// Matrix product.
    pub fn matmul(&mut self, a: NodeId, b: NodeId) -> NodeId {
        self.must(Op::MatMul, &[a, b])
    }

    /// Lower Cholesky factor.
    pub fn cholesky(&mut self, a: NodeId) -> NodeId {
        self.must(Op::Cholesky, &[a])
    }

    /// Solves with a lower triangular matrix or its transpose.
    pub fn triangular_solve(&mut self, lower: NodeId, b: NodeId, transposed: bool) -> NodeId {
        self.must(Op::TriangularSolve { transposed }, &[lower, b])
    }

    /// Solves `a x = b` for a general square matrix; b is a vector or a matrix.
    pub fn solve(&mut self, a: NodeId, b: NodeId) -> NodeId {
        let factors = self.must(Op::Lu, &[a]);
        self.must(Op::LuSolve { transposed: false }, &[a, factors, b])
    }

    /// $\log|\det a|$ of a general square matrix.
    pub fn log_abs_det(&mut self, a: NodeId) -> NodeId {
        let factors = self.must(Op::Lu, &[a]);
        self.must(Op::LogAbsDet, &[a, factors])
    }

    /// The diagonal of a square matrix, as a vector.
    pub fn diagonal(&mut self, matrix: NodeId) -> NodeId {
        let n = self.shape(matrix).extents()[0];
        let flat = self.reshape(matrix, [n * n]);
        self.must(Op::Slice { axis: 0, start: 0, step: n + 1, len: n }, &[flat])
    }

    /// A reduction over some axes (ascending).
    pub fn reduce(&mut self, op: Reduction, x: NodeId, axes: &[usize]) -> NodeId {
        if axes.is_empty() && op != Reduction::LogSumExp {
            x
        } else {
            self.must(Op::Reduce(op, axes.to_vec()), &[x])
        }
    }

    /// The sum of all elements.
    pub fn sum(&mut self, x: NodeId) -> NodeId {
        let axes: Vec<_> = (0..self.shape(x).rank()).collect();
        self.reduce(Reduction::Sum, x, &axes)
    }

    /// The sum over the last axis.
    pub fn sum_last(&mut self, x: NodeId) -> NodeId {
        let last = self.shape(x).rank() - 1;
        self.reduce(Reduction::Sum, x, &[last])
    }

    /// The log of the sum of exponentials over one axis.
    pub fn log_sum_exp(&mut self, x: NodeId, axis: usize) -> NodeId {
        self.reduce(Reduction::LogSumExp, x, &[axis])
    }

    /// Running sum along an axis.
    pub fn cumulative_sum(&mut self, x: NodeId, axis: usize) -> NodeId {
        self.must(Op::CumSum { axis, reverse: false }, &[x])
    }

    /// Stretches all arguments to the shape that they have in common.
    ///
    /// # Errors
    /// When their shapes do not broadcast.
    pub fn broadcast_together(&mut self, args: &[NodeId]) -> Result<Vec<NodeId>, GraphError> {
        if args.windows(2).all(|pair| self.shape(pair[0]) == self.shape(pair[1])) {
            return Ok(args.to_vec());
        }
        let mut common = Shape::scalar();
        for &arg in args {
            common = common.broadcast(self.shape(arg)).ok_or_else(|| {
                let shape = self.shape(arg);
                GraphError::new(format!("shapes {common} and {shape} do not broadcast"))
            })?;
        }
        Ok(args.iter().map(|&arg| self.broadcast_to(arg, &common)).collect())
    }

    /// Applies an operation whose arguments are known to fit.
    pub(crate) fn must(&mut self, op: Op, args: &[NodeId]) -> NodeId {
        match self.apply(op, args) {
            Ok(id) => id,
            Err(error) => panic!("our bug: an internal expression is malformed: {error}"),
        }
    }

    fn fold_scalars(
        &mut self,
        a: NodeId,
        b: NodeId,
        keeps_integers: bool,
        f: impl Fn(f64, f64) -> f64,
    ) -> Option<NodeId> {
        let scalar =
            |id| self.as_constant(id).filter(|t| t.shape().is_scalar()).and_then(Tensor::as_scalar);
        let value = f(scalar(a)?, scalar(b)?);
        let is_int = |id| self.node(id).dtype == DType::Int;
        if !(keeps_integers && is_int(a) && is_int(b)) {
            return Some(self.scalar(value));
        }
        // Integers stay integers, because indices have to; what is no exact integer stays an
        // operation.
        Tensor::int(Shape::scalar(), vec![value]).map(|value| self.constant(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;

    #[test]
    fn equal_expressions_are_one_node() {
        let mut g = Graph::new();
        let x = g.input("x", Role::Parameter, [3].into(), DType::Real).unwrap();
        let a = g.exp(x);
        let b = g.exp(x);
        assert_eq!(a, b);
        let one = g.scalar(1.0);
        assert_eq!(g.mul(a, one), a);
    }

    #[test]
    fn folded_integers_stay_integers() {
        let mut g = Graph::new();
        let int = |v: f64| Tensor::int(Shape::scalar(), vec![v]).unwrap();
        let (two, three) = (g.constant(int(2.0)), g.constant(int(3.0)));
        let large = g.constant(int(9_007_199_254_740_991.0));
        let sum = g.add(two, three);
        assert_eq!(g.as_constant(sum), Some(&int(5.0)));
        let minus = g.neg(sum);
        assert_eq!(g.as_constant(minus), Some(&int(-5.0)));
        let quotient = g.div(two, three);
        assert_eq!(g.node(quotient).dtype, DType::Real);
        let inexact = g.add(large, large);
        assert_eq!(g.as_constant(inexact), None);
        assert_eq!(g.node(inexact).dtype, DType::Int);
    }

    #[test]
    fn mismatches_are_errors_with_both_shapes() {
        let mut g = Graph::new();
        let x = g.input("x", Role::Parameter, [3].into(), DType::Real).unwrap();
        let y = g.input("y", Role::Parameter, [4].into(), DType::Real).unwrap();
        let error = g.apply(Op::Binary(Binary::Add), &[x, y]).unwrap_err();
        assert_eq!(error.message(), "add: shapes [3] and [4] differ");
        assert!(g.broadcast_together(&[x, y]).is_err());
    }
}
