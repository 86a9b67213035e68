//! The graph itself: an operation and its arguments -> an interned node with shape and dependence.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHasher};

use crate::op::{Op, Role};
use crate::tensor::{DType, Shape, Tensor};

/// Index of a node in its graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

impl NodeId {
    /// The node at a position in [`Graph::nodes`].
    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a graph has fewer than 2^32 nodes"))
    }

    /// Position in [`Graph::nodes`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// What a node's value changes with; the larger of its arguments'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dependence {
    /// Known when the graph is built.
    Constant,
    /// Known when data are bound.
    Data,
    /// Changes with the position.
    Parameter,
}

/// One operation with its arguments, shape and dependence.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// From what; always nodes of smaller index.
    pub args: Vec<NodeId>,
    /// Shape of the value; scalar for [`Op::Scan`], whose outputs have shapes of their own.
    pub shape: Shape,
    /// Real or integer.
    pub dtype: DType,
    /// What the value changes with.
    pub dependence: Dependence,
}

/// Why an operation cannot take these arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphError {
    message: String,
}

impl GraphError {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// The reason, in words.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GraphError {}

/// Expressions over named inputs, in an order in which arguments precede users.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Nodes by the hash of operation and arguments; one whose place is taken has the next free
    /// one.
    interned: FxHashMap<u64, NodeId>,
    /// Each node's key in `interned`; zero for inputs, which have none.
    keys: Vec<u64>,
    inputs: FxHashMap<Arc<str>, NodeId>,
}

impl PartialEq for Graph {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
    }
}

impl Graph {
    /// Whether the first nodes are those of another graph.
    pub(crate) fn starts_with(&self, other: &Self) -> bool {
        self.nodes.starts_with(&other.nodes)
    }

    /// A graph without nodes.
    pub fn new() -> Self {
        Self::default()
    }

    /// One with memory for so many nodes.
    pub(crate) fn with_capacity(nodes: usize) -> Self {
        let interned = FxHashMap::with_capacity_and_hasher(nodes, Default::default());
        let keys = Vec::with_capacity(nodes);
        Self { nodes: Vec::with_capacity(nodes), interned, keys, inputs: FxHashMap::default() }
    }

    /// All nodes; arguments precede users.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The node of an id.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no node yet.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Every node's id, in order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    /// Shape of a node.
    pub fn shape(&self, id: NodeId) -> &Shape {
        &self.node(id).shape
    }

    /// What a node's value changes with.
    pub fn dependence(&self, id: NodeId) -> Dependence {
        self.node(id).dependence
    }

    /// The constant that a node is, if it is one.
    pub fn as_constant(&self, id: NodeId) -> Option<&Tensor> {
        match &self.node(id).op {
            Op::Constant(tensor) => Some(tensor),
            _ => None,
        }
    }

    /// The value that a constant node has in every element, if it has one.
    pub fn as_uniform(&self, id: NodeId) -> Option<f64> {
        if let Op::Broadcast(_) | Op::Reshape(_) | Op::Permute(_) = self.node(id).op {
            return self.as_uniform(self.node(id).args[0]);
        }
        let (first, rest) = self.as_constant(id)?.values().split_first()?;
        rest.iter().all(|v| v.to_bits() == first.to_bits()).then_some(*first)
    }

    /// The input of that name, if the graph has it.
    pub fn find_input(&self, name: &str) -> Option<NodeId> {
        self.inputs.get(name).copied()
    }

    /// The input of that name, made if it is new.
    ///
    /// # Errors
    /// When the name stands for an input of another shape, kind or role already.
    pub fn input(
        &mut self,
        name: &str,
        role: Role,
        shape: Shape,
        dtype: DType,
    ) -> Result<NodeId, GraphError> {
        let dependence = match role {
            Role::Data => Dependence::Data,
            Role::Parameter => Dependence::Parameter,
        };
        if let Some(id) = self.find_input(name) {
            let node = self.node(id);
            if node.shape == shape && node.dtype == dtype && node.dependence == dependence {
                return Ok(id);
            }
            return Err(GraphError::new(format!("input `{name}` has two different declarations")));
        }
        let name: Arc<str> = Arc::from(name);
        let op = Op::Input { name: Arc::clone(&name), role };
        let id = self.push(Node { op, args: Vec::new(), shape, dtype, dependence }, 0);
        self.inputs.insert(name, id);
        Ok(id)
    }

