//! Levels: values -> groups that run together, loop by loop.
//!
//! A loop runs when all that it reads from memory is there. So a member's level is at least that of
//! its operands in the same loop, and one more than that of anything else; members and sinks of one
//! level and one length are one loop. Then loops are moved to a later loop of their length where
//! nobody needs them earlier, and members to their first reader.

use std::collections::BTreeMap;

use exmc_graph::{Binary, Op, Unary};

use super::loop_ir::{Compute, Kind, Usage, Value};

/// What runs together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::native) enum Group {
    /// A loop over so many elements.
    Loop(usize),
    /// One call.
    Call(usize),
}

/// The values of every group, in the order in which they run.
pub(in crate::native) fn levels(values: &[Value]) -> Vec<(Group, Vec<usize>)> {
    let mut level = vec![0; values.len()];
    for (k, value) in values.iter().enumerate() {
        let ready = value.operands.iter().map(|(view, usage)| {
            let operand = &values[view.value];
            match operand.kind() {
                Kind::Input => 0,
                _ if same_loop(operand, value, *usage) => level[view.value],
                _ => level[view.value] + 1,
            }
        });
        level[k] = ready.max().unwrap_or(0);
    }
    merge_loops(values, &mut level);
    move_members(values, &mut level);
    let mut groups: BTreeMap<(usize, Group), Vec<usize>> = BTreeMap::new();
    for (k, value) in values.iter().enumerate() {
        let group = match value.kind() {
            Kind::Input => continue,
            Kind::Elementwise | Kind::Reduction => Group::Loop(value.space),
            Kind::Call => Group::Call(k),
        };
        groups.entry((level[k], group)).or_default().push(k);
    }
    groups.into_iter().map(|((_, group), members)| (group, members)).collect()
}

/// Whether a reader sees an operand while its loop runs.
pub(in crate::native) fn same_loop(operand: &Value, reader: &Value, usage: Usage) -> bool {
    usage == Usage::Lane
        && operand.kind() == Kind::Elementwise
        && matches!(reader.kind(), Kind::Elementwise | Kind::Reduction)
        && operand.space == reader.space
}

/// Joins loops with the next loop of the same length where every reader comes late enough.
///
/// A sweep goes from the last loops to the first; joining only ever makes readers later, so what
/// could not be joined before may be in the next sweep.
fn merge_loops(values: &[Value], level: &mut [usize]) {
    let mut loops: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (k, value) in values.iter().enumerate() {
        if matches!(value.kind(), Kind::Elementwise | Kind::Reduction) {
            loops.entry((value.space, level[k])).or_default().push(k);
        }
    }
    loop {
        let keys: Vec<_> = loops.keys().copied().collect();
        let mut next: Option<(usize, usize)> = None;
        let mut moved = false;
        for &(space, from) in keys.iter().rev() {
            let to = match next {
                Some((other, to)) if other == space => to,
                _ => {
                    next = Some((space, from));
                    continue;
                }
            };
            let late_enough = loops[&(space, from)].iter().all(|&k| {
                values[k].readers.iter().all(|&(reader, usage)| {
                    let joins = same_loop(&values[k], &values[reader], usage);
                    level[reader] > to || joins && (level[reader] == from || level[reader] == to)
                })
            });
            if late_enough {
                let members = loops.remove(&(space, from)).unwrap_or_default();
                members.iter().for_each(|&k| level[k] = to);
                loops.entry((space, to)).or_default().extend(members);
                moved = true;
            } else {
                next = Some((space, from));
            }
        }
        if !moved {
            return;
        }
    }
}

/// Moves members to the loop of their first reader where that is the same loop, later.
///
/// Functions of scalars that take long stay early, so that what does not need them runs meanwhile.
fn move_members(values: &[Value], level: &mut [usize]) {
    let stays = |value: &Value| value.space == 1 && takes_long(&value.work);
    for k in (0..values.len()).rev() {
        if values[k].kind() != Kind::Elementwise || stays(&values[k]) {
            continue;
        }
        let latest = values[k].readers.iter().map(|&(reader, usage)| {
            let joins = same_loop(&values[k], &values[reader], usage);
            (if joins { level[reader] } else { level[reader].saturating_sub(1) }, joins)
        });
        // The first reader; of several, one in the same loop.
        if let Some((latest, true)) = latest.min_by_key(|&(level, joins)| (level, !joins))
            && latest > level[k]
        {
            level[k] = latest;
        }
    }
}

/// How many operations a value waits for, one after the other: those that it is computed from, and
/// its own.
pub(in crate::native) fn ready(values: &[Value]) -> Vec<u32> {
    let mut ready = vec![0_u32; values.len()];
    for (k, value) in values.iter().enumerate() {
        let cost = match (value.kind(), &value.work) {
            (Kind::Input, _) => 0,
            (Kind::Call, _) => 100,
            (Kind::Reduction, _) => 4,
            (Kind::Elementwise, Compute::Map(Op::Binary(Binary::Div)))
            | (Kind::Elementwise, Compute::Map(Op::Unary(Unary::Reciprocal | Unary::Sqrt))) => 4,
            (Kind::Elementwise, work) if takes_long(work) => 25,
            (Kind::Elementwise, _) => 1,
        };
        let before = value.operands.iter().map(|(view, _)| ready[view.value]).max();
        ready[k] = before.unwrap_or(0).saturating_add(cost);
    }
    ready
}

/// Whether a processor computes a function by many operations that wait for each other.
fn takes_long(work: &Compute) -> bool {
    match work {
        Compute::Map(Op::Unary(unary)) => {
            !matches!(unary, Unary::Neg | Unary::Abs | Unary::Sign | Unary::Not | Unary::Square)
        }
        Compute::Map(Op::Binary(binary)) => {
            matches!(binary, Binary::Div | Binary::Pow | Binary::LogAddExp | Binary::LogAddExpShare)
        }
        Compute::LogOfFactors => true,
        _ => false,
    }
}
