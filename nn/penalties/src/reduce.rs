//! Sums, maxima and norms that every device computes alike: blocks of 64 instead of one long pass.
//!
//! One pass over a long axis loses digits on some backends (flex in `f32`: $5\cdot10^{-6}$ at
//! $2^{22}$ elements) and is silently wrong on others (Mesa's lavapipe above $2^{18}$ elements).
//! Blocks of 64 keep the error near a few units in the last place, and their gradient is a
//! broadcast, as that of one pass.

use burn::tensor::{DType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::fault;
use crate::primitive::flatten;

/// How many elements one pass adds.
const BLOCK: usize = 64;

/// How the elements of a tensor become one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reduce {
    /// Their sum: as a negative log prior, and the default.
    #[default]
    Sum,
    /// Their mean; NaN where there are none.
    Mean,
}

impl Reduce {
    /// Reduces all elements. **Shape**: any to `[1]`.
    pub(crate) fn all(self, flat: Tensor<1>) -> Tensor<1> {
        let count = flat.dims()[0];
        let total = sum(flat);
        match self {
            Self::Mean if !fault::planted("sum-for-mean") => total.mul_scalar(1.0 / count as f64),
            Self::Sum | Self::Mean => total,
        }
    }

    /// What the sum is multiplied by for `count` elements.
    pub(crate) fn factor(self, count: usize) -> f64 {
        match self {
            Self::Sum => 1.0,
            Self::Mean => 1.0 / count as f64,
        }
    }
}

/// How the rows of a divergence become the result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowReduce {
    /// The mean over all rows (all axes but the last), the default.
    #[default]
    Mean,
    /// The sum over all rows.
    Sum,
    /// One value for each row, rows in row-major order.
    None,
}

impl RowReduce {
    /// Reduces values of rows. **Shape**: `[rows]` to `[1]`, or to `[rows]` for `None`.
    pub(crate) fn rows(self, rows: Tensor<1>) -> Tensor<1> {
        match self {
            Self::Mean => Reduce::Mean.all(rows),
            Self::Sum => sum(rows),
            Self::None => rows,
        }
    }
}

/// The tensor in a type that sums can be taken in: `f16` and `bf16` become `f32`.
///
/// $\sum x^2$ of 300 elements of 16 overflows `f16`; so every penalty works in `f32` at least, and
/// its value has that type. The gradient comes back in the tensor's own type.
pub fn wide<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    match x.dtype() {
        DType::F16 | DType::BF16 => x.cast(DType::F32),
        _ => x,
    }
}

/// $\sum_i x_i$ in blocks. **Shape**: `[n]` to `[1]`; 0 for no elements.
pub(crate) fn sum(flat: Tensor<1>) -> Tensor<1> {
    let count = flat.dims()[0];
    if count == 0 { nothing([1], &flat) } else { sum_rows(flat.reshape([1, count])) }
}

/// Zeros (or nothing at all) of the type and on the device of another tensor.
pub(crate) fn nothing<const D: usize, const E: usize>(
    shape: [usize; D],
    like: &Tensor<E>,
) -> Tensor<D> {
    Tensor::zeros(shape, (&like.device(), like.dtype()))
}

/// $\sum_j x_{ij}$ in blocks. **Shape**: `[rows, n]` to `[rows]`.
pub(crate) fn sum_rows(x: Tensor<2>) -> Tensor<1> {
    fold_rows(x, |x| x.sum_dim(1))
}

/// Products that one element of a matrix product adds in one pass.
const LONG: usize = 1024;

/// $AB$, whose inner axis is split into blocks of 1024: a device's own product loses digits where
/// it adds all of a long one in order (flex in `f64`: $4\cdot10^{-14}$ at $2^{18}$).
///
/// **Shape**: `[n, k]` and `[k, m]` to `[n, m]`.
pub(crate) fn product(a: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    let ([n, k], [_, m]) = (a.dims(), b.dims());
    if k <= LONG {
        return a.matmul(b);
    }
    let (blocks, covered) = (k / LONG, k / LONG * LONG);
    let left = a.clone().narrow(1, 0, covered).reshape([n, blocks, LONG]).swap_dims(0, 1);
    let right = b.clone().narrow(0, 0, covered).reshape([blocks, LONG, m]);
    let parts = left.matmul(right).reshape([blocks, n * m]).transpose();
    let total = sum_rows(parts).reshape([n, m]);
    if covered == k {
        return total;
    }
    total + a.narrow(1, covered, k - covered).matmul(b.narrow(0, covered, k - covered))
}

/// $\max_j x_{ij}$ in blocks. **Shape**: `[rows, n]` with n > 0 to `[rows]`.
pub(crate) fn max_rows(x: Tensor<2>) -> Tensor<1> {
    fold_rows(x, |x| x.max_dim(1))
}

