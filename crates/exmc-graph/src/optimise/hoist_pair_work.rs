//! A loop over pairs -> the same loop, where what belongs to one of a pair is computed once for it.
//!
//! Programs write the forward algorithm of a hidden Markov model for every pair of states: what a
//! state has emitted stands in all pairs that lead to it. A sequence or fixed value with equal
//! elements becomes one without and a choice of its elements in the body; functions of chosen
//! elements become choices; and what all terms of a log of a sum of exponentials have in common is
//! added to the log.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::hoist_gathers;
use super::terms::gathered;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Reduction, ScanBody, SharedBody};
use crate::tensor::{DType, Shape, Tensor};

/// What a body's input was before it had equal elements.
struct Narrow {
    /// The loop's argument.
    arg: NodeId,
    /// Shape of the body's input, and which of its elements each element was.
    shape: Shape,
    index: Vec<usize>,
}

pub(super) fn narrow_loop(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    let Op::Scan { length, reverse, body } = op else { return None };
    let body = &*body.0;
    let [carries, sequences, _] = body.counts;
    let has_sums = |id| matches!(body.graph.node(id).op, Op::Reduce(Reduction::LogSumExp, _));
    if !body.graph.ids().any(has_sums) {
        return None;
    }
    let (mut narrow, mut new_args) = (FxHashMap::default(), args.to_vec());
    for (k, &arg) in args.iter().enumerate().skip(carries) {
        let (name, steps) = match k.checked_sub(carries + sequences) {
            None => (format!("x{}", k - carries), Some(*length)),
            Some(k) => (format!("fixed{k}"), None),
        };
        let Some(input) = body.graph.find_input(&name) else { continue };
        if let Some(found) = without_equal(g, arg, steps, body.graph.shape(input)) {
            new_args[k] = found.arg;
            narrow.insert(input, found);
        }
    }
    let (new_body, changed) = narrow_body(body, &narrow)?;
    if !changed {
        return None;
    }
    let body = SharedBody(Arc::new(new_body));
    g.apply(Op::Scan { length: *length, reverse: *reverse, body }, &new_args).ok()
}

/// The argument without elements that are equal to others of the step in all steps, for an input of
/// a shape.
fn without_equal(
    g: &mut Graph,
    arg: NodeId,
    steps: Option<usize>,
    shape: &Shape,
) -> Option<Narrow> {
    let (width, rows) = (shape.len(), steps.unwrap_or(1));
    if width < 2 || rows == 0 || g.node(arg).dtype != DType::Real {
        return None;
    }
    let elements = Elements::of(g, arg)?;
    let equal =
        |a: usize, b: usize| (0..rows).all(|t| elements.are_equal(t * width + a, t * width + b));
    let (mut firsts, mut index) = (Vec::new(), Vec::new());
    for k in 0..width {
        let known = firsts.iter().position(|&first| equal(first, k));
        index.push(known.unwrap_or(firsts.len()));
        if known.is_none() {
            firsts.push(k);
        }
    }
    if firsts.len() == width {
        return None;
    }
    let shape = Shape::from([firsts.len()]);
    let places: Vec<usize> =
        (0..rows).flat_map(|t| firsts.iter().map(move |first| t * width + first)).collect();
    let full_shape =
        steps.map_or(shape.clone(), |steps| Shape::from([steps]).join(shape.extents()));
    let arg = elements.take(g, &places);
    Some(Narrow { arg: g.reshape(arg, full_shape), shape, index })
}

/// Elements that are known, or chosen from a table.
enum Elements {
    Known(Vec<f64>),
    Chosen { table: NodeId, index: Vec<usize> },
}

