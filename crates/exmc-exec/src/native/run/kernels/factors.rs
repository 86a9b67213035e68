//! Factors of matrices and solutions with them, row-major, by sums of scaled rows.
//!
//! **Reference**: Golub and Van Loan 2013, sections 3.1, 3.4 and 4.2.

use exmc_math::simd::Simd;

use super::products::{add_scaled, dot};
use super::small::{self, MAX_REGISTER_COLUMNS};
use super::{Algorithm, Arguments, Kernel};
use crate::native::program::LANES;

/// The lower factor of a positive definite matrix, by outer products; NaN everywhere when a pivot
/// is not a positive finite number. Only the lower triangle is read.
pub(super) struct Cholesky;

impl Algorithm for Cholesky {
    #[inline(always)]
    fn run<S: Simd>(
        s: S,
        kernel: &Kernel,
        args: &Arguments<'_>,
        out: &mut [f64],
        column: &mut [f64],
    ) {
        let &Kernel::Cholesky(n) = kernel else { unreachable!("a factor") };
        let a = args.get(0);
        if n <= MAX_REGISTER_COLUMNS {
            if !small::factor(s, a, out, n) {
                out.fill(f64::NAN);
            }
            return;
        }
        for i in 0..n {
            out[i * n..=i * n + i].copy_from_slice(&a[i * n..=i * n + i]);
            out[i * n + i + 1..(i + 1) * n].fill(0.0);
        }
        for k in 0..n {
            let pivot = out[k * n + k];
            if !(pivot > 0.0 && pivot < f64::INFINITY) {
                out.fill(f64::NAN);
                return;
            }
            let root = pivot.sqrt();
            let scale = 1.0 / root;
            out[k * n + k] = root;
            for i in k + 1..n {
                let entry = out[i * n + k] * scale;
                out[i * n + k] = entry;
                column[i] = entry;
                // The column's entries above this row are known by now.
                add_scaled(&mut out[i * n + k + 1..=i * n + i], -entry, &column[k + 1..=i]);
            }
        }
    }
}

/// What the adjoint of a factor gives the factor's argument: the steps of a factorisation
/// backwards, column by column from the last, over the adjoint's lower triangle.
pub(super) struct CholeskyAdjoint;

impl Algorithm for CholeskyAdjoint {
    #[inline(always)]
    fn run<S: Simd>(s: S, kernel: &Kernel, args: &Arguments<'_>, out: &mut [f64], _: &mut [f64]) {
        let &Kernel::CholeskyAdjoint(n) = kernel else { unreachable!("an adjoint") };
        let (factor, adjoint) = (args.get(0), args.get(1));
        if n <= MAX_REGISTER_COLUMNS {
            return small::factor_adjoint(s, factor, adjoint, out, n);
        }
        for i in 0..n {
            out[i * n..=i * n + i].copy_from_slice(&adjoint[i * n..=i * n + i]);
            out[i * n + i + 1..(i + 1) * n].fill(0.0);
        }
        for j in (0..n).rev() {
            let (above, below) = out.split_at_mut((j + 1) * n);
            let (row, pivot) = above[j * n..].split_at_mut(j);
            let scale = 1.0 / factor[j * n + j];
            let mut of_pivot = pivot[0];
            for (other, known) in below.chunks_exact_mut(n).zip(factor[(j + 1) * n..].chunks(n)) {
                other[j] *= scale;
                of_pivot = (-other[j]).mul_add(known[j], of_pivot);
            }
            of_pivot *= scale;
            pivot[0] = 0.5 * of_pivot;
            let known = &factor[j * n..j * n + j];
            add_scaled(row, -of_pivot, known);
            for (other, below) in below.chunks_exact_mut(n).zip(factor[(j + 1) * n..].chunks(n)) {
                let entry = -other[j];
                add_scaled(row, entry, &below[..j]);
                add_scaled(&mut other[..j], entry, known);
            }
        }
    }
}

/// Substitution with a lower triangle or its transpose.
pub(super) struct TriangularSolve;

impl Algorithm for TriangularSolve {
    #[inline(always)]
    fn run<S: Simd>(s: S, kernel: &Kernel, args: &Arguments<'_>, out: &mut [f64], _: &mut [f64]) {
        let &Kernel::TriangularSolve { sizes: [n, width], transposed } = kernel else {
            unreachable!("a solution")
        };
        let lower = args.get(0);
        if width >= LANES {
            return small::solve(s, lower, args.get(1), out, [n, width], transposed);
        }
        out.copy_from_slice(args.get(1));
        if width == 0 {
            return;
        }
        if transposed {
            for i in (0..n).rev() {
                let (before, row) = out.split_at_mut(i * width);
                let row = &mut row[..width];
                divide(row, lower[i * n + i]);
                if width == 1 {
                    add_scaled(before, -row[0], &lower[i * n..i * n + i]);
                } else {
                    for (k, other) in before.chunks_exact_mut(width).enumerate() {
                        add_scaled(other, -lower[i * n + k], row);
                    }
                }
            }
        } else {
            for i in 0..n {
                let (before, row) = out.split_at_mut(i * width);
                let row = &mut row[..width];
                let factors = &lower[i * n..i * n + i];
                if width == 1 {
                    row[0] -= dot(s, factors, before);
                } else {
                    for (&factor, other) in factors.iter().zip(before.chunks_exact(width)) {
                        add_scaled(row, -factor, other);
                    }
                }
                divide(row, lower[i * n + i]);
            }
        }
    }
}

