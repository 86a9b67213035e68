//! A Stan program and its data -> a model that samples like any other, with its generated
//! quantities.

mod compiled;
mod error;
mod generated;
mod interpreted;
mod numbers;
mod observations;
mod replicated;
mod statements;
mod values;
pub(crate) mod without;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use exmc_model::{MARGINALISE, RECENTRE};
use exmc_stan::check::check;
use exmc_stan::data::{self, read_data_of_files, read_inits};
use exmc_stan::host::{self, Environment, Settings};
use exmc_stan::lower::{self, LoopReport, StanLowered, print_loops};
use exmc_stan::report::render;
use exmc_stan::syntax::{parse, print, tree};
use exmc_stan::typed::{Declaration, Program, VariableId};
use exmc_stan::value::Value;

pub use exmc_stan::diagnostic::{Class, Diagnostic, Severity};
pub use exmc_stan::source::{SourceFile, Sources, Span};
pub use exmc_stan::syntax::{Folders, NoIncludes, Resolver};

pub use crate::compile::Interpreter;
use crate::compile::{BoundModel, CompileOptions, Values, compile_lowered};
use crate::error::Error;
use generated::Generator;
pub(crate) use interpreted::{Interpreted, InterpretedInstance};
pub(crate) use numbers::leaves as value_leaves;
use numbers::leaves;
use statements::Statements;
use values::can_reject;

pub use error::StanError;
pub(crate) use observations::Observed;
pub use observations::{Observation, StanLikelihood, StatementTerms};
pub use values::Depth;

/// A checked Stan program, waiting for data. Cheap to clone.
///
/// ```
/// use exmc::{SamplerConfig, StanProgram};
///
/// let program = StanProgram::from_text(
///     "coin.stan",
///     "data { int<lower=0> N; array[N] int<lower=0, upper=1> y; }
///      parameters { real<lower=0, upper=1> theta; }
///      model { theta ~ beta(1, 1); y ~ bernoulli(theta); }",
/// )?;
/// let model = program.bind("coin.json", r#"{"N": 10, "y": [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]}"#)?;
/// let fit = exmc::sample(&model, &SamplerConfig::default().seed(1))?;
/// // Two heads in ten: a beta(3, 9) distribution, whose mean is 1/4.
/// let theta = &fit.summary()["theta"];
/// assert!((theta.mean - 0.25).abs() < 4.0 * theta.mcse_mean);
/// # Ok::<(), exmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StanProgram {
    tree: Arc<tree::Program>,
    program: Arc<Program>,
    warnings: Vec<Diagnostic>,
}

/// Takes what `print` writes in transformed data and generated quantities, a line at a time; chains
/// that run side by side call it from their own threads.
#[derive(Clone)]
pub struct Printer(Arc<dyn Fn(&str) + Send + Sync>);

impl Printer {
    /// A printer that hands each line, without its end, to a function.
    pub fn new(print: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(print))
    }
}

impl fmt::Debug for Printer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Printer")
    }
}

/// Settings of [`StanProgram::bind_with`].
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StanOptions {
    /// How the density is compiled.
    pub compile: CompileOptions,
    /// Seed of random numbers in transformed data.
    pub seed: u64,
    /// Where `print` writes to. Default: nowhere.
    pub printer: Option<Printer>,
    /// What ends transformed data and generated quantities in the middle of their loops when it
    /// becomes true ([`Error::is_interrupted`]). Default: nothing.
    pub stop: Option<Arc<AtomicBool>>,
}

/// How long the ways from data to a density took.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct StanTimes {
    /// Reading data and computing transformed data.
    pub data: Duration,
    /// From the typed program to the graph of its log density.
    pub lower: Duration,
    /// From the graph to a program with gradient, and binding it.
    pub compile: Duration,
}

/// The text of data, and the name that messages have for it.
#[derive(Clone, Debug)]
struct DataFile {
    name: Arc<str>,
    text: Arc<str>,
}

