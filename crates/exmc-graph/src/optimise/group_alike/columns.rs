//! Nodes of one class -> one expression that holds all of their values in a row.
//!
//! Scalars become the elements of a vector, arrays lie one behind the other. What is the same node
//! in all places stays as it is; of nodes that repeat, each is computed once and gathered.

use rustc_hash::FxHashMap;

use super::classes::{Classes, Key, behind_reshapes};
use super::elements;
use super::families::Families;
use crate::graph::{Graph, NodeId};
use crate::op::Op;
use crate::tensor::Tensor;

/// Repeated scalars of which fewer are different are put together as they are, not computed anew as
/// a vector.
const MIN_COLUMNS: usize = super::MIN_ALIKE;

/// The values of some nodes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Column {
    /// This scalar everywhere.
    Same(NodeId),
    /// A vector of all elements.
    Each(NodeId),
}

/// Columns of one group of expressions.
pub(super) struct Columns<'a> {
    g: &'a mut Graph,
    classes: &'a mut Classes,
    families: &'a mut Families,
    known: FxHashMap<Vec<NodeId>, Column>,
}

impl<'a> Columns<'a> {
    pub(super) fn new(
        g: &'a mut Graph,
        classes: &'a mut Classes,
        families: &'a mut Families,
    ) -> Self {
        Self { g, classes, families, known: FxHashMap::default() }
    }

    /// The column of nodes of one class.
    pub(super) fn of(&mut self, nodes: &[NodeId]) -> Option<Column> {
        let nodes: Vec<NodeId> = nodes.iter().map(|&id| behind_reshapes(self.g, id)).collect();
        if let Some(&known) = self.known.get(&nodes) {
            return Some(known);
        }
        let constant = elements::constants(self.g, &nodes).map(Some);
        let column = match constant.or_else(|| self.repeated(&nodes)) {
            Some(column) => column?,
            None => self.computed(&nodes)?,
        };
        self.known.insert(nodes, column);
        Some(column)
    }

    /// That of nodes of which some are the same; nothing where none are. The inner one is nothing
    /// where there is no column.
    fn repeated(&mut self, nodes: &[NodeId]) -> Option<Option<Column>> {
        let mut place: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut distinct = Vec::new();
        let numbers: Vec<usize> = nodes
            .iter()
            .map(|&id| {
                *place.entry(id).or_insert_with(|| {
                    distinct.push(id);
                    distinct.len() - 1
                })
            })
            .collect();
        if distinct.len() == nodes.len() && nodes.len() > 1 {
            return None;
        }
        let is_scalar = self.g.shape(nodes[0]).is_scalar();
        if let (&[only], true) = (&*distinct, is_scalar) {
            return Some(Some(Column::Same(only)));
        }
        let part = if is_scalar && distinct.len() < MIN_COLUMNS {
            Some(Column::Each(elements::vector(self.g, self.families, &distinct)))
        } else if distinct.len() == 1 {
            self.computed(&distinct)
        } else {
            self.of(&distinct)
        };
        let Some(Column::Each(vector)) = part else { return Some(part) };
        let mut starts = vec![0];
        for &id in &distinct {
            starts.push(starts[starts.len() - 1] + self.g.shape(id).len());
        }
        let index: Vec<usize> = numbers.iter().flat_map(|&k| starts[k]..starts[k + 1]).collect();
        Some(Some(Column::Each(self.taken(vector, &index))))
    }

    /// That of nodes that are all different.
    fn computed(&mut self, nodes: &[NodeId]) -> Option<Column> {
        let class = self.classes.of(self.g, nodes[0])?;
        let lens: Vec<usize> = nodes.iter().map(|&id| self.g.shape(id).len()).collect();
        let total: usize = lens.iter().sum();
        let op = self.g.node(nodes[0]).op.clone();
        match class.key {
            Key::Leaf([true, _], _) => {
                Some(Column::Each(elements::vector(self.g, self.families, nodes)))
            }
            Key::Leaf([false, _], _) => Some(Column::Each(elements::joined(self.g, nodes))),
            Key::Unary(..) | Key::Binary(..) | Key::Ternary(..) => {
                let count = self.g.node(nodes[0]).args.len();
                let columns: Option<Vec<Column>> =
                    (0..count).map(|k| self.argument(nodes, k)).collect();
                Some(self.applied(op, &columns?, total))
            }
            Key::Stretch(_) => Some(match self.argument(nodes, 0)? {
                Column::Each(vector) if total > lens.len() => {
                    let index: Vec<usize> = segments(&lens);
                    Column::Each(self.taken(vector, &index))
                }
                column => column,
            }),
            Key::Sum(_) => {
                let lens: Vec<usize> =
                    nodes.iter().map(|&id| self.g.shape(self.g.node(id).args[0]).len()).collect();
                Some(match self.argument(nodes, 0)? {
                    Column::Same(x) if lens.iter().all(|len| *len == lens[0]) => {
                        Column::Same(self.g.scale(x, lens[0] as f64))
                    }
                    Column::Same(x) => {
                        let lens: Vec<f64> = lens.iter().map(|&len| len as f64).collect();
                        let lens = self.g.constant(Tensor::vector(&lens));
                        Column::Each(self.g.mul(lens, x))
                    }
                    Column::Each(vector) => {
                        let index = self.g.constant(Tensor::indices(&segments(&lens)));
                        let op = Op::ScatterAdd { len: lens.len() };
                        Column::Each(self.g.must(op, &[vector, index]))
                    }
                })
            }
        }
    }

    /// The column of an argument of nodes of one operation.
    fn argument(&mut self, nodes: &[NodeId], k: usize) -> Option<Column> {
        let args: Vec<NodeId> = nodes.iter().map(|&id| self.g.node(id).args[k]).collect();
        self.of(&args)
    }

    fn applied(&mut self, op: Op, columns: &[Column], total: usize) -> Column {
        let is_same = columns.iter().all(|column| matches!(column, Column::Same(_)));
        let node_of = |g: &mut Graph, column: &Column| match *column {
            Column::Same(x) if is_same => x,
            Column::Same(x) => g.broadcast_to(x, &[total].into()),
            Column::Each(x) => x,
        };
        let args: Vec<NodeId> = columns.iter().map(|column| node_of(self.g, column)).collect();
        let result = self.g.must(op, &args);
        if is_same { Column::Same(result) } else { Column::Each(result) }
    }

    /// Elements of a vector; itself where these are all, in order.
    fn taken(&mut self, vector: NodeId, index: &[usize]) -> NodeId {
        elements::taken(self.g, vector, index)
    }
}

/// For each element of arrays that lie one behind the other, the number of its array.
fn segments(lens: &[usize]) -> Vec<usize> {
    lens.iter().enumerate().flat_map(|(k, &len)| std::iter::repeat_n(k, len)).collect()
}
