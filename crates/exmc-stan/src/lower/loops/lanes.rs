//! Lanes: which iterations of which loops run side by side.
//!
//! A level is a set of lanes. The outermost has one, a loop that runs side by side makes a lane of
//! each of its iterations in each lane around it (so inner bounds may differ from lane to lane), a
//! condition on data keeps the lanes in which it holds. Lanes are always in the order in which the
//! program would run them.

use std::collections::BTreeSet;
use std::sync::Arc;

use exmc_graph::NodeId;
use rustc_hash::FxHashMap;

use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult};
use crate::typed::VariableId;

/// A set of lanes.
#[derive(Clone, Debug)]
pub(in crate::lower) struct IterationLanes {
    /// Number of lanes.
    pub(in crate::lower) count: usize,
    /// For each lane, the lane of the level around it that it is part of.
    pub(in crate::lower) up: Arc<[u32]>,
    /// Bookkeeping of a loop; none for other levels.
    pub(in crate::lower) watched: Option<Watch>,
}

/// Who wrote and read what while a loop's iterations run side by side.
#[derive(Clone, Debug, Default)]
pub(in crate::lower) struct Watch {
    /// Variables of outside that the body assigns to.
    pub(in crate::lower) assigned: Arc<BTreeSet<VariableId>>,
    /// Marks by variable and element.
    pub(in crate::lower) marks: FxHashMap<VariableId, Marks>,
}

/// Marks of a stretch of addresses that holds all that were touched.
#[derive(Clone, Debug, Default)]
pub(in crate::lower) struct Marks {
    first: u32,
    list: Vec<Mark>,
}

impl Marks {
    /// Makes room for addresses; loops inside of others touch few of a variable's elements each
    /// time.
    pub(in crate::lower) fn cover(&mut self, addresses: impl Iterator<Item = u32>) {
        let (low, high) = addresses
            .fold((u32::MAX, 0), |(low, high), address| (low.min(address), high.max(address)));
        if low > high {
            return;
        }
        if self.list.is_empty() {
            self.first = low;
        }
        if low < self.first {
            // At least as much again, so that walking downwards does not move everything each time.
            let more = ((self.first - low) as usize).max(self.list.len()).min(self.first as usize);
            self.list.splice(0..0, std::iter::repeat_n(Mark::default(), more));
            self.first -= more as u32;
        }
        let len = (high - self.first) as usize + 1;
        if len > self.list.len() {
            self.list.resize(len, Mark::default());
        }
    }

    pub(in crate::lower) fn mark_at(&mut self, address: u32) -> &mut Mark {
        &mut self.list[(address - self.first) as usize]
    }
}

/// What a loop did to one element; lanes are counted from 1, 0 for none.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::lower) struct Mark {
    /// The last lane that wrote it.
    pub(in crate::lower) writer: u32,
    /// The last lane that read it.
    pub(in crate::lower) reader: u32,
}

/// A writer that is every lane: a sum over lanes was added.
pub(in crate::lower) const ALL_LANES: u32 = u32::MAX;

/// A condition on parameters under which statements run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) struct Mask {
    /// 1 where they count; with a lane axis if `lanes`.
    pub(in crate::lower) node: NodeId,
    /// Whether it differs among lanes.
    pub(in crate::lower) lanes: bool,
    /// The level whose lanes those are.
    pub(in crate::lower) level: usize,
}

/// How a statement touches elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lower) enum Touch {
    /// It reads them.
    Read,
    /// It writes them.
    Write,
}

