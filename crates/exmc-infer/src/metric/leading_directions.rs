//! Leading directions of a sample: rows of draws -> the few orthonormal directions in which they
//! vary most.
//!
//! Block power iteration (Halko, Martinsson & Tropp 2011, algorithm 4.4): a block of the rows
//! themselves is multiplied by the second moments, never formed, and made orthonormal again; then
//! the small problem inside the block is solved exactly (Rayleigh-Ritz). Cost: six passes over the
//! rows, each `n * dim * block` multiplications. In few dimensions the block is everything and the
//! small problem the whole one.

use exmc_math::simd::Level;

use crate::linalg::aligned_vector::{AlignedVec, LANES, Row, rows_for};
use crate::linalg::eigen::eigen_symmetric;
use crate::linalg::kernels::{add_scaled, sum_of_squares};
use crate::metric::matrix_kernels::{
    AddLowRank, CentreRows, InnerProducts, ScaleRows, WeightedSums,
};

/// Rounds of the power iteration: each squares the ratio of the variances of what is kept to what
/// is not.
const N_ITERATIONS: usize = 2;

/// A row-major matrix with whole rows of lanes for each of its rows.
pub(crate) struct Sample {
    pub(crate) count: usize,
    pub(crate) dim: usize,
    pub(crate) level: Level,
    numbers: AlignedVec,
}

impl Sample {
    /// `rows` minus their mean, and the sums of their squares.
    pub(crate) fn centred(level: Level, dim: usize, rows: &[f64]) -> (Self, AlignedVec) {
        let mut out = Self::zeros(level, dim, rows.len() / dim.max(1));
        for (row, out) in rows.chunks_exact(dim.max(1)).zip(out.rows_mut()) {
            out.copy_from_slice(row);
        }
        let (mut mean, mut squares) = (AlignedVec::zeros(dim), AlignedVec::zeros(dim));
        let rows = out.numbers.rows_mut();
        level.run(CentreRows { rows, mean: mean.rows_mut(), squares: squares.rows_mut() });
        (out, squares)
    }

    /// Multiplies every row by `factors`, number by number.
    pub(crate) fn scale(&mut self, factors: &AlignedVec) {
        self.level.run(ScaleRows { rows: self.numbers.rows_mut(), factors: factors.rows() });
    }

    fn zeros(level: Level, dim: usize, count: usize) -> Self {
        Self { count, dim, level, numbers: AlignedVec::zeros(count * rows_for(dim) * LANES) }
    }

