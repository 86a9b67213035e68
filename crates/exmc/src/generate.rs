//! Draws of a model's free variables -> the quantities that follow from them.
//!
//! The draws may be of another run, another program or another model with the same variables.
//! Quantities are those that a front end computes from each draw (generated quantities of a Stan
//! program) or, without any, the deterministic values of the model.

use std::sync::Arc;

use exmc_draws::Variable;
use exmc_graph::{Shape, Tensor};
use exmc_infer::{RunPhase, SampleError};
use exmc_model::{Code, Diagnostic, LayoutEntry};

use crate::compile::{BoundModel, Values};
use crate::error::Error;
use crate::generated_quantities::{DrawNumber, Quantities, QuantitiesInstance};
use crate::recorded_values::TraceInstance;
use crate::rejection::Extent;
use crate::sample::variables;

/// What [`Generator`] computes, in column order.
pub fn generated_variables(model: &BoundModel) -> Vec<Variable> {
    let all = variables(model);
    let n_trace = model.compiled().lowered().trace.len();
    let layout = &model.compiled().whole_lowered().layout;
    let free = |v: &Variable| layout.iter().any(|e| e.name == v.name);
    let mut chosen: Vec<Variable> = match model.quantities() {
        Some(quantities) if !quantities.variables().is_empty() => all[n_trace..].to_vec(),
        _ => all.into_iter().filter(|v| !free(v)).collect(),
    };
    let mut offset = 0;
    for variable in &mut chosen {
        variable.offset = offset;
        offset += variable.len();
    }
    chosen
}

/// A free variable: its elements among the draws' values and among the recorded ones.
struct Free {
    name: String,
    shape: Shape,
    pieces: Vec<Piece>,
}

/// What is recorded under one name of a free variable: most often all of it, one part of a complex
/// number, or what an element of an array of tuples has in one slot.
struct Piece {
    /// The first of its elements among the draws' values.
    given: usize,
    /// Among the recorded values.
    recorded: usize,
    /// The elements among the free variable's, row by row.
    elements: std::ops::Range<usize>,
}

/// The elements of a free variable that are recorded under a name: `z.real` is the first of the two
/// of `z`, `t.2:1` the second of `t:1`. Nothing for the names of other variables.
fn part_of(entry: &LayoutEntry, recorded: &Variable) -> Option<std::ops::Range<usize>> {
    if recorded.name == entry.name {
        return Some(0..entry.constrained.len());
    }
    let (mut name, mut index) = (String::new(), Vec::new());
    for slot in recorded.name.split(':') {
        let mut words = slot.split('.');
        if !name.is_empty() {
            name.push(':');
        }
        name.push_str(words.next()?);
        for word in words {
            index.push(match word {
                "real" => 0,
                "imag" => 1,
                number => number.parse::<usize>().ok()?.checked_sub(1)?,
            });
        }
    }
    let extents = entry.constrained.extents();
    let inside = index.len() <= extents.len() && index.iter().zip(extents).all(|(i, n)| i < n);
    if name != entry.name || !inside {
        return None;
    }
    let size: usize = extents[index.len()..].iter().product();
    let place = index.iter().zip(extents).fold(0, |place, (i, extent)| place * extent + i);
    Some(place * size..(place + 1) * size)
}

/// Computes quantities from draws, for one thread.
pub struct Generator<'a> {
    model: &'a BoundModel,
    free: Vec<Free>,
    /// Places of deterministic values among the recorded values, where no quantity has a column.
    deterministic: Vec<std::ops::Range<usize>>,
    trace: TraceInstance,
    row: Vec<f64>,
    quantities: Option<Box<dyn QuantitiesInstance>>,
}

impl<'a> Generator<'a> {
    /// For draws whose values are `given`, and random numbers of this seed.
    ///
    /// # Errors
    /// When a free variable of the model is not among them, or has another shape.
    pub fn new(model: &'a BoundModel, given: &[Variable], seed: u64) -> Result<Self, Error> {
        let bound_quantities = model.quantities();
        let quantities = bound_quantities.map(|q| q.instance(seed));
        let model = model.whole()?;
        let recorded = variables(model);
        let mut free = Vec::new();
        for entry in &model.compiled().lowered().layout {
            let mut pieces = Vec::new();
            let is_recorded = recorded.iter().any(|v| v.name == entry.name);
            for variable in recorded.iter().filter(|v| !is_recorded || v.name == entry.name) {
                let Some(part) = part_of(entry, variable).filter(|part| !part.is_empty()) else {
                    continue;
                };
                let Some(found) = given.iter().find(|v| v.name == variable.name) else {
                    let message = format!("the draws have no values of `{}`", variable.name);
                    let names: Vec<_> = given.iter().map(|v| format!("`{}`", v.name)).collect();
                    let help = format!("they hold {}", names.join(", "));
                    return Err(Diagnostic::new(Code::MissingData, message).help(help).into());
                };
                if found.shape != variable.shape {
                    let (name, found, expected) = (&variable.name, &found.shape, &variable.shape);
                    let message =
                        format!("`{name}` has shape {found:?} in the draws, expected {expected:?}");
                    return Err(Diagnostic::new(Code::ShapeMismatch, message).into());
                }
                pieces.push(Piece {
                    given: found.offset,
                    recorded: variable.offset,
                    elements: part,
                });
            }
            let covered: usize = pieces.iter().map(|piece| piece.elements.len()).sum();
            if covered != entry.constrained.len() {
                return Err(Error::internal("a free variable is not recorded"));
            }
            let (name, shape) = (entry.name.clone(), entry.constrained.clone());
            free.push(Free { name, shape, pieces });
        }
        let is_free = |v: &Variable| free.iter().any(|f| f.name == v.name);
        let has_columns = |q: &Arc<dyn Quantities>| !q.variables().is_empty();
        let deterministic = match bound_quantities {
            Some(bound_quantities) if has_columns(bound_quantities) => Vec::new(),
            _ => recorded
                .iter()
                .filter(|v| !is_free(v))
                .map(|v| v.offset..v.offset + v.len())
                .collect(),
        };
        let row = vec![0.0; model.trace_width()];
        Ok(Self { model, free, deterministic, trace: model.trace_instance(), row, quantities })
    }

