//! Elements of variables that an earlier step may write -> inputs, with what is needed to tell
//! later which step did.

use std::sync::Arc;

use exmc_graph::{NodeId, Shape};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::lower::Lowering;
use crate::lower::abort::{Abort, LowerResult};
use crate::lower::loops::lanes::Touch;
use crate::lower::statement::source_of;
use crate::lower::variables::lane_value::{LaneValue, constant};
use crate::lower::variables::store::{Addresses, Cell, Cells, Source, Storage};
use crate::typed::VariableId;

/// Elements that one read may have, of all lanes together.
const MAX_LATE_READS: usize = 8_000_000;

/// A variable each element of which at most one step writes.
#[derive(Debug)]
pub(super) struct Late {
    /// What it was before the loop.
    pub(super) before: Storage,
    /// For each element the step that writes it, counted from 1; 0 for none.
    pub(super) writer: Vec<u32>,
    /// For loops inside: the last lane of a level that read an element which its own step had not
    /// written yet, by level, element and step.
    readers: FxHashMap<(usize, u32, u32), u32>,
}

impl Late {
    pub(super) fn new(before: Storage) -> Self {
        let writer = vec![0; before.size()];
        Self { before, writer, readers: FxHashMap::default() }
    }
}

/// A read of elements that steps had not written themselves when they read them.
#[derive(Debug)]
pub(super) struct LateRead {
    /// The variable.
    pub(super) variable: VariableId,
    /// Addresses, row by row.
    pub(super) flat: Vec<u32>,
    /// The step of each row.
    pub(super) steps: Arc<[u32]>,
}

