//! Divergences and entropies: log probabilities, classes on the last axis -> one number, or one for
//! each row.
//!
//! All arguments are **log** probabilities, and all results are in nats. Terms whose probability is
//! (nearly) zero are taken out *before* they are computed and again after, so that $-\infty$ never
//! becomes a NaN in a value or a gradient; a NaN stays a NaN.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::fault;
use crate::primitive::flatten;
use crate::reduce::{RowReduce, max_rows, nothing, sum, sum_rows, wide, with_steady_slope};

/// Terms of at most this probability count as zero in a divergence.
const SMALL: f64 = 1e-10;
/// Largest magnitude of a difference of log probabilities.
const CLIP: f64 = 100.0;
/// Terms of at most this log probability count as zero in an entropy.
const FLOOR: f64 = -50.0;
/// A log probability whose exponential is zero in every type, so that terms there, and their
/// gradients, are zero without a mask behind them.
const GONE: f64 = -1000.0;

/// Which way a Kullback–Leibler divergence looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// $\mathrm{KL}(P\Vert Q)$, the default.
    #[default]
    Forward,
    /// $\mathrm{KL}(Q\Vert P)$.
    Reverse,
    /// Half of both.
    Symmetric,
}

/// Whether entropy is wanted or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntropyMode {
    /// $+H$, the default: what a line of negative weight adds to spread a distribution out.
    #[default]
    Bonus,
    /// $-H$: minimising it raises the entropy.
    Penalty,
}

/// Kullback–Leibler divergence of two tensors of log probabilities.
///
/// $\sum_c \mathbb 1[p_c > 10^{-10}]\; p_c \operatorname{clip}(\log p_c - \log q_c, \pm 100)$ for
/// each row.
///
/// **Shapes**: two equal shapes, classes last, to `[1]` (`None`: `[rows]`). **Edges**: $-\infty$ is
/// probability 0; disjoint supports give exactly 100 with a gradient of 0 for the clipped
/// difference. **Errors**: different shapes. **Reference**: Kullback and Leibler 1951.
pub fn kl<const D: usize>(
    log_p: Tensor<D>,
    log_q: Tensor<D>,
    direction: Direction,
    reduce: RowReduce,
) -> Result<Tensor<1>, Error> {
    let (p, q) = pair("KL divergence", log_p, log_q)?;
    let rows = match direction {
        Direction::Forward => kl_rows(p, q),
        Direction::Reverse if fault::planted("reverse-is-forward") => kl_rows(p, q),
        Direction::Reverse => kl_rows(q, p),
        Direction::Symmetric => (kl_rows(p.clone(), q.clone()) + kl_rows(q, p)).mul_scalar(0.5),
    };
    Ok(reduce.rows(rows))
}

/// Jensen–Shannon divergence: $\tfrac12\mathrm{KL}(P\Vert M) + \tfrac12\mathrm{KL}(Q\Vert M)$ with
/// $\log M = \log\max(\tfrac12(P+Q), 10^{-10})$.
///
/// **Shapes**: as [`kl`]. **Range**: 0 to $\ln 2$. **Errors**: different shapes.
/// **Reference**: Lin 1991.
pub fn js<const D: usize>(
    log_p: Tensor<D>,
    log_q: Tensor<D>,
    reduce: RowReduce,
) -> Result<Tensor<1>, Error> {
    let (p, q) = pair("JS divergence", log_p, log_q)?;
    let middle = (p.clone().exp() + q.clone().exp()).mul_scalar(0.5).clamp_min(SMALL).log();
    let rows = (kl_rows(p, middle.clone()) + kl_rows(q, middle)).mul_scalar(0.5);
    Ok(reduce.rows(rows))
}

