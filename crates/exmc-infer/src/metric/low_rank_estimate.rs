//! The low-rank estimate: draws and their gradients -> scales and the directions that scales miss.
//!
//! For a normal target with covariance $\Sigma$ the gradient is $g=-\Sigma^{-1}(x-\mu)$, so the
//! covariances of draws and gradients satisfy $\Sigma\, C_g\, \Sigma = C_x$; the $\Sigma$ that
//! solves it, the geometric mean of $C_x$ and $C_g^{-1}$, minimises the Fisher divergence of a
//! normal fit for any target. One pair of diagonals gives the scales
//! $\sigma^2=\sqrt{\mathrm{var}(x)/\mathrm{var}(g)}$. In scaled coordinates we solve the equation
//! inside a subspace and keep only the eigenvalues that differ from one by more than a factor.
//! **Reference**: arXiv 2603.18845; nutpie's low-rank mode.
//!
//! The subspace: everything when dimensions are few and there are three draws for each; else the
//! leading directions of the draws and of the gradients, few enough that both covariances have full
//! rank in it. (With the whole span of the draws a direction seen by the draws and not by the
//! gradients would get a huge variance out of nothing.)

use exmc_math::simd::Level;

use crate::linalg::aligned_vector::AlignedVec;
use crate::linalg::eigen::{Eigen, eigen_symmetric};
use crate::linalg::kernels::add_scaled;
use crate::metric::InverseMetric;
use crate::metric::leading_directions::{Sample, second_moments};
use crate::metric::matrix_kernels::cholesky;

/// Eigenvalues within this factor of one are taken as one (nutpie's default).
const CUTOFF: f64 = 2.0;
/// Added to both projected covariances, relative to unit scale, so that they are positive definite
/// (nutpie's default).
const RIDGE: f64 = 1e-5;
/// Draws per dimension of the subspace, so that covariances in it are well determined.
const DRAWS_PER_DIRECTION: usize = 3;
/// Up to this many dimensions the subspace may be everything.
const MAX_FULL_DIM: usize = 32;
/// Directions taken from the draws, and from the gradients: what they cost a leapfrog step must
/// stay below what the longest ones save.
const MAX_DIRECTIONS: usize = 16;
/// What a direction adds to the cost of a leapfrog step with its gradient: two inner products and
/// two scaled additions of the position's length, where a cheap gradient takes some forty passes of
/// that length.
const COST_OF_A_DIRECTION: f64 = 0.05;
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
    level: Level,
    dim: usize,
    draws: &[f64],
    gradients: &[f64],
    fallback: &[f64],
) -> Option<InverseMetric> {
    let n = draws.len() / dim.max(1);
    if n < 3 {
        return None;
    }
    let (mut draws, draw_squares) = Sample::centred(level, dim, draws);
    let (mut gradients, gradient_squares) = Sample::centred(level, dim, gradients);
    let squares = draw_squares.iter().zip(&gradient_squares[..]);
    let scale: Vec<f64> = squares
        .zip(fallback)
        .map(|((x, g), fallback)| fisher_variance(*x, *g, *fallback).sqrt())
        .collect();
    draws.scale(&AlignedVec::from(scale.iter().map(|s| 1.0 / s).collect::<Vec<_>>()));
    gradients.scale(&AlignedVec::from(&scale[..]));
    let most = n / DRAWS_PER_DIRECTION;
    let (vectors, values) = if dim <= most.min(MAX_FULL_DIM) {
        let mean = geometric_mean(dim, &draws.second_moments(), &gradients.second_moments())?;
        let (kept, values) = that_pay(&mean);
        (kept.into_iter().flatten().copied().collect(), values)
    } else {
        let most = (most / 2).min(MAX_DIRECTIONS);
        let longest = draws.leading_directions(most, CUTOFF)?;
        let steepest = gradients.leading_directions(most, CUTOFF)?;
        let both: Vec<&[f64]> = longest.rows().chain(steepest.rows()).collect();
        let basis = Sample::orthonormal(level, dim, &both);
        let m = basis.count;
        if m == 0 {
            return Some(InverseMetric::LowRank { scale, vectors: Vec::new(), values: Vec::new() });
        }
        let along_draws = second_moments(m, &draws.project(&basis));
        let along_gradients = second_moments(m, &gradients.project(&basis));
        let mean = geometric_mean(m, &along_draws, &along_gradients)?;
        let (inside, values) = that_pay(&mean);
        let vectors = basis.turned(inside.into_iter()).rows().flatten().copied().collect();
        (vectors, values)
    };
    Some(InverseMetric::LowRank { scale, vectors, values })
}

