//! Elements that were sliced, gathered and joined -> for each step, which elements of what it
//! computed they are.
//!
//! Where steps have elements from different places (branches on data gave them), each *pattern* of
//! places is put together once, and a sequence of zeros and ones chooses.

use std::rc::Rc;

use exmc_fault::{Fault, planted};
use exmc_graph::{DType, NodeId, Op, Shape, Tensor};
use rustc_hash::FxHashMap;

use super::body::{ALL, Laid, StepBody};
use crate::lower::variables::gather::pick;
use crate::lower::variables::lane_value::constant_of;

/// Patterns that one value may have.
pub(super) const MAX_PATTERNS: usize = 16;

/// Elements that one node's may be.
const MAX_ELEMENTS: usize = 20_000_000;

/// An element of a node that moves none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Element {
    pub(super) base: NodeId,
    pub(super) offset: u32,
}

/// A place that one step's element comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    /// Something outside of the scan.
    Outside,
    /// Element of a node that depends on earlier steps, by its number.
    Of(u32, u32),
}

/// Elements that rows have several times, in the same places.
#[derive(Debug)]
pub(super) struct Repeats {
    /// Where each of the different ones stands first.
    pub(super) first: Vec<usize>,
    /// For each element, which of those it is.
    pub(super) class_of: Vec<usize>,
}

impl Repeats {
    /// Nothing where no element comes twice, or in other places in other rows.
    pub(super) fn of<'e>(rows: impl Iterator<Item = &'e [Element]> + Clone) -> Option<Self> {
        let row = rows.clone().next()?;
        // In the order in which they were computed, which is that of what carries them.
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by_key(|k| (row[*k].base, row[*k].offset));
        let (mut first, mut class_of): (Vec<usize>, Vec<usize>) = (Vec::new(), vec![0; row.len()]);
        for k in order {
            if first.last().is_none_or(|last| row[*last] != row[k]) {
                first.push(k);
            }
            class_of[k] = first.len() - 1;
        }
        let holds = |row: &[Element]| (0..row.len()).all(|k| row[k] == row[first[class_of[k]]]);
        (first.len() < class_of.len() && rows.into_iter().all(holds))
            .then_some(Self { first, class_of })
    }
}

/// The number of a node among those that a value is put together from, its elements in a step, and
/// which steps have some.
type Numbered = (u32, usize, Rc<[u32]>);

/// Which pattern each row has.
struct Patterns {
    list: Vec<Vec<Place>>,
    of_row: Vec<u16>,
}

