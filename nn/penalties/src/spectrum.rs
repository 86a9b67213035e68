//! Norms of the singular values: a matrix -> spectral and nuclear norm, by products of matrices
//! alone.
//!
//! Both are linear in the matrix once a factor is known: $\sigma_1 = u^\top W v$ and $\lVert
//! W\rVert_* = \langle U V^\top, W\rangle$. The factor is found without a graph, and the gradient
//! is the factor itself, $uv^\top$ and $UV^\top$. Nothing is read back from the device.

use burn::tensor::Tensor;

use crate::divergence::rows;
use crate::primitive::flatten;
use crate::reduce::{constant, norm, product, sum, wide};

/// Squarings of the Gram matrix: the power $2^{12}$ leaves $10^{-16}$ of a second singular value
/// that is within 0.5 % of the first.
const SQUARINGS: usize = 12;
/// Steps on the matrix itself after the squarings, which take out what rounding left.
const POLISH: usize = 2;

/// Spectral norm $\sigma_1$, the largest singular value.
///
/// All axes but the last count rows. **Shape**: any to `[1]`. **Gradient**: $u_1 v_1^\top$; 0 for
/// zeros; where $\sigma_1$ is repeated, one of its subgradients. **Numerics**: power $2^{12}$ of
/// the smaller Gram matrix by repeated squaring, then $u^\top W v$, whose error is that of the
/// vectors squared. **Cost**: $12 k^3 + nm k$ for $k = \min(n, m)$. **Reference**: Yoshida and
/// Miyato 2017.
pub fn spectral_norm<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    let matrix = rows(wide(x));
    let [count, width] = matrix.dims();
    if count * width == 0 {
        return sum(flatten(matrix));
    }
    let fixed = scaled(matrix.clone().detach());
    let tall = if count < width { fixed.clone().transpose() } else { fixed.clone() };
    let mut gram = product(tall.clone().transpose(), tall.clone());
    for _ in 0..SQUARINGS {
        gram = scaled(gram.clone().matmul(gram));
    }
    let mut v = unit(gram.matmul(start(&tall)));
    for _ in 0..POLISH {
        v = unit(product(tall.clone().transpose(), tall.clone().matmul(v)));
    }
    let u = unit(tall.matmul(v.clone()));
    let (left, right) = if count < width { (v, u) } else { (u, v) };
    let factor = left.matmul(right.transpose());
    sum(flatten(matrix * factor))
}

/// Steps of the polar iteration that raise small singular values, by a factor of 3.4 each.
const RAISING: usize = 14;
/// Steps that bring values of about one to one; their error squares in each.
const CLOSING: usize = 8;

/// Nuclear norm $\sum_i \sigma_i$, the convex stand-in for the rank.
///
/// All axes but the last count rows. **Shape**: any to `[1]`. **Gradient**: $UV^\top$, of which
/// singular values below about $10^{-7}\sigma_1$ have a fraction. **Numerics**: the polar factor
/// $UV^\top$ by Newton–Schulz steps, fourteen of degree five that lift every singular value near
/// one and eight of degree three that take it there. **Cost**: 22 steps of two or three products of
/// the smaller Gram matrix. **Reference**: Higham 2008, chapter 8; coefficients of degree five by
/// Jordan 2024.
pub fn nuclear_norm<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    let matrix = rows(wide(x));
    let [count, width] = matrix.dims();
    if count * width == 0 {
        return sum(flatten(matrix));
    }
    let fixed = scaled(matrix.clone().detach());
    let mut polar = if count > width { fixed.transpose() } else { fixed };
    // Each element of a step is one product with a small matrix: what a step rounds stays.
    let gram = |polar: &Tensor<2>| product(polar.clone(), polar.clone().transpose());
    let eye = Tensor::<2>::eye(polar.dims()[0], &polar.device()).cast(polar.dtype());
    for _ in 0..RAISING {
        let gram = gram(&polar);
        let bend = gram.clone().mul_scalar(-4.775) + gram.clone().matmul(gram).mul_scalar(2.0315);
        polar = (bend + eye.clone().mul_scalar(3.4445)).matmul(polar);
    }
    for _ in 0..CLOSING {
        // Near the end this adds less than a rounding.
        let rest = (eye.clone() - gram(&polar)).mul_scalar(0.5);
        polar = polar.clone() + rest.matmul(polar);
    }
    let factor = if count > width { polar.transpose() } else { polar };
    sum(flatten(matrix * factor))
}

/// The matrix over its Frobenius norm; zeros stay zeros.
fn scaled(x: Tensor<2>) -> Tensor<2> {
    let [count, width] = x.dims();
    let length = norm(flatten(x.clone()));
    let zero = length.clone().equal_scalar(0.0);
    x / length.mask_fill(zero, 1.0).reshape([1, 1]).expand([count, width])
}

/// A column over its length; zeros stay zeros.
fn unit(x: Tensor<2>) -> Tensor<2> {
    scaled(x)
}

/// Where the power method starts: a column that no structure of a weight is orthogonal to, the same
/// everywhere.
fn start(like: &Tensor<2>) -> Tensor<2> {
    let [_, width] = like.dims();
    let values: Vec<f64> =
        (0..width).map(|i| 1.0 + 0.5 * (1.0 + i as f64).sqrt().fract()).collect();
    constant(values, [width, 1], like)
}
