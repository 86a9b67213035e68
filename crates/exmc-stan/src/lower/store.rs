//! Variables during lowering: for each element, which node (or known number) it was last given.
//!
//! A variable belongs to the level at which it was declared and has one value for each of that level's
//! lanes, all numbered through: element `e` of lane `l` has address `l * size + e`. Reading a stretch that
//! one node covers in order is that node; anything else is a gather by known positions.

use std::sync::Arc;

use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};

use super::lane_value::{
    Form, LaneValue, constant, int_value, ints, is_int, pick_known, real_value, reals,
};
use crate::value::Value;

/// A variable's place.
#[derive(Clone, Debug)]
pub(super) struct Storage {
    /// The level of its lanes.
    pub(super) level: usize,
    /// How many masks were in force where it was declared.
    pub(super) masks: usize,
    /// Extents of one lane's value.
    pub(super) shape: Vec<usize>,
    /// What it holds.
    pub(super) cells: Cells,
}

/// See [`Storage`].
#[derive(Clone, Debug)]
pub(super) enum Cells {
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
pub(super) struct Cell {
    /// Number of the source, or [`NEVER`].
    pub(super) source: u32,
    /// Position in the source's elements, row by row.
    pub(super) offset: u32,
}

/// Elements that a lane-private copy has not been given yet.
pub(super) const NEVER: u32 = u32::MAX;

/// Something that was assigned.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// Known numbers.
    Known(Value),
    /// A node.
    Node(NodeId),
}

/// Elements of a variable: addresses, for each lane `shape` of them (or the same for all lanes).
#[derive(Clone, Debug)]
pub(super) struct Addresses {
    /// Extents of what is addressed.
    pub(super) shape: Vec<usize>,
    /// Whether each current lane has its own.
    pub(super) lanes: bool,
    /// Addresses, row by row, lane after lane.
    pub(super) flat: Vec<u32>,
}

impl Addresses {
    /// Extents with the lane axis.
    pub(super) fn full_shape(&self, lane_count: usize) -> Vec<usize> {
        let lanes = self.lanes.then_some(lane_count);
        lanes.into_iter().chain(self.shape.iter().copied()).collect()
    }

