//! The curvature that steps imply -> a normal distribution: its draws, log density and covariance.
//!
//! The inverse Hessian of a few pairs is a diagonal $D$ and a correction in the span of $D z_k$ and
//! $s_k$. With $Q$'s rows an orthonormal basis of that span in the coordinates where $D$ is the
//! identity, the covariance is $D^{1/2}(I + Q^\top(T - I)Q)D^{1/2}$, and $T$ has at most twice as
//! many rows as there are pairs.

use std::f64::consts::PI;

use exmc_fault::{Fault, planted};
use exmc_math::linear::{add_scaled, cholesky_lower, dot, solve_lower};
use exmc_math::random::ChainRng;

use crate::optimise::History;

/// Directions whose part outside of the earlier ones is smaller than this, relative to their
/// length, are left out: what is left of them is the rounding of the others.
const MIN_INDEPENDENT_PART: f64 = 1e-10;

/// A normal distribution with a covariance that is a diagonal and a correction of low rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Approximation {
    mean: Vec<f64>,
    /// Square roots of the diagonal.
    scale: Vec<f64>,
    /// Orthonormal rows, in coordinates divided by `scale`.
    basis: Vec<f64>,
    /// Lower Cholesky factor of the covariance along the rows, row-major.
    factor: Vec<f64>,
    /// Number of rows.
    rank: usize,
}

impl Approximation {
    /// The normal distribution with this mean and the inverse Hessian of `history` from `diagonal`;
    /// nothing where rounding has made it indefinite, or a number is not finite.
    pub(crate) fn new(mean: Vec<f64>, diagonal: &[f64], history: &History) -> Option<Self> {
        let scale: Vec<f64> = diagonal.iter().map(|d| d.sqrt()).collect();
        let usable = |x: &[f64]| x.iter().all(|x| x.is_finite());
        if !usable(&mean) || !scale.iter().all(|s| *s > 0.0 && s.is_finite()) {
            return None;
        }
        let dim = mean.len();
        let mut basis: Vec<f64> = Vec::new();
        for pair in history.pairs() {
            let of_change = pair.change.iter().zip(&scale).map(|(z, scale)| z * scale).collect();
            let of_step = pair.step.iter().zip(&scale).map(|(s, scale)| s / scale).collect();
            for direction in [of_change, of_step] {
                extend(dim, &mut basis, direction);
            }
        }
        let rank = basis.len() / dim.max(1);
        let row = |k: usize| &basis[k * dim..(k + 1) * dim];
        let mut along = vec![0.0; rank * rank];
        for k in 0..rank {
            let scaled = row(k).iter().zip(&scale).map(|(q, scale)| q / scale).collect();
            let mut image = history.inverse_hessian_times(diagonal, scaled);
            image.iter_mut().zip(&scale).for_each(|(x, scale)| *x /= scale);
            (0..rank).for_each(|j| along[k * rank + j] = dot(&image, row(j)));
        }
        // Symmetric up to rounding.
        for i in 0..rank {
            for j in 0..i {
                let mean = 0.5 * (along[i * rank + j] + along[j * rank + i]);
                (along[i * rank + j], along[j * rank + i]) = (mean, mean);
            }
        }
        let mut factor = vec![0.0; rank * rank];
        if !usable(&along) || cholesky_lower(rank, &along, &mut factor).is_err() {
            return None;
        }
        Some(Self { mean, scale, basis, factor, rank })
    }

