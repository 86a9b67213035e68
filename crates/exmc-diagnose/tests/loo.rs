//! Leave-one-out and what follows it against truths that need no other program: the specification's
//! numbers, conjugate models, exact refits.

use exmc_diagnose::*;
use exmc_math::random::{ChainRng, Phase};
use exmc_math::{log, log1p};

/// $\log N(y; \mu, \sigma)$.
fn normal(y: f64, mu: f64, sigma: f64) -> f64 {
    let z = (y - mu) / sigma;
    -0.5 * z * z - log(sigma) - 0.5 * log(2.0 * std::f64::consts::PI)
}

#[test]
fn the_specified_shapes() {
    // Largest of 1000 log weights first would do as well: order does not matter.
    for (k, expected) in [(0.3, 0.3236), (0.5, 0.4971), (0.7, 0.6707), (1.0, 0.9311)] {
        let ratios: Vec<f64> =
            (0..1000).map(|i| -k * log1p(-(f64::from(i) + 0.5) / 1000.0)).collect();
        let found = psis(&ratios, 1.0).k;
        // Half a unit of the specification's last digit.
        assert!((found - expected).abs() < 5e-5, "{k}: {found}");
    }
}

#[test]
fn the_specified_waic_and_its_parts() {
    let log_lik: Vec<Vec<f64>> =
        [[0.2, 0.4], [0.5, 0.5]].iter().map(|row: &[f64; 2]| row.map(log).to_vec()).collect();
    let waic = waic(log_lik.iter().map(Vec::as_slice));
    let lppd: f64 = waic.pointwise.iter().map(|(lppd, _)| lppd).sum();
    for (found, expected) in [
        (lppd, -1.897120),
        (waic.p_waic, 0.240227),
        (waic.elpd, -2.137346),
        (waic.waic(), 4.274693),
        (waic.se, 0.751052),
    ] {
        assert!((found - expected).abs() < 5e-7, "{found} {expected}");
    }
    // Two draws are too few to smooth, so this is plain importance sampling, and says so.
    let mut builder = LooBuilder::new();
    log_lik.iter().for_each(|row| _ = builder.push(row, 1.0));
    let loo = builder.finish();
    assert!((loo.looic() - 4.029806).abs() < 5e-7 && (loo.p_loo - 0.117783).abs() < 5e-7);
    // The second observation has one likelihood in both draws, so there is nothing to smooth.
    assert_eq!(loo.untrusted(), [0]);
}

/// Normal data with known deviation 1 and a normal prior of deviation `prior`: the posterior's mean
/// and deviation without observation `left_out`.
fn posterior(y: &[f64], prior: f64, left_out: Option<usize>) -> (f64, f64) {
    let used = |i: &usize| Some(*i) != left_out;
    let n = (0..y.len()).filter(used).count() as f64;
    let sum: f64 = (0..y.len()).filter(used).map(|i| y[i]).sum();
    let precision = n + 1.0 / (prior * prior);
    (sum / precision, 1.0 / precision.sqrt())
}

fn exact_elpd(y: &[f64], prior: f64, i: usize) -> f64 {
    let (mean, sd) = posterior(y, prior, Some(i));
    normal(y[i], mean, (1.0 + sd * sd).sqrt())
}

fn draws_of(mean: f64, sd: f64, n: usize, seed: u64) -> Vec<f64> {
    let mut rng = ChainRng::new(seed, 0, Phase::Sampling);
    (0..n).map(|_| mean + sd * rng.standard_normal()).collect()
}

#[test]
fn a_conjugate_model_has_the_exact_densities() {
    let y = [0.3, -1.2, 0.8, 2.1, -0.4, 0.1, 1.4, -0.9, 0.6, 0.2];
    let (mean, sd) = posterior(&y, 3.0, None);
    let mu = draws_of(mean, sd, 4000, 1);
    let mut builder = LooBuilder::new();
    for (i, y_i) in y.iter().enumerate() {
        let log_lik: Vec<f64> = mu.iter().map(|m| normal(*y_i, *m, 1.0)).collect();
        let left_out = builder.push(&log_lik, 1.0);
        let error = left_out.elpd - exact_elpd(&y, 3.0, i);
        // Five Monte Carlo standard errors: ten observations fail together once in 1e5 runs.
        assert!(error.abs() < 5.0 * left_out.mcse, "{i}: {error} {}", left_out.mcse);
        assert!(left_out.mcse < 0.02 && left_out.pareto_k < 0.5 && left_out.n_eff > 500.0);
    }
    let loo = builder.finish();
    assert!(loo.untrusted().is_empty() && loo.mcse < 0.05 && loo.mcse > 0.0);
    let exact: f64 = (0..10).map(|i| exact_elpd(&y, 3.0, i)).sum();
    assert!((loo.elpd - exact).abs() < 5.0 * loo.mcse);
    assert!((loo.p_loo - 1.0).abs() < 0.3, "one parameter: {}", loo.p_loo);
    assert_eq!(loo.looic(), -2.0 * loo.elpd);
}

