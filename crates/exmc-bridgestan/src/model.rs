//! A program and its data -> names, densities, and the way between unconstrained and constrained
//! values.

use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

use exmc::StanProgram;
use exmc::advanced::{
    CompileOptions, DrawNumber, Generator, MARGINALISE, QuantitiesInstance, RECENTRE, TraceInstance,
};
use exmc::infer::RunPhase;
use exmc::model::Values;
use exmc::stan::{Depth, Interpreter, Printer, StanModel, StanOptions};
use exmc_cmdstan::bridgestan::{SWITCHES, VERSION};
use exmc_cmdstan::position::position_of;
use exmc_cmdstan::program::Payload;
use exmc_math::random::{ChainRng, Phase};

use crate::columns::Columns;
use crate::density::Density;
use crate::stream::Stream;

/// A program with its data.
pub struct Model {
    /// `NAME_model` of `NAME.stan`.
    pub name: String,
    /// Versions and switches, a line each.
    pub info: String,
    /// Names and order of constrained values.
    pub columns: Columns,
    /// Names of unconstrained parameters, in Stan's order, between commas.
    pub unconstrained_names: String,
    base: StanModel,
    printer: Printer,
    /// Without and with Jacobians; each with all constants and without those that Stan leaves out.
    densities: [OnceLock<Result<Density, String>>; 4],
    /// What threads compute constrained values with, while none does.
    idle: Mutex<Vec<Recorder>>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Compiled parameters, transformed parameters and generated quantities.
struct Recorder {
    trace: TraceInstance,
    quantities: Option<Box<dyn QuantitiesInstance>>,
}

/// Which density.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// Whether the constants are left out that Stan leaves out.
    pub proportional: bool,
    /// Whether log Jacobians are added.
    pub jacobian: bool,
}

/// The density's settings: over all parameters, in the coordinates that the program has.
fn settings(kind: Kind, interpreter: Interpreter) -> CompileOptions {
    let mut compile = CompileOptions::default();
    compile.jacobian = kind.jacobian;
    compile.proportional = kind.proportional;
    compile.interpreter = interpreter;
    compile.marginalise = Some(false);
    compile.without.extend([RECENTRE.to_owned(), MARGINALISE.to_owned()]);
    compile
}

/// The density that is compiled with the model, because samplers ask for it.
const FIRST: Kind = Kind { proportional: true, jacobian: true };

impl Model {
    /// The program with data: JSON text, or the path of a file whose name ends in `.json`.
    ///
    /// # Errors
    /// Mistakes of program and data, with their places.
    pub fn new(
        payload: &Payload,
        data: Option<&str>,
        seed: u32,
        printer: &Printer,
    ) -> Result<Self, String> {
        let program = payload.program().map_err(|error| error.to_string())?;
        let (name, text) = match data {
            None | Some("") => ("no data", "{}".to_owned()),
            Some(path) if path.ends_with(".json") => (
                path,
                std::fs::read_to_string(path)
                    .map_err(|error| format!("cannot read the data file `{path}`: {error}"))?,
            ),
            Some(text) => ("data", text.to_owned()),
        };
        let base = bind(&program, (name, &text), seed, printer)?;
        let columns = Columns::of(&base);
        Ok(Self {
            name: payload.name.clone(),
            info: info(payload, &base),
            columns,
            unconstrained_names: base.coordinate_names().join(","),
            base,
            printer: printer.clone(),
            densities: Default::default(),
            idle: Mutex::default(),
        })
    }

    /// Number of unconstrained parameters.
    pub fn dim(&self) -> usize {
        self.base.stan_order().len()
    }