    /// A constant.
    pub fn constant(&mut self, tensor: Tensor) -> NodeId {
        let op = Op::Constant(tensor);
        let place = match self.look_up(&op, &[]) {
            Ok(id) => return id,
            Err(place) => place,
        };
        let Op::Constant(tensor) = &op else { unreachable!("made six lines above") };
        let (shape, dtype) = (tensor.shape().clone(), tensor.dtype());
        let dependence = Dependence::Constant;
        let id = self.push(Node { op, args: Vec::new(), shape, dtype, dependence }, place);
        self.interned.insert(place, id);
        id
    }

    /// The interned node of that operation and these arguments, or the place for a new one.
    fn look_up(&self, op: &Op, args: &[NodeId]) -> Result<NodeId, u64> {
        let mut place = first_place(op, args);
        while let Some(&id) = self.interned.get(&place) {
            let node = self.node(id);
            if node.args == args && node.op == *op {
                return Ok(id);
            }
            place = place.wrapping_add(1);
        }
        Err(place)
    }

    /// The node that computes `op` from `args`, if there is one.
    pub(crate) fn existing(&self, op: &Op, args: &[NodeId]) -> Option<NodeId> {
        self.look_up(op, args).ok()
    }

    /// The node that computes `op` from `args`, interned.
    ///
    /// # Errors
    /// When the shapes, kinds or number of arguments do not fit the operation.
    pub fn apply(&mut self, op: Op, args: &[NodeId]) -> Result<NodeId, GraphError> {
        match op {
            Op::Constant(tensor) => return Ok(self.constant(tensor)),
            Op::Input { .. } => return Err(GraphError::new("inputs are made by `Graph::input`")),
            _ => {}
        }
        let place = match self.look_up(&op, args) {
            Ok(id) => return Ok(id),
            Err(place) => place,
        };
        let (shape, dtype) = self.infer(&op, args)?;
        let dependence =
            args.iter().map(|&a| self.dependence(a)).max().unwrap_or(Dependence::Constant);
        let id = self.push(Node { op, args: args.to_vec(), shape, dtype, dependence }, place);
        self.interned.insert(place, id);
        Ok(id)
    }

    /// Copies the expressions of `roots` from another graph, replacing each of its inputs by what
    /// `substitute` gives for it (or by an input of the same declaration for `None`).
    ///
    /// # Errors
    /// When a substitute does not fit where it is used.
    pub fn import<E: From<GraphError>>(
        &mut self,
        other: &Graph,
        roots: &[NodeId],
        mut substitute: impl FnMut(&mut Self, NodeId, &str) -> Result<Option<NodeId>, E>,
    ) -> Result<Vec<NodeId>, E> {
        let needed = other.reachable(roots);
        let mut copy: Vec<Option<NodeId>> = vec![None; other.len()];
        for id in other.ids().filter(|id| needed[id.index()]) {
            let node = other.node(id);
            let new = match &node.op {
                Op::Input { name, role } => match substitute(self, id, name)? {
                    Some(new) => new,
                    None => self.input(name, *role, node.shape.clone(), node.dtype)?,
                },
                op => {
                    let args: Vec<_> = node
                        .args
                        .iter()
                        .map(|a| copy[a.index()].expect("arguments precede users"))
                        .collect();
                    self.apply(op.clone(), &args)?
                }
            };
            copy[id.index()] = Some(new);
        }
        Ok(roots
            .iter()
            .map(|r| copy[r.index()].expect("roots are reachable from themselves"))
            .collect())
    }

    /// For every node, whether a root is or uses it.
    pub fn reachable(&self, roots: &[NodeId]) -> Vec<bool> {
        let mut needed = vec![false; self.len()];
        for root in roots {
            needed[root.index()] = true;
        }
        for id in self.ids().rev().filter(|id| id.index() < self.len()) {
            if needed[id.index()] {
                for arg in &self.node(id).args {
                    needed[arg.index()] = true;
                }
            }
        }
        needed
    }

    /// Forgets all nodes but the first `len`, which none of those uses.
    pub fn truncate(&mut self, len: usize) {
        let len = len.min(self.nodes.len());
        // Only what goes is visited. A key is taken before those behind it, so what stays is found
        // as before.
        for (node, key) in self.nodes.drain(len..).zip(self.keys.drain(len..)) {
            match node.op {
                Op::Input { name, .. } => self.inputs.remove(&name),
                _ => self.interned.remove(&key),
            };
        }
    }