impl Lowering<'_> {
    /// The current level's number.
    pub(in crate::lower) fn depth(&self) -> usize {
        self.env.levels.len() - 1
    }

    /// Number of lanes of the current level.
    pub(in crate::lower) fn lane_count(&self) -> usize {
        self.env.levels[self.depth()].count
    }

    /// For each current lane, its lane at an outer level; none when that is the current level.
    pub(in crate::lower) fn lanes_at(&self, level: usize) -> Option<Vec<u32>> {
        let mut depth = self.depth();
        if depth <= level {
            return None;
        }
        let mut map = self.env.levels[depth].up.to_vec();
        while depth - 1 > level {
            depth -= 1;
            let up = &self.env.levels[depth].up;
            map.iter_mut().for_each(|lane| *lane = up[*lane as usize]);
        }
        Some(map)
    }

    /// Runs something in some of the current lanes.
    pub(in crate::lower) fn in_lanes<T>(
        &mut self,
        kept: &[u32],
        run: impl FnOnce(&mut Self) -> LowerResult<T>,
    ) -> LowerResult<T> {
        self.env.levels.push(IterationLanes { count: kept.len(), up: kept.into(), watched: None });
        self.note_layout();
        let result = run(self);
        self.env.levels.pop();
        result
    }

    /// Notes that elements are read or written, and finds out whether a loop around may still run
    /// its iterations side by side.
    ///
    /// Running side by side is right when each read sees what the last iteration before it wrote:
    /// when no later iteration has written it already, and no earlier one writes it afterwards.
    ///
    /// `home` is the level of the variable's own lanes, `addresses` the elements: the same for all
    /// current lanes if `shared`, else as many for each.
    pub(in crate::lower) fn touch(
        &mut self,
        variable: VariableId,
        home: usize,
        addresses: &[u32],
        shared: bool,
        how: Touch,
    ) -> LowerResult<()> {
        if self.is_late(variable) {
            return self.touch_late(variable, addresses, shared, how);
        }
        for level in home + 1..=self.depth() {
            let watches = self.env.levels[level].watched.as_ref();
            if !watches.is_some_and(|w| w.assigned.contains(&variable)) {
                continue;
            }
            let map = self.lanes_at(level);
            let lanes = self.lane_count();
            let last = self.env.levels[level].count as u32;
            let Some(watch) = self.env.levels[level].watched.as_mut() else { continue };
            let marks = watch.marks.entry(variable).or_default();
            let lane_at = |lane: usize| map.as_ref().map_or(lane as u32, |m| m[lane]) + 1;
            let carried = || Err(Abort::Carried { level, variable: Some(variable), private: true });
            let each = if shared { addresses.len() } else { addresses.len() / lanes.max(1) };
            if each == 0 {
                continue;
            }
            marks.cover(addresses.iter().copied());
            if shared {
                // All lanes touch the same elements.
                let (first, final_lane) = match (lanes, last) {
                    (0, _) => continue,
                    _ => (lane_at(0), lane_at(lanes - 1)),
                };
                for address in addresses {
                    let mark = marks.mark_at(*address);
                    match how {
                        Touch::Read if mark.writer > first => return carried(),
                        Touch::Read => mark.reader = mark.reader.max(final_lane),
                        Touch::Write if first != final_lane && mark.reader > 0 => {
                            return carried();
                        }
                        Touch::Write if mark.writer > first || mark.reader > first => {
                            return carried();
                        }
                        Touch::Write => mark.writer = final_lane,
                    }
                }
                continue;
            }
            // Reads and writes of one statement happen lane by lane, so all reads are checked by
            // lane.
            let row = |k: usize| &addresses[k * each..(k + 1) * each];
            let mut k = 0;
            while k < lanes {
                let (lane, here) = (lane_at(k), row(k));
                let mut end = k + 1;
                // Lanes that follow each other often read the same elements.
                let same = |next: usize| how == Touch::Read || lane_at(next) == lane;
                while each > 1 && end < lanes && row(end) == here && same(end) {
                    end += 1;
                }
                let final_lane = if end == k + 1 { lane } else { lane_at(end - 1) };
                for address in here {
                    let mark = marks.mark_at(*address);
                    if mark.writer > lane || (how == Touch::Write && mark.reader > lane) {
                        return carried();
                    }
                    match how {
                        Touch::Read => mark.reader = mark.reader.max(final_lane),
                        Touch::Write => mark.writer = lane,
                    }
                }
                k = end;
            }
        }
        Ok(())
    }

    /// Notes that sums over lanes are added to elements: `order` has (address, lane * each +
    /// anything) for each summand.
    ///
    /// For a loop each of whose iterations adds to elements of its own this is a read and a write.
    pub(in crate::lower) fn touch_sums(
        &mut self,
        variable: VariableId,
        home: usize,
        order: &[(u32, u32)],
        each: usize,
    ) -> LowerResult<()> {
        let steps = self.enclosing.steps.as_ref().map(|steps| steps.level);
        let is_late = self.is_late(variable);
        let home = steps.filter(|_| is_late).unwrap_or(home);
        for level in home + 1..=self.depth() {
            let watches = self.env.levels[level].watched.as_ref();
            if !watches.is_some_and(|w| w.assigned.contains(&variable)) {
                continue;
            }
            let map = self.lanes_at(level);
            let lane_at = |k: u32| {
                let lane = k as usize / each.max(1);
                map.as_ref().map_or(lane as u32, |m| m[lane]) + 1
            };
            let mut owners: FxHashMap<u32, u32> = FxHashMap::default();
            for (address, k) in order {
                let lane = lane_at(*k);
                let owner = owners.entry(*address).or_insert(lane);
                if *owner != lane {
                    *owner = ALL_LANES;
                }
            }
            let Some(watch) = self.env.levels[level].watched.as_mut() else { continue };
            let marks = watch.marks.entry(variable).or_default();
            marks.cover(order.iter().map(|(address, _)| *address));
            for (address, k) in order {
                let mark = marks.mark_at(*address);
                let lane = lane_at(*k);
                let fine = if owners[address] == ALL_LANES {
                    mark.sum()
                } else {
                    let fine = mark.writer <= lane && mark.reader <= lane;
                    (mark.writer, mark.reader) = (lane, lane);
                    fine
                };
                if !fine {
                    let private = !is_late;
                    return Err(Abort::Carried { level, variable: Some(variable), private });
                }
            }
        }
        Ok(())
    }
}

impl Mark {
    /// Marks a sum; no if the element was touched otherwise.
    fn sum(&mut self) -> bool {
        let touched = self.reader > 0 || (self.writer > 0 && self.writer != ALL_LANES);
        self.writer = ALL_LANES;
        !touched
    }
}
