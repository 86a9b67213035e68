//! `sum(w * f(row))` over rows that repeat -> `dot(totals of w, f(distinct row))`.
//!
//! A regression on a few discrete covariates has thousands of rows and a handful of different ones.
//! Rows are the same where all known numbers and indices that f reads in them have the same bits;
//! weights, which only multiply, may differ. That is decided by values, so only rows that are
//! constants of the graph are merged: those of data inputs may be others the next time.

use exmc_fault::{Fault, planted};

use super::cost::{ELEMENT, NODE};
use super::duplicate_rows::{Distinct, Reading};
use super::sums::replace_terms;
use super::terms::{Product, is_known, multiply, terms};
use crate::graph::{Graph, NodeId};
use crate::op::{Op, Reduction};
use crate::tensor::Tensor;

/// Rows of which fewer are as quick as they are.
const MIN_ROWS: usize = 32;
/// The part of a sum's cost that must be saved: its products with counts keep other forms of sums
/// away.
const SAVED: f64 = 0.25;

pub(super) fn rule(g: &mut Graph, op: &Op, args: &[NodeId]) -> Option<NodeId> {
    replace_terms(g, op, args, sum_of)
}

fn sum_of(g: &mut Graph, product: &Product, _elements: usize) -> Option<NodeId> {
    let undivided = merged(g, product);
    let parts = opened(g, product).and_then(|parts| {
        let parts: Vec<Merged> =
            parts.iter().map(|part| merged(g, part)).collect::<Option<Vec<_>>>()?;
        parts.into_iter().reduce(|a, b| Merged {
            sum: g.add(a.sum, b.sum),
            before: a.before.max(b.before),
            after: a.after + b.after,
        })
    });
    let mut best: Option<Merged> = None;
    for found in [undivided, parts].into_iter().flatten() {
        if found.pays() && best.as_ref().is_none_or(|best| found.after < best.after) {
            best = Some(found);
        }
    }
    best.map(|best| best.sum)
}

/// A sum over distinct rows, with the estimated cost of the rows as they were and as they are.
struct Merged {
    sum: NodeId,
    before: f64,
    after: f64,
}

impl Merged {
    fn pays(&self) -> bool {
        self.after <= (1.0 - SAVED) * self.before
    }
}

fn merged(g: &mut Graph, product: &Product) -> Option<Merged> {
    let [known, others] = product.split(g);
    let roots: Vec<NodeId> = others.iter().map(|&(id, _)| id).collect();
    let shape = g.shape(*roots.first()?).clone();
    let rows = *shape.extents().first()?;
    if rows < MIN_ROWS {
        return None;
    }
    let reading = Reading::of(g, &roots, rows)?;
    let distinct = Distinct::of(&reading, rows)?;
    let (copies, cost) = reading.take(g, &distinct);
    let factors: Vec<_> =
        copies.into_iter().zip(&others).map(|(id, other)| (id, other.1)).collect();
    let mut value = multiply(g, &factors)?;
    let products = |elements: usize| NODE + 2.0 * ELEMENT * elements as f64;
    let few = distinct.firsts.len();
    let before = cost.before + products(shape.len());
    let after = cost.after + products(shape.len() / rows * few);
    let sum = if let Some(weights) = multiply(g, &known) {
        let index = g.constant(Tensor::indices(&distinct.classes));
        let totals = g.must(Op::ScatterAdd { len: few }, &[weights, index]);
        let products = g.mul(totals, value);
        g.sum(products)
    } else {
        if shape.rank() > 1 {
            let inner: Vec<usize> = (1..shape.rank()).collect();
            value = g.reduce(Reduction::Sum, value, &inner);
        }
        let mut counts = distinct.counts();
        if planted(Fault::MergedRowLost) {
            counts[0] -= 1.0;
        }
        match counts.split_first() {
            Some((first, rest)) if rest.iter().all(|count| count == first) => {
                let sum = g.sum(value);
                g.scale(sum, *first)
            }
            _ => {
                let counts = g.constant(Tensor::vector(&counts));
                let products = g.mul(counts, value);
                g.sum(products)
            }
        }
    };
    Some(Merged { sum: product.scale(g, sum), before, after })
}

/// A product with a sum of data and scalars, such as `(y + phi) * f`, as the products that it is
/// the sum of: each has data as weights, and fewer different rows.
fn opened(g: &Graph, product: &Product) -> Option<Vec<Product>> {
    let [_, others] = product.split(g);
    if others.len() < 2 {
        return None;
    }
    others.iter().filter(|&&(_, power)| power == 1).find_map(|&(sum, _)| {
        let parts: Vec<Product> = terms(g, sum).iter().map(|term| term.product(g)).collect();
        let is_weight = |part: &Product| part.arrays.iter().all(|&(id, _)| is_known(g, id));
        if parts.len() < 2 || !parts.iter().all(is_weight) {
            return None;
        }
        let mut rest = product.clone();
        rest.arrays.retain(|&(id, _)| id != sum);
        Some(parts.iter().map(|part| rest.clone().times(part)).collect())
    })
}
