//! `sum(w * gather(t, i))` -> `dot(scatter_add(w, i), t)`, and sums of stretched scalars ->
//! products.
//!
//! The counts, or sums of weights, come from data alone. An element of the table that no row reads
//! is left out where it might be infinite.

use super::is_finite::is_tame;
use super::sums::replace_terms;
use super::terms::{Product, gathered, multiply, terms};
use crate::graph::{Graph, NodeId};
use crate::op::Op;

pub(super) fn rule(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    replace_terms(g, op, args, sum_of)
}

pub(super) fn sum_of(g: &mut Graph, product: &Product, rows: usize) -> Option<NodeId> {
    let [known, others] = product.split(g);
    let mut index = None;
    let mut tables = Vec::new();
    for (id, power) in others {
        let (table, table_index) = gathered(g, id)?;
        // One index may read tables of several lengths.
        let len = g.shape(table).len();
        if *index.get_or_insert((table_index, len)) != (table_index, len) {
            return None;
        }
        tables.push((table, power));
    }
    let weights = multiply(g, &known);
    let Some((index, len)) = index else {
        let sum = match weights {
            Some(weights) => g.sum(weights),
            None => g.scalar(rows as f64),
        };
        return Some(product.scale(g, sum));
    };
    let table = multiply(g, &tables)?;
    if len > rows {
        return None;
    }
    let totals = totals(g, weights, index, len);
    // What is the same in every element needs no product with each.
    let (mut sum, mut rest): (Option<NodeId>, Option<NodeId>) = (None, None);
    for term in terms(g, table) {
        let term_product = term.product(g);
        if term_product.arrays.is_empty() {
            let all = g.sum(totals);
            let part = term_product.scale(g, all);
            sum = Some(sum.map_or(part, |sum| g.add(sum, part)));
        } else {
            let part = term.outer.scale(g, term.node);
            rest = Some(rest.map_or(part, |rest| g.add(rest, part)));
        }
    }
    if let Some(rest) = rest {
        let rest = only_read(g, rest, index);
        let products = g.mul(totals, rest);
        let part = g.sum(products);
        sum = Some(sum.map_or(part, |sum| g.add(sum, part)));
    }
    Some(product.scale(g, sum?))
}

/// The sum of the rows' weights, or their number, for each element of a table.
pub(super) fn totals(g: &mut Graph, weights: Option<NodeId>, index: NodeId, len: usize) -> NodeId {
    let weights = weights.unwrap_or_else(|| {
        let shape = g.shape(index).clone();
        g.filled(&shape, 1.0)
    });
    g.must(Op::ScatterAdd { len }, &[weights, index])
}

/// A table with zeros where no row reads it, if it might be infinite there.
pub(super) fn only_read(g: &mut Graph, table: NodeId, index: NodeId) -> NodeId {
    if is_tame(g, table) {
        return table;
    }
    let len = g.shape(table).len();
    let counts = totals(g, None, index, len);
    let zero = g.scalar(0.0);
    g.select(counts, table, zero)
}
