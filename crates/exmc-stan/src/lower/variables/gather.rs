//! Elements of a variable -> a node or known numbers: stretches as slices, anything else by known
//! positions.

use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};
use rustc_hash::FxHashMap;

use super::lane_value::{Form, constant, int_value, ints, is_int, pick_known, real_value, reals};
use super::store::{Cell, NEVER, Source};
use crate::value::Value;

/// Of each source that is read, the stretch of its elements that is. A variable that is given a
/// part in each of many iterations has many more sources than a read of some elements meets.
enum Stretches {
    All(Vec<Stretch>),
    Met(FxHashMap<u32, Stretch>),
}

/// See [`Stretches`].
#[derive(Clone, Copy)]
struct Stretch {
    /// The first element.
    low: u32,
    /// Behind the last one; zero of a source that is not read.
    high: u32,
    /// What leads from an element of the source to its place in the parts that are joined, modulo
    /// 2^32.
    shift: u32,
}

impl Stretches {
    const NONE: Stretch = Stretch { low: u32::MAX, high: 0, shift: 0 };

    fn new(sources: usize, elements: usize) -> Self {
        if sources > 64 && sources > 2 * elements {
            Self::Met(FxHashMap::default())
        } else {
            Self::All(vec![Self::NONE; sources])
        }
    }

    /// The stretch of a source; nothing of one that is none.
    fn stretch_of(&mut self, source: u32) -> Option<&mut Stretch> {
        match self {
            Self::All(all) => all.get_mut(source as usize),
            Self::Met(_) if source == NEVER => None,
            Self::Met(met) => Some(met.entry(source).or_insert(Self::NONE)),
        }
    }
}

/// Elements that come from several sources, under `shape`; `None` when one was never given.
pub(in crate::lower) fn read_mixed(
    g: &mut Graph,
    cells: &[Cell],
    sources: &[Source],
    flat: &[u32],
    shape: &[usize],
) -> Option<Form> {
    let chosen = || flat.iter().map(|address| cells[*address as usize]);
    // Sources in the order in which they are first used, so that parts that follow each other do
    // so.
    let mut used: Vec<u32> = Vec::new();
    let mut stretches = Stretches::new(sources.len(), flat.len());
    for Cell { source, offset } in chosen() {
        let stretch = stretches.stretch_of(source)?;
        if stretch.high == 0 {
            used.push(source);
        }
        stretch.low = stretch.low.min(offset);
        stretch.high = stretch.high.max(offset + 1);
    }
    let known = used.iter().map(|source| match &sources[*source as usize] {
        Source::Known(value) => Some(value),
        Source::Node(_) => None,
    });
    if let Some(known) = known.collect::<Option<Vec<&Value>>>() {
        for (source, number) in used.iter().zip(0..) {
            stretches.stretch_of(*source)?.shift = number;
        }
        let all = chosen().map(|Cell { source, offset }| {
            Some((stretches.stretch_of(source)?.shift as usize, offset as usize))
        });
        if !known.is_empty() && known.iter().all(|v| is_int(v)) {
            let tables: Vec<_> = known.iter().filter_map(|v| ints(v)).collect();
            let numbers = all.map(|entry| entry.map(|(table, offset)| tables[table][offset]));
            return Some(Form::Known(int_value(shape, numbers.collect::<Option<_>>()?)));
        }
        let tables: Vec<_> = known.iter().map(|v| reals(v)).collect();
        let numbers = all.map(|entry| entry.map(|(table, offset)| tables[table][offset]));
        return Some(Form::Known(real_value(shape, numbers.collect::<Option<_>>()?)));
    }
    if let [only] = used.as_slice() {
        let positions: Vec<u32> = chosen().map(|cell| cell.offset).collect();
        return Some(Form::Node(match &sources[*only as usize] {
            Source::Node(node) => pick(g, *node, &positions, shape),
            Source::Known(value) => {
                let value = pick_known(value, &positions, shape);
                constant(g, &value)
            }
        }));
    }
    // Only the stretch of each source that is used is joined.
    let mut parts = Vec::with_capacity(used.len());
    let mut start: u32 = 0;
    for source in &used {
        let stretch = stretches.stretch_of(*source)?;
        let positions: Vec<u32> = (stretch.low..stretch.high).collect();
        stretch.shift = start.wrapping_sub(stretch.low);
        let len = positions.len();
        parts.push(match &sources[*source as usize] {
            Source::Node(node) => pick(g, *node, &positions, &[len]),
            Source::Known(value) => {
                let numbers = pick_known(value, &positions, &[len]);
                let node = constant(g, &numbers);
                g.broadcast_to(node, &Shape::from([len]))
            }
        });
        start += len as u32;
    }
    let joined = g.concat(&parts, 0);
    let mut positions: Vec<u32> = Vec::with_capacity(flat.len());
    for Cell { source, offset } in chosen() {
        positions.push(stretches.stretch_of(source)?.shift.wrapping_add(offset));
    }
    Some(Form::Node(pick(g, joined, &positions, shape)))
}

/// The elements of a node at positions (row by row), under another shape.
pub(in crate::lower) fn pick(
    g: &mut Graph,
    node: NodeId,
    positions: &[u32],
    shape: &[usize],
) -> NodeId {
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
        let has_full_rows = positions.len().is_multiple_of(width)
            && positions.chunks(width).all(|row| {
                (row[0] as usize).is_multiple_of(width)
                    && row.iter().zip(row[0]..).all(|(p, q)| *p == q)
            });
        if has_full_rows {
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
