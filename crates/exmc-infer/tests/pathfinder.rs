//! Pathfinder against normals and a banana whose integrals are known, and where it can go wrong.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::f64::consts::PI;

use crate::common::{Density, correlated, mean, normal, variance};
use exmc_density::EvaluationError;
use exmc_infer::Start;
use exmc_infer::pathfinder::{Path, PathfinderConfig, pathfinder};
use exmc_math::random::{ChainRng, Phase};

fn find<F>(density: Density<F>, start: &Start, draws: usize, seed: u64) -> Path
where
    F: Fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError>,
{
    let mut density = density;
    let mut config = PathfinderConfig::default();
    config.draws = draws;
    let mut rng = ChainRng::new(seed, 0, Phase::Path);
    pathfinder(&mut density, start, &config, &mut rng).unwrap()
}

/// Determinant by elimination; for small positive definite matrices.
fn determinant(n: usize, a: &[f64]) -> f64 {
    let mut a = a.to_vec();
    let mut product = 1.0;
    for k in 0..n {
        product *= a[k * n + k];
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            for j in k..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
        }
    }
    product
}

/// The ELBO of a normal $q$ for a normal target with precision $P$ and log integral $\log Z$: $\log
/// Z$ minus the divergence $\tfrac12(\mathrm{tr}(PS) - d - \log\det PS + m^\top P m)$. Its
/// estimate's error comes from the draws' own spread; five of those are exceeded once in a million.
/// The search for the largest of a few estimates adds a little, as all are within the same error.
#[test]
fn the_elbo_of_a_normal_target_is_its_closed_form() {
    const DRAWS: usize = 2000;
    for (dim, rho) in [(1, 0.0), (2, 0.9), (5, 0.5), (10, 0.95)] {
        let path = find(correlated(dim, rho), &Start::Random, DRAWS, 3);
        assert!(path.stopped.is_converged(), "{dim}: {:?}", path.stopped);
        let best = path.best.unwrap();
        let k = rho / (1.0 + (dim as f64 - 1.0) * rho);
        let precision = |i: usize, j: usize| (f64::from(u8::from(i == j)) - k) / (1.0 - rho);
        let det = (1.0 - rho).powi(dim as i32 - 1) * (1.0 + (dim as f64 - 1.0) * rho);
        let log_z = 0.5 * (dim as f64 * (2.0 * PI).ln() + det.ln());
        let (s, m) = (best.approximation.covariance(), best.approximation.mean());
        let (mut trace, mut square) = (0.0, 0.0);
        for i in 0..dim {
            for j in 0..dim {
                trace += precision(i, j) * s[j * dim + i];
                square += m[i] * precision(i, j) * m[j];
            }
        }
        let log_det = (determinant(dim, &s) / det).ln();
        let elbo = log_z - 0.5 * (trace - dim as f64 - log_det + square);
        let ratios: Vec<f64> = best.logps.iter().zip(&best.logqs).map(|(p, q)| p - q).collect();
        assert!((mean(&ratios) - best.elbo).abs() < 1e-9 * (1.0 + best.elbo.abs()));
        let error = (variance(&ratios) / DRAWS as f64).sqrt();
        assert!((best.elbo - elbo).abs() < 5.0 * error + 1e-9, "{dim}: {} {elbo}", best.elbo);
        // What six steps say of the curvature is near that of the target; a third of a nat a
        // dimension is a factor of two in every variance.
        assert!(elbo > log_z - 0.3 * dim as f64, "{dim}: {elbo} {log_z}");
    }
}

