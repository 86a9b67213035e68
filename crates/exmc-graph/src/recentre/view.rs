//! Views: an expression that only moves the elements of an input -> which element stands where.

use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Role, Unary};
use crate::tensor::{Shape, Tensor};

/// Operations inside each other that are looked through.
const MAX_VIEW_DEPTH: usize = 12;

/// Elements of an input in another order or shape.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    /// The shape of the view.
    pub(super) shape: Shape,
    /// The input's flat element at each place; all in order where there is nothing.
    pub(super) elements: Option<Vec<usize>>,
    /// Whether the numbers are the input's only within the limits of a clamp.
    pub(super) clamped: bool,
}

impl View {
    /// The parameter and which of its elements a node holds, if it only moves them. An element may
    /// stand at several places.
    pub(super) fn of(g: &Graph, node: NodeId) -> Option<(NodeId, Self)> {
        let mut below = Vec::new();
        let mut input = node;
        let mut clamped = false;
        while !matches!(g.node(input).op, Op::Input { .. }) {
            if below.len() == MAX_VIEW_DEPTH {
                return None;
            }
            if let Some(inner) = log_of_exp(g, input) {
                (input, clamped) = (inner, true);
                continue;
            }
            let moves = match &g.node(input).op {
                Op::Reshape(_) | Op::Permute(_) | Op::Slice { .. } | Op::Broadcast(_) => true,
                Op::Gather => g.as_constant(g.node(input).args[1]).is_some(),
                _ => false,
            };
            if !moves {
                return None;
            }
            below.push(input);
            input = g.node(input).args[0];
        }
        if !matches!(g.node(input).op, Op::Input { role: Role::Parameter, .. }) {
            return None;
        }
        let only_shapes = |id: &NodeId| match &g.node(*id).op {
            Op::Reshape(_) => true,
            Op::Broadcast(shape) => shape.len() == g.shape(g.node(*id).args[0]).len(),
            _ => false,
        };
        let shape = g.shape(node).clone();
        if below.iter().all(only_shapes) {
            return Some((input, Self { shape, elements: None, clamped }));
        }
        let mut elements: Vec<usize> = (0..g.shape(input).len()).collect();
        for id in below.into_iter().rev() {
            elements = moved(g, id, &elements)?;
        }
        Some((input, Self { shape, elements: Some(elements), clamped }))
    }

    /// All elements of an input in an order.
    pub(super) fn ordered(shape: Shape, elements: Vec<usize>) -> Self {
        let is_same = elements.iter().enumerate().all(|(k, &element)| k == element);
        Self { shape, elements: (!is_same).then_some(elements), clamped: false }
    }

    /// The way back from a view that has each element once, to an array of the input's shape.
    pub(super) fn back(&self, shape: &Shape) -> Self {
        let mut back = vec![0; shape.len()];
        for (place, element) in self.elements(shape.len()).into_iter().enumerate() {
            back[element] = place;
        }
        Self::ordered(shape.clone(), back)
    }

    /// The element at each place, of an input of so many elements.
    pub(super) fn elements(&self, len: usize) -> Vec<usize> {
        self.elements.clone().unwrap_or_else(|| (0..len).collect())
    }

    /// The view after operations that move its elements, the last one first.
    pub(super) fn moved(&self, g: &Graph, len: usize, moves: &[NodeId]) -> Option<Self> {
        let Some(last) = moves.first() else { return Some(self.clone()) };
        let mut elements = self.elements(len);
        for &id in moves.iter().rev() {
            elements = moved(g, id, &elements)?;
        }
        let shape = g.shape(*last).clone();
        Some(Self { clamped: self.clamped, ..Self::ordered(shape, elements) })
    }

    /// Whether no element of the input stands at two places.
    pub(super) fn is_injective(&self, len: usize) -> bool {
        let Some(elements) = &self.elements else { return true };
        let mut seen = vec![false; len];
        elements.iter().all(|&k| !std::mem::replace(&mut seen[k], true))
    }

    /// The places of an array of the input's shape that the view shows.
    pub(super) fn apply(&self, g: &mut Graph, x: NodeId) -> NodeId {
        if let Some(elements) = &self.elements {
            let n = g.shape(x).len();
            if let &[rows, columns] = g.shape(x).extents()
                && elements.len() == n
                && (0..n).all(|k| elements[k] == k % rows * columns + k / rows)
            {
                let transposed = g.transpose(x);
                return g.reshape(transposed, self.shape.clone());
            }
            let flat = g.reshape(x, [n]);
            let index = g.constant(Tensor::indices(elements));
            let chosen = g.gather(flat, index);
            return g.reshape(chosen, self.shape.clone());
        }
        g.reshape(x, self.shape.clone())
    }
}

/// The x of log(exp(x)), without the limits that keep the exponential finite: the logarithm of a
/// positive parameter.
fn log_of_exp(g: &Graph, node: NodeId) -> Option<NodeId> {
    let inner = |id: NodeId, op: &Op| (g.node(id).op == *op).then(|| g.node(id).args[0]);
    let mut exponent = inner(inner(node, &Op::Unary(Unary::Log))?, &Op::Unary(Unary::Exp))?;
    for op in [Binary::Max, Binary::Min] {
        let limit = |&b: &NodeId| g.as_uniform(b).is_some();
        if g.node(exponent).op == Op::Binary(op) && g.node(exponent).args.get(1).is_some_and(limit)
        {
            exponent = g.node(exponent).args[0];
        }
    }
    Some(exponent)
}

/// Numbers of elements after one operation that moves them.
pub(super) fn moved(g: &Graph, id: NodeId, elements: &[usize]) -> Option<Vec<usize>> {
    let node = g.node(id);
    let from = g.shape(node.args[0]);
    let strides = from.strides();
    // Each place of the result, from the places of its coordinates.
    let placed = |source: &dyn Fn(&[usize]) -> usize| {
        let extents = node.shape.extents();
        let mut coordinates = vec![0; extents.len()];
        let mut all = Vec::with_capacity(node.shape.len());
        for _ in 0..node.shape.len() {
            all.push(elements[source(&coordinates)]);
            for axis in (0..extents.len()).rev() {
                coordinates[axis] += 1;
                if coordinates[axis] < extents[axis] {
                    break;
                }
                coordinates[axis] = 0;
            }
        }
        all
    };
    Some(match &node.op {
        Op::Reshape(_) => elements.to_vec(),
        Op::Permute(order) => placed(&|coordinates| {
            coordinates.iter().zip(order).map(|(&k, &axis)| k * strides[axis]).sum()
        }),
        Op::Slice { axis, start, step, .. } => placed(&|coordinates| {
            let along = |(a, &k): (usize, &usize)| if a == *axis { start + k * step } else { k };
            coordinates.iter().enumerate().map(|(a, k)| along((a, k)) * strides[a]).sum()
        }),
        Op::Broadcast(shape) => {
            let skipped = shape.rank() - from.rank();
            placed(&|coordinates| {
                let coordinates = &coordinates[skipped..];
                let extents = from.extents();
                let along = |(a, &k): (usize, &usize)| if extents[a] == 1 { 0 } else { k };
                coordinates.iter().enumerate().map(|(a, k)| along((a, k)) * strides[a]).sum()
            })
        }
        Op::Gather => {
            let index = g.as_constant(node.args[1])?;
            let row: usize = from.extents()[1..].iter().product();
            let rows = index.values().iter().map(|&k| k as usize);
            rows.flat_map(|k| elements[k * row..(k + 1) * row].iter().copied()).collect()
        }
        _ => return None,
    })
}
