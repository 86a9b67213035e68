//! Model -> compiled model, which waits for data.

mod bound;

pub use bound::BoundModel;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use exmc_exec::{
    CompileError, DensitySource, Executor, Function, FunctionSource, Program, Settings,
    always_binds, compile_function, compile_with,
};
use exmc_graph::{NodeId, OPTIMISATIONS, Precision, Tensor};
use exmc_model::{
    Centred, Centring, Code, Diagnostic, Effects, Kind, LowerOptions, Lowered, MARGINALISE,
    Marginalised, Model, RECENTRE, lower, marginalise, rewrite,
};

use crate::error::Error;
use crate::recorded_values::LazyFunction;

/// Values by name.
pub type Values = BTreeMap<String, Tensor>;

/// What [`CompileOptions::without`] calls the compilation of a Stan program's generated quantities;
/// without it the host interpreter computes them all, one statement after the other.
pub const COMPILE_QUANTITIES: &str = "compile-quantities";

/// When the density of a Stan program is evaluated by the host interpreter, one statement after the
/// other with derivatives on a tape: slower than a compiled density, and right whatever control
/// flow does with parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Interpreter {
    /// Where the program is valid and cannot be compiled; a warning says so and why.
    #[default]
    Fallback,
    /// Always.
    Always,
    /// Never: such a program is an error.
    Never,
}

impl Interpreter {
    /// The name on the command line, beside those of executors.
    pub const NAME: &'static str = "interpreter";
}

/// Settings of [`compile`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CompileOptions {
    /// Who evaluates the density.
    pub executor: Executor,
    /// Whether the statements of a Stan program are run one by one on values (`interpreter`),
    /// without a compiled density.
    pub interpreter: Interpreter,
    /// The precision of the density's elementwise operations over long arrays; with `f32`, large
    /// data take half the memory, and sampling warns where that changes the posterior.
    pub precision: Precision,
    /// Names of rewrite passes of the model and of optimisations of its density to leave out (see
    /// [`exmc_model::PASSES`] and [`exmc_graph::OPTIMISATIONS`]; only the native executor
    /// optimises), and [`COMPILE_QUANTITIES`].
    pub without: Vec<String>,
    /// Whether the density is over the unconstrained vector (log Jacobians included), as sampling
    /// needs.
    pub jacobian: bool,
    /// Whether the density of a Stan program leaves out the constants that Stan leaves out of `~`
    /// and `_lupdf`, as sampling can; a [`Model`] has a density with all of them.
    pub proportional: bool,
    /// Parameters of a Stan program that are sampled as location + scale * z, where the model says
    /// `name ~ family(location, scale)`; draws and starting values are of the parameter itself. A
    /// [`Model`] says this of its variables itself (`non_centred`).
    pub non_centre: Vec<String>,
    /// Whether variables that are normal given all others are integrated out of the density. A
    /// position then holds the others only, and those in `non_centre`; recorded draws hold all,
    /// each drawn from its distribution given the rest, so that they are draws of the same
    /// posterior. [`BoundModel::whole`] is the model with all coordinates.
    ///
    /// With `Some(true)` they are where that pays, and with `Some(false)` never. With nothing (the
    /// default) a position holds all coordinates, and
    /// [`learn_coordinates`](crate::advanced::learn_coordinates) integrates out, as
    /// [`sample`](crate::sample) does.
    pub marginalise: Option<bool>,
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            executor: Executor::default(),
            interpreter: Interpreter::default(),
            precision: Precision::default(),
            without: Vec::new(),
            jacobian: true,
            proportional: true,
            non_centre: Vec::new(),
            marginalise: None,
        }
    }
}

impl CompileOptions {
    /// The names in `without` that are not optimisations: those of rewrite passes.
    pub fn without_passes(&self) -> Vec<&str> {
        let is_pass = |name: &&str| {
            *name != MARGINALISE
                && *name != RECENTRE
                && *name != COMPILE_QUANTITIES
                && !OPTIMISATIONS.iter().any(|known| known.name == *name)
        };
        self.without.iter().map(String::as_str).filter(is_pass).collect()
    }
}