    /// The rows, without what pads them.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[f64]> {
        let stride = (rows_for(self.dim) * LANES).max(1);
        self.numbers.chunks_exact(stride).map(|row| &row[..self.dim])
    }

    /// The same, to be changed.
    pub(crate) fn rows_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        let (dim, stride) = (self.dim, (rows_for(self.dim) * LANES).max(1));
        self.numbers.chunks_exact_mut(stride).map(move |row| &mut row[..dim])
    }

    fn lanes(&self) -> &[Row] {
        self.numbers.rows()
    }

    /// Row by row, the inner products with the rows of `basis`: `count * basis.count` numbers.
    pub(crate) fn project(&self, basis: &Self) -> Vec<f64> {
        let mut out = vec![0.0; self.count * basis.count];
        let width = rows_for(self.dim);
        let (rows, basis) = (self.lanes(), basis.lanes());
        self.level.run(InnerProducts { width, rows, basis, out: &mut out });
        out
    }

    /// The sums of the rows that `weights` (`count * into` numbers) say.
    fn combine(&self, weights: &[f64], into: usize) -> Self {
        let mut out = Self::zeros(self.level, self.dim, into);
        let (width, rows) = (rows_for(self.dim), self.lanes());
        let out_rows = out.numbers.rows_mut();
        self.level.run(WeightedSums { width, rows, weights, stride: into.max(1), out: out_rows });
        out
    }

    /// An orthonormal basis of the rows' span (Gram-Schmidt, twice for orthogonality to working
    /// precision); rows that are nearly dependent on earlier ones are dropped.
    pub(crate) fn orthonormal(level: Level, dim: usize, rows: &[&[f64]]) -> Self {
        const MIN_INDEPENDENT_PART: f64 = 1e-4;
        let (width, most) = (rows_for(dim), rows.len());
        let mut out = Self::zeros(level, dim, most);
        let minus_one = vec![-1.0; most];
        let mut kept = 0;
        for row in rows {
            let (before, rest) = out.numbers.rows_mut().split_at_mut(kept * width);
            let v = &mut rest[..width];
            let (numbers, padding) = v.as_flattened_mut().split_at_mut(dim);
            numbers.copy_from_slice(row);
            padding.fill(0.0);
            let length = sum_of_squares(level, v).sqrt();
            for _ in 0..2 {
                level.run(AddLowRank { shift: &minus_one[..kept], vectors: before, x: v });
            }
            let left = sum_of_squares(level, v).sqrt();
            if left > MIN_INDEPENDENT_PART * length {
                v.as_flattened_mut()[..dim].iter_mut().for_each(|x| *x /= left);
                kept += 1;
            }
        }
        out.truncated(kept)
    }

    /// The first `count` rows.
    fn truncated(mut self, count: usize) -> Self {
        self.numbers.truncate(count * rows_for(self.dim) * LANES);
        self.count = count;
        self
    }

    /// At most `most` leading principal directions along which the second moment exceeds `cutoff`,
    /// the longest first; `None` when a number is not finite.
    pub(crate) fn leading_directions(&self, most: usize, cutoff: f64) -> Option<Self> {
        /// Up to here all eigenvectors of the second moments cost less than the passes over the
        /// rows.
        const FEW: usize = 16;
        let longest = |n: usize, moments: &[f64]| {
            let eigen = eigen_symmetric(n, moments)?;
            let mut order: Vec<usize> = (0..n).filter(|k| eigen.values[*k] > cutoff).collect();
            order.sort_by(|a, b| eigen.values[*b].total_cmp(&eigen.values[*a]).then(a.cmp(b)));
            order.truncate(most);
            Some((eigen, order))
        };
        if self.dim <= FEW {
            let (eigen, order) = longest(self.dim, &self.second_moments())?;
            let mut out = Self::zeros(self.level, self.dim, order.len());
            for (out, k) in out.rows_mut().zip(order) {
                out.copy_from_slice(&eigen.vectors[k * self.dim..(k + 1) * self.dim]);
            }
            return Some(out);
        }
        let block = (2 * most).min(self.count).min(self.dim);
        let rows: Vec<&[f64]> = self.rows().collect();
        let first: Vec<&[f64]> = (0..block).map(|k| rows[k * self.count / block]).collect();
        let mut basis = Self::orthonormal(self.level, self.dim, &first);
        for _ in 0..N_ITERATIONS {
            let image = self.combine(&self.project(&basis), basis.count);
            let rows: Vec<&[f64]> = image.rows().collect();
            basis = Self::orthonormal(self.level, self.dim, &rows);
        }
        let inside = basis.count;
        let moments = second_moments(inside, &self.project(&basis));
        let (eigen, order) = longest(inside, &moments)?;
        Some(basis.turned(order.iter().map(|k| &eigen.vectors[k * inside..(k + 1) * inside])))
    }

    /// The sums of the rows with each of the given lists of weights, one a row.
    pub(crate) fn turned<'a>(&self, weights: impl Iterator<Item = &'a [f64]>) -> Self {
        let weights: Vec<&[f64]> = weights.collect();
        let transposed: Vec<f64> =
            (0..self.count).flat_map(|j| weights.iter().map(move |w| w[j])).collect();
        self.combine(&transposed, weights.len())
    }

    /// $X^\top X / n$ of the rows, full storage.
    pub(crate) fn second_moments(&self) -> Vec<f64> {
        let (dim, width) = (self.dim, rows_for(self.dim));
        let mut products = Self::zeros(self.level, dim, dim);
        self.level.run(WeightedSums {
            width,
            rows: self.lanes(),
            weights: &self.numbers,
            stride: (width * LANES).max(1),
            out: products.numbers.rows_mut(),
        });
        let mut out = Vec::with_capacity(dim * dim);
        products.rows().for_each(|row| out.extend_from_slice(row));
        out.iter_mut().for_each(|x| *x /= self.count as f64);
        out
    }
}

