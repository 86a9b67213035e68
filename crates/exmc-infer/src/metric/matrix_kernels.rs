//! Products with the factors of a metric: matrices in rows of lanes, vectors -> vectors.
//!
//! The sums have one fixed order at every level of vector instructions; zeros fill up what is no
//! whole row of lanes.

use exmc_math::simd::{Kernel, Simd};

use crate::linalg::aligned_vector::{AlignedVec, LANES, Row, rows_for};
use crate::linalg::kernels::dot;

/// A row-major matrix of `dim` columns, with whole rows of lanes for each of its rows and zero rows
/// at the end, `n_rows` in all.
pub(crate) fn in_rows(dim: usize, matrix: &[f64], n_rows: usize) -> AlignedVec {
    let stride = rows_for(dim) * LANES;
    let mut out = AlignedVec::zeros(n_rows * stride);
    if dim > 0 {
        for (row, out) in matrix.chunks_exact(dim).zip(out.chunks_exact_mut(stride)) {
            out[..dim].copy_from_slice(row);
        }
    }
    out
}

/// `out` = `scale` x, number by number.
pub(crate) struct Scale<'a> {
    pub(crate) scale: &'a [Row],
    pub(crate) x: &'a [Row],
    pub(crate) out: &'a mut [Row],
}

impl Kernel for Scale<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for ((scale, x), out) in self.scale.iter().zip(self.x).zip(self.out) {
            s.store(s.mul(s.load(scale), s.load(x)), out);
        }
    }
}

/// `out` = L x, L as [`in_rows`] lays it out: four inner products at a time.
pub(crate) struct LowerTimes<'a> {
    pub(crate) lower: &'a [Row],
    pub(crate) x: &'a [Row],
    pub(crate) out: &'a mut [Row],
}

impl Kernel for LowerTimes<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let width = self.x.len();
        for (block, out) in self.out.iter_mut().enumerate() {
            for part in 0..2 {
                let from = (block * LANES + 4 * part) * width;
                let rows = &self.lower[from..from + 4 * width];
                let zero = s.splat(0.0);
                let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
                for k in 0..=block {
                    let x = s.load(&self.x[k]);
                    a = s.fma(s.load(&rows[k]), x, a);
                    b = s.fma(s.load(&rows[width + k]), x, b);
                    c = s.fma(s.load(&rows[2 * width + k]), x, c);
                    d = s.fma(s.load(&rows[3 * width + k]), x, d);
                }
                let totals = [s.total(a), s.total(b), s.total(c), s.total(d)];
                out[4 * part..4 * part + 4].copy_from_slice(&totals);
            }
        }
    }
}

/// `out` = $L^\top x$: four rows of lanes of the result at a time, down the columns of L.
pub(crate) struct TransposedTimes<'a> {
    pub(crate) lower: &'a [Row],
    pub(crate) x: &'a [f64],
    pub(crate) out: &'a mut [Row],
}

impl Kernel for TransposedTimes<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let width = self.out.len();
        let (fours, rest) = self.out.as_chunks_mut::<4>();
        let n_fours = fours.len();
        for (block, out) in fours.iter_mut().enumerate() {
            let zero = s.splat(0.0);
            let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
            for (i, x) in self.x.iter().enumerate().skip(4 * LANES * block) {
                let rows = &self.lower[i * width + 4 * block..][..4];
                let x = s.splat(*x);
                a = s.fma(s.load(&rows[0]), x, a);
                b = s.fma(s.load(&rows[1]), x, b);
                c = s.fma(s.load(&rows[2]), x, c);
                d = s.fma(s.load(&rows[3]), x, d);
            }
            s.store(a, &mut out[0]);
            s.store(b, &mut out[1]);
            s.store(c, &mut out[2]);
            s.store(d, &mut out[3]);
        }
        for (k, out) in rest.iter_mut().enumerate() {
            let block = 4 * n_fours + k;
            let mut a = s.splat(0.0);
            for (i, x) in self.x.iter().enumerate().skip(LANES * block) {
                a = s.fma(s.load(&self.lower[i * width + block]), s.splat(*x), a);
            }
            s.store(a, out);
        }
    }
}

