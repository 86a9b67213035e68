//! Elements of a variable -> a node or known numbers: stretches as slices, anything else by known positions.

use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};
use rustc_hash::FxHashMap;

use super::lane_value::{Form, constant, int_value, ints, is_int, pick_known, real_value, reals};
use super::store::{Cell, NEVER, Source};
use crate::value::Value;

/// Which of the sources that are read each one is, or [`NEVER`]. A variable that is given a part in each of many
/// iterations has many more sources than a read of some elements meets.
enum Places {
    All(Vec<u32>),
    Met(FxHashMap<u32, u32>),
}

impl Places {
    fn new(sources: usize, elements: usize) -> Self {
        if sources > 64 && sources > 2 * elements {
            Self::Met(FxHashMap::default())
        } else {
            Self::All(vec![NEVER; sources])
        }
    }

    fn of(&self, source: u32) -> u32 {
        match self {
            Self::All(places) => places[source as usize],
            Self::Met(places) => places.get(&source).copied().unwrap_or(NEVER),
        }
    }

    fn set(&mut self, source: u32, place: u32) {
        match self {
            Self::All(places) => places[source as usize] = place,
            Self::Met(places) => {
                places.insert(source, place);
            }
        }
    }
}

/// Elements that come from several sources, under `shape`; `None` when one was never given.
pub(super) fn read_mixed(
    g: &mut Graph,
    cells: &[Cell],
    sources: &[Source],
    flat: &[u32],
    shape: &[usize],
) -> Option<Form> {
    let mut chosen: Vec<Cell> = flat.iter().map(|a| cells[*a as usize]).collect();
    // Sources in the order in which they are first used, so that parts that follow each other do so; from
    // here on they go by their places in it. Of each source, only the stretch that is used is joined.
    let mut used: Vec<u32> = Vec::new();
    let (mut low, mut high): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut places = Places::new(sources.len(), chosen.len());
    let (mut previous, mut place) = (None, 0);
    for cell in &mut chosen {
        if previous != Some(cell.source) {
            if cell.source == NEVER {
                return None;
            }
            previous = Some(cell.source);
            place = places.of(cell.source);
            if place == NEVER {
                place = used.len() as u32;
                places.set(cell.source, place);
                used.push(cell.source);
                low.push(cell.offset);
                high.push(cell.offset + 1);
            }
        }
        cell.source = place;
        let k = place as usize;
        low[k] = low[k].min(cell.offset);
        high[k] = high[k].max(cell.offset + 1);
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
            let numbers =
                chosen.iter().map(|c| tables[c.source as usize][c.offset as usize]).collect();
            return Some(Form::Known(int_value(shape, numbers)));
        }
        let tables: Vec<_> = known.iter().map(|v| reals(v)).collect();
        let numbers = chosen.iter().map(|c| tables[c.source as usize][c.offset as usize]).collect();
        return Some(Form::Known(real_value(shape, numbers)));
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
            let k = c.source as usize;
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
    let rows: Vec<usize> = match width {
        1 => positions.iter().map(|p| *p as usize).collect(),
        _ => positions.chunks(width).map(|row| row[0] as usize / width).collect(),
    };
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
