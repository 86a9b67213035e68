//! Wrappers of what they cannot wrap, and limits that leave nothing.

use exmc_graph::Tensor;
use exmc_model::distributions::{
    censored, custom, multi_normal, normal, poisson, truncated, uniform, von_mises, zero_inflated,
};
use exmc_model::{Code, DistSpec, Expr, ModelBuilder};

use super::harness::{Point, REAL};

fn one(value: f64) -> Option<Expr> {
    Some(value.into())
}

#[track_caller]
fn refused(dist: DistSpec, code: Code, words: &str) {
    let mut model = ModelBuilder::new();
    model.rv("y", dist);
    let error = model.build().unwrap_err();
    assert!(error.has(code) && error.to_string().contains(words), "{error}");
}

#[test]
fn a_distribution_function_is_needed() {
    let none: [(&str, Expr); 0] = [];
    let custom_normal = || custom(none.clone(), REAL, Expr::name("value").square() * -0.5, None);
    let pair = || {
        let identity = Tensor::real([2, 2], vec![1.0, 0.0, 0.0, 1.0]).unwrap();
        multi_normal([0.0, 0.0], identity)
    };
    for wrap in [truncated, censored] {
        refused(wrap(von_mises(0.0, 1.0), one(0.0), None), Code::BadArguments, "von_mises");
        refused(wrap(custom_normal(), one(0.0), None), Code::BadArguments, "custom");
        refused(wrap(pair(), one(0.0), None), Code::BadArguments, "multi_normal");
        let inner = censored(normal(0.0, 1.0), one(0.0), None);
        refused(wrap(inner, one(-1.0), None), Code::BadArguments, "censored");
        refused(wrap(normal(0.0, 1.0), None, None), Code::MissingParameter, "limit");
    }
    let mut model = ModelBuilder::new();
    model.rv("y", von_mises(0.0, 1.0));
    model.observe("obs", "y", 0.5).right_censored();
    assert!(model.build().unwrap_err().has(Code::BadObservation));
}

#[test]
fn limits_must_increase() {
    for wrap in [truncated, censored] {
        refused(wrap(normal(0.0, 1.0), one(2.0), one(1.0)), Code::OutsideSupport, "increase");
        refused(wrap(normal(0.0, 1.0), one(1.0), one(1.0)), Code::OutsideSupport, "increase");
        let reversed = wrap(poisson(1.0), one(2.0), one(1.0));
        refused(reversed, Code::OutsideSupport, "increase");
    }
    // No whole number lies between these.
    refused(truncated(poisson(1.0), one(1.25), one(1.75)), Code::OutsideSupport, "increase");
}

#[test]
fn only_counts_are_inflated_with_zeros() {
    refused(zero_inflated(normal(0.0, 1.0), 0.5), Code::BadArguments, "counts");
    refused(zero_inflated(poisson(1.0), 1.5), Code::OutsideSupport, "zero inflation");
}

#[test]
fn values_outside_of_the_limits_are_refused() {
    let outside = |dist: DistSpec, y: f64| {
        let mut model = ModelBuilder::new();
        model.rv("y", dist);
        model.observe("obs", "y", y);
        model.build().is_err_and(|e| e.has(Code::OutsideSupport))
    };
    assert!(outside(truncated(normal(0.0, 1.0), one(0.0), None), -0.5));
    assert!(outside(truncated(poisson(1.0), one(1.0), None), 0.0));
    assert!(outside(censored(normal(0.0, 1.0), one(0.0), None), -0.5));
    assert!(!outside(censored(normal(0.0, 1.0), one(0.0), None), 0.0));
    assert!(outside(zero_inflated(poisson(1.0), 0.5), 0.5));
    let five = || exmc_model::distributions::binomial(5.0, 0.5);
    assert!(outside(zero_inflated(five(), 0.5), 6.0));
    assert!(!outside(zero_inflated(truncated(poisson(1.0), one(1.0), None), 0.5), 0.0));
    assert!(!outside(censored(poisson(1.0), None, one(2.5)), 2.5));
}

/// Limits that depend on a variable cannot be refused; they are impossible where they leave
/// nothing.
#[test]
fn variable_limits_that_leave_nothing_are_impossible() {
    let mut model = ModelBuilder::new();
    model.rv("b", uniform(0.0, 10.0));
    model.rv("y", truncated(uniform(0.0, "b"), one(2.0), None));
    model.observe("obs", "y", 3.0);
    // b = 10 / (1 + e^-z)
    for (z, possible) in [(-1.5, false), (1.5, true)] {
        let point = Point::new(&model, &[("b", Tensor::scalar(z))]);
        assert_eq!(point.logp() > f64::NEG_INFINITY, possible, "{}", point.logp());
        assert!(point.logp() < f64::INFINITY);
        assert!(point.gradient("b")[0].is_finite());
    }
}
