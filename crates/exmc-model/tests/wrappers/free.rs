//! Free variables of wrapped distributions: their transforms cover the support and nothing else.

use exmc_graph::Tensor;
use exmc_model::distributions::{
    beta, censored, gamma, half_normal, mixture, normal, pareto, truncated, uniform, weibull,
};
use exmc_model::{Code, DistSpec, Expr, ModelBuilder, TransformSpec};

use super::harness::{Point, lowered};

/// The integral of the density over the coordinate, by the trapezium rule with Jacobian: its error
/// is far below 1e-6 for smooth densities that vanish at both ends.
fn integral(dist: DistSpec) -> f64 {
    let mut model = ModelBuilder::new();
    model.rv("x", dist);
    let point = Point::new(&model, &[("x", Tensor::scalar(0.0))]);
    let step = 0.02;
    let steps = -2500..=2500;
    let density = |k: i32| {
        let moved = Point {
            lowered: point.lowered.clone(),
            values: [("x".to_owned(), Tensor::scalar(step * f64::from(k)))].into(),
        };
        moved.logp().exp()
    };
    steps.map(density).sum::<f64>() * step
}

#[test]
fn densities_integrate_to_one() {
    let one = |value: f64| Some(Expr::from(value));
    let two = |a: DistSpec, b: DistSpec| mixture([0.3, 0.7], vec![a, b]);
    for (k, dist) in [
        truncated(normal(0.3, 2.0), one(-1.0), one(2.0)),
        truncated(normal(0.0, 1.0), one(8.0), None),
        // A limit beyond the base's own does not widen it.
        truncated(gamma(2.0, 1.0), one(-1.0), None),
        truncated(gamma(2.0, 1.0), one(-1.0), one(3.0)),
        truncated(half_normal(2.0), one(f64::NEG_INFINITY), one(3.0)),
        truncated(beta(2.0, 3.0), one(0.2), one(1.5)),
        truncated(weibull(2.0, 1.0), None, one(1.5)),
        // The base's limits hold where the truncation has none.
        truncated(uniform(0.0, 10.0), one(2.0), None),
        truncated(pareto(1.0, 2.5), None, one(4.0)),
        truncated(truncated(normal(0.0, 1.0), one(-1.0), None), None, one(2.0)),
        truncated(two(gamma(2.0, 1.0), half_normal(1.0)), None, one(3.0)),
        two(normal(0.0, 1.0), normal(4.0, 2.0)),
        two(gamma(2.0, 1.0), weibull(2.0, 3.0)),
        two(gamma(3.0, 1.0), half_normal(2.0)),
    ]
    .into_iter()
    .enumerate()
    {
        let found = integral(dist);
        assert!((found - 1.0).abs() < 1e-6, "number {k}: {found}");
    }
}

/// A density with jumps, or with components on parts of the line: the rule's error is about the
/// step.
#[test]
fn components_on_parts_of_the_line_are_all_reached() {
    for (k, dist) in [
        mixture([0.3, 0.7], vec![uniform(0.0, 1.0), uniform(5.0, 9.0)]),
        mixture([0.5, 0.5], vec![uniform(-2.0, -1.0), gamma(3.0, 1.0)]),
        mixture([0.5, 0.5], vec![gamma(3.0, 1.0), normal(-4.0, 1.0)]),
    ]
    .into_iter()
    .enumerate()
    {
        let found = integral(dist);
        assert!((found - 1.0).abs() < 0.02, "number {k}: {found}");
    }
}

#[test]
fn limits_may_be_variables() {
    let mut model = ModelBuilder::new();
    model.rv("a", normal(0.0, 1.0));
    model.rv("x", truncated(gamma(2.0, 1.0), Some("a".into()), Some(Expr::name("a") + 5.0)));
    for a in [-2.0, -0.5, 0.5, 2.0] {
        let values = [("a", Tensor::scalar(a)), ("x", Tensor::scalar(0.4))];
        let point = Point::new(&model, &values);
        assert!(point.logp().is_finite(), "{a}");
        let entry = point.lowered.trace.iter().find(|t| t.name == "x").unwrap();
        let x = point.evaluate(&[entry.node])[0].as_scalar().unwrap();
        assert!(x > a.max(0.0) && x < a + 5.0, "{a}: {x}");
        let compared = point.check_gradient("a", "limit") + point.check_gradient("x", "inside");
        assert_eq!(compared, 2);
    }
}

#[test]
fn another_transform_is_guarded() {
    let mut model = ModelBuilder::new();
    let dist = truncated(gamma(2.0, 1.0), None, Some(3.0.into()));
    model.rv("x", dist).transform(TransformSpec::Identity);
    for (x, possible) in [(-0.5, false), (1.0, true), (3.5, false)] {
        let point = Point::new(&model, &[("x", Tensor::scalar(x))]);
        assert_eq!(point.logp() > f64::NEG_INFINITY, possible, "{x}: {}", point.logp());
        assert!(point.gradient("x")[0].is_finite(), "{x}");
    }
}

#[test]
fn a_scale_with_a_lower_limit_needs_no_check() {
    let mut model = ModelBuilder::new();
    model.rv("s", truncated(normal(0.0, 1.0), Some(0.0.into()), None));
    model.rv("y", normal(0.0, "s")).shape([2]);
    model.observe("obs", "y", [0.5, 1.0]);
    let lowered = lowered(&model);
    let term = lowered.terms.iter().find(|t| t.name == "obs").unwrap();
    let needed = lowered.graph.reachable(&[term.node]);
    let selects = lowered.graph.nodes().iter().zip(&needed).filter(|(node, needed)| {
        **needed && matches!(node.op, exmc_graph::Op::Ternary(exmc_graph::Ternary::Select))
    });
    assert_eq!(selects.count(), 0);
}

#[test]
fn censored_variables_must_be_observed() {
    let censored_normal = || censored(normal(0.0, 1.0), Some(0.0.into()), None);
    let mut model = ModelBuilder::new();
    model.rv("x", censored_normal());
    let error = model.build().unwrap_err();
    assert!(error.has(Code::BadArguments) && error.to_string().contains("censored"), "{error}");
    let mut model = ModelBuilder::new();
    model.rv("x", mixture([0.5, 0.5], vec![censored_normal(), normal(0.0, 1.0)]));
    assert!(model.build().unwrap_err().has(Code::BadArguments));
}
