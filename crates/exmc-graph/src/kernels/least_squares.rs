//! Rows that are affine in unknowns -> a few rows with the same sum of squares, whatever the
//! unknowns.
//!
//! Orthogonal transformations keep a sum of squares, so n rows of k columns and an offset become
//! the triangular factor of their matrix. Householder's reflections do it block by block, without
//! normal equations: nothing is squared before it is subtracted. The few rows are written about a
//! point where the sum of squares is about least, so that a large common level of the rows cancels
//! once, exactly, in the unknowns, and not in every sum.
//!
//! **Reference**: Golub and Van Loan 2013, sections 5.2 and 5.3; Ogita, Rump and Oishi 2005 for the
//! sums.

use std::ops::Range;

use super::layout::check_index;
use super::reduce::Lanes;
use super::{Arg, EvaluateError};

/// Rows that are taken in at a time: a block of some columns stays in the first cache.
const BLOCK: usize = 64;
/// Part of a column that is not a combination of the columns before it; below it, the column's
/// unknown is left where it is, because a tiny pivot would send the point far away.
const DEFICIENT: f64 = 1e-8;
/// How much larger than the offsets the products with the point may be: beyond that, columns cancel
/// each other and the point is worse than none.
const CANCELLING: f64 = 1e3;

/// How the result of [`Op::LeastSquares`](crate::Op::LeastSquares) is packed. With p the unknowns
/// of a group, q those of all rows,
///
/// $$\sum_r (o_r + A_r p_{g(r)} + B_r q)^2 = \sum_g \lVert T_g (p_g-\hat p_g) + E_g (q-\hat q) +
/// c_g \rVert^2
///   + \lVert F (q-\hat q) + d \rVert^2 + s$$
///
/// where T and F are upper triangular, c and d nearly zero. Where there are no common unknowns, s
/// is kept for each group, so that groups may be weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeastSquares {
    groups: usize,
    local: usize,
    global: usize,
}