/// In few dimensions the steps to the mode are enough for the whole covariance. Quasi-Newton steps
/// learn it only as well as their line searches are exact: to some per cent here.
#[test]
fn mean_and_covariance_of_a_normal_target_are_found() {
    let path = find(correlated(2, 0.8), &Start::At(vec![3.0, -7.0]), 100, 1);
    let best = path.best.unwrap();
    let covariance = best.approximation.covariance();
    for (found, exact) in covariance.iter().zip([1.0, 0.8, 0.8, 1.0]) {
        assert!((found - exact).abs() < 0.1, "{covariance:?}");
    }
    assert!(best.approximation.mean().iter().all(|m| m.abs() < 0.1));
    assert!(path.end.iter().all(|x| x.abs() < 1e-5) && path.logp.abs() < 1e-9);

    // With more dimensions than steps that are remembered the diagonal must hold the scales, here 1
    // to 400.
    let path = find(normal(20), &Start::Random, 100, 1);
    let best = path.best.unwrap();
    for (i, found) in best.approximation.variances().iter().enumerate() {
        let ratio = found / ((i + 1) * (i + 1)) as f64;
        assert!((0.1..10.0).contains(&ratio), "{i}: {ratio}");
    }
}

/// The draws have the mean and covariance that the approximation says: of n draws an entry is off
/// by $\sqrt{(c_{ij}^2+c_{ii}c_{jj})/n}$, of which five are exceeded once in a million.
#[test]
fn draws_are_those_of_the_approximation() {
    const N: usize = 20_000;
    for (dim, rho) in [(3, 0.9), (8, 0.6)] {
        let best = find(correlated(dim, rho), &Start::Random, N, 4).best.unwrap();
        let (m, c) = (best.approximation.mean(), best.approximation.covariance());
        for i in 0..dim {
            for j in 0..dim {
                let centred = best.draws.chunks_exact(dim).map(|x| (x[i] - m[i]) * (x[j] - m[j]));
                let found = centred.sum::<f64>() / N as f64;
                let (variance_product, exact) = (c[i * dim + i] * c[j * dim + j], c[i * dim + j]);
                let error = ((exact * exact + variance_product) / N as f64).sqrt();
                assert!((found - exact).abs() < 5.0 * error, "{dim} [{i},{j}]: {found} {exact}");
            }
        }
    }
}

/// A banana, $x\sim N(0,1)$ and $y\mid x\sim N(x^2, 1/2)$, has an integral of one, so that every
/// ELBO is below 0; the mode's curvature at the origin says nothing of the bend, which costs
/// $E[x^4]/(2\cdot 1/4)=6$ nats at most.
#[test]
fn the_elbo_of_a_banana_is_below_its_evidence() {
    let banana = |q: &[f64], g: &mut [f64]| {
        let bend = q[1] - q[0] * q[0];
        g[0] = -q[0] + 8.0 * bend * q[0];
        g[1] = -4.0 * bend;
        Ok(-0.5 * q[0] * q[0] - 2.0 * bend * bend - (2.0 * PI).ln() + 2.0_f64.ln())
    };
    for seed in 0..5 {
        let path = find(Density { dim: 2, logp_grad: banana }, &Start::Random, 4000, seed);
        assert!(path.end.iter().all(|x| x.abs() < 1e-4), "{:?}", path.end);
        let best = path.best.unwrap();
        let ratios: Vec<f64> = best.logps.iter().zip(&best.logqs).map(|(p, q)| p - q).collect();
        let error = (variance(&ratios) / 4000.0).sqrt();
        assert!(best.elbo < 5.0 * error && best.elbo > -6.0, "{} {error}", best.elbo);
    }
}

