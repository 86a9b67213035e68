//! Densities: a graph of a scalar log density -> a program that many chains evaluate with its gradient.

use std::sync::Arc;

use exmc_density::{DensityModel, EvaluationError, LogDensity};
use exmc_graph::{Applied, DType, Graph, NodeId, Op, Tensor, differentiate, optimise};
use exmc_math::simd::Level;

use crate::Executor;
use crate::bind::bind;
use crate::compiled::{Bound, Compiled, Frame, Sections, check_parameters, verified};
use crate::error::{BindError, CompileError};
use crate::native::Targets;

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

/// A compiled log density and gradient, waiting for data. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Program {
    executor: Executor,
    compiled: Arc<Compiled>,
    optimisations: Arc<[Applied]>,
}

/// Optimises (unless for the reference executor), differentiates, simplifies, verifies and plans a log density.
///
/// # Errors
/// When the log density is not a real scalar or needs a derivative that does not exist, when the
/// parameters do not tile the position, or when the graph is malformed.
pub fn compile(executor: Executor, source: &DensitySource) -> Result<Program, CompileError> {
    compile_without(executor, source, &[])
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
    let DensitySource { graph, logp, parameters, dim } = source;
    check_parameters(graph, parameters, *dim)?;
    if !graph.shape(*logp).is_scalar() || graph.node(*logp).dtype != DType::Real {
        let (shape, dtype) = (graph.shape(*logp), graph.node(*logp).dtype);
        return Err(CompileError::new(format!(
            "the log density must be real[], found {dtype}{shape}"
        )));
    }
    let (mut graph, logp, parameters, optimisations) = match executor {
        Executor::Reference => (graph.clone(), *logp, parameters.clone(), Vec::new()),
        Executor::Native => optimised(source, without)?,
    };
    verified("optimise", &graph)?;
    let wrt: Vec<NodeId> = parameters.iter().map(|(id, _)| *id).collect();
    let gradient = differentiate(&mut graph, logp, &wrt)
        .map_err(|error| CompileError::new(error.message()))?;
    let mut roots = vec![logp];
    roots.extend(gradient);
    let compiled = Arc::new(Compiled::new(executor, &graph, &roots, &parameters, *dim)?);
    Ok(Program { executor, compiled, optimisations: optimisations.into() })
}

/// The optimised graph with its log density and its parameters' offsets, and what was done.
type Optimised = (Graph, NodeId, Vec<(NodeId, usize)>, Vec<Applied>);

fn optimised(source: &DensitySource, without: &[String]) -> Result<Optimised, CompileError> {
    let (mut graph, logp, applied) = optimise(&source.graph, source.logp, without);
    let mut parameters = Vec::with_capacity(source.parameters.len());
    for &(id, offset) in &source.parameters {
        let node = source.graph.node(id);
        let Op::Input { name, role } = &node.op else { continue };
        // One that the density does not depend on has gone.
        let input = graph
            .input(name, *role, node.shape.clone(), node.dtype)
            .map_err(|error| CompileError::new(error.message()))?;
        parameters.push((input, offset));
    }
    Ok((graph, logp, parameters, applied))
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

    /// The program as text: the prelude's nodes, then every step with the slots that it reads and
    /// writes.
    pub fn print(&self) -> String {
        self.compiled.print()
    }

    /// Numbers of operations.
    pub fn sections(&self) -> Sections {
        self.compiled.sections()
    }

    /// Computes what depends on data only, and nothing else: the program is not compiled again.
    ///
    /// # Errors
    /// When a data variable is missing, has another shape or kind than declared, or holds an index
    /// outside its extent.
    pub fn bind(&self, data: &dyn Fn(&str) -> Option<Tensor>) -> Result<BoundDensity, BindError> {
        let data = bind(&self.compiled, data)?;
        Ok(BoundDensity { compiled: Arc::clone(&self.compiled), data })
    }
}

/// A log density with its data, shared by all chains. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BoundDensity {
    compiled: Arc<Compiled>,
    data: Bound,
}

impl BoundDensity {
    /// The same at another level of vector instructions, for tests and measurements: every level gives the same
    /// bits. The reference executor has none.
    pub fn at_level(mut self, level: Level) -> Self {
        if let Bound::Native(_, own) = &mut self.data {
            *own = level;
        }
        self
    }
}

/// What one chain evaluates a [`BoundDensity`] with.
#[derive(Debug)]
pub struct DensityInstance {
    bound: BoundDensity,
    frame: Frame,
    /// Where the parts of the gradient go.
    targets: Box<Targets>,
}

impl DensityModel for BoundDensity {
    type Instance = DensityInstance;

    fn dim(&self) -> usize {
        self.compiled.dim
    }

    fn instance(&self) -> DensityInstance {
        // The first root is the log density, then come the parameters' parts of the gradient.
        let places = self.compiled.places.iter().enumerate();
        let targets: Box<_> = places.map(|(k, &(offset, len))| (k + 1, offset, len)).collect();
        let frame = self.compiled.frame(&self.data, &targets);
        DensityInstance { bound: self.clone(), frame, targets }
    }
}

impl LogDensity for DensityInstance {
    fn dim(&self) -> usize {
        self.bound.compiled.dim
    }

    fn logp_grad(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        let BoundDensity { compiled, data } = &self.bound;
        compiled.run(&mut self.frame, data, position)?;
        compiled.write(&self.frame, data, &self.targets, gradient);
        Ok(compiled.first(&self.frame, data))
    }
}
