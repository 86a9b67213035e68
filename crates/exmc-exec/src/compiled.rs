//! What densities and functions have in common: a graph and its roots -> a plan over parameter
//! inputs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use exmc_density::EvaluationError;
use exmc_graph::{
    DType, Dependence, EvaluateError, Graph, Limits, NodeId, Op, Precision, fold_constants,
    merge_scans, release, verify,
};
use rustc_hash::FxHashMap;

use exmc_math::simd::{Level, vector};

use crate::Executor;
use crate::error::CompileError;
use crate::native::{self, Counts};
use crate::plan::{Plan, Time, plan};
use crate::precision::precisions;
use crate::reference::{self, Shared};

/// Indices are data, so an index that fails fails at every position.
#[cold]
fn fatal(error: EvaluateError) -> EvaluationError {
    EvaluationError::Fatal(error.message().to_owned())
}

static COMPILATIONS: AtomicUsize = AtomicUsize::new(0);

/// How many graphs this process has compiled; binding data must not raise it.
pub fn compilations() -> usize {
    COMPILATIONS.load(Ordering::Relaxed)
}

/// A planned graph, with where its parameters lie in a position.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub(crate) graph: Graph,
    pub(crate) roots: Vec<NodeId>,
    /// Of the reference executor; nothing for others.
    pub(crate) plan: Plan,
    /// Of the reference executor, the precision of every node; nothing if that is `f64`.
    pub(crate) precisions: Vec<Precision>,
    /// Slots of the parameters that are read, with their offsets in the position.
    inputs: Vec<(usize, usize)>,
    /// Offset and length of every parameter, in the source's order.
    pub(crate) places: Vec<(usize, usize)>,
    pub(crate) dim: usize,
    /// The program of the native executor, if that runs it.
    pub(crate) native: Option<native::Program>,
}

/// What is known once data are bound.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Reference(Shared),
    Native(Arc<native::Packed>, Level),
}

impl Bound {
    /// Other vector instructions, for executors that have some.
    pub(crate) fn set_level(&mut self, level: Level) {
        if let Self::Native(_, own) = self {
            *own = level;
        }
    }

    /// The same with the vector instructions of another.
    pub(crate) fn at_level_of(&self, other: &Self) -> Self {
        let mut same = self.clone();
        if let Self::Native(_, level) = other {
            same.set_level(*level);
        }
        same
    }
}

/// One instance's memory.
#[derive(Debug)]
pub(crate) enum Frame {
    Reference(reference::Frame),
    Native(native::Frame),
}

impl Default for Frame {
    /// No memory.
    fn default() -> Self {
        Self::Reference(reference::Frame::default())
    }
}

/// How many operations a program runs, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sections {
    /// Operations that run once when data are bound.
    pub prelude: usize,
    /// Operations that run in every evaluation (a loop is one).
    pub main: usize,
    /// Operations in the bodies of loops.
    pub loops: usize,
    /// Values (not operations) that one instance has memory for; of the native executor, lines of
    /// memory.
    pub slots: usize,
    /// Of the operations of every evaluation, those that the native executor hands to a kernel over
    /// whole arrays.
    pub calls: usize,
    /// Of the operations of every evaluation, those that the native executor computes one element
    /// after the other, because they have no vector kernel.
    pub one_by_one: usize,
}

