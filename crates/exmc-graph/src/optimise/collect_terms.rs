//! The log density as one sum: what is known added up beforehand, equal terms counted, short sums
//! joined.
//!
//! Every density brings its constants and Jacobians; written out they are a chain of additions of
//! single numbers, which costs a small model as much as the rest.

use rustc_hash::FxHashMap;

use super::terms::is_known;
use super::uses;
use crate::graph::{Graph, NodeId};
use crate::op::{Binary, Op, Reduction, Unary};
use crate::tensor::Shape;

/// Elements up to which arrays are added before they are summed, instead of their sums.
const MAX_SHORT_ARRAY: usize = 64;

/// The sum of a scalar's terms in a better order; nothing where it is no sum.
pub(super) fn collect(g: &mut Graph, root: NodeId) -> Option<NodeId> {
    if !g.shape(root).is_scalar() {
        return None;
    }
    let sum = Sum::of(g, root, &uses(g, root));
    if sum.read < 2 {
        return None;
    }
    let mut known = (sum.number != 0.0).then(|| g.scalar(sum.number));
    let mut arrays: Vec<(Shape, NodeId)> = Vec::new();
    let mut scalars = Vec::new();
    for (node, factor) in sum.terms {
        let summed = g.node(node).args.first().copied();
        match (&g.node(node).op, summed) {
            _ if factor == 0.0 => {}
            _ if is_known(g, node) => {
                let term = scaled(g, node, factor);
                known = Some(known.map_or(term, |known| g.add(known, term)));
            }
            (Op::Reduce(Reduction::Sum, axes), Some(x))
                if g.shape(x).len() <= MAX_SHORT_ARRAY && axes.len() == g.shape(x).rank() =>
            {
                let shape = g.shape(x).clone();
                let term = scaled(g, x, factor);
                match arrays.iter_mut().find(|(other_shape, _)| *other_shape == shape) {
                    Some((_, all)) => *all = g.add(*all, term),
                    None => arrays.push((shape, term)),
                }
            }
            _ => scalars.push((node, factor)),
        }
    }
    let mut total = known;
    for (_, all) in arrays {
        let sum = g.sum(all);
        total = Some(total.map_or(sum, |total| g.add(total, sum)));
    }
    for (node, factor) in scalars {
        let term = if factor == -1.0 { node } else { scaled(g, node, factor) };
        total = Some(match total {
            None if factor == -1.0 => g.neg(term),
            None => term,
            Some(total) if factor == -1.0 => g.sub(total, term),
            Some(total) => g.add(total, term),
        });
    }
    let total = total.unwrap_or_else(|| g.scalar(0.0));
    // A sum of numbers alone may have become one of integers.
    (total != root && g.node(total).dtype == g.node(root).dtype).then_some(total)
}

fn scaled(g: &mut Graph, x: NodeId, factor: f64) -> NodeId {
    match factor {
        1.0 => x,
        -1.0 => g.neg(x),
        factor => g.scale(x, factor),
    }
}

/// Terms with factors, in the order in which they were found.
pub(super) struct Sum {
    pub(super) number: f64,
    pub(super) terms: Vec<(NodeId, f64)>,
    /// How many terms there were before equal ones were joined.
    read: usize,
}

impl Sum {
    /// That of a scalar; `uses` says how often each node is read.
    pub(super) fn of(g: &Graph, root: NodeId, uses: &[usize]) -> Self {
        let mut sum = Self { number: 0.0, terms: Vec::new(), read: 0 };
        let mut place: FxHashMap<NodeId, usize> = FxHashMap::default();
        let mut open = vec![(root, 1.0)];
        while let Some((id, factor)) = open.pop() {
            let node = g.node(id);
            let constant = |k: usize| {
                let value = g.as_constant(node.args[k]).and_then(|t| t.as_scalar());
                value.map(|value| value * factor).filter(|f| f.is_normal())
            };
            // A sum that is read elsewhere too is computed in any case.
            let opens = uses[id.index()] <= 1;
            match node.op {
                Op::Binary(Binary::Add) if opens => {
                    open.extend([(node.args[1], factor), (node.args[0], factor)]);
                }
                Op::Binary(Binary::Sub) if opens => {
                    open.extend([(node.args[1], -factor), (node.args[0], factor)]);
                }
                Op::Unary(Unary::Neg) if opens => open.push((node.args[0], -factor)),
                Op::Binary(Binary::Mul) if opens && constant(0).is_some() => {
                    open.extend(constant(0).map(|factor| (node.args[1], factor)));
                }
                Op::Binary(Binary::Mul) if opens && constant(1).is_some() => {
                    open.extend(constant(1).map(|factor| (node.args[0], factor)));
                }
                _ => {
                    sum.read += 1;
                    let value = g.as_constant(id).and_then(|t| t.as_scalar());
                    if let Some(value) = value.filter(|v| v.is_finite()) {
                        sum.number += factor * value;
                        continue;
                    }
                    let index = *place.entry(id).or_insert_with(|| {
                        sum.terms.push((id, 0.0));
                        sum.terms.len() - 1
                    });
                    sum.terms[index].1 += factor;
                }
            }
        }
        sum
    }
}
