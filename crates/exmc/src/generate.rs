//! Draws of a model's free variables -> the quantities that follow from them.
//!
//! The draws may be of another run, another program or another model with the same variables. Quantities are those
//! that a front end computes from each draw (generated quantities of a Stan program) or, without any, the
//! deterministic values of the model.

use exmc_draws::Variable;
use exmc_exec::FunctionInstance;
use exmc_graph::Tensor;
use exmc_infer::RunPhase;
use exmc_model::{Code, Diagnostic};

use crate::compile::{BoundModel, Values};
use crate::error::Error;
use crate::quantities::{DrawNumber, QuantitiesInstance};
use crate::sample::variables;

/// What [`Generator`] computes, in column order.
pub fn generated_variables(model: &BoundModel) -> Vec<Variable> {
    let all = variables(model);
    let n_trace = model.compiled().lowered().trace.len();
    let free = |v: &Variable| model.compiled().lowered().layout.iter().any(|e| e.name == v.name);
    let mut chosen: Vec<Variable> = match model.quantities() {
        Some(_) => all[n_trace..].to_vec(),
        None => all.into_iter().filter(|v| !free(v)).collect(),
    };
    let mut offset = 0;
    for variable in &mut chosen {
        variable.offset = offset;
        offset += variable.len();
    }
    chosen
}

/// Computes quantities from draws, for one thread.
pub struct Generator<'a> {
    model: &'a BoundModel,
    /// Free variables: places among the draws' values, and among the recorded values.
    free: Vec<(Variable, usize)>,
    /// Places of deterministic values among the recorded values, where those are what is asked for.
    deterministic: Vec<std::ops::Range<usize>>,
    trace: FunctionInstance,
    row: Vec<f64>,
    quantities: Option<Box<dyn QuantitiesInstance>>,
}

impl<'a> Generator<'a> {
    /// For draws whose values are `given`, and random numbers of this seed.
    ///
    /// # Errors
    /// When a free variable of the model is not among them, or has another shape.
    pub fn new(model: &'a BoundModel, given: &[Variable], seed: u64) -> Result<Self, Error> {
        let recorded = variables(model);
        let mut free = Vec::new();
        for entry in &model.compiled().lowered().layout {
            let own = recorded.iter().find(|v| v.name == entry.name);
            let own = own.ok_or_else(|| Error::internal("a free variable is not recorded"))?;
            let Some(found) = given.iter().find(|v| v.name == entry.name) else {
                if own.is_empty() {
                    continue;
                }
                let message = format!("the draws have no values of `{}`", entry.name);
                let names: Vec<_> = given.iter().map(|v| format!("`{}`", v.name)).collect();
                let help = format!("they hold {}", names.join(", "));
                return Err(Diagnostic::new(Code::MissingData, message).help(help).into());
            };
            if found.shape != own.shape {
                let (name, found, expected) = (&entry.name, &found.shape, &own.shape);
                let message =
                    format!("`{name}` has shape {found:?} in the draws, expected {expected:?}");
                return Err(Diagnostic::new(Code::ShapeMismatch, message).into());
            }
            free.push((found.clone(), own.offset));
        }
        let quantities = model.quantities().map(|q| q.instance(seed));
        let is_free = |v: &Variable| free.iter().any(|(f, _)| f.name == v.name);
        let deterministic = match &quantities {
            Some(_) => Vec::new(),
            None => recorded
                .iter()
                .filter(|v| !is_free(v))
                .map(|v| v.offset..v.offset + v.len())
                .collect(),
        };
        let row = vec![0.0; model.trace_width()];
        Ok(Self { model, free, deterministic, trace: model.trace_instance(), row, quantities })
    }

    /// Writes the quantities of one draw, whose values are `draw`, to `out`, which is as long as
    /// [`generated_variables`] have columns. Free variables enter to the bit as they are in the draws.
    ///
    /// # Errors
    /// When a value lies outside of its support or on its edge; `out` is then unspecified.
    /// [`Error::is_fatal`] when the model asks for the run to end.
    ///
    /// # Panics
    /// When `out` has another length.
    pub fn generate(
        &mut self,
        (chain, index): (u32, u64),
        draw: &[f64],
        out: &mut [f64],
    ) -> Result<(), Error> {
        let mut values = Values::new();
        for (variable, _) in &self.free {
            let own = &draw[variable.offset..variable.offset + variable.len()];
            let tensor = Tensor::real(variable.shape.as_slice(), own)
                .ok_or_else(|| Error::internal("a variable has other columns than elements"))?;
            values.insert(variable.name.clone(), tensor);
        }
        let position = self.model.unconstrain(&values)?;
        let evaluated = self.trace.evaluate(&position, &mut self.row);
        evaluated.map_err(|e| Error::internal(e.to_string()))?;
        for (variable, place) in &self.free {
            let own = &draw[variable.offset..variable.offset + variable.len()];
            self.row[*place..place + own.len()].copy_from_slice(own);
        }
        let number = DrawNumber { chain, phase: RunPhase::Sampling, index };
        match &mut self.quantities {
            Some(quantities) => quantities.evaluate(number, &self.row, out)?,
            None => {
                let mut rest = out;
                for range in &self.deterministic {
                    let (own, others) = rest.split_at_mut(range.len());
                    own.copy_from_slice(&self.row[range.clone()]);
                    rest = others;
                }
            }
        }
        Ok(())
    }
}
