//! `sum(y * matmul(X, b))` -> `dot(X'y, b)`.
//!
//! That is the part of an exponential family's log density that is linear in the parameters; the
//! product with the outcomes comes from data alone.

use super::count_gathers;
use super::sums::replace_terms;
use super::terms::{Product, is_known, multiply};
use crate::graph::{Graph, NodeId};
use crate::op::Op;

pub(super) fn rule(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    replace_terms(g, op, args, sum_of)
}

fn sum_of(g: &mut Graph, product: &Product, rows: usize) -> Option<NodeId> {
    let [known, others] = product.split(g);
    // What a product with data is the sum of may have parts of both kinds.
    let &[(linear, 1)] = &*others else { return count_gathers::sum_of(g, product, rows) };
    let node = g.node(linear);
    let (&Op::MatMul, &[matrix, vector]) = (&node.op, &node.args[..]) else {
        return count_gathers::sum_of(g, product, rows);
    };
    if !is_known(g, matrix) || g.shape(vector).rank() != 1 {
        return None;
    }
    let weights = match multiply(g, &known) {
        Some(weights) => weights,
        None => g.filled(&[rows].into(), 1.0),
    };
    let transposed = g.transpose(matrix);
    let totals = g.matmul(transposed, weights);
    let products = g.mul(totals, vector);
    let sum = g.sum(products);
    Some(product.scale(g, sum))
}