    /// Its mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// Its covariance, row-major.
    pub fn covariance(&self) -> Vec<f64> {
        let (dim, images) = (self.mean.len(), self.images());
        let mut covariance = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in 0..dim {
                let identity = if i == j { 1.0 } else { 0.0 };
                covariance[i * dim + j] =
                    self.scale[i] * self.scale[j] * (identity + self.correction(&images, i, j));
            }
        }
        covariance
    }

    /// Its variances.
    pub fn variances(&self) -> Vec<f64> {
        let images = self.images();
        let relative = |i: usize| 1.0 + self.correction(&images, i, i);
        self.scale.iter().enumerate().map(|(i, s)| s * s * relative(i)).collect()
    }

    /// Writes a draw and returns its normalised log density, in nats.
    ///
    /// # Panics
    /// When `out` has another length than the mean.
    pub fn draw(&self, rng: &mut ChainRng, out: &mut [f64]) -> f64 {
        assert_eq!(out.len(), self.mean.len(), "a draw has as many coordinates as the mean");
        rng.fill_standard_normal(out);
        let log_density = -0.5 * dot(out, out) - self.log_normaliser();
        let inside: Vec<f64> = self.rows().map(|row| dot(row, out)).collect();
        for (k, row) in self.rows().enumerate() {
            let stretched: f64 = (0..self.rank).map(|j| self.factor_at(k, j) * inside[j]).sum();
            add_scaled(out, stretched - inside[k], row);
        }
        for ((x, scale), mean) in out.iter_mut().zip(&self.scale).zip(&self.mean) {
            *x = mean + scale * *x;
        }
        log_density
    }

    /// The normalised log density at a point, in nats.
    ///
    /// # Panics
    /// When `x` has another length than the mean.
    pub fn log_density(&self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.mean.len(), "a point has as many coordinates as the mean");
        let centred = x.iter().zip(&self.mean).map(|(x, mean)| x - mean);
        let z: Vec<f64> = centred.zip(&self.scale).map(|(x, scale)| x / scale).collect();
        let mut inside: Vec<f64> = self.rows().map(|row| dot(row, &z)).collect();
        let outside = dot(&z, &z) - dot(&inside, &inside);
        solve_lower(&self.factor, &mut inside);
        -0.5 * (outside + dot(&inside, &inside)) - self.log_normaliser()
    }

    /// $\tfrac d2\log 2\pi + \tfrac12\log\det\Sigma$.
    fn log_normaliser(&self) -> f64 {
        let of_scales: f64 = self.scale.iter().map(|s| libm::log(*s)).sum();
        let of_factor: f64 = (0..self.rank).map(|k| libm::log(self.factor_at(k, k))).sum();
        0.5 * self.mean.len() as f64 * libm::log(2.0 * PI) + of_scales + of_factor
    }

    fn factor_at(&self, i: usize, j: usize) -> f64 {
        // Planted: the transposed factor, of another covariance with the same determinant.
        let (i, j) = if planted(Fault::PathFactorTransposed) { (j, i) } else { (i, j) };
        self.factor[i * self.rank + j]
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.basis.chunks_exact(self.mean.len().max(1))
    }

    /// $L^\top Q$, a row for each direction.
    fn images(&self) -> Vec<f64> {
        let dim = self.mean.len();
        let mut images = vec![0.0; self.rank * dim];
        for (k, image) in images.chunks_exact_mut(dim.max(1)).enumerate() {
            for (j, row) in self.rows().enumerate().skip(k) {
                add_scaled(image, self.factor[j * self.rank + k], row);
            }
        }
        images
    }

    /// $Q^\top(T-I)Q$.
    fn correction(&self, images: &[f64], i: usize, j: usize) -> f64 {
        let dim = self.mean.len();
        let (images, rows) = (images.chunks_exact(dim), self.rows());
        images.zip(rows).map(|(image, row)| image[i] * image[j] - row[i] * row[j]).sum()
    }
}

