//! Values outside a support are said to be outside, for parameters and outcomes; edges inside work.

use exmc_graph::Shape;
use exmc_model::distribution::Distribution;

use super::examples::EXAMPLES;
use super::harness::Quantity::Lpdf;
use super::harness::{compile, event_shape, family, inside, value};

/// Values of each parameter that are not legal; NaN is added to each.
fn bad_parameters(name: &str, parameter: &str) -> Vec<Vec<f64>> {
    match (name, parameter) {
        ("bernoulli" | "binomial", "theta") => vec![vec![-1e-9], vec![1.0 + 1e-9]],
        ("binomial" | "binomial_logit" | "multinomial", "n") => vec![vec![-1.0], vec![2.5]],
        ("poisson", "lambda") => vec![vec![-1e-300]],
        ("negative_binomial", _) | ("lkj_corr_cholesky", "eta") => vec![vec![0.0], vec![-1.0]],
        ("categorical" | "multinomial", "theta") => {
            vec![vec![0.5, 0.4], vec![1.5, -0.5], vec![f64::NAN, 1.0]]
        }
        ("ordered_logistic", "cutpoints") => vec![vec![1.0, 1.0], vec![2.0, 1.0]],
        ("dirichlet", "alpha") => vec![vec![1.0, 0.0], vec![-1.0, 1.0]],
        ("multi_normal", "covariance") => {
            vec![vec![1.0, 2.0, 2.0, 1.0], vec![1.0, 0.5, 0.4, 1.0], vec![0.0; 4]]
        }
        ("multi_normal_cholesky", "cholesky") => {
            vec![vec![1.0, 0.5, 0.5, 1.0], vec![0.0, 0.0, 0.5, 1.0], vec![1.0, 0.0, 0.5, -1.0]]
        }
        (_, "sigma" | "initial_scale") => vec![vec![0.0], vec![-1.0]],
        // Locations and log odds are any numbers: only NaN is bad.
        (_, "alpha" | "beta" | "eta" | "mu" | "constant" | "initial_mean" | "coefficients") => {
            vec![]
        }
        (name, parameter) => panic!("{name}: no illegal value of {parameter} is listed"),
    }
}

/// Outcomes that are not possible with the example's parameters.
fn bad_outcomes(name: &str) -> Vec<Vec<f64>> {
    match name {
        "bernoulli" | "bernoulli_logit" => vec![vec![2.0], vec![0.5], vec![-1.0]],
        "binomial" | "binomial_logit" => vec![vec![13.0], vec![0.5], vec![-1.0]],
        "poisson" | "poisson_log" | "negative_binomial" => vec![vec![0.5], vec![-1.0]],
        "categorical" | "categorical_logit" => vec![vec![3.0], vec![0.5], vec![-1.0]],
        "ordered_logistic" => vec![vec![5.0], vec![-1.0]],
        "dirichlet" => vec![vec![0.2, 0.3, 0.4], vec![1.5, -0.5, 0.0]],
        "multinomial" => vec![vec![1.0, 2.0, 2.0], vec![5.0, -1.0, 0.0], vec![0.5, 0.5, 3.0]],
        "lkj_corr_cholesky" => vec![vec![1.0, 0.0, 0.6, 0.9], vec![1.0, 0.1, 0.6, 0.8]],
        "multi_normal" | "multi_normal_cholesky" | "gaussian_random_walk" | "ar" => vec![],
        name => panic!("{name}: no impossible outcome is listed"),
    }
}

fn holds(f: &dyn Distribution, y: &[f64], parameters: &[&[f64]]) -> bool {
    inside(f.support(), (event_shape(f.event_rank(), y.len()), y.to_vec()), parameters)
}