#[inline(always)]
fn divide(row: &mut [f64], pivot: f64) {
    for value in row {
        *value /= pivot;
    }
}

/// Elimination with partial pivoting; the last column holds the row swapped in at each step.
pub(super) struct Lu;

impl Algorithm for Lu {
    #[inline(always)]
    fn run<S: Simd>(_: S, kernel: &Kernel, args: &Arguments<'_>, out: &mut [f64], _: &mut [f64]) {
        let &Kernel::Lu(n) = kernel else { unreachable!("factors") };
        let (a, width) = (args.get(0), n + 1);
        if n == 0 {
            return;
        }
        for (row, source) in out.chunks_exact_mut(width).zip(a.chunks_exact(n)) {
            row[..n].copy_from_slice(source);
        }
        for step in 0..n {
            // The first largest entry: NaN is never larger, so it stays and spreads.
            let mut pivot = step;
            for i in step + 1..n {
                if out[i * width + step].abs() > out[pivot * width + step].abs() {
                    pivot = i;
                }
            }
            for k in 0..n {
                out.swap(step * width + k, pivot * width + k);
            }
            out[step * width + n] = pivot as f64;
            let (above, below) = out.split_at_mut((step + 1) * width);
            let row = &above[step * width..];
            // A column of zeros leaves a zero pivot, which marks the matrix as singular.
            if row[step] == 0.0 {
                continue;
            }
            for other in below.chunks_exact_mut(width) {
                let factor = other[step] / row[step];
                other[step] = factor;
                add_scaled(&mut other[step + 1..n], -factor, &row[step + 1..n]);
            }
        }
    }
}

/// Substitution with the factors of [`Lu`], or with their transposes in the other order.
pub(super) struct LuSolve;

impl Algorithm for LuSolve {
    #[inline(always)]
    fn run<S: Simd>(_: S, kernel: &Kernel, args: &Arguments<'_>, out: &mut [f64], _: &mut [f64]) {
        let &Kernel::LuSolve { sizes: [n, columns], transposed } = kernel else {
            unreachable!("a solution")
        };
        let factors = args.get(1);
        out.copy_from_slice(args.get(2));
        if columns == 0 {
            return;
        }
        let width = n + 1;
        if transposed {
            for i in 0..n {
                for k in 0..i {
                    eliminate(out, columns, [i, k], factors[k * width + i]);
                }
                divide(&mut out[i * columns..(i + 1) * columns], factors[i * width + i]);
            }
            for i in (0..n).rev() {
                for k in i + 1..n {
                    eliminate(out, columns, [i, k], factors[k * width + i]);
                }
            }
            for i in (0..n).rev() {
                swap(out, columns, i, factors[i * width + n] as usize);
            }
        } else {
            for i in 0..n {
                swap(out, columns, i, factors[i * width + n] as usize);
            }
            for i in 0..n {
                for k in 0..i {
                    eliminate(out, columns, [i, k], factors[i * width + k]);
                }
            }
            for i in (0..n).rev() {
                for k in i + 1..n {
                    eliminate(out, columns, [i, k], factors[i * width + k]);
                }
                divide(&mut out[i * columns..(i + 1) * columns], factors[i * width + i]);
            }
        }
    }
}

/// Subtracts `factor` times row k from row i.
#[inline(always)]
fn eliminate(out: &mut [f64], columns: usize, [i, k]: [usize; 2], factor: f64) {
    let (before, after) = out.split_at_mut(i.max(k) * columns);
    let (first, second) = (&mut before[i.min(k) * columns..], &mut after[..columns]);
    if i < k {
        add_scaled(&mut first[..columns], -factor, second);
    } else {
        add_scaled(second, -factor, &first[..columns]);
    }
}

#[inline(always)]
fn swap(out: &mut [f64], columns: usize, i: usize, other: usize) {
    for c in 0..columns {
        out.swap(i * columns + c, other * columns + c);
    }
}

/// The sum of the logarithms of the pivots' sizes.
pub(super) struct LogAbsDet;

impl Algorithm for LogAbsDet {
    #[inline(always)]
    fn run<S: Simd>(_: S, kernel: &Kernel, args: &Arguments<'_>, out: &mut [f64], _: &mut [f64]) {
        let &Kernel::LogAbsDet(n) = kernel else { unreachable!("a determinant") };
        let factors = args.get(1);
        let mut sum = 0.0;
        for i in 0..n {
            sum += exmc_math::log(factors[i * (n + 1) + i].abs());
        }
        out[0] = sum;
    }
}
