//! Estimating: a graph -> about how many nanoseconds one evaluation takes.
//!
//! A node costs a dispatch and its elements; only what depends on parameters counts. The numbers
//! are those of the native executor with AVX2 on one core, to one digit: they order alternatives,
//! no more.

use crate::graph::{Dependence, Graph, NodeId};
pub(super) use crate::op::ELEMENT;
use crate::op::{Cost, Op, Unary};

/// A node's dispatch.
pub(super) const NODE: f64 = 2.5;
/// Elements that a function of fewer takes as long as.
const LATENCY: f64 = 4.0;
/// An element that is found by index, or added to one.
pub(super) const GATHERED: f64 = 0.8;
/// An element of a known matrix in a product with a vector.
pub(super) const MATRIX: f64 = 0.15;

/// Estimated nanoseconds of one evaluation of `roots`, without gradient.
pub fn cost(graph: &Graph, roots: &[NodeId]) -> f64 {
    let live = graph.reachable(roots);
    let nodes = graph.ids().filter(|id| live[id.index()]);
    let varying = nodes.filter(|&id| graph.dependence(id) == Dependence::Parameter);
    varying.map(|id| of_node(graph, id)).sum()
}

/// The part of one node, if it depends on parameters.
pub(super) fn of_node(graph: &Graph, id: NodeId) -> f64 {
    let node = graph.node(id);
    let len = node.shape.len() as f64;
    let argument = |k: usize| graph.shape(node.args[k]);
    let elements = |each: f64| NODE + each * len;
    match node.op.facts().cost {
        Cost::Nothing => return 0.0,
        Cost::Elements(each) => return elements(each),
        // One vector of a function waits for every step of it.
        Cost::Function(each) => return NODE + each * len.max(LATENCY),
        Cost::OfShapes => {}
    }
    match &node.op {
        Op::Broadcast(_) if argument(0).len() == 1 => 0.0,
        Op::Broadcast(_) => elements(ELEMENT),
        Op::Gather | Op::ScatterAdd { .. } | Op::Permute(_) | Op::CumSum { .. } => {
            NODE + GATHERED * len.max(argument(0).len() as f64)
        }
        Op::LogProduct(powers) => {
            let Cost::Function(log) = Op::Unary(Unary::Log).facts().cost else {
                unreachable!("a logarithm is a function")
            };
            let elements: usize = (0..powers.len()).map(|k| argument(k).len()).sum();
            NODE + log * LATENCY + 2.0 * ELEMENT * elements as f64
        }
        Op::Reduce(_, _) => NODE + ELEMENT * argument(0).len() as f64,
        Op::MatMul => NODE + MATRIX * len * argument(0).extents()[1] as f64,
        Op::Cholesky | Op::Lu | Op::LogAbsDet => {
            let n = argument(0).extents()[0] as f64;
            NODE + n * n * n / 3.0
        }
        Op::CholeskyAdjoint => {
            let n = argument(0).extents()[0] as f64;
            NODE + n * n * n * (2.0 / 3.0)
        }
        Op::SymmetricEigen => {
            let n = argument(0).extents()[0] as f64;
            NODE + 5.0 * n * n * n
        }
        Op::Decompose(kind) | Op::DecomposeAdjoint(kind) => NODE + kind.cost(argument(0)),
        Op::TriangularSolve { .. } | Op::LuSolve { .. } => {
            NODE + argument(0).extents()[0] as f64 * len
        }
        // Some hundred evaluations of the body with its Jacobian.
        Op::Ode(problem) => {
            let body = cost(&problem.0.graph, &[problem.0.slope]);
            NODE + 300.0 * body * problem.0.layout.width() as f64
        }
        Op::Scan { length, body, .. } => {
            let body = &body.0;
            let outputs: Vec<NodeId> = body.next.iter().chain(&body.stacked).copied().collect();
            NODE + *length as f64 * cost(&body.graph, &outputs)
        }
        _ => unreachable!("the facts of {} have its cost", node.op.name()),
    }
}
