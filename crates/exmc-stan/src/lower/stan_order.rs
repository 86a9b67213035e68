//! Where the coordinates of Stan's unconstrained vector lie in ours.
//!
//! Stan has each matrix whose unconstrained array is a matrix too column by column, arrays of them
//! one after the other, and arrays of tuples element by element; we have matrices row by row and
//! arrays of tuples slot by slot.

use exmc_model::LayoutEntry;

use crate::typed::{Program, Type};

/// For each coordinate of Stan's unconstrained vector, its place in ours; the program is the one
/// that was checked.
pub(super) fn stan_order(layout: &[LayoutEntry], program: &Program) -> Vec<usize> {
    let mut entries = layout.iter();
    let types = program.parameters.iter().map(|d| &program.variable(d.variable).ty);
    types.flat_map(|ty| places(ty, 0, &mut entries).concat()).collect()
}

/// The places of a part of a parameter, for each element of the `depth` array dimensions around it.
fn places(
    ty: &Type,
    depth: usize,
    entries: &mut std::slice::Iter<'_, LayoutEntry>,
) -> Vec<Vec<usize>> {
    let (array_depth, inner) = ty.array_parts();
    let outer = |entries: &std::slice::Iter<'_, LayoutEntry>| {
        let first = entries.as_slice().first();
        first.map_or(0, |e| e.unconstrained.extents().iter().take(depth).product::<usize>())
    };
    let outer = outer(entries);
    if let Type::Tuple(slots) = inner {
        let columns: Vec<_> =
            slots.iter().map(|slot| places(slot, depth + array_depth, entries)).collect();
        let count = columns.first().map_or(0, Vec::len);
        let rows: Vec<Vec<usize>> = (0..count)
            .map(|k| columns.iter().flat_map(|column| column[k].iter().copied()).collect())
            .collect();
        return (0..outer)
            .map(|k| rows[k * count / outer..(k + 1) * count / outer].concat())
            .collect();
    }
    let Some(entry) = entries.next() else { return Vec::new() };
    // A factor's or a covariance matrix's free elements are a vector, whose order is Stan's.
    let keeps = entry.unconstrained.rank() == entry.constrained.rank();
    let extents = entry.unconstrained.extents();
    // The extents of one matrix, and of the parts of its elements.
    let matrix = match (inner, extents) {
        (Type::Matrix, [.., rows, columns]) if keeps => Some((*rows, *columns, 1)),
        (Type::ComplexMatrix, [.., rows, columns, parts]) => Some((*rows, *columns, *parts)),
        _ => None,
    };
    let size = extents.iter().skip(depth).product::<usize>();
    let free_positions = |k: usize| -> Vec<usize> {
        let start = entry.offset + k * size;
        let Some((rows, columns, parts)) = matrix else { return (start..start + size).collect() };
        let one = rows * columns * parts;
        let mut found = Vec::with_capacity(size);
        for first in (start..start + size).step_by(one.max(1)) {
            for j in 0..columns {
                for i in 0..rows {
                    let element_start = first + (i * columns + j) * parts;
                    found.extend(element_start..element_start + parts);
                }
            }
        }
        found
    };
    (0..outer).map(free_positions).collect()
}
