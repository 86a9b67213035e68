//! Arrays that grow by what each iteration writes -> a state that is changed at some places in each step.
//!
//! `dot_product(x[1:t], w)` needs all that the iterations before wrote. Where an array is read whole in every
//! iteration and differs from the iteration before only in elements that the latter wrote, it is carried
//! from step to step: `next = where(mask, what was written, array)`.

use exmc_graph::{Graph, NodeId, Op, Shape, Tensor};

use super::overlay::{Item, Overlay};

/// Elements, of all steps together, beyond which arrays are not looked through.
const MOST: usize = 8_000_000;

/// An array that is carried.
#[derive(Debug)]
pub(super) struct History {
    /// The array before the first step.
    pub(super) start: NodeId,
    /// The number of the write that changes it.
    pub(super) write: usize,
    /// Where each step changes it: ones, along an axis of steps.
    pub(super) mask: Tensor,
    /// For each element, which element of what was written it becomes.
    pub(super) places: Vec<usize>,
}

/// One element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    Known(u64),
    Of(NodeId, u32),
}

impl History {
    /// What was written, laid out over the whole array.
    pub(super) fn laid_out(&self, g: &mut Graph, written: NodeId, shape: &Shape) -> NodeId {
        let count = g.shape(written).len();
        let each = shape.len() / count.max(1);
        if self.places.iter().enumerate().all(|(k, place)| k / each.max(1) == *place) {
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

impl Overlay<'_> {
    /// The item of a row of arrays, each of which has what the iteration before it wrote in some places.
    pub(super) fn history(&mut self, row: &[NodeId]) -> Option<Item> {
        let shape = self.graph.shape(row[0]).clone();
        let size = shape.len();
        if row.len() < 2 || size * row.len() > MOST {
            return None;
        }
        let mut mask = vec![0.0; size * row.len()];
        let mut places = vec![None; size];
        let mut found: Option<(usize, usize)> = None;
        let mut before = self.elements(row[0])?;
        let first = self.stretch.start;
        if before
            .iter()
            .any(|element| self.writer(element, first + 1).is_some_and(|(s, _)| s >= first))
        {
            return None;
        }
        for (step, id) in row.iter().enumerate().skip(1) {
            let now = self.elements(*id)?;
            for (k, (old, new)) in before.iter().zip(&now).enumerate() {
                if old == new {
                    continue;
                }
                let t = first + step;
                let (s, write) = self.writer(new, t)?;
                let Element::Of(node, at) = *new else { return None };
                let len = self.graph.shape(node).len();
                let same = *found.get_or_insert((write, len)) == (write, len);
                if s + 1 != t || !same || *places[k].get_or_insert(at as usize) != at as usize {
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
        Some(Item::History(History { start: row[0], write, mask, places }))
    }

    /// The last iteration before `t` that wrote the node of an element, and as which write.
    fn writer(&self, element: &Element, t: usize) -> Option<(usize, usize)> {
        let Element::Of(node, _) = element else { return None };
        self.written_before(*node, t).map(|(write, lag)| (t - lag, write))
    }

    fn elements(&self, id: NodeId) -> Option<Vec<Element>> {
        let size = self.graph.shape(id).len();
        let mut found = vec![Element::Known(0); size];
        self.trace(id, (0..size).map(|k| (k as u32, k as u32)).collect(), &mut found)?;
        Some(found)
    }

    /// Where elements of an array that was put together come from: `wanted` has (place in `found`, position in the
    /// array) of each.
    fn trace(&self, id: NodeId, mut wanted: Vec<(u32, u32)>, found: &mut [Element]) -> Option<()> {
        let g = &*self.graph;
        let mut id = id;
        loop {
            let node = g.node(id);
            if let Some(tensor) = g.as_constant(id) {
                for (place, at) in wanted {
                    found[place as usize] =
                        Element::Known(tensor.values().get(at as usize)?.to_bits());
                }
                return Some(());
            }
            if let Some(value) = g.as_uniform(id) {
                for (place, _) in wanted {
                    found[place as usize] = Element::Known(value.to_bits());
                }
                return Some(());
            }
            if self.is_written(id) {
                break;
            }
            let inner = |axis: usize, shape: &Shape| {
                shape.extents()[axis + 1..].iter().product::<usize>().max(1) as u32
            };
            match &node.op {
                Op::Reshape(_) => {}
                Op::Slice { axis, start, step, len } => {
                    let from = g.shape(node.args[0]);
                    let (inner, extent) = (inner(*axis, from), from.extents()[*axis] as u32);
                    let (start, step, len) = (*start as u32, *step as u32, *len as u32);
                    for (_, at) in &mut wanted {
                        let (row, rest) = split(*at, inner);
                        let (outer, k) = split(row, len);
                        *at = (outer * extent + start + k * step) * inner + rest;
                    }
                }
                Op::Gather => {
                    let index = g.as_constant(node.args[1])?.values();
                    let inner = inner(0, g.shape(node.args[0]));
                    for (_, at) in &mut wanted {
                        let (row, rest) = split(*at, inner);
                        *at = *index.get(row as usize)? as u32 * inner + rest;
                    }
                }
                Op::Concat { axis } => {
                    let inner = inner(*axis, &node.shape);
                    let extent = node.shape.extents()[*axis] as u32;
                    // For each position along the axis: whose it is, where that part begins, its extent.
                    let mut parts: Vec<(u32, u32, u32)> = Vec::with_capacity(extent as usize);
                    for (number, arg) in node.args.iter().enumerate() {
                        let own = g.shape(*arg).extents()[*axis];
                        let place = (number as u32, parts.len() as u32, own as u32);
                        parts.extend(std::iter::repeat_n(place, own));
                    }
                    let place = |at: u32| {
                        let (row, rest) = split(at, inner);
                        let (outer, k) = if row < extent { (0, row) } else { split(row, extent) };
                        let (number, first, own) = parts[k as usize];
                        (number as usize, (outer * own + k - first) * inner + rest)
                    };
                    // Counted first, since there may be as many parts as elements.
                    let mut counts = vec![0; node.args.len()];
                    wanted.iter().for_each(|&(_, at)| counts[place(at).0] += 1);
                    let mut of_part: Vec<_> =
                        counts.into_iter().map(Vec::<(u32, u32)>::with_capacity).collect();
                    for (to, at) in wanted {
                        let (number, at) = place(at);
                        of_part[number].push((to, at));
                    }
                    for (arg, wanted) in node.args.iter().zip(of_part) {
                        if !wanted.is_empty() {
                            self.trace(*arg, wanted, found)?;
                        }
                    }
                    return Some(());
                }
                Op::Broadcast(_) if g.shape(node.args[0]).len() == 1 => {
                    wanted.iter_mut().for_each(|(_, at)| *at = 0);
                }
                _ => break,
            }
            id = node.args[0];
        }
        for (place, at) in wanted {
            found[place as usize] = Element::Of(id, at);
        }
        Some(())
    }
}

/// Quotient and remainder; most often the divisor is one.
fn split(number: u32, by: u32) -> (u32, u32) {
    if by == 1 { (number, 0) } else { (number / by, number % by) }
}
