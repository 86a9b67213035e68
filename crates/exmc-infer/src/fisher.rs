//! The low-rank estimate: draws and their gradients -> scales and the directions that scales miss.
//!
//! For a normal target with covariance $\Sigma$ the gradient is $g=-\Sigma^{-1}(x-\mu)$, so the
//! covariances of draws and gradients satisfy $\Sigma\, C_g\, \Sigma = C_x$; the $\Sigma$ that solves
//! it, the geometric mean of $C_x$ and $C_g^{-1}$, minimises the Fisher divergence of a normal fit for
//! any target. One pair of diagonals gives the scales $\sigma^2=\sqrt{\mathrm{var}(x)/\mathrm{var}(g)}$.
//! In scaled coordinates we solve the equation inside a subspace and keep only the eigenvalues that
//! differ from one by more than a factor. **Reference**: arXiv 2603.18845; nutpie's low-rank mode.
//!
//! The subspace: everything when there are at least three draws per dimension; else the leading
//! directions of the draws and of the gradients, few enough that both covariances have full rank in
//! it. (With the whole span of the draws a direction seen by the draws and not by the gradients
//! would get a huge variance out of nothing.)

use crate::eigen::{Eigen, eigen_symmetric};
use crate::metric::InverseMetric;
use crate::vector::{add_scaled, dot};

/// Eigenvalues within this factor of one are taken as one (nutpie's default).
const CUTOFF: f64 = 2.0;
/// Added to both projected covariances, relative to unit scale, so that they are positive definite
/// (nutpie's default).
const RIDGE: f64 = 1e-5;
/// Draws per dimension of the subspace, so that covariances in it are well determined.
const DRAWS_PER_DIRECTION: usize = 3;
/// Bounds of a variance (nutpie's).
pub(crate) const VARIANCE_RANGE: (f64, f64) = (1e-20, 1e20);

/// The variance that draws and gradients agree on; `fallback` when either does not vary.
#[inline(always)]
pub(crate) fn fisher_variance(draw_squares: f64, gradient_squares: f64, fallback: f64) -> f64 {
    let variance = (draw_squares / gradient_squares).sqrt();
    if variance > 0.0 && variance < f64::INFINITY {
        variance.clamp(VARIANCE_RANGE.0, VARIANCE_RANGE.1)
    } else {
        fallback
    }
}

/// Estimates a low-rank inverse metric.
///
/// **Shapes**: `draws` and `gradients` are row-major `[n, dim]`. `fallback` gives the variances of
/// coordinates that do not vary. `None` when there are fewer than three draws or a decomposition
/// fails.
pub(crate) fn estimate_low_rank(
    dim: usize,
    draws: &[f64],
    gradients: &[f64],
    fallback: &[f64],
) -> Option<InverseMetric> {
    let n = draws.len() / dim.max(1);
    if n < 3 {
        return None;
    }
    let mut draws = centred(dim, draws);
    let mut gradients = centred(dim, gradients);
    let squares = |rows: &[f64]| {
        let mut out = vec![0.0; dim];
        for row in rows.chunks_exact(dim) {
            for (out, x) in out.iter_mut().zip(row) {
                *out += x * x;
            }
        }
        out
    };
    let scale: Vec<f64> = squares(&draws)
        .iter()
        .zip(squares(&gradients))
        .zip(fallback)
        .map(|((x, g), fallback)| fisher_variance(*x, g, *fallback).sqrt())
        .collect();
    for row in draws.chunks_exact_mut(dim) {
        row.iter_mut().zip(&scale).for_each(|(x, s)| *x /= s);
    }
    for row in gradients.chunks_exact_mut(dim) {
        row.iter_mut().zip(&scale).for_each(|(g, s)| *g *= s);
    }
    let most = n / DRAWS_PER_DIRECTION;
    let (vectors, values) = if dim <= most {
        significant(&geometric_mean(
            dim,
            &second_moments(dim, &draws),
            &second_moments(dim, &gradients),
        )?)
    } else {
        let mut basis = leading_directions(dim, &draws, most / 2)?;
        basis.extend(leading_directions(dim, &gradients, most / 2)?);
        let basis = orthonormalise(dim, &basis);
        if basis.is_empty() {
            return Some(InverseMetric::LowRank { scale, vectors: basis, values: Vec::new() });
        }
        let m = basis.len() / dim;
        let along_draws = second_moments(m, &project(dim, &draws, &basis));
        let along_gradients = second_moments(m, &project(dim, &gradients, &basis));
        let (inside, values) = significant(&geometric_mean(m, &along_draws, &along_gradients)?);
        let mut vectors = vec![0.0; values.len() * dim];
        for (k, vector) in vectors.chunks_exact_mut(dim).enumerate() {
            for (j, row) in basis.chunks_exact(dim).enumerate() {
                add_scaled(inside[k * m + j], row, vector);
            }
        }
        (vectors, values)
    };
    Some(InverseMetric::LowRank { scale, vectors, values })
}

