//! Terms of one class -> groups of which each reads the same shared expressions in the same places.
//!
//! Two families of variables with priors of one form are one class. As one group they would read
//! their two locations and two scales by an index; as two, each is a scalar.

use rustc_hash::{FxHashMap, FxHashSet};

use super::MIN_ALIKE;
use super::classes::{Classes, behind_reshapes};
use crate::graph::{Dependence, Graph, NodeId};
use crate::op::Op;

/// Terms that a part has at least: for fewer, an index costs less than operations of their own.
const PART: usize = 2 * MIN_ALIKE;

/// Splits terms of one class; parts are in the order of their first terms.
pub(super) fn split(g: &Graph, classes: &mut Classes, terms: Vec<NodeId>) -> Vec<Vec<usize>> {
    let (mut done, mut open) = (Vec::new(), vec![(0..terms.len()).collect::<Vec<usize>>()]);
    while let Some(members) = open.pop() {
        let nodes: Vec<NodeId> = members.iter().map(|&k| terms[k]).collect();
        match shared_place(g, classes, nodes) {
            None => done.push(members),
            Some(column) => {
                let mut place: FxHashMap<NodeId, usize> = FxHashMap::default();
                let mut parts: Vec<Vec<usize>> = Vec::new();
                for (&k, id) in members.iter().zip(column) {
                    let at = *place.entry(id).or_insert_with(|| {
                        parts.push(Vec::new());
                        parts.len() - 1
                    });
                    parts[at].push(k);
                }
                open.extend(parts);
            }
        }
    }
    done.sort();
    done
}

/// The nodes in a place of all terms, where they are few different ones that depend on parameters.
fn shared_place(g: &Graph, classes: &mut Classes, terms: Vec<NodeId>) -> Option<Vec<NodeId>> {
    let mut seen: FxHashSet<Vec<NodeId>> = FxHashSet::default();
    let mut open = vec![terms];
    while let Some(column) = open.pop() {
        let column: Vec<NodeId> = column.iter().map(|&id| behind_reshapes(g, id)).collect();
        let mut counts: FxHashMap<NodeId, usize> = FxHashMap::default();
        column.iter().for_each(|id| *counts.entry(*id).or_default() += 1);
        let first = column[0];
        let is_known = |id: &NodeId| g.dependence(*id) < Dependence::Parameter;
        if counts.len() == 1 || column.iter().all(is_known) || seen.contains(&column) {
            continue;
        }
        if counts.values().min().is_some_and(|fewest| *fewest >= PART) {
            return Some(column);
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
