//! Simplification: a graph and its roots -> a smaller graph with the same values.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::evaluate::evaluate_node;
use crate::graph::{Dependence, Graph, NodeId};
use crate::op::{Binary, Op, ScanBody, SharedBody, Unary};
use crate::tensor::Tensor;

/// Elements that a folded constant may have, however few its arguments had.
const MAX_FOLDED_ELEMENTS: usize = 64;

/// Both passes, in the order in which they help each other.
pub fn simplify(graph: &Graph, roots: &[NodeId]) -> (Graph, Vec<NodeId>) {
    match merge_scans(graph, roots) {
        Some((graph, roots)) => fold_constants(&graph, &roots),
        None => fold_constants(graph, roots),
    }
}

/// Replaces what is known when the graph is built by constants, also in the bodies of loops, and
/// drops what no root needs.
///
/// Values do not change, except that the sign of a zero may. What is computed becomes a constant,
/// so that nobody computes it again; what only moves elements stays an operation where the result
/// is larger than the constants that it is made from, and an array of equal elements becomes a
/// stretched scalar. What has no value (an index outside its extent) is left for the run to report.
pub fn fold_constants(graph: &Graph, roots: &[NodeId]) -> (Graph, Vec<NodeId>) {
    let mut known = Known { graph, values: vec![None; graph.len()] };
    rebuild(graph, roots, |new, id, args| {
        let node = graph.node(id);
        if node.dependence == Dependence::Constant
            && let Some(folded) = known.fold(new, id, args)
        {
            return folded;
        }
        let op = match &graph.node(id).op {
            Op::Scan { length, reverse, body } => {
                Op::Scan { length: *length, reverse: *reverse, body: fold_body(&body.0) }
            }
            op => op.clone(),
        };
        // The builder leaves out neutral elements that folding brought to light.
        match (&op, args) {
            (Op::Unary(Unary::Neg), &[x]) => new.neg(x),
            (Op::Binary(Binary::Add), &[a, b]) => new.add(a, b),
            (Op::Binary(Binary::Sub), &[a, b]) => new.sub(a, b),
            (Op::Binary(Binary::Mul), &[a, b]) => new.mul(a, b),
            (Op::Binary(Binary::Div), &[a, b]) => new.div(a, b),
            _ => new.must(op, args),
        }
    })
}

/// Values of nodes that are known when the graph is built.
struct Known<'g> {
    graph: &'g Graph,
    /// Of those that somebody asked for: one tensor, of a loop its outputs; none for one that has
    /// no value.
    values: Vec<Option<Vec<Tensor>>>,
}

impl Known<'_> {
    /// The node that stands for a known one in the new graph; nothing where that is the operation
    /// itself.
    fn fold(&mut self, new: &mut Graph, id: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let node = self.graph.node(id);
        match node.op {
            Op::Scan { .. } => return None,
            // An array of equal elements is one already.
            Op::Broadcast(_)
                if node.shape.len() > 1
                    && new.as_constant(args[0]).is_some_and(|value| value.shape().is_scalar()) =>
            {
                return None;
            }
            Op::Broadcast(_)
            | Op::Reshape(_)
            | Op::Permute(_)
            | Op::Slice { .. }
            | Op::Unslice { .. }
            | Op::Concat { .. }
            | Op::Gather => {
                let stored = args.iter().filter_map(|&arg| new.as_constant(arg));
                let before: usize = stored.map(|tensor| tensor.values().len()).sum();
                if node.shape.len() > before.max(MAX_FOLDED_ELEMENTS) {
                    return None;
                }
            }
            _ => {}
        }
        // Integers that are no longer exact have no constant of their kind.
        let value = self.value(id).filter(|value| value.dtype() == node.dtype)?;
        let first = value.values().first().copied();
        let same = |first: &f64| value.values().iter().all(|v| v.to_bits() == first.to_bits());
        let (Some(first), true) = (first.filter(same), value.values().len() > 1) else {
            return Some(new.constant(value.clone()));
        };
        let scalar = match Tensor::int(Vec::new(), vec![first]) {
            Some(int) if value.dtype() == crate::DType::Int => int,
            _ => Tensor::scalar(first),
        };
        let scalar = new.constant(scalar);
        Some(new.broadcast_to(scalar, value.shape()))
    }

    /// The value of a known node, computed once.
    fn value(&mut self, id: NodeId) -> Option<&Tensor> {
        let (id, output) = match self.graph.node(id).op {
            Op::Project(k) => (self.graph.node(id).args[0], k),
            _ => (id, 0),
        };
        if self.values[id.index()].is_none() {
            self.values[id.index()] = Some(self.compute(id).unwrap_or_default());
        }
        self.values[id.index()].as_ref()?.get(output)
    }

    fn compute(&mut self, id: NodeId) -> Option<Vec<Tensor>> {
        let node = self.graph.node(id);
        let elementwise = node.op.is_elementwise();
        if let Some(truth) = self.double_negation(id) {
            return Some(vec![truth]);
        }
        let mut args = Vec::with_capacity(node.args.len());
        for &arg in &node.args {
            // What is stretched is read in rows, since the whole of it may be large.
            let inner = self.graph.node(arg);
            let is_stretched = elementwise && matches!(inner.op, Op::Broadcast(_));
            args.push(self.value(if is_stretched { inner.args[0] } else { arg })?.clone());
        }
        if let (Op::Binary(Binary::And), [a, b]) = (&node.op, &args[..]) {
            let leaves = |truth: &Tensor, other: &Tensor| {
                truth.shape() == &node.shape
                    && other.values().iter().all(|x| *x != 0.0)
                    && truth.is_truth()
            };
            if let Some(truth) = [(a, b), (b, a)].into_iter().find(|(a, b)| leaves(a, b)) {
                return Some(vec![truth.0.clone().into_int().ok()?]);
            }
        }
        let args: Vec<&Tensor> = args.iter().collect();
        evaluate_node(self.graph, id, &args).ok()
    }

    /// What `not (not x)` is of truth values: x itself, in whole numbers.
    fn double_negation(&mut self, id: NodeId) -> Option<Tensor> {
        let argument = |id: NodeId| {
            let node = self.graph.node(id);
            (node.op == Op::Unary(Unary::Not)).then(|| node.args[0])
        };
        let x = argument(argument(id)?)?;
        let x = self.value(x).filter(|x| x.is_truth())?.clone();
        x.into_int().ok()
    }
}

