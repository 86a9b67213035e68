//! Densities: a graph of a scalar log density -> a program that many chains evaluate with its
//! gradient.

use std::sync::Arc;

use exmc_density::{DensityModel, EvaluationError, LaneDensity, LogDensity};
use exmc_graph::{
    Applied, DType, Graph, Limits, NodeId, Op, Precision, Tensor, differentiate_density,
    narrow_clamps, optimise,
};
use exmc_math::simd::Level;

use crate::Executor;
use crate::backend::{Bound, Frame};
use crate::batch_instance::LaneInstance;
use crate::bind::bind;
use crate::compiled::{Compiled, Sections, check_parameters, verified};
use crate::error::{BindError, CompileError};
use crate::frame_pool::{FramePool, PooledFrame};
use crate::guarded::{BoundFallback, Fallback, FastPath, Guard, holds_little};
use crate::join_inputs::join_inputs;
use crate::native::{BATCH, Pool, Targets};

/// A log density as an expression.
#[derive(Clone, Debug)]
pub struct DensitySource {
    /// The expressions.
    pub graph: Graph,
    /// The log density in nats, a real scalar.
    pub logp: NodeId,
    /// Parameter inputs, each with the offset of its first element in the position; they tile it.
    pub parameters: Vec<(NodeId, usize)>,
    /// Length of the position.
    pub dim: usize,
}

/// How a log density is compiled.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Who runs it.
    pub executor: Executor,
    /// The precision of elementwise operations over long arrays.
    pub precision: Precision,
    /// Names of optimisations to leave out (see [`exmc_graph::OPTIMISATIONS`]).
    pub without: Vec<String>,
}

impl Settings {
    /// The defaults at an executor.
    pub fn of(executor: Executor) -> Self {
        Self { executor, ..Self::default() }
    }

    /// The same at a precision.
    pub fn at_precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }
}

/// A compiled log density and gradient, waiting for data. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Program {
    executor: Executor,
    precision: Precision,
    compiled: Arc<Compiled>,
    /// Where `compiled` is for positions inside of limits only.
    fallback: Option<Arc<Fallback>>,
    optimisations: Arc<[Applied]>,
}

/// Optimises (unless for the reference executor), differentiates, simplifies, verifies and plans a
/// log density.
///
/// # Errors
/// When the log density is not a real scalar or needs a derivative that does not exist, when the
/// parameters do not tile the position, or when the graph is malformed.
pub fn compile(executor: Executor, source: &DensitySource) -> Result<Program, CompileError> {
    compile_with(&Settings::of(executor), source)
}

/// The same, leaving out the optimisations of these names (see [`exmc_graph::OPTIMISATIONS`]).
///
/// # Errors
/// As [`compile`].
pub fn compile_without(
    executor: Executor,
    source: &DensitySource,
    without: &[String],
) -> Result<Program, CompileError> {
    compile_with(&Settings { without: without.to_vec(), ..Settings::of(executor) }, source)
}

/// The same with all settings.
///
/// # Errors
/// As [`compile`].
pub fn compile_with(settings: &Settings, source: &DensitySource) -> Result<Program, CompileError> {
    let Settings { executor, precision, without } = settings;
    let (executor, precision) = (*executor, *precision);
    let DensitySource { graph, logp, parameters, dim } = source;
    check_parameters(graph, parameters, *dim)?;
    if !graph.shape(*logp).is_scalar() || graph.node(*logp).dtype != DType::Real {
        let (shape, dtype) = (graph.shape(*logp), graph.node(*logp).dtype);
        return Err(CompileError::new(format!(
            "the log density must be real[], found {dtype}{shape}"
        )));
    }
    let narrowed = match narrow_clamps(graph, *logp, precision) {
        Some((graph, logp)) => Some(with_parameters(graph, logp, source)?),
        None => None,
    };
    let source = narrowed.as_ref().unwrap_or(source);
    let DensitySource { graph, logp, .. } = source;
    if executor == Executor::Reference {
        let compiled = Arc::new(differentiated(settings, source, &[])?);
        let optimisations = Arc::default();
        return Ok(Program { executor, precision, compiled, fallback: None, optimisations });
    }
    let (optimised, root, mut optimisations) = optimise(graph, *logp, without);
    let fast = holds_little(&optimised).then(|| FastPath::new(source, (&optimised, root), without));
    let general = with_parameters(optimised, root, source)?;
    let (compiled, fallback) = match fast.flatten() {
        Some(fast) => {
            optimisations.extend(fast.applied.iter().cloned());
            let quickest = with_parameters(fast.graph.clone(), fast.logp, source)?;
            let compiled = differentiated(settings, &quickest, &fast.limits)?;
            (compiled, Some(Arc::new(Fallback::new(settings, general, &fast))))
        }
        None => (differentiated(settings, &general, &[])?, None),
    };
    let (compiled, optimisations) = (Arc::new(compiled), optimisations.into());
    Ok(Program { executor, precision, compiled, fallback, optimisations })
}

