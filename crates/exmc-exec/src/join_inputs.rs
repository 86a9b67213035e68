//! Scalar variables that a density reads as one vector -> one input of that length, where they lie
//! in a row in the position.
//!
//! The optimisation `group-alike` writes `concat(a1, a2, ...)` for what it computes on vectors.
//! Element by element, every variable would be an array of its own, which is copied, and so would
//! be every element of the gradient. As one input they are read from the position, and written to
//! the gradient, as a vector's elements are.

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, Graph, Limits, NodeId, Op, Role};
use rustc_hash::FxHashMap;

use crate::compiled::input_name;
use crate::density::DensitySource;

/// Where an input lies among those that are joined: which input it is a part of, and the number of
/// its element.
type Place = (usize, usize);

/// A row of inputs.
struct Run {
    members: Vec<NodeId>,
    offset: usize,
}

/// The density with such variables joined, and the limits of its inputs; nothing where there are
/// none.
pub(crate) fn join_inputs(
    source: &DensitySource,
    limits: &[Limits],
) -> Option<(DensitySource, Vec<Limits>)> {
    let DensitySource { graph, logp, parameters, dim } = source;
    let runs = runs(graph, *logp, parameters);
    if runs.is_empty() {
        return None;
    }
    let mut places: FxHashMap<NodeId, Place> = FxHashMap::default();
    for (number, run) in runs.iter().enumerate() {
        places.extend(run.members.iter().enumerate().map(|(k, &id)| (id, (number, k))));
    }
    let mut new = Graph::new();
    let mut joined = Vec::new();
    for run in &runs {
        let name = name(graph, &run.members);
        let made = new.input(&name, Role::Parameter, [run.members.len()].into(), DType::Real);
        joined.push((made.expect("the name is new"), name));
    }
    let inputs: Vec<NodeId> = joined.iter().map(|(input, _)| *input).collect();
    let logp = copy(&mut new, graph, *logp, &places, &inputs);
    let alone = parameters.iter().filter(|(id, _)| !places.contains_key(id));
    let mut all: Vec<(NodeId, usize)> = Vec::with_capacity(parameters.len());
    for &(id, offset) in alone {
        let node = graph.node(id);
        let Op::Input { name, role } = &node.op else { continue };
        let input = new.input(name, *role, node.shape.clone(), node.dtype);
        all.push((input.expect(FITS), offset));
    }
    all.extend(inputs.iter().zip(&runs).map(|(&input, run)| (input, run.offset)));
    all.sort_by_key(|(_, offset)| *offset);
    let limits = joined_limits(graph, limits, &places, &runs, &joined);
    Some((DensitySource { graph: new, logp, parameters: all, dim: *dim }, limits))
}

const FITS: &str = "copies fit as originals do";

/// The scalar inputs that are parts of vectors, in rows of at least two.
fn runs(graph: &Graph, logp: NodeId, parameters: &[(NodeId, usize)]) -> Vec<Run> {
    let live = graph.reachable(&[logp]);
    let rows = graph.ids().filter(|id| live[id.index()] && is_row(graph, *id));
    let mut is_part = vec![false; graph.len()];
    for id in rows {
        for &arg in &graph.node(id).args {
            is_part[behind_reshapes(graph, arg).index()] = true;
        }
    }
    let is_own = |&&(id, _): &&(NodeId, usize)| is_part[id.index()] && graph.shape(id).len() == 1;
    let mut parts: Vec<(NodeId, usize)> = parameters.iter().filter(is_own).copied().collect();
    parts.sort_by_key(|(_, offset)| *offset);
    let mut runs: Vec<Run> = Vec::new();
    for (id, offset) in parts {
        match runs.last_mut() {
            Some(run) if run.offset + run.members.len() == offset => run.members.push(id),
            _ => runs.push(Run { members: vec![id], offset }),
        }
    }
    runs.retain(|run| run.members.len() > 1);
    runs
}

