//! Penalties as data: a name with settings, that files can hold -> a value, a gradient, a proximal
//! step.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::consistency::{Metric, consistency};
use crate::divergence::{Direction, EntropyMode, entropy, js, kl};
use crate::error::{Error, nearest};
use crate::primitive::{Centre, elastic_net, flatten, l1, l2};
use crate::project;
use crate::reduce::{Reduce, RowReduce, wide};
use crate::spectrum::{nuclear_norm, spectral_norm};
use crate::structure::{
    Orthogonality, RowsOf, around, group_lasso, groups, half_squared_distance, last_axis,
    orthogonality, output_magnitude, total_variation,
};

/// A penalty of one tensor.
///
/// | penalty | loss | decay | prox | prior |
/// |---|---|---|---|---|
/// | `L1`, `ElasticNet` | yes | yes | yes | yes, as a sum |
/// | `L2` | yes | yes | without a clip | as a sum, about a number, without a clip |
/// | `GroupLasso` | yes | yes | yes | yes |
/// | `NuclearNorm` | yes | – | yes | – |
/// | `MaxNorm`, `Simplex` | half the squared distance | – | projection | – |
/// | the rest | yes | – | – | – |
///
/// A proximal step gives exact zeros (or exact ranks), which a gradient never does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Penalty {
    /// [`l1`].
    L1 {
        /// Sum or mean.
        #[serde(default)]
        reduce: Reduce,
    },
    /// [`l2`].
    L2 {
        /// Sum or mean.
        #[serde(default)]
        reduce: Reduce,
        /// What distances are measured from.
        #[serde(default)]
        centre: Centre,
        /// Largest distance that counts.
        #[serde(default)]
        clip: Option<f64>,
    },
    /// [`elastic_net`].
    ElasticNet {
        /// Sum or mean.
        #[serde(default)]
        reduce: Reduce,
        /// Share of L1, in [0, 1].
        l1_ratio: f64,
    },
    /// [`group_lasso`].
    GroupLasso {
        /// Axis whose indices are the groups.
        axis: usize,
        /// Whether a group counts by the root of its size.
        #[serde(default)]
        size_weighted: bool,
    },
    /// [`spectral_norm`].
    SpectralNorm,
    /// [`nuclear_norm`].
    NuclearNorm,
    /// [`total_variation`].
    TotalVariation {
        /// Axis of the differences.
        axis: usize,
        /// Sum or mean.
        #[serde(default)]
        reduce: Reduce,
    },
    /// No group longer than `limit`, a group for each index of `axis`; see [`project::max_norm`].
    MaxNorm {
        /// Axis whose indices are the groups.
        axis: usize,
        /// Largest length.
        limit: f64,
    },
    /// Rows (of the last axis) that are not negative and sum to one; see [`project::simplex`].
    Simplex,
    /// [`orthogonality`].
    Orthogonality {
        /// What is measured.
        #[serde(default)]
        mode: Orthogonality,
        /// Whether rows are first made of length one.
        #[serde(default = "yes")]
        normalise: bool,
        /// What rows are.
        #[serde(default)]
        rows_of: RowsOf,
    },
    /// [`entropy`] of log probabilities.
    Entropy {
        /// Sign.
        #[serde(default)]
        mode: EntropyMode,
        /// Whether it is divided by its maximum.
        #[serde(default)]
        normalise: bool,
        /// Temperature.
        #[serde(default = "one")]
        temperature: f64,
        /// Mean or sum over rows.
        #[serde(default)]
        reduce: Reduce,
    },
    /// [`output_magnitude`].
    OutputMagnitude {
        /// Wanted length.
        target: f64,
        /// Root mean square or norm.
        #[serde(default)]
        reduce: Reduce,
    },
    /// A penalty of the user's own, registered under this name.
    Custom(String),
}

/// A penalty of two tensors of one shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum PairPenalty {
    /// [`kl`] of log probabilities.
    Kl {
        /// Which way.
        #[serde(default)]
        direction: Direction,
        /// Mean or sum over rows.
        #[serde(default = "mean")]
        reduce: Reduce,
    },
    /// [`js`] of log probabilities.
    Js {
        /// Mean or sum over rows.
        #[serde(default = "mean")]
        reduce: Reduce,
    },
    /// [`consistency`].
    Consistency {
        /// What the difference is measured by.
        #[serde(default)]
        metric: Metric,
        /// Mean or sum over elements or rows.
        #[serde(default = "mean")]
        reduce: Reduce,
    },
}

