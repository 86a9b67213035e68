//! The log density of a program with its gradient, on a tape: the statements run one after the
//! other on values, and what each operation computed is written down with its derivatives, then
//! walked back.
//!
//! There is no graph of the program, so control flow may do what it likes with parameters: loop
//! bounds, sizes, slices and indices are just values. That makes it the fallback for programs that
//! cannot be lowered, and the oracle of the lowering's gradients, with which it shares nothing but
//! the library of single calls.
//!
//! | part | in -> out |
//! |---|---|
//! | `parameters` | coordinates -> constrained values, log Jacobians |
//! | `statement`, `assign`, `call`, `expression` | the typed tree -> values with places |
//! | `arithmetic`, `library`, `scalar_functions` | an operation -> its derivatives, by closed forms |
//! | `one_call` | any other library call -> its derivatives, by a graph of that call alone |
//! | `higher_order`, `dae` | solvers, integrals -> derivatives by the user's function on a tape of its own |
//! | `laplace` | Laplace approximations -> derivatives by the graph of the call |
//! | `collapse` | what a long loop wrote -> the derivatives of what is still read of it |
//! | `record` | the tape: adjoints from the last operation to the first |

mod arithmetic;
mod assign;
mod call;
mod collapse;
mod dae;
mod expression;
mod higher_order;
mod laplace;
mod library;
mod one_call;
mod parameters;
mod record;
mod statement;
mod traced;

use std::sync::Arc;

use crate::host::environment::Environment;
use crate::host::error::{Fault, Outcome};
use crate::host::interpreter::{Interpreter, Settings};
use crate::host::library::density::Densities;
use crate::source::Span;
use crate::typed::{Program, Type};

use laplace::LaplaceCall;
use one_call::Calls;
use parameters::Rest;
use record::{Id, Tape};

/// The log density, in nats, at an unconstrained position, with log Jacobians and all constants (as
/// if every `~` were `target += …_lpdf`), and its gradient.
///
/// `data` holds data and transformed data. **Layout** of position and gradient: parameters in
/// declaration order, each one's unconstrained array row by row; of tuples slot by slot, also in
/// arrays. **Edges**: where the density is minus infinity or NaN the gradient has any values. One
/// evaluation alone compiles its library calls each time: an [`Evaluator`] keeps them.
///
/// # Errors
/// Whatever goes wrong, as [`Interpreter::log_density`]; and functions whose derivative is not
/// there.
pub fn log_density_and_gradient(
    program: &Program,
    data: &Environment,
    position: &[f64],
) -> Outcome<(f64, Vec<f64>)> {
    let mut gradient = vec![0.0; position.len()];
    let mut memory = Memory::default();
    let value =
        evaluate(program, data.clone(), &Options::default(), &mut memory, position, &mut gradient)?;
    Ok((value, gradient))
}

/// What is evaluated.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Whether log Jacobians of the parameters' transforms, and `jacobian +=`, are added. Default:
    /// yes.
    pub jacobian: bool,
    /// Whether `~` and `_lupdf` leave out the terms that depend on data only, as Stan does: by the
    /// types of their arguments. Default: no.
    pub proportional: bool,
    /// Limits of a run.
    pub settings: Settings,
    /// The most bytes of the tape; beyond, an evaluation ends with
    /// [`FaultKind::Limit`](crate::host::FaultKind::Limit). Default: 2 GiB.
    pub most_bytes: u64,
    /// How many edges, at most 2^20, a loop writes until the tape since its start is collapsed, if
    /// few numbers are live; derivatives then are sums in another order. 0: after each iteration;
    /// the largest number: never. Default: 2^20.
    pub collapse_after: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            jacobian: true,
            proportional: false,
            settings: Settings::default(),
            most_bytes: collapse::MAX_BYTES,
            collapse_after: collapse::COLLAPSE_AFTER,
        }
    }
}

/// Compiled library calls and the memory of tapes, kept between evaluations.
#[derive(Default)]
struct Memory {
    densities: Densities,
    calls: Calls,
    laplace_calls: Vec<LaplaceCall>,
    tape: Tape,
    inner: Tape,
    adjoints: Vec<f64>,
    scratch: Vec<f64>,
}

/// Evaluates one program with its data at many positions.
pub struct Evaluator {
    program: Arc<Program>,
    /// Data and transformed data.
    data: Environment,
    options: Options,
    memory: Memory,
}

impl std::fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Evaluator")
    }
}

impl Evaluator {
    /// For a program over data and transformed data.
    pub fn new(program: Arc<Program>, data: Environment, options: Options) -> Self {
        Self { program, data, options, memory: Memory::default() }
    }

