//! Model -> compiled model -> model bound to data, which evaluates, constrains and samples.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use exmc_density::{DensityModel, EvaluationError, Failure, FailureCount, LaneDensity, LogDensity};
use exmc_exec::{
    BindError, BoundDensity, BoundFunction, CompileError, DensitySource, Executor, Function,
    FunctionInstance, FunctionSource, Program, Settings, always_binds, compile_function,
    compile_with,
};
use exmc_graph::{NodeId, OPTIMISATIONS, Precision, Shape, Tensor, evaluate};
use exmc_model::{
    Centred, Centring, Code, DataSet, Diagnostic, Effects, Kind, LowerOptions, Lowered,
    MARGINALISE, Marginalised, Model, RECENTRE, lower, marginalise, rewrite,
};

use crate::coordinates::Coordinate;
use crate::error::Error;
use crate::generated_quantities::Quantities;
use crate::recorded_values::{LateBoundFunction, LazyFunction, TraceInstance};
use crate::rejection::{Beyond, CheckedBatch, ModelInstance, PointChecker, RejectionCheck};
use crate::stan::Interpreted;

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
    whole: Option<Whole>,
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
            let whole = Whole { lowered, compiled: OnceLock::new() };
            planned(model, rest, options, Some(whole))
        }
        None => planned(model, lowered, options, None),
    }
}

fn planned(
    model: Option<Rewritten>,
    lowered: Lowered,
    options: &CompileOptions,
    whole: Option<Whole>,
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
    let parts = Parts { model, lowered, density, settings, trace, whole, options, effects };
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
        let Some(whole) = &self.parts.whole else { return Ok(self) };
        let compile = || {
            let (model, lowered) = (self.parts.model.clone(), whole.lowered.clone());
            planned(model, lowered, &self.parts.options, None)
        };
        whole.compiled.get_or_init(compile).as_ref().map_err(Error::clone)
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
        let whole = self.whole_lowered();
        let lowered = effects.recentre(centred).unwrap_or_else(|| whole.clone());
        let mut options = self.parts.options.clone();
        options.marginalise = Some(!effects.integrated.is_empty());
        let asked = Marginalised::Named(&effects.integrated);
        plan(self.parts.model.clone(), lowered, &options, asked)
    }

    /// The lowered density before anything was integrated out.
    pub(crate) fn whole_lowered(&self) -> &Lowered {
        self.parts.whole.as_ref().map_or(&self.parts.lowered, |whole| &whole.lowered)
    }

    /// Gives the model its data: those in `data`, and otherwise those that the model declared with
    /// a value. Nothing is compiled again, so this is quick to repeat with other data of the same
    /// shapes.
    ///
    /// # Errors
    /// When data are missing, unknown, of another shape or kind, or outside of where they must lie.
    pub fn bind(&self, data: impl Into<DataSet>) -> Result<BoundModel, Error> {
        let data = data.into();
        match self.model() {
            Some(model) => self.bind_values(data.bind(model)?),
            None => self.bind_values(
                data.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect(),
            ),
        }
    }

    /// The same with exactly the values that the density's graph names, whole and checked.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_values(&self, values: Values) -> Result<BoundModel, Error> {
        let (model, whole) = (self.model(), &self.parts.whole);
        let lowered = self.whole_lowered();
        let look_up = |name: &str| values.get(name).cloned();
        let located = |error: BindError| {
            let named = |name: &&String| error.message().contains(&format!("`{name}`"));
            let mistake = Diagnostic::new(Code::BadData, error.message());
            match (values.keys().find(named), model) {
                (Some(name), Some(model)) => mistake.at(name, &model.nodes()[name].origin),
                _ => mistake,
            }
        };
        let density = self.parts.density.bind(&look_up).map_err(located)?;
        let predicates: Vec<NodeId> = lowered.checks.iter().map(|c| c.predicate).collect();
        let held = evaluate(&lowered.graph, &predicates, &look_up)
            .map_err(|e| Error::internal(e.message()))?;
        for (check, held) in lowered.checks.iter().zip(held) {
            if held.as_scalar() != Some(1.0) {
                return Err(check.diagnostic.clone().into());
            }
        }
        let trace = match self.parts.trace.get() {
            Some(Ok(function)) => Ok(function.bind(&look_up).map_err(located)?).into(),
            _ => LateBoundFunction::new(),
        };
        Ok(BoundModel {
            compiled: self.clone(),
            values: Arc::new(values),
            density,
            trace: Arc::new(trace),
            quantities: None,
            rejection_check: None,
            failure: None,
            interpreted: None,
            beyond: None,
            whole: whole.as_ref().map(|_| Arc::default()),
            coordinates: None,
        })
    }
}

