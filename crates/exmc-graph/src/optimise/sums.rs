//! Replacing terms of a sum: what can be summed otherwise leaves the sum, the rest stays.

use super::terms::{Product, distribute, terms};
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Reduction};

/// The sum over all rows of a product, computed otherwise, or nothing.
pub(super) type TermRule = fn(&mut Graph, &Product, rows: usize) -> Option<NodeId>;

/// Applies a rule to the terms of a sum over all elements of an array; nothing where no term fits.
pub(super) fn replace_terms(
    g: &mut Graph,
    op: &Op,
    args: &[NodeId],
    rule: TermRule,
) -> Option<NodeId> {
    let (Op::Reduce(Reduction::Sum, axes), &[x]) = (op, args) else { return None };
    let shape = g.shape(x).clone();
    if axes.len() != shape.rank() || shape.len() < 2 {
        return None;
    }
    let (mut sums, mut rest) = (Vec::new(), Vec::new());
    for term in terms(g, x) {
        let product = term.product(g);
        if let Some(sum) = rule(g, &product, shape.len()) {
            sums.push(sum);
        } else if let Some(found) = distribute(g, &product).and_then(|products| {
            let sums = products.iter().map(|product| rule(g, product, shape.len()));
            sums.collect::<Option<Vec<_>>>()
        }) {
            sums.extend(found);
        } else {
            rest.push(term);
        }
    }
    if sums.is_empty() {
        return None;
    }
    let mut kept: Option<NodeId> = None;
    for term in rest {
        let array = term.outer.scale(g, term.node);
        kept = Some(kept.map_or(array, |kept| g.add(kept, array)));
    }
    let mut total = kept.map(|kept| g.sum(kept));
    for sum in sums {
        total = Some(total.map_or(sum, |total| g.add(total, sum)));
    }
    total
}
