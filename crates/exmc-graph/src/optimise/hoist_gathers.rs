//! `f(gather(a, i), gather(b, i))` -> `gather(f(a, b), i)`: once for each element of the tables.
//!
//! Only where the tables are no longer than the index, and where f of an element that nobody reads
//! cannot be infinite, unless the index reads all. Functions of stretched scalars are computed on
//! the scalars. In loops over pairs, too ([`narrow_loop`]).

use super::hoist_pair_work::narrow_loop;
use super::is_finite::is_tame;
use super::terms::{gathered, stretched};
use crate::graph::{Graph, NodeId};
use crate::op::Op;
use crate::tensor::Shape;

pub(super) fn rule(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    if matches!(op, Op::Scan { .. }) {
        return narrow_loop(g, op, args);
    }
    if !op.is_elementwise() {
        return None;
    }
    let shape = g.shape(args[0]).clone();
    if shape.len() < 2 {
        return None;
    }
    let mut common: Option<(NodeId, Shape)> = None;
    for &arg in args {
        if let Some((table, index)) = gathered(g, arg) {
            let table = g.shape(table).clone();
            if common.get_or_insert((index, table.clone())) != &(index, table) {
                return None;
            }
        } else {
            scalar(g, arg)?;
        }
    }
    let inner: Shape = common.as_ref().map_or_else(Shape::scalar, |(_, table)| table.clone());
    if common.is_some() && inner.len() > shape.len() {
        return None;
    }
    let mut small = Vec::with_capacity(args.len());
    for &arg in args {
        let part = match gathered(g, arg) {
            Some((table, _)) => table,
            None => {
                let scalar = scalar(g, arg)?;
                let scalar = g.reshape(scalar, Shape::scalar());
                g.broadcast_to(scalar, &inner)
            }
        };
        small.push(part);
    }
    let result = g.must(op.clone(), &small);
    match common {
        Some((index, _)) => (reads_all(g, index, inner.len()) || is_tame(g, result))
            .then(|| g.gather(result, index)),
        None => Some(g.broadcast_to(result, &shape)),
    }
}

/// Whether an index that is known reads every element of a table.
fn reads_all(g: &Graph, index: NodeId, len: usize) -> bool {
    let Some(index) = g.as_constant(index).filter(|index| index.values().len() <= 128) else {
        return false;
    };
    (0..len).all(|k| index.values().contains(&(k as f64)))
}

fn scalar(g: &Graph, id: NodeId) -> Option<NodeId> {
    stretched(g, id)
}