    /// One of the densities, compiled when it is first asked for.
    ///
    /// # Errors
    /// When it cannot be compiled.
    pub fn density(&self, kind: Kind) -> Result<&Density, String> {
        let place = 2 * usize::from(kind.jacobian) + usize::from(kind.proportional);
        let made = self.densities[place].get_or_init(|| {
            let interpreter = match self.base.bound().is_interpreted() {
                true => Interpreter::Always,
                false => Interpreter::Fallback,
            };
            let model = match kind == FIRST {
                true => self.base.clone(),
                false => self.base.recompile(settings(kind, interpreter)).map_err(text)?,
            };
            Ok(Density::new(model, self.printer.clone()))
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// Unconstrained parameters -> constrained values, as [`Columns::selection`] names them. A
    /// stream is needed for generated quantities.
    ///
    /// # Errors
    /// What is wrong at this position, with its place; or when there is no stream.
    pub fn constrain(
        &self,
        theta: &[f64],
        (transformed, generated): (bool, bool),
        stream: Option<&Stream>,
        out: &mut [f64],
    ) -> Result<(), String> {
        let selection = self.columns.selection(transformed, generated);
        let mut position = vec![0.0; theta.len()];
        let order = self.base.stan_order();
        theta.iter().zip(order).for_each(|(x, place)| position[*place] = *x);
        let depth = match (generated, stream) {
            (true, None) => {
                let text = "generated quantities are asked for without a stream of random numbers";
                return Err(text.to_owned());
            }
            (true, Some(stream)) => {
                let (chain, draw) = stream.next_use();
                Depth::Generated { chain, draw }
            }
            (false, _) if transformed => Depth::Transformed,
            (false, _) => Depth::Parameters,
        };
        let row = match self.compiled_values(&position, depth) {
            Some(row) => row,
            None => {
                let values = self.base.values_at(&position, depth, 0, Some(&self.printer));
                values.map_err(text)?
            }
        };
        out.iter_mut().zip(&selection.order).for_each(|(to, place)| *to = row[*place]);
        Ok(())
    }

    /// The values by compiled code; nothing where the statements have more to say.
    fn compiled_values(&self, position: &[f64], depth: Depth) -> Option<Vec<f64>> {
        let parameters_only = depth == Depth::Parameters;
        let generated = matches!(depth, Depth::Generated { .. });
        let silent =
            !self.base.bound().is_interpreted() && !self.base.has_more_than_values(generated);
        if !parameters_only && !silent {
            return None;
        }
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let found = idle().pop();
        let bound = self.base.bound();
        let mut recorder = found.unwrap_or_else(|| Recorder {
            trace: bound.trace_instance(),
            quantities: bound.quantities().map(|generator| generator.instance(0)),
        });
        let trace_width = bound.trace_width();
        let mut row = vec![0.0; self.columns.widths[2].max(trace_width)];
        let evaluated = recorder.trace.evaluate(position, &mut row[..trace_width]);
        let mut is_good = evaluated.is_ok()
            && (parameters_only || row[..trace_width].iter().all(|x| x.is_finite()));
        if let (true, Depth::Generated { chain, draw }) = (is_good, depth)
            && let Some(quantities) = &mut recorder.quantities
        {
            let number = DrawNumber { chain, phase: RunPhase::Sampling, index: draw };
            let (trace, generated_row) = row.split_at_mut(trace_width);
            let made = quantities.evaluate(number, trace, generated_row);
            // A rejected draw has NaN everywhere.
            is_good = made.is_ok()
                && (generated_row.is_empty() || generated_row.iter().any(|x| !x.is_nan()));
        }
        idle().push(recorder);
        is_good.then_some(row)
    }

    /// Constrained parameters, in the order of their names -> unconstrained ones.
    ///
    /// # Errors
    /// When a value lies outside of its support.
    pub fn unconstrain(&self, theta: &[f64], out: &mut [f64]) -> Result<(), String> {
        let order = &self.columns.selection(false, false).order;
        let mut row = vec![0.0; theta.len()];
        theta.iter().zip(order).for_each(|(x, place)| row[*place] = *x);
        let bound = self.base.bound();
        let reader = Generator::new(bound, &self.columns.parameters, 0).map_err(text)?;
        let values = reader.values(&row).map_err(text)?;
        self.to_stan_order(&values, out)
    }

    /// The same from JSON, which must have all parameters.
    ///
    /// # Errors
    /// Mistakes of the JSON, a parameter that it does not have, a value outside of its support.
    pub fn unconstrain_json(&self, json: &str, out: &mut [f64]) -> Result<(), String> {
        let values = self.base.inits("parameters", json).map_err(text)?;
        let layout = &self.base.bound().compiled().lowered().layout;
        let missing = layout.iter().filter(|entry| !entry.constrained.is_empty());
        if let Some(entry) = missing.clone().find(|entry| !values.contains_key(&entry.name)) {
            let name = &entry.name;
            return Err(format!("the JSON has no value of the parameter `{name}`"));
        }
        self.to_stan_order(&values, out)
    }

    fn to_stan_order(&self, values: &Values, out: &mut [f64]) -> Result<(), String> {
        let position = position_of(self.base.bound(), values)?;
        out.iter_mut().zip(self.base.stan_order()).for_each(|(to, place)| *to = position[*place]);
        Ok(())
    }

    /// A position with a finite density: what JSON gives, the rest uniform within a radius.
    ///
    /// # Errors
    /// Mistakes of the JSON; or when no position that was tried has a finite density, with what was
    /// wrong with the last.
    pub fn initialize(
        &self,
        json: Option<&str>,
        stream: &Stream,
        (radius, tries, jacobian): (f64, usize, bool),
        out: &mut [f64],
    ) -> Result<(), String> {
        let given = match json {
            None | Some("") => Values::new(),
            Some(json) => self.base.inits("parameters", json).map_err(text)?,
        };
        if !(radius.is_finite() && radius >= 0.0) {
            return Err(format!("the radius of initial values is {radius}, expected 0 or more"));
        }
        let density = self.density(Kind { proportional: true, jacobian })?;
        let mut fixed = vec![f64::NAN; out.len()];
        self.to_stan_order(&given, &mut fixed)?;
        let mut gradient = vec![0.0; out.len()];
        let mut reason = "no point was tried".to_owned();
        let (seed, index) = stream.next_use();
        let mut rng = ChainRng::new(index << 32 | u64::from(seed), 0, Phase::Initial);
        for _ in 0..tries {
            for (to, fixed_value) in out.iter_mut().zip(&fixed) {
                let drawn = radius * (2.0 * rng.uniform_open() - 1.0);
                *to = if fixed_value.is_nan() { drawn } else { *fixed_value };
            }
            match density.logp_grad(out, &mut gradient) {
                Ok(logp) if logp.is_finite() && gradient.iter().all(|g| g.is_finite()) => {
                    return Ok(());
                }
                Ok(logp) => {
                    reason = format!("the log density is {logp}, its gradient {gradient:?}")
                }
                Err(error) => reason = error,
            }
            if fixed.iter().all(|x| !x.is_nan()) {
                break;
            }
        }
        Err(format!("initialization failed after {tries} tries; at the last point: {reason}"))
    }
}

/// The program with its data. A density that cannot be compiled because no position has one (a
/// `reject` that is always reached) is left to the interpreter, which says so at each position.
fn bind(
    program: &StanProgram,
    (name, data): (&str, &str),
    seed: u32,
    printer: &Printer,
) -> Result<StanModel, String> {
    let mut options = StanOptions::default();
    options.seed = u64::from(seed);
    options.printer = Some(printer.clone());
    options.compile = settings(FIRST, Interpreter::Fallback);
    program.bind_with(name, data, &options).or_else(|error| {
        options.compile = settings(FIRST, Interpreter::Always);
        options.printer = None;
        program.bind_with(name, data, &options).map_err(|_| text(error))
    })
}

/// Versions, and the switches that the model was made with, in the lines that clients look for.
fn info(payload: &Payload, model: &StanModel) -> String {
    let stan = exmc_cmdstan::VERSION;
    let mut lines = vec![
        format!("BridgeStan version: {VERSION}"),
        format!("Stan version: {stan}"),
        "Stan C++ Defines:".to_owned(),
    ];
    for switch in SWITCHES {
        let is_on = payload.switches.iter().any(|active_switch| active_switch == switch);
        lines.push(format!("\t{switch}={is_on}"));
    }
    let who = match model.bound().is_interpreted() {
        true => "statements run one by one",
        false => "compiled in memory",
    };
    lines.push("Stan Compiler Details:".to_owned());
    lines.push(format!("\texmc {}, {who}; no C++", env!("CARGO_PKG_VERSION")));
    lines.push("\tHessians are differences of gradients".to_owned());
    lines.push(format!("\tstancflags = {}", payload.stanc_flags));
    lines.join("\n") + "\n"
}

fn text(error: impl fmt::Display) -> String {
    error.to_string()
}
