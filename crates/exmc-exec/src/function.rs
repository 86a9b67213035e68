//! Functions: several expressions of parameters and data -> a program that evaluates them, without
//! gradients (generated quantities, pointwise log likelihoods).

use std::sync::Arc;

use exmc_density::EvaluationError;
use exmc_graph::{Graph, NodeId, Precision, Tensor};
use exmc_math::simd::Level;

use crate::Executor;
use crate::backend::Bound;
use crate::bind::bind;
use crate::compiled::{Compiled, Sections, check_parameters};
use crate::error::{BindError, CompileError};
use crate::frame_pool::{FramePool, PooledFrame};
use crate::native::Targets;

/// Several expressions over the same inputs.
#[derive(Clone, Debug)]
pub struct FunctionSource {
    /// The expressions.
    pub graph: Graph,
    /// What is computed, of any shapes.
    pub outputs: Vec<NodeId>,
    /// Parameter inputs, each with the offset of its first element in the position; they tile it.
    pub parameters: Vec<(NodeId, usize)>,
    /// Length of the position.
    pub dim: usize,
}

/// A compiled function, waiting for data. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Function {
    executor: Executor,
    compiled: Arc<Compiled>,
    sizes: Arc<[usize]>,
}

/// Simplifies, verifies and plans a function, which is computed in `f64`.
///
/// # Errors
/// When the parameters do not tile the position or the graph is malformed.
pub fn compile_function(
    executor: Executor,
    source: &FunctionSource,
) -> Result<Function, CompileError> {
    let FunctionSource { graph, outputs, parameters, dim } = source;
    check_parameters(graph, parameters, *dim)?;
    let sizes = outputs.iter().map(|&id| graph.shape(id).len()).collect();
    let compiled =
        Arc::new(Compiled::new(executor, Precision::F64, graph, outputs, parameters, *dim, &[])?);
    Ok(Function { executor, compiled, sizes })
}

impl Function {
    /// Length of a position.
    pub fn dim(&self) -> usize {
        self.compiled.dim
    }

    /// Number of elements of every output, in order.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
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

    /// Names of the operations that the native executor hands to the reference machinery or
    /// computes one element after the other, each as often as it occurs; nothing for other
    /// executors.
    pub fn fallbacks(&self) -> Vec<&'static str> {
        self.compiled.fallbacks()
    }

    /// Computes what depends on data only.
    ///
    /// # Errors
    /// When a data variable is missing, has another shape or kind than declared, or holds an index
    /// outside its extent.
    pub fn bind(&self, data: &dyn Fn(&str) -> Option<Tensor>) -> Result<BoundFunction, BindError> {
        let data = bind(&self.compiled, data)?;
        Ok(BoundFunction {
            compiled: Arc::clone(&self.compiled),
            sizes: Arc::clone(&self.sizes),
            data,
            frame_pool: FramePool::default(),
        })
    }
}

/// A function with its data, shared by all chains. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BoundFunction {
    compiled: Arc<Compiled>,
    sizes: Arc<[usize]>,
    data: Bound,
    /// Memory of instances that are gone.
    frame_pool: FramePool,
}

impl BoundFunction {
    /// Length of a position.
    pub fn dim(&self) -> usize {
        self.compiled.dim
    }

    /// Number of elements of every output, in order.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The same at another level of vector instructions, for tests and measurements: every level
    /// gives the same bits. The reference executor has none.
    pub fn at_level(mut self, level: Level) -> Self {
        self.data.set_level(level);
        self.frame_pool = FramePool::default();
        self
    }

    /// A new instance. Cheap: it copies no data.
    pub fn instance(&self) -> FunctionInstance {
        let mut end = 0;
        let sizes = self.sizes.iter().enumerate();
        let targets = sizes.map(|(k, &len)| {
            end += len;
            (k, end - len, len)
        });
        let targets: Box<_> = targets.collect();
        let frame = self.frame_pool.take(1, || self.data.frame(&targets, 1));
        FunctionInstance { frame, targets }
    }
}

/// What one chain evaluates a [`BoundFunction`] with.
#[derive(Debug)]
pub struct FunctionInstance {
    frame: PooledFrame,
    /// Where the outputs go.
    targets: Box<Targets>,
}

impl FunctionInstance {
    /// Evaluates all outputs at `position`, one after the other into `out`.
    ///
    /// **Shapes**: `position` has length `dim`, `out` the sum of [`BoundFunction::sizes`].
    ///
    /// # Errors
    /// [`EvaluationError::Fatal`] when an index that a loop computes leaves its extent.
    pub fn evaluate(&mut self, position: &[f64], out: &mut [f64]) -> Result<(), EvaluationError> {
        self.frame.get().run(position, (&self.targets, out), None)
    }
}
