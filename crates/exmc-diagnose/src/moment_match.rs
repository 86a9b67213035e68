//! Moment matching: an observation whose importance ratios have too heavy a tail -> the same draws,
//! moved and stretched until the tail is light.
//!
//! The posterior without an influential observation is centred elsewhere than the posterior. So the
//! draws are shifted to the weighted mean, then scaled to the weighted variances, then to the
//! weighted covariance, as long as a step lowers $\hat k$. In the end only the first half of the
//! draws is moved, and both halves count as a mixture of the posterior and its image, which keeps
//! the estimate safe where the image has light tails.
//!
//! **Reference**: Paananen, Piironen, Bürkner and Vehtari 2021, *Statistics and Computing* 31(16).
//! R `loo::loo_moment_match` and ArviZ take the same steps; where scales were changed, they look up
//! the mixture's density at a point that is not the inverse image, which this does not.

use exmc_math::linear::{cholesky_lower, log_det_cholesky, solve_lower};
use exmc_math::{log, log_add_exp, log_sum_exp};

use crate::loo::{PointwiseLoo, of_weights};
use crate::psis::{Smoother, k_threshold, tail_length};

/// Draws of the posterior in the space where no value is forbidden, with their log density there.
#[derive(Clone, Copy, Debug)]
pub struct UnconstrainedDraws<'a> {
    /// Row-major `[draw, dimension]`, chain after chain.
    pub positions: &'a [f64],
    /// Log density at each draw, Jacobian included, as the function that is given evaluates it.
    pub log_density: &'a [f64],
}

/// How moment matching goes about it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MomentMatching {
    /// Most transformations; default 30, as R `loo`.
    pub most_steps: usize,
    /// Whether full covariances are matched where variances are not enough and there are at least
    /// ten draws a dimension; default true.
    pub covariance: bool,
    /// Whether the result is of the mixture with the untransformed draws; default true.
    pub split: bool,
}

impl Default for MomentMatching {
    fn default() -> Self {
        MomentMatching { most_steps: 30, covariance: true, split: true }
    }
}

/// What moment matching made of one observation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MomentMatched {
    /// The observation left out, with the last transformation's $\hat k$; `lppd` is the original's.
    pub left_out: PointwiseLoo,
    /// $\hat k$ before.
    pub original_k: f64,
    /// How many transformations lowered it.
    pub steps: usize,
}

/// An affine map of draws, together with what it made of them.
struct Matched {
    positions: Vec<f64>,
    log_lik: Vec<f64>,
    log_weights: Vec<f64>,
    k: f64,
}

