//! Partly observed vectors: what is missing is free, with its distribution's transform and
//! Jacobian.

use exmc_graph::{Shape, Tensor, evaluate};
use exmc_model::distributions::{gamma, half_normal, normal, poisson, truncated, uniform};
use exmc_model::{Code, DistSpec, Expr, ModelBuilder, ObsBuilder, Reduce, TransformSpec};

use super::harness::{Point, close, lowered, normal_lpdf};

fn partly(dist: DistSpec, settings: impl FnOnce(ObsBuilder<'_>) -> ObsBuilder<'_>) -> ModelBuilder {
    let mut model = ModelBuilder::new();
    model.rv("tau", half_normal(1.0));
    model.rv("y", dist).shape([4]);
    settings(model.observe_partly("obs", "y", &[Some(1.5), None, Some(0.25), None]));
    model
}

/// Coordinates of the scale and of the missing second and fourth element.
fn point_at(model: &ModelBuilder, tau: f64, missing: [f64; 2]) -> Point {
    Point::new(model, &[("tau", Tensor::scalar(tau)), ("y", Tensor::vector(&missing))])
}

/// The recorded constrained value.
fn recorded(point: &Point, name: &str) -> Vec<f64> {
    let entry = point.lowered.trace.iter().find(|t| t.name == name).unwrap();
    point.evaluate(&[entry.node])[0].values().to_vec()
}

fn softplus(z: f64) -> f64 {
    z.exp().ln_1p()
}

#[test]
fn missing_elements_are_recorded_in_their_places() {
    let model = partly(normal(0.5, "tau"), |o| o);
    let point = point_at(&model, -0.2, [-3.0, 0.75]);
    assert_eq!(recorded(&point, "y"), [1.5, -3.0, 0.25, 0.75]);
    let entry = point.lowered.layout.iter().find(|e| e.name == "y").unwrap();
    assert_eq!((&entry.constrained, &entry.unconstrained), (&Shape::from([2]), &Shape::from([2])));
    assert_eq!(point.lowered.dim, 3);
    let tau = softplus(-0.2);
    let expected = [1.5, -3.0, 0.25, 0.75].map(|y| normal_lpdf(y, 0.5, tau)).iter().sum();
    close(point.term("obs").unwrap(), expected);
    assert_eq!(point.check_gradient("y", "missing") + point.check_gradient("tau", "scale"), 3);
}

#[test]
fn only_what_was_seen_is_pointwise_likelihood() {
    let model = partly(normal(0.0, "tau"), |o| o.mask([0.0, 1.0, 1.0, 0.0]));
    let point = point_at(&model, 0.1, [2.0, -1.0]);
    let mask = point.lowered.pointwise[0].mask.unwrap();
    assert_eq!(point.evaluate(&[mask])[0].values(), [0.0, 0.0, 1.0, 0.0]);
    // Free elements keep their density whatever the mask says.
    let tau = softplus(0.1);
    let expected = [2.0, 0.25, -1.0].map(|y| normal_lpdf(y, 0.0, tau)).iter().sum();
    close(point.term("obs").unwrap(), expected);
}

#[test]
fn weights_do_not_touch_missing_elements() {
    for (weight, factors) in [(0.5, [0.5; 2]), (0.0, [0.0; 2]), (3.0, [3.0; 2])] {
        let model = partly(normal(0.0, "tau"), |o| o.weight(weight));
        let tau = softplus(0.1);
        let seen =
            factors[0] * normal_lpdf(1.5, 0.0, tau) + factors[1] * normal_lpdf(0.25, 0.0, tau);
        let free = normal_lpdf(2.0, 0.0, tau) + normal_lpdf(-1.0, 0.0, tau);
        close(point_at(&model, 0.1, [2.0, -1.0]).term("obs").unwrap(), seen + free);
    }
}

#[test]
fn a_mask_of_everything_leaves_the_missing_elements_their_density() {
    let model = partly(normal(0.0, "tau"), |o| o.mask(0.0));
    let tau = softplus(0.1);
    let free = normal_lpdf(2.0, 0.0, tau) + normal_lpdf(-1.0, 0.0, tau);
    close(point_at(&model, 0.1, [2.0, -1.0]).term("obs").unwrap(), free);
}

#[test]
fn bounded_elements_bring_their_jacobian() {
    let z = [-0.4, 0.9];
    // Gamma: x = e^z, whose log Jacobian is z.
    let point = point_at(&partly(gamma(2.0, 3.0), |o| o), 0.0, z);
    let lpdf = |y: f64| 2.0 * 3.0_f64.ln() + y.ln() - 3.0 * y;
    let values = [1.5, z[0].exp(), 0.25, z[1].exp()];
    for (found, expected) in recorded(&point, "y").into_iter().zip(values) {
        close(found, expected);
    }
    close(point.term("obs").unwrap(), values.map(lpdf).iter().sum::<f64>() + z[0] + z[1]);

    // Limits by element, of which one depends on a variable: x = a + (b - a) / (1 + e^-z).
    let upper = Expr::from([2.0, 2.5, 3.0, 3.5]) + Expr::name("tau");
    let dist = truncated(normal(0.0, 1.0), Some((-1.0).into()), Some(upper));
    let model = partly(dist, |o| o);
    let point = point_at(&model, -0.3, z);
    let tau = softplus(-0.3);
    let width = [3.5 + tau, 4.5 + tau];
    let share = z.map(|z| 1.0 / (1.0 + (-z).exp()));
    let recorded_y = recorded(&point, "y");
    close(recorded_y[1], width[0] * share[0] - 1.0);
    close(recorded_y[3], width[1] * share[1] - 1.0);
    assert_eq!(point.check_gradient("y", "limits") + point.check_gradient("tau", "limit"), 3);

    // The way back gives the coordinates again.
    let inverse = &point.lowered.inverse;
    let find = |name: &str| {
        Some(if name == "y" { Tensor::vector(&recorded_y) } else { Tensor::scalar(tau) })
    };
    let back = evaluate(&inverse.graph, &inverse.outputs, &find).unwrap();
    for (entry, found) in point.lowered.layout.iter().zip(&back) {
        for (found, expected) in found.values().iter().zip(point.values[&entry.name].values()) {
            assert!((found - expected).abs() < 1e-12, "{}: {found} {expected}", entry.name);
        }
    }
}

#[test]
fn a_wider_transform_keeps_missing_elements_in_the_support() {
    let mut model = ModelBuilder::new();
    model.rv("y", gamma(2.0, 3.0)).shape([2]).transform(TransformSpec::Identity);
    model.observe_partly("obs", "y", &[Some(1.0), None]);
    for (missing, possible) in [(0.5, true), (-0.5, false), (0.0, false)] {
        let point = Point::new(&model, &[("y", Tensor::vector(&[missing]))]);
        assert_eq!(point.logp() > f64::NEG_INFINITY, possible, "{missing}: {}", point.logp());
        assert!(point.gradient("y")[0].is_finite());
    }
}

#[test]
fn what_cannot_be_imputed_is_refused() {
    let refused = |model: ModelBuilder, code: Code| {
        let error = model.build().unwrap_err();
        assert!(error.has(code), "{error}");
    };
    refused(partly(poisson(2.0), |o| o), Code::BadObservation);
    refused(partly(normal(0.0, 1.0), |o| o.likelihood(false)), Code::BadObservation);
    refused(partly(normal(0.0, 1.0), |o| o.reduce(Reduce::Mean)), Code::BadObservation);
    refused(partly(uniform(0.5, 1.0), |o| o), Code::OutsideSupport);
}

#[test]
fn children_see_the_filled_value() {
    let mut model = partly(normal(0.0, "tau"), |o| o);
    model.rv("child", normal(Expr::name("y").sum(), 1.0));
    model.observe("child_obs", "child", 2.0);
    let point = point_at(&model, 0.0, [1.0, -0.5]);
    close(point.term("child_obs").unwrap(), normal_lpdf(2.0, 2.25, 1.0));
    assert_eq!(lowered(&model).dim, 3);
}
