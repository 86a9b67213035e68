//! Shapes of mixtures and of other wrappers: by element they are what they are alone.

use exmc_graph::{DType, Tensor};
use exmc_model::distributions::{
    custom, gamma, mixture, multi_normal, normal, poisson, truncated, zero_inflated,
};
use exmc_model::{Code, DistSpec, Expr, ModelBuilder};

use super::harness::{Point, REAL, close, normal_lpdf};

fn log_mix(terms: &[(f64, f64)]) -> f64 {
    terms.iter().map(|(w, t)| w * t.exp()).sum::<f64>().ln()
}

/// Elementwise log densities of observed values, without a declared shape.
fn by_element(dist: DistSpec, y: &[f64]) -> Vec<f64> {
    let mut model = ModelBuilder::new();
    model.rv("y", dist);
    model.observe("obs", "y", y);
    Point::new(&model, &[]).pointwise("y")
}

const Y: [f64; 3] = [-0.5, 1.0, 2.25];

#[test]
fn one_set_of_weights_for_all_elements() {
    let dist =
        mixture([0.3, 0.7], vec![normal([0.0, 1.0, 2.0], 1.0), normal(2.0, [0.5, 1.0, 3.0])]);
    for (k, found) in by_element(dist, &Y).into_iter().enumerate() {
        let (mu, sigma) = ([0.0, 1.0, 2.0][k], [0.5, 1.0, 3.0][k]);
        let parts = [normal_lpdf(Y[k], mu, 1.0), normal_lpdf(Y[k], 2.0, sigma)];
        close(found, log_mix(&[(0.3, parts[0]), (0.7, parts[1])]));
    }
}

#[test]
fn weights_by_element() {
    let weights = [0.3, 0.7, 0.5, 0.5, 1.0, 0.0];
    let table = Tensor::real([3, 2], weights.to_vec()).unwrap();
    let dist = mixture(table, vec![normal(0.0, 1.0), gamma(2.0, 1.5)]);
    for (k, found) in by_element(dist, &Y).into_iter().enumerate() {
        let y = Y[k];
        let second = if y > 0.0 { 2.25 * y * (-1.5 * y).exp() } else { 0.0 };
        let expected =
            weights[2 * k] * normal_lpdf(y, 0.0, 1.0).exp() + weights[2 * k + 1] * second;
        close(found, expected.ln());
    }
}

#[test]
fn truncated_mixtures_of_vectors_are_normalised_by_element() {
    let base = mixture([0.3, 0.7], vec![normal([0.0, 1.0, 2.0], 1.0), normal(2.0, 0.5)]);
    let lower = [-1.0, 0.0, 1.0];
    let joint = by_element(truncated(base, Some(lower.into()), None), &Y);
    for k in 0..3 {
        let mu = [0.0, 1.0, 2.0][k];
        let base = mixture([0.3, 0.7], vec![normal([mu], 1.0), normal(2.0, 0.5)]);
        let alone = by_element(truncated(base, Some(lower[k].into()), None), &[Y[k]]);
        close(joint[k], alone[0]);
    }
}

#[test]
fn vector_components_mix_by_vector() {
    let covariance = |v: f64| Tensor::real([2, 2], vec![v, 0.0, 0.0, v]).unwrap();
    let rows = [0.5, -1.0, 3.0, 2.0, 1.0, 1.0];
    let pair = |k: usize, mu: f64, sigma: f64| {
        normal_lpdf(rows[2 * k], mu, sigma) + normal_lpdf(rows[2 * k + 1], mu, sigma)
    };
    let weights = Tensor::real([3, 2], vec![0.3, 0.7, 0.5, 0.5, 0.9, 0.1]).unwrap();
    for by_row in [false, true] {
        let components = vec![
            multi_normal([0.0, 0.0], covariance(1.0)),
            multi_normal([2.0, 2.0], covariance(4.0)),
        ];
        let weights = if by_row { Expr::from(weights.clone()) } else { [0.3, 0.7].into() };
        let mut model = ModelBuilder::new();
        let declared = model.rv("y", mixture(weights, components));
        if !by_row {
            declared.shape([3, 2]);
        }
        model.observe("obs", "y", Tensor::real([3, 2], rows.to_vec()).unwrap());
        let found = Point::new(&model, &[]).pointwise("y");
        assert_eq!(found.len(), 3);
        for (k, found) in found.into_iter().enumerate() {
            let w = if by_row { [0.3, 0.5, 0.9][k] } else { 0.3 };
            close(found, log_mix(&[(w, pair(k, 0.0, 1.0)), (1.0 - w, pair(k, 2.0, 2.0))]));
        }
    }
}

#[test]
fn custom_components_stretch_to_the_whole() {
    let z = (Expr::name("value") - Expr::name("m")).square() * -0.5;
    let component =
        custom([("m", 1.0.into())], REAL, z - 0.5 * (2.0 * std::f64::consts::PI).ln(), None);
    let dist = mixture([0.25, 0.75], vec![component, normal([0.0, 0.5, 1.0], 2.0)]);
    for (k, found) in by_element(dist, &Y).into_iter().enumerate() {
        let other = normal_lpdf(Y[k], [0.0, 0.5, 1.0][k], 2.0);
        close(found, log_mix(&[(0.25, normal_lpdf(Y[k], 1.0, 1.0)), (0.75, other)]));
    }
}

#[test]
fn impossible_components_leave_gradients_finite() {
    let mut model = ModelBuilder::new();
    model.rv("a", gamma(2.0, 1.0));
    let dist = mixture([0.4, 0.6], vec![gamma("a", "a"), normal("a", 1.0)]);
    model.rv("y", dist).shape([4]);
    model.declare_data("seen", DType::Real, [4]);
    model.observe("obs", "y", "seen");
    let seen = Tensor::vector(&[-3.0, 0.0, 0.5, 200.0]);
    let point = Point::new(&model, &[("a", Tensor::scalar(0.3)), ("seen", seen)]);
    assert!(point.logp().is_finite());
    assert_eq!(point.check_gradient("a", "gamma and normal"), 1);
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let refused = |dist: DistSpec, code: Code| {
        let mut model = ModelBuilder::new();
        model.rv("y", dist);
        let error = model.build().unwrap_err();
        assert!(error.has(code), "{error}");
    };
    let two = || vec![normal(0.0, 1.0), normal(1.0, 1.0)];
    refused(mixture([0.3, 0.3, 0.4], two()), Code::ShapeMismatch);
    refused(mixture(1.0, two()), Code::ShapeMismatch);
    refused(mixture([0.3, 0.6], two()), Code::OutsideSupport);
    refused(mixture([1.0], Vec::new()), Code::MissingParameter);
    refused(mixture([0.3, 0.7], vec![normal(0.0, 1.0), poisson(1.0)]), Code::BadArguments);
    let vectors = vec![normal([0.0, 1.0], 1.0), normal([0.0, 1.0, 2.0], 1.0)];
    refused(mixture([0.3, 0.7], vectors), Code::ShapeMismatch);
    let limits: Expr = [0.0, 1.0, 2.0].into();
    refused(truncated(normal([0.0, 1.0], 1.0), Some(limits), None), Code::ShapeMismatch);
    refused(zero_inflated(poisson([1.0, 2.0]), [0.1, 0.2, 0.3]), Code::ShapeMismatch);
}
