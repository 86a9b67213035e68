//! Packing: values that are known when data are bound -> the region that all instances read.
#![expect(
    unsafe_code,
    reason = "lines of eight aligned numbers are also twice as many of half their size"
)]

use std::sync::Arc;

use exmc_graph::kernels::broadcast;
use exmc_graph::{NodeId, Precision, Tensor};
use exmc_math::simd::Line;
use rustc_hash::FxHashMap;

use crate::error::BindError;
use crate::native::compile::loop_ir::{Index, Matrix, NOTHING};
use crate::native::program::{LANES, Part, Program};

/// Zeros, in whole lines.
pub(in crate::native) fn zeros(elements: usize) -> Vec<Line> {
    let count = elements.div_ceil(LANES);
    let mut lines = super::large_pages::lines(count);
    lines.resize(count, Line([0.0; LANES]));
    lines
}

/// The elements of some lines.
pub(in crate::native) fn elements(lines: &mut [Line]) -> &mut [f64] {
    Line::rows_mut(lines).as_flattened_mut()
}

/// The elements of some lines as twice as many `f32`.
fn singles(lines: &mut [Line]) -> &mut [f32] {
    let first = lines.as_mut_ptr().cast::<f32>();
    // SAFETY: a line is eight numbers and nothing else, and an f64 has the size of two f32 and no
    // weaker alignment; any bits are numbers; the borrow is that of `lines`.
    unsafe { std::slice::from_raw_parts_mut(first, 2 * lines.len() * LANES) }
}

/// The elements of some lines, for reading.
pub(in crate::native) fn read_elements(lines: &[Line]) -> &[f64] {
    Line::rows(lines).as_flattened()
}

/// Neighbours in an index: elements `start..end` of the loop have the index `target`, or `target`
/// and what follows.
#[derive(Clone, Copy, Debug)]
pub(in crate::native) struct Run {
    pub(in crate::native) start: u32,
    pub(in crate::native) end: u32,
    pub(in crate::native) target: u32,
}

/// An index, ready to be read.
#[derive(Debug, Default)]
pub(in crate::native) struct PackedIndex {
    /// One per element, each inside its extent or [`NOTHING`].
    pub(in crate::native) elements: Arc<Vec<u32>>,
    /// Whether elements rise by one within a run; else they are equal.
    pub(in crate::native) rises: bool,
    /// Runs that do not cross blocks, if there are few; and the first of every block.
    pub(in crate::native) runs: Vec<Run>,
    pub(in crate::native) first_runs: Vec<u32>,
}

/// Data and constants in the layout of a program.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(in crate::native) lines: Vec<Line>,
    pub(in crate::native) indices: Vec<Arc<PackedIndex>>,
}

/// Lays out the values of [`Program::shared_nodes`].
///
/// # Errors
/// When an index leaves its extent.
pub(crate) fn pack(program: &Program, values: &[Tensor]) -> Result<Packed, BindError> {
    let lines = pack_lines(program, values);
    let mut of_data = values[program.parts.len()..].iter();
    let mut packed: FxHashMap<(Same, Option<usize>), Arc<PackedIndex>> = FxHashMap::default();
    let indices = program.indices.iter().map(|part| {
        let (rows, same) = match &part.index {
            Index::Static(index) => (&[][..], Same::Static(Arc::as_ptr(index).addr())),
            Index::Data { node, width } => {
                let rows = of_data.next().map_or(&[][..], Tensor::values);
                (rows, Same::Data { node: *node, width: *width })
            }
        };
        let index = packed.entry((same, part.block)).or_insert_with(|| {
            let elements = match &part.index {
                Index::Static(index) => Arc::clone(index),
                Index::Data { width, .. } => Arc::new(expand(rows, *width)),
            };
            Arc::new(with_runs(elements, part.block))
        });
        // In the width of what is compared, and without branches.
        let extent = u32::try_from(part.extent).unwrap_or(NOTHING);
        let outside = |&k: &u32| u32::from((k >= extent) & (k != NOTHING));
        if index.elements.len() != part.len || index.elements.iter().map(outside).sum::<u32>() > 0 {
            return Err(BindError::new(format!("an index is outside 0..{}", part.extent)));
        }
        Ok(Arc::clone(index))
    });
    let indices = indices.collect::<Result<_, _>>()?;
    Ok(Packed { lines, indices })
}

