//! Parts and forms of one matrix a lane: diagonal, transpose; and the identity.

use exmc_graph::{Graph, NodeId, Tensor};

use super::align::{permute, reshape};

/// The diagonal of one matrix a lane; as long as its shorter side.
pub(super) fn diagonal(g: &mut Graph, node: NodeId, batched: bool) -> NodeId {
    let first = usize::from(batched);
    let extents = g.shape(node).extents()[first..].to_vec();
    let (rows, columns) = (extents[0], extents[1]);
    let len = rows.min(columns);
    let flat = reshape(g, node, batched, &[rows * columns]);
    let step = columns + 1;
    let op = exmc_graph::Op::Slice { axis: first, start: 0, step, len };
    g.apply(op, &[flat]).expect("a diagonal lies within its matrix")
}

/// The transpose of one matrix a lane.
pub(super) fn transpose(g: &mut Graph, node: NodeId, batched: bool) -> NodeId {
    permute(g, node, batched, &[1, 0])
}

/// Ones on the diagonal.
pub(super) fn identity(g: &mut Graph, n: usize) -> NodeId {
    rectangular_identity(g, n, n)
}

pub(super) fn rectangular_identity(g: &mut Graph, rows: usize, columns: usize) -> NodeId {
    let one = |k: usize| f64::from(u8::from(k % columns == k / columns));
    let values: Vec<f64> = (0..rows * columns).map(one).collect();
    let tensor = Tensor::real([rows, columns], values).expect("one value for each element");
    g.constant(tensor)
}
