//! A recipe, a model and outputs -> the total on the device, its rows, gradients and proximal
//! steps.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::optim::GradientsParams;
use burn::tensor::{DType, Device, Tensor};

use crate::act::{gradient, prox};
use crate::error::{Error, nearest};
use crate::gradient::GradientPenalty;
use crate::parameters::{Parameter, parameters, replace, with_gradients};
use crate::primitive::flatten;
use crate::recipe::{Act, Line, Recipe, Term};
use crate::reduce::{norm, nothing, sum, wide};

/// Named outputs of a model for one step: activations, log probabilities, values computed by the
/// caller.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    tensors: BTreeMap<String, (Tensor<1>, Vec<usize>)>,
    computed: BTreeMap<String, Tensor<1>>,
}

impl Outputs {
    /// No outputs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor of any rank; a later one of the same key takes its place.
    #[must_use]
    pub fn with<const D: usize>(mut self, key: impl Into<String>, tensor: Tensor<D>) -> Self {
        let dims = tensor.dims().to_vec();
        self.tensors.insert(key.into(), (flatten(tensor), dims));
        self
    }

    /// Adds a value that the caller computed, `[1]`, for [`Term::Computed`].
    #[must_use]
    pub fn computed(mut self, key: impl Into<String>, value: Tensor<1>) -> Self {
        self.computed.insert(key.into(), value);
        self
    }

    /// Adds a gradient penalty: its value with its gradient.
    #[must_use]
    pub fn gradient_penalty(self, key: impl Into<String>, penalty: &GradientPenalty) -> Self {
        self.computed(key, penalty.term())
    }

    fn get(&self, line: &str, key: &str) -> Result<(Tensor<1>, &[usize]), Error> {
        match self.tensors.get(key) {
            Some((flat, dims)) => Ok((flat.clone(), dims)),
            None => Err(missing(line, key, self.tensors.keys())),
        }
    }
}

fn missing<'a>(line: &str, key: &str, known: impl Iterator<Item = &'a String>) -> Error {
    let known: Vec<String> = known.cloned().collect();
    let known = nearest(&[key.to_owned()], &known, 3);
    Error::Output { line: line.to_owned(), key: key.to_owned(), known }
}

/// What one line came to.
#[derive(Clone, Debug)]
pub struct Row {
    /// The line's name.
    pub name: String,
    /// Its value without the weight, `[1]`, with its graph.
    pub raw: Tensor<1>,
    /// Its weight at this step.
    pub weight: f64,
}

/// What a recipe came to: nothing of it is read from the device until it is asked for.
#[derive(Clone, Debug)]
pub struct Evaluation {
    /// $\sum$ weight · value over the lines that act in the loss, `[1]`, with its graph; 0 for
    /// none.
    pub total: Tensor<1>,
    /// Those lines, in order.
    pub rows: Vec<Row>,
}

impl Evaluation {
    /// Reads all values in one transfer: `NAME`, `NAME_weighted` for each line, and `total`.
    ///
    /// No lines give an empty map, without a total.
    ///
    /// # Errors
    /// The device's.
    pub fn metrics(&self) -> Result<BTreeMap<String, f64>, Error> {
        let mut metrics = BTreeMap::new();
        if self.rows.is_empty() {
            return Ok(metrics);
        }
        let mut values: Vec<Tensor<1>> = self.rows.iter().map(|row| row.raw.clone()).collect();
        values.push(self.total.clone());
        let values = read(values)?;
        for (row, raw) in self.rows.iter().zip(&values) {
            metrics.insert(row.name.clone(), *raw);
            metrics.insert(format!("{}_weighted", row.name), raw * row.weight);
        }
        metrics.insert("total".to_owned(), values[self.rows.len()]);
        Ok(metrics)
    }

