//! Rows in registers: products, factors and solutions whose sums stay in vectors -> the same bits
//! as sums of scaled rows.
//!
//! Every element has its terms added in the order of [`super::factors`] and [`super::products`],
//! one fused multiply-add each; only where the sum is kept meanwhile differs. A row that is no
//! multiple of a vector ends with one that begins earlier, whose first elements are computed twice.

use exmc_math::simd::Simd;

use crate::native::program::LANES;

/// Side of a matrix up to which its factor is made of whole rows in registers.
pub(super) const MAX_REGISTER_COLUMNS: usize = 2 * LANES;

type Line = [f64; LANES];

/// The vectors of a row of at least one: where each begins.
#[inline(always)]
fn starts(columns: usize) -> impl Iterator<Item = usize> {
    (0..columns.div_ceil(LANES)).map(move |v| (v * LANES).min(columns - LANES))
}

#[inline(always)]
fn line(row: &[f64], start: usize) -> &Line {
    row[start..].first_chunk().expect("rows have a vector from there on")
}

#[inline(always)]
fn line_mut(row: &mut [f64], start: usize) -> &mut Line {
    row[start..].first_chunk_mut().expect("rows have a vector from there on")
}

/// Rows of `a`, of length `inner`, times columns of `b`, of which there are at least eight.
#[inline(always)]
pub(super) fn product<S: Simd>(
    s: S,
    a: &[f64],
    b: &[f64],
    out: &mut [f64],
    [inner, columns]: [usize; 2],
) {
    /// Rows at a time: sums enough to hide the latency of a fused multiply-add.
    const ROWS: usize = 4;
    let mut blocks = a.chunks_exact(ROWS * inner);
    let mut targets = out.chunks_exact_mut(ROWS * columns);
    for (rows, out) in blocks.by_ref().zip(targets.by_ref()) {
        for start in starts(columns) {
            let mut sums = [s.splat(0.0); ROWS];
            for (k, source) in b.chunks_exact(columns).enumerate() {
                let source = s.load(line(source, start));
                for (r, sum) in sums.iter_mut().enumerate() {
                    *sum = s.fma(s.splat(rows[r * inner + k]), source, *sum);
                }
            }
            for (r, &sum) in sums.iter().enumerate() {
                s.store(sum, line_mut(out, r * columns + start));
            }
        }
    }
    let rows = blocks.remainder().chunks_exact(inner);
    for (row, out) in rows.zip(targets.into_remainder().chunks_exact_mut(columns)) {
        for start in starts(columns) {
            let mut sum = s.splat(0.0);
            for (&factor, source) in row.iter().zip(b.chunks_exact(columns)) {
                sum = s.fma(s.splat(factor), s.load(line(source, start)), sum);
            }
            s.store(sum, line_mut(out, start));
        }
    }
}

/// Solutions with a lower triangle of side `n`, or with its transpose, for at least eight
/// right-hand sides.
#[inline(always)]
pub(super) fn solve<S: Simd>(
    s: S,
    lower: &[f64],
    right: &[f64],
    out: &mut [f64],
    [n, width]: [usize; 2],
    transposed: bool,
) {
    for step in 0..n {
        let i = if transposed { n - 1 - step } else { step };
        let pivot = s.splat(lower[i * n + i]);
        for start in starts(width) {
            let mut sum = s.load(line(right, i * width + start));
            for before in 0..step {
                let (k, index) = match transposed {
                    true => (n - 1 - before, (n - 1 - before) * n + i),
                    false => (before, i * n + before),
                };
                sum = s.fma(s.splat(-lower[index]), s.load(line(out, k * width + start)), sum);
            }
            s.store(s.div(sum, pivot), line_mut(out, i * width + start));
        }
    }
}

