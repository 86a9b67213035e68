//! Matrices: products, Cholesky factors and triangular solves on row-major arrays.

use super::Arg;
use super::reduce::Lanes;

/// Every element is a dot product in the order of [`Lanes`].
pub(super) fn matmul(a: Arg<'_>, b: Arg<'_>, out: &mut [f64]) {
    let inner = a.shape.extents()[1];
    let &[_, columns] = b.shape.extents() else {
        for (i, target) in out.iter_mut().enumerate() {
            *target = Lanes::dot(&a.values[i * inner..(i + 1) * inner], b.values);
        }
        return;
    };
    if columns == 0 {
        return;
    }
    for (i, row) in out.chunks_exact_mut(columns).enumerate() {
        let a = &a.values[i * inner..(i + 1) * inner];
        // Eight columns at a time, so that b is read along its rows.
        for (block, targets) in row.chunks_mut(8).enumerate() {
            let mut sums = [Lanes::default(); 8];
            for (k, &factor) in a.iter().enumerate() {
                let start = k * columns + block * 8;
                let source = &b.values[start..start + targets.len()];
                for (sum, value) in sums.iter_mut().zip(source) {
                    sum.add(k, factor * value);
                }
            }
            for (target, sum) in targets.iter_mut().zip(&sums) {
                *target = sum.total();
            }
        }
    }
}

/// Row by row (Cholesky-Banachiewicz); NaN everywhere when a pivot is not a positive finite number.
pub(super) fn cholesky(a: Arg<'_>, out: &mut [f64]) {
    let n = a.shape.extents()[0];
    out.fill(0.0);
    for i in 0..n {
        let (above, row) = out.split_at_mut(i * n);
        for j in 0..i {
            let other = &above[j * n..(j + 1) * n];
            let rest = a.values[i * n + j] - Lanes::dot(&row[..j], &other[..j]);
            row[j] = rest / other[j];
        }
        let pivot = a.values[i * n + i] - Lanes::dot(&row[..i], &row[..i]);
        if !(pivot > 0.0 && pivot.is_finite()) {
            out.fill(f64::NAN);
            return;
        }
        row[i] = pivot.sqrt();
    }
}

/// Substitution, row by row of the right-hand side.
pub(super) fn triangular_solve(lower: Arg<'_>, b: Arg<'_>, transposed: bool, out: &mut [f64]) {
    let n = lower.shape.extents()[0];
    let width = if b.shape.rank() == 2 { b.shape.extents()[1] } else { 1 };
    out.copy_from_slice(b.values);
    for step in 0..n {
        let i = if transposed { n - 1 - step } else { step };
        let (before, rest) = out.split_at_mut(i * width);
        let (row, after) = rest.split_at_mut(width);
        // Rows that are solved already: those above, or those below when transposed.
        let (solved, first) = if transposed { (&*after, i + 1) } else { (&*before, 0) };
        if width > 0 {
            for (k, known) in solved.chunks_exact(width).enumerate() {
                let k = first + k;
                let factor = lower.values[if transposed { k * n + i } else { i * n + k }];
                for (target, value) in row.iter_mut().zip(known) {
                    *target -= factor * value;
                }
            }
        }
        let pivot = lower.values[i * n + i];
        for target in row {
            *target /= pivot;
        }
    }
}
