//! Generated quantities: a draw's parameters -> what the host interpreter makes of them, in streams of random numbers of their own.

use std::fmt;
use std::sync::{Arc, Mutex};

use exmc_graph::Shape;
use exmc_infer::RunPhase;
use exmc_stan::diagnostic::Diagnostic;
use exmc_stan::host::{
    Densities, Environment, FaultKind, Interpreter, RuntimeError, Settings, blocks,
};
use exmc_stan::source::Sources;
use exmc_stan::typed::{Program, VariableId};
use exmc_stan::value::Value;

use super::numbers::{columns, fill, whole_number};
use super::{Printer, StanError, interpreter, recorded};
use crate::error::Error;
use crate::quantities::{DrawNumber, Quantities, QuantitiesInstance};

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
    variables: Vec<(String, Shape)>,
    /// Whether transformed parameters are quantities too: those of an interpreted program are not in its recorded values.
    with_transformed: bool,
    printer: Option<Printer>,
    failures: Mutex<Failures>,
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
    /// Nothing, for a program without generated quantities (and, `with_transformed`, without transformed parameters).
    pub(super) fn new(
        program: &Arc<Program>,
        environment: &Environment,
        printer: Option<Printer>,
        with_transformed: bool,
    ) -> Result<Option<Self>, StanError> {
        let wrong = |diagnostic| StanError {
            sources: program.sources.clone(),
            diagnostics: vec![diagnostic],
        };
        let mut environment = environment.clone();
        let mut interpreter = Interpreter::new(program, Settings::default());
        let mut shape = |declared, environment: &mut Environment| {
            interpreter.extents(environment, declared).map_err(|e| wrong(Diagnostic::from(e)))
        };
        let mut variables = Vec::new();
        let before = match with_transformed {
            true => &program.transformed_parameters[..],
            false => &[],
        };
        let quantities = blocks::declarations(&program.generated_quantities);
        for declaration in blocks::declarations(before).chain(quantities) {
            let variable = program.variable(declaration.variable);
            let extents = shape(&declaration.ty, &mut environment)?;
            let value = exmc_stan::host::unset(&variable.ty, &extents);
            columns(&variable.name, &value, &mut |name, shape, _| {
                variables.push((name.to_owned(), Shape::from(shape)));
            });
        }
        if variables.is_empty() {
            return Ok(None);
        }
        let transformed = match with_transformed {
            true => &[][..],
            false => &program.transformed_parameters,
        };
        let transformed = blocks::declarations(transformed);
        let recorded =
            recorded(program, &mut environment, program.parameters.iter().chain(transformed))?;
        let (program, failures) = (program.clone(), Mutex::default());
        let parts = Parts {
            program,
            environment,
            recorded,
            variables,
            with_transformed,
            printer,
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
        Box::new(Instance { parts: self.0.clone(), seed, environment, densities })
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
}

/// Draws of warmup have streams of their own, behind those of 2^27 draws.
const WARMUP: u64 = 1 << 27;

impl QuantitiesInstance for Instance {
    fn evaluate(&mut self, draw: DrawNumber, trace: &[f64], out: &mut [f64]) -> Result<(), Error> {
        let Self { parts, seed, environment, densities } = self;
        let program = &*parts.program;
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
            RunPhase::Sampling => draw.index,
        };
        let mut interpreter = interpreter(program, *seed, parts.printer.as_ref())
            .with_densities(std::mem::take(densities));
        let transformed = match parts.with_transformed {
            true => interpreter.transform_parameters(environment),
            false => Ok(()),
        };
        let generated = match transformed {
            Ok(()) => interpreter.generate_in_place(environment, draw.chain, number),
            Err(error) if error.is_recoverable() => Ok(Some(*error)),
            Err(error) => Err(error),
        };
        *densities = interpreter.into_densities();
        let before = match parts.with_transformed {
            true => &program.transformed_parameters[..],
            false => &[],
        };
        let failure = match generated {
            Ok(None) => {
                let mut filled = 0;
                let quantities = blocks::declarations(&program.generated_quantities);
                for declaration in blocks::declarations(before).chain(quantities) {
                    let Some(value) = environment.get(declaration.variable) else { continue };
                    // Without a list of numbers in between.
                    if let Value::Ints(n) = value {
                        let own = out.iter_mut().skip(filled).zip(n.values.iter());
                        own.for_each(|(to, i)| *to = whole_number(i));
                        filled += n.len();
                        continue;
                    }
                    columns("", value, &mut |_, _, elements| {
                        if let Some(own) = out.get_mut(filled..filled + elements.len()) {
                            own.copy_from_slice(elements);
                        }
                        filled += elements.len();
                    });
                }
                if filled == out.len() {
                    return Ok(());
                }
                // A variable whose size was changed by what was assigned to it: the host forbids it.
                "their sizes differ from those that were declared".to_owned()
            }
            Ok(Some(error)) => with_place(&error, &program.sources),
            Err(error) if error.kind == FaultKind::Fatal => {
                let (sources, diagnostics) = (program.sources.clone(), vec![error.into()]);
                return Err(Error::fatal(StanError { sources, diagnostics }));
            }
            Err(error) => with_place(&error, &program.sources),
        };
        out.fill(f64::NAN);
        let mut failures = parts.failures.lock().unwrap_or_else(|poison| poison.into_inner());
        failures.draws += 1;
        failures.first.get_or_insert(failure);
        Ok(())
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
