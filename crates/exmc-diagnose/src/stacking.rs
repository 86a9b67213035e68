//! Weights of models: pointwise log predictive densities -> the mixture that predicts best.

use exmc_math::random::{ChainRng, Phase, draws::dirichlet};
use exmc_math::{exp, log};

/// Weights that maximise the log score of the mixture: $\max_w \sum_i \log \sum_k w_k
/// e^{\ell_{ik}}$ over $w_k \ge 0$, $\sum w_k = 1$.
///
/// **Shapes**: `pointwise[k][i]` is the log predictive density of observation `i` under model `k`;
/// the result has one weight a model. **Edges**: nothing for no models; equal weights for no
/// observations, and where a density is NaN or an observation is impossible under all models; of
/// models that predict alike any division of their weight is a maximum, and they get equal ones.
/// **Numerics**: a primal-dual interior point method, to a duality gap below 1e-14 an observation;
/// deterministic. **Reference**: Yao, Vehtari, Simpson and Gelman 2018, *Bayesian Analysis* 13(3).
///
/// ```
/// let (a, b) = ([-1.0, -1.0, -4.0], [-4.0, -4.0, -1.0]);
/// let weights = exmc_diagnose::stacking_weights(&[&a, &b]);
/// assert!(weights[0] > 0.6 && (weights[0] + weights[1] - 1.0).abs() < 1e-12);
/// ```
pub fn stacking_weights(pointwise: &[&[f64]]) -> Vec<f64> {
    let n_models = pointwise.len();
    let Some(densities) = relative_densities(pointwise).filter(|rows| !rows.is_empty()) else {
        return vec![1.0 / n_models as f64; n_models];
    };
    let n = densities.len() as f64;
    // The sum of the weights is not fixed but charged: the maximum of the mean log score less the
    // sum has sum 1, because the score of t w is log t more.
    let mut w = vec![1.0 / n_models as f64; n_models];
    let mut z = vec![1.0; n_models];
    for _ in 0..200 {
        let mut gradient = vec![1.0; n_models];
        let mut system = vec![0.0; n_models * n_models];
        for row in &densities {
            let mixture: f64 = row.iter().zip(&w).map(|(p, w)| p * w).sum();
            for i in 0..n_models {
                let share = row[i] / mixture;
                gradient[i] -= share / n;
                for j in 0..=i {
                    system[i * n_models + j] += share * (row[j] / mixture) / n;
                }
            }
        }
        let gap: f64 = w.iter().zip(&z).map(|(w, z)| w * z).sum();
        let residual = gradient.iter().zip(&z).map(|(g, z)| (g - z).abs()).fold(0.0, f64::max);
        if gap < 1e-15 * n_models as f64 && residual < 1e-13 {
            break;
        }
        let target = 0.1 * gap / n_models as f64;
        for i in 0..n_models {
            system[i * n_models + i] += z[i] / w[i];
        }
        let downhill: Vec<f64> = (0..n_models).map(|i| target / w[i] - gradient[i]).collect();
        let Some(dw) = solve(n_models, &mut system, downhill) else { break };
        let dz: Vec<f64> =
            (0..n_models).map(|i| target / w[i] - z[i] - z[i] / w[i] * dw[i]).collect();
        let (step_w, step_z) = (longest_step(&w, &dw), longest_step(&z, &dz));
        w.iter_mut().zip(&dw).for_each(|(w, d)| *w += step_w * d);
        z.iter_mut().zip(&dz).for_each(|(z, d)| *z += step_z * d);
    }
    let total: f64 = w.iter().sum();
    w.iter().map(|w| w / total).collect()
}

/// The longest step up to 1 that stays short of the boundary.
fn longest_step(x: &[f64], d: &[f64]) -> f64 {
    let limits = x.iter().zip(d).filter(|(_, d)| **d < 0.0).map(|(x, d)| -0.995 * x / d);
    limits.fold(1.0, f64::min)
}

/// Solves a symmetric positive definite system given by its lower triangle.
fn solve(n: usize, lower: &mut [f64], mut x: Vec<f64>) -> Option<Vec<f64>> {
    use exmc_math::linear::{cholesky_lower, solve_lower, solve_lower_transposed};
    let mut factor = vec![0.0; n * n];
    cholesky_lower(n, lower, &mut factor).ok()?;
    solve_lower(&factor, &mut x);
    solve_lower_transposed(&factor, &mut x);
    Some(x)
}

/// Densities of each observation relative to the best model's, one row an observation; `None` where
/// there is a NaN or an observation that no model allows.
fn relative_densities(pointwise: &[&[f64]]) -> Option<Vec<Vec<f64>>> {
    let n = pointwise.iter().map(|lpd| lpd.len()).min().unwrap_or(0);
    let mut rows = Vec::with_capacity(n);
    for i in 0..n {
        let most = pointwise.iter().map(|lpd| lpd[i]).fold(f64::NEG_INFINITY, f64::max);
        let row: Vec<f64> = pointwise.iter().map(|lpd| exp(lpd[i] - most)).collect();
        if !row.iter().all(|p| p.is_finite()) {
            return None;
        }
        rows.push(row);
    }
    Some(rows)
}

