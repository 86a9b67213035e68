//! Rules of decompositions and transforms of complex matrices.

use super::{Contribution, Site, contribution_to, masked_whole};
use crate::decomposition::Decomposition;
use crate::graph::{Graph, NodeId};
use crate::op::Op;
use crate::tensor::Shape;

/// The first elements of a flat array, under a shape.
fn front(g: &mut Graph, flat: NodeId, shape: Shape) -> NodeId {
    let part = g.slice(flat, 0, 0, shape.len());
    g.reshape(part, shape)
}

/// The adjoint of a decomposition's argument.
pub(super) fn decompose(g: &mut Graph, kind: Decomposition, site: &Site) -> Vec<Contribution> {
    let (x, found, adjoint) = (site.args[0], site.id, site.adjoint.value);
    let shape = g.shape(x).clone();
    let n = shape.extents()[0] as f64;
    let transformed = |g: &mut Graph, kind, factor| {
        let adjoint = front(g, adjoint, shape.clone());
        let back = g.must(Op::Decompose(kind), &[adjoint]);
        let back = front(g, back, shape.clone());
        g.scale(back, factor)
    };
    let value = match kind {
        Decomposition::Fourier => transformed(g, Decomposition::InverseFourier, n),
        Decomposition::InverseFourier => transformed(g, Decomposition::Fourier, n.recip()),
        Decomposition::PseudoInverse => pseudo_inverse(g, x, found, adjoint),
        _ => {
            let back = g.must(Op::DecomposeAdjoint(kind), &[x, found, adjoint]);
            front(g, back, shape)
        }
    };
    contribution_to(0, masked_whole(g, value, site.adjoint.mask))
}

/// For the inverse B of A: $-B^\top\bar BB^\top + (1-AB)\bar B^\top BB^\top + B^\top B\bar
/// B^\top(1-BA)$.
///
/// **Reference**: Golub and Pereyra 1973.
fn pseudo_inverse(g: &mut Graph, a: NodeId, found: NodeId, adjoint: NodeId) -> NodeId {
    let &[rows, columns] = g.shape(a).extents() else { unreachable!("checked when it was made") };
    let [b, of_b] = [found, adjoint].map(|flat| front(g, flat, [columns, rows].into()));
    let (turned, of_turned) = (g.transpose(b), g.transpose(of_b));
    let rest = |g: &mut Graph, x: NodeId, projection: NodeId, is_left: bool| {
        let inside = if is_left { g.matmul(projection, x) } else { g.matmul(x, projection) };
        g.sub(x, inside)
    };
    let first = g.matmul(turned, of_b);
    let first = g.matmul(first, turned);
    let (ab, ba) = (g.matmul(a, b), g.matmul(b, a));
    let outer = g.matmul(b, turned);
    let second = g.matmul(of_turned, outer);
    let second = rest(g, second, ab, true);
    let inner = g.matmul(turned, b);
    let third = g.matmul(inner, of_turned);
    let third = rest(g, third, ba, false);
    let sum = g.add(second, third);
    g.sub(sum, first)
}