/// The region of values and constants.
fn pack_lines(program: &Program, values: &[Tensor]) -> Vec<Line> {
    let lines_before = |part: &Part| match part {
        Part::Array { offset, .. } | Part::Tiles { offset, .. } => offset / LANES,
        Part::Singles { offset, .. } => offset / (2 * LANES),
    };
    let parts = program.parts.iter().zip(values);
    let parts = parts.map(|(part, value)| (lines_before(part), Some(part), value));
    let constants = program.constants.iter();
    let constants = constants.map(|(value, offset)| (offset / LANES, None, value));
    let mut all: Vec<_> = parts.chain(constants).collect();
    all.sort_by_key(|(first, ..)| *first);
    // Arrays are written where the region ends so far, since they are most of it and large.
    let mut lines = super::large_pages::lines(program.shared.div_ceil(LANES));
    for (first, part, value) in all {
        lines.resize(first, Line([0.0; LANES]));
        let values = value.values();
        match part {
            None | Some(Part::Array { stretched: None, .. }) => push(&mut lines, values),
            Some(Part::Array { stretched: Some(shape), .. }) => {
                lines.resize(first + shape.len().div_ceil(LANES), Line([0.0; LANES]));
                let region = &mut elements(&mut lines[first..])[..shape.len()];
                broadcast(values, value.shape().extents(), region, shape.extents());
            }
            Some(&Part::Singles { len, .. }) => {
                lines.resize(first + len.div_ceil(2 * LANES), Line([0.0; LANES]));
                let region = singles(&mut lines[first..]).iter_mut();
                region.zip(values).for_each(|(to, &from)| *to = from as f32);
            }
            Some(Part::Tiles { matrix, precision, .. }) => {
                let height = if *precision == Precision::F32 { 2 * LANES } else { LANES };
                let rows = matrix.rows.next_multiple_of(height);
                let count = rows * matrix.columns * LANES / height;
                lines.resize(first + count / LANES, Line([0.0; LANES]));
                if *precision == Precision::F32 {
                    let region = singles(&mut lines[first..]);
                    tile(matrix, height, |to, from| region[to] = values[from] as f32);
                } else {
                    let region = elements(&mut lines[first..]);
                    tile(matrix, height, |to, from| region[to] = values[from]);
                }
            }
        }
    }
    lines.resize(program.shared.div_ceil(LANES), Line([0.0; LANES]));
    lines
}

/// Adds an array; a single number fills a line.
fn push(lines: &mut Vec<Line>, values: &[f64]) {
    if let &[value] = values {
        lines.push(Line([value; LANES]));
        return;
    }
    let (full_lines, rest) = values.as_chunks();
    lines.extend(full_lines.iter().map(|line| Line(*line)));
    if !rest.is_empty() {
        let mut line = [0.0; LANES];
        line[..rest.len()].copy_from_slice(rest);
        lines.push(Line(line));
    }
}

/// What tells an index from others of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Same {
    /// The address of one that the program holds.
    Static(usize),
    Data {
        node: NodeId,
        width: usize,
    },
}

/// Says of every element of a matrix where it goes in tiles of so many rows, in that order, and
/// where it is.
fn tile(matrix: &Matrix, height: usize, mut put: impl FnMut(usize, usize)) {
    let &Matrix { rows, columns, transposed, .. } = matrix;
    let (down, across) = if transposed { (1, rows) } else { (columns, 1) };
    for first in (0..rows).step_by(height) {
        for j in 0..columns {
            let (to, from) = (first * columns + j * height, first * down + j * across);
            for i in 0..height.min(rows - first) {
                put(to + i, from + i * down);
            }
        }
    }
}