/// $x \leftarrow (I + V^\top \mathrm{diag}(s) V) x$; the rows are orthonormal, so four at a time
/// will do.
pub(crate) struct AddLowRank<'a> {
    pub(crate) shift: &'a [f64],
    pub(crate) vectors: &'a [Row],
    pub(crate) x: &'a mut [Row],
}

impl Kernel for AddLowRank<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        add_low_rank(s, self.shift, self.vectors, self.x);
    }
}

#[inline(always)]
pub(crate) fn add_low_rank<S: Simd>(s: S, shift: &[f64], vectors: &[Row], x: &mut [Row]) {
    let width = x.len();
    if width == 0 {
        return;
    }
    let (fours, rest) = shift.as_chunks::<4>();
    let (of_fours, of_rest) = vectors.split_at(4 * fours.len() * width);
    for (shift, v) in fours.iter().zip(of_fours.chunks_exact(4 * width)) {
        let zero = s.splat(0.0);
        let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
        for (k, x) in x.iter().enumerate() {
            let x = s.load(x);
            a = s.fma(s.load(&v[k]), x, a);
            b = s.fma(s.load(&v[width + k]), x, b);
            c = s.fma(s.load(&v[2 * width + k]), x, c);
            d = s.fma(s.load(&v[3 * width + k]), x, d);
        }
        let (a, b) = (s.splat(shift[0] * s.total(a)), s.splat(shift[1] * s.total(b)));
        let (c, d) = (s.splat(shift[2] * s.total(c)), s.splat(shift[3] * s.total(d)));
        for (k, out) in x.iter_mut().enumerate() {
            let x = s.fma(a, s.load(&v[k]), s.load(out));
            let x = s.fma(b, s.load(&v[width + k]), x);
            let x = s.fma(c, s.load(&v[2 * width + k]), x);
            s.store(s.fma(d, s.load(&v[3 * width + k]), x), out);
        }
    }
    for (shift, v) in rest.iter().zip(of_rest.chunks_exact(width)) {
        let mut along = s.splat(0.0);
        for (v, x) in v.iter().zip(&*x) {
            along = s.fma(s.load(v), s.load(x), along);
        }
        let along = s.splat(shift * s.total(along));
        for (v, x) in v.iter().zip(&mut *x) {
            s.store(s.fma(along, s.load(v), s.load(x)), x);
        }
    }
}

/// Takes their mean from all rows and adds their squares to `squares`; each of them has the width
/// of `squares`. `mean` is zeros on entry.
pub(crate) struct CentreRows<'a> {
    pub(crate) rows: &'a mut [Row],
    pub(crate) mean: &'a mut [Row],
    pub(crate) squares: &'a mut [Row],
}

impl Kernel for CentreRows<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let width = self.mean.len().max(1);
        for row in self.rows.chunks_exact(width) {
            for (x, sum) in row.iter().zip(&mut *self.mean) {
                s.store(s.add(s.load(sum), s.load(x)), sum);
            }
        }
        let share = s.splat(width as f64 / self.rows.len() as f64);
        for mean in &mut *self.mean {
            s.store(s.mul(share, s.load(mean)), mean);
        }
        for row in self.rows.chunks_exact_mut(width) {
            for ((x, mean), squares) in row.iter_mut().zip(&*self.mean).zip(&mut *self.squares) {
                let centred = s.sub(s.load(x), s.load(mean));
                s.store(centred, x);
                s.store(s.fma(centred, centred, s.load(squares)), squares);
            }
        }
    }
}

/// Multiplies every row, each of the width of `factors`, number by number.
pub(crate) struct ScaleRows<'a> {
    pub(crate) rows: &'a mut [Row],
    pub(crate) factors: &'a [Row],
}

impl Kernel for ScaleRows<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        for row in self.rows.chunks_exact_mut(self.factors.len().max(1)) {
            for (x, factor) in row.iter_mut().zip(self.factors) {
                s.store(s.mul(s.load(factor), s.load(x)), x);
            }
        }
    }
}

/// `out[i * k + j]` = the inner product of row `i` of `rows` and row `j` of `basis` (`k` rows),
/// each of `width` rows of lanes: four at a time.
pub(crate) struct InnerProducts<'a> {
    pub(crate) width: usize,
    pub(crate) rows: &'a [Row],
    pub(crate) basis: &'a [Row],
    pub(crate) out: &'a mut [f64],
}