fn fold_rows(mut x: Tensor<2>, pass: fn(Tensor<2>) -> Tensor<2>) -> Tensor<1> {
    let [rows, mut width] = x.dims();
    if rows * width == 0 {
        return nothing([rows], &x);
    }
    while width > BLOCK {
        if let Some(block) = even(width) {
            x = pass(x.reshape([rows * (width / block), block])).reshape([rows, width / block]);
            width /= block;
            continue;
        }
        let (blocks, rest) = (width / BLOCK, width % BLOCK);
        let tail = (rest > 0).then(|| pass(x.clone().narrow(1, blocks * BLOCK, rest)));
        let head = if rest > 0 { x.narrow(1, 0, blocks * BLOCK) } else { x };
        let head = pass(head.reshape([rows * blocks, BLOCK])).reshape([rows, blocks]);
        x = match tail {
            Some(tail) => Tensor::cat(vec![head, tail], 1),
            None => head,
        };
        width = x.dims()[1];
    }
    pass(x).reshape([rows])
}

/// The largest block that divides a width: cutting a rest off copies everything, in the gradient
/// as well. Below a quarter of a full block it would take too many passes.
fn even(width: usize) -> Option<usize> {
    (BLOCK / 4..=BLOCK).rev().find(|block| width.is_multiple_of(*block))
}

/// A value whose gradient was computed in closed form: `value` plus a term that is zero and has
/// the gradient `slope` with respect to `x`.
///
/// Both must have been computed without a graph, and the sum of `x` times `slope` be finite. The
/// term is a product of a row and a column, so that its gradient is written in one pass: for slopes
/// that are products of matrices themselves, since a device may round what it multiplies so.
/// **Shape**: `[1]`.
pub(crate) fn with_slope(value: Tensor<1>, x: Tensor<2>, slope: Tensor<2>) -> Tensor<1> {
    let count = x.shape().num_elements();
    if count == 0 || !x.is_tracked() {
        return value;
    }
    let along = x.reshape([1, count]).matmul(slope.reshape([count, 1])).reshape([1]);
    value + (along.clone() - along.detach())
}

/// As [`with_slope`], for slopes that no device may round: the term is a sum of products of two
/// numbers each.
pub(crate) fn with_steady_slope(value: Tensor<1>, x: Tensor<2>, slope: Tensor<2>) -> Tensor<1> {
    if !x.is_tracked() {
        return value;
    }
    let along = sum(flatten(x * slope));
    value + (along.clone() - along.detach())
}

/// $\lVert x_i \rVert_2$ of each row, without overflow or underflow, 0 with gradient 0 for a row of
/// zeros.
///
/// The row is divided by its largest magnitude, which the gradient treats as constant:
/// $m\sqrt{\sum_j (x_j/m)^2}$ has the gradient $x/\lVert x\rVert$ whatever $m$ is. Both the root
/// and what follows it are masked where the norm is 0, so that no $0\cdot\infty$ reaches the
/// gradient.
pub(crate) fn norm_rows(x: Tensor<2>) -> Tensor<1> {
    let [rows, width] = x.dims();
    if rows * width == 0 {
        return nothing([rows], &x);
    }
    let scale = scales(&x);
    let scaled = x / scale.clone();
    let squares = sum_rows(scaled.clone() * scaled);
    let zero = squares.clone().detach().equal_scalar(0.0);
    let root = if fault::planted("norm-without-mask") {
        squares.sqrt()
    } else {
        squares.mask_fill(zero.clone(), 1.0).sqrt().mask_fill(zero, 0.0)
    };
    root * scale.reshape([rows])
}

/// What each row is divided by so that its squares are in range: its largest magnitude, 1 where
/// that is 0 or infinite. **Shape**: `[rows, n]` with n > 0 to `[rows, 1]`, without a graph.
pub(crate) fn scales(x: &Tensor<2>) -> Tensor<2> {
    let largest = max_rows(x.clone().detach().abs());
    let unusable = largest.clone().equal_scalar(0.0).bool_or(largest.clone().is_inf());
    let count = largest.dims()[0];
    largest.mask_fill(unusable, 1.0).reshape([count, 1])
}

/// $\lVert x \rVert_2$ of all elements. **Shape**: `[n]` to `[1]`.
pub(crate) fn norm(flat: Tensor<1>) -> Tensor<1> {
    // Rows first, so that each is divided by a magnitude of its own, then their norms.
    let count = flat.dims()[0];
    if count == 0 { nothing([1], &flat) } else { norm_rows(flat.reshape([1, count])) }
}

/// A constant of the type and on the device of another tensor.
pub(crate) fn constant<const D: usize, const E: usize>(
    values: Vec<f64>,
    shape: [usize; D],
    like: &Tensor<E>,
) -> Tensor<D> {
    Tensor::from_data(TensorData::new(values, shape), (&like.device(), like.dtype()))
}
