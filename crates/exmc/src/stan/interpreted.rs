//! A Stan program whose density cannot be lowered, or shall not be -> a density that runs its
//! statements one by one.
//!
//! The program without its model is lowered all the same: it has the parameters' layout, transforms
//! and recorded values.

use std::fmt;
use std::sync::Arc;

use exmc_density::EvaluationError;
use exmc_stan::diagnostic::{Class, Diagnostic};
use exmc_stan::host::tape::{Evaluator, Options};
use exmc_stan::host::{Environment, FaultKind, RuntimeError};
use exmc_stan::report::render;
use exmc_stan::typed::Program;

use crate::compile::CompileOptions;

/// A program with its data, for the interpreter.
#[derive(Clone)]
pub(crate) struct Interpreted {
    program: Arc<Program>,
    /// Data and transformed data.
    environment: Environment,
    options: Options,
}

impl fmt::Debug for Interpreted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interpreted")
    }
}

impl Interpreted {
    pub(super) fn new(
        program: &Arc<Program>,
        environment: &Environment,
        compile: &CompileOptions,
    ) -> Self {
        let mut options = Options::default();
        options.jacobian = compile.jacobian;
        options.proportional = compile.proportional;
        Self { program: program.clone(), environment: environment.clone(), options }
    }

    /// Why the program cannot run here either, found out at one position.
    pub(super) fn refusal(&self, dim: usize) -> Option<Diagnostic> {
        let mut gradient = vec![0.0; dim];
        let found = self.instance().evaluator.evaluate(&vec![0.1; dim], &mut gradient);
        let error = found.err()?;
        (error.kind == FaultKind::Unsupported).then(|| Diagnostic::from(error))
    }

    pub(crate) fn instance(&self) -> InterpretedInstance {
        let (program, environment) = (self.program.clone(), self.environment.clone());
        let evaluator = Evaluator::new(program, environment, self.options.clone());
        InterpretedInstance { program: self.program.clone(), evaluator }
    }
}

/// The program without the statements of its density: parameters alone.
pub(super) fn parameters_of(program: &Program) -> Program {
    let mut parameters_only = program.clone();
    parameters_only.transformed_parameters.clear();
    parameters_only.model.clear();
    parameters_only
}

/// Whether all that keeps a program from being lowered is that the lowering cannot follow it.
pub(super) fn is_valid(diagnostics: &[Diagnostic]) -> bool {
    let valid = |d: &Diagnostic| matches!(d.class, Class::Unsupported | Class::Limit);
    !diagnostics.is_empty() && diagnostics.iter().all(valid)
}

/// What the user should know of it.
pub(super) fn note(refused: &[Diagnostic]) -> Option<Diagnostic> {
    let first = refused.first()?;
    let message =
        format!("this cannot be compiled ({}), so the interpreter runs the program", first.message);
    let help =
        "the draws are of the same posterior; each takes longer than a compiled density needs";
    Some(Diagnostic::warning(first.class, first.span, message).help(help))
}

/// What one chain evaluates an interpreted density with.
#[derive(Debug)]
pub(crate) struct InterpretedInstance {
    program: Arc<Program>,
    evaluator: Evaluator,
}

impl InterpretedInstance {
    pub(crate) fn logp_grad(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        let ends =
            |error: &RuntimeError| error.ends_a_run() || error.kind == FaultKind::Unsupported;
        match self.evaluator.evaluate(position, gradient) {
            Ok(logp) => Ok(logp),
            Err(error) if ends(&error) => {
                let text = render(&Diagnostic::from(error), &self.program.sources);
                Err(EvaluationError::Ended(text))
            }
            // A rejected position has no density.
            Err(_) => {
                gradient.fill(0.0);
                Ok(f64::NEG_INFINITY)
            }
        }
    }
}
