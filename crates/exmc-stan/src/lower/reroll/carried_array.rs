//! Arrays that grow by what each iteration writes -> a state that is changed at some places in each
//! step.
//!
//! `dot_product(x[1:t], w)` needs all that the iterations before wrote. Where an array is read
//! whole in every iteration and differs from the iteration before only in elements that the latter
//! wrote, it is carried from step to step: `next = where(mask, what was written, array)`.

use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::ops::Range;
use std::rc::Rc;

use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};

use super::align::{Alignment, DEPTH, Item};

/// Elements, of all steps together, beyond which arrays are not looked through.
const MAX_ELEMENTS: usize = 8_000_000;

/// Elements that are looked at on the way to where those of a row of arrays come from: arrays that
/// are put together of arrays that are put together have more ways than elements.
const MAX_LOOKED_AT: usize = 30_000_000;

/// Times as many elements in a table as are taken from it, from which on each is looked for by
/// itself.
const MAX_CHANGED: usize = 8;

/// An array that is carried.
#[derive(Debug)]
pub(in crate::lower) struct CarriedArray {
    /// The array before the first step.
    pub(in crate::lower) start: NodeId,
    /// The number of the write that changes it.
    pub(in crate::lower) write: usize,
    /// Where each step changes it: ones, along an axis of steps.
    pub(in crate::lower) mask: Tensor,
    /// For each element, which element of what was written it becomes.
    pub(in crate::lower) places: Vec<usize>,
}

/// One element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Known(u64),
    Of(NodeId, u32),
}

/// Where elements of arrays come from, as far as it was looked for.
struct Sources {
    known: BTreeMap<NodeId, Rc<[Element]>>,
    /// Elements that may still be looked at.
    left: usize,
}

impl CarriedArray {
    /// What was written, laid out over the whole array.
    pub(in crate::lower) fn laid_out(
        &self,
        g: &mut Graph,
        written: NodeId,
        shape: &Shape,
    ) -> NodeId {
        let count = g.shape(written).len();
        let each = shape.len() / count.max(1);
        // An array may be smaller than what is written, of which it has a part.
        let fills = each * count == shape.len();
        if fills && self.places.iter().enumerate().all(|(k, place)| k / each.max(1) == *place) {
            let wide = match shape.extents() {
                [rows, ..] if count == 1 || *rows == count => shape.clone(),
                _ => Shape::from([count, each]),
            };
            let mut extents = vec![1; wide.rank()];
            if count > 1 {
                extents[0] = count;
            }
            let rows = g.reshape(written, extents);
            let rows = g.broadcast_to(rows, &wide);
            return g.reshape(rows, shape.clone());
        }
        let flat = g.reshape(written, [count]);
        let index = g.constant(Tensor::indices(&self.places));
        let taken = g.gather(flat, index);
        g.reshape(taken, shape.clone())
    }
}