/// Whether a node is a vector that is put together.
fn is_row(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    node.op == Op::Concat { axis: 0 } && node.shape.rank() == 1
}

fn behind_reshapes(graph: &Graph, mut id: NodeId) -> NodeId {
    while let Op::Reshape(_) = graph.node(id).op {
        id = graph.node(id).args[0];
    }
    id
}

/// A name that no input has.
fn name(graph: &Graph, members: &[NodeId]) -> String {
    let name_of =
        |id: Option<&NodeId>| id.and_then(|&id| input_name(graph, id)).unwrap_or_default();
    let mut name = format!("{}..{}", name_of(members.first()), name_of(members.last()));
    while graph.find_input(&name).is_some() {
        name.push('.');
    }
    name
}

/// Copies the density, with parts of the joined inputs in the places of their members.
fn copy(
    new: &mut Graph,
    old: &Graph,
    root: NodeId,
    places: &FxHashMap<NodeId, Place>,
    inputs: &[NodeId],
) -> NodeId {
    let live = old.reachable(&[root]);
    let mut copies: Vec<Option<NodeId>> = vec![None; old.len()];
    for id in old.ids().filter(|id| live[id.index()]) {
        let node = old.node(id);
        let copy_of = |arg: &NodeId| copies[arg.index()].expect("arguments precede users");
        let place = |arg: &NodeId| places.get(&behind_reshapes(old, *arg)).copied();
        copies[id.index()] = Some(match (&node.op, places.get(&id)) {
            (_, Some(&(number, k))) => {
                let k = if planted(Fault::JoinedNeighbour) { k.saturating_sub(1) } else { k };
                let element = new.slice(inputs[number], 0, k, k + 1);
                new.reshape(element, node.shape.clone())
            }
            (Op::Input { name, role }, None) => {
                new.input(name, *role, node.shape.clone(), node.dtype).expect(FITS)
            }
            (Op::Concat { axis: 0 }, None) if node.shape.rank() == 1 => {
                let mut parts = Vec::new();
                let mut rest = &node.args[..];
                while let Some((first, after)) = rest.split_first() {
                    let Some((number, start)) = place(first) else {
                        parts.push(copy_of(first));
                        rest = after;
                        continue;
                    };
                    let follows =
                        |&(k, arg): &(usize, &NodeId)| place(arg) == Some((number, start + k));
                    let len = rest.iter().enumerate().take_while(follows).count();
                    parts.push(new.slice(inputs[number], 0, start, start + len));
                    rest = &rest[len..];
                }
                new.concat(&parts, 0)
            }
            (op, None) => {
                let args: Vec<NodeId> = node.args.iter().map(copy_of).collect();
                new.apply(op.clone(), &args).expect(FITS)
            }
        });
    }
    copies[root.index()].expect("a root is reachable from itself")
}

/// Limits by input: of a joined one, those that hold where its members' do, if each has some.
fn joined_limits(
    graph: &Graph,
    limits: &[Limits],
    places: &FxHashMap<NodeId, Place>,
    runs: &[Run],
    joined: &[(NodeId, String)],
) -> Vec<Limits> {
    let mut found: Vec<(usize, f64, f64)> = vec![(0, f64::INFINITY, f64::NEG_INFINITY); runs.len()];
    let mut all = Vec::new();
    for limit in limits {
        let place = graph.find_input(&limit.input).and_then(|id| places.get(&id));
        match place {
            Some(&(number, _)) => {
                let (count, low, high) = &mut found[number];
                *count += 1;
                *low = low.min(limit.low);
                *high = high.max(limit.high);
            }
            None => all.push(limit.clone()),
        }
    }
    for ((run, (_, name)), (count, low, high)) in runs.iter().zip(joined).zip(found) {
        if count == run.members.len() {
            all.push(Limits { input: name.clone(), low, high });
        }
    }
    all
}
