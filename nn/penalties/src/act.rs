//! What a penalty does without a loss: its gradient in closed form, and its proximal step.

use burn::tensor::Tensor;

use crate::error::Error;
use crate::penalty::Penalty;
use crate::primitive::{Centre, flatten};
use crate::project::{block_soft_threshold, max_norm, nuclear, shrink, simplex, soft_threshold};
use crate::reduce::{Reduce, norm_rows, sum};
use crate::structure::{groups, last_axis, ungroup};

/// The proximal step of a penalty with `step` = learning rate · weight, or the projection of a
/// constraint.
pub(crate) fn prox(
    penalty: &Penalty,
    flat: Tensor<1>,
    dims: &[usize],
    step: f64,
) -> Result<Tensor<1>, Error> {
    let factor = |reduce: &Reduce| reduce.factor(flat.dims()[0].max(1));
    Ok(match penalty {
        Penalty::L1 { reduce } => {
            let step = step * factor(reduce);
            soft_threshold(flat, step)
        }
        Penalty::L2 { reduce, centre, clip: None } => {
            let step = step * factor(reduce);
            match centre {
                Centre::Zero => shrink(flat, 0.0, step),
                Centre::At(centre) => shrink(flat, *centre, step),
                Centre::Mean => {
                    let mean = Reduce::Mean.all(flat.clone());
                    (flat - mean.clone()).mul_scalar(1.0 / (1.0 + 2.0 * step)) + mean
                }
            }
        }
        Penalty::ElasticNet { reduce, l1_ratio } => {
            let step = step * factor(reduce);
            let small = soft_threshold(flat, step * l1_ratio);
            shrink(small, 0.0, step * (1.0 - l1_ratio))
        }
        Penalty::GroupLasso { axis, size_weighted } => {
            let groups = groups("group lasso", flat, dims, *axis)?;
            let [_, size] = groups.dims();
            let weight = if *size_weighted { (size as f64).sqrt() } else { 1.0 };
            ungroup(block_soft_threshold(groups, step * weight), dims, *axis)
        }
        Penalty::NuclearNorm => flatten(nuclear(last_axis(flat, dims), step)),
        Penalty::MaxNorm { axis, limit } => {
            ungroup(max_norm(groups("max norm", flat, dims, *axis)?, *limit), dims, *axis)
        }
        Penalty::Simplex => flatten(simplex(last_axis(flat, dims))),
        other => return Err(unsuitable(other, "prox")),
    })
}

/// The gradient of a penalty in closed form times a weight, for decay without a graph.
pub(crate) fn gradient(
    penalty: &Penalty,
    flat: Tensor<1>,
    dims: &[usize],
    weight: f64,
) -> Result<Tensor<1>, Error> {
    let count = flat.dims()[0].max(1);
    Ok(match penalty {
        Penalty::L1 { reduce } => flat.sign().mul_scalar(weight * reduce.factor(count)),
        Penalty::L2 { reduce, centre, clip } => {
            let away = match centre {
                Centre::Zero => flat,
                Centre::At(centre) => flat.sub_scalar(*centre),
                Centre::Mean => {
                    let mean = Reduce::Mean.all(flat.clone());
                    flat - mean
                }
            };
            let factor = 2.0 * weight * reduce.factor(count);
            let Some(clip) = clip else { return Ok(away.mul_scalar(factor)) };
            let outside = away.clone().abs().greater_scalar(*clip);
            let mut slope = away.mul_scalar(factor).mask_fill(outside, 0.0);
            if *centre == Centre::Mean {
                slope = slope.clone() - sum(slope).mul_scalar(1.0 / count as f64);
            }
            slope
        }
        Penalty::ElasticNet { reduce, l1_ratio } => {
            let weight = weight * reduce.factor(count);
            let square = flat.clone().mul_scalar(2.0 * (1.0 - l1_ratio) * weight);
            flat.sign().mul_scalar(l1_ratio * weight) + square
        }
        Penalty::GroupLasso { axis, size_weighted } => {
            let groups = groups("group lasso", flat, dims, *axis)?;
            let [count, size] = groups.dims();
            let lengths = norm_rows(groups.clone()).reshape([count, 1]);
            let zero = lengths.clone().equal_scalar(0.0);
            let size_weight = if *size_weighted { (size as f64).sqrt() } else { 1.0 };
            let slope = groups / lengths.mask_fill(zero, 1.0);
            ungroup(slope.mul_scalar(size_weight * weight), dims, *axis)
        }
        other => return Err(unsuitable(other, "decay")),
    })
}

fn unsuitable(penalty: &Penalty, act: &'static str) -> Error {
    Error::Act {
        line: String::new(),
        penalty: penalty.name().to_owned(),
        act,
        allowed: penalty.acts().join(", "),
    }
}

impl Penalty {
    /// The ways in which it can act, by the names of [`Act`](crate::Act).
    #[must_use]
    pub fn acts(&self) -> &'static [&'static str] {
        match self {
            Self::L2 { clip: Some(_), .. } => &["loss", "decay"],
            Self::L1 { .. }
            | Self::L2 { .. }
            | Self::ElasticNet { .. }
            | Self::GroupLasso { .. } => &["loss", "decay", "prox"],
            Self::NuclearNorm | Self::MaxNorm { .. } | Self::Simplex => &["loss", "prox"],
            _ => &["loss"],
        }
    }

    /// The proximal step (or projection) of a tensor without a graph, with `step` = learning rate ·
    /// weight.
    ///
    /// # Errors
    /// A penalty without one; a shape that it does not have.
    pub fn prox<const D: usize>(&self, x: Tensor<D>, step: f64) -> Result<Tensor<D>, Error> {
        self.check()?;
        let dims = x.dims();
        Ok(prox(self, flatten(x), &dims, step)?.reshape(dims))
    }

    /// The gradient in closed form of a tensor without a graph.
    ///
    /// # Errors
    /// A penalty that has none here; a shape that it does not have.
    pub fn gradient<const D: usize>(&self, x: Tensor<D>) -> Result<Tensor<D>, Error> {
        self.check()?;
        let dims = x.dims();
        Ok(gradient(self, flatten(x), &dims, 1.0)?.reshape(dims))
    }
}