impl Kernel for InnerProducts<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let width = self.width.max(1);
        let k = self.basis.len() / width;
        if k == 0 {
            return;
        }
        for (x, out) in self.rows.chunks_exact(width).zip(self.out.chunks_exact_mut(k)) {
            let (fours, rest) = out.as_chunks_mut::<4>();
            let (of_fours, of_rest) = self.basis.split_at(4 * fours.len() * width);
            for (out, v) in fours.iter_mut().zip(of_fours.chunks_exact(4 * width)) {
                let zero = s.splat(0.0);
                let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
                for (k, x) in x.iter().enumerate() {
                    let x = s.load(x);
                    a = s.fma(s.load(&v[k]), x, a);
                    b = s.fma(s.load(&v[width + k]), x, b);
                    c = s.fma(s.load(&v[2 * width + k]), x, c);
                    d = s.fma(s.load(&v[3 * width + k]), x, d);
                }
                *out = [s.total(a), s.total(b), s.total(c), s.total(d)];
            }
            for (out, v) in rest.iter_mut().zip(of_rest.chunks_exact(width)) {
                let mut a = s.splat(0.0);
                for (v, x) in v.iter().zip(x) {
                    a = s.fma(s.load(v), s.load(x), a);
                }
                *out = s.total(a);
            }
        }
    }
}

/// Row `j` of `out` = the sum over `i` of `weights[i * stride + j]` times row `i` of `rows`: four
/// rows of `out` at a time.
pub(crate) struct WeightedSums<'a> {
    pub(crate) width: usize,
    pub(crate) rows: &'a [Row],
    pub(crate) weights: &'a [f64],
    pub(crate) stride: usize,
    pub(crate) out: &'a mut [Row],
}

impl Kernel for WeightedSums<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let width = self.width.max(1);
        let k = self.out.len() / width;
        if k == 0 {
            return;
        }
        for (block, out) in self.out.chunks_mut(4 * width).enumerate() {
            let here = out.len() / width;
            for column in 0..width {
                let zero = s.splat(0.0);
                let (mut a, mut b, mut c, mut d) = (zero, zero, zero, zero);
                let weights = self.weights.chunks_exact(self.stride).map(|w| &w[4 * block..k]);
                for (x, w) in self.rows.chunks_exact(width).zip(weights) {
                    let x = s.load(&x[column]);
                    let weight = |j: usize| s.splat(w.get(j).copied().unwrap_or(0.0));
                    a = s.fma(weight(0), x, a);
                    b = s.fma(weight(1), x, b);
                    c = s.fma(weight(2), x, c);
                    d = s.fma(weight(3), x, d);
                }
                for (j, total) in [a, b, c, d].into_iter().enumerate().take(here) {
                    s.store(total, &mut out[j * width + column]);
                }
            }
        }
    }
}

/// Lower Cholesky factor of a symmetric matrix (its lower triangle is read), row-major with zeros
/// above; `None` when a pivot is not positive and finite.
pub(crate) fn cholesky(n: usize, matrix: &[f64]) -> Option<Vec<f64>> {
    let mut lower = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let (row_i, row_j) = (&lower[i * n..i * n + j], &lower[j * n..j * n + j]);
            let rest = matrix[i * n + j] - dot(row_i, row_j);
            if i == j {
                if !(rest > 0.0 && rest.is_finite()) {
                    return None;
                }
                lower[i * n + i] = rest.sqrt();
            } else {
                lower[i * n + j] = rest / lower[j * n + j];
            }
        }
    }
    Some(lower)
}

#[cfg(test)]
mod tests {
    use exmc_math::simd::Level;

    use super::*;

    fn wave(n: usize, phase: f64) -> Vec<f64> {
        (0..n).map(|i| libm::sin(1.0 + phase + i as f64 * 0.7)).collect()
    }

    /// Sums of at most 70 products of numbers below one are good to 1e-13 in any order.
    fn assert_close(found: &AlignedVec, expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        let pairs = found.iter().zip(expected);
        assert!(pairs.clone().all(|(a, b)| (a - b).abs() < 1e-13), "{found:?} {expected:?}");
        assert!(found.rows().as_flattened()[found.len()..].iter().all(|x| *x == 0.0));
    }

