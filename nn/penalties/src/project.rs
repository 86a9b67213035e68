//! Proximal operators and projections: a tensor and a step -> the tensor after it, with exact
//! zeros.
//!
//! $\operatorname{prox}_{s\,R}(x) = \arg\min_z \tfrac12\lVert z - x\rVert^2 + s R(z)$. Nothing here
//! has a graph: give it tensors without one. All but [`nuclear`] stay on the device.

use burn::tensor::{Int, Tensor};

use crate::fault;
use crate::reduce::norm_rows;

/// Soft thresholding, the proximal step of L1: $\operatorname{sign}(x)\max(|x| - s, 0)$.
///
/// **Shape**: kept. **Edges**: exact zeros where $|x| \le s$; NaN stays NaN. **Reference**: Donoho
/// 1995.
pub fn soft_threshold<const D: usize>(x: Tensor<D>, step: f64) -> Tensor<D> {
    if fault::planted("soft-threshold-keeps-small") {
        let small = x.clone().abs().lower_equal_scalar(step);
        let moved = x.clone() - x.clone().clamp(-step, step);
        return moved.mask_where(small, x);
    }
    x.clone() - x.clamp(-step, step)
}

/// The proximal step of squares about a centre: $c + (x - c)/(1 + 2s)$.
pub fn shrink<const D: usize>(x: Tensor<D>, centre: f64, step: f64) -> Tensor<D> {
    x.sub_scalar(centre).mul_scalar(1.0 / (1.0 + 2.0 * step)).add_scalar(centre)
}

/// Block soft thresholding, the proximal step of the group lasso: $x_g\max(1 - s/\lVert x_g\rVert,
/// 0)$ for each row.
///
/// **Shape**: `[groups, size]`, kept. **Edges**: exact zeros where $\lVert x_g\rVert \le s$.
/// **Reference**: Yuan and Lin 2006.
pub fn block_soft_threshold(x: Tensor<2>, step: f64) -> Tensor<2> {
    let [count, _] = x.dims();
    let lengths = norm_rows(x.clone()).reshape([count, 1]);
    let gone = lengths.clone().lower_equal_scalar(step);
    let factor = lengths.mask_fill(gone.clone(), 1.0).recip().mul_scalar(-step).add_scalar(1.0);
    x * factor.mask_fill(gone, 0.0)
}

/// The projection of each row on the ball of radius `limit`: a longer row is scaled to it.
///
/// **Shape**: `[groups, size]`, kept. A row that is short enough keeps its bits. **Reference**:
/// Srebro, Rennie and Jaakkola 2005.
pub fn max_norm(x: Tensor<2>, limit: f64) -> Tensor<2> {
    let [count, _] = x.dims();
    let lengths = norm_rows(x.clone()).reshape([count, 1]);
    let inside = lengths.clone().lower_equal_scalar(limit);
    let factor = lengths.mask_fill(inside.clone(), 1.0).recip().mul_scalar(limit);
    x * factor.mask_fill(inside, 1.0)
}

/// The projection of each row on the simplex $\{z \ge 0, \sum z = 1\}$.
///
/// $\max(x - \tau, 0)$, where $\tau$ makes the sum one: sorted descending, the last $k$ with
/// $x_{(k)} > (\sum_{j\le k} x_{(j)} - 1)/k$ gives it. **Shape**: `[rows, size]`, kept. **Edges**:
/// exact zeros. **Numerics**: rows are first moved so that their largest element is 0, so huge rows
/// lose nothing. **Reference**: Duchi et al. 2008.
pub fn simplex(x: Tensor<2>) -> Tensor<2> {
    let [count, width] = x.dims();
    if count * width == 0 {
        return x;
    }
    let largest = crate::reduce::max_rows(x.clone()).reshape([count, 1]);
    let x = x - largest;
    let sorted = x.clone().sort_descending(1);
    let ranks = crate::reduce::constant((1..=width).map(|k| k as f64).collect(), [1, width], &x);
    let thresholds = sorted.clone().cumsum(1).sub_scalar(1.0) / ranks;
    let kept: Tensor<2, Int> = sorted.greater(thresholds.clone()).int().sum_dim(1).sub_scalar(1);
    let threshold = thresholds.gather(1, kept.clamp_min(0));
    (x - threshold).clamp_min(0.0)
}

/// Soft thresholding of singular values, the proximal step of the nuclear norm: exact lower ranks.
///
/// **Shape**: a matrix, kept. **Numerics**: singular values by Burn's decomposition on the host, so
/// the matrix is read back; when it does not converge within 60 sweeps a value, Burn panics.
/// **Reference**: Cai, Candès and Shen 2010.
pub fn nuclear(x: Tensor<2>, step: f64) -> Tensor<2> {
    let [count, width] = x.dims();
    if count * width == 0 {
        return x;
    }
    let (u, values, v) = burn::linalg::svd::<2, 1>(x, 60);
    let kept = soft_threshold(values, step);
    let [rank] = kept.dims();
    (u * kept.reshape([1, rank])).matmul(v)
}