/// Puts what [`Op::Hold`] holds in its place, once nothing is differentiated any more; nothing
/// where nothing is held.
pub fn release(graph: &Graph, roots: &[NodeId]) -> Option<(Graph, Vec<NodeId>)> {
    let held = graph.nodes().iter().any(|node| node.op == Op::Hold);
    held.then(|| {
        rebuild(graph, roots, |new, id, args| match &graph.node(id).op {
            Op::Hold => args[0],
            op => new.must(op.clone(), args),
        })
    })
}

fn fold_body(body: &ScanBody) -> SharedBody {
    let outputs: Vec<NodeId> = body.next.iter().chain(&body.stacked).copied().collect();
    let (graph, mut next) = fold_constants(&body.graph, &outputs);
    let stacked = next.split_off(body.next.len());
    SharedBody(Arc::new(ScanBody { graph, next, stacked, counts: body.counts }))
}

/// Runs a loop once whose outputs are those of several loops over the same arguments.
///
/// The derivative of a loop runs it a second time with more stacked outputs; the first run, whose
/// outputs are the first of the second's, is then left out. Nothing for a graph without loops.
pub fn merge_scans(graph: &Graph, roots: &[NodeId]) -> Option<(Graph, Vec<NodeId>)> {
    // Loops that could be merged have the same arguments.
    let mut scans: FxHashMap<&[NodeId], Vec<NodeId>> = FxHashMap::default();
    for id in graph.ids().filter(|id| matches!(graph.node(*id).op, Op::Scan { .. })) {
        scans.entry(&graph.node(id).args).or_default().push(id);
    }
    if scans.is_empty() {
        return None;
    }
    let widest = |id: NodeId| {
        let alike = scans.get(graph.node(id).args.as_slice()).into_iter().flatten().copied();
        let candidates = alike.filter(|&other| covers(graph, other, id));
        candidates.max_by_key(|&other| stacked_outputs(graph, other)).unwrap_or(id)
    };
    Some(rebuild(graph, roots, |new, id, args| {
        let source = if matches!(graph.node(id).op, Op::Scan { .. }) { widest(id) } else { id };
        new.must(graph.node(source).op.clone(), args)
    }))
}

/// Whether the outputs of scan `b` are the first outputs of scan `a`.
fn covers(graph: &Graph, a: NodeId, b: NodeId) -> bool {
    let (left, right) = (graph.node(a), graph.node(b));
    let (
        Op::Scan { length, reverse, body },
        Op::Scan { length: other_length, reverse: other_reverse, body: other_body },
    ) = (&left.op, &right.op)
    else {
        return false;
    };
    let (body, other) = (&*body.0, &*other_body.0);
    left.args == right.args
        && (length, reverse) == (other_length, other_reverse)
        && body.counts == other.counts
        && body.next == other.next
        && body.stacked.starts_with(&other.stacked)
        && body.graph.starts_with(&other.graph)
}

fn stacked_outputs(graph: &Graph, scan: NodeId) -> usize {
    match &graph.node(scan).op {
        Op::Scan { body, .. } => body.0.stacked.len(),
        _ => 0,
    }
}

/// Copies what `roots` need, each node made anew by `make` from its copied arguments; then drops
/// copies that nobody uses.
pub(crate) fn rebuild(
    graph: &Graph,
    roots: &[NodeId],
    mut make: impl FnMut(&mut Graph, NodeId, &[NodeId]) -> NodeId,
) -> (Graph, Vec<NodeId>) {
    let live = graph.reachable(roots);
    let mut new = Graph::with_capacity(live.iter().filter(|live| **live).count());
    let mut copy: Vec<Option<NodeId>> = vec![None; graph.len()];
    let copy_of = |copy: &[Option<NodeId>], id: &NodeId| {
        copy[id.index()].expect("arguments precede users, and roots are live")
    };
    for id in graph.ids().filter(|id| live[id.index()]) {
        let node = graph.node(id);
        let args: Vec<NodeId> = node.args.iter().map(|arg| copy_of(&copy, arg)).collect();
        copy[id.index()] = Some(match &node.op {
            Op::Input { name, role } => new
                .input(name, *role, node.shape.clone(), node.dtype)
                .expect("names are unique in the original"),
            Op::Constant(tensor) => new.constant(tensor.clone()),
            _ => make(&mut new, id, &args),
        });
    }
    let mut roots: Vec<NodeId> = roots.iter().map(|root| copy_of(&copy, root)).collect();
    new.retain(&mut roots);
    (new, roots)
}