impl Alignment<'_> {
    /// The item of a row of arrays, each of which has what the iteration before it wrote in some
    /// places.
    pub(in crate::lower) fn history(&mut self, row: &[NodeId]) -> Option<Item> {
        let shape = self.graph.shape(row[0]).clone();
        let size = shape.len();
        if row.len() < 2 || size * row.len() > MAX_ELEMENTS {
            return None;
        }
        let mut mask = vec![0.0; size * row.len()];
        let mut places = vec![None; size];
        let mut found: Option<(usize, usize)> = None;
        let mut sources = Sources { known: BTreeMap::new(), left: MAX_LOOKED_AT };
        let mut before = self.elements_beneath(row[0], 0, &mut sources)?;
        let first = self.stretch.start;
        if before
            .iter()
            .any(|element| self.writer(element, first + 1).is_some_and(|(s, _)| s >= first))
        {
            return None;
        }
        for (step, id) in row.iter().enumerate().skip(1) {
            let now = self.elements_beneath(*id, 0, &mut sources)?;
            for (k, (old, new)) in before.iter().zip(&*now).enumerate() {
                if old == new {
                    continue;
                }
                let t = first + step;
                let (s, write) = self.writer(new, t)?;
                let Element::Of(node, offset) = *new else { return None };
                let len = self.graph.shape(node).len();
                let same = *found.get_or_insert((write, len)) == (write, len);
                if s + 1 != t
                    || !same
                    || *places[k].get_or_insert(offset as usize) != offset as usize
                {
                    return None;
                }
                mask[(step - 1) * size + k] = 1.0;
            }
            before = now;
        }
        let (write, len) = found?;
        // What no step changes may become anything: best what makes rows of one element each.
        let in_rows = |k: usize| (k * len).checked_div(size).unwrap_or(0);
        let rows =
            places.iter().enumerate().all(|(k, place)| place.is_none_or(|p| p == in_rows(k)));
        let other = |k: usize| if rows { in_rows(k) } else { 0 };
        let places = places.into_iter().enumerate();
        let places = places.map(|(k, place)| place.unwrap_or_else(|| other(k))).collect();
        let mask = Tensor::real(Shape::from([row.len()]).join(shape.extents()), mask)?;
        Some(Item::CarriedArray(CarriedArray { start: row[0], write, mask, places }))
    }

    /// The last iteration before `t` that wrote the node of an element, and as which write.
    fn writer(&self, element: &Element, t: usize) -> Option<(usize, usize)> {
        let Element::Of(node, _) = element else { return None };
        self.written_before(*node, t).map(|(write, lag)| (t - lag, write))
    }

    /// Adds where the elements at `range` of a node come from, row by row; nothing where too
    /// many would be looked at.
    fn append(
        &self,
        id: NodeId,
        range: Range<usize>,
        found: &mut Vec<Element>,
        depth: usize,
        sources: &mut Sources,
    ) -> Option<()> {
        let g = &*self.graph;
        let (mut id, mut range) = (id, range);
        if depth > DEPTH || range.is_empty() {
            return range.is_empty().then_some(());
        }
        sources.left = sources.left.checked_sub(range.len())?;
        loop {
            let node = g.node(id);
            if let Some(known) = sources.known.get(&id) {
                found.extend_from_slice(known.get(range)?);
                return Some(());
            }
            if let Some(tensor) = g.as_constant(id) {
                let known = |value: &f64| Element::Known(value.to_bits());
                found.extend(tensor.values().get(range)?.iter().map(known));
                return Some(());
            }
            if let Some(value) = g.as_uniform(id) {
                found.extend(repeat_n(Element::Known(value.to_bits()), range.len()));
                return Some(());
            }
            if self.is_written(id) {
                break;
            }
            let around = |axis: usize, shape: &Shape| {
                let (outer, inner) = shape.extents().split_at(axis);
                [outer.iter().product::<usize>(), inner[1..].iter().product()]
            };
            match &node.op {
                Op::Reshape(_) => {}
                Op::Slice { axis, start, step: 1, .. } if around(*axis, &node.shape)[0] == 1 => {
                    let first = start * around(*axis, &node.shape)[1];
                    range = range.start + first..range.end + first;
                }
                Op::Slice { axis, start, step, len } => {
                    let [_, inner] = around(*axis, &node.shape);
                    let extent = g.shape(node.args[0]).extents()[*axis];
                    let all = self.elements_beneath(node.args[0], depth, sources)?;
                    for position in range {
                        let (row, rest) = (position / inner, position % inner);
                        let (outer, k) = (row / len, row % len);
                        found.push(all[(outer * extent + start + k * step) * inner + rest]);
                    }
                    return Some(());
                }
                Op::Gather => {
                    let index = g.as_constant(node.args[1])?.values();
                    let [_, inner] = around(0, g.shape(node.args[0]));
                    let rows = index.get(range.start / inner..range.end.div_ceil(inner))?;
                    // Of few elements, no more is looked at than they are.
                    if MAX_CHANGED * range.len() < g.shape(node.args[0]).len() {
                        for position in range {
                            let first =
                                *index.get(position / inner)? as usize * inner + position % inner;
                            self.append(node.args[0], first..first + 1, found, depth + 1, sources)?;
                        }
                        return Some(());
                    }
                    let all = self.elements_beneath(node.args[0], depth, sources)?;
                    if inner == 1 {
                        let pick = |row: &f64| all.get(*row as usize).copied();
                        for row in rows {
                            found.push(pick(row)?);
                        }
                        return Some(());
                    }
                    for position in range {
                        let first = *index.get(position / inner)? as usize * inner;
                        found.push(*all.get(first + position % inner)?);
                    }
                    return Some(());
                }
                Op::Concat { axis } => {
                    let [outer, inner] = around(*axis, &node.shape);
                    // Where the part of an argument in a block begins among all elements.
                    let mut begin = 0;
                    for block in 0..outer {
                        for &arg in &node.args {
                            let width = g.shape(arg).extents()[*axis] * inner;
                            let low = range.start.max(begin);
                            let high = range.end.min(begin + width);
                            if low < high {
                                let arg_range =
                                    low - begin + block * width..high - begin + block * width;
                                self.append(arg, arg_range, found, depth + 1, sources)?;
                            }
                            begin += width;
                        }
                    }
                    return Some(());
                }
                Op::Broadcast(_) if g.shape(node.args[0]).len() == 1 => {
                    let first = found.len();
                    self.append(node.args[0], 0..1, found, depth + 1, sources)?;
                    let only = *found.get(first)?;
                    found.extend(repeat_n(only, range.len().saturating_sub(1)));
                    found.truncate(first + range.len());
                    return Some(());
                }
                _ => break,
            }
            id = node.args[0];
        }
        found.extend(range.map(|position| Element::Of(id, position as u32)));
        Some(())
    }

    /// Where all elements of an array that was put together come from.
    fn elements_beneath(
        &self,
        id: NodeId,
        depth: usize,
        sources: &mut Sources,
    ) -> Option<Rc<[Element]>> {
        if let Some(known) = sources.known.get(&id) {
            return Some(Rc::clone(known));
        }
        let size = self.graph.shape(id).len();
        let mut found = Vec::with_capacity(size);
        self.append(id, 0..size, &mut found, depth + 1, sources)?;
        let found: Rc<[Element]> = found.into();
        sources.known.insert(id, Rc::clone(&found));
        Some(found)
    }
}