/// A compiled model with its data: a [`DensityModel`] for samplers, and the way between positions
/// and named values. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BoundModel {
    compiled: CompiledModel,
    values: Arc<Values>,
    density: BoundDensity,
    pub(crate) trace: Arc<LateBoundFunction>,
    quantities: Option<Arc<dyn Quantities>>,
    rejection_check: Option<Arc<dyn RejectionCheck>>,
    pub(crate) failure: Option<Failure>,
    interpreted: Option<Arc<Interpreted>>,
    /// What evaluates positions at which the compiled density does not follow loops to their end.
    beyond: Option<Arc<Interpreted>>,
    /// The model with all coordinates, where some are integrated out here.
    whole: Option<Arc<OnceLock<Result<BoundModel, Error>>>>,
    /// How its variables are sampled, once that was chosen.
    coordinates: Option<Arc<[Coordinate]>>,
}

impl DensityModel for BoundModel {
    type Instance = ModelInstance;

    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn instance(&self) -> ModelInstance {
        self.threaded_instance(1)
    }

    fn threaded_instance(&self, threads: usize) -> ModelInstance {
        ModelInstance {
            density: self.density.threaded_instance(threads),
            checker: self.checker(),
            failure: self.failure.map(FailureCount::new),
            interpreted: self.interpreted.as_ref().map(|own| Box::new(own.instance())),
            beyond: self.beyond(),
        }
    }

    fn lane_instance(&self) -> Option<Box<dyn LaneDensity + Send>> {
        if self.failure.is_some() || self.is_interpreted() {
            return None;
        }
        let lanes = self.density.lane_instance()?;
        Some(match (self.checker(), self.beyond()) {
            (None, None) => lanes,
            (checker, beyond) => {
                let position = vec![0.0; self.dim()];
                Box::new(CheckedBatch { lanes, checker, beyond, position })
            }
        })
    }
}

impl BoundModel {
    /// What evaluates positions at which loops are not followed to their end, if there are any.
    fn beyond(&self) -> Option<Box<Beyond>> {
        self.beyond.as_ref().map(|own| Box::new(Beyond::new(own.clone())))
    }

    /// What looks at positions where the density is not finite, if anything does.
    fn checker(&self) -> Option<Box<PointChecker>> {
        self.rejection_check.as_ref().map(|rejection_check| {
            let (rejection_check, row) = (rejection_check.clone(), vec![0.0; self.trace_width()]);
            Box::new(PointChecker { rejection_check, trace: self.trace_instance(), row })
        })
    }

    /// The same density in `f64`.
    pub(crate) fn in_f64(&self) -> Result<BoundDensity, Error> {
        let Parts { lowered, settings, .. } = &*self.compiled.parts;
        let settings = settings.clone().at_precision(Precision::F64);
        let program = compile_with(&settings, &source(lowered))?;
        let look_up = |name: &str| self.values.get(name).cloned();
        program.bind(&look_up).map_err(|e| Error::internal(e.message()))
    }

    /// The model with all coordinates: this one, unless some are integrated out
    /// ([`CompileOptions::marginalise`]). It is made when it is first asked for, and records no
    /// quantities.
    ///
    /// # Errors
    /// As [`CompiledModel::whole`].
    pub fn whole(&self) -> Result<&BoundModel, Error> {
        let Some(whole) = &self.whole else { return Ok(self) };
        let bind = || self.compiled.whole()?.bind_values((*self.values).clone());
        whole.get_or_init(bind).as_ref().map_err(Error::clone)
    }

    /// The coordinates in which variables with a location and a scale are sampled, where they were
    /// chosen ([`Self::in_coordinates`],
    /// [`learn_coordinates`](crate::advanced::learn_coordinates)).
    pub fn coordinates(&self) -> Option<&[Coordinate]> {
        self.coordinates.as_deref()
    }

    /// The variables of which the coordinate may be chosen, in the coordinates that the model has
    /// them in.
    pub fn written_coordinates(&self) -> Vec<Coordinate> {
        let effects = &self.compiled.effects().effects;
        effects.iter().map(|effect| Coordinate::of(effect, None)).collect()
    }

