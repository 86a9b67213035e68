//! Penalties of single elements: a tensor of any shape -> L1, L2, elastic net.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::fault;
use crate::reduce::{Reduce, nothing, wide};

/// What L2 measures distances from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Centre {
    /// Zero, the default.
    #[default]
    Zero,
    /// The mean of all elements of the tensor, which the gradient follows.
    Mean,
    /// A number.
    At(f64),
}

/// Absolute values: $\sum_i |x_i|$, or their mean.
///
/// **Shape**: any to `[1]`. **Gradient**: $\operatorname{sign}(x_i)$, 0 at 0. **Edges**: NaN gives
/// NaN, $\pm\infty$ gives $\infty$; 0 for no elements (mean: NaN). **Numerics**: sums in blocks;
/// `f32` within $10^{-6}$ at $2^{22}$ elements. **Meaning**: with weight $\lambda$ the negative log
/// density of Laplace(0, $1/\lambda$), but for its constant. **Reference**: Tibshirani 1996.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use penalties::{Reduce, l1};
///
/// let x = Tensor::<1>::from_data([1.0, -2.0, 0.5, -0.5], &Device::default());
/// assert_eq!(l1(x, Reduce::Sum).into_scalar::<f32>(), 4.0);
/// ```
pub fn l1<const D: usize>(x: Tensor<D>, reduce: Reduce) -> Tensor<1> {
    let flat = flatten(wide(x));
    let magnitudes = flat.clone().abs();
    if fault::planted("sign-at-zero") {
        let zero = flat.clone().detach().equal_scalar(0.0);
        let leak = flat.clone() - flat.detach();
        return reduce.all(magnitudes + leak.clone().mask_fill(zero.bool_not(), 0.0));
    }
    reduce.all(magnitudes)
}

/// Squares: $\sum_i \operatorname{clip}(x_i - c, \pm k)^2$, or their mean.
///
/// First the centre, then the clip, then the square. **Shape**: any to `[1]`. **Gradient**:
/// $2(x_i-c)$, 0 outside of the clip; with the mean as the centre, less its own mean (0 without a
/// clip). **Edges**: NaN gives NaN. No factor ½: with weight $\lambda$ it is the negative log
/// density of Normal($c$, $1/\sqrt{2\lambda}$), but for its constant. **Reference**: Hoerl and
/// Kennard 1970.
pub fn l2<const D: usize>(
    x: Tensor<D>,
    reduce: Reduce,
    centre: Centre,
    clip: Option<f64>,
) -> Tensor<1> {
    let mut flat = flatten(wide(x));
    if fault::planted("clip-before-centre")
        && let Some(clip) = clip
    {
        flat = flat.clamp(-clip, clip);
    }
    let mut away = match centre {
        Centre::Zero => flat,
        Centre::At(centre) => flat.sub_scalar(centre),
        Centre::Mean => {
            let mean = Reduce::Mean.all(flat.clone());
            flat - mean
        }
    };
    if let Some(clip) = clip {
        away = away.clamp(-clip, clip);
    }
    reduce.all(away.clone() * away)
}

/// $\alpha\,\mathrm{L1} + (1-\alpha)\,\mathrm{L2}$ with `l1_ratio` $\alpha$ in [0, 1].
///
/// **Shape**: any to `[1]`. **Gradient**: $\alpha\operatorname{sign}(x_i) + 2(1-\alpha)x_i$.
/// **Edges**: as [`l1`] and [`l2`]; at $\alpha = 1$ and 0 it is one of them. Unlike scikit-learn's,
/// the square has no factor ½. **Reference**: Zou and Hastie 2005.
pub fn elastic_net<const D: usize>(x: Tensor<D>, reduce: Reduce, l1_ratio: f64) -> Tensor<1> {
    let flat = flatten(wide(x));
    let absolute = flat.clone().abs().mul_scalar(l1_ratio);
    let square = (flat.clone() * flat).mul_scalar(1.0 - l1_ratio);
    reduce.all(absolute + square)
}

/// All elements in one axis.
pub(crate) fn flatten<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    let count = x.shape().num_elements();
    // In Burn's `reshape`, 0 stands for the size that the axis has.
    if count == 0 { nothing([0], &x) } else { x.reshape([count]) }
}
