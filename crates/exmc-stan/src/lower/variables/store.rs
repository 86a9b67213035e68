//! Variables during lowering: for each element, which node (or known number) it was last given.
//!
//! A variable belongs to the level at which it was declared and has one value for each of that
//! level's lanes, all numbered through: element `e` of lane `l` has address `l * size + e`. Reading
//! a stretch that one node covers in order is that node; anything else is a gather by known
//! positions.

use std::sync::Arc;

use exmc_graph::{Graph, NodeId};

use super::gather::{pick, read_mixed};
use super::lane_value::{Form, LaneValue, ints, pick_known, reals};
use crate::lower::loops::conditional_writes::Partly;
use crate::value::Value;

/// A variable's place.
#[derive(Clone, Debug)]
pub(in crate::lower) struct Storage {
    /// The level of its lanes.
    pub(in crate::lower) level: usize,
    /// How many masks were in force where it was declared.
    pub(in crate::lower) masks: usize,
    /// Extents of one lane's value.
    pub(in crate::lower) shape: Vec<usize>,
    /// What it holds.
    pub(in crate::lower) cells: Cells,
    /// Elements that have a value only under conditions on parameters.
    pub(in crate::lower) partly: Vec<Partly>,
}

/// See [`Storage`].
#[derive(Clone, Debug)]
pub(in crate::lower) enum Cells {
    /// One value, with a lane axis or the same in all lanes.
    Whole(LaneValue),
    /// Elements from several sources.
    Mixed {
        /// Where each address's element comes from.
        cells: Arc<Vec<Cell>>,
        /// What was assigned, in order.
        sources: Arc<Vec<Source>>,
    },
}

/// Where an element comes from.
#[derive(Clone, Copy, Debug)]
pub(in crate::lower) struct Cell {
    /// Number of the source, or [`NEVER`].
    pub(in crate::lower) source: u32,
    /// Position in the source's elements, row by row.
    pub(in crate::lower) offset: u32,
}

/// Elements that a lane-private copy has not been given yet.
pub(in crate::lower) const NEVER: u32 = u32::MAX;

/// Sources for each element, and beside these, beyond which those that nothing refers to are
/// dropped.
const UNUSED_PER_ELEMENT: usize = 2;
const MIN_UNUSED: usize = 16;

/// Lanes for each row of elements that make it worth picking the row once.
const WORTH_ROWS: usize = 16;

/// Something that was assigned.
#[derive(Clone, Debug)]
pub(in crate::lower) enum Source {
    /// Known numbers.
    Known(Value),
    /// A node.
    Node(NodeId),
}

/// Elements of a variable: addresses, for each lane `shape` of them (or the same for all lanes).
#[derive(Clone, Debug)]
pub(in crate::lower) struct Addresses {
    /// Extents of what is addressed.
    pub(in crate::lower) shape: Vec<usize>,
    /// Whether each current lane has its own.
    pub(in crate::lower) lanes: bool,
    /// Addresses, row by row, lane after lane.
    pub(in crate::lower) flat: Vec<u32>,
}

impl Addresses {
    /// Extents with the lane axis.
    pub(in crate::lower) fn full_shape(&self, lane_count: usize) -> Vec<usize> {
        let lanes = self.lanes.then_some(lane_count);
        lanes.into_iter().chain(self.shape.iter().copied()).collect()
    }

    /// Addresses of lanes that follow each other and have the same, once, and for each lane which
    /// of them it has. `lanes` says for each of the lanes that read whose addresses it has.
    ///
    /// Only where there are many lanes for each and the elements of one do not lie side by side:
    /// rows that do are picked as cheaply by the lanes themselves.
    pub(in crate::lower) fn rows_once(
        &self,
        lanes: impl ExactSizeIterator<Item = usize>,
    ) -> Option<(Vec<u32>, Vec<usize>)> {
        let each: usize = self.shape.iter().product();
        let count = lanes.len();
        if !self.lanes || each < 2 || count < WORTH_ROWS {
            return None;
        }
        let first = &self.flat[..each];
        if first.iter().zip(first[0]..).all(|(address, next)| *address == next) {
            return None;
        }
        let mut rows: Vec<u32> = Vec::new();
        let mut of_lane = Vec::with_capacity(count);
        let mut last = None;
        for lane in lanes {
            let row = &self.flat[lane * each..(lane + 1) * each];
            let is_same = last == Some(lane)
                || rows.len().checked_sub(each).is_some_and(|start| rows[start..] == *row);
            if !is_same {
                if rows.len() / each + 1 > count / WORTH_ROWS {
                    return None;
                }
                rows.extend_from_slice(row);
            }
            last = Some(lane);
            of_lane.push(rows.len() / each - 1);
        }
        Some((rows, of_lane))
    }

