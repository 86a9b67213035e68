//! Elements that an earlier step wrote -> carried numbers.
//!
//! A *chain* is what each step leaves for those after it: some elements of what it computed,
//! carried for as many steps as the furthest reader needs. The first steps of a loop read what was
//! there before it, which is what the chain begins with. Where steps read from different distances
//! (or nothing that was written at all), each distance is a chain and a sequence of zeros and ones
//! chooses.

use exmc_graph::{NodeId, Shape};
use rustc_hash::FxHashMap;

use super::body::{Carry, Laid, StepBody};
use super::movement::{Element, MAX_PATTERNS, Repeats};

/// Steps that a number may be carried for.
const MAX_CHAIN_LENGTH: usize = 64;

/// What steps leave for later ones.
#[derive(Debug)]
pub(super) struct Chain {
    /// Elements of one step.
    pub(super) width: usize,
    /// What each step leaves, step after step; nothing where nobody reads it.
    pub(super) table: Vec<Option<Element>>,
    /// The carries, by distance from one on: their numbers and their places in the body.
    pub(super) carries: Vec<(usize, NodeId)>,
    /// What stands for steps before the first: by distance to it (from one on) and element.
    pub(super) starts: FxHashMap<(usize, usize), Element>,
}

/// Where an element that a step reads comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    Outside(Element),
    /// So many steps before.
    LowerResult(usize, Element),
}

impl Origin {
    /// The element, where a step wrote it.
    fn written(&self) -> Option<Element> {
        match self {
            Self::Outside(_) => None,
            Self::LowerResult(_, element) => Some(*element),
        }
    }

    /// How many steps before; 0 of what comes from outside.
    fn lag(self) -> usize {
        match self {
            Self::Outside(_) => 0,
            Self::LowerResult(lag, _) => lag,
        }
    }
}