/// Element numbers of rows.
pub(in crate::native) fn expand(rows: &[f64], width: usize) -> Vec<u32> {
    // Checked against its extent when data were bound; what does not fit is caught by the caller.
    let narrow = |k: u64| k.min(u64::from(NOTHING - 1)) as u32;
    if width == 1 {
        return rows.iter().map(|&row| (row as u32).min(NOTHING - 1)).collect();
    }
    let mut elements = Vec::with_capacity(rows.len() * width);
    for &row in rows {
        let first = u64::from(row as u32) * width as u64;
        let end = first + width as u64;
        match (u32::try_from(first), u32::try_from(end)) {
            (Ok(first), Ok(end)) => elements.extend(first..end),
            _ => elements.extend((first..end).map(narrow)),
        }
    }
    elements
}

/// Finds runs of equal elements, or of elements that rise by one, where they are worth it; none for
/// an index that is not read in blocks.
fn with_runs(elements: Arc<Vec<u32>>, block: Option<usize>) -> PackedIndex {
    // Without elements there are no blocks to have runs, though a loop over nothing is one block.
    let Some(block) = block.filter(|_| !elements.is_empty()) else {
        return PackedIndex { elements, ..PackedIndex::default() };
    };
    for rises in [false, true] {
        // There are more at ends of blocks, but an index with many ends of runs needs no second
        // look.
        let step = u32::from(rises);
        let neighbours = elements.iter().zip(elements.get(1..).unwrap_or_default());
        // In the width of what is compared, and without branches.
        let breaks: u32 = neighbours.map(|(a, b)| u32::from(a.wrapping_add(step) != *b)).sum();
        let least = breaks as usize + usize::from(!elements.is_empty());
        if least * LANES > elements.len() {
            continue;
        }
        let (runs, first_runs) = runs(&elements, block, rises);
        if runs.len() * LANES <= elements.len() {
            return PackedIndex { elements, rises, runs, first_runs };
        }
    }
    PackedIndex { elements, ..PackedIndex::default() }
}

/// All runs, and the first of every block with their number behind it.
fn runs(elements: &[u32], block: usize, rises: bool) -> (Vec<Run>, Vec<u32>) {
    let mut runs: Vec<Run> = Vec::new();
    let mut first_runs = Vec::new();
    for (number, part) in elements.chunks(block).enumerate() {
        first_runs.push(runs.len() as u32);
        let (mut start, mut rest) = ((number * block) as u32, part);
        while let Some(&target) = rest.first() {
            let len = run_length(rest, target, u32::from(rises));
            runs.push(Run { start, end: start + len as u32, target });
            (start, rest) = (start + len as u32, &rest[len..]);
        }
    }
    first_runs.push(runs.len() as u32);
    (runs, first_runs)
}

/// How many of the first elements are `target` and what lies `step` further each time; one that is
/// nothing is a run of its own.
fn run_length(elements: &[u32], target: u32, step: u32) -> usize {
    let mut expected = target;
    let end = elements.iter().position(|&k| {
        let ends = k != expected || k == NOTHING;
        expected = expected.wrapping_add(step);
        ends
    });
    end.unwrap_or(elements.len()).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_end_with_blocks_and_at_elements_of_nothing() {
        let ends = |elements: &[u32], rises| {
            let (runs, first) = runs(elements, 4, rises);
            (runs.iter().map(|r| (r.start, r.end, r.target)).collect::<Vec<_>>(), first)
        };
        let equal = [7, 7, 7, 7, 7, 8, NOTHING, NOTHING, 2];
        let expected =
            vec![(0, 4, 7), (4, 5, 7), (5, 6, 8), (6, 7, NOTHING), (7, 8, NOTHING), (8, 9, 2)];
        assert_eq!(ends(&equal, false), (expected, vec![0, 1, 5, 6]));
        let rising = [3, 4, 5, 7, 8, 9, NOTHING - 1, NOTHING];
        let expected = vec![(0, 3, 3), (3, 4, 7), (4, 6, 8), (6, 7, NOTHING - 1), (7, 8, NOTHING)];
        assert_eq!(ends(&rising, true), (expected, vec![0, 2, 5]));
        assert_eq!(ends(&[], true), (Vec::new(), vec![0]));
    }
}