/// A Stan program with its data.
#[derive(Clone, Debug)]
pub struct StanModel {
    origin: StanProgram,
    options: StanOptions,
    data: DataFile,
    program: Arc<Program>,
    environment: Environment,
    stan_order: Vec<usize>,
    warnings: Vec<Diagnostic>,
    loops: Vec<LoopReport>,
    bound: BoundModel,
    /// Whether the host computes transformed parameters, which are then not recorded with the
    /// parameters.
    transformed_by_host: bool,
    times: StanTimes,
}

impl StanProgram {
    /// Reads a program that includes no files.
    ///
    /// # Errors
    /// All mistakes of the program.
    pub fn from_text(name: &str, text: &str) -> Result<Self, StanError> {
        Self::read(Sources::single(name, text), &mut NoIncludes)
    }

    /// Reads a program, the first of `sources`; `resolver` finds the files that it includes.
    ///
    /// # Errors
    /// All mistakes of the program.
    pub fn read(mut sources: Sources, resolver: &mut dyn Resolver) -> Result<Self, StanError> {
        let (tree, mut diagnostics) = parse(&mut sources, resolver);
        let is_wrong = |all: &[Diagnostic]| all.iter().any(|d| d.severity == Severity::Error);
        if is_wrong(&diagnostics) {
            return Err(StanError { sources, diagnostics });
        }
        let (program, found) = check(sources.clone(), &tree);
        diagnostics.extend(found);
        match program {
            Some(program) => {
                let (tree, program) = (Arc::new(tree), Arc::new(program));
                Ok(Self { tree, program, warnings: diagnostics })
            }
            None => Err(StanError { sources, diagnostics }),
        }
    }

    /// The checked program.
    pub fn typed(&self) -> &Program {
        &self.program
    }

    /// The program as one text, with the files that it includes in their places.
    pub fn text(&self) -> String {
        self.program.sources.spliced()
    }

    /// The program as text in canonical form.
    pub fn canonical(&self) -> String {
        print(&self.tree, &self.program.sources)
    }

    /// The typed tree as text.
    pub fn print_typed(&self) -> String {
        exmc_stan::check::print(&self.program)
    }

    /// What the user should know of the program, each as text.
    pub fn warnings(&self) -> Vec<String> {
        let sources = &self.program.sources;
        self.warnings.iter().map(|w| render(w, sources)).collect()
    }

    /// Names of the data of which the program's statements say how likely they are, in the order of
    /// their declarations; nothing where that cannot be told, as of a mixture.
    ///
    /// ```
    /// let text = "data { int N; vector[N] x; vector[N] y; } parameters { real b; }
    ///             model { y ~ normal(b * x, 1); }";
    /// let program = exmc::StanProgram::from_text("line.stan", text)?;
    /// assert_eq!(program.observed_data(), Some(vec!["y".to_owned()]));
    /// # Ok::<(), exmc::stan::StanError>(())
    /// ```
    pub fn observed_data(&self) -> Option<Vec<String>> {
        exmc_stan::pointwise::Observations::find(&self.program).ok()?.data()
    }

    /// Names of the data that the program declares, in that order. Others in a file are ignored, as
    /// CmdStan does.
    ///
    /// ```
    /// let program = exmc::StanProgram::from_text("sizes.stan", "data { int N; vector[N] x; }")?;
    /// assert_eq!(program.data_names(), ["N", "x"]);
    /// # Ok::<(), exmc::stan::StanError>(())
    /// ```
    pub fn data_names(&self) -> Vec<String> {
        let name = |declaration: &Declaration| {
            self.program.variable(declaration.variable).name.to_string()
        };
        self.program.data.iter().map(name).collect()
    }

    /// Whether it declares generated quantities.
    ///
    /// ```
    /// let text = "parameters { real x; } transformed parameters { real y = 2 * x; }";
    /// let program = exmc::StanProgram::from_text("twice.stan", text)?;
    /// assert!(!program.has_generated_quantities());
    /// # Ok::<(), exmc::stan::StanError>(())
    /// ```
    pub fn has_generated_quantities(&self) -> bool {
        host::blocks::declarations(&self.program.generated_quantities).next().is_some()
    }

