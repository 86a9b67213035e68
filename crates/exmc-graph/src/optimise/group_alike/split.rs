//! Terms of one class -> groups of which each reads the same shared expressions in the same places.
//!
//! Two families of variables with priors of one form are one class. As one group they would read
//! their two locations and two scales by an index; as two, each is a scalar. And elements of two
//! arrays would be one array, of which neither could be integrated out.

use rustc_hash::{FxHashMap, FxHashSet};

use super::MIN_ALIKE;
use super::classes::{Classes, behind_reshapes};
use super::elements;
use crate::graph::{Dependence, Graph, NodeId};
use crate::op::Op;

/// Terms that a part has at least: for fewer, an index costs less than operations of their own.
const PART: usize = 2 * MIN_ALIKE;

/// What the terms are told apart by.
enum Difference {
    /// The node that each reads in one place.
    Shared(Vec<NodeId>),
    /// The array of which each reads an element.
    Arrays(Vec<NodeId>),
}

/// Splits terms of one class; parts are in the order of their first terms. One may have fewer than
/// [`MIN_ALIKE`].
pub(super) fn split(g: &Graph, classes: &mut Classes, terms: Vec<NodeId>) -> Vec<Vec<usize>> {
    let (mut done, mut open) = (Vec::new(), vec![(0..terms.len()).collect::<Vec<usize>>()]);
    while let Some(members) = open.pop() {
        let nodes: Vec<NodeId> = members.iter().map(|&k| terms[k]).collect();
        match difference(g, classes, nodes) {
            None => done.push(members),
            Some(Difference::Shared(column)) => open.extend(parts(&members, &column)),
            Some(Difference::Arrays(column)) => {
                let (large, small): (Vec<_>, Vec<_>) =
                    parts(&members, &column).into_iter().partition(|part| part.len() >= MIN_ALIKE);
                open.extend(large);
                let mut rest = small.concat();
                rest.sort_unstable();
                if !rest.is_empty() {
                    open.push(rest);
                }
            }
        }
    }
    done.sort();
    done
}

/// Members with the same node in the column, together.
fn parts(members: &[usize], column: &[NodeId]) -> Vec<Vec<usize>> {
    let mut place: FxHashMap<NodeId, usize> = FxHashMap::default();
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for (&k, &id) in members.iter().zip(column) {
        let part = *place.entry(id).or_insert_with(|| {
            parts.push(Vec::new());
            parts.len() - 1
        });
        parts[part].push(k);
    }
    parts
}

/// The nodes in a place of all terms, where they are few different ones that depend on parameters,
/// or elements of different arrays.
fn difference(g: &Graph, classes: &mut Classes, terms: Vec<NodeId>) -> Option<Difference> {
    let mut seen: FxHashSet<Vec<NodeId>> = FxHashSet::default();
    let mut open = vec![terms];
    while let Some(column) = open.pop() {
        let column: Vec<NodeId> = column.iter().map(|&id| behind_reshapes(g, id)).collect();
        let first = column[0];
        let is_known = |id: &NodeId| g.dependence(*id) < Dependence::Parameter;
        let node_counts = counts(&column);
        if node_counts.len() == 1 || column.iter().all(is_known) || seen.contains(&column) {
            continue;
        }
        if node_counts.values().all(|count| *count >= PART) {
            return Some(Difference::Shared(column));
        }
        let arrays: Option<Vec<NodeId>> = column.iter().map(|&id| elements::array(g, id)).collect();
        if let Some(arrays) = arrays {
            let counts = counts(&arrays);
            let is_large = |(id, count): (&NodeId, &usize)| {
                !is_known(id) && g.shape(*id).len() >= MIN_ALIKE && *count >= MIN_ALIKE
            };
            if counts.len() > 1 && counts.iter().any(is_large) {
                return Some(Difference::Arrays(arrays));
            }
        }
        let is_leaf = classes.of(g, first).is_none_or(|class| class.is_leaf());
        if !is_leaf && !matches!(g.node(first).op, Op::Input { .. }) {
            for k in (0..g.node(first).args.len()).rev() {
                open.push(column.iter().map(|&id| g.node(id).args[k]).collect());
            }
        }
        seen.insert(column);
    }
    None
}

fn counts(column: &[NodeId]) -> FxHashMap<NodeId, usize> {
    let mut counts = FxHashMap::default();
    column.iter().for_each(|id| *counts.entry(*id).or_default() += 1);
    counts
}
