//! Matrices with structure: correlation and covariance matrices from their factors, columns that
//! are simplexes, matrices whose rows and columns sum to zero.
//!
//! **Reference**: Stan reference manual, "Correlation matrices", "Covariance matrices", "Stochastic
//! matrix", "Sum-to-zero matrix".

use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};

use super::{cholesky, simplex_softmax, sum_to_zero};

/// [`Transform::CorrelationMatrix`](super::Transform::CorrelationMatrix): $LL'$ of a factor whose
/// partial correlations stand column by column in `z`, as Stan has it. Log slope $\sum_{j<i}(1 +
/// \tfrac{n-2-j}2)\log(1-w_{ij}^2)$ (rows and columns from 0): that of the factor, and $\prod_k
/// L_{kk}^{n-1-k}$ from the factor to the matrix.
pub(super) fn correlation(g: &mut Graph, z: NodeId, shape: &Shape) -> (NodeId, Option<NodeId>) {
    let n = shape.extents()[0];
    let by_rows = if n > 2 { take(g, z, &columns_to_rows(n)) } else { z };
    let weight = |_: usize, j: usize| 1.0 + 0.5 * (n - 2 - j) as f64;
    let (factor, log_slope) = cholesky::correlation_weighted(g, by_rows, shape, weight);
    (product(g, factor), log_slope)
}

/// The inverse of [`correlation`].
pub(super) fn correlation_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let n = g.shape(x).extents()[0];
    let factor = g.cholesky(x);
    let by_rows = cholesky::correlation_inverse(g, factor);
    if n < 3 {
        return by_rows;
    }
    let mut back = vec![0; n * (n - 1) / 2];
    for (row_wise, column_wise) in columns_to_rows(n).into_iter().enumerate() {
        back[column_wise] = row_wise;
    }
    take(g, by_rows, &back)
}

/// [`Transform::CovarianceMatrix`](super::Transform::CovarianceMatrix): $LL'$; log slope
/// $n\log2 + \sum_k(n-k+1)\log L_{kk}$ (k from 0), of which one each is the factor's own.
pub(super) fn covariance(g: &mut Graph, z: NodeId, shape: &Shape) -> (NodeId, Option<NodeId>) {
    let n = shape.extents()[0];
    let (factor, log_diagonal) = cholesky::covariance(g, z, shape);
    let powers: Vec<f64> = (0..n).map(|k| (n - k + 1) as f64).collect();
    let powers = g.constant(Tensor::vector(&powers));
    let log_slope = log_diagonal.map(|logs| {
        let terms = g.mul(powers, logs);
        g.shift(terms, std::f64::consts::LN_2)
    });
    (product(g, factor), log_slope)
}

/// The inverse of [`covariance`].
pub(super) fn covariance_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let factor = g.cholesky(x);
    cholesky::covariance_inverse(g, factor)
}

/// [`Transform::ColumnSimplex`](super::Transform::ColumnSimplex).
pub(super) fn columns(g: &mut Graph, z: NodeId, shape: &Shape) -> (NodeId, Option<NodeId>) {
    let turned = turn(g, z);
    let mut extents = shape.extents().to_vec();
    let rank = extents.len();
    extents.swap(rank - 1, rank - 2);
    let (value, log_slope) = simplex_softmax::constrain(g, turned, &Shape::from(extents));
    (turn(g, value), log_slope)
}

/// The inverse of [`columns`].
pub(super) fn columns_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let turned = turn(g, x);
    let z = simplex_softmax::unconstrain(g, turned);
    turn(g, z)
}

/// [`Transform::SumToZeroMatrix`](super::Transform::SumToZeroMatrix): the map of vectors along
/// rows, then along columns; both are isometric.
pub(super) fn sum_to_zero(g: &mut Graph, z: NodeId, shape: &Shape) -> NodeId {
    let extents = shape.extents();
    let rank = extents.len();
    let (rows, columns) = (extents[rank - 2], extents[rank - 1]);
    let batch = Shape::from(&extents[..rank - 2]);
    let along_rows = sum_to_zero::constrain(g, z, &batch.join(&[rows - 1, columns]));
    let turned = turn(g, along_rows);
    let value = sum_to_zero::constrain(g, turned, &batch.join(&[columns, rows]));
    let value = turn(g, value);
    let value = moved_round(g, value, rank - 2, rows.min(1));
    moved_round(g, value, rank - 1, columns.min(1))
}

/// The part of an axis from a place on, then the part before it. Stan's matrices have the
/// remainders, that a vector begins with, in the last row and column.
fn moved_round(g: &mut Graph, x: NodeId, axis: usize, first: usize) -> NodeId {
    let n = g.shape(x).extents()[axis];
    if first == 0 || first == n {
        return x;
    }
    let (before, after) = (g.slice(x, axis, 0, first), g.slice(x, axis, first, n));
    g.concat(&[after, before], axis)
}

/// The inverse of [`sum_to_zero`].
pub(super) fn sum_to_zero_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let rank = g.shape(x).rank();
    let (rows, columns) = (g.shape(x).extents()[rank - 2], g.shape(x).extents()[rank - 1]);
    let x = moved_round(g, x, rank - 2, rows.saturating_sub(1));
    let x = moved_round(g, x, rank - 1, columns.saturating_sub(1));
    let turned = turn(g, x);
    let along_columns = sum_to_zero::unconstrain(g, turned);
    let turned = turn(g, along_columns);
    sum_to_zero::unconstrain(g, turned)
}

/// The last two axes swapped.
fn turn(g: &mut Graph, x: NodeId) -> NodeId {
    let rank = g.shape(x).rank();
    let mut order: Vec<usize> = (0..rank).collect();
    order.swap(rank - 1, rank - 2);
    g.apply(Op::Permute(order), &[x]).expect("an order of the value's own axes")
}

fn product(g: &mut Graph, factor: NodeId) -> NodeId {
    let turned = g.transpose(factor);
    g.matmul(factor, turned)
}

/// For each cell below the diagonal, row by row, its place when they stand column by column.
fn columns_to_rows(n: usize) -> Vec<usize> {
    let before = |j: usize| j * (2 * n - j - 1) / 2;
    (1..n).flat_map(|i| (0..i).map(move |j| before(j) + i - j - 1)).collect()
}

fn take(g: &mut Graph, vector: NodeId, positions: &[usize]) -> NodeId {
    let index = g.constant(Tensor::indices(positions));
    g.gather(vector, index)
}
