//! Generated quantities: a draw's recorded values -> the block's variables, compiled where they can
//! be and otherwise by the host interpreter, in streams of random numbers of their own.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use exmc_exec::Executor;
use exmc_fault::{Fault, planted};
use exmc_graph::Shape;
use exmc_infer::RunPhase;
use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::host::{
    Densities, Environment, FaultKind, Interpreter, Outcome, RuntimeError, Settings, absent_calls,
    blocks,
};
use exmc_stan::source::Sources;
use exmc_stan::typed::{Program, VariableId};
use exmc_stan::value::Value;

use super::compiled::{Compiled, CompiledInstance};
use super::numbers::{columns, fill, whole_number};
use super::{Printer, StanError, StanOptions, interpreter, recorded};
use crate::compile::COMPILE_QUANTITIES;
use crate::error::Error;
use crate::generated_quantities::{DrawNumber, Quantities, QuantitiesInstance};

/// Generated quantities, by the host interpreter.
#[derive(Clone)]
pub(super) struct Generator(Arc<Parts>);

struct Parts {
    program: Arc<Program>,
    /// Data and transformed data.
    environment: Environment,
    /// What a recorded draw holds: parameters, then transformed parameters.
    /// Each with an unset value, which tells its shape.
    recorded: Vec<(VariableId, Value)>,
    /// The block's own variables, each with an unset value.
    quantities: Vec<(VariableId, Value)>,
    variables: Vec<(String, Shape)>,
    /// Whether transformed parameters are quantities too: those of an interpreted program are not
    /// in its recorded values.
    with_transformed: bool,
    printer: Option<Printer>,
    stop: Option<Arc<AtomicBool>>,
    /// Who evaluates compiled quantities; none where the interpreter runs the whole block.
    executor: Option<Executor>,
    /// Made for the first draw.
    compiled: OnceLock<Option<Compiled>>,
    failures: Mutex<Failures>,
}

impl Parts {
    fn compiled(&self) -> Option<&Compiled> {
        let executor = self.executor?;
        let make = || {
            let Self { program, environment, recorded, quantities, .. } = self;
            Compiled::new(program, environment, recorded, quantities, executor)
        };
        self.compiled.get_or_init(make).as_ref()
    }
}

#[derive(Default)]
struct Failures {
    draws: u64,
    first: Option<String>,
}

impl fmt::Debug for Generator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generator").field("variables", &self.0.variables).finish_non_exhaustive()
    }
}

impl Generator {
    /// Nothing, for a program without generated quantities (and, `with_transformed`, without
    /// transformed parameters). A block that declares nothing runs too: it may print, or end the
    /// run.
    ///
    /// # Errors
    /// Calls that the host cannot compute, and sizes that cannot be.
    pub(super) fn new(
        program: &Arc<Program>,
        environment: &Environment,
        options: &StanOptions,
        with_transformed: bool,
    ) -> Result<Option<Self>, StanError> {
        let wrong = |diagnostic| StanError {
            sources: program.sources.clone(),
            diagnostics: vec![diagnostic],
        };
        let has_transformed = with_transformed && !program.transformed_parameters.is_empty();
        if program.generated_quantities.is_empty() && !has_transformed {
            return Ok(None);
        }
        let absent = absent_calls(program, &program.generated_quantities);
        if !absent.is_empty() {
            return Err(StanError { sources: program.sources.clone(), diagnostics: absent });
        }
        let mut environment = environment.clone();
        let mut interpreter = Interpreter::new(program, Settings::default());
        let mut shape = |declared, environment: &mut Environment| {
            interpreter.extents(environment, declared).map_err(|e| wrong(Diagnostic::from(e)))
        };
        let (mut variables, mut quantities) = (Vec::new(), Vec::new());
        let before = match with_transformed {
            true => &program.transformed_parameters[..],
            false => &[],
        };
        let declared_quantities = blocks::declarations(&program.generated_quantities);
        for declaration in blocks::declarations(before).chain(declared_quantities) {
            let variable = program.variable(declaration.variable);
            let extents = shape(&declaration.ty, &mut environment)?;
            let value = exmc_stan::host::unset(&variable.ty, &extents);
            columns(&variable.name, &value, &mut |name, shape, _| {
                variables.push((name.to_owned(), Shape::from(shape)));
            });
            quantities.push((declaration.variable, value));
        }
        let transformed = match with_transformed {
            true => &[][..],
            false => &program.transformed_parameters,
        };
        let transformed = blocks::declarations(transformed);
        let recorded =
            recorded(program, &mut environment, program.parameters.iter().chain(transformed))?;
        let (program, failures) = (program.clone(), Mutex::default());
        let interpreted = options.compile.without.iter().any(|name| name == COMPILE_QUANTITIES);
        // What reads transformed parameters cannot be compiled where those cannot.
        let interpreted = interpreted || with_transformed;
        let executor = (!interpreted).then_some(options.compile.executor);
        let (printer, stop) = (options.printer.clone(), options.stop.clone());
        let compiled = OnceLock::new();
        let parts = Parts {
            program,
            environment,
            recorded,
            quantities,
            variables,
            with_transformed,
            printer,
            stop,
            executor,
            compiled,
            failures,
        };
        Ok(Some(Self(Arc::new(parts))))
    }
}

impl Quantities for Generator {
    fn variables(&self) -> &[(String, Shape)] {
        &self.0.variables
    }

    fn instance(&self, seed: u64) -> Box<dyn QuantitiesInstance> {
        let environment = self.0.environment.clone();
        let densities = Densities::default();
        let (parts, compiled) = (self.0.clone(), None);
        Box::new(Instance { parts, seed, environment, densities, compiled })
    }

