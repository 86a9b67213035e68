//! `sum(square(y - eta))` over many rows -> sums of squares of a few, from a triangular factor of
//! the data.
//!
//! Where eta is affine in the parameters with data as coefficients (scalars, elements of tables by
//! index, known matrices times vectors), the rows only matter through the factor that
//! [`Op::LeastSquares`] computes while data are bound. Tables of the index with the most elements
//! have their own small factor for each element; elements of other tables become columns that are 0
//! or 1. A scale by index weights the groups, which then keep all columns to themselves. Nothing is
//! done where the factor would cost more than the rows.

use super::affine::Affine;
use super::affine_rows::Rows;
use super::sums::replace_terms;
use super::terms::{Product, gathered, multiply};
use crate::graph::{Graph, NodeId};
use crate::op::Op;

pub(super) fn rule(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    replace_terms(g, op, args, sum_of)
}

fn sum_of(g: &mut Graph, product: &Product, rows: usize) -> Option<NodeId> {
    let [known, others] = product.split(g);
    // Data can move into the square if they are squares.
    if known.iter().any(|(_, power)| power % 2 != 0) {
        return None;
    }
    let mut core = None;
    let mut weights = Vec::new();
    let mut group = None;
    for &(id, power) in &others {
        if let Some((table, index)) = gathered(g, id) {
            let len = g.shape(table).len();
            if *group.get_or_insert((index, len)) != (index, len) {
                return None;
            }
            weights.push((table, power));
        } else if power == 2 && core.is_none() {
            core = Some(id);
        } else {
            return None;
        }
    }
    let roots: Vec<_> = known.iter().map(|&(id, power)| (id, power / 2)).collect();
    let affine = Affine::read_up_to_sign(g, core?)?;
    let row_scale = multiply(g, &roots);
    let mut system = Rows::new(g, rows, affine, group.map(|(index, _)| index))?;
    if let Some(weight) = multiply(g, &weights) {
        system.weigh(g, weight)?;
    }
    let sum = system.factor_pays(g).then(|| system.sum_of_squares(g, row_scale))?;
    Some(product.scale(g, sum))
}
