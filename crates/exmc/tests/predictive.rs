//! Predictive draws against known moments. Each bound is five standard errors of `N` independent
//! draws (false alarms below one in a million); a variance off by 10 % fails at N = 20 000.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc::advanced::{CompileOptions, compile};
use exmc::distributions::{half_normal, mixture, normal, poisson};
use exmc::model::{DType, DataSet, Expr, Tensor, Values, prior_predictive};
use exmc::{DrawArray, Fit, ModelBuilder, SamplerConfig, StanProgram, sample};
use exmc_math::random::{ChainRng, Phase};

const N: usize = 20_000;

/// A fit of `N` draws.
fn fit(model: &ModelBuilder, seed: u64) -> Fit {
    let settings = SamplerConfig::default().seed(seed).draws(N as u64 / 4);
    sample(&model.build().unwrap(), &settings).unwrap()
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
    let draws = prior_predictive(&model.build().unwrap(), &DataSet::new(), N, 1).unwrap();
    let (a, c) = (draws["a"].values(), draws["c"].values());
    // Var(c) = 3 with standard error sqrt(2) * 3; Cov(a, c) = 1 with standard error sqrt(1 * 3 +
    // 1).
    close(moments(c, c).1, 3.0, 3.0 * 2.0_f64.sqrt());
    close(moments(a, c).1, 1.0, 2.0);
}

/// The same given draws of the first: observations without a likelihood leave the prior, and each
/// is drawn anew given what comes before it.
#[test]
fn replicates_are_drawn_in_order_of_reference() {
    let mut model = ModelBuilder::new();
    model.rv("c", normal("b", 1));
    model.rv("b", normal("a", 1));
    model.rv("a", normal(0, 1)).centred();
    model.observe("c_obs", "c", 7).likelihood(false);
    model.observe("b_obs", "b", -7).likelihood(false);
    let fit = fit(&model, 1);
    let draws = fit.posterior_predictive().unwrap();
    assert_eq!(draws.names(), ["b", "c"]);
    let (a, c) = (fit["a"].values(), draws["c"].values());
    // Draws of `a` are correlated little enough that twice the independent errors cover them.
    close(moments(c, c).1, 3.0, 2.0 * 3.0 * 2.0_f64.sqrt());
    close(moments(a, c).1, 1.0, 2.0 * 2.0);
}

/// Moments of replicates in closed form, for each way in which a free variable may be sampled and
/// an observation made. Twice the independent standard errors cover correlated draws.
#[test]
fn replicates_have_the_moments_of_their_models() {
    let check = |declare: &dyn Fn(&mut ModelBuilder), mean: f64, variance: f64| {
        let mut model = ModelBuilder::new();
        declare(&mut model);
        let draws = fit(&model, 11).posterior_predictive().unwrap();
        let y = &draws["y"];
        let y = if y.element_shape().is_scalar() { y.clone() } else { y.at(1) };
        close(y.mean(), mean, 2.0 * variance.sqrt());
        // The fourth moment of none of these is more than twice a normal distribution's.
        close(y.sd().powi(2), variance, 2.0 * 2.0 * variance * 2.0_f64.sqrt());
    };
    // A non-centred hierarchy that nothing is learned of: 1 + E s^2 + 1.
    check(
        &|m| {
            m.rv("mu", normal(0, 1));
            m.rv("s", half_normal(1));
            m.rv("x", normal("mu", "s")).non_centred();
            m.rv("y", normal("x", 1));
            m.observe("y_obs", "y", 5).likelihood(false);
        },
        0.0,
        3.0,
    );
    // Integrated out: x given 2 is normal(1, 1/2).
    check(
        &|m| {
            m.rv("x", normal(0, 1));
            m.rv("y", normal("x", 1));
            m.observe("y_obs", "y", 2);
        },
        1.0,
        1.5,
    );
    // A mixture: 0.3 N(-2, 1/2) + 0.7 N(1, 1), whose mean moves by an independent normal(0, 1).
    check(
        &|m| {
            m.rv("x", normal(0, 1));
            m.rv(
                "y",
                mixture(
                    [0.3, 0.7],
                    [normal("x" - Expr::from(2), 0.5), normal("x" + Expr::from(1), 1)],
                ),
            );
            m.observe("y_obs", "y", 0).likelihood(false);
        },
        0.1,
        1.0 + 0.3 * 0.25 + 0.7 + 0.3 * 4.0 + 0.7 - 0.01,
    );
    // Replicates of censored observations are not censored.
    check(
        &|m| {
            m.rv("x", normal(3, 1));
            m.rv("y", normal("x", 2));
            m.observe("y_obs", "y", -50).right_censored();
        },
        3.0,
        5.0,
    );
    // The missing element, of which the other one tells: x given 1 is normal(1/2, 1/2).
    check(
        &|m| {
            m.rv("x", normal(0, 1));
            m.rv("y", normal("x", 1)).shape(2);
            m.observe_partly("y_obs", "y", &[Some(1.0), None]);
        },
        0.5,
        1.5,
    );
    // Counts whose rate is known by data: Var = mean + Var of the rate = 4.
    check(
        &|m| {
            m.data("group", Tensor::indices(&[0, 1]));
            m.rv("x", normal(0, 1)).shape(2);
            m.rv("y", poisson(Expr::from([2, 4]).gather("group") + Expr::name("x") * 0.0));
            m.observe("y_obs", "y", [0, 0]).likelihood(false);
        },
        4.0,
        4.0,
    );
}