    /// Whether sampling would choose among coordinates.
    pub(crate) fn has_other_coordinates(&self) -> bool {
        let effects = self.compiled.effects();
        let own = self.compiled.lowered().noise.len();
        let chooses = !effects.effects.is_empty() || effects.integrated.len() != own;
        chooses && !self.is_interpreted()
    }

    /// The same model with these coordinates, which [`Self::coordinates`] of an earlier run had;
    /// variables that are not named are sampled as the model has them.
    ///
    /// # Errors
    /// When a variable has no location and scale, or a share is none.
    pub fn in_coordinates(&self, coordinates: &[Coordinate]) -> Result<Self, Error> {
        let effects = self.compiled.effects();
        for coordinate in coordinates {
            let name = &coordinate.name;
            let effect = effects.effects.iter().find(|effect| effect.name == *name);
            let lengths = effect.map_or([0, 0], |effect| [1, effect.len]);
            let fits = coordinate.shares.iter().all(|share| (0.0..=1.0).contains(share));
            if !lengths.contains(&coordinate.shares.len()) || !fits {
                let message = format!("`{name}` cannot have the coordinate that is asked for");
                let help = "coordinates are those of a run of the same model, with the same passes";
                return Err(Diagnostic::new(Code::BadTransform, message).help(help).into());
            }
        }
        self.recentred(effects, coordinates.to_vec())
    }

    /// The same model in chosen coordinates.
    pub(crate) fn recentred(
        &self,
        effects: &Effects,
        coordinates: Vec<Coordinate>,
    ) -> Result<Self, Error> {
        let centred: Vec<Centred> = coordinates.iter().map(Coordinate::centred).collect();
        let mut own = self.clone();
        if !(effects.effects.is_empty() && effects.integrated.is_empty()) {
            let compiled = self.compiled.recentred(effects, &centred)?;
            let bound = compiled.bind_values((*self.values).clone())?;
            let BoundModel { compiled, density, trace, whole, .. } = bound;
            own = Self { compiled, density, trace, whole, ..own };
        }
        own.coordinates = Some(coordinates.into());
        Ok(own)
    }

    /// Names and sizes of the variables that are integrated out.
    pub fn integrated_out(&self) -> impl Iterator<Item = (&str, usize)> {
        let entries = self.compiled.lowered().noise.iter();
        entries.map(|entry| (entry.name.as_str(), entry.unconstrained.len()))
    }

    /// How many standard normal numbers recorded values read behind the position.
    pub(crate) fn noise(&self) -> usize {
        noise(self.compiled.lowered())
    }

    /// Who evaluates the density.
    pub(crate) fn executor(&self) -> Executor {
        self.compiled.parts.settings.executor
    }

    /// Where each coordinate stands among those of the model with all coordinates.
    pub(crate) fn whole_positions(&self) -> Vec<usize> {
        let whole = &self.compiled.whole_lowered().layout;
        let own = self.compiled.lowered().layout.iter();
        own.flat_map(|entry| {
            let whole = whole.iter().find(|other| other.name == entry.name);
            let first = whole.expect("all coordinates are among those").offset;
            first..first + entry.unconstrained.len()
        })
        .collect()
    }

    /// What it was bound from.
    pub fn compiled(&self) -> &CompiledModel {
        &self.compiled
    }

    /// The same model, recording these quantities with each draw.
    #[must_use]
    pub fn with_quantities(mut self, quantities: Arc<dyn Quantities>) -> Self {
        self.quantities = Some(quantities);
        self
    }

    /// The same model, whose run may end where its density is not finite.
    pub(crate) fn with_oversight(mut self, rejection_check: Arc<dyn RejectionCheck>) -> Self {
        self.rejection_check = Some(rejection_check);
        self
    }

    /// The same parameters under a density that the interpreter evaluates.
    pub(crate) fn with_interpreted(mut self, interpreted: Arc<Interpreted>) -> Self {
        self.interpreted = Some(interpreted);
        self
    }

    /// The same density, which the interpreter evaluates where the compiled one is not finite.
    pub(crate) fn with_beyond(mut self, interpreted: Arc<Interpreted>) -> Self {
        self.beyond = Some(interpreted);
        self
    }

    /// Whether the interpreter evaluates the density: the compiled one is that of the parameters'
    /// transforms alone.
    pub fn is_interpreted(&self) -> bool {
        self.interpreted.is_some()
    }

    /// What tells whether a run must end.
    pub(crate) fn rejection_check(&self) -> Option<&Arc<dyn RejectionCheck>> {
        self.rejection_check.as_ref()
    }

