//! Reading rows: expressions over rows of constants -> which rows are the same, and the expressions
//! over the others.
//!
//! Along its outermost axis an expression is one of rows where each element comes from that row of
//! its arguments. What it knows of a row are the row's numbers in constants and the row's indices
//! into tables.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::cost::of_node;
use crate::graph::{Dependence, Graph, NodeId};
use crate::op::Op;
use crate::tensor::{DType, Shape, Tensor};

/// Nodes of an expression beyond which its rows are not compared.
const MAX_SAMPLED_ROWS: usize = 256;
/// Of how many rows at least one must be left over.
const SHARE: usize = 2;
/// Rows whose digests are made at once; rows that are all different are noticed before the last.
const TOGETHER: usize = 1024;

/// How a node of many rows is made.
enum Part {
    /// Numbers of every row.
    Known(Tensor),
    /// Elements of a table, the node's first argument, at these indices.
    Chosen(Tensor),
    /// One element of the row of another node, which the node's first argument reshapes: where in
    /// the row.
    Picked(Tensor),
    /// The same in every row.
    Same,
    /// An operation on rows of other nodes.
    Computed,
}

/// An expression over rows, arguments before users.
pub(super) struct Reading {
    rows: usize,
    roots: Vec<NodeId>,
    order: Vec<NodeId>,
    parts: FxHashMap<NodeId, Part>,
    /// Nodes that may still be read.
    budget: usize,
}

/// Estimated nanoseconds of an expression over all rows and over the distinct ones.
pub(super) struct Costs {
    pub(super) before: f64,
    pub(super) after: f64,
}

impl Reading {
    /// The expressions of `roots`, whose outermost extent is `rows`; nothing where their rows are
    /// not known.
    pub(super) fn of(g: &Graph, roots: &[NodeId], rows: usize) -> Option<Self> {
        let (order, parts) = (Vec::new(), FxHashMap::default());
        let mut reading =
            Self { rows, roots: roots.to_vec(), order, parts, budget: MAX_SAMPLED_ROWS };
        for &root in roots {
            reading.read(g, root)?;
        }
        Some(reading)
    }

    fn read(&mut self, g: &Graph, id: NodeId) -> Option<()> {
        if self.parts.contains_key(&id) {
            return Some(());
        }
        let node = g.node(id);
        if node.shape.extents().first() != Some(&self.rows) || self.budget == 0 {
            return None;
        }
        self.budget -= 1;
        let part = match &node.op {
            Op::Broadcast(shape) => {
                let argument = g.shape(node.args[0]);
                let has_rows =
                    argument.rank() == shape.rank() && argument.extents()[0] == self.rows;
                if has_rows {
                    self.read(g, node.args[0])?;
                    Part::Computed
                } else {
                    Part::Same
                }
            }
            Op::Gather => {
                let index = g.as_constant(node.args[1])?.clone();
                match self.picked(g, node.args[0], &index) {
                    Some((source, places)) => {
                        self.read(g, source)?;
                        Part::Picked(places)
                    }
                    None => Part::Chosen(index),
                }
            }
            Op::Constant(tensor) => Part::Known(tensor.clone()),
            op => {
                for &arg in row_arguments(op, &node.args)? {
                    self.read(g, arg)?;
                }
                Part::Computed
            }
        };
        self.order.push(id);
        self.parts.insert(id, part);
        Some(())
    }

    /// Where each row's one element is in the same row of another node, if a table is that in one
    /// piece.
    fn picked(&self, g: &Graph, table: NodeId, index: &Tensor) -> Option<(NodeId, Tensor)> {
        let node = g.node(table);
        let (Op::Reshape(_), &[source]) = (&node.op, &node.args[..]) else { return None };
        let of_source = g.shape(source).extents();
        if node.shape.rank() != 1
            || index.shape().rank() != 1
            || of_source.first() != Some(&self.rows)
        {
            return None;
        }
        let width = (node.shape.len() / self.rows) as f64;
        let places =
            index.values().iter().enumerate().map(|(row, &position)| position - row as f64 * width);
        let places: Vec<f64> = places.collect();
        let inside = places.iter().all(|&place| place >= 0.0 && place < width);
        inside.then(|| (source, Tensor::moved(index.shape(), DType::Int, places)))
    }