    /// Names that the text of a JSON file gives values and the program does not declare: of a name
    /// that is mistyped, say.
    ///
    /// ```
    /// let program = exmc::StanProgram::from_text("sizes.stan", "data { int N; vector[N] x; }")?;
    /// assert_eq!(program.undeclared(r#"{"N": 1, "X": [2]}"#), ["X"]);
    /// # Ok::<(), exmc::stan::StanError>(())
    /// ```
    pub fn undeclared(&self, data: &str) -> Vec<String> {
        let declared = self.data_names();
        let mut names = data::names(data);
        names.retain(|name| !declared.contains(name));
        names
    }

    /// Gives the program its data: the text of a JSON file in CmdStan's form (`{}` for none).
    ///
    /// # Errors
    /// Mistakes of the data, of what the program computes from them, and what cannot be run.
    pub fn bind(&self, data_name: &str, data: &str) -> Result<StanModel, Error> {
        self.bind_with(data_name, data, &StanOptions::default())
    }

    /// The same with settings.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_with(
        &self,
        data_name: &str,
        data: &str,
        options: &StanOptions,
    ) -> Result<StanModel, Error> {
        self.bind_files(&[(data_name, data)], options)
    }

    /// The same with the data of several files, each with its name: a variable has the value of the
    /// last file that holds one.
    fn bind_files(
        &self,
        files: &[(&str, &str)],
        options: &StanOptions,
    ) -> Result<StanModel, Error> {
        let program = &self.program;
        let wrong = |diagnostics: Vec<Diagnostic>| StanError {
            sources: program.sources.clone(),
            diagnostics,
        };
        let began = Instant::now();
        let mut environment = read_data_of_files(program, files).map_err(StanError::from)?;
        let data = match files {
            [(name, text)] => DataFile { name: Arc::from(*name), text: Arc::from(*text) },
            _ => {
                let name = files.last().map_or("data", |(name, _)| name);
                let text = data::write_data(program, &environment);
                DataFile { name: Arc::from(name), text: Arc::from(text) }
            }
        };
        let mut host =
            interpreter(program, options.seed, options.printer.as_ref(), options.stop.as_ref());
        if let Err(error) = host.transform_data(&mut environment) {
            // The loop that noticed has said so; what it says is the place where it stopped.
            let asked = options.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
            let error = wrong(vec![error]);
            return Err(if asked { Error::interrupted(error) } else { error.into() });
        }
        drop(host);
        let data_time = began.elapsed();
        self.compiled(data, environment, data_time, options)
    }

    /// The program with what its data and transformed data are.
    fn compiled(
        &self,
        data: DataFile,
        mut environment: Environment,
        data_time: Duration,
        options: &StanOptions,
    ) -> Result<StanModel, Error> {
        let program = &self.program;
        let wrong = |diagnostics: Vec<Diagnostic>| StanError {
            sources: program.sources.clone(),
            diagnostics,
        };
        let began = Instant::now();
        let mut lower_options = lower::Options::default();
        lower_options.jacobian = options.compile.jacobian;
        lower_options.proportional = options.compile.proportional;
        lower_options.non_centre = options.compile.non_centre.clone();
        let (made, refused) =
            lowered(program, &environment, &lower_options, options).map_err(wrong)?;
        let StanLowered { lowered, mut warnings, stan_order, may_end, loops, .. } = made;
        let is_limited = !made.limited_loops.is_empty();
        let lower_time = began.elapsed();

        let began = Instant::now();
        let mut compile_options = options.compile.clone();
        // Why a position has no density is found out from all parameters.
        if may_end || is_limited || refused.is_some() {
            compile_options.marginalise = Some(false);
            compile_options.without.push(MARGINALISE.to_owned());
        }
        // The interpreter, which answers where a loop runs on, reads positions as the program has
        // them.
        if is_limited {
            compile_options.without.push(RECENTRE.to_owned());
        }
        if refused.is_some() {
            compile_options.precision = Default::default();
        }
        let bound = compile_lowered(lowered, &compile_options)?.bind_values(Values::new())?;
        let is_interpreted = refused.is_some();
        let bound = match refused {
            Some(refused) => {
                let interpreter = Interpreted::new(program, &environment, &compile_options);
                if let Some(refusal) = interpreter.refusal(bound.compiled().dim()) {
                    let is_first = refused.is_empty();
                    return Err(wrong(if is_first { vec![refusal] } else { refused }).into());
                }
                warnings.extend(interpreted::note(&refused));
                bound.with_interpreted(Arc::new(interpreter))
            }
            // The interpreter follows loops further than the compiled density does.
            None if is_limited => {
                let interpreter = Interpreted::new(program, &environment, &compile_options);
                bound.with_beyond(Arc::new(interpreter))
            }
            None => bound,
        };
        let compile = began.elapsed();
        let by_host = is_interpreted || made.values_are_limited;
        let bound = match Generator::new(program, &environment, options, by_host)? {
            Some(generator) => bound.with_quantities(Arc::new(generator)),
            None => bound,
        };
        let bound = match may_end || can_reject(program) {
            true => bound.with_oversight(Arc::new(Statements {
                parameters: recorded(program, &mut environment, &program.parameters)?,
                program: program.clone(),
                environment: environment.clone(),
                may_end,
            })),
            false => bound,
        };
        let times = StanTimes { data: data_time, lower: lower_time, compile };
        let program = program.clone();
        let (origin, options) = (self.clone(), options.clone());
        Ok(StanModel {
            origin,
            options,
            data,
            program,
            environment,
            stan_order,
            warnings,
            loops,
            bound,
            transformed_by_host: by_host,
            times,
        })
    }
}