impl MomentMatching {
    /// Leaves out the observation whose log likelihood is given, as a function of the unconstrained
    /// position; `log_density` is the posterior's, all observations included.
    ///
    /// Nothing is done, and nothing evaluated but the likelihood, where $\hat k$ is below the
    /// threshold already. **Edges**: positions where a function gives NaN get weight 0.
    ///
    /// # Panics
    /// When there is no draw, or the positions are not a whole number of dimensions for each.
    pub fn leave_out(
        &self,
        draws: UnconstrainedDraws,
        relative_efficiency: f64,
        mut log_density: impl FnMut(&[f64]) -> f64,
        mut log_lik: impl FnMut(&[f64]) -> f64,
    ) -> MomentMatched {
        let n = draws.log_density.len();
        assert!(n > 0 && draws.positions.len().is_multiple_of(n), "a position for each draw");
        let dim = draws.positions.len() / n;
        let tail = tail_length(n, relative_efficiency);
        let mut smoother = Smoother::default();
        let threshold = k_threshold(n);

        let first: Vec<f64> = rows(draws.positions, dim, n).map(&mut log_lik).collect();
        let mut log_weights: Vec<f64> = first.iter().map(|l| -l).collect();
        let k = smoother.smooth(&mut log_weights, tail);
        let original_k = k;
        let mut terms = Vec::new();
        let unmoved = of_weights(&first, &log_weights, k, relative_efficiency, &mut terms);
        let mut now =
            Matched { positions: draws.positions.to_vec(), log_lik: first, log_weights, k };

        let mut total = Affine::identity(dim);
        let mut steps = 0;
        while dim > 0 && steps < self.most_steps && now.k > threshold && now.k.is_finite() {
            let moments = Moments::of(&now.positions, dim, &now.log_weights);
            let candidates = [
                Some(moments.shift()),
                Some(moments.shift_and_scale()),
                (self.covariance && n >= 10 * dim)
                    .then(|| moments.shift_and_covariance())
                    .flatten(),
            ];
            let better = candidates.into_iter().flatten().find_map(|step| {
                let positions = step.apply(&now.positions, &moments.mean);
                let values: Vec<f64> = rows(&positions, dim, n).map(&mut log_lik).collect();
                let mut ratios: Vec<f64> = rows(&positions, dim, n)
                    .zip(values.iter().zip(draws.log_density))
                    .map(|(row, (l, before))| or_zero(log_density(row) - before - l))
                    .collect();
                let k = smoother.smooth(&mut ratios, tail);
                let matched = Matched { positions, log_lik: values, log_weights: ratios, k };
                (k < now.k).then_some((step, matched))
            });
            let Some((step, matched)) = better else { break };
            total.follow_with(&step);
            now = matched;
            steps += 1;
        }
        if steps == 0 {
            return MomentMatched { left_out: unmoved, original_k, steps };
        }
        let mut left_out = if self.split {
            let (values, weights) =
                mixture(&draws, dim, &total, tail, &mut smoother, &mut log_density, &mut log_lik);
            of_weights(&values, &weights, now.k, relative_efficiency, &mut terms)
        } else {
            of_weights(&now.log_lik, &now.log_weights, now.k, relative_efficiency, &mut terms)
        };
        left_out.lppd = unmoved.lppd;
        MomentMatched { left_out, original_k, steps }
    }
}

/// Log likelihoods and smoothed log weights of draws of which the first half is transformed.
fn mixture(
    draws: &UnconstrainedDraws,
    dim: usize,
    map: &Affine,
    tail: usize,
    smoother: &mut Smoother,
    log_density: &mut impl FnMut(&[f64]) -> f64,
    log_lik: &mut impl FnMut(&[f64]) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    let n = draws.log_density.len();
    let half = n / 2 * dim;
    let centre = column_means(draws.positions, dim);
    let mut moved = map.apply(&draws.positions[..half], &centre);
    moved.extend_from_slice(&draws.positions[half..]);
    // The same points, seen from the transformed distribution: where they came from.
    let mut origin = draws.positions[..half].to_vec();
    origin.extend(map.invert(&draws.positions[half..], &centre));
    let log_jacobian = map.log_determinant();
    let values: Vec<f64> = rows(&moved, dim, n).map(&mut *log_lik).collect();
    let mut ratios: Vec<f64> = rows(&moved, dim, n)
        .zip(rows(&origin, dim, n))
        .zip(&values)
        .map(|((moved, origin), l)| {
            let here = log_density(moved);
            let image = log_density(origin) - log_jacobian;
            or_zero(here - l - log_add_exp(here, image))
        })
        .collect();
    smoother.smooth(&mut ratios, tail);
    (values, ratios)
}

/// NaN and infinity mean that a position cannot be used.
fn or_zero(log_weight: f64) -> f64 {
    if log_weight.is_finite() { log_weight } else { f64::NEG_INFINITY }
}

fn rows(positions: &[f64], dim: usize, n: usize) -> impl Iterator<Item = &[f64]> {
    (0..n).map(move |s| &positions[s * dim..(s + 1) * dim])
}

fn column_means(positions: &[f64], dim: usize) -> Vec<f64> {
    let n = (positions.len() / dim) as f64;
    let mut means = vec![0.0; dim];
    for row in positions.chunks_exact(dim) {
        means.iter_mut().zip(row).for_each(|(m, x)| *m += x / n);
    }
    means
}