/// $X^\top X / n$ of row-major rows, full storage.
pub(crate) fn second_moments(dim: usize, rows: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; dim * dim];
    if dim == 0 {
        return out;
    }
    let n = (rows.len() / dim) as f64;
    for row in rows.chunks_exact(dim) {
        for i in 0..dim {
            add_scaled(row[i], &row[..=i], &mut out[i * dim..=i * dim + i]);
        }
    }
    for i in 0..dim {
        for j in 0..=i {
            let value = out[i * dim + j] / n;
            out[i * dim + j] = value;
            out[j * dim + i] = value;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::kernels::dot;
    use exmc_math::random::{ChainRng, Phase};

    /// Rows whose second moments are known: $z_k \sqrt{\lambda_k}$ along reflected unit vectors,
    /// noise of unit variance elsewhere. The leading directions span the planted ones, whatever the
    /// shape.
    #[test]
    fn planted_directions_are_found() {
        let mut rng = ChainRng::new(3, 0, Phase::Sampling);
        for (dim, count) in [(5, 40), (70, 30), (40, 400), (300, 90)] {
            let normal: Vec<f64> = (0..dim).map(|i| libm::sin(1.0 + i as f64)).collect();
            let norm2 = dot(&normal, &normal);
            let entry = |k: usize, i: usize| {
                f64::from(u8::from(i == k)) - 2.0 * normal[k] * normal[i] / norm2
            };
            let spikes = [4000.0, 1500.0];
            let mut rows = Vec::new();
            for _ in 0..count {
                let mut row: Vec<f64> = (0..dim).map(|_| rng.standard_normal()).collect();
                for (k, spike) in spikes.iter().enumerate() {
                    let z = rng.standard_normal() * f64::sqrt(*spike);
                    row.iter_mut().enumerate().for_each(|(i, x)| *x += z * entry(k, i));
                }
                rows.extend(row);
            }
            let mut found = Vec::new();
            for level in Level::available() {
                let (sample, _) = Sample::centred(level, dim, &rows);
                let directions = sample.leading_directions(2, 2.0).unwrap();
                assert_eq!(directions.count, 2);
                for k in 0..2 {
                    let planted: Vec<f64> = (0..dim).map(|i| entry(k, i)).collect();
                    let along: f64 = directions.rows().map(|d| dot(d, &planted).powi(2)).sum();
                    // Noise turns a spike of variance s by about dim / (count * s) in squared sine.
                    assert!(along > 0.98, "{dim} x {count}: {along}");
                }
                found.push(directions.rows().map(<[f64]>::to_vec).collect::<Vec<_>>());
            }
            assert!(found.windows(2).all(|pair| pair[0] == pair[1]), "levels differ");
        }
    }

    /// Means, sums of squares and second moments by their definitions, at every level.
    #[test]
    fn centred_rows_have_the_moments_of_the_definition() {
        for (dim, count) in [(1, 3), (7, 12), (10, 40), (19, 5)] {
            let x = |k: usize, i: usize| 3.0 + libm::sin((k * dim + i) as f64);
            let rows: Vec<f64> =
                (0..count * dim).map(|index| x(index / dim, index % dim)).collect();
            let mean = |i: usize| (0..count).map(|k| x(k, i)).sum::<f64>() / count as f64;
            let moment = |i: usize, j: usize| -> f64 {
                let (a, b) = (mean(i), mean(j));
                (0..count).map(|k| (x(k, i) - a) * (x(k, j) - b)).sum()
            };
            let factors: Vec<f64> = (0..dim).map(|i| 1.0 + i as f64).collect();
            for level in Level::available() {
                let (mut sample, squares) = Sample::centred(level, dim, &rows);
                let close = |found: f64, expected: f64| {
                    assert!((found - expected).abs() < 1e-10, "{dim} {count}: {found} {expected}");
                };
                (0..dim).for_each(|i| close(squares[i], moment(i, i)));
                sample.scale(&AlignedVec::from(&factors[..]));
                for (index, found) in sample.second_moments().into_iter().enumerate() {
                    let (i, j) = (index / dim, index % dim);
                    close(found, factors[i] * factors[j] * moment(i, j) / count as f64);
                }
            }
        }
    }

    #[test]
    fn nothing_leads_where_nothing_varies() {
        let (sample, _) = Sample::centred(Level::portable(), 4, &[1.0; 40]);
        assert_eq!(sample.leading_directions(3, 2.0).unwrap().count, 0);
        let (empty, _) = Sample::centred(Level::portable(), 0, &[]);
        assert_eq!((empty.count, empty.leading_directions(3, 2.0).unwrap().count), (0, 0));
        let (sample, _) = Sample::centred(Level::portable(), 1, &[f64::NAN; 4]);
        assert!(sample.leading_directions(1, 2.0).is_none_or(|d| d.count == 0));
    }
}