impl Elements {
    fn of(g: &mut Graph, id: NodeId) -> Option<Self> {
        if let Some(tensor) = g.as_constant(id) {
            return Some(Self::Known(tensor.values().to_vec()));
        }
        let node = g.node(id).clone();
        match node.op {
            Op::Reshape(_) => Self::of(g, node.args[0]),
            Op::Broadcast(_) if g.shape(node.args[0]).len() == 1 => {
                let table = g.reshape(node.args[0], [1]);
                Some(Self::Chosen { table, index: vec![0; node.shape.len()] })
            }
            Op::Gather => {
                let rows = g.as_constant(node.args[1])?.values().to_vec();
                let shape = g.shape(node.args[0]).clone();
                let extent = *shape.extents().first()?;
                let row: usize = shape.extents()[1..].iter().product();
                let is_row = |k: &f64| *k >= 0.0 && (*k as usize) < extent;
                if !rows.iter().all(is_row) {
                    return None;
                }
                let table = g.reshape(node.args[0], [shape.len()]);
                let index = rows.iter().flat_map(|&k| (0..row).map(move |j| k as usize * row + j));
                Some(Self::Chosen { table, index: index.collect() })
            }
            _ => None,
        }
    }

    fn are_equal(&self, a: usize, b: usize) -> bool {
        match self {
            Self::Known(values) => values[a].to_bits() == values[b].to_bits(),
            Self::Chosen { index, .. } => index[a] == index[b],
        }
    }

    /// Some of the elements, in a row.
    fn take(self, g: &mut Graph, places: &[usize]) -> NodeId {
        match self {
            Self::Known(values) => {
                let values: Vec<f64> = places.iter().map(|&k| values[k]).collect();
                g.constant(Tensor::vector(&values))
            }
            Self::Chosen { table, index } => {
                let index: Vec<usize> = places.iter().map(|&k| index[k]).collect();
                let first = index.first().copied().unwrap_or(0);
                if index.iter().enumerate().all(|(k, &element)| element == first + k) {
                    return g.slice(table, 0, first, first + index.len());
                }
                let index = g.constant(Tensor::indices(&index));
                g.gather(table, index)
            }
        }
    }
}

/// The body with narrower inputs, and whether that or anything in it is of use.
fn narrow_body(body: &ScanBody, narrow: &FxHashMap<NodeId, Narrow>) -> Option<(ScanBody, bool)> {
    let old = &body.graph;
    let roots: Vec<NodeId> = body.next.iter().chain(&body.stacked).copied().collect();
    let needed = old.reachable(&roots);
    let mut graph = Graph::new();
    let mut copies: Vec<Option<NodeId>> = vec![None; old.len()];
    let mut changed = !narrow.is_empty();
    for id in old.ids().filter(|id| needed[id.index()]) {
        let node = old.node(id);
        let copy = match &node.op {
            Op::Input { name, role } => {
                let found = narrow.get(&id);
                let shape = found.map_or(&node.shape, |narrow| &narrow.shape).clone();
                let input = graph.input(name, *role, shape, node.dtype).ok()?;
                found.map_or(input, |narrow| widened(&mut graph, input, narrow, &node.shape))
            }
            op => {
                let args: Vec<NodeId> =
                    node.args.iter().map(|a| copies[a.index()]).collect::<Option<_>>()?;
                let found = match op {
                    Op::Reduce(Reduction::LogSumExp, axes) => {
                        log_sum_exp(&mut graph, axes, args[0])
                    }
                    _ => hoist_gathers::rule(&mut graph, op, &args),
                };
                changed |= found.is_some();
                match found {
                    Some(found) => found,
                    None => graph.apply(op.clone(), &args).ok()?,
                }
            }
        };
        copies[id.index()] = Some(copy);
    }
    let copied = |ids: &[NodeId]| ids.iter().map(|id| copies[id.index()]).collect::<Option<_>>();
    let mut next: Vec<NodeId> = copied(&roots)?;
    graph.retain(&mut next);
    let stacked = next.split_off(body.next.len());
    Some((ScanBody { graph, next, stacked, counts: body.counts }, changed))
}