/// The lower factor of a positive definite matrix of side at most [`MAX_REGISTER_COLUMNS`], whose
/// lower triangle is read; whether every pivot is a positive finite number, as without that there
/// is none.
#[inline(always)]
pub(super) fn factor<S: Simd>(s: S, a: &[f64], out: &mut [f64], n: usize) -> bool {
    if n == 0 {
        return true;
    }
    // Columns of the factor, as rows. What stands above a pivot is not read.
    let mut columns = [[[0.0; LANES]; 2]; MAX_REGISTER_COLUMNS];
    for (k, column) in columns.iter_mut().enumerate().take(n) {
        for (i, entry) in column.as_flattened_mut().iter_mut().enumerate().take(n).skip(k) {
            *entry = a[i * n + k];
        }
    }
    for k in 0..n {
        let (known, later) = columns.split_at_mut(k + 1);
        let column = &mut known[k];
        let pivot = column.as_flattened()[k];
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return false;
        }
        let root = pivot.sqrt();
        let scale = s.splat(1.0 / root);
        let (low, high) = (s.mul(s.load(&column[0]), scale), s.mul(s.load(&column[1]), scale));
        s.store(low, &mut column[0]);
        s.store(high, &mut column[1]);
        // The columns behind, each of which has one term less to wait for.
        for (c, later) in (k + 1..n).zip(later) {
            let entry = s.splat(-column.as_flattened()[c]);
            if c < LANES {
                s.store(s.fma(entry, low, s.load(&later[0])), &mut later[0]);
            }
            if n > LANES {
                s.store(s.fma(entry, high, s.load(&later[1])), &mut later[1]);
            }
        }
        column.as_flattened_mut()[k] = root;
    }
    for (i, row) in out.chunks_exact_mut(n).enumerate() {
        for (k, entry) in row.iter_mut().enumerate() {
            *entry = if k <= i { columns[k].as_flattened()[i] } else { 0.0 };
        }
    }
    true
}

/// What the adjoint of a factor of side at most [`MAX_REGISTER_COLUMNS`] gives the factor's
/// argument; lower triangles are read, and written, with zeros above.
#[inline(always)]
pub(super) fn factor_adjoint<S: Simd>(
    s: S,
    factor: &[f64],
    adjoint: &[f64],
    out: &mut [f64],
    n: usize,
) {
    // Rows of the factor, without pivots, and of the adjoint.
    let (mut known, mut rows) =
        ([[[0.0; LANES]; 2]; MAX_REGISTER_COLUMNS], [[[0.0; LANES]; 2]; MAX_REGISTER_COLUMNS]);
    let mut scales = [0.0; MAX_REGISTER_COLUMNS];
    for i in 0..n {
        known[i].as_flattened_mut()[..i].copy_from_slice(&factor[i * n..i * n + i]);
        rows[i].as_flattened_mut()[..=i].copy_from_slice(&adjoint[i * n..=i * n + i]);
        scales[i] = 1.0 / factor[i * n + i];
    }
    out.fill(0.0);
    for j in (0..n).rev() {
        let mut of_pivot = rows[j].as_flattened()[j];
        for i in j + 1..n {
            let entry = rows[i].as_flattened()[j] * scales[j];
            out[i * n + j] = entry;
            of_pivot = (-entry).mul_add(known[i].as_flattened()[j], of_pivot);
        }
        let of_pivot = of_pivot * scales[j];
        out[j * n + j] = 0.5 * of_pivot;
        // Columns before this one; what is computed of others is not read.
        for half in 0..j.div_ceil(LANES) {
            let known_row = s.load(&known[j][half]);
            let mut row = s.fma(s.splat(-of_pivot), known_row, s.load(&rows[j][half]));
            for i in j + 1..n {
                let entry = s.splat(-out[i * n + j]);
                row = s.fma(entry, s.load(&known[i][half]), row);
                s.store(s.fma(entry, known_row, s.load(&rows[i][half])), &mut rows[i][half]);
            }
            s.store(row, &mut rows[j][half]);
        }
    }
}