    /// Reads all values in one transfer and refuses what is not finite: first a NaN, then an
    /// infinity.
    ///
    /// # Errors
    /// The first line that is NaN, or else the first that is infinite.
    pub fn check(&self) -> Result<(), Error> {
        let values = read(self.rows.iter().map(|row| row.raw.clone()).collect())?;
        let named = |what, bad: fn(f64) -> bool| {
            let index = values.iter().position(|value| bad(*value))?;
            Some(Error::NotFinite { line: self.rows[index].name.clone(), what })
        };
        match named("NaN", f64::is_nan).or_else(|| named("infinite", f64::is_infinite)) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Reads numbers in one transfer.
pub(crate) fn read(values: Vec<Tensor<1>>) -> Result<Vec<f64>, Error> {
    if values.is_empty() {
        return Ok(Vec::new());
    }
    let dtype = widest(values.iter());
    let values: Vec<Tensor<1>> = values.into_iter().map(|v| v.detach().cast(dtype)).collect();
    let all = Tensor::cat(values, 0);
    all.try_into_vec_as::<f64>().map_err(|error| Error::Read(error.to_string()))
}

fn widest<'a>(mut values: impl Iterator<Item = &'a Tensor<1>>) -> DType {
    if values.any(|v| v.dtype() == DType::F64) { DType::F64 } else { DType::F32 }
}

impl Recipe {
    /// Evaluates the lines that act in the loss. The total stays on the device, with its graph.
    ///
    /// Lines about outputs need their keys in `outputs`. Opens a tracing span `recipe` with the
    /// number of lines and the step, and in it an event `line` for each.
    ///
    /// # Errors
    /// A missing output, or a penalty that does not suit its tensor; the message names the line.
    pub fn evaluate<M: Module>(
        &self,
        model: &M,
        outputs: &Outputs,
        step: u64,
    ) -> Result<Evaluation, Error> {
        self.evaluate_on(&parameters(model), outputs, step)
    }

    /// Evaluates lines about outputs alone, without a model.
    ///
    /// # Errors
    /// As [`Recipe::evaluate`].
    pub fn evaluate_outputs(&self, outputs: &Outputs, step: u64) -> Result<Evaluation, Error> {
        self.evaluate_on(&[], outputs, step)
    }

    fn evaluate_on(
        &self,
        parameters: &[Parameter],
        outputs: &Outputs,
        step: u64,
    ) -> Result<Evaluation, Error> {
        let span = tracing::debug_span!("recipe", lines = self.lines().len(), step);
        let _inside = span.enter();
        let mut rows = Vec::new();
        for line in self.lines().iter().filter(|line| line.is_loss()) {
            let raw = self.raw(line, parameters, outputs).map_err(|e| e.in_line(&line.name))?;
            let weight = line.weight_at(step);
            tracing::trace!(name: "line", line = line.name.as_str(), weight);
            rows.push(Row { name: line.name.clone(), raw, weight });
        }
        let total = total(&rows, || first(parameters, outputs));
        Ok(Evaluation { total, rows })
    }

    /// The unweighted value of a line.
    fn raw(
        &self,
        line: &Line,
        parameters: &[Parameter],
        outputs: &Outputs,
    ) -> Result<Tensor<1>, Error> {
        match &line.term {
            Term::Parameters { penalty, group, .. } => {
                let matched = parameters.iter().filter(|p| p.is_in(group));
                let values = matched.map(|p| penalty.of(p.flat.clone(), &p.dims, self.customs()));
                let values = values.collect::<Result<Vec<_>, _>>()?;
                if values.is_empty() {
                    let (wanted, near) = (Vec::new(), Vec::new());
                    return Err(Error::Unmatched { line: line.name.clone(), wanted, near });
                }
                Ok(add(values))
            }
            Term::Output { penalty, key } => {
                let (flat, dims) = outputs.get(&line.name, key)?;
                penalty.of(flat, dims, self.customs())
            }
            Term::Pair { penalty, first, second } => {
                penalty.of(outputs.get(&line.name, first)?, outputs.get(&line.name, second)?)
            }
            Term::Computed { key } => match outputs.computed.get(key) {
                Some(value) => Ok(value.clone()),
                None => Err(missing(&line.name, key, outputs.computed.keys())),
            },
        }
    }