impl Compiled {
    /// Simplifies and plans `roots` of a graph whose parameters are inputs at offsets in a position
    /// of length `dim`; `limits` say where it will run.
    pub(crate) fn new(
        executor: Executor,
        precision: Precision,
        graph: &Graph,
        roots: &[NodeId],
        parameters: &[(NodeId, usize)],
        dim: usize,
        limits: &[Limits],
    ) -> Result<Self, CompileError> {
        COMPILATIONS.fetch_add(1, Ordering::Relaxed);
        let places = parameters.iter().map(|&(id, offset)| (offset, graph.shape(id).len()));
        let places = places.collect();
        let offsets: FxHashMap<String, usize> = parameters
            .iter()
            .filter_map(|&(id, offset)| Some((input_name(graph, id)?.to_owned(), offset)))
            .collect();
        verified("differentiate", graph)?;
        let (graph, roots) = match merge_scans(graph, roots) {
            Some((graph, roots)) => {
                verified("merge_scans", &graph)?;
                fold_constants(&graph, &roots)
            }
            None => fold_constants(graph, roots),
        };
        let (graph, roots) = release(&graph, &roots).unwrap_or((graph, roots));
        verified("fold_constants", &graph)?;
        let (graph, roots) = match executor {
            Executor::Reference => (graph, roots),
            Executor::Native => {
                let (graph, roots) = match native::split_scans(&graph, &roots) {
                    Some((graph, roots)) => fold_constants(&graph, &roots),
                    None => (graph, roots),
                };
                verified("split_scans", &graph)?;
                let (graph, roots) = native::columns(&graph, &roots);
                verified("columns", &graph)?;
                native::rewrite(&graph, &roots, precision)
            }
        };
        verified("rewrite", &graph)?;
        let precisions = match executor {
            Executor::Reference => precisions(precision, &graph, &roots),
            Executor::Native => Vec::new(),
        };
        let plan = match executor {
            Executor::Reference => {
                let time: Vec<Time> = graph
                    .nodes()
                    .iter()
                    .map(|node| match node.dependence {
                        Dependence::Parameter => Time::Step,
                        _ => Time::Shared,
                    })
                    .collect();
                plan(&graph, &roots, &time, &precisions)
                    .map_err(|e| CompileError::new(e.message()))?
            }
            Executor::Native => Plan::default(),
        };
        let mut inputs = Vec::new();
        for &(id, slot) in &plan.inputs {
            let name = input_name(&graph, id).unwrap_or_default();
            let Some(&offset) = offsets.get(name) else {
                return Err(CompileError::new(format!("parameter `{name}` has no offset")));
            };
            inputs.push((slot, offset));
        }
        let native = match executor {
            Executor::Reference => None,
            Executor::Native => {
                let offset = |id| offsets.get(input_name(&graph, id)?).copied();
                let is_ordinary = |id| {
                    let own = |limits: &&Limits| Some(&*limits.input) == input_name(&graph, id);
                    let reach = |own: &Limits| f64::max(-own.low, own.high);
                    limits.iter().find(own).is_some_and(|own| reach(own) < vector::ORDINARY)
                };
                Some(native::lower(&graph, &roots, precision, &offset, &is_ordinary)?)
            }
        };
        Ok(Self { graph, roots, plan, precisions, inputs, places, dim, native })
    }

    /// Whether anything is computed in `f32`.
    pub(crate) fn rounds(&self) -> bool {
        let native = self.native.as_ref().is_some_and(native::Program::rounds);
        native || self.precisions.contains(&Precision::F32)
    }

    /// How many parts of a loop may run at once, at most.
    pub(crate) fn shards(&self) -> usize {
        self.native.as_ref().map_or(1, native::Program::shards)
    }

    /// Memory for an instance that may use so many threads; `targets` says where roots go among the
    /// results.
    pub(crate) fn frame(&self, bound: &Bound, targets: &native::Targets, threads: usize) -> Frame {
        match (&self.native, bound) {
            (Some(program), Bound::Native(packed, level)) => {
                Frame::Native(native::Frame::new(*level, program, packed, targets, threads))
            }
            _ => Frame::Reference(reference::Frame::new(&self.plan)),
        }
    }

    /// The program for a few positions at once, of one whose roots are a log density and its
    /// gradient, if there is code for all of it; `targets` say where the gradient goes.
    pub(crate) fn lanes(
        &self,
        bound: &Bound,
        targets: &native::Targets,
    ) -> Option<native::BatchProgram> {
        match (&self.native, bound) {
            (Some(program), Bound::Native(packed, level)) => {
                native::BatchProgram::new(*level, program, packed, targets, self.dim)
            }
            _ => None,
        }
    }

    /// Evaluates all roots at a position, on the pool's threads if there are some (no more than the
    /// frame was made for), and copies those that are results; `targets` are those of the frame.
    #[inline]
    pub(crate) fn run(
        &self,
        frame: &mut Frame,
        bound: &Bound,
        position: &[f64],
        (targets, results): (&native::Targets, &mut [f64]),
        pool: Option<&mut native::Pool>,
    ) -> Result<(), EvaluationError> {
        let run = match (frame, &self.native) {
            (Frame::Native(frame), Some(program)) => frame.run(program, position, results, pool),
            (Frame::Reference(frame), _) => {
                self.run_reference(frame, bound, position, (targets, results))
            }
            _ => unreachable!("a program and its memory are of one executor"),
        };
        run.map_err(fatal)
    }

    #[inline(never)]
    fn run_reference(
        &self,
        frame: &mut reference::Frame,
        bound: &Bound,
        position: &[f64],
        (targets, results): (&native::Targets, &mut [f64]),
    ) -> Result<(), EvaluateError> {
        let Bound::Reference(shared) = bound else {
            unreachable!("data and memory are of one executor")
        };
        for &(slot, offset) in &self.inputs {
            let input = frame.input(slot);
            input.copy_from_slice(&position[offset..offset + input.len()]);
        }
        frame.run(&self.plan, shared)?;
        for &(root, start, len) in targets {
            let value = frame.value(self.plan.roots[root], shared);
            results[start..start + len].copy_from_slice(value);
        }
        Ok(())
    }

