//! Fusing: members of a loop -> which of them one instruction computes together.

use std::collections::hash_map::Entry;

use exmc_graph::{Binary, Op, Unary};
use rustc_hash::{FxHashMap, FxHashSet};

use super::codes::pair_of;
use super::shares::{Shares, fuse_shares};
use super::terms::{Term, trees};
use crate::native::compile::loop_ir::{Compute, Value, View};
use crate::native::program::Code;

/// Sums of more logarithms than this are logarithms of products.
pub(super) const MIN_LOGS: usize = 64;

/// What is computed together.
#[derive(Default)]
pub(super) struct Fused {
    /// Members that another one computes.
    pub(super) absorbed: FxHashSet<usize>,
    /// A member that another one computes, and which operand it is there.
    pub(super) inner: FxHashMap<usize, (usize, usize)>,
    /// Functions that are computed together with a later one of the same argument.
    pub(super) pairs: FxHashMap<usize, Pair>,
    /// Sums of softplus, by the first of the pair of functions that softplus is in.
    pub(super) sums: FxHashMap<usize, usize>,
    /// The terms of a tree of sums, by its last one.
    pub(super) terms: FxHashMap<usize, Vec<Term>>,
    /// Logs of sums of exponentials and their slopes, by the first of them.
    pub(super) shares: FxHashMap<usize, Shares>,
}

/// A function that shares its work with the one that it belongs to.
pub(super) struct Pair {
    /// The instruction that computes both.
    pub(super) code: Code,
    /// The later function.
    pub(super) other: usize,
    /// Whether the later function is the instruction's first result.
    pub(super) other_first: bool,
}

fn is_product(work: &Compute) -> bool {
    matches!(work, Compute::Map(Op::Binary(Binary::Mul) | Op::Unary(Unary::Square)))
}

fn is_sum(work: &Compute) -> bool {
    matches!(work, Compute::Map(Op::Binary(Binary::Add | Binary::Sub)))
}

fn is_log(work: &Compute) -> bool {
    matches!(work, Compute::Map(Op::Unary(Unary::Log | Unary::Log1p)))
}

/// Finds members that their only reader can compute on the way, and functions that share their
/// work; `ready` says when values are there.
pub(super) fn fuse(values: &[Value], members: &[usize], ready: &[u32]) -> Fused {
    let group: FxHashSet<usize> = members.iter().copied().collect();
    let mut fused = Fused::default();
    if members.first().is_some_and(|&k| values[k].space == 1) {
        let trees = trees(values, members, ready);
        fused.absorbed = trees.inside;
        fused.terms = trees.terms;
    }
    // A member that only one other reads, which no other computes and which computes no other.
    let alone = |view: View, fused: &Fused| {
        let value = &values[view.value];
        (value.readers.len() == 1
            && !value.root
            && group.contains(&view.value)
            && !fused.absorbed.contains(&view.value)
            && !fused.inner.contains_key(&view.value)
            && !fused.terms.contains_key(&view.value))
        .then_some((view.value, &value.work))
    };
    let mut arguments: FxHashMap<(usize, usize, Code), (usize, bool)> = FxHashMap::default();
    for &k in members {
        if fused.absorbed.contains(&k) || fused.terms.contains_key(&k) {
            continue;
        }
        let value = &values[k];
        let wanted: fn(&Compute) -> bool = match &value.work {
            Compute::Map(Op::Binary(Binary::Add | Binary::Sub)) => is_product,
            Compute::Map(Op::Binary(Binary::Mul)) => |work| is_product(work) || is_sum(work),
            Compute::Map(Op::Unary(Unary::Reciprocal)) => {
                |work| matches!(work, Compute::Map(Op::Binary(Binary::Add)))
            }
            Compute::Sum if value.space > MIN_LOGS => |work| is_product(work) || is_log(work),
            Compute::Sum => is_product,
            _ => |_| false,
        };
        for (side, operand) in value.operands.iter().enumerate() {
            if let Some((found, work)) = alone(operand.0, &fused)
                && wanted(work)
            {
                fused.absorbed.insert(found);
                fused.inner.insert(k, (found, side));
                break;
            }
        }
        if let Compute::Map(op) = &value.work
            && let Some((code, is_first)) = pair_of(op)
        {
            let view = value.operands[0].0;
            match arguments.entry((view.value, view.offset, code)) {
                Entry::Occupied(known) if known.get().1 != is_first => {
                    let (earlier, _) = known.remove();
                    fused.pairs.insert(earlier, Pair { code, other: k, other_first: is_first });
                    fused.absorbed.insert(k);
                }
                // The same function again, of a view with another shape.
                Entry::Occupied(_) => {}
                Entry::Vacant(place) => {
                    place.insert((k, is_first));
                }
            }
        }
    }
    sums_of_softplus(values, members, &group, &mut fused);
    fuse_shares(values, members, &mut fused);
    fused
}

/// Finds sums of softplus that the instruction for softplus and the logistic function can take:
/// nobody else reads softplus, and the sum is long enough for a product's logarithm.
fn sums_of_softplus(
    values: &[Value],
    members: &[usize],
    group: &FxHashSet<usize>,
    fused: &mut Fused,
) {
    let owners: FxHashMap<usize, usize> = fused
        .pairs
        .iter()
        .filter(|(_, pair)| pair.code == Code::SoftplusInvLogit)
        .map(|(&k, pair)| (if pair.other_first { pair.other } else { k }, k))
        .collect();
    for &k in members {
        let value = &values[k];
        if !matches!(value.work, Compute::Sum) || value.space <= MIN_LOGS {
            continue;
        }
        let softplus = value.operands[0].0.value;
        let read = &values[softplus];
        if !fused.inner.contains_key(&k)
            && group.contains(&softplus)
            && read.readers.len() == 1
            && !read.root
            && let Some(&owner) = owners.get(&softplus)
        {
            fused.sums.insert(owner, k);
            fused.absorbed.insert(k);
        }
    }
}
