//! What each operation means: argument arrays -> the result's elements, once for every executor
//! that has no faster way.
//!
//! Kernels write into memory that the caller owns and allocate nothing in an evaluation. Non-finite
//! numbers are ordinary values; the only failure is an index outside its extent. Sums add up in one
//! fixed order ([`Lanes`]), so that results have the same bits everywhere.

use std::fmt;

use crate::op::Op;
use crate::tensor::Shape;

mod elementwise;
mod layout;
mod least_squares;
mod linear;
mod reduce;
pub(crate) mod scalar;

use elementwise::in_rows;
pub use layout::{broadcast, check_index, concat_into};
pub use least_squares::LeastSquares;
pub use reduce::Lanes;

/// An argument of a kernel: row-major elements and their shape.
///
/// Those of elementwise operations broadcast to the result's shape; one element may also stand for
/// an array of equal ones.
#[derive(Clone, Copy, Debug)]
pub struct Arg<'a> {
    /// Extents.
    pub shape: &'a Shape,
    /// Elements, row-major.
    pub values: &'a [f64],
}

/// Why an expression has no value: an index outside its extent, or an input that is not there or
/// does not fit its declaration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvaluateError {
    message: String,
}

impl EvaluateError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The reason, in words.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for EvaluateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvaluateError {}

/// Computes `op` of `args` into `out`, whose shape is `shape`. Allocates nothing unless it fails or
/// is one that runs only while data are bound ([`Op::LeastSquares`]).
///
/// **Shapes**: as [`Graph::apply`](crate::Graph::apply) infers them, except that arguments of an
/// elementwise operation need only broadcast to the result's.
///
/// # Errors
/// When a gather's or scatter's index or a row's group is outside its extent.
///
/// # Panics
/// For operations that are not computed from argument arrays alone: constants, inputs, scans and
/// their projections.
pub fn evaluate_into(
    op: &Op,
    args: &[Arg<'_>],
    shape: &Shape,
    out: &mut [f64],
) -> Result<(), EvaluateError> {
    debug_assert_eq!(shape.len(), out.len(), "{}: the result has another shape", op.name());
    match op {
        Op::Unary(f) => in_rows(args, shape, out, &mut |[x], out| elementwise::unary(*f, x, out)),
        Op::Binary(f) => {
            in_rows(args, shape, out, &mut |[a, b], out| elementwise::binary(*f, a, b, out));
        }
        Op::Ternary(f) => {
            in_rows(args, shape, out, &mut |[a, b, c], out| {
                elementwise::ternary(*f, a, b, c, out);
            });
        }
        Op::Broadcast(_) => {
            layout::broadcast(args[0].values, args[0].shape.extents(), out, shape.extents());
        }
        Op::Reshape(_) | Op::Hold => out.copy_from_slice(args[0].values),
        Op::Permute(order) => layout::permute(args[0], order, out),
        Op::Slice { axis, start, step, .. } => {
            layout::slice(args[0], *axis, *start, *step, shape, out);
        }
        Op::Unslice { axis, start, step, .. } => {
            layout::unslice(args[0], *axis, *start, *step, shape, out);
        }
        Op::Concat { axis } => concat_into(*axis, shape, args.iter().copied(), out),
        Op::Gather => layout::gather(args[0], args[1].values, out)?,
        Op::ScatterAdd { len } => layout::scatter_add(args[0].values, args[1].values, *len, out)?,
        Op::Reduce(f, axes) => reduce::reduce(*f, args[0], axes, out),
        Op::LogProduct(powers) => {
            let logs = |x: &Arg<'_>| x.values.iter().map(|x| exmc_math::log(*x)).sum::<f64>();
            let terms = powers.iter().zip(args).map(|(power, x)| *power as f64 * logs(x));
            out[0] = terms.sum();
        }
        Op::CumSum { axis, reverse } => reduce::cumulative_sum(args[0], *axis, *reverse, out),
        Op::MatMul => linear::matmul(args[0], args[1], out),
        Op::Cholesky => linear::cholesky(args[0], out),
        Op::CholeskyAdjoint => linear::cholesky_adjoint(args[0], args[1], out),
        Op::TriangularSolve { transposed } => {
            linear::triangular_solve(args[0], args[1], *transposed, out);
        }
        Op::Lu => linear::lu(args[0], out),
        Op::LuSolve { transposed } => linear::lu_solve(args[1], args[2], *transposed, out),
        Op::LogAbsDet => linear::log_abs_det(args[1], out),
        Op::SymmetricEigen => linear::symmetric_eigen(args[0], out),
        Op::Decompose(kind) => kind.run(args[0].shape, args[0].values, out),
        Op::DecomposeAdjoint(kind) => {
            kind.run_adjoint(args[0].shape, args[1].values, args[2].values, out);
        }
        Op::LeastSquares { groups, local } => {
            least_squares::least_squares(args, *groups, *local, out)?;
        }
        Op::Ode(problem) => problem.0.solve(args[0].values, out, None),
        Op::OdeSolution(layout) => {
            let width = args[1].values.len().checked_div(shape.extents()[0]).unwrap_or(0);
            let rows = out.chunks_exact_mut(layout.states.max(1));
            for (out, row) in rows.zip(args[1].values.chunks_exact(width.max(1))) {
                out.copy_from_slice(&row[..layout.states]);
            }
        }
        Op::Constant(_) | Op::Input { .. } | Op::Scan { .. } | Op::Project(_) => {
            panic!("our bug: {} is not computed from arrays", op.name())
        }
    }
    Ok(())
}

/// A shape seen from one axis: how many blocks before it, its extent, how many elements after it.
fn around(shape: &Shape, axis: usize) -> [usize; 3] {
    let extents = shape.extents();
    [extents[..axis].iter().product(), extents[axis], extents[axis + 1..].iter().product()]
}