fn centred(dim: usize, rows: &[f64]) -> Vec<f64> {
    let n = (rows.len() / dim) as f64;
    let mut mean = vec![0.0; dim];
    for row in rows.chunks_exact(dim) {
        add_scaled(1.0 / n, row, &mut mean);
    }
    let mut out = rows.to_vec();
    for row in out.chunks_exact_mut(dim) {
        add_scaled(-1.0, &mean, row);
    }
    out
}

/// $X^\top X / n$ of row-major rows, full storage.
fn second_moments(dim: usize, rows: &[f64]) -> Vec<f64> {
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

fn project(dim: usize, rows: &[f64], basis: &[f64]) -> Vec<f64> {
    rows.chunks_exact(dim)
        .flat_map(|row| basis.chunks_exact(dim).map(move |b| dot(row, b)))
        .collect()
}

/// At most `most` leading principal directions whose second moment exceeds the cutoff, row by row;
/// works on the smaller of the two Gram matrices.
fn leading_directions(dim: usize, rows: &[f64], most: usize) -> Option<Vec<f64>> {
    let n = rows.len() / dim;
    let Eigen { values, vectors } = if dim <= n {
        eigen_symmetric(dim, &second_moments(dim, rows))?
    } else {
        let mut gram = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let value = dot(&rows[i * dim..(i + 1) * dim], &rows[j * dim..(j + 1) * dim]);
                gram[i * n + j] = value / n as f64;
                gram[j * n + i] = value / n as f64;
            }
        }
        eigen_symmetric(n, &gram)?
    };
    let width = values.len();
    let mut order: Vec<usize> = (0..width).filter(|k| values[*k] > CUTOFF).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]).then(a.cmp(b)));
    order.truncate(most);
    let mut out = Vec::with_capacity(order.len() * dim);
    for k in order {
        let vector = &vectors[k * width..(k + 1) * width];
        if dim <= n {
            out.extend_from_slice(vector);
        } else {
            let mut direction = vec![0.0; dim];
            for (weight, row) in vector.iter().zip(rows.chunks_exact(dim)) {
                add_scaled(*weight, row, &mut direction);
            }
            out.extend(direction);
        }
    }
    Some(out)
}

/// An orthonormal basis of the rows' span (modified Gram-Schmidt, twice for orthogonality to working
/// precision); rows that are nearly dependent on earlier ones are dropped.
fn orthonormalise(dim: usize, rows: &[f64]) -> Vec<f64> {
    const NEARLY_DEPENDENT: f64 = 1e-4;
    let mut basis: Vec<f64> = Vec::new();
    for row in rows.chunks_exact(dim) {
        let mut v = row.to_vec();
        let before = dot(&v, &v).sqrt();
        for _ in 0..2 {
            for b in basis.chunks_exact(dim) {
                let along = dot(b, &v);
                add_scaled(-along, b, &mut v);
            }
        }
        let after = dot(&v, &v).sqrt();
        if after > NEARLY_DEPENDENT * before {
            basis.extend(v.iter().map(|x| x / after));
        }
    }
    basis
}

/// The positive definite $\Sigma$ with $\Sigma (B+\gamma I)\Sigma = A+\gamma I$, decomposed:
/// $\Sigma = B^{-1/2}(B^{1/2}AB^{1/2})^{1/2}B^{-1/2}$.
fn geometric_mean(n: usize, a: &[f64], b: &[f64]) -> Option<Eigen> {
    let ridged = |matrix: &[f64]| {
        let mut out = matrix.to_vec();
        (0..n).for_each(|i| out[i * n + i] += RIDGE);
        out
    };
    let b = eigen_symmetric(n, &ridged(b))?;
    let root = b.function(|x| x.max(RIDGE).sqrt());
    let inverse_root = b.function(|x| 1.0 / x.max(RIDGE).sqrt());
    let middle = eigen_symmetric(n, &sandwich(n, &root, &ridged(a)))?;
    let middle = middle.function(|x| x.max(0.0).sqrt());
    eigen_symmetric(n, &sandwich(n, &inverse_root, &middle))
}

impl Eigen {
    /// The symmetric matrix with the same vectors and `f` of the values.
    fn function(&self, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let n = self.values.len();
        let mut out = vec![0.0; n * n];
        for (value, v) in self.values.iter().zip(self.vectors.chunks_exact(n)) {
            let weight = f(*value);
            for i in 0..n {
                add_scaled(weight * v[i], v, &mut out[i * n..(i + 1) * n]);
            }
        }
        out
    }
}

/// $SMS$ for symmetric $S$ and $M$, made exactly symmetric.
fn sandwich(n: usize, s: &[f64], m: &[f64]) -> Vec<f64> {
    let row = |x: &[f64], i: usize| x[i * n..(i + 1) * n].to_vec();
    let mut product = vec![0.0; n * n];
    for i in 0..n {
        for (k, weight) in row(s, i).iter().enumerate() {
            add_scaled(*weight, &m[k * n..(k + 1) * n], &mut product[i * n..(i + 1) * n]);
        }
    }
    let mut out = vec![0.0; n * n];
    for i in 0..n {
        for j in 0..=i {
            let value = dot(&product[i * n..(i + 1) * n], &s[j * n..(j + 1) * n]);
            out[i * n + j] = value;
            out[j * n + i] = value;
        }
    }
    out
}