#[test]
fn moment_matching_repairs_an_outlier() {
    let mut y = vec![0.2, -0.3, 0.1, 0.4, -0.2];
    y.push(11.0);
    let (mean, sd) = posterior(&y, 10.0, None);
    let mu = draws_of(mean, sd, 1000, 3);
    let log_density =
        |m: &[f64]| normal(m[0], 0.0, 10.0) + y.iter().map(|y| normal(*y, m[0], 1.0)).sum::<f64>();
    let log_densities: Vec<f64> = mu.iter().map(|m| log_density(&[*m])).collect();
    let draws = UnconstrainedDraws { positions: &mu, log_density: &log_densities };
    let exact = exact_elpd(&y, 10.0, 5);
    for split in [true, false] {
        let mut matching = MomentMatching::default();
        matching.split = split;
        let matched =
            matching.leave_out(draws, 1.0, log_density, |m: &[f64]| normal(y[5], m[0], 1.0));
        assert!(matched.original_k > k_threshold(1000), "{}", matched.original_k);
        assert!(matched.steps > 0 && matched.left_out.pareto_k < k_threshold(1000));
        let error = matched.left_out.elpd - exact;
        // Five standard errors of the matched estimate, which the unmatched one is off by more
        // than.
        assert!(error.abs() < 5.0 * matched.left_out.mcse, "{split}: {error} {matched:?}");
        let unmatched = LooBuilder::new()
            .push(&mu.iter().map(|m| normal(y[5], *m, 1.0)).collect::<Vec<_>>(), 1.0);
        let before = unmatched.elpd - exact;
        assert!(
            error.abs() < 0.5 * before.abs() && before.abs() > 5.0 * matched.left_out.mcse,
            "{split}: {error} {before} {}",
            matched.left_out.mcse
        );
        assert_eq!(matched.left_out.lppd, unmatched.lppd);
    }
    // An observation in the middle needs nothing.
    let calm =
        MomentMatching::default().leave_out(draws, 1.0, log_density, |m| normal(y[0], m[0], 1.0));
    assert_eq!((calm.steps, calm.original_k), (0, calm.left_out.pareto_k));
}