    fn compiled(&self) -> Vec<String> {
        let Some(compiled) = self.0.compiled() else { return Vec::new() };
        let all = self.0.quantities.iter().filter(|(id, _)| compiled.has(*id));
        all.map(|(id, _)| self.0.program.variable(*id).name.to_string()).collect()
    }

    fn notes(&self) -> Vec<String> {
        let failures = self.0.failures.lock().unwrap_or_else(|poison| poison.into_inner());
        let note = |first: &String| {
            let draws = if failures.draws == 1 { "draw has" } else { "draws have" };
            format!("{} {draws} no generated quantities (NaN); the first: {first}", failures.draws)
        };
        failures.first.iter().map(note).collect()
    }
}

struct Instance {
    parts: Arc<Parts>,
    seed: u64,
    /// Data, and what the last draw left, whose memory the next one writes to.
    environment: Environment,
    densities: Densities,
    /// None before the first draw.
    compiled: Option<CompiledInstance>,
}

/// Draws of warmup have streams of their own, behind those of 2^27 draws.
const WARMUP: u64 = 1 << 27;

impl QuantitiesInstance for Instance {
    fn evaluate(&mut self, draw: DrawNumber, trace: &[f64], out: &mut [f64]) -> Result<(), Error> {
        let parts = self.parts.clone();
        let mut compiled = parts.compiled();
        if let Some(all) = compiled {
            let instance = self.compiled.get_or_insert_with(|| all.instance());
            match all.evaluate(instance, trace, out) {
                true if !all.needs_host => return Ok(()),
                true => all.tell(instance, &mut self.environment),
                // What went wrong is the interpreter's to tell.
                false => compiled = None,
            }
        }
        let generated = self.run(&parts, compiled, draw, trace);
        let program = &*parts.program;
        let failure = match generated {
            Ok(None) => {
                if self.copy(&parts, compiled, out) {
                    return Ok(());
                }
                // A variable whose size was changed by what was assigned to it: the host forbids
                // it.
                "their sizes differ from those that were declared".to_owned()
            }
            Ok(Some(error)) => with_place(&error, &program.sources),
            Err(error) if error.kind == FaultKind::Interrupted => {
                let (sources, diagnostics) = (program.sources.clone(), vec![error.into()]);
                return Err(Error::interrupted(StanError { sources, diagnostics }));
            }
            Err(error) => {
                let (sources, diagnostics) = (program.sources.clone(), vec![error.into()]);
                return Err(Error::fatal(StanError { sources, diagnostics }));
            }
        };
        out.fill(f64::NAN);
        let mut failures = parts.failures.lock().unwrap_or_else(|poison| poison.into_inner());
        failures.draws += 1;
        failures.first.get_or_insert(failure);
        Ok(())
    }
}

impl Instance {
    /// Runs the statements that are not compiled; all of them, where nothing is.
    fn run(
        &mut self,
        parts: &Parts,
        compiled: Option<&Compiled>,
        draw: DrawNumber,
        trace: &[f64],
    ) -> Outcome<Option<RuntimeError>> {
        let Self { seed, environment, densities, .. } = self;
        let mut rest = trace;
        for (id, unset) in &parts.recorded {
            if environment.get(*id).is_none() {
                environment.set(*id, unset.clone());
            }
            if let Some(value) = environment.get_mut(*id) {
                fill(value, &mut rest);
            }
        }
        let number = match draw.phase {
            RunPhase::Warmup => WARMUP + draw.index,
            RunPhase::Sampling if planted(Fault::QuantitiesStream) => 0,
            RunPhase::Sampling => draw.index,
        };
        let mut interpreter =
            interpreter(&parts.program, *seed, parts.printer.as_ref(), parts.stop.as_ref())
                .with_densities(std::mem::take(densities));
        if parts.with_transformed
            && let Err(error) = interpreter.transform_parameters(environment)
        {
            *densities = interpreter.into_densities();
            return if error.is_recoverable() { Ok(Some(*error)) } else { Err(error) };
        }
        let generated = match compiled {
            Some(compiled) => {
                interpreter.generate_part(environment, &compiled.rest, draw.chain, number)
            }
            None => interpreter.generate_in_place(environment, draw.chain, number),
        };
        *densities = interpreter.into_densities();
        generated
    }

    /// Copies what the interpreter computed to its columns; `false` where there are more or fewer
    /// numbers than columns.
    fn copy(&self, parts: &Parts, compiled: Option<&Compiled>, out: &mut [f64]) -> bool {
        let mut filled = 0;
        for (id, unset) in &parts.quantities {
            let is_there = compiled.is_some_and(|compiled| compiled.has(*id));
            let known = self.environment.get(*id).filter(|_| !is_there);
            // Without a list of numbers in between.
            if let Some(Value::Ints(n)) = known {
                let pairs = out.iter_mut().skip(filled).zip(n.values.iter());
                pairs.for_each(|(to, i)| *to = whole_number(i));
                filled += n.len();
                continue;
            }
            columns("", known.unwrap_or(unset), &mut |_, _, elements| {
                if let (Some(target), true) =
                    (out.get_mut(filled..filled + elements.len()), known.is_some())
                {
                    target.copy_from_slice(elements);
                }
                filled += elements.len();
            });
        }
        filled == out.len()
    }
}

/// What went wrong, in one line with its place.
fn with_place(error: &RuntimeError, sources: &Sources) -> String {
    let Some(file) = sources.files().get(error.span.file as usize) else {
        return error.message.clone();
    };
    let place = file.place(error.span.start);
    format!("{} ({}:{}:{})", error.message, file.name, place.line, place.column + 1)
}