impl LeastSquares {
    /// For so many groups, unknowns of each, and unknowns of all.
    pub const fn new(groups: usize, local: usize, global: usize) -> Self {
        Self { groups, local, global }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.rest().end
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entry (row, column) of T for every group; the column is not before the row.
    pub fn triangle(&self, row: usize, column: usize) -> Range<usize> {
        debug_assert!(row <= column && column < self.local);
        // Rows before this one have local, local - 1, … entries.
        let number = row * (2 * self.local + 1 - row) / 2 + column - row;
        number * self.groups..(number + 1) * self.groups
    }

    /// Row `row` of E for every group: a matrix `[groups, global]`.
    pub fn coupling(&self, row: usize) -> Range<usize> {
        let size = self.groups * self.global;
        let start = self.local * (self.local + 1) / 2 * self.groups + row * size;
        start..start + size
    }

    /// Entry `row` of c for every group.
    pub fn local_offset(&self, row: usize) -> Range<usize> {
        let start = self.coupling(self.local).start + row * self.groups;
        start..start + self.groups
    }

    /// The point's unknown number `column` for every group.
    pub fn local_point(&self, column: usize) -> Range<usize> {
        let start = self.local_offset(self.local).start + column * self.groups;
        start..start + self.groups
    }

    /// F: a matrix `[global, global]`.
    pub fn matrix(&self) -> Range<usize> {
        let start = self.local_point(self.local).start;
        start..start + self.global * self.global
    }

    /// d.
    pub fn offset(&self) -> Range<usize> {
        let start = self.matrix().end;
        start..start + self.global
    }

    /// The point's common unknowns.
    pub fn point(&self) -> Range<usize> {
        let start = self.offset().end;
        start..start + self.global
    }

    /// s: one for each group, or one altogether where there are common unknowns.
    pub fn rest(&self) -> Range<usize> {
        let start = self.point().end;
        start..start + if self.global == 0 { self.groups } else { 1 }
    }
}

/// Arguments (columns, offset, group); the result as [`LeastSquares`] says.
pub(super) fn least_squares(
    args: &[Arg<'_>],
    groups: usize,
    local: usize,
    out: &mut [f64],
) -> Result<(), EvaluateError> {
    let (columns, offset, group) = (args[0].values, args[1].values, args[2].values);
    let k = args[0].shape.extents()[1];
    let packed = LeastSquares::new(groups, local, k - local);
    let mut of_group: Vec<Vec<usize>> = vec![Vec::new(); groups];
    for (row, &number) in group.iter().enumerate() {
        of_group[check_index(number, groups)?].push(row);
    }
    out.fill(0.0);
    let row = |r: usize| &columns[r * k..(r + 1) * k];
    eliminate(packed, &of_group, row, offset, out);
    solve(packed, columns, out);
    let moved: Vec<f64> = (0..offset.len())
        .map(|r| {
            // The row's group is known to be inside.
            let g = group[r] as usize;
            let unknown = |j: usize| {
                if j < local {
                    out[packed.local_point(j).start + g]
                } else {
                    out[packed.point().start + j - local]
                }
            };
            sum_of_products(offset[r], row(r).iter().enumerate().map(|(j, &a)| (a, unknown(j))))
        })
        .collect();
    eliminate(packed, &of_group, row, &moved, out);
    Ok(())
}

/// Writes T, E, c, F, d and s for these offsets.
fn eliminate<'a>(
    packed: LeastSquares,
    of_group: &[Vec<usize>],
    row: impl Fn(usize) -> &'a [f64],
    offset: &[f64],
    out: &mut [f64],
) {
    let LeastSquares { local, global, .. } = packed;
    let width = local + global + 1;
    let mut factor = Factor::new(width);
    let mut common = Factor::new(global + 1);
    for (g, rows) in of_group.iter().enumerate() {
        factor.clear();
        for &r in rows {
            factor.push(row(r).iter().copied().chain([offset[r]]));
        }
        factor.absorb();
        for i in 0..local {
            for j in i..local {
                out[packed.triangle(i, j).start + g] = factor.entry(i, j);
            }
            let coupling = packed.coupling(i).start + g * global;
            for j in 0..global {
                out[coupling + j] = factor.entry(i, local + j);
            }
            out[packed.local_offset(i).start + g] = factor.entry(i, width - 1);
        }
        if global == 0 {
            let rest = factor.entry(width - 1, width - 1);
            out[packed.rest().start + g] = rest * rest;
        }
        for i in local..width {
            common.push((local..width).map(|j| if j < i { 0.0 } else { factor.entry(i, j) }));
        }
    }
    if global > 0 {
        common.absorb();
        for i in 0..global {
            for j in i..global {
                out[packed.matrix().start + i * global + j] = common.entry(i, j);
            }
            out[packed.offset().start + i] = common.entry(i, global);
        }
        let rest = common.entry(global, global);
        out[packed.rest().start] = rest * rest;
    }
}

/// Writes a point where the sum of squares is about least.
fn solve(packed: LeastSquares, columns: &[f64], out: &mut [f64]) {
    let LeastSquares { groups, local, global } = packed;
    let mut point = vec![0.0; global];
    if global > 0 {
        let size = |j: usize| {
            let column: Vec<f64> =
                columns.iter().skip(local + j).step_by(local + global).copied().collect();
            Lanes::dot(&column, &column).sqrt()
        };
        let factor = |i: usize, j: usize| out[packed.matrix().start + i * global + j];
        let offset = |i: usize| out[packed.offset().start + i];
        substitute(global, factor, offset, size, &mut point);
        // Columns of all rows may nearly be combinations of the groups' columns.
        let couplings = packed.coupling(0).start..packed.coupling(local).start;
        let products = out[couplings].chunks_exact(global).flat_map(|row| row.iter().zip(&point));
        let largest = products.map(|(e, q)| (e * q).abs()).fold(0.0, f64::max);
        let offsets = out[packed.local_offset(0).start..packed.local_offset(local).start].iter();
        let level = offsets.chain(&out[packed.offset()]).fold(0.0, |m: f64, v| m.max(v.abs()));
        if largest > CANCELLING * level {
            point.fill(0.0);
        }
    }
    let mut points = vec![0.0; local];
    for g in 0..groups {
        let factor = |i: usize, j: usize| out[packed.triangle(i, j).start + g];
        let offset = |i: usize| {
            let start = packed.coupling(i).start + g * global;
            let common = Lanes::dot(&out[start..start + global], &point);
            out[packed.local_offset(i).start + g] + common
        };
        let size = |j: usize| (0..=j).map(|i| factor(i, j) * factor(i, j)).sum::<f64>().sqrt();
        substitute(local, factor, offset, size, &mut points);
        for (j, value) in points.iter().enumerate() {
            out[packed.local_point(j).start + g] = *value;
        }
    }
    out[packed.point()].copy_from_slice(&point);
}

/// Solves T x = -c for an upper triangular T whose columns had these sizes; zero where that is ill
/// posed.
fn substitute(
    n: usize,
    factor: impl Fn(usize, usize) -> f64,
    offset: impl Fn(usize) -> f64,
    size: impl Fn(usize) -> f64,
    x: &mut [f64],
) {
    x.fill(0.0);
    let (mut largest, mut level) = (0.0f64, 0.0f64);
    for i in (0..n).rev() {
        let pivot = factor(i, i);
        let rest: f64 = (i + 1..n).map(|j| factor(i, j) * x[j]).sum();
        if pivot.abs() > DEFICIENT * size(i) {
            x[i] = -(offset(i) + rest) / pivot;
        }
        let products = (i..n).map(|j| (factor(i, j) * x[j]).abs());
        largest = products.fold(largest, f64::max);
        level = level.max(offset(i).abs());
    }
    if !(largest <= CANCELLING * level && x.iter().all(|v| v.is_finite())) {
        x.fill(0.0);
    }
}

/// A triangular factor to which rows are added.
struct Factor {
    width: usize,
    /// Row by row; nothing below the diagonal is read.
    triangle: Vec<f64>,
    /// Rows that are not in it yet, column by column.
    block: Vec<f64>,
    filled: usize,
}

impl Factor {
    fn new(width: usize) -> Self {
        let (triangle, block) = (vec![0.0; width * width], vec![0.0; width * BLOCK]);
        Self { width, triangle, block, filled: 0 }
    }

