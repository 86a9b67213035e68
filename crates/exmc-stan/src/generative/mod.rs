//! A program -> data that it could have made: its parameters drawn from their priors, then the data
//! that stand left of `~`.
//!
//! The `~` statements are read backwards, from what they say of a density to how a value is drawn;
//! transformed parameters are computed between them as their reads ask for. A program of which the
//! density is not such a recipe (`target +=`, a parameter without a prior, `~` of a computed value)
//! is refused with the statement that stands in the way.

mod check;
mod draw;
mod order;

use std::collections::BTreeSet;
use std::sync::Arc;

use exmc_math::random::{ChainRng, Phase};

use crate::data::{DataErrors, read_data_without, write_data};
use crate::diagnostic::Diagnostic;
use crate::host::error::{Fault, FaultKind, Outcome};
use crate::host::{Environment, Interpreter, Settings, is_unconstrained, unset};
use crate::typed::{Constraint, Declaration, DeclaredType, Program, Statement, VariableId};
use crate::value::{Numbers, UNSET_INT, Value};

pub(crate) use check::{cannot_draw, tilde_of};
pub(crate) use draw::Simulation;
pub(crate) use order::root;

/// How often a draw begins anew because a declared constraint, or `reject`, excludes it.
const TRIES: u64 = 10_000;

/// By variable: which of its elements are drawn.
type Drawn = Vec<(VariableId, Vec<bool>)>;

/// A program read as a recipe for data.
#[derive(Clone, Debug)]
pub struct Generative {
    program: Arc<Program>,
    /// Transformed parameters and the model, in the order of dependence.
    statements: Vec<Statement>,
    outcomes: BTreeSet<VariableId>,
}

/// A recipe with the data that it does not draw.
#[derive(Clone, Debug)]
pub struct Simulator {
    recipe: Generative,
    /// Data as given, transformed data; what is to be drawn and was not given is unset.
    environment: Environment,
    /// Which elements of the data are drawn.
    drawn: Drawn,
}

/// One draw of all parameters and data.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Parameters in the order of their declarations.
    pub parameters: Vec<(VariableId, Value)>,
    /// All data, as the text of a data file.
    pub data: String,
}

impl Generative {
    /// Reads a program as a recipe.
    ///
    /// # Errors
    /// Every statement that stands in the way.
    pub fn new(program: &Arc<Program>) -> Result<Self, Vec<Diagnostic>> {
        let all = [&program.transformed_parameters[..], &program.model[..]].concat();
        let all = check::with_tildes(program, &all);
        let refusals = check::refusals(program, &all);
        if !refusals.is_empty() {
            return Err(refusals);
        }
        let outcomes = check::outcomes(program, &all);
        Ok(Self { program: program.clone(), statements: order::sorted(&all), outcomes })
    }

    /// Names of the data that are drawn.
    pub fn outcomes(&self) -> Vec<&str> {
        self.outcomes.iter().map(|id| &*self.program.variable(*id).name).collect()
    }

    /// Gives the recipe the data that it does not draw; those that it draws may be left out.
    ///
    /// # Errors
    /// As [`read_data`](crate::data::read_data), and what goes wrong in transformed data or in a
    /// first draw.
    pub fn bind(&self, name: &str, data: &str, seed: u64) -> Result<Simulator, DataErrors> {
        let program = &self.program;
        let mut environment = read_data_without(program, name, data, &self.outcomes)?;
        let wrong = |diagnostic: Diagnostic| DataErrors {
            sources: program.sources.clone(),
            diagnostics: vec![diagnostic],
        };
        let mut host = Interpreter::new(program, Settings::seeded(seed));
        host.transform_data(&mut environment).map_err(wrong)?;
        let mut simulator = Simulator { recipe: self.clone(), environment, drawn: Vec::new() };
        // A first draw tells which elements are drawn; the others are data that stay.
        let (_, drawn) = simulator.attempts(seed, 0).map_err(wrong)?;
        simulator.drawn = drawn.into_iter().filter(|(id, _)| self.outcomes.contains(id)).collect();
        simulator.draw(seed, 0).map_err(wrong)?;
        Ok(simulator)
    }
}

impl Simulator {
    /// The program.
    pub fn program(&self) -> &Program {
        &self.recipe.program
    }

    /// A draw: the same seed and number give the same one.
    ///
    /// # Errors
    /// What goes wrong on the way, with its place; [`Class::Limit`](crate::diagnostic::Class) when
    /// the constraints exclude nearly every draw.
    pub fn draw(&self, seed: u64, number: u32) -> Result<Simulated, Diagnostic> {
        let (environment, _) = self.attempts(seed, number)?;
        let program = self.program();
        let parameters = program.parameters.iter().filter_map(|declaration| {
            let id = declaration.variable;
            Some((id, environment.get(id)?.clone()))
        });
        Ok(Simulated { parameters: parameters.collect(), data: write_data(program, &environment) })
    }

