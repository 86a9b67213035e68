//! Matrices: products, Cholesky factors and triangular solves on row-major arrays.

use exmc_math::eigen::symmetric_eigen as symmetric_eigen_in_place;

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

/// Column by column from the last: the steps of a factorisation by columns backwards, over the
/// adjoint's lower triangle.
///
/// With row r and pivot d of the factor and what stands below them, rows B and column c:
/// $d = \sqrt{a - r r^\top}$ and $c = (b - B r^\top) / d$.
///
/// **Reference**: Murray 2016 (arXiv 1602.07527), section 3.2.
pub(super) fn cholesky_adjoint(factor: Arg<'_>, adjoint: Arg<'_>, out: &mut [f64]) {
    let n = factor.shape.extents()[0];
    let l = factor.values;
    for (i, row) in out.chunks_exact_mut(n.max(1)).enumerate() {
        row[..=i].copy_from_slice(&adjoint.values[i * n..=i * n + i]);
        row[i + 1..].fill(0.0);
    }
    for j in (0..n).rev() {
        let scale = 1.0 / l[j * n + j];
        let mut of_pivot = out[j * n + j];
        for i in j + 1..n {
            out[i * n + j] *= scale;
            of_pivot -= out[i * n + j] * l[i * n + j];
        }
        of_pivot *= scale;
        out[j * n + j] = 0.5 * of_pivot;
        let (above, below) = out.split_at_mut((j + 1) * n);
        let row = &mut above[j * n..j * n + j];
        for (target, known) in row.iter_mut().zip(&l[j * n..]) {
            *target -= of_pivot * known;
        }
        for (i, other) in (j + 1..n).zip(below.chunks_exact_mut(n)) {
            let entry = other[j];
            for k in 0..j {
                row[k] -= entry * l[i * n + k];
                other[k] -= entry * l[j * n + k];
            }
        }
    }
}

/// Values, then vectors as rows; NaN everywhere when an element is not finite.
pub(super) fn symmetric_eigen(a: Arg<'_>, out: &mut [f64]) {
    /// Matrices of so many rows need no memory besides.
    const SMALL: usize = 256;
    let n = a.shape.extents()[0];
    let (values, vectors) = out.split_at_mut(n);
    vectors.copy_from_slice(a.values);
    let (mut small, mut large) = ([0.0; SMALL], Vec::new());
    let scratch = if n <= SMALL {
        &mut small[..n]
    } else {
        large.resize(n, 0.0);
        &mut large[..]
    };
    if symmetric_eigen_in_place(vectors, values, scratch).is_err() {
        out.fill(f64::NAN);
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

/// Doolittle's elimination with partial pivoting; the last column holds the row swapped in at each
/// step.
pub(super) fn lu(a: Arg<'_>, out: &mut [f64]) {
    let n = a.shape.extents()[0];
    let width = n + 1;
    for i in 0..n {
        out[i * width..i * width + n].copy_from_slice(&a.values[i * n..(i + 1) * n]);
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
            for k in step + 1..n {
                other[k] -= factor * row[k];
            }
        }
    }
}

/// Substitution with the factors of [`lu`], or with their transposes in the other order.
pub(super) fn lu_solve(factors: Arg<'_>, b: Arg<'_>, transposed: bool, out: &mut [f64]) {
    let n = factors.shape.extents()[0];
    let columns = if b.shape.rank() == 2 { b.shape.extents()[1] } else { 1 };
    let lu = |i: usize, k: usize| factors.values[i * (n + 1) + k];
    out.copy_from_slice(b.values);
    let swap = |out: &mut [f64], i: usize| {
        let other = lu(i, n) as usize;
        for c in 0..columns {
            out.swap(i * columns + c, other * columns + c);
        }
    };
    // Subtracts `factor` times row k from row i.
    let eliminate = |out: &mut [f64], i: usize, k: usize, factor: f64| {
        for c in 0..columns {
            out[i * columns + c] -= factor * out[k * columns + c];
        }
    };
    let divide = |out: &mut [f64], i: usize| {
        for value in &mut out[i * columns..(i + 1) * columns] {
            *value /= lu(i, i);
        }
    };
    if transposed {
        for i in 0..n {
            (0..i).for_each(|k| eliminate(out, i, k, lu(k, i)));
            divide(out, i);
        }
        for i in (0..n).rev() {
            (i + 1..n).for_each(|k| eliminate(out, i, k, lu(k, i)));
        }
        (0..n).rev().for_each(|i| swap(out, i));
    } else {
        (0..n).for_each(|i| swap(out, i));
        for i in 0..n {
            (0..i).for_each(|k| eliminate(out, i, k, lu(i, k)));
        }
        for i in (0..n).rev() {
            (i + 1..n).for_each(|k| eliminate(out, i, k, lu(i, k)));
            divide(out, i);
        }
    }
}

/// The sum of the logarithms of the pivots' sizes.
pub(super) fn log_abs_det(factors: Arg<'_>, out: &mut [f64]) {
    let n = factors.shape.extents()[0];
    out[0] = (0..n).map(|i| exmc_math::log(factors.values[i * (n + 1) + i].abs())).sum();
}