    /// The same addresses for all lanes once, where every lane's are the same.
    pub(super) fn shared(mut self) -> Self {
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
    /// Number of elements of one lane.
    pub(super) fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether it is just this node.
    pub(super) fn is_node(&self, node: NodeId) -> bool {
        matches!(&self.cells, Cells::Whole(LaneValue { form: Form::Node(own), .. }) if *own == node)
    }

    /// Whether all lanes share one value, so that addresses run over one lane only.
    pub(super) fn is_uniform(&self) -> bool {
        self.level == 0 || matches!(&self.cells, Cells::Whole(value) if !value.lanes)
    }

    /// A copy for each lane of a level, none of whose elements has been given.
    pub(super) fn private(level: usize, masks: usize, shape: Vec<usize>, lanes: usize) -> Self {
        let size: usize = shape.iter().product();
        let cells = vec![Cell { source: NEVER, offset: 0 }; size * lanes];
        let cells = Cells::Mixed { cells: Arc::new(cells), sources: Arc::default() };
        Self { level, masks, shape, cells }
    }

    /// The elements at addresses, under `shape` (lane axis included); `None` when one was never given.
    pub(super) fn read(&self, g: &mut Graph, flat: &[u32], shape: &[usize]) -> Option<Form> {
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
    pub(super) fn write(
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
    }

    /// The element map, made if there is none yet.
    pub(super) fn mixed(&mut self, total: usize) -> (&mut Arc<Vec<Cell>>, &mut Arc<Vec<Source>>) {
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

fn read_mixed(
    g: &mut Graph,
    cells: &[Cell],
    sources: &[Source],
    flat: &[u32],
    shape: &[usize],
) -> Option<Form> {
    let chosen: Vec<Cell> = flat.iter().map(|a| cells[*a as usize]).collect();
    // Sources in the order in which they are first used, so that parts that follow each other do so.
    let mut used: Vec<u32> = Vec::new();
    let mut place: Vec<u32> = vec![NEVER; sources.len()];
    let mut previous = NEVER;
    for cell in &chosen {
        if cell.source == NEVER {
            return None;
        }
        if cell.source != previous && place[cell.source as usize] == NEVER {
            place[cell.source as usize] = used.len() as u32;
            used.push(cell.source);
        }
        previous = cell.source;
    }
    let all_known = used.iter().all(|s| matches!(sources[*s as usize], Source::Known(_)));
    if all_known {
        let known: Vec<&Value> = used
            .iter()
            .filter_map(|s| match &sources[*s as usize] {
                Source::Known(value) => Some(value),
                Source::Node(_) => None,
            })
            .collect();
        if !known.is_empty() && known.iter().all(|v| is_int(v)) {
            let tables: Vec<_> = known.iter().filter_map(|v| ints(v)).collect();
            let numbers = chosen
                .iter()
                .map(|c| tables[place[c.source as usize] as usize][c.offset as usize])
                .collect();
            return Some(Form::Known(int_value(shape, numbers)));
        }
        let tables: Vec<_> = known.iter().map(|v| reals(v)).collect();
        let numbers = chosen
            .iter()
            .map(|c| tables[place[c.source as usize] as usize][c.offset as usize])
            .collect();
        return Some(Form::Known(real_value(shape, numbers)));
    }
    // Only the stretch of each source that is used is joined.
    let mut low = vec![u32::MAX; used.len()];
    let mut high = vec![0; used.len()];
    for cell in &chosen {
        let k = place[cell.source as usize] as usize;
        low[k] = low[k].min(cell.offset);
        high[k] = high[k].max(cell.offset + 1);
    }
    if let [only] = used.as_slice() {
        let positions: Vec<u32> = chosen.iter().map(|c| c.offset).collect();
        return Some(Form::Node(match &sources[*only as usize] {
            Source::Node(node) => pick(g, *node, &positions, shape),
            Source::Known(value) => {
                let value = pick_known(value, &positions, shape);
                constant(g, &value)
            }
        }));
    }
    let mut parts = Vec::with_capacity(used.len());
    let mut starts = Vec::with_capacity(used.len());
    let mut start = 0;
    for (k, source) in used.iter().enumerate() {
        let positions: Vec<u32> = (low[k]..high[k]).collect();
        let len = positions.len();
        parts.push(match &sources[*source as usize] {
            Source::Node(node) => pick(g, *node, &positions, &[len]),
            Source::Known(value) => {
                let numbers = pick_known(value, &positions, &[len]);
                let node = constant(g, &numbers);
                g.broadcast_to(node, &Shape::from([len]))
            }
        });
        starts.push(start);
        start += len as u32;
    }
    let joined = g.concat(&parts, 0);
    let positions: Vec<u32> = chosen
        .iter()
        .map(|c| {
            let k = place[c.source as usize] as usize;
            starts[k] + c.offset - low[k]
        })
        .collect();
    Some(Form::Node(pick(g, joined, &positions, shape)))
}

/// The elements of a node at positions (row by row), under another shape.
pub(super) fn pick(g: &mut Graph, node: NodeId, positions: &[u32], shape: &[usize]) -> NodeId {
    let total = g.shape(node).len();
    let wanted = Shape::from(shape);
    let Some((&first, rest)) = positions.split_first() else {
        return g.filled(&wanted, 0.0);
    };
    if total == 1 {
        let single = g.reshape(node, Shape::scalar());
        return g.broadcast_to(single, &wanted);
    }
    let by =
        |step: u32| positions.iter().zip(first..).all(|(p, q)| *p == first + (q - first) * step);
    if positions.len() == total && first == 0 && by(1) {
        return g.reshape(node, wanted);
    }
    let flat = |g: &mut Graph| g.reshape(node, [total]);
    if rest.is_empty() {
        let flat = flat(g);
        let single = g.slice(flat, 0, first as usize, first as usize + 1);
        return g.reshape(single, wanted);
    }
    let step = rest[0].saturating_sub(first);
    if step > 0 && by(step) {
        let source = flat(g);
        let op =
            Op::Slice { axis: 0, start: first as usize, step: step as usize, len: positions.len() };
        let part = g.apply(op, &[source]).expect("positions lie in the node");
        return g.reshape(part, wanted);
    }
    // Whole rows, as long as they can be.
    let extents = g.shape(node).extents().to_vec();
    let mut width: usize = extents.iter().skip(1).product();
    let mut axis = 1;
    while width > 1 {
        let whole = positions.len().is_multiple_of(width)
            && positions.chunks(width).all(|row| {
                (row[0] as usize).is_multiple_of(width)
                    && row.iter().zip(row[0]..).all(|(p, q)| *p == q)
            });
        if whole {
            break;
        }
        width = extents.get(axis + 1..).map_or(1, |rest| rest.iter().product());
        axis += 1;
    }
    let width = width.max(1);
    let rows: Vec<usize> = positions.iter().step_by(width).map(|p| *p as usize / width).collect();
    let table_shape = if width == 1 { vec![total] } else { vec![total / width, width] };
    let table = g.reshape(node, table_shape);
    let first_row = rows[0];
    if rows.iter().enumerate().all(|(k, row)| *row == first_row + k) {
        let part = g.slice(table, 0, first_row, first_row + rows.len());
        return g.reshape(part, wanted);
    }
    let index = g.constant(Tensor::indices(&rows));
    let part = g.gather(table, index);
    g.reshape(part, wanted)
}
