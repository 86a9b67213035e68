//! Recorded values at which the compiled density is not finite -> what the program's statements say
//! of them.

use std::fmt;
use std::sync::Arc;

use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::host::{self, Environment, Settings};
use exmc_stan::report::render;
use exmc_stan::typed::{Program, VariableId};
use exmc_stan::value::Value;

use super::numbers::fill;
use crate::rejection::{Extent, RejectionCheck, Verdict};

/// A program's statements, run on values where the compiled density is not finite.
#[derive(Clone)]
pub(super) struct Statements {
    pub(super) program: Arc<Program>,
    /// Data and transformed data.
    pub(super) environment: Environment,
    /// The parameters, which come first among the recorded values.
    pub(super) parameters: Vec<(VariableId, Value)>,
    /// Whether they can end a run.
    pub(super) may_end: bool,
}

impl fmt::Debug for Statements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Statements")
    }
}

impl RejectionCheck for Statements {
    fn may_end(&self) -> bool {
        self.may_end
    }

    fn verdict(&self, trace: &[f64], extent: Extent) -> Verdict {
        let (mut environment, mut rest) = (self.environment.clone(), trace);
        for (id, unset) in &self.parameters {
            let mut value = unset.clone();
            fill(&mut value, &mut rest);
            environment.set(*id, value);
        }
        let mut interpreter = host::Interpreter::new(&self.program, Settings::default());
        let ran = interpreter.transform_parameters(&mut environment).and_then(|()| match extent {
            Extent::Values => Ok(()),
            Extent::Density => interpreter.run(&mut environment, &self.program.model),
        });
        match ran {
            Err(error) if error.ends_a_run() => {
                Verdict::Ended(render(&Diagnostic::from(error), &self.program.sources))
            }
            Err(error) => Verdict::Rejected(error.message),
            Ok(()) => Verdict::Silent,
        }
    }
}