/// A narrow spike at the end of the walk that holds little: the best approximation is of the hill
/// on the way.
#[test]
fn a_spike_is_not_the_best() {
    // Weight 1 at 0 with deviation 1, weight e^-8 at 6 with deviation 1e-6: higher by 5.8 nats
    // there.
    let spike = |q: &[f64], g: &mut [f64]| {
        let (wide, narrow): (f64, f64) = (1.0, 1e-6);
        let wide_logp = -0.5 * (q[0] / wide).powi(2);
        let z = (q[0] - 1.0) / narrow;
        let narrow_logp = -8.0 - narrow.ln() - 0.5 * z * z;
        let top = wide_logp.max(narrow_logp);
        let (a, b) = ((wide_logp - top).exp(), (narrow_logp - top).exp());
        g[0] = (-a * q[0] / wide.powi(2) - b * z / narrow) / (a + b);
        Ok(top + (a + b).ln())
    };
    // From inside of the spike there is nothing else; from outside the spike is not even seen.
    let inside = find(Density { dim: 1, logp_grad: spike }, &Start::At(vec![1.0]), 100, 1);
    let outside = find(Density { dim: 1, logp_grad: spike }, &Start::At(vec![-3.0]), 100, 1);
    assert!(inside.logp > outside.logp + 5.0);
    let elbo = |path: &Path| path.best.as_ref().map_or(f64::NEG_INFINITY, |best| best.elbo);
    assert!(elbo(&outside) > elbo(&inside) + 5.0, "{} {}", elbo(&outside), elbo(&inside));
}

/// From where the density is $e^{-10^{100}}$ the walk arrives, and the way there costs no draws.
#[test]
fn far_starts_arrive() {
    let steep = |q: &[f64], g: &mut [f64]| {
        // An exponential wall on one side of a normal: -exp(100 (x - 1)) at x = 3.3 is -1e100.
        let wall = (100.0 * (q[0] - 1.0)).exp();
        g[0] = -100.0 * wall - q[0];
        g[1] = -q[1];
        Ok(-wall - 0.5 * (q[0] * q[0] + q[1] * q[1]))
    };
    let path = find(Density { dim: 2, logp_grad: steep }, &Start::At(vec![3.3, 1.0]), 5, 1);
    assert!(path.logp > -1e-3 && path.stopped.is_converged(), "{path:?}");
    let best = path.best.as_ref().unwrap();
    assert!(best.logps.iter().all(|logp| *logp > -20.0));
    assert!(path.evaluations < 4 * path.iterations + 100, "{path:?}");
}

#[test]
fn draws_outside_of_the_support_rule_an_approximation_out() {
    // The right half of a normal from just inside: half of the draws are outside.
    let half = |q: &[f64], g: &mut [f64]| {
        g[0] = -q[0];
        if q[0] < 0.0 {
            Err(EvaluationError::Recoverable("no".into()))
        } else {
            Ok(-0.5 * q[0] * q[0])
        }
    };
    let path = find(Density { dim: 1, logp_grad: half }, &Start::At(vec![2.0]), 40, 1);
    assert!(path.best.is_none());
    assert!(path.end[0] >= 0.0 && path.logp.is_finite());
}

#[test]
fn the_same_numbers_give_the_same_bits() {
    let made = |seed| {
        let best = find(correlated(4, 0.7), &Start::Random, 5, seed).best.unwrap();
        (best.draws.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), best.elbo.to_bits())
    };
    assert_eq!(made(5), made(5));
    assert_ne!(made(5), made(6));
}

#[test]
fn bad_settings_and_failures_are_errors() {
    let mut config = PathfinderConfig::default();
    config.draws = 0;
    let mut rng = ChainRng::new(1, 0, Phase::Path);
    let error = pathfinder(&mut correlated(2, 0.5), &Start::Random, &config, &mut rng).unwrap_err();
    assert!(error.is_config(), "{error}");
    config = PathfinderConfig::default();
    config.history = 0;
    let error = pathfinder(&mut correlated(2, 0.5), &Start::Random, &config, &mut rng).unwrap_err();
    assert!(error.is_config(), "{error}");
    let fatal = |q: &[f64], g: &mut [f64]| {
        g[0] = -q[0];
        if q[0].abs() < 0.5 {
            Err(EvaluationError::Fatal("broken".into()))
        } else {
            Ok(-0.5 * q[0] * q[0])
        }
    };
    let config = PathfinderConfig::default();
    let start = Start::At(vec![2.0]);
    let mut density = Density { dim: 1, logp_grad: fatal };
    let error = pathfinder(&mut density, &start, &config, &mut rng).unwrap_err();
    assert!(error.is_fatal(), "{error}");
}
