//! Loops of a right-hand side: a graph with scans -> one without, step after step.

use crate::evaluate::tensor;
use crate::graph::{Graph, GraphError, NodeId};
use crate::op::{Op, ScanBody};
use crate::simplify::fold_constants;

/// Nodes that a right-hand side may have after its loops are unrolled.
const MAX_NODES: usize = 200_000;

/// The graph of one root without scans.
pub(super) fn unroll(graph: &Graph, root: NodeId) -> Result<(Graph, NodeId), GraphError> {
    let mut new = Graph::new();
    let roots = copy(&mut new, graph, &[root], &|_, _| None)?;
    let (graph, roots) = fold_constants(&new, &roots);
    Ok((graph, roots[0]))
}

/// What an input's name stands for in the new graph.
type Substitute<'a> = &'a dyn Fn(&mut Graph, &str) -> Option<NodeId>;

fn copy(
    new: &mut Graph,
    graph: &Graph,
    roots: &[NodeId],
    substitute: Substitute<'_>,
) -> Result<Vec<NodeId>, GraphError> {
    let live = graph.reachable(roots);
    // Every node's outputs: one, but of a scan as many as it has.
    let mut copies: Vec<Vec<NodeId>> = vec![Vec::new(); graph.len()];
    for id in graph.ids().filter(|id| live[id.index()]) {
        let node = graph.node(id);
        let arg = |k: usize| copies[node.args[k].index()][0];
        let made = match &node.op {
            Op::Input { name, role } => vec![match substitute(new, name) {
                Some(value) => value,
                None => new.input(name, *role, node.shape.clone(), node.dtype)?,
            }],
            Op::Scan { length, reverse, body } => {
                let args: Vec<NodeId> = (0..node.args.len()).map(arg).collect();
                steps(new, (*length, *reverse), &body.0, &args)?
            }
            Op::Project(k) => vec![copies[node.args[0].index()][*k]],
            op => {
                let args: Vec<NodeId> = (0..node.args.len()).map(arg).collect();
                vec![new.apply(op.clone(), &args)?]
            }
        };
        if new.len() > MAX_NODES {
            return Err(GraphError::new("ode: a loop of the right-hand side has too many steps"));
        }
        copies[id.index()] = made;
    }
    Ok(roots.iter().map(|root| copies[root.index()][0]).collect())
}

/// A scan's outputs.
fn steps(
    new: &mut Graph,
    (length, reverse): (usize, bool),
    body: &ScanBody,
    args: &[NodeId],
) -> Result<Vec<NodeId>, GraphError> {
    let [carries, sequences, _] = body.counts;
    let outputs: Vec<NodeId> = body.next.iter().chain(&body.stacked).copied().collect();
    let mut state = args[..carries].to_vec();
    let mut stacks: Vec<Vec<Option<NodeId>>> = vec![vec![None; length]; body.stacked.len()];
    for step in 0..length {
        let index = if reverse { length - 1 - step } else { step };
        let substitute = |new: &mut Graph, name: &str| {
            let number = |prefix: &str| name.strip_prefix(prefix)?.parse::<usize>().ok();
            if let Some(k) = number("carry") {
                state.get(k).copied()
            } else if let Some(k) = number("fixed") {
                args.get(carries + sequences + k).copied()
            } else {
                let sequence = *args.get(carries + number("x")?)?;
                let row = new.slice(sequence, 0, index, index + 1);
                let shape = new.shape(sequence).extents()[1..].to_vec();
                Some(new.reshape(row, shape))
            }
        };
        let mut made = copy(new, &body.graph, &outputs, &substitute)?;
        for (stack, value) in stacks.iter_mut().zip(made.drain(carries..)) {
            stack[index] = Some(value);
        }
        state = made;
    }
    for (stack, &id) in stacks.into_iter().zip(&body.stacked) {
        let shape = body.graph.shape(id);
        let mut extents = vec![1];
        extents.extend_from_slice(shape.extents());
        let rows: Vec<NodeId> =
            stack.into_iter().flatten().map(|row| new.reshape(row, extents.clone())).collect();
        state.push(if rows.is_empty() {
            extents[0] = 0;
            new.constant(tensor(&extents.into(), body.graph.node(id).dtype, Vec::new()))
        } else {
            new.concat(&rows, 0)
        });
    }
    Ok(state)
}