/// New values of the predictors, and a deterministic value of them.
#[test]
fn predictions_follow_new_data() {
    let mut model = ModelBuilder::new();
    model.data("x", Tensor::vector(&[-1.0, 0.0, 1.0]));
    model.rv("slope", normal(0, 10));
    model.det("line", Expr::name("slope") * "x");
    model.rv("y", normal("line", 1));
    model.observe("y_obs", "y", [-2.0, 0.0, 2.0]);
    let fit = fit(&model, 2);
    let mut data = DataSet::new();
    data.insert("x", Tensor::vector(&[10.0, 20.0, 30.0]));
    let draws = fit.predict(&data).unwrap();
    assert_eq!(draws.names(), ["line", "y"]);
    for (k, draw) in draws["line"].iter().enumerate() {
        let slope = fit["slope"].values()[k];
        assert_eq!(draw, [10.0 * slope, 20.0 * slope, 30.0 * slope]);
    }
    // The slope is normal with precision 2 + 1/100 and mean 4 / 2.01.
    let variance = 1.0 / 2.01;
    close(draws["y"].at(2).mean(), 30.0 * 4.0 / 2.01, 2.0 * (900.0 * variance + 1.0_f64).sqrt());
    // A model of other shapes, of the same variables.
    let mut wide = ModelBuilder::new();
    wide.declare_data("x", DType::Real, 2);
    wide.rv("slope", normal(0, 10));
    wide.rv("y", normal(Expr::name("slope") * "x", 1));
    wide.observe("y_obs", "y", [0, 0]);
    let mut data = DataSet::new();
    data.insert("x", Tensor::vector(&[0.0, 5.0]));
    let draws = fit.predict_with(&wide.build().unwrap(), &data).unwrap();
    assert_eq!(draws["y"].shape(), [4, 5000, 2]);
    close(draws["y"].at(1).mean(), 5.0 * 4.0 / 2.01, 2.0 * (25.0 * variance + 1.0_f64).sqrt());
    let error = fit.predict(&{
        let mut wrong = DataSet::new();
        wrong.insert("x", Tensor::vector(&[1.0]));
        wrong
    });
    assert_eq!(error.unwrap_err().kind(), exmc::ErrorKind::Data);
}