/// The log density `logp` of a graph that was made from a source's, with the parameters of the
/// source.
fn with_parameters(
    mut graph: Graph,
    logp: NodeId,
    source: &DensitySource,
) -> Result<DensitySource, CompileError> {
    let mut parameters = Vec::with_capacity(source.parameters.len());
    for &(id, offset) in &source.parameters {
        let node = source.graph.node(id);
        let Op::Input { name, role } = &node.op else { continue };
        // One that the density does not depend on may have gone.
        let input = graph
            .input(name, *role, node.shape.clone(), node.dtype)
            .map_err(|error| CompileError::new(error.message()))?;
        parameters.push((input, offset));
    }
    Ok(DensitySource { graph, logp, parameters, dim: source.dim })
}

/// Differentiates and plans a log density that will run inside of limits.
pub(crate) fn differentiated(
    settings: &Settings,
    source: &DensitySource,
    limits: &[Limits],
) -> Result<Compiled, CompileError> {
    let joined = match settings.executor {
        Executor::Reference => None,
        Executor::Native => join_inputs(source, limits),
    };
    let (source, limits) = match &joined {
        Some((source, limits)) => (source, &limits[..]),
        None => (source, limits),
    };
    let DensitySource { graph, logp, parameters, dim } = source;
    verified("optimise", graph)?;
    let mut graph = graph.clone();
    let wrt: Vec<NodeId> = parameters.iter().map(|(id, _)| *id).collect();
    let gradient = differentiate_density(&mut graph, *logp, &wrt)
        .map_err(|error| CompileError::no_derivative(error.message()))?;
    let mut roots = vec![*logp];
    roots.extend(gradient);
    let Settings { executor, precision, .. } = *settings;
    Compiled::new(executor, precision, &graph, &roots, parameters, *dim, limits)
}

impl Program {
    /// What the optimisations did, in order.
    pub fn optimisations(&self) -> &[Applied] {
        &self.optimisations
    }

    /// Length of a position.
    pub fn dim(&self) -> usize {
        self.compiled.dim
    }

    /// Who runs it.
    pub fn executor(&self) -> Executor {
        self.executor
    }

    /// The precision of elementwise operations over long arrays.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Whether anything is computed in `f32`: at that precision, and over an array that is long
    /// enough.
    pub fn rounds(&self) -> bool {
        self.compiled.rounds()
    }

    /// The program as text: the prelude's nodes, then every step with the slots that it reads and
    /// writes. Where there are two programs, first the one that runs inside of limits.
    pub fn print(&self) -> String {
        match &self.fallback {
            Some(fallback) => fallback.print(&self.compiled),
            None => self.compiled.print(),
        }
    }

    /// Numbers of operations, of the program that runs inside of limits if there are two.
    pub fn sections(&self) -> Sections {
        self.compiled.sections()
    }

    /// Names of the operations that the native executor hands to the reference machinery or
    /// computes one element after the other, each as often as it occurs; nothing for other
    /// executors.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        self.compiled.fallbacks()
    }

    /// Computes what depends on data only, and nothing else: the program is not compiled again.
    ///
    /// # Errors
    /// When a data variable is missing, has another shape or kind than declared, or holds an index
    /// outside its extent.
    pub fn bind(&self, data: &dyn Fn(&str) -> Option<Tensor>) -> Result<BoundDensity, BindError> {
        let fallback = match &self.fallback {
            Some(fallback) => Some(Arc::new(BoundFallback::new(fallback, data)?)),
            None => None,
        };
        let data = bind(&self.compiled, data)?;
        let (compiled, frame_pool) = (Arc::clone(&self.compiled), Default::default());
        Ok(BoundDensity { compiled, data, fallback, threads: 1, frame_pool })
    }
}

/// A log density with its data, shared by all chains. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BoundDensity {
    compiled: Arc<Compiled>,
    data: Bound,
    fallback: Option<Arc<BoundFallback>>,
    threads: usize,
    /// Memory of instances that are gone: of this program, and of the one for all positions.
    frame_pool: [FramePool; 2],
}

impl BoundDensity {
    /// The same, whose instances share the work of long loops over data among `threads` threads (at
    /// least 1, the default).
    ///
    /// An instance starts the others when it is made and ends them when it is dropped; a program
    /// without long loops starts none, as does the reference executor. Bits do not depend on the
    /// number.
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// The same at another level of vector instructions, for tests and measurements: every level
    /// gives the same bits. The reference executor has none.
    pub fn at_level(mut self, level: Level) -> Self {
        self.data.set_level(level);
        self.frame_pool = Default::default();
        self
    }
}