fn yes() -> bool {
    true
}

fn one() -> f64 {
    1.0
}

fn mean() -> Reduce {
    Reduce::Mean
}

/// A penalty written by the user. Object-safe, so it sees the elements in one axis and the shape
/// beside them.
///
/// Register it in a [`Recipe`](crate::Recipe); [`Penalty::Custom`] then refers to it by name.
pub trait Custom: fmt::Debug + Send + Sync {
    /// The value, `[1]`, of a tensor of shape `dims` whose elements are `flat` in row-major order.
    ///
    /// # Errors
    /// Whatever makes this tensor unsuitable.
    fn value(&self, flat: Tensor<1>, dims: &[usize]) -> Result<Tensor<1>, Error>;
}

/// Custom penalties by name.
pub(crate) type Customs = BTreeMap<String, Arc<dyn Custom>>;

/// `None` is no value of a line.
fn by_rows(reduce: Reduce) -> RowReduce {
    match reduce {
        Reduce::Sum => RowReduce::Sum,
        Reduce::Mean => RowReduce::Mean,
    }
}

impl Penalty {
    /// `L1` as a sum.
    pub const L1: Self = Self::L1 { reduce: Reduce::Sum };
    /// `L2` about zero, as a sum.
    pub const L2: Self = Self::L2 { reduce: Reduce::Sum, centre: Centre::Zero, clip: None };

    /// The name that messages and files use.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::L1 { .. } => "l1",
            Self::L2 { .. } => "l2",
            Self::ElasticNet { .. } => "elastic_net",
            Self::GroupLasso { .. } => "group_lasso",
            Self::SpectralNorm => "spectral_norm",
            Self::NuclearNorm => "nuclear_norm",
            Self::TotalVariation { .. } => "total_variation",
            Self::MaxNorm { .. } => "max_norm",
            Self::Simplex => "simplex",
            Self::Orthogonality { .. } => "orthogonality",
            Self::Entropy { .. } => "entropy",
            Self::OutputMagnitude { .. } => "output_magnitude",
            Self::Custom(name) => name,
        }
    }

    /// Checks the settings, as far as they do not depend on a tensor.
    ///
    /// # Errors
    /// The setting, what it is, and what is allowed.
    pub fn check(&self) -> Result<(), Error> {
        let setting = |name, value: f64, expected| {
            Err(Error::Setting { name, value: value.to_string(), expected })
        };
        match self {
            Self::L2 { clip: Some(clip), .. } if *clip <= 0.0 || clip.is_nan() => {
                setting("clip", *clip, "a positive number")
            }
            Self::L2 { centre: Centre::At(centre), .. } if !centre.is_finite() => {
                setting("centre", *centre, "a finite number")
            }
            Self::ElasticNet { l1_ratio, .. } if !(0.0..=1.0).contains(l1_ratio) => {
                setting("l1_ratio", *l1_ratio, "a number from 0 to 1")
            }
            Self::MaxNorm { limit, .. } if !(*limit >= 0.0 && limit.is_finite()) => {
                setting("limit", *limit, "a finite number that is not negative")
            }
            Self::Entropy { temperature, .. }
                if !(*temperature > 0.0 && temperature.is_finite()) =>
            {
                setting("temperature", *temperature, "a positive number")
            }
            Self::OutputMagnitude { target, .. } if !target.is_finite() => {
                setting("target", *target, "a finite number")
            }
            _ => Ok(()),
        }
    }

    /// The penalty of a tensor, `[1]`, on its device.
    ///
    /// # Errors
    /// A setting out of range, a shape that the penalty does not have, a custom penalty (they have
    /// a value in a recipe only).
    pub fn value<const D: usize>(&self, x: Tensor<D>) -> Result<Tensor<1>, Error> {
        let dims = x.dims();
        self.of(flatten(x), &dims, &Customs::new())
    }

    /// The penalty of a tensor whose elements are in one axis.
    pub(crate) fn of(
        &self,
        flat: Tensor<1>,
        dims: &[usize],
        customs: &Customs,
    ) -> Result<Tensor<1>, Error> {
        self.check()?;
        Ok(match self {
            Self::L1 { reduce } => l1(flat, *reduce),
            Self::L2 { reduce, centre, clip } => l2(flat, *reduce, *centre, *clip),
            Self::ElasticNet { reduce, l1_ratio } => elastic_net(flat, *reduce, *l1_ratio),
            Self::GroupLasso { axis, size_weighted } => {
                let [b, l, a] = around("group lasso", dims, *axis)?;
                group_lasso(flat.reshape([b, l, a]), 1, *size_weighted)?
            }
            Self::SpectralNorm => spectral_norm(last_axis(flat, dims)),
            Self::NuclearNorm => nuclear_norm(last_axis(flat, dims)),
            Self::TotalVariation { axis, reduce } => {
                let [b, l, a] = around("total variation", dims, *axis)?;
                total_variation(flat.reshape([b, l, a]), 1, *reduce)?
            }
            Self::MaxNorm { axis, limit } => {
                let groups = groups("max norm", wide(flat), dims, *axis)?;
                let projected = project::max_norm(groups.clone().detach(), *limit);
                half_squared_distance(groups, projected)
            }
            Self::Simplex => {
                let rows = last_axis(wide(flat), dims);
                let projected = project::simplex(rows.clone().detach());
                half_squared_distance(rows, projected)
            }
            Self::Orthogonality { mode, normalise, rows_of } => match *dims {
                [b, s, v] => orthogonality(flat.reshape([b, s, v]), *mode, *normalise, *rows_of),
                _ => orthogonality(last_axis_of(flat, dims, *rows_of), *mode, *normalise, *rows_of),
            },
            Self::Entropy { mode, normalise, temperature, reduce } => {
                let x = last_axis(flat, dims);
                entropy(x, *mode, *normalise, *temperature, by_rows(*reduce))?
            }
            Self::OutputMagnitude { target, reduce } => output_magnitude(flat, *target, *reduce),
            Self::Custom(name) => match customs.get(name) {
                Some(custom) => custom.value(flat, dims)?,
                None => {
                    let known: Vec<String> = customs.keys().cloned().collect();
                    let known = nearest(std::slice::from_ref(name), &known, 3);
                    return Err(Error::Custom { name: name.clone(), known });
                }
            },
        })
    }
}

