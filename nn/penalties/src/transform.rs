//! Transforms of gradients before an optimiser's step: gradients of a model -> gradients, on the
//! device.

use std::collections::BTreeSet;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::fault;
use crate::parameters::{Slope, with_gradients};
use crate::random::Random;
use crate::reduce::{constant, norm, sum_rows, wide};

/// Shortest gradient that a norm divides by.
const SHORT: f64 = 1e-8;

/// One change of all gradients of a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Transform {
    /// $g + \lambda w$. Before an adaptive optimiser this is not AdamW's decoupled decay.
    L2Decay {
        /// $\lambda$.
        weight: f64,
    },
    /// $g + \lambda\operatorname{sign}(w)$, 0 at 0.
    L1Decay {
        /// $\lambda$.
        weight: f64,
    },
    /// $g + \lambda(\alpha\operatorname{sign}(w) + (1 - \alpha)w)$.
    ElasticNetDecay {
        /// $\lambda$.
        weight: f64,
        /// $\alpha$.
        l1_ratio: f64,
    },
    /// $g\min(c/\max(\lVert g\rVert, 10^{-8}), 1)$ with the norm over **all** parameters.
    ClipGlobalNorm {
        /// $c$.
        limit: f64,
    },
    /// For each tensor $g\min(c\max(\lVert w\rVert,\epsilon)/\max(\lVert g\rVert, 10^{-8}), 1)$. Of
    /// whole tensors, not unit by unit as in Brock et al. 2021.
    AdaptiveClip {
        /// $c$.
        ratio: f64,
        /// $\epsilon$, what a weight is at least taken for.
        epsilon: f64,
    },
    /// $g + \mathcal N(0, v/(1 + t)^\gamma)$ at step $t$, the same on every device. Not Langevin
    /// dynamics: the variance has nothing to do with the learning rate. Neelakantan et al. 2015.
    Noise {
        /// $v$.
        variance: f64,
        /// $\gamma$.
        decay: f64,
        /// Seed; each step and each parameter has a stream of its own.
        seed: u64,
    },
    /// Tensors of rank 2 and more: $g$ less its mean over the axes (default: all but the first).
    /// Yong et al. 2020.
    Centralise {
        /// Axes of the mean; none in a list stands for all but the first.
        axes: Option<Vec<usize>>,
    },
}

impl Transform {
    /// `L2Decay` of weight 0.01.
    #[must_use]
    pub fn l2_decay() -> Self {
        Self::L2Decay { weight: 0.01 }
    }

    /// `L1Decay` of weight 0.001.
    #[must_use]
    pub fn l1_decay() -> Self {
        Self::L1Decay { weight: 0.001 }
    }

    /// `AdaptiveClip` at ratio 0.01 with epsilon 0.001.
    #[must_use]
    pub fn adaptive_clip() -> Self {
        Self::AdaptiveClip { ratio: 0.01, epsilon: 1e-3 }
    }

    /// `Noise` of variance 0.01 that decays with the power 0.55.
    #[must_use]
    pub fn noise(seed: u64) -> Self {
        Self::Noise { variance: 0.01, decay: 0.55, seed }
    }

    /// Checks the settings.
    ///
    /// # Errors
    /// The setting that is out of range.
    pub fn check(&self) -> Result<(), Error> {
        let (name, value, fine) = match *self {
            Self::L2Decay { weight } | Self::L1Decay { weight } => {
                ("weight", weight, weight.is_finite())
            }
            Self::ElasticNetDecay { weight, .. } if !weight.is_finite() => {
                ("weight", weight, false)
            }
            Self::ElasticNetDecay { l1_ratio, .. } => {
                ("l1_ratio", l1_ratio, (0.0..=1.0).contains(&l1_ratio))
            }
            Self::ClipGlobalNorm { limit } => ("limit", limit, limit > 0.0 && limit.is_finite()),
            Self::AdaptiveClip { ratio, epsilon } if ratio > 0.0 && ratio.is_finite() => {
                ("epsilon", epsilon, epsilon > 0.0 && epsilon.is_finite())
            }
            Self::AdaptiveClip { ratio, .. } => ("ratio", ratio, false),
            Self::Noise { variance, decay, .. } if decay.is_finite() => {
                ("variance", variance, variance >= 0.0 && variance.is_finite())
            }
            Self::Noise { decay, .. } => ("decay", decay, false),
            Self::Centralise { .. } => return Ok(()),
        };
        if fine {
            return Ok(());
        }
        let expected = match name {
            "weight" | "decay" => "a finite number",
            "l1_ratio" => "a number from 0 to 1",
            "variance" => "a finite number that is not negative",
            _ => "a positive number",
        };
        Err(Error::Setting { name, value: value.to_string(), expected })
    }

    /// Variance of the noise at a step, 0 for other transforms.
    #[must_use]
    pub fn noise_variance(&self, step: u64) -> f64 {
        match self {
            Self::Noise { variance, decay, .. } => variance / (1.0 + step as f64).powf(*decay),
            _ => 0.0,
        }
    }

