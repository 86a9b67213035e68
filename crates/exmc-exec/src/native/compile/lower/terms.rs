//! Terms: a tree of scalar sums and differences -> one sum of signed products.
//!
//! A log density is a sum of many scalars, some of them products; one instruction adds all of them
//! up. The order is that in which they become available, so the last ones wait for nobody. Terms
//! are computed values with an error of their own in the last place, which is why another order of
//! adding them loses nothing.

use exmc_graph::{Binary, Op, Unary};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::native::compile::loop_ir::{Compute, Value, View};

/// A product of one to three scalars.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) factors: Vec<View>,
    pub(super) negative: bool,
}

/// Trees by their last sum, and the members that are inside of them.
#[derive(Default)]
pub(super) struct Trees {
    pub(super) terms: FxHashMap<usize, Vec<Term>>,
    pub(super) inside: FxHashSet<usize>,
}

/// Finds the trees among the members of a loop of one.
pub(super) fn trees(values: &[Value], members: &[usize], ready: &[u32]) -> Trees {
    let group: FxHashSet<usize> = members.iter().copied().collect();
    let mut found = Trees::default();
    for &k in members.iter().rev() {
        if is_sum(&values[k].work) && !found.inside.contains(&k) {
            let mut tree = Tree { values, group: &group, terms: Vec::new(), inside: Vec::new() };
            tree.add_sum(k, false);
            // A sum of two is better off with an instruction that also multiplies.
            if tree.terms.len() > 2 {
                let last = |term: &Term| {
                    term.factors.iter().map(|view| (ready[view.value], view.value)).max()
                };
                tree.terms.sort_by_key(last);
                found.inside.extend(tree.inside);
                found.terms.insert(k, tree.terms);
            }
        }
    }
    found
}

fn is_sum(work: &Compute) -> bool {
    matches!(work, Compute::Map(Op::Binary(Binary::Add | Binary::Sub)))
}

struct Tree<'a> {
    values: &'a [Value],
    group: &'a FxHashSet<usize>,
    terms: Vec<Term>,
    inside: Vec<usize>,
}

impl Tree<'_> {
    /// The operands of a sum or difference.
    fn add_sum(&mut self, k: usize, negative: bool) {
        let value = &self.values[k];
        let minus = value.work.is_binary(Binary::Sub);
        self.add(value.operands[0].0, negative);
        self.add(value.operands[1].0, negative != minus);
    }

    fn add(&mut self, view: View, negative: bool) {
        if !self.alone(view) {
            self.terms.push(Term { factors: vec![view], negative });
            return;
        }
        let value = &self.values[view.value];
        let negated = matches!(value.work, Compute::Map(Op::Unary(Unary::Neg)));
        if negated || is_sum(&value.work) {
            self.inside.push(view.value);
            if negated {
                self.add(value.operands[0].0, !negative);
            } else {
                self.add_sum(view.value, negative);
            }
            return;
        }
        let mut factors = vec![view];
        self.split(&mut factors, 0);
        // The sign takes the place of a factor.
        if !negative && factors.len() == 2 {
            self.split(&mut factors, 0);
            if factors.len() == 2 {
                self.split(&mut factors, 1);
            }
        }
        self.terms.push(Term { factors, negative });
    }

    /// Puts the factors of a product, if it is one, in its place.
    fn split(&mut self, factors: &mut Vec<View>, index: usize) {
        let view = factors[index];
        let value = &self.values[view.value];
        // What stands twice, as the base of a square does, is computed for its other place.
        let is_twice = factors.iter().filter(|other| other.value == view.value).count() > 1;
        if is_twice || !self.alone(view) {
            return;
        }
        let parts = match &value.work {
            work if work.is_binary(Binary::Mul) => [value.operands[0].0, value.operands[1].0],
            Compute::Map(Op::Unary(Unary::Square)) => [value.operands[0].0; 2],
            _ => return,
        };
        self.inside.push(view.value);
        factors.splice(index..=index, parts);
        // The two that are multiplied first stand first.
        if index == 1 {
            factors.rotate_left(1);
        }
    }

    /// Whether a view is of a member that nobody else reads.
    fn alone(&self, view: View) -> bool {
        let value = &self.values[view.value];
        value.readers.len() == 1 && !value.root && self.group.contains(&view.value)
    }
}
