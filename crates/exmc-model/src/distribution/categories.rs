//! What the families of categories share: choosing one number per outcome from vectors.

use exmc_graph::{DType, Dependence, Graph, NodeId, Shape, Tensor};

use super::events::last_extent;

/// For each outcome in `y` (zero-based categories), that element of the last axis of `table`; the
/// batch axes of `table` meet the axes of `y` by broadcasting.
///
/// Categories out of range take the nearest one in range: callers guard them, and a guarded value
/// must not stop the evaluation. Outcomes that are integer data become a gather by index; others
/// (counts that a model computes as real numbers) a comparison with every category.
pub(super) fn choose(g: &mut Graph, table: NodeId, y: NodeId) -> NodeId {
    let categories = last_extent(g, table);
    let is_index = g.node(y).dtype == DType::Int && g.dependence(y) < Dependence::Parameter;
    if !is_index {
        return choose_by_comparison(g, table, y);
    }
    let first = integers(g, Shape::scalar(), |_| 0);
    let last = integers(g, Shape::scalar(), |_| categories.saturating_sub(1));
    let bounded = g.min(y, last);
    let bounded = g.max(bounded, first);
    let rank = g.shape(table).rank();
    let batch = Shape::from(&g.shape(table).extents()[..rank - 1]);
    if batch.is_scalar() {
        return g.gather(table, bounded);
    }
    let starts = integers(g, batch.clone(), |row| row * categories);
    let index = g.add(starts, bounded);
    let flat = g.reshape(table, [batch.len() * categories]);
    g.gather(flat, index)
}

/// Whether a function of the table costs less before [`choose`] than after it.
pub(super) fn table_is_smaller(g: &Graph, table: NodeId, y: NodeId) -> bool {
    g.shape(table).len() <= g.shape(y).len()
}

fn choose_by_comparison(g: &mut Graph, table: NodeId, y: NodeId) -> NodeId {
    let categories = last_extent(g, table);
    let shape = g.shape(y).join(&[1]);
    let column = g.reshape(y, shape);
    let numbers = integers(g, Shape::from([categories]), |k| k);
    let chosen = g.eq(column, numbers);
    let zero = g.scalar(0.0);
    let only = g.select(chosen, table, zero);
    g.sum_last(only)
}

/// A constant of integers made from each element's position.
fn integers(g: &mut Graph, shape: Shape, value: impl Fn(usize) -> usize) -> NodeId {
    let values: Vec<f64> = (0..shape.len()).map(|k| value(k) as f64).collect();
    g.constant(Tensor::int(shape, values).expect("as many small integers as the shape holds"))
}
