//! Iterations side by side: a lane for each of them, and what is left of their copies of variables.

use std::collections::{BTreeMap, BTreeSet};

use exmc_fault::{Fault, planted};

use super::control_flow::{Cond, LaneSet};
use super::iterations::Iterations;
use super::lanes::{IterationLanes, Touch, Watch};
use super::precompute_integers::Starts;
use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult, unsupported};
use crate::lower::branch::returns;
use crate::lower::statement::source_of;
use crate::lower::variables::gather::pick;
use crate::lower::variables::lane_value::{Form, LaneValue, pick_known};
use crate::lower::variables::store::{Addresses, Cell, Cells, NEVER, Source, Storage};
use crate::source::Span;
use crate::typed::{Statement, VariableId};

impl Lowering<'_> {
    pub(in crate::lower) fn run_side_by_side(
        &mut self,
        iterations: &Iterations,
        body: &Statement,
        (private, starts): (&BTreeSet<VariableId>, &Starts),
        groups: &[Vec<u32>],
        watch: Watch,
    ) -> LowerResult<()> {
        let mut up = Vec::new();
        let mut number = Vec::new();
        for (lane, count) in iterations.counts.iter().enumerate() {
            up.extend(std::iter::repeat_n(lane as u32, *count));
            number.extend(0..*count);
        }
        let total = up.len();
        let level = self.env.levels.len();
        let value = self.loop_values(iterations, &up, &number);
        self.env.levels.push(IterationLanes { count: total, up: up.into(), watched: Some(watch) });
        self.set_loop_variable(iterations, value);
        let mut outside = Vec::new();
        for id in private {
            // What earlier steps write is told from the one place that all lanes have in common.
            if self.is_late(*id) {
                continue;
            }
            let start = self.start_of_state(*id, level);
            let slot = &mut self.env.stores[id.0 as usize];
            let Some(storage) = slot.take() else { continue };
            if storage.level >= level
                || matches!(&storage.cells, Cells::Whole(v) if matches!(v.form, Form::Tuple(_)))
            {
                *slot = Some(storage);
                continue;
            }
            // The conditions around the loop are those of all that happens in it; they count
            // afterwards.
            let masks = self.env.masks.len();
            if let Some(start) = start {
                *slot = Some(Storage::from_value(level, masks, storage.shape.clone(), start));
                outside.push((*id, storage));
                continue;
            }
            *slot = Some(match starts.get(id) {
                Some(values) => {
                    let values = LaneValue::known_lanes(values.clone());
                    Storage::from_value(level, masks, storage.shape.clone(), values)
                }
                None => Storage::private(level, masks, storage.shape.clone(), total),
            });
            outside.push((*id, storage));
        }
        let carried = Abort::Carried { level, variable: None, private: false };
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
            let leaves = !flow.broke.is_none() && !self.leave_steps(level, &flow.broke);
            if !stays || leaves {
                return Err(carried);
            }
            let mut finished = flow.next.to_vec(group.len());
            finished.extend(flow.broke.outside(&(0..group.len() as u32).collect::<Vec<_>>()));
            finished.extend(flow.continued.to_vec(if flow.continued == LaneSet::All {
                group.len()
            } else {
                0
            }));
            if LaneSet::from_vec(finished, group.len()) != LaneSet::All {
                return Err(carried);
            }
        }
        // What only some wrote by conditions on parameters is what another iteration left.
        for (id, _) in &outside {
            let copy = self.env.stores[id.0 as usize].as_ref();
            if copy.is_some_and(|copy| !copy.partly.is_empty()) {
                return Err(Abort::Carried { level, variable: Some(*id), private: false });
            }
        }
        self.take_finals(level, body.span)?;
        let copies: Vec<Option<Storage>> =
            outside.iter().map(|(id, _)| self.env.stores[id.0 as usize].take()).collect();
        let up = self.env.levels[level].up.clone();
        self.env.levels.pop();
        for ((id, storage), copy) in outside.into_iter().zip(copies) {
            self.env.stores[id.0 as usize] = Some(storage);
            if let Some(copy) = copy {
                self.keep_last(id, &copy, &up)?;
            }
        }
        Ok(())
    }

    /// Gives a variable what the last iterations that wrote its elements left in their copies.
    fn keep_last(&mut self, id: VariableId, copy: &Storage, up: &[u32]) -> LowerResult<()> {
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
    ) -> LowerResult<()> {
        let Some(storage) = &self.env.stores[id.0 as usize] else { return Ok(()) };
        let (size, home, masks) = (storage.size(), storage.level, storage.masks);
        let home_lanes = self.env.levels[home].count;
        let to_home = self.lanes_at(home);
        let mut last: BTreeMap<u32, (Cell, u32)> = Default::default();
        for (k, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.source != NEVER) {
            let around = up[k / size.max(1)];
            let lane = to_home.as_ref().map_or(around, |map| map[around as usize]);
            let address = lane * size as u32 + (k % size.max(1)) as u32;
            if !(planted(Fault::FirstWriteStays) && last.contains_key(&address)) {
                last.insert(address, (*cell, around));
            }
        }
        let addresses: Vec<u32> = last.keys().copied().collect();
        let mask = self.mask(masks);
        if mask.is_some() {
            self.touch(id, home, &addresses, true, Touch::Read)?;
        }
        for (number, source) in sources.iter().enumerate() {
            let number = number as u32;
            let here: Vec<(u32, u32, u32)> = last
                .iter()
                .filter(|(_, (cell, _))| cell.source == number)
                .map(|(address, (cell, around))| (*address, cell.offset, *around))
                .collect();
            if here.is_empty() {
                continue;
            }
            let flat: Vec<u32> = here.iter().map(|(address, ..)| *address).collect();
            let (mut source, mut is_picked) = (source.clone(), false);
            if let Some(mask) = &mask {
                let offsets: Vec<u32> = here.iter().map(|(_, offset, _)| *offset).collect();
                let around: Vec<u32> = here.iter().map(|(.., around)| *around).collect();
                source = self.kept_under(id, &flat, (&source, &offsets), (mask, &around))?;
                is_picked = true;
            }
            self.note_write(id, &source);
            if let Some(storage) = &mut self.env.stores[id.0 as usize] {
                if !is_picked {
                    storage.is_given(&flat);
                }
                let offset = |k: usize| if is_picked { k as u32 } else { here[k].1 };
                storage.write(home_lanes, &flat, source, offset);
            }
        }
        // The loops around see it written by all of their lanes that these iterations belong to.
        self.touch(id, home, &addresses, true, Touch::Write)
    }

    /// What elements hold after a loop that stands under conditions on parameters: elements
    /// `offsets` of what its iterations left where the mask holds, which is that of the lanes
    /// `around`.
    fn kept_under(
        &mut self,
        id: VariableId,
        flat: &[u32],
        (source, offsets): (&Source, &[u32]),
        (mask, around): (&LaneValue, &[u32]),
    ) -> LowerResult<Source> {
        let count = [flat.len()];
        let form = match source {
            Source::Known(known) => Form::Known(pick_known(known, offsets, &count)),
            Source::Node(node) => Form::Node(pick(&mut self.sink.graph, *node, offsets, &count)),
        };
        let mask = if mask.lanes {
            let node = mask.to_node(&mut self.sink.graph);
            LaneValue::node(pick(&mut self.sink.graph, node, around, &count), false)
        } else {
            mask.clone()
        };
        let addresses = Addresses { shape: count.to_vec(), lanes: false, flat: flat.to_vec() };
        let value = self.merged(id, &addresses, LaneValue { form, lanes: false }, &mask)?;
        Ok(source_of(&value))
    }

    /// That lanes differ where they must not, to be handled by the innermost loop side by side.
    pub(in crate::lower) fn ragged(&self, keys: &[i64], span: Span) -> Abort {
        let level =
            (1..self.env.levels.len()).rev().find(|l| self.env.levels[*l].watched.is_some());
        let Some(level) = level else {
            return unsupported(span, "a size that differs between iterations here");
        };
        let map = self.lanes_at(level);
        let mut of_loop = vec![i64::MIN; self.env.levels[level].count];
        for (lane, key) in keys.iter().enumerate() {
            of_loop[map.as_ref().map_or(lane, |m| m[lane] as usize)] = *key;
        }
        Abort::Ragged { level, keys: of_loop, span }
    }
}

/// Each group's lanes by key, in the order in which keys appear.
pub(in crate::lower) fn split(groups: &[Vec<u32>], keys: &[i64]) -> Vec<Vec<u32>> {
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
