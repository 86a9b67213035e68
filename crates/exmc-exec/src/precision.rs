//! Precision of a graph's nodes, as the reference executor rounds them: the oracle of what `native`
//! computes in `f32`.

use exmc_graph::{DType, Dependence, Digits, Graph, NodeId, Op, Precision};

/// The precision of every node's value, given that of long arrays; nothing if that is `f64`.
///
/// Elementwise operations over many elements are rounded, and what is known before any parameter
/// where something else reads it. What goes into a matrix decomposition or a loop with carried
/// state, what is computed element by element from a decomposition, and all terms of sums with such
/// a term are not.
pub(crate) fn precisions(long: Precision, graph: &Graph, roots: &[NodeId]) -> Vec<Precision> {
    if long == Precision::F64 {
        return Vec::new();
    }
    let live = graph.reachable(roots);
    let is_sum = |id: NodeId| {
        matches!(graph.node(id).op, Op::Reduce(..) | Op::ScatterAdd { .. } | Op::MatMul)
    };
    let mut exact = vec![false; graph.len()];
    for id in graph.ids().filter(|id| live[id.index()]) {
        let node = graph.node(id);
        let inherited = node.args.iter().any(|arg| exact[arg.index()] && !is_sum(*arg));
        exact[id.index()] = inherited || decomposes(&node.op);
    }
    let mut found = vec![Precision::F64; graph.len()];
    for id in graph.ids().rev().filter(|id| live[id.index()]) {
        let node = graph.node(id);
        let early = node.dependence != Dependence::Parameter;
        let elementwise = node.op.is_elementwise();
        if !exact[id.index()] && node.dtype == DType::Real && (elementwise || early) {
            found[id.index()] = long.of(node.shape.len());
        }
        if exact[id.index()] || needs_all_digits(&node.op) {
            for arg in &node.args {
                exact[arg.index()] = true;
            }
        }
    }
    found
}

/// Whether large numbers nearly cancel in an operation's result, and in sums of products with it.
pub(crate) fn decomposes(op: &Op) -> bool {
    op.facts().digits == Digits::Decomposition
}

/// Whether an operation makes much of small differences of its arguments.
pub(crate) fn needs_all_digits(op: &Op) -> bool {
    op.facts().digits != Digits::Plain
}
