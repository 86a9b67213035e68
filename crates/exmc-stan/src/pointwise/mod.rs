//! A program -> the log likelihood of each observation, found from its statements on data.
//!
//! A statement `y ~ normal(mu, sigma)` or `target += normal_lpdf(y | mu, sigma)` whose outcome is
//! data says how likely each element of `y` is. [`Observations::find`] sorts the terms of a model
//! into those and the priors. Whatever else touches data (a mixture, a censored outcome, a
//! residual) is refused with its place, so that no term of the likelihood is left out in silence.
//!
//! The terms are computed by the host interpreter, which follows the model's statements with their
//! loops, branches and functions. An observation is an element of the data (one event of a
//! distribution of vectors); terms of the same element add up.

mod dependence;
mod elements;
mod find;
mod layout;
mod leave_out;
mod observe;
mod replicate;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::diagnostic::Diagnostic;
use crate::host::{
    Densities, Environment, FaultKind, Interpreter, Outcome, RuntimeError, Settings,
};
use crate::source::Span;
use crate::typed::{Expr, Program, Statement, Truncation, VariableId};

pub(crate) use elements::Elements;
pub use layout::{Layout, Observation, StatementTerms};
pub(crate) use observe::Observer;
pub use replicate::{Replica, Replication};

/// The statements of a program that say how likely its data are.
#[derive(Clone, Debug)]
pub struct Observations {
    program: Arc<Program>,
    /// The model without what does not lead to a term.
    statements: Vec<Statement>,
    observed: Arc<FxHashMap<Span, Vec<Observed>>>,
    /// Places of the statements with terms, in the order of the text.
    spans: Vec<Span>,
}

/// A density of data that a statement adds.
#[derive(Debug)]
pub(crate) struct Observed {
    /// The call of the density with all its terms, the outcome first among its arguments.
    call: Expr,
    /// Extents of one event; none where the density has one number for its whole outcome.
    event_rank: Option<usize>,
    /// Limits, and the distribution's name without suffix.
    truncation: Option<(Truncation, Arc<str>)>,
    /// Of which data the outcome is elements, and the expression that chooses them.
    place: Option<(VariableId, Expr)>,
    /// The outcome as text.
    label: Arc<str>,
    /// The place of the statement among [`Observations::spans`].
    statement: usize,
}

/// What was compiled for one thread's evaluations.
#[derive(Debug, Default)]
pub struct Caches {
    densities: Densities,
    elements: Elements,
}

impl Observations {
    /// Finds the statements on data.
    ///
    /// # Errors
    /// Each statement that mixes data and parameters in a way that has no term for each
    /// observation; a program without a statement on data.
    pub fn find(program: &Arc<Program>) -> Result<Self, Vec<Diagnostic>> {
        let found = find::find(program)?;
        let find::Found { statements, observed, spans } = found;
        Ok(Self { program: program.clone(), statements, observed: observed.into(), spans })
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Names of the data that the statements are on, in the order of their declarations; nothing
    /// where a statement is on something else, as on what is computed from data.
    pub fn data(&self) -> Option<Vec<String>> {
        let all = self.observed.values().flatten();
        let on: Vec<VariableId> = all
            .map(|observed| observed.place.as_ref().map(|place| place.0))
            .collect::<Option<_>>()?;
        let data_variables = self.program.data.iter().map(|declaration| declaration.variable);
        let data_variables: Vec<VariableId> = data_variables.collect();
        if !on.iter().all(|id| data_variables.contains(id)) {
            return None;
        }
        let named = data_variables.into_iter().filter(|id| on.contains(id));
        Some(named.map(|id| self.program.variable(id).name.to_string()).collect())
    }

    /// Which observations there are, and which statements make their terms. `env` holds data,
    /// transformed data, parameters and transformed parameters, whose values do not matter as long
    /// as the model's statements can be run on them.
    ///
    /// # Errors
    /// What goes wrong in the model's statements.
    pub fn layout(&self, env: &mut Environment, caches: &mut Caches) -> Outcome<Layout> {
        let observer = self.run(env, caches, Observer::naming(self.observed.clone()))?;
        Ok(Layout::of(self, observer))
    }

    /// Writes the log likelihood of each observation of `layout` to `out`, in nats. `env` holds
    /// what [`layout`](Self::layout)'s does, for one draw.
    ///
    /// # Errors
    /// What goes wrong in the model's statements.
    pub fn evaluate(
        &self,
        layout: &Layout,
        env: &mut Environment,
        caches: &mut Caches,
        out: &mut [f64],
    ) -> Outcome<()> {
        let observer = self.run(env, caches, Observer::new(self.observed.clone()))?;
        if observer.terms.len() != layout.slots.len() {
            let message = "the number of observations differs among draws";
            let span = self.spans.first().copied().unwrap_or_default();
            return Err(Box::new(RuntimeError {
                kind: FaultKind::Unsupported,
                span,
                message: message.to_owned(),
                calls: Vec::new(),
            }));
        }
        out.fill(0.0);
        for (slot, term) in layout.slots.iter().zip(&observer.terms) {
            out[*slot] += term;
        }
        Ok(())
    }

    fn run(
        &self,
        env: &mut Environment,
        caches: &mut Caches,
        mut observer: Observer,
    ) -> Outcome<Observer> {
        let densities = std::mem::take(&mut caches.densities);
        observer.elements = std::mem::take(&mut caches.elements);
        let mut host =
            Interpreter::new(&self.program, Settings::default()).with_densities(densities);
        host.observer = Some(Box::new(observer));
        let ran = host.run(env, &self.statements);
        let mut observer = host.observer.take().map(|boxed| *boxed).unwrap_or_default();
        caches.elements = std::mem::take(&mut observer.elements);
        caches.densities = host.into_densities();
        ran.map(|()| observer)
    }
}