    /// The same addresses for all lanes once, where every lane's are the same.
    pub(in crate::lower) fn shared(mut self) -> Self {
        let each: usize = self.shape.iter().product();
        if self.lanes && each > 0 && self.flat.len() >= each {
            let (first, rest) = self.flat.split_at(each);
            if rest.chunks(each).all(|chunk| chunk == first) {
                self.flat.truncate(each);
                self.lanes = false;
            }
        }
        self
    }
}

impl Storage {
    /// A place that holds a whole value.
    pub(in crate::lower) fn from_value(
        level: usize,
        masks: usize,
        shape: Vec<usize>,
        value: LaneValue,
    ) -> Self {
        Self { level, masks, shape, cells: Cells::Whole(value), partly: Vec::new() }
    }

    /// Number of elements of one lane.
    pub(in crate::lower) fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it is just this node.
    pub(in crate::lower) fn is_node(&self, node: NodeId) -> bool {
        matches!(&self.cells, Cells::Whole(LaneValue { form: Form::Node(stored), .. }) if *stored == node)
    }

    /// Whether anything in it is a node.
    pub(in crate::lower) fn depends_on_parameters(&self) -> bool {
        match &self.cells {
            Cells::Whole(value) => !value.is_known(),
            Cells::Mixed { sources, .. } => sources.iter().any(|s| matches!(s, Source::Node(_))),
        }
    }

    /// Whether elements from several sources are known and finite at addresses.
    pub(in crate::lower) fn is_finite_at(&self, flat: &[u32]) -> bool {
        let Cells::Mixed { cells, sources } = &self.cells else { return false };
        flat.iter().all(|address| {
            let Cell { source, offset } = cells[*address as usize];
            let source = sources.get(source as usize);
            matches!(source, Some(Source::Known(value)) if number_at(value, offset).is_finite())
        })
    }

    /// Whether all lanes share one value, so that addresses run over one lane only.
    pub(in crate::lower) fn is_uniform(&self) -> bool {
        self.level == 0 || matches!(&self.cells, Cells::Whole(value) if !value.lanes)
    }

    /// A copy for each lane of a level, none of whose elements has been given.
    pub(in crate::lower) fn private(
        level: usize,
        masks: usize,
        shape: Vec<usize>,
        lanes: usize,
    ) -> Self {
        let size: usize = shape.iter().product();
        let cells = vec![Cell { source: NEVER, offset: 0 }; size * lanes];
        let cells = Cells::Mixed { cells: Arc::new(cells), sources: Arc::default() };
        Self { level, masks, shape, cells, partly: Vec::new() }
    }

    /// The elements at addresses, under `shape` (lane axis included); `None` when one was never
    /// given.
    pub(in crate::lower) fn read(
        &self,
        g: &mut Graph,
        flat: &[u32],
        shape: &[usize],
    ) -> Option<Form> {
        match &self.cells {
            Cells::Whole(value) => Some(match &value.form {
                Form::Known(known) => Form::Known(pick_known(known, flat, shape)),
                Form::Node(node) => Form::Node(pick(g, *node, flat, shape)),
                Form::Tuple(_) => value.form.clone(),
            }),
            Cells::Mixed { cells, sources } => read_mixed(g, cells, sources, flat, shape),
        }
    }