/// By normal densities in closed form, at each draw: also of a variable that was integrated out,
/// and without elements that do not count.
#[test]
fn log_likelihoods_are_those_of_the_draws() {
    let lpdf = |y: f64, mu: f64| {
        let z = (y - mu) / 2.0;
        -0.5 * z * z - 2.0_f64.ln() - 0.5 * std::f64::consts::TAU.ln()
    };
    let mut model = ModelBuilder::new();
    model.rv("tau", half_normal(1));
    model.rv("mu", normal(0, "tau")).shape(3);
    model.rv("y", normal("mu", 2));
    model.observe("y_obs", "y", [1.0, -2.0, 0.5]);
    model.rv("z", normal(Expr::name("mu").at(0), 2)).shape(3);
    model.observe_partly("z_obs", "z", &[Some(4.0), None, Some(-1.0)]).mask([1, 1, 0]);
    let fit = fit(&model, 3);
    let found = fit.log_likelihood().unwrap();
    assert_eq!(found.names(), ["y", "z"]);
    assert_eq!((found["y"].shape(), found["z"].shape()), (vec![4, 5000, 3], vec![4, 5000, 1]));
    let all = found["y"].iter().zip(found["z"].iter()).zip(fit["mu"].iter());
    for ((y, z), mu) in all {
        let expected = [lpdf(1.0, mu[0]), lpdf(-2.0, mu[1]), lpdf(0.5, mu[2])];
        // Constrained values go to the sampler's coordinates and back: a few roundings.
        let close = |a: f64, b: f64| (a - b).abs() < 1e-10 * (1.0 + b.abs());
        assert!(y.iter().zip(expected).all(|(a, b)| close(*a, b)), "{y:?} {expected:?}");
        assert!(close(z[0], lpdf(4.0, mu[0])), "{z:?}");
    }
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
        let draws = prior_predictive(&model, &DataSet::new(), N, 2).unwrap();
        let x = draws["x"].values();
        // Var(x) = 1 + E s^2 = 2; E x^4 = 3 E (1 + s^2)^2 = 3 (1 + 2 + 3) = 18, so sd of x^2 is
        // sqrt(14).
        close(moments(x, x).1, 2.0, 14.0_f64.sqrt());
    }
}

#[test]
fn posterior_predictive_adds_the_observation_noise() {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 10.0));
    model.rv("y", normal("mu", 2.0)).shape([3]);
    model.observe("y_obs", "y", [1.0, 2.0, 3.0]);
    let draws = fit(&model, 3).posterior_predictive().unwrap();
    assert_eq!(draws["y"].shape(), [4, 5000, 3]);
    let y = draws["y"].at(0);
    // Posterior of mu: variance 1 / (1/100 + 3/4); predictive variance adds 4. Posterior draws are
    // correlated little enough that twice the independent standard error covers them.
    let expected = 1.0 / (0.01 + 0.75) + 4.0;
    close(y.sd().powi(2), expected, 2.0 * expected * 2.0_f64.sqrt());
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
    let position =
        bound.unconstrain(&Values::from_iter([("mu".to_owned(), Tensor::scalar(mu))])).unwrap();
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
    let prior = prior_predictive(&model, &DataSet::new(), 1, 9).unwrap();
    assert_eq!(prior["mu"].values(), [first(Phase::Prior)]);

    let settings = SamplerConfig::default().seed(9).chains(1).warmup(10).draws(1);
    let replicated = sample(&model, &settings).unwrap().posterior_predictive().unwrap();
    assert_eq!(replicated["y"].values(), [first(Phase::Predictive)]);

    let text = "parameters { real mu; } model { mu ~ normal(0, 1); }
        generated quantities { real z = std_normal_rng(); }";
    let program = StanProgram::from_text("p.stan", text).unwrap();
    let fit = sample(&program.bind("none", "{}").unwrap(), &settings).unwrap();
    assert_eq!(fit["z"].values(), [first(Phase::Quantities)]);
}

/// A Stan program takes new data of another size; its quantities follow from them.
#[test]
fn a_stan_program_predicts_for_new_data() {
    let text = "data { int n; vector[n] x; int m; vector[m] y; }
        parameters { real mu; } model { mu ~ normal(0, 1); y ~ normal(mu, 1); }
        generated quantities { vector[n] line = mu * x; }";
    let program = StanProgram::from_text("p.stan", text).unwrap();
    let model = program.bind("d", r#"{"n": 1, "x": [1], "m": 2, "y": [0.5, 1.5]}"#).unwrap();
    let fit = sample(&model, &SamplerConfig::default().draws(50)).unwrap();
    let mut data = DataSet::new();
    data.insert("n", Tensor::int([], vec![3.0]).unwrap());
    data.insert("x", Tensor::vector(&[1.0, 2.0, 4.0]));
    let draws = fit.predict(&data).unwrap();
    let expected: Vec<f64> =
        fit["mu"].values().iter().flat_map(|mu| [*mu, 2.0 * mu, 4.0 * mu]).collect();
    assert_eq!(draws["line"], DrawArray::new(4, 50, 3, expected).unwrap());
}
