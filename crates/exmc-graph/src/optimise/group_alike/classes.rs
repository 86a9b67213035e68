//! A node -> its class: nodes of one class are the same operations on other leaves.
//!
//! Leaves are constants, inputs, elements of arrays, whatever is known when data are bound, and
//! operations that have no counterpart on vectors. Arrays of one class may differ in shape.

use rustc_hash::FxHashMap;

use crate::graph::{Dependence, Graph, NodeId};
use crate::op::{Binary, Op, Reduction, Ternary, Unary};
use crate::tensor::DType;

/// Operations of an expression, counted as often as they are read, beyond which it is a leaf.
const LARGE: u32 = 2048;

/// What the nodes of a class compute from nodes of which classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A scalar (or not), known when data are bound (or not), that is taken as it is.
    Leaf([bool; 2], DType),
    Unary(Unary, u32),
    Binary(Binary, [u32; 2]),
    Ternary(Ternary, [u32; 3]),
    /// An array of copies of one element.
    Stretch(u32),
    /// The sum of all elements of an array.
    Sum(u32),
}

/// A class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Class {
    pub(super) key: Key,
    pub(super) number: u32,
    size: u32,
}

impl Class {
    pub(super) fn is_leaf(&self) -> bool {
        matches!(self.key, Key::Leaf(..))
    }
}

/// Classes of the nodes of one graph, in their order.
#[derive(Default)]
pub(super) struct Classes {
    /// None for an array without elements, and what holds one.
    by_node: Vec<Option<Class>>,
    numbers: FxHashMap<Key, u32>,
}

impl Classes {
    pub(super) fn of(&mut self, g: &Graph, id: NodeId) -> Option<Class> {
        while self.by_node.len() <= id.index() {
            let next = self.next(g, NodeId::from_index(self.by_node.len()));
            self.by_node.push(next);
        }
        self.by_node[id.index()]
    }

    fn next(&mut self, g: &Graph, id: NodeId) -> Option<Class> {
        let node = g.node(id);
        if node.shape.is_empty() {
            return None;
        }
        let is_known = node.dependence < Dependence::Parameter;
        let leaf = Key::Leaf([node.shape.is_scalar(), is_known], node.dtype);
        let arg = |k: usize| self.by_node[node.args[k].index()].map(|class| class.number);
        let is_scalar = |id: NodeId| g.shape(id).is_scalar();
        let key = match &node.op {
            _ if is_known => leaf,
            Op::Unary(f) => Key::Unary(*f, arg(0)?),
            Op::Binary(f) => Key::Binary(*f, [arg(0)?, arg(1)?]),
            Op::Ternary(f) => Key::Ternary(*f, [arg(0)?, arg(1)?, arg(2)?]),
            Op::Broadcast(_) if g.shape(node.args[0]).len() == 1 => Key::Stretch(arg(0)?),
            // Elements keep their order.
            Op::Reshape(_) => match (is_scalar(node.args[0]), is_scalar(id)) {
                (true, false) => Key::Stretch(arg(0)?),
                (false, true) => leaf,
                _ => return self.by_node[node.args[0].index()],
            },
            Op::Reduce(Reduction::Sum, axes) if axes.len() == g.shape(node.args[0]).rank() => {
                Key::Sum(arg(0)?)
            }
            _ => leaf,
        };
        let sizes = node.args.iter().map(|a| self.by_node[a.index()].map_or(1, |class| class.size));
        let size = sizes.fold(1, u32::saturating_add);
        let (key, size) = if size > LARGE || key == leaf { (leaf, 1) } else { (key, size) };
        let fresh = self.numbers.len() as u32;
        let number = *self.numbers.entry(key).or_insert(fresh);
        Some(Class { key, number, size })
    }
}

/// The node of which another is a copy under another shape of the same kind, scalar or not.
pub(super) fn behind_reshapes(g: &Graph, mut id: NodeId) -> NodeId {
    while let (Op::Reshape(_), &[x]) = (&g.node(id).op, &*g.node(id).args) {
        if g.shape(x).is_scalar() != g.shape(id).is_scalar() {
            break;
        }
        id = x;
    }
    id
}
