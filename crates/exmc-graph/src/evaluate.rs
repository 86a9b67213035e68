//! Evaluating simply: expressions and named input values -> tensors.
//!
//! Every node that an output needs is computed once, in order, into memory of its own. That is for
//! constants, predictive draws and tests; samplers use an executor.

use crate::graph::{Graph, NodeId};
use crate::kernels::{Arg, EvaluateError, evaluate_into};
use crate::op::{Op, ScanBody};
use crate::tensor::{DType, Shape, Tensor};

/// Values of `outputs`, given those of the inputs by name.
///
/// **Shapes**: an input's value has its declared shape; an integer input needs an integer tensor.
///
/// # Errors
/// When an input that is needed is missing or does not fit its declaration, or when a gather's or
/// scatter's index is outside its extent.
///
/// ```
/// use exmc_graph::{DType, Graph, Role, Shape, Tensor, evaluate};
/// let mut g = Graph::new();
/// let x = g.input("x", Role::Parameter, Shape::scalar(), DType::Real)?;
/// let y = g.square(x);
/// let values = evaluate(&g, &[y], &|_| Some(Tensor::scalar(3.0)))?;
/// assert_eq!(values[0].as_scalar(), Some(9.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate(
    graph: &Graph,
    outputs: &[NodeId],
    inputs: &dyn Fn(&str) -> Option<Tensor>,
) -> Result<Vec<Tensor>, EvaluateError> {
    let needed = graph.reachable(outputs);
    let mut values: Vec<Vec<Tensor>> = vec![Vec::new(); graph.len()];
    for id in graph.ids().filter(|id| needed[id.index()]) {
        let node = graph.node(id);
        let value = match &node.op {
            Op::Input { name, .. } => {
                let value = inputs(name)
                    .ok_or_else(|| EvaluateError::new(format!("input `{name}` has no value")))?;
                check_input(name, &node.shape, node.dtype, &value)?;
                vec![if node.dtype == DType::Real { value.into_real() } else { value }]
            }
            Op::Project(k) => vec![values[node.args[0].index()][*k].clone()],
            _ => {
                let args: Vec<_> = node.args.iter().map(|a| &values[a.index()][0]).collect();
                evaluate_node(graph, id, &args)?
            }
        };
        values[id.index()] = value;
    }
    Ok(outputs.iter().map(|id| values[id.index()][0].clone()).collect())
}

/// What a node computes from values of its arguments: one tensor, of a scan its outputs. Values of
/// an elementwise operation's arguments need only broadcast to its shape.
///
/// # Errors
/// As [`evaluate`].
///
/// # Panics
/// For inputs and projections, which are not computed from arguments alone.
pub(crate) fn evaluate_node(
    graph: &Graph,
    id: NodeId,
    args: &[&Tensor],
) -> Result<Vec<Tensor>, EvaluateError> {
    let node = graph.node(id);
    match &node.op {
        Op::Constant(tensor) => Ok(vec![tensor.clone()]),
        Op::Scan { length, reverse, body } => evaluate_scan(*length, *reverse, &body.0, args),
        Op::Reshape(shape) => {
            let same = args[0].reshaped(shape.clone());
            Ok(vec![same.expect("a reshape has as many elements as its argument")])
        }
        op => {
            let args: Vec<_> =
                args.iter().map(|t| Arg { shape: t.shape(), values: t.values() }).collect();
            let mut out = vec![0.0; node.shape.len()];
            evaluate_into(op, &args, &node.shape, &mut out)
                .map_err(|error| EvaluateError::new(format!("{id} {}: {error}", op.name())))?;
            let is_whole = match op {
                Op::Broadcast(_)
                | Op::Permute(_)
                | Op::Slice { .. }
                | Op::Unslice { .. }
                | Op::Concat { .. }
                | Op::Gather => true,
                Op::Unary(f) => f.is_truth(),
                Op::Binary(f) => f.is_truth(),
                _ => false,
            };
            // Moved integers and truth values are exact without a look at each.
            if is_whole {
                return Ok(vec![Tensor::moved(&node.shape, node.dtype, out)]);
            }
            Ok(vec![tensor(&node.shape, node.dtype, out)])
        }
    }
}

/// Whether a value fits an input's declaration.
///
/// # Errors
/// When it does not; the message names the input, what was expected and what was found.
pub(crate) fn check_input(
    name: &str,
    shape: &Shape,
    dtype: DType,
    value: &Tensor,
) -> Result<(), EvaluateError> {
    let fits = dtype == DType::Real || value.dtype() == DType::Int;
    if value.shape() == shape && fits {
        return Ok(());
    }
    let (found, kind) = (value.shape(), value.dtype());
    Err(EvaluateError::new(format!("input `{name}`: expected {dtype}{shape}, found {kind}{found}")))
}

/// The scan's outputs: final carries, then stacked values.
fn evaluate_scan(
    length: usize,
    reverse: bool,
    body: &ScanBody,
    args: &[&Tensor],
) -> Result<Vec<Tensor>, EvaluateError> {
    let [carries, sequences, _] = body.counts;
    let mut state: Vec<Tensor> = args[..carries].iter().map(|&t| t.clone()).collect();
    let mut stacks: Vec<Vec<f64>> =
        body.stacked.iter().map(|&id| vec![0.0; length * body.graph.shape(id).len()]).collect();
    let outputs: Vec<NodeId> = body.next.iter().chain(&body.stacked).copied().collect();
    for step in 0..length {
        let index = if reverse { length - 1 - step } else { step };
        let lookup = |name: &str| {
            let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
            if let Some(k) = number("carry") {
                state.get(k).cloned()
            } else if let Some(k) = number("fixed") {
                args.get(carries + sequences + k).map(|&t| t.clone())
            } else {
                let sequence = args.get(carries + number("x")?)?;
                let row = Shape::from(&sequence.shape().extents()[1..]);
                let width = row.len();
                let values = sequence.values()[index * width..(index + 1) * width].to_vec();
                Some(tensor(&row, sequence.dtype(), values))
            }
        };
        let mut next = evaluate(&body.graph, &outputs, &lookup)?;
        for (stack, value) in stacks.iter_mut().zip(next.drain(carries..)) {
            let width = value.values().len();
            stack[index * width..(index + 1) * width].copy_from_slice(value.values());
        }
        state = next;
    }
    for (stack, &id) in stacks.into_iter().zip(&body.stacked) {
        let node = body.graph.node(id);
        let shape = Shape::from([length]).join(node.shape.extents());
        state.push(tensor(&shape, node.dtype, stack));
    }
    Ok(state)
}

/// A tensor of computed elements; integers are exact by construction of the operations.
pub(crate) fn tensor(shape: &Shape, dtype: DType, values: Vec<f64>) -> Tensor {
    let real = Tensor::real(shape.clone(), values).expect("as many elements as the shape says");
    match dtype {
        DType::Int => real.into_int().unwrap_or_else(|real| real),
        DType::Real => real,
    }
}