    /// The values of the model's free variables in one draw.
    ///
    /// # Errors
    /// None for a draw with as many columns as were given.
    pub fn values(&self, draw: &[f64]) -> Result<Values, Error> {
        let mut values = Values::new();
        for variable in &self.free {
            let mut elements = vec![0.0; variable.shape.len()];
            for piece in &variable.pieces {
                let given = &draw[piece.given..piece.given + piece.elements.len()];
                elements[piece.elements.clone()].copy_from_slice(given);
            }
            let tensor = Tensor::real(variable.shape.clone(), elements)
                .ok_or_else(|| Error::internal("a variable has other columns than elements"))?;
            values.insert(variable.name.clone(), tensor);
        }
        Ok(values)
    }

    /// The recorded values of the model in one draw: free variables, to the bit as they are there,
    /// and what the compiled model computes from them.
    ///
    /// # Errors
    /// When a value lies outside of its support or on its edge.
    pub(crate) fn recorded(&mut self, draw: &[f64]) -> Result<&[f64], Error> {
        let position = self.model.unconstrain(&self.values(draw)?)?;
        let evaluated = self.trace.evaluate(&position, &mut self.row);
        evaluated.map_err(|e| Error::internal(e.to_string()))?;
        for piece in self.free.iter().flat_map(|variable| &variable.pieces) {
            let (from, length) = (piece.given, piece.elements.len());
            self.row[piece.recorded..piece.recorded + length]
                .copy_from_slice(&draw[from..from + length]);
        }
        Ok(&self.row)
    }

    /// Writes the quantities of one draw, whose values are `draw`, to `out`, which is as long as
    /// [`generated_variables`] have columns. Free variables enter to the bit as they are in the
    /// draws.
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
        self.recorded(draw)?;
        if let Some(reason) =
            self.model.rejection_check().and_then(|o| o.end(&self.row, Extent::Values))
        {
            return Err(SampleError::ended(reason).into());
        }
        let number = DrawNumber { chain, phase: RunPhase::Sampling, index };
        let mut rest = out;
        for range in &self.deterministic {
            let (columns, others) = rest.split_at_mut(range.len());
            columns.copy_from_slice(&self.row[range.clone()]);
            rest = others;
        }
        match &mut self.quantities {
            // With columns, or deterministic values have them all.
            Some(quantities) => quantities.evaluate(number, &self.row, rest),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advanced::sample;
    use crate::{SamplerConfig, StanProgram};

    /// Quantities of a run's own draws are those of the run, also where parameters are complex
    /// numbers, tuples and arrays of them, which are recorded in parts.
    #[test]
    fn quantities_follow_from_parts_of_parameters() {
        let text = "parameters { complex z; complex_matrix[2, 2] m; array[2] tuple(real<lower=0>, vector[2]) t; }
            model {
              get_real(z) ~ std_normal(); get_imag(z) ~ std_normal();
              to_vector(get_real(m)) ~ std_normal(); to_vector(get_imag(m)) ~ std_normal();
              for (i in 1:2) { t[i].1 ~ exponential(1); t[i].2 ~ normal(i, 1); }
            }
            generated quantities { complex d = z * m[1, 2] + m[2, 1]; vector[2] e = t[2].1 * t[1].2; }";
        let program = StanProgram::from_text("parts.stan", text).unwrap();
        let model = program.bind("data", "{}").unwrap();
        let bound = model.bound();
        let mut config = SamplerConfig::default();
        (config.chains, config.warmup, config.draws) = (1, 50, 5);
        let posterior = sample(bound, &config).unwrap();
        let (all, wanted) = (variables(bound), generated_variables(bound));
        let mut generator = Generator::new(bound, &all, config.seed).unwrap();
        let width: usize = wanted.iter().map(Variable::len).sum();
        let first = all.iter().map(Variable::len).sum::<usize>() - width;
        let chain = &posterior.chains[0];
        for index in 0..5 {
            let draw = &chain.values[index * (first + width)..(index + 1) * (first + width)];
            let mut out = vec![0.0; width];
            generator.generate((0, index as u64), draw, &mut out).unwrap();
            for (found, expected) in out.iter().zip(&draw[first..]) {
                assert!((found - expected).abs() < 1e-12, "{found} {expected}");
            }
        }
    }
}