impl StanModel {
    /// The program without its data.
    pub fn program(&self) -> &StanProgram {
        &self.origin
    }

    /// The text of its data.
    pub fn data_text(&self) -> &str {
        &self.data.text
    }

    /// The same program with other data, the text of a JSON file, and the same settings.
    ///
    /// # Errors
    /// As [`StanProgram::bind`].
    pub fn rebind(&self, data_name: &str, data: &str) -> Result<Self, Error> {
        self.origin.bind_with(data_name, data, &self.options)
    }

    /// The same program and settings, with the data of a JSON file in the place of its own, name by
    /// name; what the file does not hold stays. Messages name the file that a value is from.
    ///
    /// ```
    /// let program = exmc::StanProgram::from_text("m.stan", "data { int N; vector[N] x; }")?;
    /// let model = program.bind("old.json", r#"{"N": 2, "x": [1, 2]}"#)?;
    /// let model = model.rebind_over("new.json", r#"{"x": [3, 4]}"#)?;
    /// assert_eq!(model.data_text(), r#"{"N": 2, "x": [3.0, 4.0]}"#);
    /// let error = model.rebind_over("newer.json", r#"{"N": 3}"#).unwrap_err().to_string();
    /// assert!(error.contains("give \"x\" in `newer.json` too"), "{error}");
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`StanProgram::bind`].
    pub fn rebind_over(&self, data_name: &str, data: &str) -> Result<Self, Error> {
        let files = [(&*self.data.name, &*self.data.text), (data_name, data)];
        self.origin.bind_files(&files, &self.options)
    }

    /// The same program and data, with a density that lacks elements of `log_lik`, numbered from 0.
    pub(crate) fn without(&self, left_out: &[usize]) -> Result<Self, Error> {
        let DataFile { name, text } = &self.data;
        self.origin.without(left_out)?.bind_with(name, text, &self.options)
    }

    /// The same program with the same data and transformed data, compiled with other settings.
    ///
    /// # Errors
    /// As [`StanProgram::bind`], but for mistakes of the data.
    pub fn recompile(&self, compile: CompileOptions) -> Result<Self, Error> {
        let options = StanOptions { compile, ..self.options.clone() };
        let (data, environment) = (self.data.clone(), self.environment.clone());
        self.origin.compiled(data, environment, self.times.data, &options)
    }

    /// The same program and data, with the density in the coordinates that it was sampled in.
    pub(crate) fn sampled_as(&self, bound: &BoundModel) -> Self {
        Self { bound: bound.clone(), ..self.clone() }
    }

    /// The density, for samplers; it records generated quantities too.
    pub fn bound(&self) -> &BoundModel {
        &self.bound
    }

    /// How long its making took.
    pub fn times(&self) -> StanTimes {
        self.times
    }

    /// What the user should know of the program with these data, each as text.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.iter().map(|w| render(w, &self.program.sources)).collect()
    }

    /// How each loop of the density was lowered for these data: a line each, in the order of the
    /// program.
    pub fn loops(&self) -> String {
        print_loops(&self.program.sources, &self.loops)
    }

    /// For each coordinate of Stan's unconstrained vector, its place in ours.
    pub fn stan_order(&self) -> &[usize] {
        &self.stan_order
    }

    /// Starting values from the text of a JSON file on the constrained scale; parameters may be
    /// left out.
    ///
    /// # Errors
    /// Mistakes of the text, or values that do not satisfy the parameters' constraints.
    pub fn inits(&self, name: &str, text: &str) -> Result<Values, StanError> {
        let environment = read_inits(&self.program, &self.environment, name, text)?;
        let mut given = Values::new();
        for declaration in &self.program.parameters {
            let name = &self.program.variable(declaration.variable).name;
            if let Some(value) = environment.get(declaration.variable) {
                leaves(name, value, &mut given);
            }
        }
        Ok(given)
    }
}