/// A model compiled to a log density and its gradient, waiting for data. Cheap to clone and to
/// share.
#[derive(Clone, Debug)]
pub struct CompiledModel {
    parts: Arc<Parts>,
}

#[derive(Debug)]
struct Parts {
    /// The model after rewriting; none where a front end lowered the density itself.
    model: Option<Rewritten>,
    lowered: Lowered,
    density: Program,
    /// How the density was compiled.
    settings: Settings,
    trace: LazyFunction,
    /// The model with all coordinates, where some are integrated out here.
    whole_model: Option<Whole>,
    options: CompileOptions,
    /// What can have other coordinates, found when somebody asks.
    effects: OnceLock<Effects>,
}

/// A model as it was declared, and after rewriting.
#[derive(Clone, Debug)]
struct Rewritten {
    declared: Arc<Model>,
    rewritten: Arc<Model>,
}

/// A model with all its coordinates, compiled when somebody asks for it: a run of what is left does
/// not.
#[derive(Debug)]
struct Whole {
    lowered: Lowered,
    compiled: OnceLock<Result<CompiledModel, Error>>,
}

/// Rewrites, lowers, differentiates and plans a model.
///
/// # Errors
/// When the model turns out to be wrong in a way that only rewriting or lowering shows.
pub fn compile(model: &Model, options: &CompileOptions) -> Result<CompiledModel, Error> {
    if let Some(name) = options.non_centre.first() {
        let message = format!("`{name}` is to be non-centred, but the model is not a Stan program");
        let help =
            "a model says of each variable whether it is non-centred (`\"centring\"` in JSON)";
        return Err(Diagnostic::new(Code::BadTransform, message).help(help).into());
    }
    if options.interpreter == Interpreter::Always {
        let message = "the interpreter runs Stan programs, and the model is none";
        return Err(Diagnostic::new(Code::BadTransform, message).into());
    }
    let declared = Arc::new(model.clone());
    let model = rewrite(model, &options.without_passes())?;
    let mut lower_options = LowerOptions::default();
    lower_options.jacobian = options.jacobian;
    let lowered = lower(&model, lower_options)?;
    let model = Rewritten { declared, rewritten: Arc::new(model) };
    plan(Some(model), lowered, options, Marginalised::Without(&options.non_centre))
}

/// Differentiates and plans a density that a front end has lowered itself (a Stan program's). Its
/// data come with [`CompiledModel::bind_values`].
///
/// # Errors
/// When a function of the density has no derivative.
pub fn compile_lowered(lowered: Lowered, options: &CompileOptions) -> Result<CompiledModel, Error> {
    plan(None, lowered, options, Marginalised::Without(&options.non_centre))
}

/// `asked` has the variables that may be integrated out, where any are to be.
fn plan(
    model: Option<Rewritten>,
    lowered: Lowered,
    options: &CompileOptions,
    asked: Marginalised<'_>,
) -> Result<CompiledModel, Error> {
    let is_asked = options.marginalise == Some(true) && options.jacobian;
    let rest = is_asked.then(|| marginalise(&lowered, &options.without, asked)).flatten();
    match rest {
        Some(rest) => {
            let whole_model = Whole { lowered, compiled: OnceLock::new() };
            planned(model, rest, options, Some(whole_model))
        }
        None => planned(model, lowered, options, None),
    }
}

fn planned(
    model: Option<Rewritten>,
    lowered: Lowered,
    options: &CompileOptions,
    whole_model: Option<Whole>,
) -> Result<CompiledModel, Error> {
    let mut settings = Settings::of(options.executor).at_precision(options.precision);
    settings.without = options.without.clone();
    let density = compile_with(&settings, &source(&lowered))?;
    let trace = if always_binds(&lowered.graph, &trace_nodes(&lowered)) {
        LazyFunction::new()
    } else {
        Ok(function(&lowered, options.executor, trace_nodes(&lowered))?).into()
    };
    let (options, effects) = (options.clone(), OnceLock::new());
    let parts = Parts { model, lowered, density, settings, trace, whole_model, options, effects };
    Ok(CompiledModel { parts: Arc::new(parts) })
}

/// What is recorded of a draw.
fn trace_nodes(lowered: &Lowered) -> Vec<NodeId> {
    lowered.trace.iter().map(|entry| entry.node).collect()
}

