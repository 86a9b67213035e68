//! ADVI against posteriors whose best approximation is known in closed form.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::ops::ControlFlow;

use crate::common::{Density, correlated};
use exmc_density::EvaluationError;
use exmc_infer::Start;
use exmc_infer::variational::{
    Family, Progress, Variational, VariationalConfig, VariationalEnd, variational,
};

fn find<F>(mut density: Density<F>, change: impl Fn(&mut VariationalConfig)) -> Variational
where
    F: Fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError>,
{
    let mut config = VariationalConfig::default();
    (config.relative_change, config.iterations) = (1e-4, 20_000);
    config.gradient_draws = 10;
    change(&mut config);
    variational(&mut density, &Start::Random, &config, |_| ControlFlow::Continue(())).unwrap()
}

/// Independent normals with these means and standard deviations.
#[expect(clippy::type_complexity, reason = "a closure has no shorter type")]
fn normal(
    means: &'static [f64],
    deviations: &'static [f64],
) -> Density<impl Fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError>> {
    let logp_grad = move |q: &[f64], g: &mut [f64]| {
        let mut logp = 0.0;
        for i in 0..means.len() {
            let z = (q[i] - means[i]) / deviations[i];
            g[i] = -z / deviations[i];
            logp -= 0.5 * z * z;
        }
        Ok(logp)
    };
    Density { dim: means.len(), logp_grad }
}

/// Independent normals are in both families: mean and variance are theirs. Stochastic gradients
/// leave about a tenth of a deviation, which these seeds stay within.
#[test]
fn independent_normals_are_found_by_both_families() {
    for family in [Family::MeanField, Family::FullRank] {
        let found = find(normal(&[3.0, -1.0], &[0.5, 2.0]), |c| c.family = family);
        let (mean, covariance) = (found.approximation.mean(), found.approximation.covariance());
        for (i, (m, s)) in [(3.0, 0.5), (-1.0, 2.0)].into_iter().enumerate() {
            assert!((mean[i] - m).abs() < 0.15 * s, "{family:?}: {mean:?}");
            let ratio = covariance[i * 3].sqrt() / s;
            assert!((ratio - 1.0).abs() < 0.15, "{family:?}: {covariance:?}");
        }
        // The bound of a family that holds the posterior is the log of its integral.
        let exact = libm::log(2.0 * std::f64::consts::PI * 0.5 * 2.0);
        assert!((found.elbo - exact).abs() < 0.3, "{} {exact}", found.elbo);
    }
}

/// For a bivariate normal with correlation r, the best independent normals have the variances of
/// each coordinate given the other, $1-r^2$ (Bishop 2006, section 10.1.2); the full family has the
/// covariance itself.
#[test]
fn correlations_are_seen_by_the_full_family_alone() {
    let rho = 0.8;
    let mean_field = find(correlated(2, rho), |_| ());
    let covariance = mean_field.approximation.covariance();
    for i in 0..2 {
        let ratio = covariance[i * 3] / (1.0 - rho * rho);
        assert!((ratio - 1.0).abs() < 0.25, "{covariance:?}");
    }
    assert_eq!(covariance[1], 0.0);
    let full = find(correlated(2, rho), |c| c.family = Family::FullRank);
    let covariance = full.approximation.covariance();
    let r = covariance[1] / (covariance[0] * covariance[3]).sqrt();
    assert!((r - rho).abs() < 0.1, "{covariance:?}");
    assert!((covariance[0] - 1.0).abs() < 0.3, "{covariance:?}");
    // What the mean field cannot reach is -log sqrt(1 - r^2), a half nat here.
    let lost = -0.5 * libm::log1p(-rho * rho);
    assert!((full.elbo - mean_field.elbo - lost).abs() < 0.3);
}

#[test]
fn the_same_seed_climbs_the_same_way() {
    let one = find(normal(&[1.0], &[1.0]), |c| c.seed = 5);
    assert_eq!(one, find(normal(&[1.0], &[1.0]), |c| c.seed = 5));
    assert_ne!(one, find(normal(&[1.0], &[1.0]), |c| c.seed = 6));
}

#[test]
fn a_climb_ends_where_it_is_told_to() {
    let few = find(normal(&[1.0], &[1.0]), |c| {
        (c.iterations, c.step_scale) = (30, Some(0.1));
    });
    assert_eq!((few.end, few.iterations, few.step_scale), (VariationalEnd::Iterations, 30, 0.1));
    assert!(!few.end.is_converged());
    let mut config = VariationalConfig::default();
    config.relative_change = 1e-9;
    let stop = |seen: &Progress| match seen {
        Progress::Evaluated { iteration: 300, .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let mut density = normal(&[1.0], &[1.0]);
    let stopped = variational(&mut density, &Start::Random, &config, stop).unwrap();
    assert_eq!((stopped.end, stopped.iterations), (VariationalEnd::Interrupted, 300));
}

#[test]
fn bad_settings_and_densities_are_told() {
    let quiet = |_: &Progress| ControlFlow::Continue(());
    let mut config = VariationalConfig::default();
    config.elbo_draws = 0;
    let error =
        variational(&mut normal(&[0.0], &[1.0]), &Start::Random, &config, quiet).unwrap_err();
    assert!(error.is_config() && error.to_string().contains("elbo_draws"), "{error}");
    let start = Start::At(vec![0.0; 3]);
    let config = VariationalConfig::default();
    let error = variational(&mut normal(&[0.0], &[1.0]), &start, &config, quiet).unwrap_err();
    assert!(error.to_string().contains("expected 1 coordinates, found 3"), "{error}");
}