    /// What is computed from each draw beside the density.
    pub fn quantities(&self) -> Option<&Arc<dyn Quantities>> {
        self.quantities.as_ref()
    }

    /// The data.
    pub fn data(&self) -> &Values {
        &self.values
    }

    /// Evaluates the recorded values (the trace entries, one after the other) at positions.
    pub fn trace_instance(&self) -> TraceInstance {
        TraceInstance::new(self)
    }

    /// The program of the recorded values, made when it is first asked for.
    pub(crate) fn recorded_values(&self) -> Result<&BoundFunction, EvaluationError> {
        let Parts { lowered, settings, trace, .. } = &*self.compiled.parts;
        let made = self.trace.get_or_init(|| {
            let compile = || function(lowered, settings.executor, trace_nodes(lowered));
            let function = trace.get_or_init(compile).as_ref();
            let look_up = |name: &str| self.values.get(name).cloned();
            let bound = function.map_err(|error| error.message().to_owned())?.bind(&look_up);
            bound.map_err(|error| error.message().to_owned())
        });
        made.as_ref().map_err(|message| EvaluationError::Fatal(message.clone()))
    }

    /// Evaluates the elementwise log likelihoods, one observation after the other, at positions.
    /// Masked and missing elements are 0 there ([`Pointwise::mask`](exmc_model::Pointwise) tells
    /// them from others). They are compiled here, because few runs ask for them. A model with
    /// variables integrated out has none: its [`Self::whole`] has.
    ///
    /// # Errors
    /// When they cannot be compiled, which they can wherever the density can.
    pub fn pointwise_instance(&self) -> Result<FunctionInstance, Error> {
        self.late(self.compiled.lowered().pointwise.iter().map(|p| p.node).collect())
    }

    /// Evaluates the terms of the log density at positions, in the order of
    /// [`Lowered::terms`](exmc_model::Lowered), as they are once variables are integrated out.
    ///
    /// # Errors
    /// As [`Self::pointwise_instance`].
    pub fn terms_instance(&self) -> Result<FunctionInstance, Error> {
        self.late(self.compiled.lowered().terms.iter().map(|term| term.node).collect())
    }

    /// Expressions that few runs need, compiled when they are asked for.
    fn late(&self, outputs: Vec<NodeId>) -> Result<FunctionInstance, Error> {
        let Parts { lowered, settings, .. } = &*self.compiled.parts;
        let look_up = |name: &str| self.values.get(name).cloned();
        Ok(function(lowered, settings.executor, outputs)?.bind(&look_up)?.instance())
    }

    /// Number of recorded columns.
    pub fn trace_width(&self) -> usize {
        let lowered = self.compiled.lowered();
        lowered.trace.iter().map(|entry| lowered.graph.shape(entry.node).len()).sum()
    }

    /// Number of elementwise log likelihoods.
    pub fn pointwise_width(&self) -> usize {
        let lowered = self.compiled.lowered();
        lowered.pointwise.iter().map(|p| lowered.graph.shape(p.node).len()).sum()
    }

    /// Whether a position has as many coordinates as the model.
    fn check_length(&self, position: &[f64]) -> Result<(), EvaluationError> {
        let (found, expected) = (position.len(), self.density.dim());
        if found == expected {
            return Ok(());
        }
        Err(EvaluationError::Fatal(format!(
            "the position has {found} coordinates, expected {expected}"
        )))
    }

    /// Log density and gradient at a position.
    ///
    /// # Errors
    /// When the density has no value there, or the position has another length than the model's.
    pub fn logp_grad(&self, position: &[f64]) -> Result<(f64, Vec<f64>), EvaluationError> {
        self.check_length(position)?;
        let mut gradient = vec![0.0; position.len()];
        let logp = self.instance().logp_grad(position, &mut gradient)?;
        Ok((logp, gradient))
    }

    /// Recorded values by name at a position; variables that are integrated out have their mean
    /// given the others.
    ///
    /// # Errors
    /// When they cannot be evaluated there, or the position has another length than the model's.
    pub fn constrain(&self, position: &[f64]) -> Result<Values, EvaluationError> {
        self.check_length(position)?;
        let mut flat = vec![0.0; self.trace_width()];
        self.trace_instance().evaluate(position, &mut flat)?;
        let mut rest = flat.as_slice();
        let mut named = Values::new();
        for entry in &self.compiled.lowered().trace {
            let (own, others) = rest.split_at(entry.shape.len());
            rest = others;
            named.insert(
                entry.name.clone(),
                Tensor::real(entry.shape.clone(), own).expect("split to length"),
            );
        }
        Ok(named)
    }

