//! Scalars and arrays -> vectors that hold them: what lies in a row in one array is a part of that,
//! constants are one constant.

use std::collections::BTreeMap;

use exmc_fault::{Fault, planted};

use super::columns::Column;
use super::families::Families;
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Role};
use crate::tensor::{DType, Shape, Tensor};

/// Nodes that are looked at for the order of a term, and variables that decide it.
const LOOKED_AT: usize = 64;
const DECIDING: usize = 4;

/// What terms are sorted by: the first variables, or elements of variables, that they read.
pub(super) fn order(g: &Graph, term: NodeId) -> Vec<(NodeId, usize)> {
    let mut read = Vec::new();
    let mut open = vec![term];
    for _ in 0..LOOKED_AT {
        let Some(id) = open.pop() else { break };
        let (source, position) = if g.shape(id).is_scalar() { element(g, id) } else { (id, 0) };
        if matches!(g.node(source).op, Op::Input { .. }) {
            read.push((source, position));
            if read.len() == DECIDING {
                break;
            }
        } else {
            open.extend(g.node(source).args.iter().rev());
        }
    }
    read
}

/// The array, and the number of its element, that a scalar is a copy of; itself where it is none.
fn element(g: &Graph, scalar: NodeId) -> (NodeId, usize) {
    let (mut id, mut position) = (scalar, 0);
    loop {
        let node = g.node(id);
        let (argument, place) = match (&node.op, &*node.args) {
            (Op::Reshape(_), &[x]) => (x, position),
            (&Op::Slice { axis, start, step, .. }, &[x]) => {
                let inner: usize = node.shape.extents()[axis + 1..].iter().product();
                let extent = node.shape.extents()[axis];
                let (rest, outer) = (position % inner, position / inner);
                let (along, before) = (outer % extent, outer / extent);
                let along = start + step * along;
                (x, (before * g.shape(x).extents()[axis] + along) * inner + rest)
            }
            (Op::Gather, &[x, index]) => {
                let Some(index) = g.as_constant(index) else { return (id, position) };
                let inner: usize = g.shape(x).extents()[1..].iter().product();
                let row = index.values()[position / inner];
                // An index outside of its extent is left for the run to report.
                if !(0.0..g.shape(x).extents()[0] as f64).contains(&row) {
                    return (id, position);
                }
                (x, row as usize * inner + position % inner)
            }
            (Op::Concat { axis: 0 }, parts) => {
                let mut rest = position;
                let found = parts.iter().find(|&&part| {
                    let len = g.shape(part).len();
                    let is_there = rest < len;
                    rest -= if is_there { 0 } else { len };
                    is_there
                });
                match found {
                    Some(&part) => (part, rest),
                    None => return (id, position),
                }
            }
            _ => return (id, position),
        };
        (id, position) = (argument, place);
    }
}

/// Whether a scalar is a variable, or an element of an array.
pub(super) fn is_element(g: &Graph, scalar: NodeId) -> bool {
    let (source, _) = element(g, scalar);
    source != scalar || matches!(g.node(source).op, Op::Input { .. })
}

/// The array of several elements of which a scalar is one.
pub(super) fn array(g: &Graph, scalar: NodeId) -> Option<NodeId> {
    let (source, _) = if g.shape(scalar).len() == 1 { element(g, scalar) } else { return None };
    (g.shape(source).len() > 1).then_some(source)
}

/// The vector of some scalars of one kind.
pub(super) fn vector(g: &mut Graph, families: &mut Families, scalars: &[NodeId]) -> NodeId {
    let mut found: Vec<(NodeId, usize)> = scalars.iter().map(|&id| element(g, id)).collect();
    let is_variable = |&(id, _): &(NodeId, usize)| {
        let is_input = matches!(g.node(id).op, Op::Input { role: Role::Parameter, .. });
        is_input && g.shape(id).is_scalar()
    };
    let variables: Vec<NodeId> = found.iter().filter(|f| is_variable(f)).map(|f| f.0).collect();
    families.join(&variables);
    for place in &mut found {
        *place = families.place(place.0).unwrap_or(*place);
    }
    let mut numbers = Vec::new();
    // In the order of the graph's nodes, which for inputs is that of the position.
    let mut parts: BTreeMap<NodeId, BTreeMap<usize, usize>> = BTreeMap::new();
    for &(source, position) in &found {
        match g.as_constant(source) {
            Some(constant) => numbers.push(constant.values()[position]),
            None => {
                parts.entry(source).or_default().insert(position, 0);
            }
        }
    }
    let dtype = g.node(scalars[0]).dtype;
    if parts.is_empty() {
        return constant(g, dtype, numbers);
    }
    let (mut rows, mut next) = (Vec::new(), 0);
    for (&source, elements) in &mut parts {
        let len = g.shape(source).len();
        let flat = g.reshape(source, [len]);
        let places: Vec<usize> = elements.keys().copied().collect();
        rows.push(taken(g, flat, &places));
        for place in elements.values_mut() {
            *place = next;
            next += 1;
        }
    }
    let mut next_number = next;
    if !numbers.is_empty() {
        rows.push(constant(g, dtype, numbers));
    }
    let all = g.concat(&rows, 0);
    let place = |&(source, position): &(NodeId, usize)| match parts.get(&source) {
        Some(elements) => elements[&position],
        None => {
            next_number += 1;
            next_number - 1
        }
    };
    let index: Vec<usize> = found.iter().map(place).collect();
    if planted(Fault::GroupedOrder) && index.len() == g.shape(all).len() {
        return all;
    }
    taken(g, all, &index)
}

/// Arrays one behind the other, as one vector.
pub(super) fn joined(g: &mut Graph, arrays: &[NodeId]) -> NodeId {
    let mut rows = Vec::with_capacity(arrays.len());
    for &id in arrays {
        let len = g.shape(id).len();
        rows.push(g.reshape(id, [len]));
    }
    g.concat(&rows, 0)
}

/// The column of constants, of scalars or of arrays; nothing where some are none.
pub(super) fn constants(g: &mut Graph, nodes: &[NodeId]) -> Option<Column> {
    let mut values = Vec::new();
    for &id in nodes {
        match (g.as_constant(id), g.as_uniform(id)) {
            (Some(constant), _) => values.extend_from_slice(constant.values()),
            (None, Some(value)) => values.extend(std::iter::repeat_n(value, g.shape(id).len())),
            (None, None) => return None,
        }
    }
    let (dtype, first) = (g.node(nodes[0]).dtype, values[0]);
    if values.iter().all(|value| value.to_bits() == first.to_bits()) {
        return Some(Column::Same(g.constant(Tensor::moved(&Shape::scalar(), dtype, vec![first]))));
    }
    Some(Column::Each(constant(g, dtype, values)))
}

fn constant(g: &mut Graph, dtype: DType, values: Vec<f64>) -> NodeId {
    let shape = [values.len()].into();
    g.constant(Tensor::moved(&shape, dtype, values))
}

/// Elements of a vector: itself where these are all of it in order, a part where they lie in a row.
pub(super) fn taken(g: &mut Graph, vector: NodeId, index: &[usize]) -> NodeId {
    let (start, len) = (index[0], index.len());
    if index.iter().enumerate().all(|(k, &position)| position == start + k) {
        return g.slice(vector, 0, start, start + len);
    }
    let index = g.constant(Tensor::indices(index));
    g.gather(vector, index)
}