/// What one chain evaluates a [`BoundDensity`] with.
#[derive(Debug)]
pub struct DensityInstance {
    bound: BoundDensity,
    frame: PooledFrame,
    /// Where the program holds, if few elements of a position say so.
    few_guards: Option<Box<[Guard]>>,
    /// Of the program for all positions, once one lay outside of limits.
    fallback: Option<PooledFrame>,
    /// Where the parts of the gradient go.
    targets: Box<Targets>,
    /// For loops in shards, if there are any and they may use more than one thread.
    pool: Option<Pool>,
}

impl DensityModel for BoundDensity {
    type Instance = DensityInstance;

    fn dim(&self) -> usize {
        self.compiled.dim
    }

    fn instance(&self) -> DensityInstance {
        self.threaded_instance(self.threads)
    }

    fn threaded_instance(&self, threads: usize) -> DensityInstance {
        let threads = threads.clamp(1, self.compiled.shards());
        let targets = self.targets();
        let make = || self.data.frame(&targets, threads);
        let frame = self.frame_pool[0].take(threads, make);
        let pool = (threads > 1).then(|| Pool::new(threads));
        let few_guards = match &self.fallback {
            Some(bound) => bound.fallback.few_guards(),
            None => Some(Box::default()),
        };
        let (bound, fallback) = (self.clone(), None);
        DensityInstance { bound, frame, few_guards, fallback, targets, pool }
    }

    fn lane_instance(&self) -> Option<Box<dyn LaneDensity + Send>> {
        Some(Box::new(self.lanes()?))
    }
}

impl BoundDensity {
    /// As [`DensityModel::lane_instance`]: where all of the program can be written out for a few
    /// positions, and there is generated code for that.
    pub fn lanes(&self) -> Option<LaneInstance> {
        let lanes = self.data.lanes(&self.targets(), self.compiled.dim)?;
        let single = self.fallback.is_some().then(|| self.threaded_instance(1));
        Some(LaneInstance::new(lanes, single))
    }

    /// Where the parts of the gradient go: the first root is the log density, then come those of
    /// the parameters.
    fn targets(&self) -> Box<Targets> {
        let places = self.compiled.places.iter().enumerate();
        places.map(|(k, &(offset, len))| (k + 1, offset, len)).collect()
    }
}

impl DensityInstance {
    /// The same of the program for all positions; a function of its own, so that its work costs
    /// nothing inside of limits.
    #[cold]
    #[inline(never)]
    fn logp_grad_outside(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        let threads = self.threads();
        let bound = self.bound.fallback.as_ref().expect("there are limits to be outside of");
        let data = bound.data()?;
        let make = || data.at_level_of(&self.bound.data).frame(&self.targets, threads);
        let frame_pool = &self.bound.frame_pool[1];
        let frame = self.fallback.get_or_insert_with(|| frame_pool.take(threads, make));
        let frame = frame.get();
        frame.run(position, (&*self.targets, gradient), self.pool.as_mut())?;
        Ok(frame.first())
    }

    /// Whether a position lies inside of the limits, if there are any.
    #[inline]
    pub(crate) fn is_inside(&self, position: &[f64]) -> bool {
        self.bound.fallback.as_ref().is_none_or(|bound| bound.fallback.holds(position))
    }

    /// Whether a log density that is NaN may be a number by the program for all positions.
    pub(crate) fn may_miss(&self) -> bool {
        self.bound.fallback.as_ref().is_some_and(|bound| bound.fallback.is_partial)
    }

    /// The same of positions side by side.
    #[inline]
    pub(crate) fn are_inside(&self, positions: &[[f64; BATCH]]) -> [bool; BATCH] {
        let fallback = self.bound.fallback.as_ref();
        fallback.map_or([true; BATCH], |bound| bound.fallback.hold(positions))
    }

    /// Threads that evaluate a gradient, that of the caller included.
    pub fn threads(&self) -> usize {
        self.pool.as_ref().map_or(1, Pool::threads)
    }
}

impl LogDensity for DensityInstance {
    fn dim(&self) -> usize {
        self.bound.compiled.dim
    }

    #[inline(always)]
    fn logp_grad(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        // Of a small program, all but the call takes as long as its work if it is not left out.
        if let (Frame::Native(_, frame), Some(limits)) = (self.frame.get(), &self.few_guards)
            && limits.iter().all(|limit| limit.holds(position))
            && frame.run_at_once(position, gradient)
            && let logp = frame.first()
            && !logp.is_nan()
        {
            return Ok(logp);
        }
        self.logp_grad_of_any(position, gradient)
    }
}

impl DensityInstance {
    /// The same of any program, at any position.
    #[inline(never)]
    fn logp_grad_of_any(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        if !self.is_inside(position) {
            return self.logp_grad_outside(position, gradient);
        }
        let results = (&*self.targets, &mut *gradient);
        let frame = self.frame.get();
        frame.run(position, results, self.pool.as_mut())?;
        let logp = frame.first();
        if logp.is_nan() && self.may_miss() {
            return self.logp_grad_outside(position, gradient);
        }
        Ok(logp)
    }
}