/// Expressions of a lowered model, made ready to be evaluated.
fn function(
    lowered: &Lowered,
    executor: Executor,
    outputs: Vec<NodeId>,
) -> Result<Function, CompileError> {
    let read = lowered.layout.iter().chain(&lowered.noise);
    let parameters = read.map(|e| (e.input, e.offset)).collect();
    let (graph, dim) = (lowered.graph.clone(), lowered.dim + noise(lowered));
    compile_function(executor, &FunctionSource { graph, outputs, parameters, dim })
}

/// How many standard normal numbers recorded values read behind the position.
fn noise(lowered: &Lowered) -> usize {
    lowered.noise.iter().map(|entry| entry.unconstrained.len()).sum()
}

/// The log density of a lowered model.
fn source(lowered: &Lowered) -> DensitySource {
    DensitySource {
        graph: lowered.graph.clone(),
        logp: lowered.logp,
        parameters: lowered.layout.iter().map(|e| (e.input, e.offset)).collect(),
        dim: lowered.dim,
    }
}

impl CompiledModel {
    /// The model after rewriting; none when it was made by [`compile_lowered`].
    pub fn model(&self) -> Option<&Model> {
        self.parts.model.as_ref().map(|model| &*model.rewritten)
    }

    /// The model as it was declared; none when it was made by [`compile_lowered`].
    pub fn declared(&self) -> Option<&Model> {
        self.parts.model.as_ref().map(|model| &*model.declared)
    }

    /// How it was compiled.
    pub fn options(&self) -> &CompileOptions {
        &self.parts.options
    }

    /// The lowered density with its layout.
    pub fn lowered(&self) -> &Lowered {
        &self.parts.lowered
    }

    /// The compiled density.
    pub fn program(&self) -> &Program {
        &self.parts.density
    }

    /// Number of unconstrained coordinates.
    pub fn dim(&self) -> usize {
        self.parts.lowered.dim
    }

    /// The model with all coordinates: this one, unless some are integrated out. It is compiled
    /// when it is first asked for.
    ///
    /// # Errors
    /// When a function of the density has no derivative by what is integrated out.
    pub fn whole(&self) -> Result<&CompiledModel, Error> {
        let Some(whole_model) = &self.parts.whole_model else { return Ok(self) };
        let compile = || {
            let (model, lowered) = (self.parts.model.clone(), whole_model.lowered.clone());
            planned(model, lowered, &self.parts.options, None)
        };
        whole_model.compiled.get_or_init(compile).as_ref().map_err(Error::clone)
    }

    /// The variables of which the coordinate may be chosen: all that have a location and a scale,
    /// but for those of which the model or the options say how they are sampled. What can be
    /// integrated out is none of them.
    pub(crate) fn effects(&self) -> &Effects {
        self.parts.effects.get_or_init(|| self.found_effects())
    }

    fn found_effects(&self) -> Effects {
        let CompileOptions { without, non_centre, jacobian, marginalise, .. } = &self.parts.options;
        let mut keep = non_centre.clone();
        for (name, node) in self.model().into_iter().flat_map(Model::nodes) {
            if matches!(&node.kind, Kind::Rv(rv) if rv.centring != Centring::Auto) {
                keep.push(name.clone());
            }
        }
        let may_go = *jacobian && *marginalise != Some(false);
        Effects::of(self.whole_lowered(), without, &keep, may_go)
    }

    /// The same model with its variables in other coordinates.
    fn recentred(&self, effects: &Effects, centred: &[Centred]) -> Result<Self, Error> {
        let full_lowered = self.whole_lowered();
        let lowered = effects.recentre(centred).unwrap_or_else(|| full_lowered.clone());
        let mut options = self.parts.options.clone();
        options.marginalise = Some(!effects.integrated.is_empty());
        let asked = Marginalised::Named(&effects.integrated);
        plan(self.parts.model.clone(), lowered, &options, asked)
    }

    /// The lowered density before anything was integrated out.
    pub(crate) fn whole_lowered(&self) -> &Lowered {
        self.parts
            .whole_model
            .as_ref()
            .map_or(&self.parts.lowered, |whole_model| &whole_model.lowered)
    }
}