    /// Every dimension around the widths of rows and blocks, at every level.
    #[test]
    fn triangular_products_equal_the_sums() {
        for level in Level::available() {
            for dim in (0..20).chain([31, 32, 33, 63, 70]) {
                let mut matrix = wave(dim * dim, 0.0);
                for i in 0..dim {
                    matrix[i * dim + i + 1..(i + 1) * dim].fill(0.0);
                }
                let x = wave(dim, 2.0);
                let lower = in_rows(dim, &matrix, rows_for(dim) * LANES);
                let padded = AlignedVec::from(&x[..]);
                let mut out = AlignedVec::zeros(dim);
                level.run(LowerTimes {
                    lower: lower.rows(),
                    x: padded.rows(),
                    out: out.rows_mut(),
                });
                let sum = |i: usize| (0..dim).map(|j| matrix[i * dim + j] * x[j]).sum();
                assert_close(&out, &(0..dim).map(sum).collect::<Vec<f64>>());
                level.run(TransposedTimes { lower: lower.rows(), x: &padded, out: out.rows_mut() });
                let sum = |i: usize| (0..dim).map(|j| matrix[j * dim + i] * x[j]).sum();
                assert_close(&out, &(0..dim).map(sum).collect::<Vec<f64>>());
            }
        }
    }

    /// Householder's reflection of unit vectors gives orthonormal rows in closed form.
    #[test]
    fn stretching_equals_the_sum_over_vectors() {
        for level in Level::available() {
            for (dim, rank) in [(1, 1), (5, 2), (9, 4), (17, 5), (40, 11), (8, 0)] {
                let normal = wave(dim, 1.0);
                let norm2 = dot(&normal, &normal);
                let entry = |k: usize, i: usize| {
                    f64::from(u8::from(i == k)) - 2.0 * normal[k] * normal[i] / norm2
                };
                let vectors: Vec<f64> =
                    (0..rank * dim).map(|index| entry(index / dim, index % dim)).collect();
                let (shift, x) = (wave(rank, 3.0), wave(dim, 4.0));
                let mut expected = x.clone();
                for (k, shift) in shift.iter().enumerate() {
                    let v = &vectors[k * dim..(k + 1) * dim];
                    let along: f64 = v.iter().zip(&x).map(|(v, x)| v * x).sum();
                    expected.iter_mut().zip(v).for_each(|(e, v)| *e += shift * along * v);
                }
                let rows = in_rows(dim, &vectors, rank);
                let mut out = AlignedVec::from(x);
                level.run(AddLowRank { shift: &shift, vectors: rows.rows(), x: out.rows_mut() });
                assert_close(&out, &expected);
            }
        }
    }

    /// Both products against plain sums, for every remainder of the blocks of four.
    #[test]
    fn products_with_a_basis_equal_the_sums() {
        for level in Level::available() {
            for (n, k, dim) in [(3, 1, 1), (5, 4, 9), (7, 6, 17), (2, 11, 8), (4, 0, 3)] {
                let (x, v) = (wave(n * dim, 1.0), wave(k * dim, 2.0));
                let (rows, basis) = (in_rows(dim, &x, n), in_rows(dim, &v, k));
                let width = rows_for(dim);
                let mut out = vec![0.0; n * k];
                level.run(InnerProducts {
                    width,
                    rows: rows.rows(),
                    basis: basis.rows(),
                    out: &mut out,
                });
                for (index, out) in out.iter().enumerate() {
                    let (i, j) = (index / k, index % k);
                    let sum: f64 = (0..dim).map(|c| x[i * dim + c] * v[j * dim + c]).sum();
                    assert!((out - sum).abs() < 1e-13);
                }
                let weights = wave(n * k, 3.0);
                let mut sums = AlignedVec::zeros(k * width * LANES);
                level.run(WeightedSums {
                    width,
                    rows: rows.rows(),
                    weights: &weights,
                    stride: k,
                    out: sums.rows_mut(),
                });
                for j in 0..k {
                    for c in 0..width * LANES {
                        let x = |i: usize| if c < dim { x[i * dim + c] } else { 0.0 };
                        let sum: f64 = (0..n).map(|i| weights[i * k + j] * x(i)).sum();
                        assert!((sums[j * width * LANES + c] - sum).abs() < 1e-13);
                    }
                }
            }
        }
    }
}