/// The vectors and values of the eigenvalues outside `[1/CUTOFF, CUTOFF]`.
fn significant(eigen: &Eigen) -> (Vec<f64>, Vec<f64>) {
    let n = eigen.values.len();
    let mut vectors = Vec::new();
    let mut values = Vec::new();
    for (k, value) in eigen.values.iter().enumerate() {
        if !(1.0 / CUTOFF..=CUTOFF).contains(value) && *value > 0.0 {
            vectors.extend_from_slice(&eigen.vectors[k * n..(k + 1) * n]);
            values.push(value.clamp(VARIANCE_RANGE.0, VARIANCE_RANGE.1));
        }
    }
    (vectors, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use exmc_math::random::{ChainRng, Phase};

    /// Draws of N(0, S) with S = D(I + (lambda - 1) u u')D, and their exact gradients.
    fn spiked(dim: usize, n: usize, lambda: f64) -> (Vec<f64>, Vec<f64>, InverseMetric) {
        let mut rng = ChainRng::new(7, 0, Phase::Sampling);
        let scale: Vec<f64> = (0..dim).map(|i| 0.1 + i as f64 / dim as f64).collect();
        let u = vec![1.0 / (dim as f64).sqrt(); dim];
        let (mut draws, mut gradients) = (Vec::new(), Vec::new());
        for _ in 0..n {
            let z: Vec<f64> = (0..dim).map(|_| rng.standard_normal()).collect();
            let along = dot(&u, &z);
            for i in 0..dim {
                draws.push(scale[i] * (z[i] + (lambda.sqrt() - 1.0) * along * u[i]));
                gradients.push(-(z[i] + (1.0 / lambda.sqrt() - 1.0) * along * u[i]) / scale[i]);
            }
        }
        (draws, gradients, InverseMetric::LowRank { scale, vectors: u, values: vec![lambda] })
    }

    /// With more draws than dimensions the estimate is exact for a normal target, up to the ridge:
    /// draws and gradients determine the covariance, not a sample of it.
    #[test]
    fn a_normal_target_is_recovered_exactly() {
        let (draws, gradients, truth) = spiked(6, 40, 50.0);
        let estimate = estimate_low_rank(6, &draws, &gradients, &[1.0; 6]).unwrap();
        for (found, expected) in estimate.diagonal().iter().zip(truth.diagonal()) {
            // Directions inside the cutoff count as one, so that only a factor below two may remain.
            assert!((found / expected - 1.0).abs() < 0.5, "{found} {expected}");
        }
        let p = vec![1.0; 6];
        let ratio = estimate.kinetic_energy(&p).unwrap() / truth.kinetic_energy(&p).unwrap();
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
    }

    /// Fewer draws than dimensions: the one long (or short) direction is found and nothing is invented.
    #[test]
    fn a_spike_is_found_with_fewer_draws_than_dimensions() {
        for lambda in [100.0, 0.01] {
            let (draws, gradients, truth) = spiked(120, 60, lambda);
            let estimate = estimate_low_rank(120, &draws, &gradients, &[1.0; 120]).unwrap();
            let InverseMetric::LowRank { values, .. } = &estimate else { panic!("low rank") };
            assert!(values.len() <= 3, "lambda {lambda}: {values:?}");
            // The spiked direction, in momentum coordinates D^{-1} u.
            let InverseMetric::LowRank { scale, vectors, .. } = &truth else { panic!("low rank") };
            let p: Vec<f64> = vectors.iter().zip(scale).map(|(u, s)| u / s).collect();
            let ratio = estimate.kinetic_energy(&p).unwrap() / truth.kinetic_energy(&p).unwrap();
            assert!((0.4..2.5).contains(&ratio), "lambda {lambda}: {ratio}, values {values:?}");
        }
    }

    /// Few draws of independent coordinates show no direction at all.
    #[test]
    fn no_direction_is_an_estimate_too() {
        let draws = [-1.0, 0.0, 1.0];
        let gradients: Vec<f64> = draws.iter().map(|x| -x).collect();
        let rows = |x: &[f64]| x.iter().flat_map(|x| [*x, 0.0, 0.0, 0.0]).collect::<Vec<_>>();
        let InverseMetric::LowRank { scale, values, .. } =
            estimate_low_rank(4, &rows(&draws), &rows(&gradients), &[9.0; 4]).unwrap()
        else {
            panic!("low rank")
        };
        assert_eq!((scale, values), (vec![1.0, 3.0, 3.0, 3.0], vec![]));
    }

    #[test]
    fn constant_draws_keep_the_fallback() {
        let InverseMetric::LowRank { scale, values, .. } =
            estimate_low_rank(1, &[3.0; 5], &[1.0; 5], &[4.0]).unwrap()
        else {
            panic!("low rank")
        };
        assert_eq!(scale, vec![2.0]);
        assert!(values.is_empty());
    }
}