/// Adds what of a direction is outside of the basis to it (Gram-Schmidt, twice for orthogonality to
/// working precision).
fn extend(dim: usize, basis: &mut Vec<f64>, mut direction: Vec<f64>) {
    let length = dot(&direction, &direction).sqrt();
    if basis.len() == dim * dim || !(length > 0.0 && length.is_finite()) {
        return;
    }
    direction.iter_mut().for_each(|x| *x /= length);
    for _ in 0..2 {
        for row in basis.chunks_exact(dim) {
            let along = dot(row, &direction);
            add_scaled(&mut direction, -along, row);
        }
    }
    let left = dot(&direction, &direction).sqrt();
    if left > MIN_INDEPENDENT_PART {
        basis.extend(direction.iter().map(|x| x / left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounded sines as numbers that nothing hangs together with.
    fn wave(n: usize, phase: f64) -> Vec<f64> {
        (0..n).map(|i| libm::sin(phase + 1.7 * i as f64)).collect()
    }

    /// Pairs of a quadratic with a dense Hessian, so that every curvature is positive.
    #[expect(clippy::type_complexity, reason = "pairs of steps and differences of slopes")]
    fn quadratic(dim: usize, pairs: usize) -> (History, Vec<(Vec<f64>, Vec<f64>)>) {
        let mut history = History::new(pairs);
        let mut all = Vec::new();
        for k in 0..pairs {
            let s = wave(dim, 0.5 + k as f64);
            let sum: f64 = s.iter().sum();
            let z: Vec<f64> =
                s.iter().enumerate().map(|(i, s)| (1.0 + i as f64) * s + 0.5 * sum).collect();
            assert!(history.push(s.clone(), z.clone()));
            all.push((s, z));
        }
        (history, all)
    }

    /// The update written out with matrices: $H\leftarrow(I-\rho s z^\top)H(I-\rho z s^\top)+\rho s
    /// s^\top$ (Nocedal and Wright 2006, 7.16), for fewer and for more pairs than dimensions.
    #[test]
    fn the_covariance_is_the_inverse_hessian_of_the_updates() {
        for (dim, pairs) in [(1, 1), (2, 3), (5, 2), (9, 3), (4, 6)] {
            let (history, all) = quadratic(dim, pairs);
            let diagonal: Vec<f64> = (0..dim).map(|i| 0.3 + 0.2 * i as f64).collect();
            let mut h = vec![0.0; dim * dim];
            (0..dim).for_each(|i| h[i * dim + i] = diagonal[i]);
            for (s, z) in &all {
                let rho = 1.0 / dot(s, z);
                let across = |i: usize, k: usize| f64::from(u8::from(i == k)) - rho * s[i] * z[k];
                let mut next = vec![0.0; dim * dim];
                for i in 0..dim {
                    for j in 0..dim {
                        let mut sum = rho * s[i] * s[j];
                        for k in 0..dim {
                            for l in 0..dim {
                                sum += across(i, k) * h[k * dim + l] * across(j, l);
                            }
                        }
                        next[i * dim + j] = sum;
                    }
                }
                h = next;
            }
            let found = Approximation::new(vec![0.0; dim], &diagonal, &history).unwrap();
            let (covariance, variances) = (found.covariance(), found.variances());
            let size = h.iter().fold(0.0_f64, |a, x| a.max(x.abs()));
            for i in 0..dim {
                for j in 0..dim {
                    let (a, b) = (covariance[i * dim + j], h[i * dim + j]);
                    assert!((a - b).abs() < 1e-11 * size, "{dim} {pairs}: {a} {b}");
                }
                assert!((variances[i] - h[i * dim + i]).abs() < 1e-11 * size);
            }
        }
    }

    /// The density of a draw is the one that the draw was made with, and in one dimension the
    /// normal density.
    #[test]
    fn a_draw_has_the_density_that_it_says() {
        let mut rng = ChainRng::new(1, 0, exmc_math::random::Phase::Path);
        for (dim, pairs) in [(1, 1), (6, 2), (3, 4)] {
            let (history, _) = quadratic(dim, pairs);
            let q = Approximation::new(wave(dim, 3.0), &vec![0.7; dim], &history).unwrap();
            let mut x = vec![0.0; dim];
            for _ in 0..20 {
                let said = q.draw(&mut rng, &mut x);
                assert!((q.log_density(&x) - said).abs() < 1e-11 * (1.0 + said.abs()));
                if dim == 1 {
                    let (variance, z) = (q.variances()[0], x[0] - q.mean()[0]);
                    let exact = -0.5 * (z * z / variance + libm::log(2.0 * PI * variance));
                    assert!((said - exact).abs() < 1e-12);
                }
            }
        }
    }

    /// Draws have the covariance: for 40 000 draws an entry is off by
    /// $\sqrt{(c_{ij}^2+c_{ii}c_{jj})/n}$, of which five are exceeded once in a million.
    #[test]
    fn draws_have_the_covariance() {
        const N: usize = 40_000;
        let (history, _) = quadratic(4, 2);
        let q = Approximation::new(vec![1.0; 4], &[0.3, 2.0, 1.0, 0.1], &history).unwrap();
        let mut rng = ChainRng::new(2, 0, exmc_math::random::Phase::Path);
        let (mut x, mut sums) = ([0.0; 4], [0.0; 16]);
        for _ in 0..N {
            q.draw(&mut rng, &mut x);
            for i in 0..4 {
                (0..4).for_each(|j| sums[i * 4 + j] += (x[i] - 1.0) * (x[j] - 1.0) / N as f64);
            }
        }
        let c = q.covariance();
        for i in 0..4 {
            for j in 0..4 {
                let index = i * 4 + j;
                let error = ((c[index] * c[index] + c[i * 5] * c[j * 5]) / N as f64).sqrt();
                assert!(
                    (sums[index] - c[index]).abs() < 5.0 * error,
                    "{} {}",
                    sums[index],
                    c[index]
                );
            }
        }
    }
}
