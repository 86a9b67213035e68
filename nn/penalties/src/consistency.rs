//! Consistency of two predictions: two tensors of one shape -> how far apart they are.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::divergence::{Direction, kl, same_shape};
use crate::error::Error;
use crate::primitive::flatten;
use crate::reduce::{RowReduce, norm, sum, wide};

/// What a difference of two predictions is measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// $(a-b)^2$ of each element, the default.
    #[default]
    Mse,
    /// $|a-b|$ of each element.
    L1,
    /// $1 - a\cdot b/(\max(\lVert a\rVert,10^{-8})\max(\lVert b\rVert,10^{-8}))$ of the whole
    /// tensors.
    Cosine,
    /// Symmetric KL divergence of each row of log probabilities.
    Kl,
}

/// Smallest length that a cosine divides by.
const SHORT: f64 = 1e-8;

/// How far two predictions are apart.
///
/// **Shapes**: two equal shapes to `[1]`; with `None`, one value for each element (`Mse`, `L1`) or
/// row (`Kl`). `Cosine` is always one number, whatever the reduction. **Edges**: as [`kl`] for
/// `Kl`; a zero tensor has cosine distance 1 with a finite gradient. **Errors**: different shapes.
/// **Reference**: Sajjadi, Javanmardi and Tasdizen 2016.
pub fn consistency<const D: usize>(
    a: Tensor<D>,
    b: Tensor<D>,
    metric: Metric,
    reduce: RowReduce,
) -> Result<Tensor<1>, Error> {
    same_shape("consistency", &a, &b)?;
    let (a, b) = (wide(a), wide(b));
    Ok(match metric {
        Metric::Mse => {
            let difference = flatten(a) - flatten(b);
            reduce.rows(difference.clone() * difference)
        }
        Metric::L1 => reduce.rows((flatten(a) - flatten(b)).abs()),
        Metric::Cosine => {
            let (a, b) = (flatten(a), flatten(b));
            let a = a.clone() / norm(a).clamp_min(SHORT);
            let b = b.clone() / norm(b).clamp_min(SHORT);
            sum(a * b).neg().add_scalar(1.0)
        }
        Metric::Kl => kl(a, b, Direction::Symmetric, reduce)?,
    })
}