impl StepBody<'_> {
    /// One step's part of what it read before it wrote it itself.
    pub(super) fn late_read(&mut self, id: NodeId) -> Option<Laid> {
        let read = self.steps.reads.get(&id)?;
        let mut rows = read.steps.to_vec();
        rows.dedup();
        let (count, lanes_per_step) = (rows.len(), read.steps.len().checked_div(rows.len())?);
        let even = lanes_per_step > 0
            && read
                .steps
                .chunks(lanes_per_step)
                .zip(&rows)
                .all(|(lanes, s)| lanes.iter().all(|l| l == s));
        if !even || lanes_per_step * count != read.steps.len() {
            return None;
        }
        let layout = self.layout_of(&rows)?;
        let origins = self.origins(id, &rows)?;
        let each = origins.len() / count;
        let node = self.carried(&origins, each, &rows)?;
        let shape = self.g.shape(id).clone();
        let wanted = self.shape_in_step(&shape, layout)?;
        Some(Laid { node: self.reshaped(node, wanted), layout })
    }

    /// Where the elements of a read come from, now that all writes are known.
    fn origins(&mut self, id: NodeId, rows: &[u32]) -> Option<Vec<Origin>> {
        let steps = self.steps;
        let read = steps.reads.get(&id)?;
        let writer = &steps.late.get(&read.variable)?.writer;
        let each = read.flat.len() / rows.len();
        let mut origins = Vec::with_capacity(read.flat.len());
        for (k, address) in read.flat.iter().enumerate() {
            let (step, index) = (rows[k / each], *address as usize);
            let by = writer[index];
            let elements = self.late.get(&read.variable)?;
            // A step counts from 0, a writer from 1.
            let is_before = by != 0 && by <= step;
            let (node, place) =
                if is_before { elements.after[index] } else { elements.before[index] };
            let element = self.element(node, place)?;
            origins.push(match is_before && self.depends(element.base) {
                true => Origin::LowerResult((step + 1 - by) as usize, element),
                false => Origin::Outside(element),
            });
        }
        Some(origins)
    }

    /// A number or a vector that each step has: `each` elements for each of the steps.
    fn carried(&mut self, origins: &[Origin], each: usize, rows: &[u32]) -> Option<NodeId> {
        // Steps with the same distances go together.
        let mut groups: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        let mut known: FxHashMap<Vec<usize>, usize> = FxHashMap::default();
        for (row, row_origins) in origins.chunks(each).enumerate() {
            let lags: Vec<usize> = row_origins.iter().map(|origin| origin.lag()).collect();
            let next = groups.len();
            let group = *known.entry(lags.clone()).or_insert(next);
            if group == next {
                groups.push((lags, Vec::new()));
            }
            groups[group].1.push(row);
            if groups.len() > 8 * MAX_PATTERNS {
                return None;
            }
        }
        let main = (0..groups.len()).max_by_key(|k| groups[*k].1.len())?;
        let lags = groups[main].0.clone();
        // The first steps may read what was there before the loop: what the carries begin with.
        let mut starts: FxHashMap<(usize, usize), Element> = FxHashMap::default();
        let mut merged: Vec<usize> = groups[main].1.clone();
        let mut others: Vec<(Vec<usize>, Vec<usize>)> = Vec::new();
        for (k, (group_lags, list)) in groups.into_iter().enumerate() {
            if k == main {
                continue;
            }
            let mut rest = Vec::new();
            for row in list {
                let step = rows[row] as usize;
                let elements = &origins[row * each..(row + 1) * each];
                let mut new = Vec::new();
                let fits = (0..each).all(|k| {
                    if group_lags[k] == lags[k] {
                        return true;
                    }
                    let (Origin::Outside(element), true) = (elements[k], lags[k] > step) else {
                        return false;
                    };
                    new.push(((lags[k] - step, k), element));
                    starts.get(&(lags[k] - step, k)).is_none_or(|before| *before == element)
                });
                if fits {
                    starts.extend(new);
                    merged.push(row);
                } else {
                    rest.push(row);
                }
            }
            if !rest.is_empty() {
                others.push((group_lags, rest));
            }
        }
        merged.sort_unstable();
        if others.len() >= MAX_PATTERNS {
            return None;
        }
        let mut result = self.of_lags(&lags, &merged, origins, (each, rows), &starts)?;
        for (lags, list) in others {
            let none = FxHashMap::default();
            let value = self.of_lags(&lags, &list, origins, (each, rows), &none)?;
            let mask = self.mask(list.iter().map(|row| rows[*row]))?;
            result = self.body.select(mask, value, result);
        }
        Some(result)
    }

    /// The same for steps whose elements come from the same distances.
    fn of_lags(
        &mut self,
        lags: &[usize],
        list: &[usize],
        origins: &[Origin],
        (each, rows): (usize, &[u32]),
        starts: &FxHashMap<(usize, usize), Element>,
    ) -> Option<NodeId> {
        let mut parts = Vec::new();
        let mut k = 0;
        while k < each {
            let (begin, lag) = (k, lags[k]);
            while k < each && lags[k] == lag {
                k += 1;
            }
            let width = k - begin;
            if lag == 0 {
                let row = |row: usize| -> Vec<Element> {
                    let row_origins = &origins[row * each + begin..row * each + k];
                    let element = |origin: &Origin| match origin {
                        Origin::Outside(element) | Origin::LowerResult(_, element) => *element,
                    };
                    row_origins.iter().map(element).collect()
                };
                let all: Vec<(u32, Vec<Element>)> =
                    list.iter().map(|row_index| (rows[*row_index], row(*row_index))).collect();
                let all: Vec<(u32, &[Element])> =
                    all.iter().map(|(step, row)| (*step, row.as_slice())).collect();
                let part = self.taken_from_outside(&all)?;
                parts.push(self.reshaped(part, Shape::from([width])));
                continue;
            }
            if lag > MAX_CHAIN_LENGTH {
                return None;
            }
            let mut part_starts: FxHashMap<(usize, usize), Element> = starts
                .iter()
                .filter(|((_, position), _)| (begin..k).contains(position))
                .map(|((depth, position), element)| ((*depth, position - begin), *element))
                .collect();
            // What is read several times is carried once.
            let row = |row: usize| -> Option<Vec<Element>> {
                let row_origins = &origins[row * each + begin..row * each + k];
                row_origins.iter().map(|origin| origin.written()).collect()
            };
            let all: Vec<Vec<Element>> =
                list.iter().filter_map(|row_index| row(*row_index)).collect();
            let index = Repeats::of(all.iter().map(Vec::as_slice)).filter(|index| {
                let same = |((depth, position), element): (&(usize, usize), &Element)| {
                    part_starts.get(&(*depth, index.first[index.class_of[*position]]))
                        == Some(element)
                };
                part_starts.iter().all(same)
            });
            let chosen: Vec<usize> =
                index.as_ref().map_or_else(|| (0..width).collect(), |index| index.first.clone());
            if index.is_some() {
                let place = |position: usize| chosen.iter().position(|first| *first == position);
                part_starts = part_starts
                    .into_iter()
                    .filter_map(|((depth, position), e)| {
                        place(position).map(|position| ((depth, position), e))
                    })
                    .collect();
            }
            let narrow = chosen.len();
            let mut table = vec![None; narrow * self.steps.count];
            for row in list {
                let row_origins = &origins[row * each + begin..row * each + k];
                for (j, position) in chosen.iter().enumerate() {
                    if let Origin::LowerResult(lag, element) = row_origins[*position] {
                        table[(rows[*row] as usize - lag) * narrow + j] = Some(element);
                    }
                }
            }
            let part = self.at_distance(narrow, table, part_starts, lag)?;
            parts.push(match index {
                Some(index) => self.repeated(part, &index)?,
                None => self.reshaped(part, Shape::from([width])),
            });
        }
        let joined = self.body.concat(&parts, 0);
        let wanted = if each == 1 { Shape::scalar() } else { Shape::from([each]) };
        Some(self.reshaped(joined, wanted))
    }

    /// What steps left, so many steps later.
    fn at_distance(
        &mut self,
        width: usize,
        table: Vec<Option<Element>>,
        starts: FxHashMap<(usize, usize), Element>,
        lag: usize,
    ) -> Option<NodeId> {
        let fits = |chain: &Chain| {
            let same = |(old, new): (&Option<Element>, &Option<Element>)| match (old, new) {
                (Some(old), Some(new)) => old == new,
                _ => true,
            };
            chain.width == width
                && chain.table.iter().zip(&table).all(same)
                && starts
                    .iter()
                    .all(|(place, new)| chain.starts.get(place).is_none_or(|old| old == new))
        };
        let number = match self.chains.iter().position(fits) {
            Some(number) => {
                let chain = &mut self.chains[number];
                for (old, new) in chain.table.iter_mut().zip(table) {
                    *old = old.or(new);
                }
                chain.starts.extend(starts);
                number
            }
            None => {
                self.chains.push(Chain { width, table, carries: Vec::new(), starts });
                self.chains.len() - 1
            }
        };
        let shape = if width == 1 { Shape::scalar() } else { Shape::from([width]) };
        while self.chains[number].carries.len() < lag {
            let depth = self.chains[number].carries.len() + 1;
            let place = self.carries.len();
            let node = self.carry(Carry::Chain(number, depth), shape.clone())?;
            self.chains[number].carries.push((place, node));
        }
        Some(self.chains[number].carries[lag - 1].1)
    }

    /// What a chain carries on from a step.
    pub(super) fn left_by_step(&mut self, number: usize) -> Option<NodeId> {
        let chain = &self.chains[number];
        let width = chain.width;
        let steps: Vec<u32> = (chain.table.chunks(width).zip(0..))
            .filter(|(row, _)| row.iter().all(Option::is_some))
            .map(|(_, step)| step)
            .collect();
        let is_complete = |row: &[Option<Element>]| row.iter().all(Option::is_some);
        if chain.table.chunks(width).any(|row| !is_complete(row) && row.iter().any(Option::is_some))
        {
            return None;
        }
        let elements: Vec<Element> = chain.table.iter().flatten().copied().collect();
        let layout = self.layout_of(&steps)?;
        let value = self.chosen(&elements, layout)?;
        // Steps that leave nothing may have no number that could be computed.
        let mut partial = false;
        for Element { base, .. } in &elements {
            partial |= self.depends(*base) && self.value(*base)?.layout != super::body::ALL;
        }
        if !partial {
            return Some(value);
        }
        let mask = self.mask(steps.into_iter())?;
        let zero = self.body.scalar(0.0);
        Some(self.body.select(mask, value, zero))
    }
}