    /// After a run, the first root's first element.
    #[inline]
    pub(crate) fn first(&self, frame: &Frame, bound: &Bound) -> f64 {
        match (frame, bound) {
            (Frame::Native(frame), _) => frame.first(),
            (Frame::Reference(frame), Bound::Reference(shared)) => {
                frame.value(self.plan.roots[0], shared)[0]
            }
            _ => unreachable!("data and memory are of one executor"),
        }
    }

    /// The program in words: what the prelude computes, then the steps of every evaluation in
    /// order, each with the place of its result.
    pub(crate) fn print(&self) -> String {
        let Sections { prelude, main, loops, slots, calls, one_by_one } = self.sections();
        let mut text = format!("prelude // {prelude} operations\n");
        let early = self.graph.reachable(&self.early());
        for id in self.graph.ids().filter(|id| early[id.index()]) {
            text.push_str(&format!("  {}\n", self.graph.print_node(id)));
        }
        if let Some(program) = &self.native {
            text.push_str(&format!(
                "main // {main} operations, {calls} calls, {one_by_one} one by one, {slots} lines\n"
            ));
            text.extend(program.print().lines().map(|line| format!("  {line}\n")));
            return text;
        }
        text.push_str(&format!("main // {main} operations, {loops} in loops, {slots} slots\n"));
        text.push_str(&self.plan.print("  "));
        text
    }

    /// The nodes whose values are kept from when data are bound.
    pub(crate) fn early(&self) -> Vec<NodeId> {
        match &self.native {
            None => self.plan.shared.clone(),
            Some(program) => program.shared_nodes(),
        }
    }

    /// Names of the operations that the native executor does not run by instructions and kernels of
    /// its own.
    pub(crate) fn fallbacks(&self) -> Vec<&'static str> {
        self.native.as_ref().map_or_else(Vec::new, native::Program::fallbacks)
    }

    /// Numbers of operations.
    pub(crate) fn sections(&self) -> Sections {
        fn in_loops(plan: &Plan) -> usize {
            let bodies = plan.loops.iter().map(|l| &l.body);
            bodies.map(|b| b.head.len() + b.steps.len() + in_loops(b)).sum()
        }
        let early = self.graph.reachable(&self.early());
        let operation = |id: &NodeId| {
            let op = &self.graph.node(*id).op;
            early[id.index()] && !matches!(op, Op::Constant(_) | Op::Input { .. } | Op::Project(_))
        };
        let prelude = self.graph.ids().filter(operation).count();
        if let Some(program) = &self.native {
            let Counts { main, loops, calls, one_by_one } = program.counts();
            let slots = program.lines();
            return Sections { prelude, main, loops, slots, calls, one_by_one };
        }
        Sections {
            prelude,
            main: self.plan.head.len() + self.plan.steps.len(),
            loops: in_loops(&self.plan),
            slots: self.plan.slots.len(),
            calls: 0,
            one_by_one: 0,
        }
    }
}

pub(crate) fn input_name(graph: &Graph, id: NodeId) -> Option<&str> {
    match &graph.node(id).op {
        Op::Input { name, .. } => Some(name),
        _ => None,
    }
}

/// In dev and test builds, whether a pass left a well-formed graph; an error is a bug of ours.
pub(crate) fn verified(pass: &str, graph: &Graph) -> Result<(), CompileError> {
    if cfg!(debug_assertions) {
        verify(graph).map_err(|problem| CompileError::new(format!("after {pass}: {problem}")))?;
    }
    Ok(())
}

/// Whether the parameters are real inputs that tile a position of length `dim`.
pub(crate) fn check_parameters(
    graph: &Graph,
    parameters: &[(NodeId, usize)],
    dim: usize,
) -> Result<(), CompileError> {
    let mut sorted = parameters.to_vec();
    sorted.sort_by_key(|(_, offset)| *offset);
    let mut end = 0;
    for (id, offset) in sorted {
        let node = graph.node(id);
        let Op::Input { name, .. } = &node.op else {
            return Err(CompileError::new(format!("{id} is a parameter but not an input")));
        };
        if node.dtype != DType::Real || node.dependence != Dependence::Parameter {
            return Err(CompileError::new(format!("input `{name}` is not declared a parameter")));
        }
        if offset != end && !node.shape.is_empty() {
            return Err(CompileError::new(format!(
                "parameter `{name}` lies at {offset} of the position, expected {end}"
            )));
        }
        end += node.shape.len();
    }
    if end != dim {
        return Err(CompileError::new(format!(
            "the parameters have {end} elements, the position {dim}"
        )));
    }
    Ok(())
}