    /// Gives elements new values: address `flat[k]` gets element `offset(k)` of a source.
    pub(in crate::lower) fn write(
        &mut self,
        lanes: usize,
        flat: &[u32],
        source: Source,
        offset: impl Fn(usize) -> u32,
    ) {
        let total = self.size() * lanes;
        if let (
            Cells::Whole(LaneValue { form: Form::Known(known), lanes: spread }),
            Source::Known(new),
        ) = (&mut self.cells, &source)
        {
            if !*spread && lanes > 1 {
                let size: usize = self.shape.iter().product();
                let positions: Vec<u32> = (0..total).map(|k| (k % size.max(1)) as u32).collect();
                let full: Vec<usize> =
                    std::iter::once(lanes).chain(self.shape.iter().copied()).collect();
                *known = pick_known(known, &positions, &full);
                *spread = true;
            }
            write_known(known, new, flat, offset);
            return;
        }
        let (cells, sources) = self.mixed(total);
        let number = sources.len() as u32;
        Arc::make_mut(sources).push(source);
        let cells = Arc::make_mut(cells);
        for (k, address) in flat.iter().enumerate() {
            cells[*address as usize] = Cell { source: number, offset: offset(k) };
        }
        // Loops that write one element over and over would make every copy and look at the sources
        // as long as they ran.
        if number as usize > UNUSED_PER_ELEMENT * cells.len() + MIN_UNUSED {
            self.drop_unused();
        }
    }

    /// Forgets sources that no element refers to any more; the others keep their order.
    pub(in crate::lower) fn drop_unused(&mut self) {
        let Cells::Mixed { cells, sources } = &mut self.cells else { return };
        let mut numbers: Vec<Option<u32>> = vec![None; sources.len()];
        for cell in cells.iter().filter(|cell| cell.source != NEVER) {
            numbers[cell.source as usize] = Some(0);
        }
        let mut kept = Vec::new();
        for (number, source) in numbers.iter_mut().zip(sources.iter()) {
            if number.is_some() {
                *number = Some(kept.len() as u32);
                kept.push(source.clone());
            }
        }
        let renumbered = |cell: &Cell| match cell.source {
            NEVER => *cell,
            source => Cell { source: numbers[source as usize].unwrap_or(NEVER), ..*cell },
        };
        *cells = Arc::new(cells.iter().map(renumbered).collect());
        *sources = Arc::new(kept);
    }

    /// The element map, made if there is none yet.
    pub(in crate::lower) fn mixed(
        &mut self,
        total: usize,
    ) -> (&mut Arc<Vec<Cell>>, &mut Arc<Vec<Source>>) {
        if let Cells::Whole(value) = &self.cells {
            let size = if value.lanes { total } else { self.shape.iter().product() };
            let source = match &value.form {
                Form::Known(known) => Source::Known(known.clone()),
                Form::Node(node) => Source::Node(*node),
                Form::Tuple(_) => unreachable!("tuples are assigned whole"),
            };
            let cell = |k: usize| Cell { source: 0, offset: (k % size.max(1)) as u32 };
            let cells = Arc::new((0..total).map(cell).collect());
            self.cells = Cells::Mixed { cells, sources: Arc::new(vec![source]) };
        }
        match &mut self.cells {
            Cells::Mixed { cells, sources } => (cells, sources),
            Cells::Whole(_) => unreachable!("made in the lines above"),
        }
    }
}

/// A number of a known value, by its position; NaN of what is no number.
fn number_at(value: &Value, position: u32) -> f64 {
    let position = position as usize;
    match value {
        Value::Int(number) => *number as f64,
        Value::Real(number) => *number,
        Value::Ints(numbers) => numbers.values[position] as f64,
        Value::Reals(numbers) => numbers.values[position],
        _ => f64::NAN,
    }
}

fn write_known(known: &mut Value, new: &Value, flat: &[u32], offset: impl Fn(usize) -> u32) {
    if let Value::Ints(numbers) = known
        && let Some(new) = ints(new)
    {
        let values = numbers.make_mut();
        flat.iter().enumerate().for_each(|(k, a)| values[*a as usize] = new[offset(k) as usize]);
        return;
    }
    let Some(last) = flat.len().checked_sub(1) else { return };
    match known {
        Value::Reals(numbers) => {
            let new = reals(new);
            let values = numbers.make_mut();
            flat.iter()
                .enumerate()
                .for_each(|(k, a)| values[*a as usize] = new[offset(k) as usize]);
        }
        Value::Int(_) | Value::Real(_) => {
            *known = pick_known(new, &[offset(last)], &[]);
        }
        _ => {}
    }
}
