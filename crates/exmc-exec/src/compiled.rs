//! What densities and functions have in common: a graph and its roots -> a plan over parameter
//! inputs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use exmc_graph::{
    DType, Dependence, Graph, Limits, NodeId, Op, Precision, fold_constants, merge_scans, release,
    verify,
};
use exmc_math::simd::vector;
use rustc_hash::FxHashMap;

use crate::Executor;
use crate::backend::Backend;
use crate::error::CompileError;
use crate::native::{self, Counts};
use crate::plan::Plan;
use crate::reference;

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
    /// Offset and length of every parameter, in the source's order.
    pub(crate) places: Vec<(usize, usize)>,
    pub(crate) dim: usize,
    /// What runs.
    pub(crate) backend: Backend,
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
        let offset = |id| offsets.get(input_name(&graph, id)?).copied();
        let backend = match executor {
            Executor::Reference => {
                let program = reference::Program::new(&graph, &roots, precision, &offset)?;
                Backend::Reference(Arc::new(program))
            }
            Executor::Native => {
                let is_ordinary = |id| {
                    let is_of_input =
                        |limits: &&Limits| Some(&*limits.input) == input_name(&graph, id);
                    let reach = |limit: &Limits| f64::max(-limit.low, limit.high);
                    limits
                        .iter()
                        .find(is_of_input)
                        .is_some_and(|limit| reach(limit) < vector::ORDINARY)
                };
                let program = native::lower(&graph, &roots, precision, &offset, &is_ordinary)?;
                Backend::Native(Arc::new(program))
            }
        };
        Ok(Self { graph, roots, places, dim, backend })
    }

    /// Whether anything is computed in `f32`.
    pub(crate) fn rounds(&self) -> bool {
        match &self.backend {
            Backend::Reference(program) => program.rounds(),
            Backend::Native(program) => program.rounds(),
        }
    }

    /// How many parts of a loop may run at once, at most.
    pub(crate) fn shards(&self) -> usize {
        match &self.backend {
            Backend::Reference(_) => 1,
            Backend::Native(program) => program.shards(),
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
        match &self.backend {
            Backend::Reference(program) => {
                text += &format!("main // {main} operations, {loops} in loops, {slots} slots\n");
                text += &program.plan.print("  ");
            }
            Backend::Native(program) => {
                text += &format!(
                    "main // {main} operations, {calls} calls, {one_by_one} one by one, \
                     {slots} lines\n"
                );
                text.extend(program.print().lines().map(|line| format!("  {line}\n")));
            }
        }
        text
    }

    /// The nodes whose values are kept from when data are bound.
    pub(crate) fn early(&self) -> Vec<NodeId> {
        match &self.backend {
            Backend::Reference(program) => program.plan.shared.clone(),
            Backend::Native(program) => program.shared_nodes(),
        }
    }

    /// Names of the operations that the native executor does not run by instructions and kernels of
    /// its own.
    pub(crate) fn fallbacks(&self) -> Vec<&'static str> {
        match &self.backend {
            Backend::Reference(_) => Vec::new(),
            Backend::Native(program) => program.fallbacks(),
        }
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
        match &self.backend {
            Backend::Reference(program) => {
                let plan = &program.plan;
                let (main, loops) = (plan.head.len() + plan.steps.len(), in_loops(plan));
                let slots = plan.slots.len();
                Sections { prelude, main, loops, slots, calls: 0, one_by_one: 0 }
            }
            Backend::Native(program) => {
                let Counts { main, loops, calls, one_by_one } = program.counts();
                let slots = program.lines();
                Sections { prelude, main, loops, slots, calls, one_by_one }
            }
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
