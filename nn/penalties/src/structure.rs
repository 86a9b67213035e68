//! Penalties of whole tensors: groups, differences, lengths -> one number.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::primitive::flatten;
use crate::reduce::{
    Reduce, norm, norm_rows, nothing, product, scales, sum, sum_rows, wide, with_slope,
};

/// Group lasso: $\sum_g w_g \lVert x_g \rVert_2$, a group for each index of one axis.
///
/// `size_weighted` makes $w_g$ the root of a group's size, else it is 1. In Burn's `Linear`, whose
/// weight is `[inputs, outputs]`, axis 0 removes whole inputs and axis 1 whole outputs. **Shape**:
/// any to `[1]`. **Gradient**: $w_g x_g/\lVert x_g\rVert$, 0 for a group of zeros. **Numerics**: no
/// overflow or underflow of squares. **Errors**: an axis that the tensor does not have.
/// **Meaning**: multivariate Laplace. **Reference**: Yuan and Lin 2006.
pub fn group_lasso<const D: usize>(
    x: Tensor<D>,
    axis: usize,
    size_weighted: bool,
) -> Result<Tensor<1>, Error> {
    let dims = x.dims();
    let groups = groups("group lasso", flatten(wide(x)), &dims, axis)?;
    let [_, size] = groups.dims();
    let total = sum(norm_rows(groups));
    Ok(if size_weighted { total.mul_scalar((size as f64).sqrt()) } else { total })
}

/// Anisotropic total variation along one axis: $\sum |x_{i+1} - x_i|$, or the mean over all
/// differences.
///
/// **Shape**: any to `[1]`; 0 where the axis has one index (mean: NaN). **Gradient**: signs, 0
/// where neighbours are equal. **Errors**: an axis that the tensor does not have. **Reference**:
/// Rudin, Osher and Fatemi 1992.
pub fn total_variation<const D: usize>(
    x: Tensor<D>,
    axis: usize,
    reduce: Reduce,
) -> Result<Tensor<1>, Error> {
    let dims = x.dims();
    let [before, length, after] = around("total variation", &dims, axis)?;
    let x = flatten(wide(x));
    if length < 2 {
        // No differences: a sum of zero whose gradient is zero.
        let every = x.clone().is_nan().bool_or(x.clone().is_nan().bool_not());
        let mean = if reduce == Reduce::Mean { f64::NAN } else { 1.0 };
        return Ok(sum(x.mask_fill(every, 0.0)).mul_scalar(mean));
    }
    let x = x.reshape([before, length, after]);
    let next = x.clone().narrow(1, 1, length - 1);
    Ok(reduce.all(flatten((next - x.narrow(1, 0, length - 1)).abs())))
}

/// Whether the length of an output is its root mean square or its Euclidean norm.
///
/// `Mean`: $(\sqrt{\tfrac1n\sum y_i^2} - t)^2$; `Sum`: $(\lVert y\rVert_2 - t)^2$. **Shape**: any
/// to `[1]`. **Gradient**: 0 at $y = 0$, where the norm has none. **Edges**: no elements: NaN for
/// `Mean`.
pub fn output_magnitude<const D: usize>(y: Tensor<D>, target: f64, reduce: Reduce) -> Tensor<1> {
    let flat = flatten(wide(y));
    let factor = reduce.factor(flat.dims()[0]).sqrt();
    let away = norm(flat).mul_scalar(factor).sub_scalar(target);
    away.clone() * away
}

/// How far rows are from orthogonal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Orthogonality {
    /// $\sum_{i\ne j} G_{ij}^2$ with the Gram matrix $G = XX^\top$, the default.
    #[default]
    Soft,
    /// $\lVert G - I\rVert_F^2$.
    Hard,
    /// $(\operatorname{tr} G - n)^2$ + soft.
    Spectral,
}

/// What the rows of an orthogonality penalty are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowsOf {
    /// The last axis is a row; all others count rows. The default.
    #[default]
    Rows,
    /// `[batch, sequence, vocabulary]` to `[sequence, batch · vocabulary]`; a matrix as it is.
    Sequence,
    /// `[batch, sequence, vocabulary]` to `[vocabulary, batch · sequence]`; a matrix transposed.
    Vocabulary,
}

/// Rows shorter than this are divided by it.
const SHORT: f64 = 1e-8;