impl Lowering<'_> {
    /// Whether reads of a variable may be of what earlier steps write.
    pub(in crate::lower) fn is_late(&self, id: VariableId) -> bool {
        self.enclosing.steps.as_ref().is_some_and(|steps| steps.late.contains_key(&id))
    }

    /// The step of each current lane.
    fn step_of_lane(&self) -> Vec<u32> {
        let level = self.enclosing.steps.as_ref().map_or(0, |steps| steps.level);
        self.lanes_at(level).unwrap_or_else(|| (0..self.lane_count() as u32).collect())
    }

    /// That a variable's elements cannot be late.
    fn refused_late(&mut self, id: VariableId) -> Abort {
        let level = self.enclosing.steps.as_mut().map_or(0, |steps| {
            steps.several = Some(id);
            steps.level
        });
        Abort::Carried { level, variable: Some(id), private: false }
    }

    /// Notes that elements of a late variable are read or written. Loops inside of a step are
    /// watched as ever, but for what different steps do.
    pub(in crate::lower) fn touch_late(
        &mut self,
        id: VariableId,
        addresses: &[u32],
        shared: bool,
        how: Touch,
    ) -> LowerResult<()> {
        let of_lane = self.step_of_lane();
        let lanes = of_lane.len();
        let each = if shared { addresses.len() } else { addresses.len() / lanes.max(1) };
        if each * lanes > MAX_LATE_READS {
            return Err(self.refused_late(id));
        }
        let row = |lane: usize| if shared { addresses } else { &addresses[lane * each..][..each] };
        let Some(steps) = &mut self.enclosing.steps else { return Ok(()) };
        let level = steps.level;
        let Some(late) = steps.late.get_mut(&id) else { return Ok(()) };
        if how == Touch::Write {
            let mut several = false;
            for (lane, step) in of_lane.iter().enumerate() {
                for address in row(lane) {
                    let writer = &mut late.writer[*address as usize];
                    several |= *writer != 0 && *writer != step + 1;
                    *writer = step + 1;
                }
            }
            if several {
                return Err(self.refused_late(id));
            }
        }
        for inner in level + 1..=self.depth() {
            let watches = self.env.levels[inner].watched.as_ref();
            if !watches.is_some_and(|w| w.assigned.contains(&id)) {
                continue;
            }
            let map = self.lanes_at(inner);
            let Some(late) =
                self.enclosing.steps.as_mut().and_then(|steps| steps.late.get_mut(&id))
            else {
                continue;
            };
            let Some(watch) = self.env.levels[inner].watched.as_mut() else { continue };
            let marks = watch.marks.entry(id).or_default();
            marks.cover(addresses.iter().copied());
            let carried =
                || Err(Abort::Carried { level: inner, variable: Some(id), private: false });
            for (lane, step) in of_lane.iter().enumerate() {
                let lane_number = map.as_ref().map_or(lane as u32, |m| m[lane]) + 1;
                for address in row(lane) {
                    let is_own = late.writer[*address as usize] == step + 1;
                    let mark = marks.mark_at(*address);
                    match how {
                        Touch::Read if !is_own => {
                            let reader = late.readers.entry((inner, *address, *step)).or_default();
                            *reader = lane_number.max(*reader);
                        }
                        Touch::Read if mark.writer > lane_number => return carried(),
                        Touch::Read => mark.reader = mark.reader.max(lane_number),
                        Touch::Write => {
                            let early = late.readers.get(&(inner, *address, *step));
                            let is_early = early.is_some_and(|reader| *reader > lane_number);
                            if mark.writer > lane_number || mark.reader > lane_number || is_early {
                                return carried();
                            }
                            mark.writer = lane_number;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether each of the elements that lanes add to belongs to one step; notes that it writes
    /// them.
    pub(in crate::lower) fn sums_of_steps(
        &mut self,
        id: VariableId,
        order: &[(u32, u32)],
        each: usize,
    ) -> LowerResult<Vec<u32>> {
        let of_lane = self.step_of_lane();
        let step_of = |k: u32| of_lane[k as usize / each.max(1)];
        // By element, ascending: the step of its first summand must be that of all.
        let mut sorted: Vec<(u32, u32)> = order.iter().map(|(a, k)| (*a, step_of(*k))).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let Some(late) = self.enclosing.steps.as_mut().and_then(|steps| steps.late.get_mut(&id))
        else {
            return Ok(Vec::new());
        };
        let mut several = sorted.windows(2).any(|pair| pair[0].0 == pair[1].0);
        let early: FxHashSet<(u32, u32)> = late.readers.keys().map(|(_, a, s)| (*a, *s)).collect();
        for (address, step) in &sorted {
            let writer = late.writer[*address as usize];
            several |= writer != 0 && writer != step + 1;
            several |= early.contains(&(*address, *step));
        }
        if several {
            return Err(self.refused_late(id));
        }
        Ok(sorted.into_iter().map(|(_, step)| step).collect())
    }

    /// Notes that steps have written elements.
    pub(in crate::lower) fn written_by_steps(
        &mut self,
        id: VariableId,
        addresses: &[u32],
        step_numbers: &[u32],
    ) {
        let late = self.enclosing.steps.as_mut().and_then(|steps| steps.late.get_mut(&id));
        let Some(late) = late else { return };
        for (address, step) in addresses.iter().zip(step_numbers) {
            late.writer[*address as usize] = step + 1;
        }
    }

    /// The elements of a late variable at addresses.
    pub(in crate::lower) fn read_late(
        &mut self,
        id: VariableId,
        addresses: &Addresses,
    ) -> LowerResult<LaneValue> {
        let of_lane = self.step_of_lane();
        let each: usize = addresses.shape.iter().product();
        if each * of_lane.len() > MAX_LATE_READS {
            return Err(self.refused_late(id));
        }
        let flat = if addresses.lanes {
            addresses.flat.clone()
        } else {
            addresses.flat.repeat(of_lane.len())
        };
        let full: Vec<usize> =
            std::iter::once(of_lane.len()).chain(addresses.shape.iter().copied()).collect();
        self.read_in_steps(id, flat, &of_lane, &full)
    }

    /// The same for rows of which each belongs to a step, under a shape.
    pub(in crate::lower) fn read_in_steps(
        &mut self,
        id: VariableId,
        flat: Vec<u32>,
        of_row: &[u32],
        full: &[usize],
    ) -> LowerResult<LaneValue> {
        let each = flat.len() / of_row.len().max(1);
        let is_own: Vec<bool> = {
            let late = self.enclosing.steps.as_ref().and_then(|steps| steps.late.get(&id));
            let writers = late.map_or(&[][..], |late| &late.writer);
            let is_written = |k: usize| writers[flat[k] as usize] == of_row[k / each.max(1)] + 1;
            (0..flat.len()).map(is_written).collect()
        };
        let Some(storage) = self.env.stores[id.0 as usize].clone() else {
            unreachable!("callers looked it up");
        };
        let level = storage.level;
        let never = || Abort::Carried { level, variable: Some(id), private: false };
        if is_own.iter().all(|written| *written) {
            let form = storage.read(&mut self.sink.graph, &flat, full).ok_or_else(never)?;
            return Ok(LaneValue { form, lanes: true });
        }
        let input = self.placeholder(Shape::from(full));
        let late = is_own.iter().all(|written| !written);
        let mut stored = storage;
        if late {
            self.note_late_read(id, input, flat, of_row);
            return Ok(LaneValue::node(input, true));
        }
        let total = stored.size();
        let (cells, sources) = stored.mixed(total);
        let mut all = (**sources).clone();
        all.push(Source::Node(input));
        let last = all.len() as u32 - 1;
        let cells: Vec<Cell> = (flat.iter().zip(&is_own).enumerate())
            .map(|(k, (address, is_own))| match is_own {
                true => cells[*address as usize],
                false => Cell { source: last, offset: k as u32 },
            })
            .collect();
        let row: Vec<u32> = (0..flat.len() as u32).collect();
        let storage = Storage {
            cells: Cells::Mixed { cells: Arc::new(cells), sources: Arc::new(all) },
            ..stored
        };
        let form = storage.read(&mut self.sink.graph, &row, full).ok_or_else(never)?;
        self.note_late_read(id, input, flat, of_row);
        Ok(LaneValue { form, lanes: true })
    }

    fn note_late_read(
        &mut self,
        variable: VariableId,
        input: NodeId,
        flat: Vec<u32>,
        of_row: &[u32],
    ) {
        let read = LateRead { variable, flat, steps: of_row.into() };
        if let Some(steps) = &mut self.enclosing.steps {
            steps.reads.insert(input, read);
        }
    }

    /// What late variables are given, with numbers as nodes: for each element a node and the place
    /// in it.
    pub(in crate::lower) fn as_nodes(&mut self, storage: &Storage) -> Vec<(NodeId, u32)> {
        let size = storage.size();
        match &storage.cells {
            Cells::Whole(value) => {
                let node = match source_of(value) {
                    Source::Node(node) => node,
                    Source::Known(value) => constant(&mut self.sink.graph, &value),
                };
                (0..size as u32).map(|k| (node, k)).collect()
            }
            Cells::Mixed { cells, sources } => {
                let mut nodes: Vec<Option<NodeId>> = vec![None; sources.len()];
                let g = &mut self.sink.graph;
                let mut node_of = |source: u32| {
                    let slot = &mut nodes[source as usize];
                    *slot.get_or_insert_with(|| match &sources[source as usize] {
                        Source::Node(node) => *node,
                        Source::Known(value) => constant(g, value),
                    })
                };
                cells.iter().map(|cell| (node_of(cell.source), cell.offset)).collect()
            }
        }
    }
}
