//! Iterations side by side: a lane for each of them, and what is left of their copies of variables.

use std::collections::{BTreeMap, BTreeSet};

use super::Lowering;
use super::ahead::Starts;
use super::branch::returns;
use super::iterations::Iterations;
use super::lane_set::{Cond, LaneSet};
use super::lane_value::{Form, LaneValue};
use super::level::{Level, Touch, Watch};
use super::statement::source_of;
use super::stop::{Step, Stop, unsupported};
use super::store::{Cell, Cells, NEVER, Source, Storage};
use crate::source::Span;
use crate::typed::{Statement, VariableId};

impl Lowering<'_> {
    pub(super) fn run_side_by_side(
        &mut self,
        iterations: &Iterations,
        body: &Statement,
        (private, starts): (&BTreeSet<VariableId>, &Starts),
        groups: &[Vec<u32>],
        watch: Watch,
    ) -> Step<()> {
        let mut up = Vec::new();
        let mut number = Vec::new();
        for (lane, count) in iterations.counts.iter().enumerate() {
            up.extend(std::iter::repeat_n(lane as u32, *count));
            number.extend(0..*count);
        }
        let total = up.len();
        let level = self.levels.len();
        let value = self.loop_values(iterations, &up, &number);
        self.levels.push(Level { count: total, up: up.into(), watched: Some(watch) });
        self.set_loop_variable(iterations, value);
        let mut outside = Vec::new();
        for id in private {
            let slot = &mut self.stores[id.0 as usize];
            let Some(storage) = slot.take() else { continue };
            if storage.level >= level
                || matches!(&storage.cells, Cells::Whole(v) if matches!(v.form, Form::Tuple(_)))
            {
                *slot = Some(storage);
                continue;
            }
            let masks = storage.masks;
            *slot = Some(match starts.get(id) {
                Some(values) => {
                    let cells = Cells::Whole(LaneValue::known_lanes(values.clone()));
                    Storage { level, masks, shape: storage.shape.clone(), cells }
                }
                None => Storage::private(level, masks, storage.shape.clone(), total),
            });
            outside.push((*id, storage));
        }
        let carried = Stop::Carried { level, variable: None, private: false };
        for group in groups {
            let flow = if group.len() == total {
                self.run(body)?
            } else {
                self.in_lanes(group, |this| this.run(body))?
            };
            if flow.is_plain() {
                continue;
            }
            let stays = flow.mask.is_none_or(|left| left.broke == Cond::Never && !returns(body));
            if !stays || !flow.broke.is_none() {
                return Err(carried);
            }
            let mut finished = flow.next.to_vec(group.len());
            finished.extend(flow.continued.to_vec(if flow.continued == LaneSet::All {
                group.len()
            } else {
                0
            }));
            if LaneSet::from_vec(finished, group.len()) != LaneSet::All {
                return Err(carried);
            }
        }
        let copies: Vec<Option<Storage>> =
            outside.iter().map(|(id, _)| self.stores[id.0 as usize].take()).collect();
        let up = self.levels[level].up.clone();
        self.levels.pop();
        for ((id, storage), copy) in outside.into_iter().zip(copies) {
            self.stores[id.0 as usize] = Some(storage);
            if let Some(copy) = copy {
                self.keep_last(id, &copy, &up)?;
            }
        }
        Ok(())
    }

    /// Gives a variable what the last iterations that wrote its elements left in their copies.
    fn keep_last(&mut self, id: VariableId, copy: &Storage, up: &[u32]) -> Step<()> {
        let Cells::Mixed { cells, sources } = &copy.cells else {
            let Cells::Whole(value) = &copy.cells else { return Ok(()) };
            // One value for all iterations, or one for each of them.
            let size = copy.size();
            let cells = (0..size * up.len()).map(|k| Cell {
                source: 0,
                offset: if value.lanes { k } else { k % size.max(1) } as u32,
            });
            let sources = vec![source_of(value)];
            return self.keep_cells(id, &cells.collect::<Vec<_>>(), &sources, up);
        };
        self.keep_cells(id, cells, sources, up)
    }

    fn keep_cells(
        &mut self,
        id: VariableId,
        cells: &[Cell],
        sources: &[Source],
        up: &[u32],
    ) -> Step<()> {
        let Some(mut storage) = self.stores[id.0 as usize].take() else { return Ok(()) };
        let size = storage.size();
        let home = storage.level;
        let home_lanes = self.levels[home].count;
        let to_home = self.lanes_at(home);
        let mut last: BTreeMap<u32, Cell> = Default::default();
        for (k, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.source != NEVER) {
            let lane = up[k / size.max(1)] as usize;
            let lane = to_home.as_ref().map_or(lane as u32, |map| map[lane]);
            last.insert(lane * size as u32 + (k % size.max(1)) as u32, *cell);
        }
        let addresses: Vec<u32> = last.keys().copied().collect();
        for (number, source) in sources.iter().enumerate() {
            let number = number as u32;
            let here: Vec<(u32, u32)> = last
                .iter()
                .filter(|(_, cell)| cell.source == number)
                .map(|(address, cell)| (*address, cell.offset))
                .collect();
            if here.is_empty() {
                continue;
            }
            let flat: Vec<u32> = here.iter().map(|(address, _)| *address).collect();
            storage.write(home_lanes, &flat, source.clone(), |k| here[k].1);
            self.note_write(id, source);
        }
        self.stores[id.0 as usize] = Some(storage);
        // The loops around see it written by all of their lanes that these iterations belong to.
        self.touch(id, home, &addresses, true, Touch::Write)
    }

    /// That lanes differ where they must not, to be handled by the innermost loop side by side.
    pub(super) fn ragged(&self, keys: &[i64], span: Span) -> Stop {
        let level = (1..self.levels.len()).rev().find(|l| self.levels[*l].watched.is_some());
        let Some(level) = level else {
            return unsupported(span, "a size that differs between iterations here");
        };
        let map = self.lanes_at(level);
        let mut of_loop = vec![i64::MIN; self.levels[level].count];
        for (lane, key) in keys.iter().enumerate() {
            of_loop[map.as_ref().map_or(lane, |m| m[lane] as usize)] = *key;
        }
        Stop::Ragged { level, keys: of_loop, span }
    }
}

/// Each group's lanes by key, in the order in which keys appear.
pub(super) fn split(groups: &[Vec<u32>], keys: &[i64]) -> Vec<Vec<u32>> {
    let mut parts: Vec<Vec<u32>> = Vec::new();
    for group in groups {
        let mut of_key: BTreeMap<i64, usize> = Default::default();
        for lane in group {
            let next = parts.len();
            let part = *of_key.entry(keys[*lane as usize]).or_insert(next);
            if part == next {
                parts.push(Vec::new());
            }
            parts[part].push(*lane);
        }
    }
    parts
}