/// The positive definite $\Sigma$ with $\Sigma (B+\gamma I)\Sigma = A+\gamma I$, decomposed: with
/// $B+\gamma I = LL^\top$, $\Sigma = L^{-\top}(L^\top(A+\gamma I)L)^{1/2}L^{-1}$.
fn geometric_mean(n: usize, a: &[f64], b: &[f64]) -> Option<Eigen> {
    let ridged = |matrix: &[f64]| {
        let mut out = matrix.to_vec();
        (0..n).for_each(|i| out[i * n + i] += RIDGE);
        out
    };
    let lower = cholesky(n, &ridged(b))?;
    let middle = eigen_symmetric(n, &inside(n, &lower, &ridged(a)))?;
    // The square root of the middle is a sum over its vectors v: $L^{-\top}v$ goes into the result.
    let mut sum = vec![0.0; n * n];
    let mut x = vec![0.0; n];
    for (value, v) in middle.values.iter().zip(middle.vectors.chunks_exact(n)) {
        x.copy_from_slice(v);
        for i in (0..n).rev() {
            let row = &lower[i * n..=i * n + i];
            x[i] /= row[i];
            let known = x[i];
            add_scaled(-known, &row[..i], &mut x[..i]);
        }
        let weight = value.max(0.0).sqrt();
        for (x_i, row) in x.iter().zip(sum.chunks_exact_mut(n)) {
            add_scaled(weight * x_i, &x, row);
        }
    }
    eigen_symmetric(n, &sum)
}

