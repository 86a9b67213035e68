//! Shared by the tests: build an expression over parameters, evaluate it, compare its derivatives
//! with five-point differences.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, differentiate, evaluate};

/// Builds an expression from parameter inputs.
pub(crate) type Build<'a> = &'a dyn Fn(&mut Graph, &[NodeId]) -> NodeId;

/// A graph whose real parameters `p0, p1, …` have these shapes, and an expression over them.
pub(crate) fn expression(shapes: &[Shape], build: Build<'_>) -> (Graph, Vec<NodeId>, NodeId) {
    let mut g = Graph::new();
    let inputs: Vec<_> = shapes
        .iter()
        .enumerate()
        .map(|(k, s)| g.input(&format!("p{k}"), Role::Parameter, s.clone(), DType::Real).unwrap())
        .collect();
    let output = build(&mut g, &inputs);
    (g, inputs, output)
}

/// Values of nodes, given those of the parameters.
pub(crate) fn values(g: &Graph, nodes: &[NodeId], parameters: &[Tensor]) -> Vec<Tensor> {
    let lookup =
        |name: &str| parameters.get(name.strip_prefix('p')?.parse::<usize>().ok()?).cloned();
    evaluate(g, nodes, &lookup).unwrap()
}

/// Irregular weights, so that no error cancels in a sum.
pub(crate) fn weights(shape: &Shape, salt: f64) -> Tensor {
    let values: Vec<f64> =
        (0..shape.len()).map(|k| ((k as f64 + salt) * 12.9898).sin() + 0.3 * salt.cos()).collect();
    Tensor::real(shape.clone(), values).unwrap()
}

/// The weighted sum of an expression: a scalar that every element moves.
pub(crate) fn weighted_sum(g: &mut Graph, node: NodeId, salt: f64) -> NodeId {
    let shape = g.shape(node).clone();
    let w = g.constant(weights(&shape, salt));
    let product = g.mul(w, node);
    g.sum(product)
}

/// Derivative of `f` at `x` by the five-point central difference with step `h`; its error is about
/// `h^4 f''''' / 30` plus rounding of about `1e-16 |f| / h`.
pub(crate) fn five_point(f: &dyn Fn(f64) -> f64, x: f64, h: f64) -> f64 {
    (f(x - 2.0 * h) - 8.0 * f(x - h) + 8.0 * f(x + h) - f(x + 2.0 * h)) / (12.0 * h)
}

/// Step that balances both errors of [`five_point`] for functions of scale one.
pub(crate) const STEP: f64 = 1e-3;

/// Relative difference that is allowed, with the gradient's scale at least one.
pub(crate) const TOLERANCE: f64 = 1e-8;

/// Compares derivatives up to `order` (1 or 2) of the weighted sum of an expression with
/// differences.
pub(crate) fn check_derivatives(name: &str, parameters: &[Tensor], order: usize, build: Build<'_>) {
    let shapes: Vec<_> = parameters.iter().map(|t| t.shape().clone()).collect();
    let (mut g, inputs, output) = expression(&shapes, build);
    let mut scalar = weighted_sum(&mut g, output, 1.0);
    for level in 1..=order {
        let gradient = differentiate(&mut g, scalar, &inputs).unwrap();
        compare(&format!("{name}, derivative {level}"), &g, scalar, &gradient, parameters);
        let mut next = g.scalar(0.0);
        for (k, &part) in gradient.iter().enumerate() {
            let sum = weighted_sum(&mut g, part, 2.0 + k as f64);
            next = g.add(next, sum);
        }
        scalar = next;
    }
}

/// Compares a gradient with differences of the scalar, element by element.
pub(crate) fn compare(
    name: &str,
    g: &Graph,
    scalar: NodeId,
    gradient: &[NodeId],
    parameters: &[Tensor],
) {
    let found = values(g, gradient, parameters);
    for (k, parameter) in parameters.iter().enumerate() {
        for (i, &x) in parameter.values().iter().enumerate() {
            let f = |x: f64| {
                let mut moved = parameters.to_vec();
                let mut elements = parameter.values().to_vec();
                elements[i] = x;
                moved[k] = Tensor::real(parameter.shape().clone(), elements).unwrap();
                values(g, &[scalar], &moved)[0].as_scalar().unwrap()
            };
            let expected = five_point(&f, x, STEP);
            let got = found[k].values()[i];
            let error = (got - expected).abs() / expected.abs().max(1.0);
            assert!(
                error <= TOLERANCE,
                "{name}: parameter {k} element {i} at {x}: {got}, by differences {expected}"
            );
        }
    }
}
