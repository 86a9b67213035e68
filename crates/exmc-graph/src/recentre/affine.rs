//! Asking: is an expression affine in elements of an input (or in another expression), each place
//! in one of them?

use super::find::{holds, one_number};
use super::view::{View, moved};
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Unary};
use crate::tensor::Shape;

/// Operations inside each other that are looked through.
const MAX_DEPTH: usize = 12;

/// `slope * element + besides`, at each place.
pub(super) struct Affine {
    /// One number, or one a place.
    pub(super) slope: NodeId,
    /// One number, or one a place; zero where there is none.
    pub(super) besides: Option<NodeId>,
    /// The element at each place.
    pub(super) elements: Vec<usize>,
}

/// An expression that is affine in elements of an input.
pub(super) fn affine(g: &mut Graph, x: NodeId, input: NodeId) -> Option<Affine> {
    let leaf = |g: &Graph, x: NodeId| {
        let (source, view) = View::of(g, x)?;
        (source == input && !view.clamped).then(|| view.elements(g.shape(input).len()))
    };
    of_leaves(g, x, (input, &leaf), MAX_DEPTH)
}

/// A number that is affine in another one.
pub(super) fn affine_in(g: &mut Graph, x: NodeId, number: NodeId) -> Option<Affine> {
    let leaf = |g: &Graph, x: NodeId| (one_number(g, x) == Some(number)).then(|| vec![0]);
    let found = of_leaves(g, x, (number, &leaf), MAX_DEPTH)?;
    (found.elements.len() == 1).then_some(found)
}

/// Says which elements a leaf has.
type Leaf<'a> = &'a dyn Fn(&Graph, NodeId) -> Option<Vec<usize>>;

fn of_leaves(
    g: &mut Graph,
    x: NodeId,
    (input, leaf): (NodeId, Leaf<'_>),
    depth: usize,
) -> Option<Affine> {
    if let Some(elements) = leaf(g, x) {
        return Some(Affine { slope: g.scalar(1.0), besides: None, elements });
    }
    let depth = depth.checked_sub(1)?;
    let affine_of = |g: &mut Graph, x: NodeId| of_leaves(g, x, (input, leaf), depth);
    let args = g.node(x).args.clone();
    let op = g.node(x).op.clone();
    match (op, &args[..]) {
        (Op::Unary(Unary::Neg), &[inner]) => {
            let form = affine_of(g, inner)?;
            let besides = form.besides.map(|besides| g.neg(besides));
            Some(Affine { slope: g.neg(form.slope), besides, ..form })
        }
        (Op::Reshape(_) | Op::Slice { .. } | Op::Permute(_) | Op::Broadcast(_), &[inner]) => {
            let form = affine_of(g, inner)?;
            let elements = moved(g, x, &form.elements)?;
            let (op, shape) = (g.node(x).op.clone(), g.shape(inner).clone());
            let all = |g: &mut Graph, node: NodeId| {
                if g.shape(node).is_scalar() {
                    return node;
                }
                let full = g.broadcast_to(node, &shape);
                g.must(op.clone(), &[full])
            };
            let slope = all(g, form.slope);
            let besides = form.besides.map(|besides| all(g, besides));
            Some(Affine { slope, besides, elements })
        }
        (Op::Concat { axis }, parts) => {
            if axis != 0 {
                return None;
            }
            let mut pieces = Vec::new();
            for part in parts {
                pieces.push((affine_of(g, *part)?, g.shape(*part).clone()));
            }
            joined(g, pieces)
        }
        (Op::Binary(op), &[a, b]) => {
            let [in_a, in_b] = [a, b].map(|side| holds(g, side, input));
            match (op, in_a, in_b) {
                (Binary::Add | Binary::Sub, true, true) => {
                    let (a, b) = (affine_of(g, a)?, affine_of(g, b)?);
                    let slope = g.binary(op, a.slope, b.slope);
                    let zero = g.scalar(0.0);
                    let besides = match (a.besides, b.besides) {
                        (None, None) => None,
                        (a, b) => Some(g.binary(op, a.unwrap_or(zero), b.unwrap_or(zero))),
                    };
                    let is_same = a.elements == b.elements;
                    is_same.then_some(Affine { slope, besides, elements: a.elements })
                }
                (Binary::Add, true, false) | (Binary::Add, false, true) => {
                    let (varying, other) = if in_a { (a, b) } else { (b, a) };
                    let form = affine_of(g, varying)?;
                    let besides = form.besides.map_or(other, |besides| g.add(besides, other));
                    Some(Affine { besides: Some(besides), ..form })
                }
                (Binary::Sub, true, false) => {
                    let form = affine_of(g, a)?;
                    let besides = match form.besides {
                        Some(besides) => g.sub(besides, b),
                        None => g.neg(b),
                    };
                    Some(Affine { besides: Some(besides), ..form })
                }
                (Binary::Sub, false, true) => {
                    let form = affine_of(g, b)?;
                    let besides = form.besides.map_or(a, |besides| g.sub(a, besides));
                    Some(Affine { slope: g.neg(form.slope), besides: Some(besides), ..form })
                }
                (Binary::Mul, true, false)
                | (Binary::Mul, false, true)
                | (Binary::Div, true, false) => {
                    let (varying, other) = if in_a { (a, b) } else { (b, a) };
                    let form = affine_of(g, varying)?;
                    let other = match one_number(g, other) {
                        Some(number) => g.reshape(number, Shape::scalar()),
                        None => other,
                    };
                    let times = |g: &mut Graph, x: NodeId| match op {
                        Binary::Mul => g.mul(x, other),
                        _ => g.div(x, other),
                    };
                    let besides = form.besides.map(|besides| times(g, besides));
                    Some(Affine { slope: times(g, form.slope), besides, ..form })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Affine expressions of these shapes, one after the other.
pub(super) fn joined(g: &mut Graph, parts: Vec<(Affine, Shape)>) -> Option<Affine> {
    let first = parts.first()?.0.slope;
    let is_one = g.shape(first).is_scalar() && parts.iter().all(|(form, _)| form.slope == first);
    let zero = g.scalar(0.0);
    let together = |g: &mut Graph, value_of: &dyn Fn(&Affine) -> NodeId| {
        let all = parts.iter().map(|(form, shape)| g.broadcast_to(value_of(form), shape));
        let all: Vec<NodeId> = all.collect();
        g.concat(&all, 0)
    };
    let slope = if is_one { first } else { together(g, &|form| form.slope) };
    let besides = parts.iter().any(|(form, _)| form.besides.is_some());
    let besides = besides.then(|| together(g, &|form| form.besides.unwrap_or(zero)));
    let elements = parts.iter().flat_map(|(form, _)| form.elements.iter().copied()).collect();
    Some(Affine { slope, besides, elements })
}