    fn apply(&self, slopes: &mut [Slope], step: u64) -> Result<(), Error> {
        match self {
            Self::L2Decay { weight } => {
                each(slopes, |s| s.gradient.clone() + s.parameter.flat.clone().mul_scalar(*weight))
            }
            Self::L1Decay { weight } => each(slopes, |s| {
                s.gradient.clone() + s.parameter.flat.clone().sign().mul_scalar(*weight)
            }),
            Self::ElasticNetDecay { weight, l1_ratio } => each(slopes, |s| {
                let signs = s.parameter.flat.clone().sign().mul_scalar(weight * l1_ratio);
                let values = s.parameter.flat.clone().mul_scalar(weight * (1.0 - l1_ratio));
                s.gradient.clone() + signs + values
            }),
            Self::ClipGlobalNorm { limit } => clip_global_norm(slopes, *limit),
            Self::AdaptiveClip { ratio, epsilon } => each(slopes, |s| {
                let weight = norm(wide(s.parameter.flat.clone())).clamp_min(*epsilon);
                let length = norm(wide(s.gradient.clone())).clamp_min(SHORT);
                let factor = (weight / length).mul_scalar(*ratio).clamp_max(1.0);
                s.gradient.clone() * factor.cast(s.gradient.dtype())
            }),
            Self::Noise { seed, .. } => {
                let scale = self.noise_variance(step).sqrt();
                let time = if fault::planted("noise-ignores-step") { 0 } else { step };
                for (i, slope) in slopes.iter_mut().enumerate() {
                    let part = time.wrapping_mul(0x1_0000_0001).wrapping_add(i as u64);
                    let [count] = slope.gradient.dims();
                    let noise = Random::of(*seed, part).normals(count);
                    let noise = noise.into_iter().map(|z| scale * z).collect();
                    let noise: Tensor<1> = constant(noise, [count], &slope.gradient);
                    slope.gradient = slope.gradient.clone() + noise;
                }
            }
            Self::Centralise { axes } => {
                for slope in slopes.iter_mut() {
                    slope.gradient = centralised(slope, axes.as_deref())?;
                }
            }
        }
        Ok(())
    }
}

fn each(slopes: &mut [Slope], change: impl Fn(&Slope) -> Tensor<1>) {
    for slope in slopes {
        slope.gradient = change(slope);
    }
}

fn clip_global_norm(slopes: &mut [Slope], limit: f64) {
    let lengths: Vec<Tensor<1>> = slopes.iter().map(|s| norm(wide(s.gradient.clone()))).collect();
    let Some(first) = lengths.first() else { return };
    let dtype = first.dtype();
    let all = Tensor::cat(lengths.iter().map(|l| l.clone().cast(dtype)).collect(), 0);
    let global = norm(all);
    for (slope, tensor_length) in slopes.iter_mut().zip(lengths) {
        let length =
            if fault::planted("clip-each-tensor") { tensor_length } else { global.clone() };
        let factor = length.clamp_min(SHORT).recip().mul_scalar(limit).clamp_max(1.0);
        slope.gradient = slope.gradient.clone() * factor.cast(slope.gradient.dtype());
    }
}

/// A gradient less its mean over some axes.
fn centralised(slope: &Slope, axes: Option<&[usize]>) -> Result<Tensor<1>, Error> {
    let dims = &slope.parameter.dims;
    if dims.len() < 2 {
        return Ok(slope.gradient.clone());
    }
    let axes: BTreeSet<usize> = match axes {
        Some(axes) => axes.iter().copied().collect(),
        None => (1..dims.len()).collect(),
    };
    if let Some(axis) = axes.iter().find(|axis| **axis >= dims.len()) {
        return Err(Error::Shape {
            penalty: format!("centralisation of `{}`", slope.parameter.path),
            dims: dims.clone(),
            expected: format!("an axis {axis}"),
        });
    }
    // One axis after another: the mean of means of equal size is the mean of all.
    let mut mean = slope.gradient.clone();
    for &axis in &axes {
        let [before, length, after] = crate::structure::around("centralisation", dims, axis)?;
        let x = mean.reshape([before, length, after]).swap_dims(1, 2);
        let rows = sum_rows(x.reshape([before * after, length])).mul_scalar(1.0 / length as f64);
        let spread = rows.reshape([before, 1, after]).expand([before, length, after]);
        mean = spread.reshape([before * length * after]);
    }
    Ok(slope.gradient.clone() - mean)
}

/// Transforms around an optimiser: **the one added last runs first** on the raw gradient.
///
/// So `Transforms::new([l2_decay, clip])` clips the gradient and then adds the decay, as wrapping
/// an optimiser in `l2_decay` and the result in `clip` would.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transforms(Vec<Transform>);

impl Transforms {
    /// Transforms in the order in which they are wrapped around the optimiser, innermost first.
    pub fn new(transforms: impl IntoIterator<Item = Transform>) -> Self {
        Self(transforms.into_iter().collect())
    }

    /// Wraps one more around all others: it will run before them.
    #[must_use]
    pub fn then(mut self, transform: Transform) -> Self {
        self.0.push(transform);
        self
    }

    /// Applies all to the gradients of a model at a step, counted from 0.
    ///
    /// Parameters without a gradient stay without. Nothing is read from the device.
    ///
    /// # Errors
    /// A setting out of range, or an axis that a parameter does not have.
    pub fn apply<M: Module>(
        &self,
        model: &M,
        gradients: GradientsParams,
        step: u64,
    ) -> Result<GradientsParams, Error> {
        self.0.iter().try_for_each(Transform::check)?;
        let mut done = Ok(());
        let gradients = with_gradients(model, gradients, &mut |slopes| {
            let mut order: Vec<&Transform> = self.0.iter().rev().collect();
            if fault::planted("transforms-in-order") {
                order.reverse();
            }
            done = order.into_iter().try_for_each(|transform| transform.apply(slopes, step));
        });
        done.map(|()| gradients)
    }
}