    fn attempts(&self, seed: u64, number: u32) -> Result<(Environment, Drawn), Diagnostic> {
        let mut last = None;
        for attempt in 0..TRIES {
            let mut host = Interpreter::new(self.program(), Settings::seeded(seed));
            host.rng = ChainRng::new(seed, number, Phase::Prior);
            // Attempts are 2^36 words apart: more than any of them uses.
            host.rng.set_word_position(u128::from(attempt) << 36);
            host.simulation = Some(Simulation::given(self.environment.clone()));
            let mut environment = self.environment.clone();
            match self.attempt(&mut host, &mut environment) {
                Ok(()) => {
                    let drawn = host.simulation.take().unwrap_or_default().into_drawn();
                    return Ok((environment, drawn.into_iter().collect()));
                }
                Err(error) if error.kind == FaultKind::Rejected => last = Some(error),
                Err(error) => return Err(error.into()),
            }
        }
        let mut diagnostic = match last {
            Some(error) => error.to_diagnostic(),
            None => Fault::new(FaultKind::Limit, "no draw was made").at(Default::default()).into(),
        };
        diagnostic.message = format!(
            "constraints exclude each of {TRIES} draws of the prior, the last one here: {}",
            diagnostic.message
        );
        Err(diagnostic.help(
            "write the prior so that it keeps to the constraint, with `T[lower, upper]` if need be",
        ))
    }

    fn attempt(&self, host: &mut Interpreter<'_>, env: &mut Environment) -> Outcome<()> {
        let program = self.program();
        for declaration in &program.parameters {
            let extents = host.extents(env, &declaration.ty)?;
            let id = declaration.variable;
            env.set(id, unset(&program.variable(id).ty, &extents));
        }
        for (id, flags) in &self.drawn {
            if let Some(value) = env.get_mut(*id) {
                forget(value, flags);
            }
        }
        for declaration in &program.parameters {
            let drawn = self.statements_draw(declaration.variable);
            if !drawn {
                draw_uniform(host, env, declaration)?;
            }
        }
        host.run(env, &self.recipe.statements)?;
        for declaration in &program.parameters {
            let id = declaration.variable;
            let name = &program.variable(id).name;
            let Some(value) = env.get(id).cloned() else { continue };
            if is_partly_unset(&value) {
                let message = format!("some elements of `{name}` have no prior");
                return Err(Fault::unsupported(message).at(declaration.span));
            }
            if !is_unconstrained(&declaration.ty)
                && let Err(violation) = host.check_constraints(env, &declaration.ty, &value)?
            {
                let fault = Fault::new(FaultKind::Rejected, violation.sentence(name));
                return Err(fault.at(declaration.span));
            }
        }
        for id in &self.recipe.outcomes {
            if env.get(*id).is_some_and(is_partly_unset) {
                let variable = program.variable(*id);
                let message = format!(
                    "some elements of `{}` are not drawn: give them in the data",
                    variable.name
                );
                return Err(Fault::unsupported(message).at(variable.span));
            }
        }
        host.check_block(env, &program.transformed_parameters).map_err(|mut error| {
            error.kind = FaultKind::Rejected;
            error
        })
    }

    fn statements_draw(&self, id: VariableId) -> bool {
        self.recipe.statements.iter().any(|s| order::accesses(s).draws.contains(&id))
    }
}

/// Draws a parameter without a statement uniformly on what it may be.
fn draw_uniform(
    host: &mut Interpreter<'_>,
    env: &mut Environment,
    declaration: &Declaration,
) -> Outcome<()> {
    let mut ty = &declaration.ty;
    while let DeclaredType::Array { element, .. } = ty {
        ty = element;
    }
    let DeclaredType::Leaf { constraint, .. } = ty else { return Ok(()) };
    let bounds = match constraint {
        Constraint::LowerUpper(lower, upper) => {
            Some((host.evaluate(env, lower)?, host.evaluate(env, upper)?))
        }
        _ => None,
    };
    let Some(value) = env.get_mut(declaration.variable) else { return Ok(()) };
    let count: usize = value.shape().iter().product();
    let size = value.shape().last().copied().unwrap_or(1).max(1);
    let mut all: Vec<f64> = (0..count).map(|_| 0.0).collect();
    match bounds {
        Some((lower, upper)) => {
            let numbers = |v: &Value| crate::host::numeric::real_slice(v).map(|n| n.into_owned());
            let at_declaration = |fault: Fault| fault.at(declaration.span);
            let (lower, upper) = (
                numbers(&lower).map_err(at_declaration)?,
                numbers(&upper).map_err(at_declaration)?,
            );
            for (k, x) in all.iter_mut().enumerate() {
                let (low, high) = (lower[k % lower.len()], upper[k % upper.len()]);
                *x = low + (high - low) * host.rng.uniform_open();
            }
        }
        None => {
            for row in all.chunks_mut(size) {
                row.iter_mut().for_each(|x| *x = host.rng.standard_exponential());
                let total: f64 = row.iter().sum();
                row.iter_mut().for_each(|x| *x /= total);
            }
        }
    }
    *value = match value {
        Value::Reals(n) => Value::Reals(Numbers::new(n.shape.clone(), all)),
        _ => Value::Real(all.first().copied().unwrap_or(f64::NAN)),
    };
    Ok(())
}

/// Makes the flagged elements unset.
fn forget(value: &mut Value, flags: &[bool]) {
    let places = flags.iter().enumerate().filter(|(_, flag)| **flag).map(|(place, _)| place);
    for place in places {
        match value {
            Value::Int(i) => *i = UNSET_INT,
            Value::Real(x) => *x = f64::NAN,
            Value::Ints(n) => n.make_mut()[place] = UNSET_INT,
            Value::Reals(n) => n.make_mut()[place] = f64::NAN,
            _ => {}
        }
    }
}

/// Whether an element was never assigned.
fn is_partly_unset(value: &Value) -> bool {
    match value {
        Value::Int(i) => *i == UNSET_INT,
        Value::Real(x) => x.is_nan(),
        Value::Ints(n) => n.values.contains(&UNSET_INT),
        Value::Reals(n) => n.values.iter().any(|x| x.is_nan()),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
