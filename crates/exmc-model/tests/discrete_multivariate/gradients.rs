//! Gradients against five-point differences.

use exmc_model::Support;

use super::examples::EXAMPLES;
use super::harness::Quantity::{Lccdf, Lcdf, Lpdf};
use super::harness::{Compiled, Quantity, compile, family};

/// Relative to the larger of one and the derivative. The step of 1e-3 leaves a truncation error of
/// about 1e-12 and a rounding error of about 1e-12 in these ordinary points, far below 1e-7.
fn check(what: &str, compiled: &Compiled, input: &str, wrt: exmc_graph::NodeId) {
    let gradient = compiled.gradient(wrt);
    let input_values = compiled.input(input);
    assert_eq!(gradient.len(), input_values.len());
    if compiled.result()[0].is_infinite() {
        // An impossible outcome stays impossible.
        assert!(gradient.iter().all(|v| *v == 0.0), "{what}, {input}: {gradient:?}");
        return;
    }
    for (k, found) in gradient.iter().enumerate() {
        let h = 1e-3 * input_values[k].abs().max(0.05);
        let shifted = |steps: f64| {
            let mut values = input_values.clone();
            values[k] += steps * h;
            compiled.result_at(input, values)
        };
        let near = shifted(1.0) - shifted(-1.0);
        let far = shifted(2.0) - shifted(-2.0);
        let expected = (8.0 * near - far) / (12.0 * h);
        let error = (found - expected).abs() / expected.abs().max(1.0);
        assert!(error < 1e-7, "{what}, {input}[{k}]: {found}, differences give {expected}");
    }
}

fn check_all(name: &str, quantity: Quantity, y: &[f64], parameters: &[&[f64]]) {
    let f = family(name);
    let compiled = compile(name, quantity, y, parameters);
    let what = format!("{name} {quantity:?} of {y:?} given {parameters:?}");
    if quantity == Lpdf && !f.support().is_discrete() {
        check(&what, &compiled, "y", compiled.y);
    }
    for (k, parameter) in f.parameters().iter().enumerate() {
        if parameter.support != Support::Count {
            check(&what, &compiled, &format!("p{k}"), compiled.parameters[k]);
        }
    }
}

#[test]
fn of_log_densities() {
    for e in EXAMPLES {
        for y in e.outcomes {
            check_all(e.family, Lpdf, y, e.parameters);
        }
    }
}

#[test]
fn of_log_densities_at_other_arguments() {
    for (phi, y) in [(0.01, 3.0), (0.4, 0.0), (80.0, 7.0), (900.0, 4.0), (1100.0, 4.0)] {
        check_all("negative_binomial", Lpdf, &[y], &[&[5.0], &[phi]]);
    }
    check_all("dirichlet", Lpdf, &[0.2, 0.3, 0.5], &[&[1.0, 1.0, 1.0]]);
    check_all("categorical_logit", Lpdf, &[1.0], &[&[30.0, 29.0, -30.0, 0.0]]);
    check_all("ordered_logistic", Lpdf, &[1.0], &[&[9.0], &[-0.01, 0.01]]);
    check_all("lkj_corr_cholesky", Lpdf, &[1.0, 0.0, 0.6, 0.8], &[&[30.0]]);
    check_all("bernoulli_logit", Lpdf, &[1.0], &[&[20.0]]);
    check_all("ar", Lpdf, &[0.3, 0.8], &[&[0.5, 0.1], &[0.7], &[0.1], &[0.2], &[2.0]]);
}

#[test]
fn of_distribution_functions() {
    for (name, parameters) in [
        ("bernoulli", &[&[0.3][..]][..]),
        ("bernoulli_logit", &[&[-0.7]]),
        ("binomial", &[&[12.0], &[0.3]]),
        ("binomial_logit", &[&[12.0], &[-0.7]]),
        ("poisson", &[&[6.5]]),
        ("poisson_log", &[&[1.3]]),
        ("negative_binomial", &[&[3.0], &[2.0]]),
    ] {
        for y in [-2.0, 0.0, 3.0, 9.0, 30.0] {
            for quantity in [Lcdf, Lccdf] {
                check_all(name, quantity, &[y], parameters);
            }
        }
    }
}

#[test]
fn of_a_large_dispersion() {
    // d/dphi of the log mass is -((y - mu)^2 - y) / (2 phi^2) up to a factor 1 + O(y^2 / phi).
    for phi in [1e8, 1e10] {
        for y in [0.0, 2.0, 40.0] {
            let compiled = compile("negative_binomial", Lpdf, &[y], &[&[5.0], &[phi]]);
            let found = compiled.gradient(compiled.parameters[1])[0];
            let deviation = y - 5.0;
            let expected = -(deviation * deviation - y) / (2.0 * phi * phi);
            assert!((found / expected - 1.0).abs() < 2e-4, "{y} {phi}: {found:e} {expected:e}");
        }
    }
}

#[test]
fn stay_finite_in_the_tails() {
    for (name, y, parameters) in [
        ("bernoulli_logit", 1.0, &[&[-800.0][..]][..]),
        ("binomial_logit", 3.0, &[&[3.0], &[-800.0]]),
        ("categorical_logit", 0.0, &[&[-900.0, 900.0]]),
        ("ordered_logistic", 0.0, &[&[800.0], &[-1.0, 1.0]]),
        ("ordered_logistic", 1.0, &[&[800.0], &[-1.0, 1.0]]),
        ("ordered_logistic", 2.0, &[&[-800.0], &[-1.0, 1.0]]),
        ("poisson_log", 3.0, &[&[-800.0]]),
        ("negative_binomial", 0.0, &[&[1e-30], &[1e-30]]),
        ("negative_binomial", 7.0, &[&[1e30], &[1e30]]),
        ("negative_binomial", 7.0, &[&[1e30], &[1e-30]]),
    ] {
        let compiled = compile(name, Lpdf, &[y], parameters);
        assert!(compiled.result()[0].is_finite(), "{name}");
        for id in &compiled.parameters {
            if !matches!(compiled.graph.node(*id).dtype, exmc_graph::DType::Int) {
                let gradient = compiled.gradient(*id);
                assert!(gradient.iter().all(|v| v.is_finite()), "{name}: {gradient:?}");
            }
        }
    }
}
