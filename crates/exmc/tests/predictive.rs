//! Predictive draws against known moments. Each bound is five standard errors of `N` independent
//! draws (false alarms below one in a million); a variance off by 10 % fails at N = 20 000.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc::advanced::{CompileOptions, compile, posterior_predictive, prior_predictive, sample};
use exmc::distributions::{half_normal, normal};
use exmc::model::Values;
use exmc::{ModelBuilder, SamplerConfig, StanProgram};
use exmc_math::random::{ChainRng, Phase};

const N: usize = 20_000;

fn column(draws: &[Values], name: &str) -> Vec<f64> {
    draws.iter().map(|d| d[name].as_scalar().unwrap()).collect()
}

fn moments(x: &[f64], y: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let (mx, my) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    (mx, x.iter().zip(y).map(|(a, b)| (a - mx) * (b - my)).sum::<f64>() / n)
}

fn close(found: f64, expected: f64, standard_deviation: f64) {
    let bound = 5.0 * standard_deviation / (N as f64).sqrt();
    assert!((found - expected).abs() < bound, "found {found}, expected {expected} within {bound}");
}

/// D30: names in the reverse of the order of dependence.
#[test]
fn chains_of_variables_are_drawn_in_order_of_reference() {
    let mut model = ModelBuilder::new();
    model.rv("c", normal("b", 1.0));
    model.rv("b", normal("a", 1.0));
    model.rv("a", normal(0.0, 1.0));
    let draws = prior_predictive(&model.build().unwrap(), &Values::new(), N, 1).unwrap();
    let (a, c) = (column(&draws, "a"), column(&draws, "c"));
    // Var(c) = 3 with standard error sqrt(2) * 3; Cov(a, c) = 1 with standard error sqrt(1 * 3 +
    // 1).
    close(moments(&c, &c).1, 3.0, 3.0 * 2.0_f64.sqrt());
    close(moments(&a, &c).1, 1.0, 2.0);
}

/// D30: a hierarchical variable keeps its spread whether or not it was non-centred.
#[test]
fn non_centring_does_not_change_the_prior_predictive() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 1.0));
    model.rv("s", half_normal(1.0));
    model.rv("x", normal("mu", "s"));
    let declared = model.build().unwrap();
    let rewritten =
        compile(&declared, &CompileOptions::default()).unwrap().model().unwrap().clone();
    for model in [declared, rewritten] {
        let draws = prior_predictive(&model, &Values::new(), N, 2).unwrap();
        let x = column(&draws, "x");
        // Var(x) = 1 + E s^2 = 2; E x^4 = 3 E (1 + s^2)^2 = 3 (1 + 2 + 3) = 18, so sd of x^2 is
        // sqrt(14).
        close(moments(&x, &x).1, 2.0, 14.0_f64.sqrt());
    }
}

#[test]
fn posterior_predictive_adds_the_observation_noise() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 10.0));
    model.rv("y", normal("mu", 2.0)).shape([3]);
    model.observe("y_obs", "y", [1.0, 2.0, 3.0]);
    let declared = model.build().unwrap();
    let mut config = SamplerConfig::default();
    config.draws = 5000;
    let bound =
        compile(&declared, &CompileOptions::default()).unwrap().bind(&Values::new()).unwrap();
    let posterior = sample(&bound, &config).unwrap();
    let draws = posterior_predictive(&declared, &Values::new(), &posterior, 3).unwrap();
    assert_eq!(draws.len(), 20_000);
    let y: Vec<f64> = draws.iter().map(|d| d["y"].values()[0]).collect();
    // Posterior of mu: variance 1 / (1/100 + 3/4); predictive variance adds 4. Posterior draws are
    // correlated little enough that twice the independent standard error covers them.
    let expected = 1.0 / (0.01 + 0.75) + 4.0;
    close(moments(&y, &y).1, expected, 2.0 * expected * 2.0_f64.sqrt());
}