    /// The norm of each line's gradient with respect to what it is about: parameters or outputs.
    ///
    /// `NAME` is the gradient of the **unweighted** line, `total` that of the weighted sum of all
    /// tracked lines; one about a value that the caller computed has none. Norms are over all
    /// tensors together. It takes a backward pass of the penalties alone, not of the model.
    ///
    /// # Errors
    /// As [`Recipe::evaluate`].
    pub fn gradient_norms<M: Module>(
        &self,
        model: &M,
        outputs: &Outputs,
        step: u64,
    ) -> Result<BTreeMap<String, f64>, Error> {
        self.norms_on(&parameters(model), outputs, step)
    }

    pub(crate) fn norms_on(
        &self,
        parameters: &[Parameter],
        outputs: &Outputs,
        step: u64,
    ) -> Result<BTreeMap<String, f64>, Error> {
        // Leaves of their own, so that each line's gradient ends at what it is about.
        let leaf = |x: &Tensor<1>| wide(x.clone().inner().autodiff()).detach().require_grad();
        let mut parameters = parameters.to_vec();
        for parameter in &mut parameters {
            parameter.flat = leaf(&parameter.flat);
        }
        let mut outputs = outputs.clone();
        for (flat, _) in outputs.tensors.values_mut() {
            *flat = leaf(flat);
        }
        let leaves: Vec<Tensor<1>> = parameters
            .iter()
            .map(|p| p.flat.clone())
            .chain(outputs.tensors.values().map(|(flat, _)| flat.clone()))
            .collect();
        let mut names = Vec::new();
        let mut norms = Vec::new();
        let mut weighted = Vec::new();
        for line in self.lines().iter().filter(|line| line.is_loss() && line.tracked) {
            if matches!(line.term, Term::Computed { .. }) {
                continue;
            }
            let raw = self.raw(line, &parameters, &outputs).map_err(|e| e.in_line(&line.name))?;
            names.push(line.name.clone());
            norms.push(gradient_norm(&raw, &leaves));
            // A backward pass uses its graph up, so the sum has values of its own.
            let again = self.raw(line, &parameters, &outputs)?;
            weighted.push(again.mul_scalar(line.weight_at(step)));
        }
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        names.push("total".to_owned());
        norms.push(gradient_norm(&add(weighted), &leaves));
        Ok(names.into_iter().zip(read(norms)?).collect())
    }

    /// Adds the gradients of the lines that decay, in closed form and without a graph.
    ///
    /// A parameter without a gradient stays without one. Call it between `backward` and the
    /// optimiser's step.
    ///
    /// # Errors
    /// A penalty that has no such gradient, or that does not suit a parameter.
    pub fn transform<M: Module>(
        &self,
        model: &M,
        gradients: GradientsParams,
        step: u64,
    ) -> Result<GradientsParams, Error> {
        let mut failed = None;
        let lines: Vec<&Line> = self.acting(Act::Decay).collect();
        if lines.is_empty() {
            return Ok(gradients);
        }
        let gradients = with_gradients(model, gradients, &mut |slopes| {
            for slope in slopes {
                for line in &lines {
                    let Term::Parameters { penalty, group, .. } = &line.term else { continue };
                    if !slope.parameter.is_in(group) {
                        continue;
                    }
                    let Parameter { flat, dims, .. } = &slope.parameter;
                    match gradient(penalty, flat.clone(), dims, line.weight_at(step)) {
                        // The sum takes the place of what was just made.
                        Ok(more) => slope.gradient = more + slope.gradient.clone(),
                        Err(error) => failed = Some(error.in_line(&line.name)),
                    }
                }
            }
        });
        failed.map_or(Ok(gradients), Err)
    }