    /// The same for another program, with the library calls that were compiled so far.
    #[must_use]
    pub fn for_program(self, program: Arc<Program>, data: Environment, options: Options) -> Self {
        // Calls of Laplace approximations are found by their place in one program's text.
        let memory = Memory { laplace_calls: Vec::new(), ..self.memory };
        Self { program, data, options, memory }
    }

    /// As [`log_density_and_gradient`], writing the gradient.
    ///
    /// # Errors
    /// As there.
    pub fn evaluate(&mut self, position: &[f64], gradient: &mut [f64]) -> Outcome<f64> {
        let Self { program, data, options, memory } = self;
        evaluate(program, data.clone(), options, memory, position, gradient)
    }

    /// The largest absolute partial derivative of an operation in the last evaluation, infinite
    /// where one is NaN: where it is, an adjoint of zero times it depends on the order of
    /// operations. Collapsed loops and operations of many numbers are not looked at.
    pub fn largest_partial(&self) -> f64 {
        self.memory.tape.largest_partial()
    }
}

fn evaluate(
    program: &Program,
    data: Environment,
    options: &Options,
    memory: &mut Memory,
    position: &[f64],
    gradient: &mut [f64],
) -> Outcome<f64> {
    let mut host = Interpreter::new(program, options.settings.clone())
        .with_densities(std::mem::take(&mut memory.densities));
    host.proportional = options.proportional;
    let mut tape = std::mem::take(&mut memory.tape);
    tape.clear();
    let mut tracer = Tracer {
        host,
        env: data,
        ids: Environment::new(program),
        tape,
        inner: std::mem::take(&mut memory.inner),
        target: 0,
        calls: std::mem::take(&mut memory.calls),
        laplace_calls: std::mem::take(&mut memory.laplace_calls),
        has_effects: has_effects(program),
        jacobian: options.jacobian,
        most_bytes: options.most_bytes,
        collapse_after: options.collapse_after,
        scratch: std::mem::take(&mut memory.scratch),
    };
    let result = tracer.log_density(position);
    if result.is_ok() {
        tracer.tape.sweep(tracer.target, &mut memory.adjoints);
        gradient.copy_from_slice(&memory.adjoints[1..=gradient.len()]);
    }
    let Tracer { host, tape, inner, calls, laplace_calls, scratch, .. } = tracer;
    (memory.laplace_calls, memory.scratch) = (laplace_calls, scratch);
    (memory.densities, memory.calls) = (host.into_densities(), calls);
    (memory.tape, memory.inner) = (tape, inner);
    result
}

/// Whether an expression of the program may add to the density.
fn has_effects(program: &Program) -> bool {
    program.functions.iter().any(|function| {
        let adds = function.name.ends_with("_lp") || function.name.ends_with("_jacobian");
        adds && function.returns != Type::Void
    })
}

/// Walks the typed tree over values, writing the tape.
struct Tracer<'p> {
    /// What the walk shares with plain evaluation: settings, random numbers, sizes, checks, the
    /// value of the density so far.
    host: Interpreter<'p>,
    /// Values of variables.
    env: Environment,
    /// Places of their numbers; nothing for constants.
    ids: Environment,
    tape: Tape,
    /// A tape for the functions of solvers.
    inner: Tape,
    /// The place of the log density so far.
    target: Id,
    calls: Calls,
    laplace_calls: Vec<LaplaceCall>,
    has_effects: bool,
    jacobian: bool,
    most_bytes: u64,
    collapse_after: usize,
    /// Adjoints of what is collapsed.
    scratch: Vec<f64>,
}

impl Tracer<'_> {
    fn add_to_target(&mut self, x: f64, id: Id) {
        self.host.target += x;
        self.target = self.tape.two((self.target, 1.0), (id, 1.0));
    }

    fn log_density(&mut self, position: &[f64]) -> Outcome<f64> {
        let program = self.host.program();
        self.host.start_draw(0, 0);
        let places: Vec<Id> = position.iter().map(|_| self.tape.leaf()).collect();
        let mut rest = Rest { numbers: position, places: &places };
        for declaration in &program.parameters {
            let extents = self.host.extents(&mut self.env, &declaration.ty)?;
            let value = self.constrain(&declaration.ty, &extents, &[], &mut rest)?;
            let value = value.map_err(|fault| fault.at(declaration.span))?;
            self.set(declaration.variable, value);
        }
        if !rest.numbers.is_empty() {
            let message = format!("{} coordinates are left over", rest.numbers.len());
            return Err(Fault::size(message).at(Span::default()));
        }
        // `target()` counts what statements add: log Jacobians of the parameters are added at the
        // end.
        let jacobian = (self.host.target, self.target);
        (self.host.target, self.target) = (0.0, 0);
        self.block(&program.transformed_parameters)?;
        self.statements(&program.model)?;
        self.add_to_target(jacobian.0, jacobian.1);
        Ok(self.host.target)
    }
}