/// What is masked contributes nothing: as in the log density, so in the elements that it is the sum
/// of.
#[test]
fn masked_elements_have_no_pointwise_log_likelihood() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 10.0)).centred();
    model.rv("y", normal("mu", 1.0)).shape([3]);
    model.observe("y_obs", "y", [1.0, 2.0, 3.0]).mask([1.0, 0.0, 1.0]).weight([1.0, 1.0, 0.5]);
    let compiled = compile(&model.build().unwrap(), &CompileOptions::default()).unwrap();
    let bound = compiled.bind(&Values::new()).unwrap();
    let mut found = [f64::NAN; 3];
    bound.pointwise_instance().unwrap().evaluate(&[0.0], &mut found).unwrap();
    let half_log_tau = 0.5 * std::f64::consts::TAU.ln();
    let expected = [-0.5 - half_log_tau, 0.0, 0.5 * (-4.5 - half_log_tau)];
    for (found, expected) in found.into_iter().zip(expected) {
        assert!((found - expected).abs() < 1e-14, "{found} {expected}");
    }
    let prior = -(10.0_f64.ln()) - half_log_tau;
    let (logp, _) = bound.logp_grad(&[0.0]).unwrap();
    assert!((logp - prior - expected.iter().sum::<f64>()).abs() < 1e-14, "{logp}");
}

/// Log likelihoods by observation, of which the log density is the sum: normal densities in closed
/// form.
#[test]
fn pointwise_log_likelihoods_are_those_of_the_observations() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 10.0)).centred();
    model.rv("y", normal("mu", 2.0)).shape([3]);
    model.observe("y_obs", "y", [1.0, -2.0, 0.5]);
    let compiled = compile(&model.build().unwrap(), &CompileOptions::default()).unwrap();
    let bound = compiled.bind(&Values::new()).unwrap();
    assert_eq!(bound.pointwise_width(), 3);
    let (mu, mut found) = (0.7, [0.0; 3]);
    // The sampler's coordinate of `mu`, which the model may have scaled.
    let position = bound
        .unconstrain(&Values::from_iter([("mu".to_owned(), exmc::model::Tensor::scalar(mu))]))
        .unwrap();
    bound.pointwise_instance().unwrap().evaluate(&position, &mut found).unwrap();
    for (found, y) in found.iter().zip([1.0, -2.0, 0.5]) {
        let z: f64 = (y - mu) / 2.0;
        let expected = -0.5 * z * z - 2.0_f64.ln() - 0.5 * std::f64::consts::TAU.ln();
        assert!((found - expected).abs() < 1e-14, "{found} {expected}");
    }
}

/// Who draws random numbers has a stream of its own: with one seed, the first number of each is the
/// first of its own phase.
#[test]
fn no_two_consumers_draw_the_same_numbers() {
    let first = |phase| ChainRng::new(9, 0, phase).standard_normal();
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 1.0));
    model.rv("y", normal(0.0, 1.0));
    model.observe("seen", "y", 0.5);
    let model = model.build().unwrap();
    let prior = prior_predictive(&model, &Values::new(), 1, 9).unwrap();
    assert_eq!(column(&prior, "mu"), [first(Phase::Prior)]);

    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws) = (1, 10, 1);
    config.seed = 9;
    let compiled = compile(&model, &CompileOptions::default()).unwrap();
    let posterior = sample(&compiled.bind(&Values::new()).unwrap(), &config).unwrap();
    let replicated = posterior_predictive(&model, &Values::new(), &posterior, 9).unwrap();
    assert_eq!(column(&replicated, "y"), [first(Phase::Predictive)]);

    let text = "parameters { real mu; } model { mu ~ normal(0, 1); }
        generated quantities { real z = std_normal_rng(); }";
    let program = StanProgram::from_text("p.stan", text).unwrap();
    let posterior = sample(program.bind("none", "{}").unwrap().bound(), &config).unwrap();
    let z = posterior.draws_of("z", 0).unwrap();
    assert_eq!(z, [[first(Phase::Quantities)]]);
}
