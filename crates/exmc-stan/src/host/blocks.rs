//! Whole blocks: transformed data once, generated quantities for each draw.

use crate::diagnostic::Diagnostic;
use crate::host::declare::unset;
use crate::host::environment::Environment;
use crate::host::error::{Outcome, RuntimeError};
use crate::host::interpreter::Interpreter;
use crate::typed::{Declaration, Statement, StatementKind, VariableId};
use crate::value::Value;

/// The declarations at the top level of a block, in order.
pub fn declarations(block: &[Statement]) -> impl Iterator<Item = &Declaration> {
    block.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Declare(declaration) => Some(declaration),
        _ => None,
    })
}

/// Generated quantities of one draw.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The block's variables and their values, in the order of declarations.
    pub values: Vec<(VariableId, Value)>,
    /// Why the draw has no quantities: all values are then NaN (integers: the smallest).
    pub rejected: Option<RuntimeError>,
}

impl Interpreter<'_> {
    /// Computes transformed data from the data that `env` holds.
    ///
    /// # Errors
    /// Whatever goes wrong; as in Stan, this ends the run.
    pub fn transform_data(&mut self, env: &mut Environment) -> Result<(), Diagnostic> {
        let program = self.program();
        self.run_block(env, &program.transformed_data).map_err(Diagnostic::from)
    }

    /// Computes transformed parameters from the parameters that `env` holds.
    ///
    /// # Errors
    /// Whatever goes wrong.
    pub fn transform_parameters(&mut self, env: &mut Environment) -> Outcome<()> {
        let program = self.program();
        self.run_block(env, &program.transformed_parameters)
    }

    /// Computes generated quantities of draw number `draw` of a chain. `env` holds data,
    /// transformed data, parameters and transformed parameters, and keeps the quantities. The same
    /// seed, chain and draw give the same quantities.
    ///
    /// # Errors
    /// A failure that ends the run ([`RuntimeError::rejects_a_draw`] tells which do not):
    /// `fatal_error`, an index out of range, sizes that do not fit, a limit, something that cannot
    /// be computed.
    pub fn generate(&mut self, env: &mut Environment, chain: u32, draw: u64) -> Outcome<Generated> {
        let program = self.program();
        let block = &program.generated_quantities;
        let rejected = self.generate_in_place(env, chain, draw)?;
        let mut values = Vec::new();
        for declaration in declarations(block) {
            let id = declaration.variable;
            let known = env.get(id).filter(|_| rejected.is_none()).cloned();
            let value = match known {
                Some(value) => value,
                // Sizes depend on data only, so they can be had after a failure too.
                None => {
                    let extents = self.extents(env, &declaration.ty)?;
                    unset(&program.variable(id).ty, &extents)
                }
            };
            values.push((id, value));
        }
        Ok(Generated { values, rejected })
    }

    /// The same, with the quantities left in `env` alone; nothing useful is there if the draw was
    /// rejected, for which the reason is returned. `env` may be that of an earlier draw with the
    /// parameters replaced: each declaration starts its variable anew.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub fn generate_in_place(
        &mut self,
        env: &mut Environment,
        chain: u32,
        draw: u64,
    ) -> Outcome<Option<RuntimeError>> {
        self.generate_part(env, &self.program().generated_quantities, chain, draw)
    }

    /// The same where only `statements` are left to run, because `env` holds what the others
    /// compute. The constraints of all variables are checked.
    ///
    /// # Errors
    /// As [`generate`](Self::generate).
    pub fn generate_part(
        &mut self,
        env: &mut Environment,
        statements: &[Statement],
        chain: u32,
        draw: u64,
    ) -> Outcome<Option<RuntimeError>> {
        let program = self.program();
        self.start_draw(chain, draw);
        let ran = self.run(env, statements);
        match ran.and_then(|()| self.check_block(env, &program.generated_quantities)) {
            Ok(()) => Ok(None),
            Err(error) if error.rejects_a_draw() => Ok(Some(*error)),
            Err(error) => Err(error),
        }
    }
}