    /// The position of constrained values. Variables that are not given, and what cannot be
    /// computed without them, are NaN, which samplers read as "draw it at random".
    ///
    /// # Errors
    /// When a name is no free variable, a shape is wrong or a value lies outside of its support.
    pub fn unconstrain(&self, given: &Values) -> Result<Vec<f64>, Error> {
        let lowered = self.compiled.whole_lowered();
        // The whole variable's shape: the layout has the missing part's, of a partly observed one.
        let shape_of = |name: &str| match self.compiled.model() {
            Some(model) => model.shape_of(name),
            None => lowered.layout.iter().find(|e| e.name == name).map(|e| &e.constrained),
        };
        for (name, value) in given {
            let Some(_) = lowered.layout.iter().find(|e| e.name == *name) else {
                let message = format!("`{name}` is not a free variable of the model");
                let names: Vec<_> =
                    lowered.layout.iter().map(|e| format!("`{}`", e.name)).collect();
                let help = format!("the free variables are {}", names.join(", "));
                return Err(Diagnostic::new(Code::UnknownReference, message).help(help).into());
            };
            let shape = shape_of(name).expect("variables have shapes");
            if shape != value.shape() {
                let message =
                    format!("the value of `{name}` has shape {}, expected {shape}", value.shape());
                return Err(Diagnostic::new(Code::ShapeMismatch, message).into());
            }
        }
        let nothing = |shape: &Shape| Tensor::filled(shape.clone(), f64::NAN);
        let look_up = |name: &str| {
            let given = given.get(name).map(|v| v.clone().into_real());
            let declared = || shape_of(name).map(nothing);
            given.or_else(|| self.values.get(name).cloned()).or_else(declared)
        };
        let inverse = &lowered.inverse;
        let arrays = evaluate(&inverse.graph, &inverse.outputs, &look_up)
            .map_err(|e| Error::internal(e.message()))?;
        let mut position = Vec::with_capacity(lowered.dim);
        let is_given =
            |name: &str| given.get(name).is_some_and(|v| v.values().iter().all(|x| !x.is_nan()));
        // Bounds, locations and scales may be of variables that were left out.
        let needs_missing = |k: usize| {
            let needed = inverse.graph.reachable(&[inverse.outputs[k]]);
            lowered.layout.iter().filter(|entry| !is_given(&entry.name)).any(|entry| {
                inverse.graph.find_input(&entry.name).is_some_and(|input| needed[input.index()])
            })
        };
        let gone: BTreeSet<&str> = self.integrated_out().map(|(name, _)| name).collect();
        for (k, (entry, array)) in lowered.layout.iter().zip(arrays).enumerate() {
            let given_whole = is_given(&entry.name);
            let infinite = array.values().iter().any(|x| x.is_infinite());
            let lost = array.values().iter().any(|x| x.is_nan());
            if infinite || (lost && given_whole && !needs_missing(k)) {
                let message = format!(
                    "the value of `{}` lies outside of its support or on its edge",
                    entry.name
                );
                return Err(Diagnostic::new(Code::OutsideSupport, message).into());
            }
            // What is integrated out is checked like the rest, and has no place here.
            if !gone.contains(&*entry.name) {
                position.extend_from_slice(array.values());
            }
        }
        Ok(position)
    }

    /// Names of the terms of the log density that are not finite at a position, with their values:
    /// for saying why sampling cannot start there.
    pub fn explain(&self, position: &[f64]) -> Vec<(String, f64)> {
        if self.whole.is_some() {
            let (Ok(mut values), Ok(whole)) = (self.constrain(position), self.whole()) else {
                return Vec::new();
            };
            let layout = &whole.compiled.lowered().layout;
            values.retain(|name, _| layout.iter().any(|entry| entry.name == *name));
            return whole.unconstrain(&values).map_or(Vec::new(), |all| whole.explain(&all));
        }
        let terms = &self.compiled.lowered().terms;
        let mut values = vec![0.0; terms.len()];
        let instance = self.terms_instance();
        let (Ok(()), Ok(mut instance)) = (self.check_length(position), instance) else {
            return Vec::new();
        };
        if instance.evaluate(position, &mut values).is_err() {
            return Vec::new();
        }
        let named = terms.iter().map(|t| t.name.clone()).zip(values);
        named.filter(|(_, value)| !value.is_finite()).collect()
    }
}
