//! Shapes: what is refused and why, what is empty, and graphs that do not grow.

use exmc_graph::{DType, Graph, Role, Shape};
use exmc_model::Transform;

use crate::transforms::numeric::Built;

#[test]
fn shapes_that_cannot_be_are_refused_with_a_sentence() {
    let reason = |t: Transform, shape: &[usize]| t.unconstrained_shape(&shape.into()).unwrap_err();
    assert_eq!(
        reason(Transform::Ordered, &[]),
        "an increasing vector needs an axis, but the value is a single number"
    );
    assert_eq!(
        reason(Transform::Simplex, &[2, 0]),
        "a simplex has at least one element, but the value's shape is [2, 0]"
    );
    assert_eq!(
        reason(Transform::CorrelationCholesky, &[2, 3]),
        "the Cholesky factor of a correlation matrix is one square matrix, but the value's shape is [2, 3]"
    );
    for (transform, shape) in [
        (Transform::PositiveOrdered, &[][..]),
        (Transform::SimplexPlain, &[]),
        (Transform::SumToZero, &[]),
        (Transform::SumToZero, &[0]),
        (Transform::UnitVector, &[]),
        (Transform::UnitVector, &[3, 0]),
        (Transform::CorrelationCholesky, &[0, 0]),
        (Transform::CovarianceCholesky, &[4]),
        (Transform::CovarianceCholesky, &[2, 3, 3]),
        (Transform::CovarianceCholesky, &[2, 3]),
        (Transform::CorrelationMatrix, &[2, 3]),
        (Transform::CovarianceMatrix, &[3, 2]),
        (Transform::ColumnSimplex, &[3]),
        (Transform::SumToZeroMatrix, &[0, 3]),
    ] {
        assert!(transform.unconstrained_shape(&shape.into()).is_err(), "{transform:?} {shape:?}");
    }
}

#[test]
fn unconstrained_shapes_count_the_free_coordinates() {
    let shape = |t: Transform, shape: &[usize]| t.unconstrained_shape(&shape.into()).unwrap();
    assert_eq!(shape(Transform::Log, &[2, 3]), Shape::from([2, 3]));
    assert_eq!(shape(Transform::Ordered, &[2, 3]), Shape::from([2, 3]));
    assert_eq!(shape(Transform::Simplex, &[2, 3]), Shape::from([2, 2]));
    assert_eq!(shape(Transform::SumToZero, &[4, 1]), Shape::from([4, 0]));
    assert_eq!(shape(Transform::UnitVector, &[4]), Shape::from([4]));
    assert_eq!(shape(Transform::CorrelationCholesky, &[4, 4]), Shape::from([6]));
    assert_eq!(shape(Transform::CovarianceCholesky, &[4, 4]), Shape::from([10]));
    assert_eq!(shape(Transform::CovarianceCholesky, &[4, 2]), Shape::from([7]));
    assert_eq!(shape(Transform::CorrelationMatrix, &[4, 4]), Shape::from([6]));
    assert_eq!(shape(Transform::CovarianceMatrix, &[4, 4]), Shape::from([10]));
    assert_eq!(shape(Transform::ColumnSimplex, &[4, 3]), Shape::from([3, 3]));
    assert_eq!(shape(Transform::SumToZeroMatrix, &[4, 3]), Shape::from([3, 2]));
}

/// Values that leave nothing free: a simplex of one element and the like.
#[test]
fn values_without_freedom_are_constants() {
    for (transform, shape, value) in [
        (Transform::Simplex, &[2, 1][..], vec![1.0, 1.0]),
        (Transform::SimplexPlain, &[1], vec![1.0]),
        (Transform::SimplexSoftmax, &[1], vec![1.0]),
        (Transform::SumToZero, &[1], vec![0.0]),
        (Transform::CorrelationCholesky, &[1, 1], vec![1.0]),
        (Transform::Ordered, &[0], vec![]),
        (Transform::PositiveOrdered, &[2, 0], vec![]),
        (Transform::Log, &[0], vec![]),
    ] {
        let built = Built::new(|_| transform, shape);
        assert_eq!(built.dim(), 0, "{transform:?}");
        assert_eq!(built.values(built.x, &[]), value, "{transform:?}");
        assert_eq!(built.value(built.log_jacobian, &[]), 0.0, "{transform:?}");
        assert_eq!(built.values(built.back, &[]), Vec::<f64>::new(), "{transform:?}");
    }
}

/// Graph sizes are counted after building value, Jacobian, inverse and gradient. (Matrices start at
/// five rows because smaller ones have index tables that happen to be equal and are interned.)
#[test]
fn graphs_do_not_grow_with_the_value() {
    for (transform, small, large) in [
        (Transform::Log, &[3][..], &[1000, 3][..]),
        (Transform::Ordered, &[2, 3], &[50, 300]),
        (Transform::PositiveOrdered, &[2, 3], &[50, 300]),
        (Transform::Simplex, &[2, 3], &[50, 300]),
        (Transform::SumToZero, &[2, 3], &[50, 300]),
        (Transform::UnitVector, &[2, 3], &[50, 300]),
        (Transform::CorrelationCholesky, &[5, 5], &[40, 40]),
        (Transform::CovarianceCholesky, &[5, 5], &[40, 40]),
        (Transform::CorrelationMatrix, &[5, 5], &[40, 40]),
        (Transform::CovarianceMatrix, &[5, 5], &[40, 40]),
        (Transform::ColumnSimplex, &[5, 5], &[40, 40]),
        (Transform::SumToZeroMatrix, &[5, 5], &[40, 40]),
    ] {
        let size = |shape: &[usize]| {
            let mut built = Built::new(|_| transform, shape);
            let sum = built.weighted_sum();
            let total = built.g.add(sum, built.log_jacobian);
            exmc_graph::differentiate(&mut built.g, total, &[built.z]).unwrap();
            built.g.len()
        };
        assert_eq!(size(small), size(large), "{transform:?}");
    }
}

/// Arguments are the limits and nothing else, and move with a map.
#[test]
fn arguments_are_the_limits() {
    let mut g = Graph::new();
    let a = g.scalar(0.0);
    let b = g.input("b", Role::Data, Shape::scalar(), DType::Real).unwrap();
    assert_eq!(Transform::Interval(a, b).arguments(), [a, b]);
    assert!(Transform::Simplex.arguments().is_empty());
    let swapped = Transform::Interval(a, b).map_arguments(&mut |id| if id == a { b } else { a });
    assert_eq!(swapped, Transform::Interval(b, a));
}