/// How far the rows of a tensor are from orthogonal; see [`Orthogonality`] and [`RowsOf`].
///
/// `normalise` first divides each row by $\max(\lVert x_i\rVert, 10^{-8})$, which makes the three
/// modes equal but for rows of zeros. **Shape**: any to `[1]`; a rank other than 3 and 2 is taken
/// as rows. **Gradient**: in closed form, 0 for a row of zeros. **Cost**: two products of $n^2 m$
/// for $n$ rows of $m$.
/// **Reference**: Bansal, Chen and Wang 2018.
pub fn orthogonality<const D: usize>(
    x: Tensor<D>,
    mode: Orthogonality,
    normalise: bool,
    rows_of: RowsOf,
) -> Tensor<1> {
    let dims = x.dims();
    let rows = matrix(flatten(wide(x)), &dims, rows_of);
    let [count, width] = rows.dims();
    if count * width == 0 {
        return nothing([1], &rows);
    }
    // A row is a multiple of one of `parts`: itself, or its share of its largest element.
    let plain = rows.clone().detach();
    let scale = normalise.then(|| scales(&plain));
    let parts = match &scale {
        Some(scale) => plain / scale.clone(),
        None => plain,
    };
    let mut gram = product(parts.clone(), parts.clone().transpose());
    let eye = Tensor::<2>::eye(count, &gram.device()).cast(gram.dtype());
    let lengths = scale.map(|scale| {
        let squares = sum_rows(gram.clone() * eye.clone()).reshape([count, 1]);
        let lengths = squares.sqrt() * scale.clone();
        let divisors = lengths.clone().clamp_min(SHORT);
        let factors = scale / divisors.clone();
        gram = gram.clone() * factors.clone() * factors.clone().transpose();
        (lengths, divisors, factors)
    });
    let off = if crate::fault::planted("diagonal-kept") {
        gram.clone()
    } else {
        gram.clone() * eye.clone().neg().add_scalar(1.0)
    };
    // `away` is half of the value's derivative by the Gram matrix.
    let square = |x: &Tensor<2>| sum(flatten(x.clone() * x.clone()));
    let (value, away) = match mode {
        Orthogonality::Soft => (square(&off), off),
        Orthogonality::Hard => {
            let away = gram.clone() - eye.clone();
            (square(&away), away)
        }
        Orthogonality::Spectral => {
            let trace = sum(flatten(gram.clone() * eye.clone())).sub_scalar(count as f64);
            let away = off.clone() + eye.clone() * trace.clone().reshape([1, 1]);
            (trace.clone() * trace + square(&off), away)
        }
    };
    if !rows.is_tracked() {
        return value;
    }
    let mut by_rows = away.mul_scalar(4.0);
    if let Some((lengths, divisors, factors)) = lengths {
        // What changes a row's length only changes nothing, but for short rows.
        let radial = sum_rows(by_rows.clone() * gram).reshape([count, 1]);
        let radial = radial.mask_fill(lengths.lower_equal_scalar(SHORT), 0.0);
        by_rows = (by_rows - eye * radial) / divisors * factors.transpose();
    }
    with_slope(value, rows, product(by_rows, parts))
}

/// Half of the squared distance to a set, $\tfrac12\lVert x - P(x)\rVert^2$, with its projection
/// $P$ given.
///
/// Its gradient is $x - P(x)$ although $P(x)$ is treated as constant (Moreau): so a constraint can
/// act in a loss as well.
pub(crate) fn half_squared_distance(x: Tensor<2>, projected: Tensor<2>) -> Tensor<1> {
    let away = flatten(x - projected.detach());
    sum(away.clone() * away).mul_scalar(0.5)
}

/// The tensor as rows of a matrix.
fn matrix(flat: Tensor<1>, dims: &[usize], rows_of: RowsOf) -> Tensor<2> {
    match (rows_of, dims) {
        (RowsOf::Sequence, &[b, s, v]) => {
            flat.reshape([b, s, v]).swap_dims(0, 1).reshape([s, b * v])
        }
        (RowsOf::Vocabulary, &[b, s, v]) => {
            flat.reshape([b, s, v]).permute([2, 0, 1]).reshape([v, b * s])
        }
        (RowsOf::Vocabulary, &[n, m]) => flat.reshape([n, m]).transpose(),
        _ => last_axis(flat, dims),
    }
}

/// Sizes before, of and after an axis.
pub(crate) fn around(
    penalty: &'static str,
    dims: &[usize],
    axis: usize,
) -> Result<[usize; 3], Error> {
    if axis >= dims.len() {
        return Err(Error::Shape {
            penalty: penalty.to_owned(),
            dims: dims.to_vec(),
            expected: format!("an axis {axis}"),
        });
    }
    let before = dims[..axis].iter().product();
    let after = dims[axis + 1..].iter().product();
    if dims.contains(&0) {
        return Err(Error::Shape {
            penalty: penalty.to_owned(),
            dims: dims.to_vec(),
            expected: "at least one element".to_owned(),
        });
    }
    Ok([before, dims[axis], after])
}

/// One row for each index of an axis.
pub(crate) fn groups(
    penalty: &'static str,
    flat: Tensor<1>,
    dims: &[usize],
    axis: usize,
) -> Result<Tensor<2>, Error> {
    let [before, length, after] = around(penalty, dims, axis)?;
    Ok(flat.reshape([before, length, after]).swap_dims(0, 1).reshape([length, before * after]))
}

/// The inverse of [`groups`].
pub(crate) fn ungroup(groups: Tensor<2>, dims: &[usize], axis: usize) -> Tensor<1> {
    let before: usize = dims[..axis].iter().product();
    let after: usize = dims[axis + 1..].iter().product();
    flatten(groups.reshape([dims[axis], before, after]).swap_dims(0, 1))
}

/// All axes but the last in one.
pub(crate) fn last_axis(flat: Tensor<1>, dims: &[usize]) -> Tensor<2> {
    let width = dims.last().copied().unwrap_or(1);
    let count = flat.dims()[0].checked_div(width).unwrap_or(0);
    if count == 0 { nothing([0, width], &flat) } else { flat.reshape([count, width]) }
}