impl PairPenalty {
    /// The name that messages and files use.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Kl { .. } => "kl",
            Self::Js { .. } => "js",
            Self::Consistency { .. } => "consistency",
        }
    }

    /// The penalty of two tensors, `[1]`, on their device.
    ///
    /// # Errors
    /// Different shapes.
    pub fn value<const D: usize>(&self, a: Tensor<D>, b: Tensor<D>) -> Result<Tensor<1>, Error> {
        match self {
            Self::Kl { direction, reduce } => kl(a, b, *direction, by_rows(*reduce)),
            Self::Js { reduce } => js(a, b, by_rows(*reduce)),
            Self::Consistency { metric, reduce } => consistency(a, b, *metric, by_rows(*reduce)),
        }
    }

    /// The penalty of two tensors whose elements are in one axis.
    pub(crate) fn of(
        &self,
        (a, a_dims): (Tensor<1>, &[usize]),
        (b, b_dims): (Tensor<1>, &[usize]),
    ) -> Result<Tensor<1>, Error> {
        if a_dims != b_dims {
            let (left, right) = (a_dims.to_vec(), b_dims.to_vec());
            return Err(Error::Shapes { what: self.name(), left, right });
        }
        self.value(last_axis(a, a_dims), last_axis(b, b_dims))
    }
}

/// A matrix as it is; anything else as rows whatever was asked, as [`orthogonality`] does by rank.
fn last_axis_of(flat: Tensor<1>, dims: &[usize], rows_of: RowsOf) -> Tensor<2> {
    let matrix = last_axis(flat, dims);
    if rows_of == RowsOf::Vocabulary && dims.len() != 2 { matrix.transpose() } else { matrix }
}
