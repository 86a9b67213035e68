//! Factors, solutions and determinants of square matrices.
//!
//! The graph's own operations take one matrix. Lower triangular and positive definite matrices that
//! differ among lanes are worked on step by step, all lanes at once, while they are small; general
//! ones ask for one call a lane.

use exmc_graph::{Graph, NodeId, Op, Reduction, Shape};

use super::align::{permute, reshape, with_lanes};
use super::elementwise::wrong;
use super::matrix_parts::diagonal;
use super::matrix_parts::identity;
use super::products::{multiply, turned};
use super::{Answer, Argument, LibraryError, Output};
use crate::typed::Type;

/// Larger matrices are not worked on step by step: their graph would grow with their size.
const MAX_SIZE_BY_STEPS: usize = 32;

/// What is known of a matrix that is solved with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Lower triangular, or the transpose of such.
    Lower { transposed: bool },
    /// Symmetric and positive definite.
    Definite,
    /// Nothing.
    General,
}

/// The call, if the name is one of these.
pub(super) fn call(g: &mut Graph, name: &str, args: &[Argument]) -> Answer {
    let lower = Kind::Lower { transposed: false };
    Some(match (name, args) {
        ("cholesky_decompose", [a]) => cholesky(g, a),
        ("mdivide_left_tri_low", [a, b]) => left(g, lower, a, b),
        ("mdivide_left_tri_low", [a]) => inverse(g, lower, a),
        ("mdivide_left_spd", [a, b]) => left(g, Kind::Definite, a, b),
        ("mdivide_left", [a, b]) => left(g, Kind::General, a, b),
        ("mdivide_right_tri_low", [b, a]) => right(g, Kind::Lower { transposed: true }, b, a),
        ("mdivide_right_spd", [b, a]) => right(g, Kind::Definite, b, a),
        ("mdivide_right" | "divide", [b, a]) => {
            let a = turned(g, a);
            right(g, Kind::General, b, &a)
        }
        ("inverse", [a]) => inverse(g, Kind::General, a),
        ("inverse_spd", [a]) => inverse(g, Kind::Definite, a),
        ("chol2inv", [a]) => inverse(g, lower, a).and_then(|inverse| {
            let inverse =
                Argument { node: inverse.node, batched: inverse.batched, ty: Type::Matrix };
            let other = turned(g, &inverse);
            multiply(g, &other, &inverse)
        }),
        ("log_determinant", [a]) => {
            one_matrix(g, name, a).map(|()| Output::new(g.log_abs_det(a.node), false))
        }
        ("log_determinant_spd", [a]) => cholesky(g, a).map(|factor| {
            let diagonal = diagonal(g, factor.node, factor.batched);
            let logs = g.log(diagonal);
            let total = Output::new(logs, factor.batched).total(g);
            Output { node: g.scale(total.node, 2.0), ..total }
        }),
        ("determinant", [a]) => {
            one_matrix(g, name, a).map(|()| Output::new(determinant(g, a.node), false))
        }
        _ => return None,
    })
}

fn square(g: &Graph, name: &str, a: &Argument) -> Result<usize, LibraryError> {
    match a.extents(g) {
        [m, n] if m == n => Ok(*n),
        found => {
            let found = Shape::from(found);
            Err(LibraryError::Mistake(format!("`{name}` needs a square matrix, found {found}")))
        }
    }
}

fn one_matrix(g: &Graph, name: &str, a: &Argument) -> Result<(), LibraryError> {
    square(g, name, a)?;
    if a.batched { Err(LibraryError::Unbatchable) } else { Ok(()) }
}

/// The lower Cholesky factor; NaN where the matrix is not positive definite.
pub(super) fn cholesky(g: &mut Graph, a: &Argument) -> Result<Output, LibraryError> {
    let n = square(g, "cholesky_decompose", a)?;
    if !a.batched {
        return Ok(Output::new(g.cholesky(a.node), false));
    }
    if n > MAX_SIZE_BY_STEPS {
        return Err(LibraryError::Unbatchable);
    }
    // Column by column: what remains of the matrix loses the column's outer product with itself.
    let mut rest = a.node;
    let mut columns = Vec::with_capacity(n);
    for k in 0..n {
        let size = n - k;
        let column = g.slice(rest, 2, 0, 1);
        let column = reshape(g, column, true, &[size]);
        let pivot = g.slice(column, 1, 0, 1);
        let pivot = g.sqrt(pivot);
        let column = g.div(column, pivot);
        let padded = if k == 0 {
            column
        } else {
            let op = Op::Unslice { axis: 1, start: k, step: 1, extent: n };
            g.apply(op, &[column]).expect("a column's lower part fits into the column")
        };
        columns.push(reshape(g, padded, true, &[n, 1]));
        if size > 1 {
            let below = g.slice(column, 1, 1, size);
            let standing = reshape(g, below, true, &[size - 1, 1]);
            let lying = reshape(g, below, true, &[1, size - 1]);
            let outer = g.mul(standing, lying);
            let inner = g.slice(rest, 1, 1, size);
            let inner = g.slice(inner, 2, 1, size);
            rest = g.sub(inner, outer);
        }
    }
    Ok(Output::new(g.concat(&columns, 2), true))
}