/// A program lowered; or, where the interpreter is to run it, its parameters alone with why it
/// could not be lowered (nothing where the interpreter was asked for).
fn lowered(
    program: &Program,
    environment: &Environment,
    lower_options: &lower::Options,
    options: &StanOptions,
) -> Result<(StanLowered, Option<Vec<Diagnostic>>), Vec<Diagnostic>> {
    let CompileOptions { interpreter, non_centre, .. } = &options.compile;
    let refused = match interpreter {
        Interpreter::Always if non_centre.is_empty() => Vec::new(),
        Interpreter::Always => {
            let message = "the interpreter samples parameters as they are declared";
            let error = Diagnostic::error(Class::Unsupported, Span::default(), message);
            return Err(vec![error.help("leave `--non-centre` out")]);
        }
        _ => match lower::lower(program, environment, lower_options.clone()) {
            Ok(lowered) => return Ok((lowered, None)),
            Err(refused) => refused,
        },
    };
    let may_fall_back = *interpreter == Interpreter::Fallback
        && non_centre.is_empty()
        && interpreted::is_valid(&refused);
    if *interpreter != Interpreter::Always && !may_fall_back {
        return Err(refused);
    }
    let parameters = interpreted::parameters_of(program);
    match lower::lower(&parameters, environment, lower_options.clone()) {
        Ok(lowered) => Ok((lowered, Some(refused))),
        Err(others) => Err(if refused.is_empty() { others } else { refused }),
    }
}

/// Declared variables with unset values, which tell their shapes.
fn recorded<'p>(
    program: &Program,
    environment: &mut Environment,
    declarations: impl IntoIterator<Item = &'p Declaration>,
) -> Result<Vec<(VariableId, Value)>, StanError> {
    let mut interpreter = host::Interpreter::new(program, Settings::default());
    let mut all = Vec::new();
    for declaration in declarations {
        let extents = interpreter.extents(environment, &declaration.ty).map_err(|error| {
            let (sources, diagnostics) = (program.sources.clone(), vec![error.into()]);
            StanError { sources, diagnostics }
        })?;
        let ty = &program.variable(declaration.variable).ty;
        all.push((declaration.variable, exmc_stan::host::unset(ty, &extents)));
    }
    Ok(all)
}

/// An interpreter whose `print` goes where the user wants it, and which stops when the user wants
/// it.
fn interpreter<'p>(
    program: &'p Program,
    seed: u64,
    printer: Option<&'p Printer>,
    stop: Option<&Arc<AtomicBool>>,
) -> host::Interpreter<'p> {
    let mut settings = Settings::seeded(seed);
    settings.stop = stop.cloned();
    let made = host::Interpreter::new(program, settings);
    match printer {
        Some(printer) => made.with_printer(Box::new(|line| (printer.0)(line))),
        None => made,
    }
}
