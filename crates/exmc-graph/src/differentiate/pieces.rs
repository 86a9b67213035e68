//! Adjoints of slices, put together: many pieces of one array -> few arrays of its shape.
//!
//! A loop that was written out reads an array element by element. If every read handed back a whole
//! array of zeros with one element, the gradient would cost the square of the length; pieces that
//! do not overlap are concatenated instead.

use super::{Adjoint, Mask, accumulate};
use crate::graph::{Graph, NodeId};
use crate::op::Op;

/// The adjoint of elements `start..stop` along an axis.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) axis: usize,
    pub(super) start: usize,
    pub(super) stop: usize,
    pub(super) adjoint: Adjoint,
}

/// Adds all pieces to the adjoint of `target`.
pub(super) fn assemble(
    g: &mut Graph,
    target: NodeId,
    mut pieces: Vec<Piece>,
    total: &mut Option<Adjoint>,
) {
    // Stable, so that equal ranges add up in the order in which they came.
    pieces.sort_by_key(|p| (p.axis, p.start, p.stop));
    let mut distinct: Vec<Piece> = Vec::new();
    for piece in pieces {
        let range = |p: &Piece| (p.axis, p.start, p.stop);
        match distinct.last_mut() {
            Some(last) if range(last) == range(&piece) => {
                let mut sum = Some(last.adjoint);
                accumulate(g, &mut sum, piece.adjoint);
                last.adjoint = sum.unwrap_or(piece.adjoint);
            }
            _ => distinct.push(piece),
        }
    }
    // Each piece goes to the first layer that ends before it starts.
    let mut layers: Vec<Vec<Piece>> = Vec::new();
    for piece in distinct {
        let fits = |layer: &&mut Vec<Piece>| {
            layer.last().is_some_and(|p| p.axis == piece.axis && p.stop <= piece.start)
        };
        match layers.iter_mut().find(fits) {
            Some(layer) => layer.push(piece),
            None => layers.push(vec![piece]),
        }
    }
    for layer in layers {
        let value = lay_out(g, target, &layer, |_, p| p.adjoint.value);
        let mask = lay_out(g, target, &layer, |g, p| match p.adjoint.mask {
            Some(mask) => mask.node,
            None => {
                let shape = g.shape(p.adjoint.value).clone();
                g.filled(&shape, 1.0)
            }
        });
        let needed = layer.iter().any(|p| p.adjoint.mask.is_some_and(|mask| mask.needed));
        accumulate(g, total, Adjoint { value, mask: Some(Mask { node: mask, needed }) });
    }
}

/// An array of the shape of `target` with the pieces of a layer in their places, zero elsewhere.
fn lay_out(
    g: &mut Graph,
    target: NodeId,
    layer: &[Piece],
    part: impl Fn(&mut Graph, &Piece) -> NodeId,
) -> NodeId {
    let shape = g.shape(target).clone();
    let axis = layer[0].axis;
    let extent = shape.extents()[axis];
    if let [piece] = layer {
        let value = part(g, piece);
        if (piece.start, piece.stop) == (0, extent) {
            return value;
        }
        return g.must(Op::Unslice { axis, start: piece.start, step: 1, extent }, &[value]);
    }
    let mut parts = Vec::new();
    let mut end = 0;
    let gap = |g: &mut Graph, parts: &mut Vec<NodeId>, len: usize| {
        if len > 0 {
            let mut extents = shape.extents().to_vec();
            extents[axis] = len;
            parts.push(g.filled(&extents.into(), 0.0));
        }
    };
    for piece in layer {
        gap(g, &mut parts, piece.start - end);
        parts.push(part(g, piece));
        end = piece.stop;
    }
    gap(g, &mut parts, extent - end);
    g.concat(&parts, axis)
}