/// Entropy $H = -\sum_c \mathbb 1[\ell_c > -50]\; e^{\ell_c} \ell_c$ of log probabilities $\ell$.
///
/// At a `temperature` $T \ne 1$, $\ell$ is first $\ell/T - \log\sum e^{\ell/T}$; at 1 it is taken
/// as it is. `normalise` divides by $\ln K$ (one class: 0). **Shapes**: classes last, to `[1]`
/// (`None`: `[rows]`). **Edges**: $-\infty$ is probability 0 and has gradient 0. **Errors**: a
/// temperature that is not positive. **Reference**: Shannon 1948; as a penalty, Pereyra et al.
/// 2017.
pub fn entropy<const D: usize>(
    log_p: Tensor<D>,
    mode: EntropyMode,
    normalise: bool,
    temperature: f64,
    reduce: RowReduce,
) -> Result<Tensor<1>, Error> {
    if !(temperature > 0.0 && temperature.is_finite()) {
        let value = temperature.to_string();
        return Err(Error::Setting { name: "temperature", value, expected: "a positive number" });
    }
    let mut log_p = rows(wide(log_p));
    let classes = log_p.dims()[1];
    if temperature != 1.0 {
        log_p = if fault::planted("scalar-division") {
            log_p.div_scalar(temperature)
        } else {
            log_p.mul_scalar(1.0 / temperature)
        };
        if !fault::planted("temperature-without-normalisation") {
            log_p = normalised(log_p);
        }
    }
    let mut sign = if mode == EntropyMode::Bonus { -1.0 } else { 1.0 };
    if fault::planted("entropy-sign") {
        sign = 1.0;
    }
    if normalise {
        sign *= if classes > 1 { 1.0 / (classes as f64).ln() } else { 0.0 };
    }
    let gone = log_p.clone().detach().lower_equal_scalar(FLOOR);
    if fault::planted("mask-after") {
        let terms = (log_p.clone().exp() * log_p).mask_fill(gone, 0.0);
        return Ok(reduce.rows(sum_rows(terms)).mul_scalar(sign));
    }
    let kept = log_p.mask_fill(gone, GONE);
    if reduce == RowReduce::None {
        return Ok(sum_rows(kept.clone().exp() * kept).mul_scalar(sign));
    }
    let factor = match reduce {
        RowReduce::Mean => sign / kept.dims()[0] as f64,
        RowReduce::Sum | RowReduce::None => sign,
    };
    // Burn takes an exponential again for its gradient. Here $e^\ell\ell$ has the gradient
    // $e^\ell\ell + e^\ell$ of what is there already.
    let plain = kept.clone().detach();
    let probabilities = plain.clone().exp();
    let terms = probabilities.clone() * plain;
    let value = sum(flatten(terms.clone()));
    Ok(with_steady_slope(value, kept, terms + probabilities).mul_scalar(factor))
}

/// $\ell - \log\sum_c e^{\ell_c}$ of each row.
fn normalised(log_p: Tensor<2>) -> Tensor<2> {
    let [count, classes] = log_p.dims();
    if count * classes == 0 {
        return log_p;
    }
    let largest = max_rows(log_p.clone().detach()).reshape([count, 1]);
    let shifted = log_p - largest;
    let total = sum_rows(shifted.clone().exp()).log().reshape([count, 1]);
    shifted - total
}

/// KL of each row; a term is gone where $p \le 10^{-10}$.
fn kl_rows(log_p: Tensor<2>, log_q: Tensor<2>) -> Tensor<1> {
    let gone = log_p.clone().detach().lower_equal_scalar(SMALL.ln());
    let (p, q) = if fault::planted("mask-after") {
        (log_p, log_q)
    } else {
        (log_p.mask_fill(gone.clone(), 0.0), log_q.mask_fill(gone.clone(), 0.0))
    };
    let difference = (p.clone() - q).clamp(-CLIP, CLIP);
    sum_rows((p.exp() * difference).mask_fill(gone, 0.0))
}

/// All axes but the last in one.
pub(crate) fn rows<const D: usize>(x: Tensor<D>) -> Tensor<2> {
    let width = x.dims()[D - 1];
    let count = x.shape().num_elements().checked_div(width).unwrap_or(0);
    if count == 0 { nothing([0, width], &x) } else { x.reshape([count, width]) }
}

/// Two tensors of one shape as rows.
fn pair<const D: usize>(
    what: &'static str,
    left: Tensor<D>,
    right: Tensor<D>,
) -> Result<(Tensor<2>, Tensor<2>), Error> {
    same_shape(what, &left, &right)?;
    Ok((rows(wide(left)), rows(wide(right))))
}

pub(crate) fn same_shape<const D: usize>(
    what: &'static str,
    left: &Tensor<D>,
    right: &Tensor<D>,
) -> Result<(), Error> {
    if left.dims() == right.dims() {
        return Ok(());
    }
    Err(Error::Shapes { what, left: left.dims().to_vec(), right: right.dims().to_vec() })
}
