//! Generated quantities that are compiled: a draw's recorded values -> the block's variables, all
//! at once.
//!
//! What cannot be compiled is left to the host interpreter: random numbers and `print`
//! (`exmc_stan::split`), statements that cannot be lowered, and the whole block of a draw at which
//! anything compiled goes wrong or is not a number. So errors, their order and their words are the
//! interpreter's.

use std::ops::Range;

use exmc_exec::{BoundFunction, Executor, FunctionInstance, FunctionSource, compile_function};
use exmc_fault::{Fault, planted};
use exmc_stan::host::{Environment, blocks, is_unconstrained};
use exmc_stan::lower::{LoweredQuantities, is_integer, lower_quantities};
use exmc_stan::split::Split;
use exmc_stan::typed::{Program, Statement, VariableId};
use exmc_stan::value::{UNSET_INT, Value};

use super::numbers::{columns, fill_whole};

/// The compiled part of a block, and what is left of it.
pub(super) struct Compiled {
    function: BoundFunction,
    /// What the host runs.
    pub(super) rest: Vec<Statement>,
    outputs: Vec<Output>,
    /// Whether the host has anything to do for a draw where nothing goes wrong.
    pub(super) needs_host: bool,
}

/// A compiled variable.
struct Output {
    variable: VariableId,
    /// A value of its shape, where the host reads the variable or checks its constraint.
    for_host: Option<Value>,
    /// Its numbers among the function's, after the first.
    computed: Range<usize>,
    /// The same among the columns of the block.
    columns: Range<usize>,
    integer: bool,
}

/// What one thread evaluates a [`Compiled`] with.
pub(super) struct CompiledInstance {
    function: FunctionInstance,
    /// Whether something failed, then the variables' numbers.
    values: Vec<f64>,
}

impl Compiled {
    /// Nothing, where nothing can be compiled. `recorded` has the variables that a draw records,
    /// `quantities` those of the block, each with an unset value.
    pub(super) fn new(
        program: &Program,
        environment: &Environment,
        recorded: &[(VariableId, Value)],
        quantities: &[(VariableId, Value)],
        executor: Executor,
    ) -> Option<Self> {
        let (parts, lowered) = lower_quantities(program, environment, recorded)?;
        Self::compile(program, lowered, parts, quantities, executor)
    }

    fn compile(
        program: &Program,
        lowered: LoweredQuantities,
        parts: Split,
        quantities: &[(VariableId, Value)],
        executor: Executor,
    ) -> Option<Self> {
        let LoweredQuantities { graph, parameters, dim, failed, outputs: nodes } = lowered;
        let outputs: Vec<_> = std::iter::once(failed).chain(nodes).collect();
        let source = FunctionSource { graph, outputs, parameters, dim };
        let function = compile_function(executor, &source).ok()?.bind(&|_| None).ok()?;
        let (mut computed, mut column, mut outputs) = (1, 0, Vec::new());
        let block = &program.generated_quantities;
        for ((variable, unset), declaration) in quantities.iter().zip(blocks::declarations(block)) {
            let mut count = 0;
            columns("", unset, &mut |_, _, elements| count += elements.len());
            if parts.outputs.contains(variable) {
                let checked = !is_unconstrained(&declaration.ty);
                let host = checked || parts.read.contains(variable);
                outputs.push(Output {
                    variable: *variable,
                    for_host: host.then(|| unset.clone()),
                    computed: computed..computed + count,
                    columns: column..column + count,
                    integer: is_integer(&program.variable(*variable).ty),
                });
                computed += count;
            }
            column += count;
        }
        if function.sizes().iter().sum::<usize>() != computed {
            return None;
        }
        let needs_host =
            !parts.rest.is_empty() || outputs.iter().any(|output| output.for_host.is_some());
        Some(Self { function, rest: parts.rest, outputs, needs_host })
    }

    pub(super) fn instance(&self) -> CompiledInstance {
        let len = self.function.sizes().iter().sum();
        CompiledInstance { function: self.function.instance(), values: vec![f64::NAN; len] }
    }

    /// Whether a variable is compiled.
    pub(super) fn has(&self, variable: VariableId) -> bool {
        self.outputs.iter().any(|output| output.variable == variable)
    }

    /// Evaluates a draw's compiled variables and writes their columns. `false` where the
    /// interpreter has to run the block.
    pub(super) fn evaluate(
        &self,
        instance: &mut CompiledInstance,
        trace: &[f64],
        out: &mut [f64],
    ) -> bool {
        let CompiledInstance { function, values } = instance;
        // Before the first draw, numbers are NaN.
        let stale = planted(Fault::StaleQuantities) && !values[0].is_nan();
        if (!stale && function.evaluate(trace, values).is_err()) || values[0] != 0.0 {
            return false;
        }
        for output in &self.outputs {
            let (from, to) = (&values[output.computed.clone()], &mut out[output.columns.clone()]);
            if output.integer {
                for (to, from) in to.iter_mut().zip(from) {
                    // Where nothing was assigned.
                    *to = if *from == UNSET_INT as f64 { f64::NAN } else { *from };
                }
                if from.iter().any(|i| i.abs() > -(UNSET_INT as f64)) {
                    return false;
                }
            } else {
                to.copy_from_slice(from);
            }
            if from.iter().filter(|x| x.is_nan()).count() > 0 {
                return false;
            }
        }
        true
    }

    /// Gives the host the variables that it reads or checks, as they were evaluated last.
    pub(super) fn tell(&self, instance: &CompiledInstance, environment: &mut Environment) {
        for output in &self.outputs {
            let Some(unset) = &output.for_host else { continue };
            if environment.get(output.variable).is_none_or(|value| value.shape() != unset.shape()) {
                environment.set(output.variable, unset.clone());
            }
            if let Some(value) = environment.get_mut(output.variable) {
                fill_whole(value, &mut &instance.values[output.computed.clone()]);
            }
        }
    }
}