/// Two correlated coefficients and an observation far out in both: scale and covariance must move.
#[test]
fn moment_matching_moves_covariances() {
    let x: Vec<[f64; 2]> =
        (0..12).map(|i| [1.0, f64::from(i) * 0.2 + if i == 11 { 6.0 } else { 0.0 }]).collect();
    let y: Vec<f64> =
        (0..12).map(|i| 0.3 * f64::from(i) * 0.2 + if i == 11 { 9.0 } else { 0.0 }).collect();
    let line = |b: &[f64], i: usize| b[0] * x[i][0] + b[1] * x[i][1];
    let log_density = |b: &[f64]| {
        normal(b[0], 0.0, 5.0)
            + normal(b[1], 0.0, 5.0)
            + (0..12).map(|i| normal(y[i], line(b, i), 1.0)).sum::<f64>()
    };
    // The exact posterior of the coefficients, with and without the last observation.
    let gaussian = |left_out: usize| {
        let (mut p, mut h) = ([0.04, 0.0, 0.04], [0.0, 0.0]);
        for i in (0..12).filter(|&i| i != left_out) {
            p = [p[0] + 1.0, p[1] + x[i][1], p[2] + x[i][1] * x[i][1]];
            h = [h[0] + y[i], h[1] + x[i][1] * y[i]];
        }
        let det = p[0] * p[2] - p[1] * p[1];
        let cov = [p[2] / det, -p[1] / det, p[0] / det];
        ([cov[0] * h[0] + cov[1] * h[1], cov[1] * h[0] + cov[2] * h[1]], cov)
    };
    let (mean, cov) = gaussian(12);
    let factor =
        [cov[0].sqrt(), cov[1] / cov[0].sqrt(), (cov[2] - cov[1] * cov[1] / cov[0]).sqrt()];
    let mut rng = ChainRng::new(8, 0, Phase::Sampling);
    let positions: Vec<f64> = (0..4000)
        .flat_map(|_| {
            let (a, b) = (rng.standard_normal(), rng.standard_normal());
            [mean[0] + factor[0] * a, mean[1] + factor[1] * a + factor[2] * b]
        })
        .collect();
    let log_densities: Vec<f64> = positions.chunks_exact(2).map(log_density).collect();
    let draws = UnconstrainedDraws { positions: &positions, log_density: &log_densities };
    let (mean, cov) = gaussian(11);
    let predicted = mean[0] + mean[1] * x[11][1];
    let spread = cov[0] + 2.0 * cov[1] * x[11][1] + cov[2] * x[11][1] * x[11][1];
    let exact = normal(y[11], predicted, (1.0 + spread).sqrt());
    for split in [true, false] {
        let mut matching = MomentMatching::default();
        matching.split = split;
        let matched = matching
            .leave_out(draws, 1.0, log_density, |b: &[f64]| normal(y[11], line(b, 11), 1.0));
        assert!(matched.original_k > 0.7 && matched.steps >= 2, "{matched:?}");
        let error = matched.left_out.elpd - exact;
        // As above. With the inverse of R `loo` in place of the true one the split estimate is off
        // by more.
        assert!(error.abs() < 5.0 * matched.left_out.mcse, "{split}: {error} {matched:?}");
        assert!(matched.left_out.mcse < 0.1);
    }
}

#[test]
fn refits_replace_what_cannot_be_trusted() {
    let y = [0.2, -0.3, 0.1, 0.4, 9.0];
    let (mean, sd) = posterior(&y, 10.0, None);
    let mu = draws_of(mean, sd, 500, 3);
    let mut builder = LooBuilder::new();
    for y_i in y {
        builder.push(&mu.iter().map(|m| normal(y_i, *m, 1.0)).collect::<Vec<_>>(), 1.0);
    }
    let loo = builder.finish();
    assert_eq!(loo.untrusted(), [4]);
    assert!(loo.mcse.is_nan());
    let refit = |i: usize| {
        let (mean, sd) = posterior(&y, 10.0, Some(i));
        Ok::<_, ()>(draws_of(mean, sd, 4000, 9).iter().map(|m| normal(y[i], *m, 1.0)).collect())
    };
    let exact = refit_untrusted(loo.clone(), refit).unwrap();
    assert!(exact.untrusted().is_empty());
    assert_eq!(exact.pointwise[..4], loo.pointwise[..4]);
    let left_out = exact.pointwise[4];
    assert!((left_out.elpd - exact_elpd(&y, 10.0, 4)).abs() < 5.0 * left_out.mcse);
    // The same by folds of one.
    let folds: Vec<usize> = (0..5).collect();
    let by_folds = kfold(&folds, |left_out| Ok::<_, ()>(vec![refit(left_out[0])?])).unwrap();
    let expected: f64 = (0..5).map(|i| exact_elpd(&y, 10.0, i)).sum();
    // The error is nearly all of the outlier's.
    let error = by_folds.elpd - expected;
    assert!(error.abs() < 5.0 * left_out.mcse + 0.1, "{error} {}", left_out.mcse);
}

/// A million draws times observations at a time would not fit; one observation does. The result of
/// many observations is that of the same observation, many times.
#[test]
fn many_observations_in_one_pass() {
    let mu = draws_of(0.0, 0.1, 400, 5);
    let mut builder = LooBuilder::new();
    let mut row = vec![0.0; mu.len()];
    let n = 20_000;
    for i in 0..n {
        let y = f64::from(i % 50) * 0.02;
        row.iter_mut().zip(&mu).for_each(|(l, m)| *l = normal(y, *m, 1.0));
        builder.push(&row, 1.0);
    }
    let loo = builder.finish();
    assert_eq!(loo.pointwise.len(), 20_000);
    assert_eq!(loo.pointwise[..50], loo.pointwise[19_950..]);
    let one_round: f64 = loo.pointwise[..50].iter().map(|p| p.elpd).sum();
    assert!((loo.elpd - 400.0 * one_round).abs() < 1e-9 * loo.elpd.abs());
}