    /// The roots over the distinct rows.
    pub(super) fn take(&self, g: &mut Graph, distinct: &Distinct) -> (Vec<NodeId>, Costs) {
        let rows = distinct.firsts.len();
        let mut costs = Costs { before: 0.0, after: 0.0 };
        let mut copies: FxHashMap<NodeId, NodeId> = FxHashMap::default();
        for &id in &self.order {
            let node = g.node(id).clone();
            let shape = node.shape.with_extent(0, rows);
            let copy = match &self.parts[&id] {
                Part::Known(values) => {
                    let values = distinct.take(values);
                    g.constant(values)
                }
                Part::Chosen(index) => {
                    let index = distinct.take(index);
                    chosen(g, node.args[0], index)
                }
                Part::Picked(places) => {
                    let source = copies[&g.node(node.args[0]).args[0]];
                    let width = g.shape(source).len() / rows;
                    let places = distinct.take(places);
                    let places = places.values().iter().enumerate();
                    let index: Vec<usize> =
                        places.map(|(row, &column)| row * width + column as usize).collect();
                    let index = g.constant(Tensor::indices(&index));
                    let flat = g.reshape(source, [rows * width]);
                    g.gather(flat, index)
                }
                Part::Same => g.broadcast_to(node.args[0], &shape),
                Part::Computed => {
                    // Of a product's two matrices only the left one has rows.
                    let read =
                        row_arguments(&node.op, &node.args).map_or(node.args.len(), <[_]>::len);
                    let mut args = node.args.clone();
                    args[..read].iter_mut().for_each(|arg| *arg = copies[arg]);
                    g.must(with_shape(&node.op, shape), &args)
                }
            };
            if node.dependence == Dependence::Parameter {
                costs.before += of_node(g, id);
                costs.after += of_node(g, copy);
            }
            copies.insert(id, copy);
        }
        (self.roots.iter().map(|root| copies[root]).collect(), costs)
    }
}

/// Elements of a table; the table itself where all are chosen in order.
fn chosen(g: &mut Graph, table: NodeId, index: Tensor) -> NodeId {
    let in_order = index.shape().rank() == 1
        && g.shape(table).extents().first() == Some(&index.values().len())
        && index.values().iter().enumerate().all(|(k, &row)| row == k as f64);
    if in_order {
        return table;
    }
    let index = g.constant(index);
    g.gather(table, index)
}

/// The arguments of an operation that works row by row whose rows it reads; nothing for other
/// operations.
fn row_arguments<'a>(op: &Op, args: &'a [NodeId]) -> Option<&'a [NodeId]> {
    let within_rows = match op {
        Op::Unary(_) | Op::Binary(_) | Op::Ternary(_) | Op::Reshape(_) => true,
        // Of the rows on its left.
        Op::MatMul => return args.get(..1),
        Op::Reduce(_, axes) => !axes.contains(&0),
        Op::Permute(axes) => axes.first() == Some(&0),
        Op::Slice { axis, .. }
        | Op::Unslice { axis, .. }
        | Op::Concat { axis }
        | Op::CumSum { axis, .. } => *axis > 0,
        // One that has rows.
        Op::Broadcast(_) => true,
        _ => false,
    };
    within_rows.then_some(args)
}

/// The operation for another number of rows.
fn with_shape(op: &Op, shape: Shape) -> Op {
    match op {
        Op::Reshape(_) => Op::Reshape(shape),
        Op::Broadcast(_) => Op::Broadcast(shape),
        op => op.clone(),
    }
}

/// Which rows are the same.
pub(super) struct Distinct {
    /// The first of every class of equal rows.
    pub(super) firsts: Vec<usize>,
    /// The class of every row.
    pub(super) classes: Vec<usize>,
}