/// $A^{-1}B$ for a vector or matrix B.
pub(super) fn left(
    g: &mut Graph,
    kind: Kind,
    a: &Argument,
    b: &Argument,
) -> Result<Output, LibraryError> {
    let n = square(g, "mdivide_left", a)?;
    let extents = b.extents(g).to_vec();
    if !matches!(b.ty, Type::Vector | Type::Matrix) {
        return Err(wrong("mdivide_left"));
    }
    if extents[0] != n {
        let (a, b) = (Shape::from([n, n]), Shape::from(extents));
        return Err(LibraryError::Mistake(format!("sizes {a} and {b} do not match")));
    }
    if a.batched {
        return left_by_steps(g, kind, a, b, n);
    }
    let solve = |g: &mut Graph, b: NodeId| match kind {
        Kind::Lower { transposed } => g.triangular_solve(a.node, b, transposed),
        Kind::Definite => {
            let factor = g.cholesky(a.node);
            let half = g.triangular_solve(factor, b, false);
            g.triangular_solve(factor, half, true)
        }
        Kind::General => g.solve(a.node, b),
    };
    if !b.batched {
        return Ok(Output::new(solve(g, b.node), false));
    }
    // All lanes' columns side by side.
    let lanes = g.shape(b.node).extents()[0];
    let columns = extents.get(1).copied().unwrap_or(1);
    let table = g.reshape(b.node, [lanes, n, columns]);
    let wide = permute(g, table, false, &[1, 0, 2]);
    let wide = g.reshape(wide, [n, lanes * columns]);
    let solved = solve(g, wide);
    let solved = g.reshape(solved, [n, lanes, columns]);
    let solved = permute(g, solved, false, &[1, 0, 2]);
    Ok(Output::new(reshape(g, solved, true, &extents), true))
}

fn left_by_steps(
    g: &mut Graph,
    kind: Kind,
    a: &Argument,
    b: &Argument,
    n: usize,
) -> Result<Output, LibraryError> {
    if n > MAX_SIZE_BY_STEPS || kind == Kind::General {
        return Err(LibraryError::Unbatchable);
    }
    let lanes = a.lanes(g);
    let extents = b.extents(g).to_vec();
    let columns = extents.get(1).copied().unwrap_or(1);
    let b = with_lanes(g, b, lanes);
    let b = reshape(g, b, true, &[n, columns]);
    let solved = match kind {
        Kind::Lower { transposed } => substitute(g, a.node, b, n, transposed),
        _ => {
            let factor = cholesky(g, a)?.node;
            let half = substitute(g, factor, b, n, false);
            substitute(g, factor, half, n, true)
        }
    };
    Ok(Output::new(reshape(g, solved, true, &extents), true))
}

/// Solves with lower triangles `[lanes, n, n]` (or their transposes) for `[lanes, n, columns]`.
fn substitute(g: &mut Graph, lower: NodeId, b: NodeId, n: usize, transposed: bool) -> NodeId {
    let mut rest = b;
    let mut rows = Vec::with_capacity(n);
    for step in 0..n {
        let size = n - step;
        // The row that is solved, as the matrix has it and as what remains has it.
        let (row, rest_row) = if transposed { (size - 1, size - 1) } else { (step, 0) };
        let pivot = g.slice(lower, 1, row, row + 1);
        let pivot = g.slice(pivot, 2, row, row + 1);
        let known = g.slice(rest, 1, rest_row, rest_row + 1);
        let known = g.div(known, pivot);
        rows.push(known);
        if size > 1 {
            let (others, factors) = if transposed {
                let factors = g.slice(lower, 1, row, row + 1);
                let factors = g.slice(factors, 2, 0, row);
                (g.slice(rest, 1, 0, size - 1), reshape(g, factors, true, &[size - 1, 1]))
            } else {
                let factors = g.slice(lower, 2, row, row + 1);
                (g.slice(rest, 1, 1, size), g.slice(factors, 1, row + 1, n))
            };
            let gone = g.mul(factors, known);
            rest = g.sub(others, gone);
        }
    }
    if transposed {
        rows.reverse();
    }
    g.concat(&rows, 1)
}

/// $BA^{-1}$ as the transpose of `A' X' = B'`, where `a` is what is solved with on the left.
fn right(g: &mut Graph, kind: Kind, b: &Argument, a: &Argument) -> Result<Output, LibraryError> {
    let b = turned(g, b);
    let solved = left(g, kind, a, &b)?;
    let solved = Argument { node: solved.node, batched: solved.batched, ty: b.ty };
    let solved = turned(g, &solved);
    Ok(Output::new(solved.node, solved.batched))
}

fn inverse(g: &mut Graph, kind: Kind, a: &Argument) -> Result<Output, LibraryError> {
    let n = square(g, "inverse", a)?;
    let identity = Argument { node: identity(g, n), ty: Type::Matrix, batched: false };
    left(g, kind, a, &identity)
}

/// The determinant: its sign from the pivots, its size from their logs.
fn determinant(g: &mut Graph, a: NodeId) -> NodeId {
    let n = g.shape(a).extents()[0];
    let log_size = g.log_abs_det(a);
    let size = g.exp(log_size);
    let factors = g.apply(Op::Lu, &[a]).expect("the matrix is square");
    let pivots = g.slice(factors, 1, 0, n);
    let pivots = g.diagonal(pivots);
    let swapped = g.slice(factors, 1, n, n + 1);
    let swapped = g.reshape(swapped, [n]);
    let in_place: Vec<f64> = (0..n).map(|k| k as f64).collect();
    let in_place = g.constant(exmc_graph::Tensor::vector(&in_place));
    let (zero, moved) = (g.scalar(0.0), g.binary(exmc_graph::Binary::Ne, swapped, in_place));
    let negative = g.lt(pivots, zero);
    let flips = g.add(moved, negative);
    let flips = g.reduce(Reduction::Sum, flips, &[0]);
    // Minus one to the number of flips.
    let half = g.scale(flips, 0.5);
    let even = g.floor(half);
    let parity = g.sub(half, even);
    let sign = g.scale(parity, -4.0);
    let sign = g.shift(sign, 1.0);
    g.mul(sign, size)
}