/// PIT values of a calibrated model are uniform, those of one that is too sure are not.
#[test]
fn pit_tells_calibrated_predictions_from_narrow_ones() {
    let mut rng = ChainRng::new(12, 0, Phase::Sampling);
    let y: Vec<f64> = (0..200).map(|_| rng.standard_normal()).collect();
    let (mean, sd) = posterior(&y, 5.0, None);
    let mu = draws_of(mean, sd, 1000, 2);
    let band = gate::EcdfBand::new(200, 99, 1e-3).unwrap();
    for (width, calibrated) in [(1.0, true), (0.5, false)] {
        let ranks: Vec<u32> = y
            .iter()
            .map(|y| {
                let weights =
                    psis(&mu.iter().map(|m| -normal(*y, *m, width)).collect::<Vec<_>>(), 1.0);
                let predictions: Vec<f64> =
                    mu.iter().map(|m| m + width * rng.standard_normal()).collect();
                let pit = loo_pit(&predictions, *y, &weights.log_weights, 0.5);
                ((pit * 100.0) as u32).min(99)
            })
            .collect();
        assert_eq!(band.crossing(&ranks).unwrap().is_none(), calibrated);
    }
}

/// The posterior of a normal mean under power scaling is known in closed form: sensitivity to the
/// likelihood is large, to a vague prior small, and to a prior that contradicts the data large.
#[test]
fn power_scaling_sees_a_conflict() {
    let y = [4.8, 5.3, 5.1, 4.6, 5.4];
    for (prior_mean, prior_sd, verdict) in [
        (0.0, 100.0, SensitivityVerdict::Unremarkable),
        (0.0, 0.7, SensitivityVerdict::PriorDataConflict),
    ] {
        let precision = 5.0 + 1.0 / (prior_sd * prior_sd);
        let mean = (y.iter().sum::<f64>() + prior_mean / (prior_sd * prior_sd)) / precision;
        let mu = draws_of(mean, 1.0 / precision.sqrt(), 4000, 6);
        let prior: Vec<f64> = mu.iter().map(|m| normal(*m, prior_mean, prior_sd)).collect();
        let likelihood: Vec<f64> =
            mu.iter().map(|m| y.iter().map(|y| normal(*y, *m, 1.0)).sum()).collect();
        let sensitivity = |component: &[f64]| {
            let (component, mu) = ([component], [mu.as_slice()]);
            let scaling = PowerScaling::new(&Draws::new(&component).unwrap());
            assert!(scaling.pareto_k < 0.7);
            scaling.sensitivity(&Draws::new(&mu).unwrap())
        };
        let (prior, likelihood) = (sensitivity(&prior), sensitivity(&likelihood));
        assert_eq!(sensitivity_verdict(prior, likelihood), verdict, "{prior} {likelihood}");
    }
}

/// Pseudo-BMA+ of two models whose difference has mean 0 by symmetry is one half each, and of a
/// model that is better everywhere its weight is less sure than pseudo-BMA's.
#[test]
fn bootstrap_weights() {
    let a: Vec<f64> = (0..40).map(|i| if i % 2 == 0 { -1.0 } else { -2.0 }).collect();
    let b: Vec<f64> = a.iter().map(|l| -3.0 - l).collect();
    let even = pseudo_bma_plus_weights(&[&a, &b], 4000, 1);
    // The standard error of the mean of 4000 weights in [0, 1] is below 0.008.
    assert!((even[0] - 0.5).abs() < 0.04 && (even[0] + even[1] - 1.0).abs() < 1e-12);
    let c: Vec<f64> = a.iter().enumerate().map(|(i, l)| l - 0.2 + 0.4 * (i as f64).sin()).collect();
    let sure = pseudo_bma_weights(&[a.iter().sum(), c.iter().sum()]);
    let careful = pseudo_bma_plus_weights(&[&a, &c], 2000, 1);
    assert!(sure[0] > 0.99 && careful[0] < sure[0] && careful[0] > 0.9, "{sure:?} {careful:?}");
}
