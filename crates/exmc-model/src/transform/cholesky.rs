//! Cholesky factors of correlation and covariance matrices: a vector -> a lower triangle, and back.
//!
//! The vector holds the triangle row by row, as in Stan. A correlation matrix's factor has rows of
//! length one: $w = \tanh z$ are canonical partial correlations, and $x_{ij} =
//! w_{ij}\prod_{m<j}\sqrt{1-w_{im}^2}$ with $w_{ii} = 1$. The products are running sums of
//! $\log(1-w^2) = \log 4 + 2z - 2\,\mathrm{softplus}(2z)$ along the rows, which is accurate however
//! near $|w|$ is to one. **Reference**: Lewandowski, Kurowicka and Joe 2009; Stan reference manual,
//! "Cholesky factors of correlation matrices".

use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};

use super::positive;

/// [`Transform::CorrelationCholesky`](super::Transform::CorrelationCholesky); log slope
/// $\sum_{j<i}(1 + \tfrac{i-1-j}2)\log(1-w_{ij}^2)$: one factor from tanh, a half from each element
/// to the right in the row.
pub(super) fn correlation(g: &mut Graph, z: NodeId, shape: &Shape) -> (NodeId, Option<NodeId>) {
    correlation_weighted(g, z, shape, |i, j| 1.0 + 0.5 * (i - 1 - j) as f64)
}

/// The same with another weight of $\log(1-w_{ij}^2)$ in the log slope, by row and column.
pub(super) fn correlation_weighted(
    g: &mut Graph,
    z: NodeId,
    shape: &Shape,
    weight: impl Fn(usize, usize) -> f64,
) -> (NodeId, Option<NodeId>) {
    let n = shape.extents()[0];
    let identity: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k % (n + 1) == 0))).collect();
    let identity = g.constant(Tensor::real([n, n], identity).expect("n times n values were made"));
    if n == 1 {
        return (identity, None);
    }
    let cells = below_diagonal(n);
    let partial = g.tanh(z);
    let partial = place(g, partial, &cells, n);
    let partial = g.add(identity, partial);

    let twice = g.scale(z, 2.0);
    let softplus = g.softplus(twice);
    let loss = g.scale(softplus, 2.0);
    let log_rest = g.sub(twice, loss);
    let log_rest = g.shift(log_rest, 2.0 * std::f64::consts::LN_2);

    let half = g.scale(log_rest, 0.5);
    let half = place(g, half, &cells, n);
    let sums = g.cumulative_sum(half, 1);
    let sums = g.slice(sums, 1, 0, n - 1);
    let first_column = g.filled(&Shape::from([n, 1]), 0.0);
    let log_left = g.concat(&[first_column, sums], 1);
    let low = g.scalar(-positive::FAR);
    let log_left = g.max(log_left, low);
    let left = g.exp(log_left);

    let weights: Vec<f64> = cells.iter().map(|[i, j]| weight(*i, *j)).collect();
    let weights = g.constant(Tensor::vector(&weights));
    (g.mul(partial, left), Some(g.mul(weights, log_rest)))
}

/// The inverse: $\operatorname{artanh} w_{ij} = \operatorname{arsinh}(x_{ij}/\sqrt{\sum_{m>j}
/// x_{im}^2})$.
pub(super) fn correlation_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let n = g.shape(x).extents()[0];
    if n == 1 {
        return g.filled(&Shape::from([0]), 0.0);
    }
    let cells = below_diagonal(n);
    let to_the_right: Vec<[usize; 2]> = cells.iter().map(|[i, j]| [*i, j + 1]).collect();
    let squares = g.square(x);
    let left =
        g.apply(Op::CumSum { axis: 1, reverse: true }, &[squares]).expect("a matrix has an axis 1");
    let left = pick(g, left, &to_the_right, n);
    let left = g.sqrt(left);
    let value = pick(g, x, &cells, n);
    let ratio = g.div(value, left);
    arsinh(g, ratio)
}