#[test]
fn of_parameters() {
    for e in EXAMPLES {
        let f = family(e.family);
        for (parameter, good) in f.parameters().iter().zip(e.parameters) {
            let holds = |values: &[f64]| {
                let shape = event_shape(parameter.rank, values.len());
                inside(parameter.support, (shape, values.to_vec()), e.parameters)
            };
            assert!(holds(good), "{} {}", e.family, parameter.name);
            for bad in bad_parameters(e.family, parameter.name) {
                assert!(!holds(&bad), "{} {} {bad:?}", e.family, parameter.name);
            }
            let mut nan = good.to_vec();
            nan[0] = f64::NAN;
            assert!(!holds(&nan), "{} {} NaN", e.family, parameter.name);
        }
    }
}

#[test]
fn of_outcomes() {
    for e in EXAMPLES {
        let f = family(e.family);
        for y in e.outcomes {
            assert!(holds(f, y, e.parameters), "{} {y:?}", e.family);
            let mut nan = y.to_vec();
            nan[0] = f64::NAN;
            assert!(!holds(f, &nan, e.parameters), "{} NaN", e.family);
        }
        for y in bad_outcomes(e.family) {
            assert!(!holds(f, &y, e.parameters), "{} {y:?}", e.family);
        }
    }
}

#[test]
fn categories_out_of_range_do_not_stop_an_evaluation() {
    // A caller's guard needs a value to replace.
    for y in [-3.0, 5.0, 1e9] {
        for (name, parameters) in [
            ("categorical", &[&[0.2, 0.3, 0.5][..]][..]),
            ("categorical_logit", &[&[0.2, 0.3, 0.5]]),
            ("ordered_logistic", &[&[0.7], &[-2.0, -0.5]]),
        ] {
            assert!(value(name, Lpdf, &[y], parameters).is_finite(), "{name} {y}");
        }
    }
}

#[test]
fn scales_may_be_tiny() {
    for sigma in [1e-30, 1e-45] {
        let parameters: [&[f64]; 3] = [&[sigma], &[sigma], &[0.0]];
        assert!(value("gaussian_random_walk", Lpdf, &[0.5, 1.0, 0.7], &parameters).is_finite());
        let parameters: [&[f64]; 5] = [&[0.5], &[sigma], &[0.0], &[0.0], &[sigma]];
        assert!(value("ar", Lpdf, &[0.5, 1.0, 0.7], &parameters).is_finite());
    }
    // A scale of zero is outside the support; whatever the formula gives, it gives it without a
    // panic.
    value("gaussian_random_walk", Lpdf, &[0.5, 1.0], &[&[0.0], &[0.0], &[0.0]]);
    value("ar", Lpdf, &[0.5, 1.0], &[&[0.5], &[0.0], &[0.0], &[0.0], &[0.0]]);
}

#[test]
fn impossible_outcomes_have_no_mass_at_the_edges() {
    let none = f64::NEG_INFINITY;
    assert_eq!(value("bernoulli", Lpdf, &[1.0], &[&[0.0]]), none);
    assert_eq!(value("binomial", Lpdf, &[1.0], &[&[3.0], &[0.0]]), none);
    assert_eq!(value("binomial", Lpdf, &[2.0], &[&[3.0], &[1.0]]), none);
    assert_eq!(value("poisson", Lpdf, &[1.0], &[&[0.0]]), none);
    assert_eq!(value("categorical", Lpdf, &[0.0], &[&[0.0, 1.0]]), none);
    assert_eq!(value("multinomial", Lpdf, &[1.0, 0.0], &[&[1.0], &[0.0, 1.0]]), none);
    assert_eq!(value("dirichlet", Lpdf, &[0.0, 1.0], &[&[2.0, 1.0]]), none);
}

#[test]
fn a_covariance_that_is_not_definite_gives_nan_not_a_panic() {
    let parameters: [&[f64]; 2] = [&[0.0, 0.0], &[1.0, 2.0, 2.0, 1.0]];
    let compiled = compile("multi_normal", Lpdf, &[0.0, 0.0], &parameters);
    assert!(compiled.result()[0].is_nan());
    assert_eq!(*compiled.graph.shape(compiled.value), Shape::scalar());
}
