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
    Of(NodeId, usize),
}

impl History {
    /// What was written, laid out over the whole array.
    pub(super) fn laid_out(&self, g: &mut Graph, written: NodeId, shape: &Shape) -> NodeId {
        let count = g.shape(written).len();
        let each = (shape.len() / count).max(1);
        let in_rows = self.places.iter().enumerate().all(|(k, place)| k / each == *place);
        if count == 1 || (in_rows && shape.extents()[0] == count) {
            let mut extents = vec![1; shape.rank()];
            if count > 1 {
                extents[0] = count;
            }
            let rows = g.reshape(written, extents);
            return g.broadcast_to(rows, shape);
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
                if s + 1 != t || !same || *places[k].get_or_insert(at) != at {
                    return None;
                }
                mask[(step - 1) * size + k] = 1.0;
            }
            before = now;
        }
        let (write, _) = found?;
        let places = places.into_iter().map(|place| place.unwrap_or(0)).collect();
        let mask = Tensor::real(Shape::from([row.len()]).join(shape.extents()), mask)?;
        Some(Item::History(History { start: row[0], write, mask, places }))
    }

    /// The last iteration before `t` that wrote the node of an element, and as which write.
    fn writer(&self, element: &Element, t: usize) -> Option<(usize, usize)> {
        let Element::Of(node, _) = element else { return None };
        self.written_before(*node, t).map(|(write, lag)| (t - lag, write))
    }

    fn elements(&self, id: NodeId) -> Option<Vec<Element>> {
        let g = &*self.graph;
        (0..g.shape(id).len()).map(|at| self.element(id, at)).collect()
    }

    /// Where an element of an array that was put together comes from.
    fn element(&self, id: NodeId, at: usize) -> Option<Element> {
        let g = &*self.graph;
        let (mut id, mut at) = (id, at);
        loop {
            let node = g.node(id);
            if let Some(tensor) = g.as_constant(id) {
                return Some(Element::Known(tensor.values().get(at)?.to_bits()));
            }
            if let Some(value) = g.as_uniform(id) {
                return Some(Element::Known(value.to_bits()));
            }
            if self.is_written(id) {
                return Some(Element::Of(id, at));
            }
            let inner =
                |axis: usize, shape: &Shape| shape.extents()[axis + 1..].iter().product::<usize>();
            match &node.op {
                Op::Reshape(_) => id = node.args[0],
                Op::Slice { axis, start, step, len } => {
                    let from = g.shape(node.args[0]);
                    let inner = inner(*axis, from).max(1);
                    let (row, rest) = (at / inner, at % inner);
                    at = ((row / len) * from.extents()[*axis] + start + (row % len) * step) * inner
                        + rest;
                    id = node.args[0];
                }
                Op::Gather => {
                    let index = g.as_constant(node.args[1])?.values();
                    let inner = inner(0, g.shape(node.args[0])).max(1);
                    at = *index.get(at / inner)? as usize * inner + at % inner;
                    id = node.args[0];
                }
                Op::Concat { axis } => {
                    let inner = inner(*axis, &node.shape).max(1);
                    let extent = node.shape.extents()[*axis];
                    let (row, rest) = (at / inner, at % inner);
                    let (outer, mut k) = (row / extent, row % extent);
                    let mut part = None;
                    for arg in &node.args {
                        let own = g.shape(*arg).extents()[*axis];
                        if k < own {
                            part = Some((*arg, own));
                            break;
                        }
                        k -= own;
                    }
                    let (arg, own) = part?;
                    (id, at) = (arg, (outer * own + k) * inner + rest);
                }
                Op::Broadcast(_) if g.shape(node.args[0]).len() == 1 => {
                    (id, at) = (node.args[0], 0)
                }
                _ => return Some(Element::Of(id, at)),
            }
        }
    }
}