    /// Forgets all nodes that no root is or uses; the others keep their order, and the roots get
    /// their new numbers.
    pub fn retain(&mut self, roots: &mut [NodeId]) {
        let needed = self.reachable(roots);
        if needed.iter().all(|needed| *needed) {
            return;
        }
        let nobody = NodeId(u32::MAX);
        let mut numbers = vec![nobody; self.nodes.len()];
        let renumber = |numbers: &[NodeId], id: &mut NodeId| *id = numbers[id.index()];
        let mut kept = Vec::with_capacity(needed.iter().filter(|needed| **needed).count());
        self.interned.clear();
        self.keys.clear();
        for (index, mut node) in std::mem::take(&mut self.nodes).into_iter().enumerate() {
            if !needed[index] {
                continue;
            }
            let id = NodeId::from_index(kept.len());
            numbers[index] = id;
            node.args.iter_mut().for_each(|arg| renumber(&numbers, arg));
            let mut place = 0;
            if !matches!(node.op, Op::Input { .. }) {
                // No two were the same before, so none is found here.
                place = first_place(&node.op, &node.args);
                while self.interned.contains_key(&place) {
                    place = place.wrapping_add(1);
                }
                self.interned.insert(place, id);
            }
            self.keys.push(place);
            kept.push(node);
        }
        self.nodes = kept;
        self.inputs.retain(|_, id| {
            renumber(&numbers, id);
            *id != nobody
        });
        roots.iter_mut().for_each(|root| renumber(&numbers, root));
    }

    fn push(&mut self, node: Node, key: u64) -> NodeId {
        let id = NodeId::from_index(self.nodes.len());
        self.nodes.push(node);
        self.keys.push(key);
        id
    }

    /// A node to damage, for the tests of `verify`.
    #[cfg(test)]
    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }
}

/// Where a node of that operation and these arguments is looked for first.
fn first_place(op: &Op, args: &[NodeId]) -> u64 {
    let mut hasher = FxHasher::default();
    op.hash(&mut hasher);
    args.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_under_its_new_number() {
        let mut g = Graph::new();
        let x = g.input("x", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
        let unused = g.input("y", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
        let gone = g.exp(unused);
        let z = g.input("z", Role::Data, Shape::scalar(), DType::Real).unwrap();
        let root = g.mul(z, x);
        let of_z = g.exp(z);
        let mut roots = [root, of_z];
        g.retain(&mut roots);
        // The same as made without the others, in the same order.
        let mut fresh = Graph::new();
        let x = fresh.input("x", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
        let z = fresh.input("z", Role::Data, Shape::scalar(), DType::Real).unwrap();
        let expected = [fresh.mul(z, x), fresh.exp(z)];
        assert_eq!((&g, roots), (&fresh, expected), "{gone} has gone");
        assert_eq!((g.find_input("z"), g.find_input("y")), (Some(z), None));
        assert_eq!([g.mul(z, x), g.exp(z)], expected, "what stays is found");
        assert_eq!(g.len(), 4);
        let y = g.input("y", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
        assert_eq!(g.exp(y).index(), 5, "what has gone is made again");
    }

    #[test]
    fn what_was_forgotten_is_made_again() {
        let mut g = Graph::new();
        let x = g.input("x", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
        let square = g.square(x);
        let len = g.len();
        let two = g.scalar(2.0);
        let sum = g.add(square, two);
        let y = g.input("y", Role::Data, Shape::scalar(), DType::Int).unwrap();
        g.truncate(len);
        assert_eq!((g.len(), g.find_input("x"), g.find_input("y")), (len, Some(x), None));
        assert_eq!(g.square(x), square, "what stays is found");
        // In another order, under other numbers.
        let other = g.input("y", Role::Data, Shape::scalar(), DType::Int).unwrap();
        assert_ne!(other, y);
        let two = g.scalar(2.0);
        let again = g.add(square, two);
        assert_eq!(g.node(again).args, [square, two]);
        assert_eq!(g.add(square, two), again);
        assert_eq!(g.len(), len + 3, "{sum} is not found any more");
    }
}