    /// Takes the proximal steps (and projections), in the order of the lines, with step size
    /// `learning_rate` · weight. Call it on the model that the optimiser's step returned.
    ///
    /// # Errors
    /// A penalty that has no such step, or that does not suit a parameter.
    pub fn project<M: Module>(&self, model: M, learning_rate: f64, step: u64) -> Result<M, Error> {
        let lines: Vec<&Line> = self.acting(Act::Prox).collect();
        if lines.is_empty() {
            return Ok(model);
        }
        let mut failed = None;
        let rate = if crate::fault::planted("prox-without-step") { 1.0 } else { learning_rate };
        let model = replace(model, &mut |parameter| {
            let mut flat = None;
            for line in &lines {
                let Term::Parameters { penalty, group, .. } = &line.term else { continue };
                if !parameter.is_in(group) {
                    continue;
                }
                let before = flat.clone().unwrap_or_else(|| parameter.flat.clone());
                match prox(penalty, before, &parameter.dims, rate * line.weight_at(step)) {
                    Ok(after) => flat = Some(after),
                    Err(error) => failed = Some(error.in_line(&line.name)),
                }
            }
            flat
        });
        failed.map_or(Ok(model), Err)
    }

    fn acting(&self, how: Act) -> impl Iterator<Item = &Line> {
        self.lines().iter().filter(move |line| {
            line.enabled && matches!(&line.term, Term::Parameters { act, .. } if *act == how)
        })
    }
}

/// The norm of the gradient of `value` with respect to all leaves together.
fn gradient_norm(value: &Tensor<1>, leaves: &[Tensor<1>]) -> Tensor<1> {
    if !value.is_tracked() {
        return Tensor::zeros([1], (&value.device().inner(), value.dtype()));
    }
    let grads = value.backward();
    let parts: Vec<Tensor<1>> =
        leaves.iter().filter_map(|leaf| leaf.grad(&grads)).map(|g| norm(wide(g.inner()))).collect();
    if parts.is_empty() {
        return Tensor::zeros([1], (&value.device().inner(), value.dtype()));
    }
    let dtype = widest(parts.iter());
    norm(Tensor::cat(parts.into_iter().map(|p| p.cast(dtype)).collect(), 0))
}

fn total(rows: &[Row], first: impl FnOnce() -> Option<Tensor<1>>) -> Tensor<1> {
    if rows.is_empty() {
        // Of the type and on the device of what the recipe is about, so that it can be added to a
        // loss.
        return match first() {
            Some(like) => nothing([1], &wide(like)),
            None => Tensor::zeros([1], &Device::default()),
        };
    }
    add(rows.iter().map(|row| row.raw.clone().mul_scalar(row.weight)).collect())
}

/// The sum of numbers that may have different types.
fn add(values: Vec<Tensor<1>>) -> Tensor<1> {
    let dtype = widest(values.iter());
    let values = values.into_iter().map(|v| if v.dtype() == dtype { v } else { v.cast(dtype) });
    let values: Vec<Tensor<1>> = values.collect();
    if let [one] = values.as_slice() { one.clone() } else { sum(Tensor::cat(values, 0)) }
}

/// Some tensor that a recipe is evaluated on.
fn first(parameters: &[Parameter], outputs: &Outputs) -> Option<Tensor<1>> {
    let parameter = parameters.first().map(|p| p.flat.clone());
    parameter.or_else(|| outputs.tensors.values().next().map(|(flat, _)| flat.clone()))
}

impl Recipe {
    /// Which parameters each line is about: its name and their paths.
    #[must_use]
    pub fn matches<M: Module>(&self, model: &M) -> Vec<(String, Vec<String>)> {
        let parameters = parameters(model);
        let paths = |line: &Line| match &line.term {
            Term::Parameters { group, .. } => {
                parameters.iter().filter(|p| p.is_in(group)).map(|p| p.path.clone()).collect()
            }
            _ => Vec::new(),
        };
        self.lines().iter().map(|line| (line.name.clone(), paths(line))).collect()
    }
}