/// $x \mapsto c + s + M D (x - c)$ around a centre $c$ that the caller has: shift $s$, diagonal
/// scaling $D$, mapping $M$ (lower triangular; row-major).
struct Affine {
    shift: Vec<f64>,
    scaling: Vec<f64>,
    mapping: Option<Vec<f64>>,
}

impl Affine {
    fn identity(dim: usize) -> Self {
        Affine { shift: vec![0.0; dim], scaling: vec![1.0; dim], mapping: None }
    }

    fn apply(&self, positions: &[f64], centre: &[f64]) -> Vec<f64> {
        let dim = centre.len();
        let mut out = Vec::with_capacity(positions.len());
        let mut scaled = vec![0.0; dim];
        for row in positions.chunks_exact(dim) {
            for d in 0..dim {
                scaled[d] = (row[d] - centre[d]) * self.scaling[d];
            }
            for d in 0..dim {
                let x = match &self.mapping {
                    Some(m) => (0..dim).map(|e| m[d * dim + e] * scaled[e]).sum(),
                    None => scaled[d],
                };
                out.push(x + centre[d] + self.shift[d]);
            }
        }
        out
    }

    /// Where points come from.
    fn invert(&self, positions: &[f64], centre: &[f64]) -> Vec<f64> {
        let dim = centre.len();
        let mut out = Vec::with_capacity(positions.len());
        let mut back = vec![0.0; dim];
        for row in positions.chunks_exact(dim) {
            for d in 0..dim {
                back[d] = row[d] - centre[d] - self.shift[d];
            }
            if let Some(m) = &self.mapping {
                // Products of lower triangular matrices are lower triangular.
                solve_lower(m, &mut back);
            }
            out.extend((0..dim).map(|d| back[d] / self.scaling[d] + centre[d]));
        }
        out
    }

    fn log_determinant(&self) -> f64 {
        let dim = self.scaling.len();
        let scaling: f64 = self.scaling.iter().map(|s| log(*s)).sum();
        let mapping = match &self.mapping {
            Some(m) => log_det_cholesky(dim, m) / 2.0,
            None => 0.0,
        };
        scaling + mapping
    }

    /// The composition of this map and then `step`, whose centre is where this one moves its own.
    fn follow_with(&mut self, step: &Affine) {
        let dim = self.shift.len();
        self.shift.iter_mut().zip(&step.shift).for_each(|(a, b)| *a += b);
        if self.mapping.is_none() && step.mapping.is_none() {
            self.scaling.iter_mut().zip(&step.scaling).for_each(|(a, b)| *a *= b);
            return;
        }
        let (before, after) = (self.matrix(), step.matrix());
        let mut product = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in 0..=i {
                product[i * dim + j] =
                    (j..=i).map(|k| after[i * dim + k] * before[k * dim + j]).sum();
            }
        }
        self.mapping = Some(product);
        self.scaling.fill(1.0);
    }

    /// $M D$, lower triangular.
    fn matrix(&self) -> Vec<f64> {
        let dim = self.scaling.len();
        let mapping = |i: usize, j: usize| match &self.mapping {
            Some(m) => m[i * dim + j],
            None => f64::from(u8::from(i == j)),
        };
        (0..dim * dim)
            .map(|index| mapping(index / dim, index % dim) * self.scaling[index % dim])
            .collect()
    }
}

/// Moments of draws, and of the same draws with weights.
struct Moments<'a> {
    positions: &'a [f64],
    dim: usize,
    weights: Vec<f64>,
    mean: Vec<f64>,
    weighted_mean: Vec<f64>,
}

impl<'a> Moments<'a> {
    fn of(positions: &'a [f64], dim: usize, log_weights: &[f64]) -> Self {
        let total = log_sum_exp(log_weights);
        let weights: Vec<f64> = log_weights.iter().map(|w| exmc_math::exp(w - total)).collect();
        let mut weighted_mean = vec![0.0; dim];
        for (row, w) in positions.chunks_exact(dim).zip(&weights) {
            weighted_mean.iter_mut().zip(row).for_each(|(m, x)| *m += w * x);
        }
        let mean = column_means(positions, dim);
        Moments { positions, dim, weights, mean, weighted_mean }
    }