impl StepBody<'_> {
    /// One step's part of a node that moves elements.
    pub(super) fn moved(&mut self, id: NodeId) -> Option<Laid> {
        let elements = self.elements_of(id)?;
        let shape = self.g.shape(id).clone();
        let layout = self.layout_of_elements(&elements)?;
        let wanted = self.shape_in_step(&shape, layout)?;
        let node = self.chosen(&elements, layout)?;
        Some(Laid { node: self.reshaped(node, wanted), layout })
    }

    pub(super) fn is_movement(&self, id: NodeId) -> bool {
        let node = self.g.node(id);
        let moves = match &node.op {
            Op::Reshape(_) | Op::Slice { .. } | Op::Gather | Op::Concat { .. } => true,
            // The one row of a branch that one step takes.
            Op::Broadcast(_) => self.g.shape(node.args[0]).len() == 1,
            _ => false,
        };
        moves && id.index() >= self.first
    }

    /// An element of a node, found where it was computed.
    pub(super) fn element(&mut self, base: NodeId, offset: u32) -> Option<Element> {
        if !self.is_movement(base) {
            return Some(Element { base, offset });
        }
        self.elements_of(base)?.get(offset as usize).copied()
    }

    /// Where all elements of a node were computed.
    pub(super) fn elements_of(&mut self, id: NodeId) -> Option<Rc<Vec<Element>>> {
        // Elements may have been moved thousands of times, so the nodes to look at are a list.
        let mut pending = vec![id];
        while let Some(next) = pending.last().copied() {
            let before = pending.len();
            if self.is_movement(next) && !self.elements.contains_key(&next) {
                let moved = self.moved_by(next);
                let unknown =
                    |arg: &NodeId| self.is_movement(*arg) && !self.elements.contains_key(arg);
                pending.extend(moved.iter().filter(|arg| unknown(arg)));
            }
            if pending.len() == before {
                pending.pop();
                let found = self.elements_from_known(next)?;
                if pending.is_empty() {
                    return Some(found);
                }
            }
        }
        None
    }

    /// The nodes whose elements a node moves.
    fn moved_by(&self, id: NodeId) -> &[NodeId] {
        let node = self.g.node(id);
        match &node.op {
            Op::Concat { .. } => &node.args,
            _ => &node.args[..1],
        }
    }

    /// The same where the elements of the nodes that it moves are known.
    fn elements_from_known(&mut self, id: NodeId) -> Option<Rc<Vec<Element>>> {
        if let Some(found) = self.elements.get(&id) {
            return Some(found.clone());
        }
        let len = self.g.shape(id).len();
        if len > MAX_ELEMENTS {
            return None;
        }
        if !self.is_movement(id) {
            return Some(Rc::new(
                (0..len as u32).map(|offset| Element { base: id, offset }).collect(),
            ));
        }
        let node = self.g.node(id).clone();
        let found = match &node.op {
            Op::Reshape(_) => self.elements_from_known(node.args[0])?,
            Op::Broadcast(_) => {
                let argument = self.elements_from_known(node.args[0])?;
                Rc::new(vec![*argument.first()?; len])
            }
            Op::Slice { axis, start, step, len } => {
                let from = self.g.shape(node.args[0]).clone();
                let inner: usize = from.extents()[axis + 1..].iter().product();
                let all = self.elements_from_known(node.args[0])?;
                let place = |k: usize| {
                    let (row, rest) = (k / inner, k % inner);
                    let (outer, row) = (row / len, row % len);
                    (outer * from.extents()[*axis] + start + row * step) * inner + rest
                };
                Rc::new((0..node.shape.len()).map(|k| all[place(k)]).collect())
            }
            Op::Gather => {
                let all = self.elements_from_known(node.args[0])?;
                let inner: usize = self.g.shape(node.args[0]).extents()[1..].iter().product();
                let index = self.g.as_constant(node.args[1])?.values();
                let mut found = Vec::with_capacity(index.len() * inner);
                for row in index {
                    let first = *row as usize * inner;
                    found.extend_from_slice(all.get(first..first + inner)?);
                }
                Rc::new(found)
            }
            Op::Concat { axis } => {
                let outer: usize = node.shape.extents()[..*axis].iter().product();
                let parts: Vec<Rc<Vec<Element>>> = node
                    .args
                    .iter()
                    .map(|arg| self.elements_from_known(*arg))
                    .collect::<Option<_>>()?;
                let mut found = Vec::with_capacity(node.shape.len());
                for block in 0..outer {
                    for part in &parts {
                        let each = part.len() / outer;
                        found.extend_from_slice(&part[block * each..(block + 1) * each]);
                    }
                }
                Rc::new(found)
            }
            _ => return None,
        };
        self.elements.insert(id, found.clone());
        Some(found)
    }

    /// Which steps have rows of a node with these elements.
    fn layout_of_elements(&mut self, elements: &[Element]) -> Option<usize> {
        let mut places: Vec<Option<u32>> = Vec::with_capacity(elements.len());
        let mut last: Option<(NodeId, Option<(usize, usize)>)> = None;
        for Element { base, offset } in elements {
            let known = match last {
                Some((last_base, known)) if last_base == *base => known,
                _ => {
                    let known = match self.depends(*base) {
                        true => {
                            let laid = self.value(*base)?;
                            Some((laid.layout, self.body.shape(laid.node).len()))
                        }
                        false => None,
                    };
                    last = Some((*base, known));
                    known
                }
            };
            places.push(match known {
                Some((layout, each)) => {
                    Some(*self.layout(layout).get(*offset as usize / each.max(1))?)
                }
                None => None,
            });
        }
        let fits = |steps: &[u32]| {
            let count = steps.len();
            if count == 0 || !places.len().is_multiple_of(count) {
                return false;
            }
            let each = places.len() / count;
            places
                .chunks(each)
                .zip(steps)
                .all(|(row, step)| row.iter().all(|place| place.is_none_or(|place| place == *step)))
        };
        let mut told: Vec<u32> = places.iter().flatten().copied().collect();
        told.dedup();
        if places.iter().all(Option::is_some) {
            return if fits(&told) { self.layout_of(&told) } else { None };
        }
        let all = self.layout(ALL);
        if fits(&all) {
            return Some(ALL);
        }
        let noted = self.steps.layouts.iter().find(|steps| fits(steps)).cloned();
        match noted {
            Some(steps) => self.layout_of(&steps),
            None if fits(&told) => self.layout_of(&told),
            None => None,
        }
    }

    /// One step's elements, as a number or a vector: for each of a layout's steps as many in a row.
    pub(super) fn chosen(&mut self, elements: &[Element], layout: usize) -> Option<NodeId> {
        let steps = self.layout(layout);
        let each = elements.len().checked_div(steps.len())?;
        if each == 0 {
            return None;
        }
        let mut bases: Vec<Laid> = Vec::new();
        let patterns = self.patterns(elements, &steps, &mut bases)?;
        let mut counts = vec![0_usize; patterns.list.len()];
        patterns.of_row.iter().for_each(|p| counts[*p as usize] += 1);
        let main = (0..counts.len()).max_by_key(|p| counts[*p])?;
        let mut result = None;
        let order = std::iter::once(main).chain((0..counts.len()).filter(|p| *p != main));
        for pattern in order {
            let rows: Vec<usize> = (0..patterns.of_row.len())
                .filter(|row| patterns.of_row[*row] as usize == pattern)
                .collect();
            let value = self.put_together(
                &patterns.list[pattern],
                &bases,
                (elements, each),
                (&rows, &steps),
            )?;
            result = Some(match result {
                None => value,
                Some(before) => {
                    let late = usize::from(planted(Fault::PatternOfTheStepBefore));
                    let chosen = rows.iter().filter_map(|row| steps.get(row + late));
                    let mask = self.mask(chosen.copied())?;
                    self.body.select(mask, value, before)
                }
            });
        }
        result
    }

    fn patterns(
        &mut self,
        elements: &[Element],
        steps: &[u32],
        bases: &mut Vec<Laid>,
    ) -> Option<Patterns> {
        let each = elements.len() / steps.len();
        let mut numbers: FxHashMap<NodeId, Option<Numbered>> = FxHashMap::default();
        let mut known: FxHashMap<Vec<Place>, u16> = FxHashMap::default();
        let mut patterns = Patterns { list: Vec::new(), of_row: Vec::with_capacity(steps.len()) };
        let mut row: Vec<Place> = Vec::with_capacity(each);
        for (row_elements, step) in elements.chunks(each).zip(steps) {
            row.clear();
            for Element { base, offset } in row_elements {
                if !numbers.contains_key(base) {
                    let found = match self.depends(*base) {
                        true => {
                            let laid = self.value(*base)?;
                            bases.push(laid);
                            let size = self.body.shape(laid.node).len();
                            Some((bases.len() as u32 - 1, size, self.layout(laid.layout)))
                        }
                        false => None,
                    };
                    numbers.insert(*base, found);
                }
                row.push(match &numbers[base] {
                    None => Place::Outside,
                    Some((number, size, layout)) => {
                        let (base_row, position) =
                            (*offset as usize / size, *offset as usize % size);
                        if layout.get(base_row) != Some(step) {
                            return None;
                        }
                        Place::Of(*number, position as u32)
                    }
                });
            }
            let last = patterns.of_row.last().copied();
            let number = match last.filter(|last| patterns.list[*last as usize] == row) {
                Some(last) => last,
                None => match known.get(&row) {
                    Some(number) => *number,
                    None => {
                        if patterns.list.len() == MAX_PATTERNS {
                            return None;
                        }
                        let number = patterns.list.len() as u16;
                        patterns.list.push(row.clone());
                        known.insert(row.clone(), number);
                        number
                    }
                },
            };
            patterns.of_row.push(number);
        }
        Some(patterns)
    }

    /// The elements of one pattern, which rows of some of the steps have.
    fn put_together(
        &mut self,
        pattern: &[Place],
        bases: &[Laid],
        (elements, each): (&[Element], usize),
        (rows, steps): (&[usize], &[u32]),
    ) -> Option<NodeId> {
        let wanted = if each == 1 { Shape::scalar() } else { Shape::from([each]) };
        if let Place::Of(number, 0) = pattern[0] {
            let node = bases[number as usize].node;
            let is_whole = self.body.shape(node).len() == each
                && (pattern.iter().zip(0..))
                    .all(|(place, offset)| *place == Place::Of(number, offset));
            if is_whole {
                return Some(self.reshaped(node, wanted));
            }
        }
        let mut parts = Vec::new();
        let mut k = 0;
        while k < pattern.len() {
            let begin = k;
            let follows = |k: usize| match (pattern[begin], pattern[k]) {
                (Place::Outside, Place::Outside) => true,
                (Place::Of(a, first), Place::Of(b, offset)) => {
                    a == b && offset as usize == first as usize + (k - begin)
                }
                _ => false,
            };
            while k < pattern.len() && follows(k) {
                k += 1;
            }
            let len = k - begin;
            parts.push(match pattern[begin] {
                Place::Of(number, offset) => {
                    let node = bases[number as usize].node;
                    let size = self.body.shape(node).len();
                    let flat = self.reshaped(node, Shape::from([size]));
                    self.body.slice(flat, 0, offset as usize, offset as usize + len)
                }
                Place::Outside => {
                    let row = |row: &usize| {
                        let first = row * each + begin;
                        (steps[*row], &elements[first..first + len])
                    };
                    let rows: Vec<(u32, &[Element])> = rows.iter().map(row).collect();
                    self.taken_from_outside(&rows)?
                }
            });
        }
        let joined = self.body.concat(&parts, 0);
        Some(self.reshaped(joined, wanted))
    }

    /// A vector of elements that are not computed in the scan; in steps without rows it is that of
    /// a step before.
    pub(super) fn taken_from_outside(&mut self, rows: &[(u32, &[Element])]) -> Option<NodeId> {
        let (_, first) = *rows.first()?;
        let width = first.len();
        if rows.iter().all(|(_, row)| self.are_same(row, first)) {
            let value = self.outer_elements(first, &[width])?;
            return self.fixed_in_body(value);
        }
        // Rows of elements that steps add to come in the order of the elements.
        let mut rows = rows.to_vec();
        rows.sort_by_key(|(step, _)| *step);
        // What a row has several times is handed in once.
        let index = Repeats::of(rows.iter().map(|(_, row)| *row));
        let mut all = Vec::with_capacity(width * self.steps.count);
        let mut row = 0;
        for step in 0..self.steps.count as u32 {
            while rows.get(row + 1).is_some_and(|(next, _)| *next <= step) {
                row += 1;
            }
            match &index {
                Some(index) => all.extend(index.first.iter().map(|k| rows[row].1[*k])),
                None => all.extend_from_slice(rows[row].1),
            }
        }
        let distinct = index.as_ref().map_or(width, |index| index.first.len());
        let outer = self.outer_elements(&all, &[self.steps.count, distinct])?;
        let node = self.sequence(outer)?;
        match index {
            Some(index) => self.repeated(node, &index),
            None => Some(node),
        }
    }

    /// A vector with elements of a shorter one.
    pub(super) fn repeated(&mut self, node: NodeId, index: &Repeats) -> Option<NodeId> {
        let (distinct, width) = (index.first.len(), index.class_of.len());
        let each = width / distinct.max(1);
        let is = |expected: &dyn Fn(usize) -> usize| {
            each * distinct == width
                && index.class_of.iter().enumerate().all(|(k, place)| *place == expected(k))
        };
        let wide = if is(&|k| k % distinct) {
            let row = self.reshaped(node, Shape::from([distinct]));
            self.body.broadcast_to(row, &Shape::from([each, distinct]))
        } else if is(&|k| k / each) {
            let column = self.reshaped(node, Shape::from([distinct, 1]));
            self.body.broadcast_to(column, &Shape::from([distinct, each]))
        } else {
            let row = self.reshaped(node, Shape::from([distinct]));
            let places = self.body.constant(Tensor::indices(&index.class_of));
            self.body.gather(row, places)
        };
        Some(self.reshaped(wide, Shape::from([width])))
    }

    /// Whether elements have the same values, whatever parameters are.
    fn are_same(&self, a: &[Element], b: &[Element]) -> bool {
        let number = |e: &Element| {
            let tensor = self.g.as_constant(e.base)?;
            tensor.values().get(e.offset as usize).map(|value| value.to_bits())
        };
        a.len() == b.len()
            && a.iter()
                .zip(b)
                .all(|(a, b)| a == b || number(a).is_some_and(|x| number(b) == Some(x)))
    }

    /// The elements of all steps as those of one, outside of the scan, where they are the same and
    /// none is computed in it.
    pub(super) fn same_in_all(
        &mut self,
        elements: &[Element],
        layout: usize,
        shape: &Shape,
    ) -> Option<Option<NodeId>> {
        let each = shape.len();
        let (first, _) = elements.split_at_checked(each).filter(|_| each > 0)?;
        if elements.len() != each * self.layout(layout).len() {
            return None;
        }
        let same = elements.chunks(each).all(|row| self.are_same(row, first))
            && first.iter().all(|element| !self.depends(element.base));
        if !same {
            return Some(None);
        }
        Some(Some(self.outer_elements(first, shape.extents())?))
    }

    /// Elements of nodes outside of the scan, under a shape.
    pub(super) fn outer_elements(&mut self, list: &[Element], shape: &[usize]) -> Option<NodeId> {
        let number =
            |e: &Element| self.g.as_constant(e.base).map(|t| t.values()[e.offset as usize]);
        if let Some(numbers) = list.iter().map(number).collect::<Option<Vec<f64>>>() {
            let int = list.iter().all(|e| self.g.node(e.base).dtype == DType::Int);
            return Some(constant_of(self.g, shape, numbers, int));
        }
        let mut offsets: FxHashMap<NodeId, u32> = FxHashMap::default();
        let mut parts: Vec<NodeId> = Vec::new();
        let mut total = 0_usize;
        for Element { base, .. } in list {
            if offsets.contains_key(base) {
                continue;
            }
            let size = self.g.shape(*base).len();
            offsets.insert(*base, u32::try_from(total).ok()?);
            parts.push(*base);
            total += size;
        }
        let positions: Vec<u32> =
            list.iter().map(|Element { base, offset }| offsets[base] + offset).collect();
        let source = match parts[..] {
            [only] => only,
            _ => {
                let flat: Vec<NodeId> = parts
                    .iter()
                    .map(|part| {
                        let size = self.g.shape(*part).len();
                        self.g.reshape(*part, [size])
                    })
                    .collect();
                self.g.concat(&flat, 0)
            }
        };
        Some(pick(self.g, source, &positions, shape))
    }
}