/// [`Transform::CovarianceCholesky`](super::Transform::CovarianceCholesky): elements below the
/// diagonal are free, those on it exponentials; log slope $\sum_i z_{ii}$.
pub(super) fn covariance(g: &mut Graph, z: NodeId, shape: &Shape) -> (NodeId, Option<NodeId>) {
    let &[m, n] = shape.extents() else { unreachable!("the shape was checked") };
    let on: Vec<[usize; 2]> = (0..n).map(|i| [i, i]).collect();
    let diagonal = take(g, z, &positions(&on, n));
    let (diagonal, log_slope) = positive::exp(g, diagonal);
    let cells = below_diagonal_of(m, n);
    if cells.is_empty() {
        return (g.reshape(diagonal, shape.clone()), Some(log_slope));
    }
    let free = take(g, z, &positions(&cells, n));
    let values = g.concat(&[free, diagonal], 0);
    let flat: Vec<usize> = [cells, on].concat().iter().map(|[i, j]| i * n + j).collect();
    let flat = scatter(g, values, &flat, m * n);
    (g.reshape(flat, shape.clone()), Some(log_slope))
}

/// The inverse of [`covariance`].
pub(super) fn covariance_inverse(g: &mut Graph, x: NodeId) -> NodeId {
    let &[m, n] = g.shape(x).extents() else { unreachable!("the shape was checked") };
    let on: Vec<[usize; 2]> = (0..n).map(|i| [i, i]).collect();
    let flat = g.reshape(x, [m * n]);
    let offsets = |cells: &[[usize; 2]]| cells.iter().map(|[i, j]| i * n + j).collect::<Vec<_>>();
    let diagonal = take(g, flat, &offsets(&on));
    let logs = g.log(diagonal);
    let cells = below_diagonal_of(m, n);
    if cells.is_empty() {
        return logs;
    }
    let free = take(g, flat, &offsets(&cells));
    let values = g.concat(&[free, logs], 0);
    let order = positions(&[cells, on].concat(), n);
    let len = order.len();
    scatter(g, values, &order, len)
}

/// $\operatorname{arsinh}(t)$ as $\operatorname{sign}(t)\log(1 + |t| + t^2/(1+\sqrt{1+t^2}))$,
/// which keeps the digits of small `t`; large ones may be up to $10^{154}$.
fn arsinh(g: &mut Graph, t: NodeId) -> NodeId {
    let size = g.abs(t);
    let square = g.square(t);
    let root = g.shift(square, 1.0);
    let root = g.sqrt(root);
    let root = g.shift(root, 1.0);
    let rest = g.div(square, root);
    let total = g.add(size, rest);
    let value = g.log1p(total);
    let sign = g.sign(t);
    g.mul(sign, value)
}

/// Row and column of every element below the diagonal, row by row.
fn below_diagonal(n: usize) -> Vec<[usize; 2]> {
    below_diagonal_of(n, n)
}

/// The same of a matrix of m rows and n columns.
fn below_diagonal_of(m: usize, n: usize) -> Vec<[usize; 2]> {
    (1..m).flat_map(|i| (0..i.min(n)).map(move |j| [i, j])).collect()
}

/// Where elements on and below the diagonal of a matrix of n columns stand when the rows follow
/// each other.
fn positions(cells: &[[usize; 2]], n: usize) -> Vec<usize> {
    let start = |row: usize| match row.checked_sub(n) {
        Some(below) => n * (n + 1) / 2 + below * n,
        None => row * (row + 1) / 2,
    };
    cells.iter().map(|[row, column]| start(*row) + column).collect()
}

/// A matrix with the values in the given cells and zeros elsewhere.
fn place(g: &mut Graph, values: NodeId, cells: &[[usize; 2]], n: usize) -> NodeId {
    let flat: Vec<usize> = cells.iter().map(|[i, j]| i * n + j).collect();
    let flat = scatter(g, values, &flat, n * n);
    g.reshape(flat, [n, n])
}

/// The elements of a matrix in the given cells.
fn pick(g: &mut Graph, matrix: NodeId, cells: &[[usize; 2]], n: usize) -> NodeId {
    let flat: Vec<usize> = cells.iter().map(|[i, j]| i * n + j).collect();
    let elements = g.reshape(matrix, [n * n]);
    take(g, elements, &flat)
}

fn take(g: &mut Graph, vector: NodeId, positions: &[usize]) -> NodeId {
    let index = g.constant(Tensor::indices(positions));
    g.gather(vector, index)
}

fn scatter(g: &mut Graph, values: NodeId, positions: &[usize], len: usize) -> NodeId {
    let index = g.constant(Tensor::indices(positions));
    g.apply(Op::ScatterAdd { len }, &[values, index]).expect("one position was made for each value")
}
