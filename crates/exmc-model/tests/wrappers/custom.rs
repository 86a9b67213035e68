//! Densities given as expressions.

use exmc_graph::{DType, Shape, Tensor};
use exmc_model::distributions::{custom, gamma, normal};
use exmc_model::{Code, DistSpec, Expr, ModelBuilder, Support};

use super::harness::{Point, REAL, close, normal_lpdf};

fn own_normal() -> Expr {
    let z = (Expr::name("value") - Expr::name("m")) / Expr::name("s");
    z.square() * -0.5 - Expr::name("s").log() - 0.5 * (2.0 * std::f64::consts::PI).ln()
}

#[test]
fn is_its_expression_of_parameters_and_value() {
    let build = |dist: DistSpec| {
        let mut model = ModelBuilder::new();
        model.rv("a", gamma(2.0, 1.0));
        model.rv("y", dist).shape([3]);
        model.declare_data("seen", DType::Real, [3]);
        model.observe("obs", "y", "seen");
        let seen = Tensor::vector(&[0.5, -2.0, 4.0]);
        Point::new(&model, &[("a", Tensor::scalar(0.3)), ("seen", seen)])
    };
    let m = || Expr::name("a") * 2.0;
    let custom_point = build(custom([("m", m()), ("s", "a".into())], REAL, own_normal(), None));
    let family = build(normal(m(), "a"));
    close(custom_point.logp(), family.logp());
    close(custom_point.gradient("a")[0], family.gradient("a")[0]);
    assert_eq!(
        custom_point.check_gradient("a", "custom") + custom_point.check_gradient("seen", "custom"),
        4
    );
}

#[test]
fn a_free_one_uses_the_transform_of_its_support() {
    let logp = -(Expr::name("value")) * Expr::name("rate") + Expr::name("rate").log();
    let mut model = ModelBuilder::new();
    model.rv("x", custom([("rate", 2.0.into())], Support::Positive, logp, None));
    let point = Point::new(&model, &[("x", Tensor::scalar(-0.3))]);
    close(point.logp(), 2.0_f64.ln() - 2.0 * (-0.3_f64).exp() - 0.3);
    assert_eq!(point.check_gradient("x", "custom"), 1);
}

#[test]
fn parameters_broadcast_to_the_outcome() {
    let mut model = ModelBuilder::new();
    let s = Tensor::real([2, 1], vec![1.0, 2.0]).unwrap();
    let args = [("m", Expr::from([0.0, 1.0, 2.0])), ("s", s.into())];
    model.rv("y", custom(args, REAL, own_normal(), None));
    model.observe("obs", "y", 0.5);
    let built = model.build().unwrap();
    assert_eq!(built.shape_of("y"), Some(&Shape::from([2, 3])));
    let found = Point::new(&model, &[]).pointwise("y");
    for (k, found) in found.into_iter().enumerate() {
        close(found, normal_lpdf(0.5, (k % 3) as f64, [1.0, 2.0][k / 3]));
    }
}

#[test]
fn what_is_wrong_with_it_is_said() {
    let refused = |dist: DistSpec, code: Code, words: &str| {
        let mut model = ModelBuilder::new();
        model.rv("other", normal(0.0, 1.0));
        model.rv("y", dist);
        let error = model.build().unwrap_err();
        assert!(error.has(code) && error.to_string().contains(words), "{error}");
    };
    let value = || Expr::name("value");
    let none: [(&str, Expr); 0] = [];
    let unknown = custom(none.clone(), REAL, value() + Expr::name("other"), None);
    refused(unknown, Code::UnknownReference, "`other`");
    let in_quantile = custom(none.clone(), REAL, -value().square(), Some(value()));
    refused(in_quantile, Code::UnknownReference, "`value`");
    let vector = custom(none.clone(), REAL, value() * Expr::from([1.0, 2.0]), None);
    refused(vector, Code::ShapeMismatch, "[2]");
    let simplex = custom(none, Support::Simplex, value(), None);
    refused(simplex, Code::BadArguments, "single numbers");
    let named_value = custom([("value", 1.0.into())], REAL, value(), None);
    refused(named_value, Code::DuplicateName, "value");
}

#[test]
fn outside_its_support_is_impossible() {
    let mut model = ModelBuilder::new();
    let none: [(&str, Expr); 0] = [];
    model.rv("y", custom(none, Support::Unit, Expr::name("value") * 2.0, None)).shape([2]);
    model.observe("obs", "y", [0.5, 1.5]);
    assert!(model.build().unwrap_err().has(Code::OutsideSupport));
}