/// Pseudo-BMA weights: proportional to $e^{\mathrm{elpd}_k}$.
///
/// Takes the estimates for exact, so a difference of a few units leaves one model; prefer
/// [`stacking_weights`], or [`pseudo_bma_plus_weights`]. **Edges**: NaN where an elpd is.
/// **Reference**: Geisser and Eddy 1979; Yao et al. 2018, section 3.3.
pub fn pseudo_bma_weights(elpd: &[f64]) -> Vec<f64> {
    let most = elpd.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let raw: Vec<f64> = elpd.iter().map(|e| exp(e - most)).collect();
    let total: f64 = raw.iter().sum();
    raw.iter().map(|w| w / total).collect()
}

/// Pseudo-BMA+ weights: the mean of [`pseudo_bma_weights`] over `n_bootstrap` reweightings of the
/// observations, each uniform on the simplex (the Bayesian bootstrap).
///
/// **Shapes**: as [`stacking_weights`]. The same seed gives the same weights. **Edges**: no
/// reweighting gives NaN. **Reference**: Yao et al. 2018, section 3.4; 1000 reweightings there and
/// in R `loo`.
pub fn pseudo_bma_plus_weights(pointwise: &[&[f64]], n_bootstrap: usize, seed: u64) -> Vec<f64> {
    let n = pointwise.iter().map(|lpd| lpd.len()).min().unwrap_or(0);
    let mut rng = ChainRng::new(seed, 0, Phase::Initial);
    let (ones, mut shares) = (vec![1.0; n], vec![0.0; n]);
    let mut sum = vec![0.0; pointwise.len()];
    for _ in 0..n_bootstrap {
        dirichlet(&mut rng, &ones, &mut shares);
        let elpd: Vec<f64> = pointwise
            .iter()
            .map(|lpd| lpd.iter().zip(&shares).map(|(l, s)| l * s).sum::<f64>() * n as f64)
            .collect();
        sum.iter_mut().zip(pseudo_bma_weights(&elpd)).for_each(|(s, w)| *s += w);
    }
    sum.iter().map(|s| s / n_bootstrap as f64).collect()
}

/// The mean log score of a mixture of models.
pub fn mixture_score(pointwise: &[&[f64]], weights: &[f64]) -> f64 {
    let n = pointwise.iter().map(|lpd| lpd.len()).min().unwrap_or(0);
    let score = |i: usize| {
        let most = pointwise.iter().map(|lpd| lpd[i]).fold(f64::NEG_INFINITY, f64::max);
        let terms = pointwise.iter().zip(weights).map(|(lpd, w)| w * exp(lpd[i] - most));
        most + log(terms.sum())
    };
    (0..n).map(score).sum::<f64>() / n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At the maximum no weight can be moved to advantage: each model's mean share of the mixture
    /// is at most 1, and 1 where its weight is positive.
    #[test]
    fn weights_satisfy_the_conditions_of_a_maximum() {
        let lpd = |k: u32| -> Vec<f64> {
            (0..60)
                .map(|i| -1.0 - 2.0 * (f64::from(i * (k + 1)) * 0.9 + f64::from(k)).sin().abs())
                .collect()
        };
        let models: Vec<Vec<f64>> = (0..5).map(lpd).collect();
        let pointwise: Vec<&[f64]> = models.iter().map(Vec::as_slice).collect();
        let weights = stacking_weights(&pointwise);
        assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for (k, weight) in weights.iter().enumerate() {
            let share = (0..60).map(|i| {
                let mixture: f64 =
                    pointwise.iter().zip(&weights).map(|(lpd, w)| w * exp(lpd[i])).sum();
                exp(models[k][i]) / mixture
            });
            let mean = share.sum::<f64>() / 60.0;
            assert!(mean <= 1.0 + 1e-9, "{k}: {mean}");
            assert!(*weight < 1e-9 || (mean - 1.0).abs() < 1e-7, "{k}: {weight} {mean}");
        }
    }

    #[test]
    fn edges() {
        assert!(stacking_weights(&[]).is_empty());
        assert_eq!(stacking_weights(&[&[], &[]]), [0.5, 0.5]);
        assert_eq!(stacking_weights(&[&[f64::NAN], &[1.0]]), [0.5, 0.5]);
        let alone = stacking_weights(&[&[-3.0, -2.0]]);
        assert!((alone[0] - 1.0).abs() < 1e-12);
        let alike = stacking_weights(&[&[-3.0, -2.0], &[-3.0, -2.0]]);
        assert!((alike[0] - 0.5).abs() < 1e-12);
        // 1000 nats apart: nothing underflows to 0/0.
        let far = stacking_weights(&[&[-1000.0, -2000.0], &[-2000.0, -3000.0]]);
        assert!((far[0] - 1.0).abs() < 1e-9, "{far:?}");
        assert_eq!(pseudo_bma_weights(&[-1000.0, -1000.0]), [0.5, 0.5]);
        assert_eq!(
            pseudo_bma_plus_weights(&[&[-1.0, -2.0], &[-2.0, -1.0]], 50, 7),
            pseudo_bma_plus_weights(&[&[-1.0, -2.0], &[-2.0, -1.0]], 50, 7)
        );
    }
}
