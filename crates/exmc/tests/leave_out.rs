//! Leave-one-out by refits, folds, groups and moved draws, against closed forms.
//!
//! With $\theta_i \sim N(0, 3)$ and $y_i \sim N(\theta_i, 1)$, leaving out $y_i$ gives back the
//! prior, so that its importance ratios have a Pareto shape of 0.9, and the exact predictive
//! density is normal with variance 10. The Monte Carlo error of a refit's log mean density is 0.03
//! at most (4000 draws, relative variance below 3): tolerances are 5 of them.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc::distributions::normal;
use exmc::{Fit, ModelBuilder, SamplerConfig, StanProgram, sample};

const Y: [f64; 4] = [1.0, -2.0, 3.0, 0.5];
const TOLERANCE: f64 = 0.15;

fn log_normal(y: f64, variance: f64) -> f64 {
    -0.5 * (y * y / variance + exmc_math::log(std::f64::consts::TAU * variance))
}

fn fits() -> [Fit; 2] {
    let mut model = ModelBuilder::new();
    model.rv("theta", normal(0, 3)).shape(4);
    model.rv("y", normal("theta", 1)).shape(4);
    model.observe("y_seen", "y", Y);
    let config = SamplerConfig::default().seed(3);
    let of_model = sample(&model.build().unwrap(), &config).unwrap();
    let program = StanProgram::from_text(
        "separate.stan",
        "data { int N; vector[N] y; } parameters { vector[N] theta; }
         model { theta ~ normal(0, 3); y ~ normal(theta, 1); }
         generated quantities {
           real noise = normal_rng(0, 1); vector[N] log_lik; vector<lower=0>[N] scale = rep_vector(1, N);
           vector[N] y_rep;
           for (n in 1:N) { y_rep[n] = normal_rng(theta[n], scale[n]);
             real at = theta[n]; log_lik[n] = normal_lpdf(y[n] | at, scale[n]); }
         }",
    );
    let data = r#"{"N": 4, "y": [1.0, -2.0, 3.0, 0.5]}"#;
    let of_program = sample(&program.unwrap().bind("data", data).unwrap(), &config).unwrap();
    [of_model, of_program]
}

#[test]
fn refits_and_moved_draws_give_the_exact_densities() {
    for fit in fits() {
        let loo = fit.loo().unwrap();
        let untrusted = loo.untrusted();
        assert!(untrusted.len() >= 3, "{:?}", loo.pointwise);
        let exact = fit.loo_exact(loo.clone()).unwrap();
        assert!(exact.untrusted().is_empty());
        let (matched, moved) = fit.loo_moment_matched().unwrap();
        assert_eq!(moved, untrusted.len());
        for i in untrusted {
            let expected = log_normal(Y[i], 10.0);
            let elpd = exact.pointwise[i].elpd;
            assert!((elpd - expected).abs() < TOLERANCE, "{i}: {elpd}, expected {expected}");
            // Draws are moved by moments that are estimated from few weights.
            let (before, after) = (&loo.pointwise[i], &matched.pointwise[i]);
            assert!(after.pareto_k < before.pareto_k);
            assert!((after.elpd - expected).abs() < 0.5, "{i}: {after:?}, expected {expected}");
        }
    }
}

#[test]
fn folds_of_one_observation_are_exact() {
    for fit in fits() {
        let kfold = fit.kfold(&[0, 1, 2, 3]).unwrap();
        for (y, elpd) in Y.iter().zip(&kfold.pointwise) {
            assert!((elpd - log_normal(*y, 10.0)).abs() < TOLERANCE, "{y}: {elpd}");
        }
        assert!((kfold.elpd - kfold.pointwise.iter().sum::<f64>()).abs() < 1e-12);
        // Other observations say nothing of these.
        let halves = fit.kfold(&[0, 0, 1, 1]).unwrap();
        for (a, b) in halves.pointwise.iter().zip(&kfold.pointwise) {
            assert!((a - b).abs() < 2.0 * TOLERANCE);
        }
    }
}

#[test]
fn groups_are_left_out_together() {
    // y_i ~ N(mu, 1), mu ~ N(0, 2), groups of 2 and 4: given the others mu has precision
    // 1/4 + their number, and the group a common variance.
    let y = [0.5, 1.5, -0.5, 1.0, 0.0, 2.0];
    let groups = [0, 0, 1, 1, 1, 1];
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0, 2));
    model.rv("y", normal("mu", 1)).shape(6);
    model.observe("y_seen", "y", y);
    let fit = sample(&model.build().unwrap(), &SamplerConfig::default().seed(1)).unwrap();
    let mut loo = fit.loo_of_groups(&groups).unwrap();
    // As if no weight sufficed.
    loo.pointwise.iter_mut().for_each(|p| p.pareto_k = 2.0);
    let exact = fit.loo_of_groups_exact(loo, &groups).unwrap();
    for group in 0..2 {
        let (members, others): (Vec<_>, Vec<_>) =
            y.iter().zip(groups).partition(|(_, g)| *g == group);
        let precision = 0.25 + others.len() as f64;
        let mean = others.iter().map(|(y, _)| **y).sum::<f64>() / precision;
        let (n, v) = (members.len() as f64, 1.0 / precision);
        let (sum, squares) = members
            .iter()
            .fold((0.0, 0.0), |(s, q), (y, _)| (s + *y - mean, q + (*y - mean) * (*y - mean)));
        // Of the covariance I + v 11': determinant 1 + n v, inverse I - v/(1 + n v) 11'.
        let quadratic = squares - v / (1.0 + n * v) * sum * sum;
        let expected = -0.5
            * (quadratic + exmc_math::log(1.0 + n * v) + n * exmc_math::log(std::f64::consts::TAU));
        let elpd = exact.pointwise[group].elpd;
        assert!((elpd - expected).abs() < TOLERANCE, "{group}: {elpd}, expected {expected}");
    }
    assert!(fit.loo_of_groups(&groups[..3]).is_err());
}

#[test]
fn programs_without_log_likelihoods_say_what_is_missing() {
    let program = StanProgram::from_text(
        "m.stan",
        "data { real y; } parameters { real m; } model { m ~ normal(0, 1); y ~ normal(m, 1); }",
    );
    let model = program.unwrap().bind("data", r#"{"y": 1}"#).unwrap();
    let fit = sample(&model, &SamplerConfig::default().draws(50).warmup(100)).unwrap();
    assert_eq!(fit.loo().unwrap().pointwise.len(), 1);
    let text = "data { real y; } parameters { real m; }
        model { m ~ normal(0, 1); target += 2 * normal_lpdf(y | m, 1); }";
    let program = StanProgram::from_text("m.stan", text);
    let model = program.unwrap().bind("data", r#"{"y": 1}"#).unwrap();
    let fit = sample(&model, &SamplerConfig::default().draws(50).warmup(100)).unwrap();
    assert!(fit.loo().unwrap_err().to_string().contains("log_lik"));
    assert!(fit.kfold(&[0]).is_err());
}