    fn shift(&self) -> Affine {
        let shift = self.weighted_mean.iter().zip(&self.mean).map(|(w, m)| w - m).collect();
        Affine { shift, ..Affine::identity(self.dim) }
    }

    fn shift_and_scale(&self) -> Affine {
        let n = self.weights.len() as f64;
        let scale = |d: usize| {
            let column = || self.positions.chunks_exact(self.dim).map(move |row| row[d]);
            let plain: f64 = column().map(|x| (x - self.mean[d]) * (x - self.mean[d])).sum();
            let centre = self.weighted_mean[d];
            let weighted: f64 =
                column().zip(&self.weights).map(|(x, w)| w * (x - centre) * (x - centre)).sum();
            let (plain, weighted) = (plain / (n - 1.0), weighted * n / (n - 1.0));
            if plain > 0.0 && weighted > 0.0 { (weighted / plain).sqrt() } else { 1.0 }
        };
        Affine { scaling: (0..self.dim).map(scale).collect(), ..self.shift() }
    }

    /// `None` where a covariance has no Cholesky factor.
    fn shift_and_covariance(&self) -> Option<Affine> {
        let (dim, n) = (self.dim, self.weights.len());
        let equal = vec![1.0 / n as f64; n];
        let plain = self.factor(&self.mean, &equal)?;
        let weighted = self.factor(&self.weighted_mean, &self.weights)?;
        // M = L_w L^{-1}: row i of M solves M L = L_w, from the last column back.
        let mut mapping = vec![0.0; dim * dim];
        for i in 0..dim {
            for j in (0..=i).rev() {
                let known: f64 =
                    (j + 1..=i).map(|k| mapping[i * dim + k] * plain[k * dim + j]).sum();
                mapping[i * dim + j] = (weighted[i * dim + j] - known) / plain[j * dim + j];
            }
        }
        Some(Affine { mapping: Some(mapping), ..self.shift() })
    }

    /// Lower Cholesky factor of the weighted covariance with divisor $1 - \sum w^2$.
    fn factor(&self, mean: &[f64], weights: &[f64]) -> Option<Vec<f64>> {
        let dim = self.dim;
        let divisor = 1.0 - weights.iter().map(|w| w * w).sum::<f64>();
        let mut covariance = vec![0.0; dim * dim];
        for (row, w) in self.positions.chunks_exact(dim).zip(weights) {
            for i in 0..dim {
                for j in 0..=i {
                    covariance[i * dim + j] +=
                        w * (row[i] - mean[i]) * (row[j] - mean[j]) / divisor;
                }
            }
        }
        for i in 0..dim {
            for j in i + 1..dim {
                covariance[i * dim + j] = covariance[j * dim + i];
            }
        }
        let mut factor = vec![0.0; dim * dim];
        cholesky_lower(dim, &covariance, &mut factor).ok()?;
        Some(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compositions_and_inverses() {
        let centre = [1.0, -2.0];
        let scale = Affine { shift: vec![0.5, 0.25], scaling: vec![2.0, 4.0], mapping: None };
        let map = Affine {
            shift: vec![-1.0, 3.0],
            scaling: vec![1.0, 1.0],
            mapping: Some(vec![0.5, 0.0, 2.0, 1.5]),
        };
        let points = [3.0, 5.0, -1.0, 0.25];
        let middle: Vec<f64> = centre.iter().zip(&scale.shift).map(|(c, s)| c + s).collect();
        let one_by_one = map.apply(&scale.apply(&points, &centre), &middle);
        let mut both = Affine::identity(2);
        both.follow_with(&scale);
        both.follow_with(&map);
        both.follow_with(&Affine::identity(2));
        assert_eq!(both.apply(&points, &centre), one_by_one);
        let back = both.invert(&one_by_one, &centre);
        assert!(back.iter().zip(&points).all(|(a, b)| (a - b).abs() < 1e-14), "{back:?}");
        assert!((both.log_determinant() - 6f64.ln()).abs() < 1e-14);
    }
}
