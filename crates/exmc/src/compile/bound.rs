//! A compiled model and data -> [`BoundModel`], which evaluates, constrains and samples.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use exmc_density::{DensityModel, EvaluationError, Failure, FailureCount, LaneDensity, LogDensity};
use exmc_exec::{BindError, BoundDensity, BoundFunction, Executor, FunctionInstance, compile_with};
use exmc_graph::{NodeId, Precision, Shape, Tensor, evaluate};
use exmc_model::{Centred, Code, DataSet, Diagnostic, Effects};

use super::{CompiledModel, Parts, Values, function, noise, source, trace_nodes};
use crate::coordinates::Coordinate;
use crate::error::Error;
use crate::generated_quantities::Quantities;
use crate::recorded_values::{LateBoundFunction, TraceInstance};
use crate::rejection::{Beyond, CheckedBatch, ModelInstance, PointChecker, RejectionCheck};
use crate::stan::Interpreted;
use crate::witness::Witness;

impl CompiledModel {
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
        let (model, whole_model) = (self.model(), &self.parts.whole_model);
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
            witness: None,
            interpreted: None,
            beyond: None,
            whole_model: whole_model.as_ref().map(|_| Arc::default()),
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
    pub(crate) witness: Option<Witness>,
    interpreted: Option<Arc<Interpreted>>,
    /// What evaluates positions at which the compiled density does not follow loops to their end.
    beyond: Option<Arc<Interpreted>>,
    /// The model with all coordinates, where some are integrated out here.
    whole_model: Option<Arc<OnceLock<Result<BoundModel, Error>>>>,
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
            witness: self.witness.as_ref().map(Witness::seeing),
            interpreted: self
                .interpreted
                .as_ref()
                .map(|interpreted| Box::new(interpreted.instance())),
            beyond: self.beyond(),
        }
    }

    fn lane_instance(&self) -> Option<Box<dyn LaneDensity + Send>> {
        if self.failure.is_some() || self.witness.is_some() || self.is_interpreted() {
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
        self.beyond.as_ref().map(|interpreted| Box::new(Beyond::new(interpreted.clone())))
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
    /// ([`marginalise`](super::CompileOptions::marginalise)). It is made when it is first asked
    /// for, and records no quantities.
    ///
    /// # Errors
    /// As [`CompiledModel::whole`].
    pub fn whole(&self) -> Result<&BoundModel, Error> {
        let Some(whole_model) = &self.whole_model else { return Ok(self) };
        let bind = || self.compiled.whole()?.bind_values((*self.values).clone());
        whole_model.get_or_init(bind).as_ref().map_err(Error::clone)
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
        let noise_count = self.compiled.lowered().noise.len();
        let chooses = !effects.effects.is_empty() || effects.integrated.len() != noise_count;
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
        let mut recentred = self.clone();
        if !(effects.effects.is_empty() && effects.integrated.is_empty()) {
            let compiled = self.compiled.recentred(effects, &centred)?;
            let bound = compiled.bind_values((*self.values).clone())?;
            let BoundModel { compiled, density, trace, whole_model, .. } = bound;
            recentred = Self { compiled, density, trace, whole_model, ..recentred };
        }
        recentred.coordinates = Some(coordinates.into());
        Ok(recentred)
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
        let full_layout = &self.compiled.whole_lowered().layout;
        let entries = self.compiled.lowered().layout.iter();
        entries
            .flat_map(|entry| {
                let found = full_layout.iter().find(|other| other.name == entry.name);
                let first = found.expect("all coordinates are among those").offset;
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
            let (elements, others) = rest.split_at(entry.shape.len());
            rest = others;
            named.insert(
                entry.name.clone(),
                Tensor::real(entry.shape.clone(), elements).expect("split to length"),
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
        if self.whole_model.is_some() {
            let (Ok(mut values), Ok(whole_model)) = (self.constrain(position), self.whole()) else {
                return Vec::new();
            };
            let layout = &whole_model.compiled.lowered().layout;
            values.retain(|name, _| layout.iter().any(|entry| entry.name == *name));
            return whole_model
                .unconstrain(&values)
                .map_or(Vec::new(), |all| whole_model.explain(&all));
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
