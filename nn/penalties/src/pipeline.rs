//! Lists of penalties of one tensor, or of several by name: thin forms of a [`Recipe`].

use std::collections::BTreeMap;

use burn::tensor::Tensor;

use crate::error::{Error, nearest};
use crate::evaluate::{Evaluation, Outputs};
use crate::penalty::{PairPenalty, Penalty};
use crate::recipe::{Line, Recipe};
use crate::schedule::Schedule;

/// The key of the one tensor of a [`Pipeline`].
const KEY: &str = "input";

/// Weighted penalties of one tensor.
///
/// Names may repeat: the first of a name is the one that is changed, and metrics show the last.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use penalties::{Penalty, Pipeline};
///
/// # fn main() -> Result<(), penalties::Error> {
/// let pipeline = Pipeline::new().with("l1", Penalty::L1, 0.1).with("l2", Penalty::L2, 0.01);
/// let x = Tensor::<1>::from_data([1.0, 2.0], &Device::default());
/// let metrics = pipeline.compute(x)?.metrics()?;
/// assert!((metrics["total"] - 0.35).abs() < 1e-6);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Pipeline {
    recipe: Recipe,
}

impl Pipeline {
    /// No penalties.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a penalty at the end.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        penalty: Penalty,
        weight: impl Into<Schedule>,
    ) -> Self {
        self.recipe.push(Line::output(name, weight, penalty, KEY));
        self
    }

    /// Adds the penalty of this name with its defaults, as files and command lines give it: `l1`,
    /// `l2`, `elastic_net`, `entropy`, `orthogonality`, `output_magnitude`.
    ///
    /// # Errors
    /// An unknown name, with the known ones; a penalty of two tensors, which needs a [`Pairs`].
    pub fn named(self, name: &str, weight: impl Into<Schedule>) -> Result<Self, Error> {
        let penalty = named(name)?;
        Ok(self.with(name, penalty, weight))
    }

    /// The line of a penalty, to change its weight or to switch it or its tracking off.
    pub fn line_mut(&mut self, name: &str) -> Option<&mut Line> {
        self.recipe.line_mut(name)
    }

    /// Removes a penalty; an unknown name changes nothing.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.recipe.remove(name);
        self
    }

    /// The penalties of a tensor at step 0.
    ///
    /// # Errors
    /// A setting out of range, or a shape that a penalty does not have.
    pub fn compute<const D: usize>(&self, x: Tensor<D>) -> Result<Evaluation, Error> {
        self.compute_at(x, 0)
    }

    /// The penalties of a tensor at a step of the schedules.
    ///
    /// # Errors
    /// As [`Pipeline::compute`].
    pub fn compute_at<const D: usize>(&self, x: Tensor<D>, step: u64) -> Result<Evaluation, Error> {
        self.recipe.evaluate_outputs(&Outputs::new().with(KEY, x), step)
    }

    /// `NAME_grad_norm` of each penalty without its weight, and `total_grad_norm` of the weighted
    /// sum, with respect to the tensor.
    ///
    /// # Errors
    /// As [`Pipeline::compute`].
    pub fn gradient_norms<const D: usize>(
        &self,
        x: Tensor<D>,
        step: u64,
    ) -> Result<BTreeMap<String, f64>, Error> {
        let norms = self.recipe.norms_on(&[], &Outputs::new().with(KEY, x), step)?;
        Ok(norms.into_iter().map(|(name, norm)| (format!("{name}_grad_norm"), norm)).collect())
    }
}

fn named(name: &str) -> Result<Penalty, Error> {
    let known = [
        ("l1", Penalty::L1),
        ("l2", Penalty::L2),
        ("elastic_net", Penalty::ElasticNet { reduce: Default::default(), l1_ratio: 0.5 }),
        (
            "entropy",
            Penalty::Entropy {
                mode: Default::default(),
                normalise: false,
                temperature: 1.0,
                reduce: crate::Reduce::Mean,
            },
        ),
        (
            "orthogonality",
            Penalty::Orthogonality {
                mode: Default::default(),
                normalise: true,
                rows_of: Default::default(),
            },
        ),
        ("output_magnitude", Penalty::OutputMagnitude { target: 1.0, reduce: crate::Reduce::Mean }),
    ];
    if let Some((_, penalty)) = known.iter().find(|(known_name, _)| *known_name == name) {
        return Ok(penalty.clone());
    }
    let names: Vec<String> = known.iter().map(|(known_name, _)| (*known_name).to_owned()).collect();
    Err(Error::Custom { name: name.to_owned(), known: nearest(&[name.to_owned()], &names, 6) })
}

/// Weighted penalties of named tensors and of pairs of them.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    recipe: Recipe,
}

impl Pairs {
    /// No penalties.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a penalty of one input.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        penalty: Penalty,
        weight: impl Into<Schedule>,
        key: &str,
    ) -> Self {
        self.recipe.push(Line::output(name, weight, penalty, key));
        self
    }

    /// Adds a penalty of two inputs.
    #[must_use]
    pub fn with_pair(
        mut self,
        name: impl Into<String>,
        penalty: PairPenalty,
        weight: impl Into<Schedule>,
        keys: [&str; 2],
    ) -> Self {
        self.recipe.push(Line::pair(name, weight, penalty, keys[0], keys[1]));
        self
    }

    /// The penalties of named tensors at a step of the schedules.
    ///
    /// # Errors
    /// A missing input, with the nearest names; two shapes; a setting out of range.
    pub fn compute(&self, inputs: &Outputs, step: u64) -> Result<Evaluation, Error> {
        self.recipe.evaluate_outputs(inputs, step)
    }

    /// `NAME_grad_norm` of each penalty without its weight and `total_grad_norm` of the weighted
    /// sum, with respect to **all** inputs together.
    ///
    /// # Errors
    /// As [`Pairs::compute`].
    pub fn gradient_norms(
        &self,
        inputs: &Outputs,
        step: u64,
    ) -> Result<BTreeMap<String, f64>, Error> {
        let norms = self.recipe.norms_on(&[], inputs, step)?;
        Ok(norms.into_iter().map(|(name, norm)| (format!("{name}_grad_norm"), norm)).collect())
    }
}

/// What is wrong with the values of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// Every element is a finite number.
    Finite,
    /// At least one element is not a number.
    Nan,
    /// No NaN, but at least one element is infinite.
    Infinite,
}

/// Looks for NaN first, then for infinities. Reads one flag, or two, from the device.
///
/// # Errors
/// The device's.
pub fn validate<const D: usize>(x: Tensor<D>) -> Result<Validity, Error> {
    let read = |flag: Tensor<1, burn::tensor::Bool>| {
        flag.try_into_scalar::<bool>().map_err(|error| Error::Read(error.to_string()))
    };
    if read(x.clone().is_nan().any())? {
        Ok(Validity::Nan)
    } else if read(x.is_inf().any())? {
        Ok(Validity::Infinite)
    } else {
        Ok(Validity::Finite)
    }
}