/// The input as it was.
fn widened(graph: &mut Graph, input: NodeId, narrow: &Narrow, shape: &Shape) -> NodeId {
    if narrow.shape.len() == 1 {
        let scalar = graph.reshape(input, Shape::scalar());
        return graph.broadcast_to(scalar, shape);
    }
    let index = graph.constant(Tensor::indices(&narrow.index));
    let chosen = graph.gather(input, index);
    graph.reshape(chosen, shape.clone())
}

/// The log of a sum of exponentials whose terms have parts in common.
fn log_sum_exp(g: &mut Graph, axes: &[usize], x: NodeId) -> Option<NodeId> {
    let &[axis] = axes else { return None };
    let shape = g.shape(x).clone();
    let extents = shape.extents();
    let inner: usize = extents[axis + 1..].iter().product();
    let (mut terms, mut waiting) = (Vec::new(), vec![(x, false)]);
    while let Some((id, negative)) = waiting.pop() {
        let node = g.node(id);
        match node.op {
            Op::Reshape(_) => waiting.push((node.args[0], negative)),
            Op::Binary(Binary::Add) => {
                waiting.extend([(node.args[1], negative), (node.args[0], negative)]);
            }
            Op::Binary(Binary::Sub) => {
                waiting.extend([(node.args[1], !negative), (node.args[0], negative)]);
            }
            _ => terms.push((id, negative)),
        }
    }
    // The elements of a term that all along the axis share.
    let shared = |id: NodeId| {
        let (table, index) = gathered(g, id)?;
        let index = g.as_constant(index)?.values();
        let first = |k: usize| k / (inner * extents[axis]) * inner * extents[axis] + k % inner;
        let along = (0..index.len()).all(|k| index[k] == index[first(k)]);
        let firsts = (0..index.len()).filter(|&k| first(k) == k).map(|k| index[k] as usize);
        along.then(|| (table, firsts.collect::<Vec<usize>>()))
    };
    let found: Vec<_> = terms.iter().map(|&(id, _)| shared(id)).collect();
    if found.iter().all(Option::is_some) || found.iter().all(Option::is_none) {
        return None;
    }
    let sum = |g: &mut Graph, total: Option<NodeId>, term: NodeId, negative: bool| match total {
        Some(total) if negative => g.sub(total, term),
        Some(total) => g.add(total, term),
        None if negative => g.neg(term),
        None => term,
    };
    // What is chosen alike is added up before.
    let mut chosen: Vec<(NodeId, NodeId)> = Vec::new();
    let mut inside = None;
    for (&(id, negative), _) in terms.iter().zip(&found).filter(|(_, found)| found.is_none()) {
        if let Some((table, index)) = gathered(g, id) {
            let alike = chosen.iter_mut().find(|(other, other_index)| {
                *other_index == index && g.shape(*other) == g.shape(table) && !negative
            });
            if let Some((total, _)) = alike {
                *total = g.add(*total, table);
                continue;
            }
            if !negative {
                chosen.push((table, index));
                continue;
            }
        }
        let term = g.reshape(id, shape.clone());
        inside = Some(sum(g, inside, term, negative));
    }
    for (table, index) in chosen {
        let term = g.gather(table, index);
        let term = g.reshape(term, shape.clone());
        inside = Some(sum(g, inside, term, false));
    }
    let log = g.log_sum_exp(inside?, axis);
    let reduced = g.shape(log).clone();
    let mut total = log;
    for ((_, negative), found) in terms.iter().zip(found) {
        let Some((table, index)) = found else { continue };
        let is_whole = index.iter().copied().eq(0..g.shape(table).len());
        let term = if is_whole {
            table
        } else {
            let index = g.constant(Tensor::indices(&index));
            g.gather(table, index)
        };
        let term = g.reshape(term, reduced.clone());
        total = sum(g, Some(total), term, *negative);
    }
    Some(total)
}