    fn clear(&mut self) {
        self.triangle.fill(0.0);
        self.filled = 0;
    }

    fn entry(&self, i: usize, j: usize) -> f64 {
        self.triangle[i * self.width + j]
    }

    fn push(&mut self, row: impl Iterator<Item = f64>) {
        if self.filled == BLOCK {
            self.absorb();
        }
        for (j, value) in row.enumerate() {
            self.block[j * BLOCK + self.filled] = value;
        }
        self.filled += 1;
    }

    /// Reflects the block's rows into the triangle, column after column. A reflection touches one
    /// row of the triangle, because the others have a zero in its column.
    fn absorb(&mut self) {
        let (width, filled) = (self.width, self.filled);
        for j in 0..width {
            let (before, after) = self.block.split_at_mut((j + 1) * BLOCK);
            let column = &before[j * BLOCK..j * BLOCK + filled];
            let below = Lanes::dot(column, column);
            if below == 0.0 {
                continue;
            }
            let row = &mut self.triangle[j * width..(j + 1) * width];
            let norm = (row[j] * row[j] + below).sqrt();
            // Of the sign that does not cancel.
            let image = if row[j] > 0.0 { -norm } else { norm };
            let first = row[j] - image;
            let factor = 2.0 / (first * first + below);
            row[j] = image;
            for (other, target) in after.chunks_exact_mut(BLOCK).zip(&mut row[j + 1..]) {
                let other = &mut other[..filled];
                let share = factor * (first * *target + Lanes::dot(column, other));
                *target -= share * first;
                for (value, part) in other.iter_mut().zip(column) {
                    *value -= share * part;
                }
            }
        }
        self.filled = 0;
    }
}

/// A sum of products as if in twice the precision; plain where numbers are too large to be split.
fn sum_of_products(start: f64, terms: impl Iterator<Item = (f64, f64)> + Clone) -> f64 {
    let (mut sum, mut error) = (start, 0.0);
    for (a, b) in terms.clone() {
        let product = a * b;
        let (a_high, b_high) = (high_part(a), high_part(b));
        let (a_low, b_low) = (a - a_high, b - b_high);
        let product_error =
            a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low);
        let next = sum + product;
        let back = next - sum;
        error += product_error + ((sum - (next - back)) + (product - back));
        sum = next;
    }
    let total = sum + error;
    if total.is_finite() { total } else { terms.fold(start, |sum, (a, b)| sum + a * b) }
}

/// The upper 26 bits of a number (Veltkamp).
fn high_part(x: f64) -> f64 {
    let shifted = 134_217_729.0 * x;
    shifted - (shifted - x)
}
