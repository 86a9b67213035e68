//! Shares: logs of sums of two exponentials and their slopes -> what one instruction computes of
//! them.
//!
//! `log_add_exp(a, b)` and its slopes, the shares of `a` and of `b` in the sum, are made of one
//! exponential and one division. Where nobody but a long sum reads the logarithms, they become one
//! of a product.

use exmc_graph::{Binary, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use super::fuse::{Fused, MIN_LOGS};
use super::{Builder, Lowering};
use crate::native::compile::loop_ir::{Compute, Value, View};
use crate::native::program::{Code, Place};

/// Functions of the same two logarithms.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    operands: [View; 2],
    /// The shares of both.
    shares: [Option<usize>; 2],
    log: Option<usize>,
    /// The sum of the logs, if that is all that is wanted of them.
    sum: Option<usize>,
}

impl Shares {
    fn members(&self) -> impl Iterator<Item = usize> {
        self.shares.into_iter().chain([self.log]).flatten()
    }
}

fn operands(value: &Value) -> [View; 2] {
    [value.operands[0].0, value.operands[1].0]
}

fn is_same(a: View, b: View) -> bool {
    (a.value, a.offset, a.len) == (b.value, b.offset, b.len)
}

/// Finds such functions among the members of a loop; in `fused` they stand with the first of them.
pub(super) fn fuse_shares(values: &[Value], members: &[usize], fused: &mut Fused) {
    let mut found: Vec<Shares> = Vec::new();
    // By the values that are read, in either order.
    let mut known: FxHashMap<[usize; 2], Vec<usize>> = FxHashMap::default();
    let group: FxHashSet<usize> = members.iter().copied().collect();
    for &k in members.iter().filter(|k| !fused.absorbed.contains(k)) {
        let Compute::Map(Op::Binary(op @ (Binary::LogAddExp | Binary::LogAddExpShare))) =
            values[k].work
        else {
            continue;
        };
        let [a, b] = operands(&values[k]);
        let key = [a.value.min(b.value), a.value.max(b.value)];
        let places = known.entry(key).or_default();
        let place = places.iter().find_map(|&place| {
            let [x, y] = found[place].operands;
            let forth = is_same(a, x) && is_same(b, y);
            (forth || is_same(a, y) && is_same(b, x)).then_some((place, usize::from(!forth)))
        });
        let (place, side) = place.unwrap_or_else(|| {
            let (shares, log, sum) = ([None; 2], None, None);
            found.push(Shares { operands: [a, b], shares, log, sum });
            places.push(found.len() - 1);
            (found.len() - 1, 0)
        });
        let slot = match op {
            Binary::LogAddExp => &mut found[place].log,
            _ => &mut found[place].shares[side],
        };
        // The same function of views with another shape stays by itself.
        slot.get_or_insert(k);
    }
    for mut shares in found.into_iter().filter(|shares| shares.members().count() > 1) {
        shares.sum = shares.log.and_then(|log| sum_of(values, &group, fused, log));
        let first = shares.members().min().expect("there are at least two");
        fused.absorbed.extend(shares.members().filter(|&k| k != first));
        fused.absorbed.extend(shares.sum);
        fused.shares.insert(first, shares);
    }
}

/// The long sum that alone reads a member of its loop.
fn sum_of(values: &[Value], group: &FxHashSet<usize>, fused: &Fused, log: usize) -> Option<usize> {
    let &[(reader, _)] = &values[log].readers[..] else { return None };
    let sum = &values[reader];
    (matches!(sum.work, Compute::Sum)
        && sum.space > MIN_LOGS
        && !values[log].root
        && group.contains(&reader)
        && !fused.absorbed.contains(&reader)
        && !fused.inner.contains_key(&reader))
    .then_some(reader)
}

impl Lowering<'_> {
    /// Emits the instruction of functions of the same two logarithms.
    pub(super) fn emit_shares(&mut self, builder: &mut Builder, shares: &Shares) {
        let [a, c] = shares.operands.map(|view| self.place(view));
        // What nobody reads goes to a register.
        let [first, second] = shares.shares.map(|member| match member {
            Some(k) => self.target(builder, k),
            None => builder.register(),
        });
        let (code, [out, b, d]) = match (shares.log, shares.sum) {
            (_, Some(sum)) => (Code::SumLogAddExpShares, [self.allocate(sum), first, second]),
            (Some(log), None) => {
                (Code::LogAddExpShares, [self.target(builder, log), first, second])
            }
            (None, None) => (Code::Shares, [first, second, Place::NONE]),
        };
        builder.push(code, out, [a, b, c], None);
        builder.last().d = d;
    }
}
