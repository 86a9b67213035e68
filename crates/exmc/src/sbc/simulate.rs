//! A model and the data that it does not draw -> draws of parameters and data, ready to be fitted.

use std::sync::Arc;

use exmc_graph::{DType, Tensor};
use exmc_model::{Code, DataSet, Diagnostic, Model, rewrite};
use exmc_stan::generative::{Generative, Simulator};

use crate::compile::{CompileOptions, CompiledModel, Values, compile};
use crate::error::Error;
use crate::fit::Target;
use crate::model::prior_predictive;
use crate::stan::{StanError, StanProgram, value_leaves};

/// Values by name, each with its numbers row by row.
type Numbers = Vec<(String, Vec<f64>)>;

/// One draw of the joint prior.
pub struct Simulated {
    /// Parameters, each with its numbers row by row.
    pub parameters: Vec<(String, Vec<f64>)>,
    /// The model with the data that were drawn.
    pub target: Box<dyn Target>,
}

/// What can draw its parameters and data.
pub trait Simulate: Sync {
    /// A draw; the same seed and number give the same one.
    ///
    /// # Errors
    /// When it cannot be made, or the model does not take its data.
    fn simulate(&self, seed: u64, number: u32) -> Result<Simulated, Error>;
}

/// A Stan program with the data that it does not draw. See [`StanProgram::simulator`].
#[derive(Clone, Debug)]
pub struct StanSimulator {
    program: StanProgram,
    simulator: Simulator,
    outcomes: Vec<String>,
}

impl StanProgram {
    /// Reads the program as a recipe for data: parameters from their priors in the order of
    /// dependence, then the data that stand left of `~`, which `data` (a JSON text) may leave out.
    ///
    /// # Errors
    /// The statements of which no draw can be made: `target +=`, `~` of something computed, a
    /// parameter without a proper prior. Mistakes of the data.
    pub fn simulator(&self, data_name: &str, data: &str) -> Result<StanSimulator, Error> {
        let program = Arc::new(self.typed().clone());
        let recipe = Generative::new(&program)
            .map_err(|diagnostics| StanError { sources: program.sources.clone(), diagnostics })?;
        let outcomes = recipe.outcomes().into_iter().map(str::to_owned).collect();
        let simulator = recipe.bind(data_name, data, 0).map_err(StanError::from)?;
        Ok(StanSimulator { program: self.clone(), simulator, outcomes })
    }
}

impl StanSimulator {
    /// The same, with its data fitted by another program of the same data.
    #[must_use]
    pub fn fitted_by(mut self, program: &StanProgram) -> Self {
        self.program = program.clone();
        self
    }

    /// A draw of the parameters from their joint prior, each with its numbers row by row.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn prior(&self, seed: u64, number: u32) -> Result<Vec<(String, Vec<f64>)>, Error> {
        Ok(self.draw(seed, number)?.0)
    }

    fn draw(&self, seed: u64, number: u32) -> Result<(Numbers, String), Error> {
        let typed = self.simulator.program();
        let drawn = self.simulator.draw(seed, number).map_err(|diagnostic| StanError {
            sources: typed.sources.clone(),
            diagnostics: vec![diagnostic],
        })?;
        let mut parameters = Vec::new();
        for (id, value) in &drawn.parameters {
            let mut leaves = Values::new();
            value_leaves(&typed.variable(*id).name, value, &mut leaves);
            parameters.extend(leaves.into_iter().map(|(name, t)| (name, t.values().to_vec())));
        }
        Ok((parameters, drawn.data))
    }

    /// Names of the data that are drawn.
    pub fn outcomes(&self) -> &[String] {
        &self.outcomes
    }
}

impl Simulate for StanSimulator {
    fn simulate(&self, seed: u64, number: u32) -> Result<Simulated, Error> {
        let (parameters, data) = self.draw(seed, number)?;
        let target = self.program.bind("simulated data", &data)?;
        Ok(Simulated { parameters, target: Box::new(target) })
    }
}

/// A model with data, compiled once for all data that it may draw.
#[derive(Clone, Debug)]
pub struct ModelSimulator {
    model: Model,
    data: DataSet,
    compiled: CompiledModel,
    free: Vec<String>,
    /// Targets of observations, with the names of their values among the compiled model's data.
    observed: Vec<(String, String)>,
}

impl ModelSimulator {
    /// A model, with the data that it declares; values that it has observed are left aside.
    ///
    /// # Errors
    /// When the model observes nothing, adds factors of its own to the density, or has observations
    /// of which the prior says nothing (weighted, masked, censored, partly missing ones).
    pub fn new(model: &Model, data: &DataSet) -> Result<Self, Error> {
        Self::fitted_by(model, data, model)
    }

    /// The same, with the data that `model` draws fitted by another model, which observes variables
    /// of the same names.
    ///
    /// # Errors
    /// As [`new`](Self::new), of both; and when the other model does not observe what `model` does.
    pub fn fitted_by(model: &Model, data: &DataSet, fitted: &Model) -> Result<Self, Error> {
        let (open, observed) = fitted.with_open_observations()?;
        for (target, _) in &observed {
            if model.shape_of(target).is_none() {
                let message = format!("the model that draws data has no `{target}`");
                return Err(Diagnostic::new(Code::UnknownReference, message).into());
            }
        }
        if observed.is_empty() {
            let message = "the model observes nothing, so that there are no data to simulate";
            return Err(Diagnostic::new(Code::BadObservation, message).into());
        }
        let options = CompileOptions { marginalise: Some(true), ..CompileOptions::default() };
        let compiled = compile(&open, &options)?;
        // What an observed image was solved for is not free.
        let rewritten = rewrite(model, &[])?;
        let free = rewritten.free_variables().into_iter();
        let free = free.filter(|name| rewritten.observation_of(name).is_none());
        let free = free.map(str::to_owned).collect();
        Ok(Self { model: model.clone(), data: data.clone(), compiled, free, observed })
    }
}

impl Simulate for ModelSimulator {
    fn simulate(&self, seed: u64, number: u32) -> Result<Simulated, Error> {
        // Each simulation has a seed of its own, far from those of the fits.
        let simulation_seed =
            seed.wrapping_mul(0x2545_F491_4F6C_DD1D).wrapping_add(u64::from(number));
        let drawn = prior_predictive(&self.model, &self.data, 1, simulation_seed)?;
        let parameters = self.free.iter().map(|name| (name.clone(), drawn[name].values().to_vec()));
        let mut data = self.data.clone();
        for (target, name) in &self.observed {
            let array = &drawn[target];
            let (shape, values) = (array.element_shape().clone(), array.values().to_vec());
            let declared = self.compiled.declared();
            let dtype_of =
                |model: &Model| model.data().find(|(n, _)| n == name).map(|(_, d)| d.dtype);
            let tensor = match declared.and_then(dtype_of) {
                Some(DType::Int) => Tensor::int(shape, values),
                _ => Tensor::real(shape, values),
            };
            let tensor = tensor.ok_or_else(|| Error::internal("a simulated value's shape"))?;
            data.insert(name.clone(), tensor);
        }
        let parameters = parameters.collect();
        Ok(Simulated { parameters, target: Box::new(self.compiled.bind(data)?) })
    }
}
