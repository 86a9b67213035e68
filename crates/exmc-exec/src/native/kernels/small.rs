//! Rows in registers: products, factors and solutions whose sums stay in vectors -> the same bits as sums of scaled rows.
//!
//! Every element has its terms added in the order of [`super::factors`] and [`super::products`], one fused multiply-add
//! each; only where the sum is kept meanwhile differs. A row that is no multiple of a vector ends with one that begins
//! earlier, whose first elements are computed twice.

use exmc_math::simd::Simd;

use super::super::program::LANES;

/// Side of a matrix up to which its factor is made of whole rows in registers.
pub(super) const SMALL: usize = 2 * LANES;

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

/// Solutions with a lower triangle of side `n`, or with its transpose, for at least eight right-hand sides.
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
                let (k, at) = match transposed {
                    true => (n - 1 - before, (n - 1 - before) * n + i),
                    false => (before, i * n + before),
                };
                sum = s.fma(s.splat(-lower[at]), s.load(line(out, k * width + start)), sum);
            }
            s.store(s.div(sum, pivot), line_mut(out, i * width + start));
        }
    }
}

/// The lower factor of a positive definite matrix of side at most [`SMALL`], whose lower triangle is read; whether every pivot
/// is a positive finite number, as without that there is none.
#[inline(always)]
pub(super) fn factor<S: Simd>(s: S, a: &[f64], out: &mut [f64], n: usize) -> bool {
    if n == 0 {
        return true;
    }
    // Columns of the factor, as rows.
    let mut columns = [[[0.0; LANES]; 2]; SMALL];
    for k in 0..n {
        let mut start = [[0.0; LANES]; 2];
        for i in k..n {
            start.as_flattened_mut()[i] = a[i * n + k];
        }
        let (mut low, mut high) = (s.load(&start[0]), s.load(&start[1]));
        for before in &columns[..k] {
            let entry = s.splat(-before.as_flattened()[k]);
            low = s.fma(entry, s.load(&before[0]), low);
            high = s.fma(entry, s.load(&before[1]), high);
        }
        let column = &mut columns[k];
        s.store(low, &mut column[0]);
        s.store(high, &mut column[1]);
        let pivot = column.as_flattened()[k];
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return false;
        }
        let root = pivot.sqrt();
        let scale = s.splat(1.0 / root);
        s.store(s.mul(low, scale), &mut column[0]);
        s.store(s.mul(high, scale), &mut column[1]);
        column.as_flattened_mut()[k] = root;
    }
    for (i, row) in out.chunks_exact_mut(n).enumerate() {
        for (k, entry) in row.iter_mut().enumerate() {
            *entry = if k <= i { columns[k].as_flattened()[i] } else { 0.0 };
        }
    }
    true
}
