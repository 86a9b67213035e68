//! The values of a draw -> data as the statements on data would make them.
//!
//! Each outcome is drawn given the parameters of the draw and the data as they are: of an
//! autoregression, every element given the one before that was observed. So a replica is of the
//! distributions whose log densities [`Observations::evaluate`] gives.

use std::sync::Arc;

use exmc_math::random::ChainRng;
use rustc_hash::FxHashMap;

use super::observe::{Drawing, Observer};
use super::{Observations, Observed};
use crate::diagnostic::{Class, Diagnostic};
use crate::generative::{Simulation, cannot_draw, tilde_of};
use crate::host::{Environment, Interpreter, Outcome, Settings};
use crate::source::Span;
use crate::typed::{Program, Statement, StatementKind, VariableId};
use crate::value::Value;

const HINT: &str = "draw replications in generated quantities, as `y_rep = normal_rng(mu, sigma)`";

/// The statements on data as ones that draw.
#[derive(Clone, Debug)]
pub struct Replication {
    observations: Observations,
    statements: Arc<FxHashMap<Span, Vec<Statement>>>,
}

/// Replicated data.
#[derive(Clone, Debug, PartialEq)]
pub struct Replica {
    /// The variable that was observed.
    pub name: String,
    /// The variable's extents.
    pub shape: Vec<usize>,
    /// Its elements row by row; NaN where no statement is on one.
    pub values: Vec<f64>,
}

impl Replication {
    /// Finds the statements on data, as a way to draw them.
    ///
    /// # Errors
    /// As [`Observations::find`], and each statement whose outcome cannot be drawn: one of a user's
    /// density without an `_rng`, or of something that is computed from data.
    pub fn find(program: &Arc<Program>) -> Result<Self, Vec<Diagnostic>> {
        let help = |refusal: Diagnostic| refusal.help(HINT);
        let found = Observations::find(program);
        found.map_err(|refusals| refusals.into_iter().map(help).collect::<Vec<_>>())?.drawing_all()
    }
}

impl Observations {
    /// The same statements as a way to draw data.
    fn drawing_all(&self) -> Result<Replication, Vec<Diagnostic>> {
        let mut statements: FxHashMap<Span, Vec<Statement>> = FxHashMap::default();
        let mut refusals = Vec::new();
        for span in &self.spans {
            for observed in self.observed.get(span).into_iter().flatten() {
                match self.drawing(observed) {
                    Ok(statement) => statements.entry(*span).or_default().push(statement),
                    Err(refusal) => refusals.push(refusal),
                }
            }
        }
        match refusals.is_empty() {
            true => Ok(Replication { observations: self.clone(), statements: statements.into() }),
            false => Err(refusals),
        }
    }

    /// The statement `outcome ~ distribution(...)` that says the same as a density.
    fn drawing(&self, observed: &Observed) -> Result<Statement, Diagnostic> {
        let span = observed.call.span;
        let refusal =
            |message: String| Diagnostic::error(Class::Unsupported, span, message).help(HINT);
        let made = tilde_of(&self.program, &observed.call).filter(|_| observed.place.is_some());
        let Some(StatementKind::Tilde { outcome, distribution, user, args, .. }) = made else {
            let what = &observed.label;
            let message = format!("`{what}` is computed from data, so that it cannot be drawn");
            return Err(refusal(message));
        };
        let truncation = observed.truncation.as_ref().map(|(limits, _)| Box::new(limits.clone()));
        let whose = (&*distribution, user.is_some());
        let refused = cannot_draw(&self.program, whose, &args, truncation.is_some());
        if let Some((message, _)) = refused {
            return Err(refusal(message));
        }
        let kind = StatementKind::Tilde { outcome, distribution, user, args, truncation };
        Ok(Statement::new(kind, span))
    }
}

impl Replication {
    /// Draws the data once. `env` holds data, transformed data, parameters and transformed
    /// parameters of a draw.
    ///
    /// # Errors
    /// What goes wrong in the model's statements; an element that two statements are on.
    pub fn draw(&self, env: &mut Environment, rng: &mut ChainRng) -> Outcome<Vec<Replica>> {
        let program = &self.observations.program;
        let mut host = Interpreter::new(program, Settings::default());
        std::mem::swap(&mut host.rng, rng);
        host.simulation = Some(Simulation::given(env.clone()));
        let drawing = Drawing { statements: self.statements.clone(), data: env.clone() };
        host.observer = Some(Box::new(Observer::drawing(drawing)));
        let ran = host.run(env, &self.observations.statements);
        std::mem::swap(&mut host.rng, rng);
        ran?;
        let data =
            host.observer.take().and_then(|observer| observer.drawing).map(|drawing| drawing.data);
        let flags = host.simulation.take().unwrap_or_default().into_drawn();
        let replica = |(id, drawn): (VariableId, Vec<bool>)| {
            let value = data.as_ref()?.get(id)?;
            let numbers: Vec<f64> = match value {
                Value::Int(i) => vec![*i as f64],
                Value::Real(x) => vec![*x],
                Value::Ints(all) => all.values.iter().map(|i| *i as f64).collect(),
                Value::Reals(all) => all.values.to_vec(),
                _ => return None,
            };
            let values = numbers.into_iter().zip(drawn);
            Some(Replica {
                name: program.variable(id).name.to_string(),
                shape: value.shape().to_vec(),
                values: values.map(|(x, is_drawn)| if is_drawn { x } else { f64::NAN }).collect(),
            })
        };
        Ok(flags.into_iter().filter_map(replica).collect())
    }
}

impl Interpreter<'_> {
    /// Draws the outcomes of a statement on data.
    pub(super) fn replicate(&mut self, env: &mut Environment, span: Span) -> Outcome<()> {
        let drawing = self.observer.as_ref().and_then(|observer| observer.drawing.as_ref());
        let Some(statements) = drawing.map(|drawing| drawing.statements.clone()) else {
            return Ok(());
        };
        for statement in statements.get(&span).into_iter().flatten() {
            let Some(drawn) = self.drawn_outcome(env, statement)? else { continue };
            let Some(mut drawing) =
                self.observer.as_mut().and_then(|observer| observer.drawing.take())
            else {
                continue;
            };
            let stored = self.store_drawn(&mut drawing.data, &drawn);
            if let Some(observer) = &mut self.observer {
                observer.drawing = Some(drawing);
            }
            stored?;
        }
        Ok(())
    }
}