/// $L^\top A L$ for a lower triangular L and a symmetric A: its lower triangle.
fn inside(n: usize, lower: &[f64], a: &[f64]) -> Vec<f64> {
    let row = |matrix: &[f64], i: usize| matrix[i * n..(i + 1) * n].to_vec();
    // Row i of A L, then row i of L' (A L), as sums of rows.
    let (mut product, mut out) = (vec![0.0; n * n], vec![0.0; n * n]);
    for (i, out) in product.chunks_exact_mut(n).enumerate() {
        for (k, weight) in row(a, i).iter().enumerate() {
            add_scaled(*weight, &lower[k * n..=k * n + k], &mut out[..=k]);
        }
    }
    for (k, known) in product.chunks_exact(n).enumerate() {
        for (i, weight) in lower[k * n..=k * n + k].iter().enumerate() {
            add_scaled(*weight, &known[..=i], &mut out[i * n..=i * n + i]);
        }
    }
    out
}
/// The vectors and values that pay: those of eigenvalues outside `[1/CUTOFF, CUTOFF]`, farthest
/// from one first, as long as the steps that they save outweigh what they cost.
///
/// The steps of a trajectory grow with $\sqrt{\kappa}$, $\kappa$ the ratio of the largest to the
/// smallest variance that is left; a direction makes every step dearer by [`COST_OF_A_DIRECTION`].
fn that_pay(eigen: &Eigen) -> (Vec<&[f64]>, Vec<f64>) {
    let n = eigen.values.len();
    let outside = |value: f64| value > 0.0 && !(1.0 / CUTOFF..=CUTOFF).contains(&value);
    let mut order: Vec<usize> = (0..n).filter(|k| outside(eigen.values[*k])).collect();
    let distance = |k: &usize| eigen.values[*k].max(1.0 / eigen.values[*k]);
    order.sort_by(|a, b| distance(b).total_cmp(&distance(a)).then(a.cmp(b)));
    let cost = |kept: usize| {
        let left = order[kept..].iter().map(|k| eigen.values[*k]);
        let (least, most) = left.fold((1.0_f64, 1.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        (1.0 + COST_OF_A_DIRECTION * kept as f64) * (most / least).sqrt()
    };
    let best = (0..=order.len()).min_by(|a, b| cost(*a).total_cmp(&cost(*b))).unwrap_or(0);
    let vector = |k: &usize| &eigen.vectors[k * n..(k + 1) * n];
    let value = |k: &usize| eigen.values[*k].clamp(VARIANCE_RANGE.0, VARIANCE_RANGE.1);
    order[..best].iter().map(|k| (vector(k), value(k))).unzip()
}
#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::kernels::dot;
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
        let estimate =
            estimate_low_rank(Level::detect(), 6, &draws, &gradients, &[1.0; 6]).unwrap();
        for (found, expected) in estimate.diagonal().iter().zip(truth.diagonal()) {
            // Directions inside the cutoff count as one, so that only a factor below two may
            // remain.
            assert!((found / expected - 1.0).abs() < 0.5, "{found} {expected}");
        }
        let p = vec![1.0; 6];
        let ratio = estimate.kinetic_energy(&p).unwrap() / truth.kinetic_energy(&p).unwrap();
        assert!((0.5..2.0).contains(&ratio), "{ratio}");
    }

    /// The definition: $\Sigma (B+\gamma I)\Sigma = A+\gamma I$, and symmetry in what it is made
    /// of.
    #[test]
    fn the_geometric_mean_solves_its_equation() {
        for n in [1, 2, 5, 9] {
            let matrix = |phase: f64| -> Vec<f64> {
                let element = |i: usize, j: usize| libm::sin(phase + (i * 5 + j * 3) as f64);
                let inner =
                    |i: usize, j: usize| (0..n).map(|k| element(i, k) * element(j, k)).sum::<f64>();
                let entry = |i, j| inner(i, j) + if i == j { 0.1 } else { 0.0 };
                (0..n * n).map(|index| entry(index / n, index % n)).collect()
            };
            let (a, b) = (matrix(1.0), matrix(2.0));
            let mean = geometric_mean(n, &a, &b).unwrap();
            let sigma = |i: usize, j: usize| -> f64 {
                let vectors = mean.vectors.chunks_exact(n).zip(&mean.values);
                vectors.map(|(v, value)| value * v[i] * v[j]).sum()
            };
            let ridged =
                |m: &[f64], i: usize, j: usize| m[i * n + j] + if i == j { RIDGE } else { 0.0 };
            for i in 0..n {
                for j in 0..n {
                    let mut product = 0.0;
                    for k in 0..n {
                        product += (0..n)
                            .map(|l| sigma(i, k) * ridged(&b, k, l) * sigma(l, j))
                            .sum::<f64>();
                    }
                    let expected = ridged(&a, i, j);
                    assert!((product - expected).abs() < 1e-11, "{n}: {product} {expected}");
                }
            }
        }
    }

    /// Fewer draws than dimensions: the one long (or short) direction is found and nothing is
    /// invented.
    #[test]
    fn a_spike_is_found_with_fewer_draws_than_dimensions() {
        for lambda in [100.0, 0.01] {
            let (draws, gradients, truth) = spiked(120, 60, lambda);
            let estimate =
                estimate_low_rank(Level::detect(), 120, &draws, &gradients, &[1.0; 120]).unwrap();
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
            estimate_low_rank(Level::detect(), 4, &rows(&draws), &rows(&gradients), &[9.0; 4])
                .unwrap()
        else {
            panic!("low rank")
        };
        assert_eq!((scale, values), (vec![1.0, 3.0, 3.0, 3.0], vec![]));
    }

    #[test]
    fn constant_draws_keep_the_fallback() {
        let InverseMetric::LowRank { scale, values, .. } =
            estimate_low_rank(Level::detect(), 1, &[3.0; 5], &[1.0; 5], &[4.0]).unwrap()
        else {
            panic!("low rank")
        };
        assert_eq!(scale, vec![2.0]);
        assert!(values.is_empty());
    }
}
