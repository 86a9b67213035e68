//! Limits that are infinite, data or parameters.

use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, differentiate, evaluate};
use exmc_model::Transform;

use crate::transforms::numeric::{Built, assert_close, differences};

const INFINITY: f64 = f64::INFINITY;

/// Limits that are known to be infinite leave the same nodes as the transform without them.
#[test]
fn infinite_constants_are_no_limits() {
    let mut g = Graph::new();
    let shape = Shape::from([3]);
    let z = g.input("z", Role::Parameter, shape.clone(), DType::Real).unwrap();
    let (none, all) = (g.scalar(-INFINITY), g.filled(&shape, INFINITY));
    let (a, b) = (g.scalar(-1.0), g.scalar(2.0));
    for (with, without) in [
        (Transform::Lower(none), Transform::Identity),
        (Transform::Upper(all), Transform::Identity),
        (Transform::Interval(none, all), Transform::Identity),
        (Transform::Interval(a, all), Transform::Lower(a)),
        (Transform::Interval(none, b), Transform::Upper(b)),
    ] {
        let expected = without.constrain(&mut g, z, &shape);
        assert_eq!(with.constrain(&mut g, z, &shape), expected);
        assert_eq!(with.unconstrain(&mut g, z), without.unconstrain(&mut g, z));
    }
}

/// A vector of limits of which some are infinite, as constants and as data, equals the four
/// transforms element by element: value, log Jacobian, gradient and inverse.
#[test]
fn limits_by_element_choose_among_the_cases() {
    let lower = [-1.5, -INFINITY, -1.5, -INFINITY];
    let upper = [INFINITY, 2.5, 2.5, INFINITY];
    let z = [0.7, -0.3, 1.1, 0.4];
    let mut expected = (Vec::new(), 0.0, Vec::new());
    for k in 0..4 {
        let mut one = Built::new(
            |g| match k {
                0 => Transform::Lower(g.scalar(lower[k])),
                1 => Transform::Upper(g.scalar(upper[k])),
                2 => Transform::Interval(g.scalar(lower[k]), g.scalar(upper[k])),
                _ => Transform::Identity,
            },
            &[],
        );
        let total = one.g.add(one.x, one.log_jacobian);
        expected.0.push(one.value(one.x, &[z[k]]));
        expected.1 += one.value(one.log_jacobian, &[z[k]]);
        expected.2.extend(one.gradient(total, &[z[k]]));
    }
    for known in [true, false] {
        let mut g = Graph::new();
        let shape = Shape::from([4]);
        let limit = |g: &mut Graph, name: &str, values: &[f64]| {
            if known {
                g.constant(Tensor::vector(values))
            } else {
                g.input(name, Role::Data, Shape::from([4]), DType::Real).unwrap()
            }
        };
        let (a, b) = (limit(&mut g, "a", &lower), limit(&mut g, "b", &upper));
        let transform = Transform::Interval(a, b);
        let input = g.input("z", Role::Parameter, shape.clone(), DType::Real).unwrap();
        let (x, log_jacobian) = transform.constrain(&mut g, input, &shape);
        let log_jacobian = log_jacobian.unwrap();
        let sum = g.sum(x);
        let total = g.add(sum, log_jacobian);
        let gradient = differentiate(&mut g, total, &[input]).unwrap()[0];
        let back = transform.unconstrain(&mut g, x);
        let lookup = |name: &str| {
            Some(Tensor::vector(match name {
                "a" => &lower,
                "b" => &upper,
                _ => &z,
            }))
        };
        let found = evaluate(&g, &[x, log_jacobian, gradient, back], &lookup).unwrap();
        assert_eq!(found[0].values(), expected.0);
        assert_close(found[1].values(), &[expected.1], 1e-15, "log Jacobian");
        assert_close(found[2].values(), &expected.2, 1e-15, "gradient");
        assert_close(found[3].values(), &z, 1e-14, "inverse");
    }
}

/// A limit that is itself a parameter moves the value: its derivative is part of the gradient.
#[test]
fn limits_that_are_parameters_have_gradients() {
    type Make = fn(NodeId, NodeId) -> Transform;
    let makes: [Make; 3] =
        [|a, _| Transform::Lower(a), |_, b| Transform::Upper(b), |a, b| Transform::Interval(a, b)];
    for make in makes {
        let mut g = Graph::new();
        let p = g.input("p", Role::Parameter, Shape::from([5]), DType::Real).unwrap();
        let a = g.slice(p, 0, 0, 1);
        let b = g.slice(p, 0, 1, 2);
        let z = g.slice(p, 0, 2, 5);
        let (x, log_jacobian) = make(a, b).constrain(&mut g, z, &Shape::from([3]));
        let squares = g.square(x);
        let sum = g.sum(squares);
        let total = g.add(sum, log_jacobian.unwrap());
        let gradient = differentiate(&mut g, total, &[p]).unwrap()[0];
        let values_at = |id: NodeId, p: &[f64]| {
            evaluate(&g, &[id], &|_| Some(Tensor::vector(p))).unwrap()[0].values().to_vec()
        };
        let point = [-0.5, 1.75, 0.3, -0.8, 0.1];
        let rows = differences(|p| values_at(total, p), &point);
        let expected: Vec<f64> = rows.iter().map(|row| row[0]).collect();
        assert_close(&values_at(gradient, &point), &expected, 1e-9, "parameter limits");
    }
}