impl Distinct {
    /// Compares rows by their bits; nothing where too many are different. Classes come in the order
    /// of their indices into the longest index' table, so that what is added to a table is added in
    /// runs, and then of their first rows.
    pub(super) fn of(reading: &Reading, rows: usize) -> Option<Self> {
        let tensors: Vec<&Tensor> = reading
            .order
            .iter()
            .filter_map(|id| match &reading.parts[id] {
                Part::Known(tensor) | Part::Chosen(tensor) | Part::Picked(tensor) => Some(tensor),
                Part::Same | Part::Computed => None,
            })
            .collect();
        let columns: Vec<(&[f64], usize)> =
            tensors.iter().map(|tensor| (tensor.values(), tensor.values().len() / rows)).collect();
        let equal = |a: usize, b: usize| {
            columns.iter().all(|&(values, width)| {
                let row = |k: usize| &values[k * width..(k + 1) * width];
                row(a).iter().zip(row(b)).all(|(a, b)| a.to_bits() == b.to_bits())
            })
        };
        let most = rows / SHARE;
        let (mut firsts, mut classes) = (Vec::new(), Vec::with_capacity(rows));
        let mut places: FxHashMap<u64, usize> = FxHashMap::default();
        for start in (0..rows).step_by(TOGETHER) {
            let some = start..rows.min(start + TOGETHER);
            for (k, mut place) in some.clone().zip(digests(&columns, some)) {
                let class = loop {
                    match places.get(&place) {
                        Some(&class) if equal(firsts[class], k) => break class,
                        // Another row has this digest.
                        Some(_) => place = place.wrapping_add(1),
                        None if firsts.len() == most => return None,
                        None => {
                            places.insert(place, firsts.len());
                            firsts.push(k);
                            break firsts.len() - 1;
                        }
                    }
                };
                classes.push(class);
            }
        }
        let mut distinct = Self { firsts, classes };
        let indices = reading.order.iter().filter_map(|id| match &reading.parts[id] {
            Part::Chosen(index) if index.values().len() == rows => Some(index.values()),
            _ => None,
        });
        let widest =
            indices.max_by_key(|index| index.iter().fold(0, |most, &k| most.max(k as u64)));
        if let Some(index) = widest {
            distinct.sort(index);
        }
        Some(distinct)
    }

    /// Orders classes by the index of their first rows.
    fn sort(&mut self, index: &[f64]) {
        let mut order: Vec<usize> = (0..self.firsts.len()).collect();
        order.sort_by_key(|&class| index[self.firsts[class]] as u64);
        let mut numbers = vec![0; order.len()];
        order.iter().enumerate().for_each(|(number, &class)| numbers[class] = number);
        self.firsts = order.iter().map(|&class| self.firsts[class]).collect();
        self.classes.iter_mut().for_each(|class| *class = numbers[*class]);
    }

    /// How many rows each class has.
    pub(super) fn counts(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.firsts.len()];
        self.classes.iter().for_each(|&class| counts[class] += 1.0);
        counts
    }

    /// The first rows of a tensor.
    fn take(&self, tensor: &Tensor) -> Tensor {
        let shape = tensor.shape();
        let width = shape.len() / shape.extents()[0];
        let row = |&first: &usize| &tensor.values()[first * width..(first + 1) * width];
        let values: Vec<f64> = self.firsts.iter().flat_map(row).copied().collect();
        Tensor::moved(&shape.with_extent(0, self.firsts.len()), tensor.dtype(), values)
    }
}

/// Digests of some rows by their bits, column after column.
fn digests(columns: &[(&[f64], usize)], rows: Range<usize>) -> Vec<u64> {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut digests = vec![1_u64; rows.len()];
    for &(values, width) in columns {
        let values = &values[rows.start * width..rows.end * width];
        for column in 0..width {
            let column = values.iter().skip(column).step_by(width);
            for (digest, value) in digests.iter_mut().zip(column) {
                let product = u128::from(*digest ^ value.to_bits()) * u128::from(FACTOR);
                *digest = (product as u64) ^ ((product >> 64) as u64);
            }
        }
    }
    digests
}
