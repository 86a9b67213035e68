//! Far from zero: every transform stays finite and inside its support, and its density stays
//! proper.

use exmc_model::Transform;

use crate::transforms::cases::{CASES, Free};
use crate::transforms::numeric::{Built, assert_close};

/// Patterns of far points: all right, all left, alternating, only the first far.
fn far_points(dim: usize, size: f64) -> Vec<Vec<f64>> {
    let alternating = |k: usize| if k.is_multiple_of(2) { size } else { -size };
    vec![
        vec![size; dim],
        vec![-size; dim],
        (0..dim).map(alternating).collect(),
        (0..dim).map(|k| if k == 0 { size } else { 0.25 }).collect(),
    ]
}

#[test]
fn far_points_stay_finite_and_in_the_support() {
    for case in CASES {
        let mut built = Built::new(case.transform, case.shape);
        let sum = built.weighted_sum();
        for size in [199.0, 200.5, 800.0, 1e6] {
            for z in far_points(built.dim(), size) {
                let x = built.values(built.x, &z);
                let log_jacobian = built.value(built.log_jacobian, &z);
                let name = case.name;
                assert!(
                    x.iter().all(|v| v.is_finite()) && case.holds(&x),
                    "{name} at {z:?}: {x:?}"
                );
                assert!(log_jacobian.is_finite(), "{name} at {z:?}");
                for output in [sum, built.log_jacobian] {
                    let gradient = built.gradient(output, &z);
                    assert!(
                        gradient.iter().all(|v| v.is_finite()),
                        "{name} at {z:?}: {gradient:?}"
                    );
                }
            }
        }
    }
}

/// Where the value no longer changes, the log Jacobian alone must keep the density's integral
/// finite: it falls by at least a constant for each unit, in every free direction.
#[test]
fn the_density_falls_where_the_value_is_clamped() {
    let clamped = |c: &&crate::transforms::cases::Case| {
        !matches!(c.free, Free::Isometric | Free::Radius)
            && !matches!(c.name, "identity" | "softplus" | "ordered 1")
    };
    for case in CASES.iter().filter(clamped) {
        let mut built = Built::new(case.transform, case.shape);
        // The first element of an ordered vector and those below a covariance factor's diagonal are
        // not clamped; their slopes are zero.
        for size in [500.0, -500.0] {
            let z = vec![size; built.dim()];
            for slope in built.gradient(built.log_jacobian, &z) {
                assert!(slope == 0.0 || slope * size < 0.0 && slope.abs() > 0.2, "{}", case.name);
            }
        }
    }
}

#[test]
fn softplus_falls_on_the_left_only() {
    let mut built = Built::new(|_| Transform::Softplus, &[]);
    assert_eq!(built.gradient(built.log_jacobian, &[-500.0]), [1.0]);
    assert_eq!(built.gradient(built.log_jacobian, &[500.0])[0], f64::exp(-500.0));
    assert_eq!(built.gradient(built.x, &[-500.0]), [0.0]);
    assert_eq!(built.gradient(built.x, &[500.0]), [1.0]);
}

#[test]
fn the_clamp_of_log_has_the_exact_gradient_on_both_sides() {
    let mut built = Built::new(|_| Transform::Log, &[]);
    for z in [-199.9, -1.0, 0.1, 199.9] {
        assert_close(&built.gradient(built.x, &[z]), &[f64::exp(z)], 1e-15, "inside");
        assert_eq!(built.gradient(built.log_jacobian, &[z]), [1.0]);
    }
    for z in [-1e6, -200.1, 200.1, 1e6] {
        assert_eq!(built.gradient(built.x, &[z]), [0.0]);
        assert_eq!(built.gradient(built.log_jacobian, &[z]), [if z < 0.0 { 1.0 } else { -1.0 }]);
    }
    // Continuous at the clamp, and -1e6 + 400 far out.
    assert_eq!(built.value(built.log_jacobian, &[200.0]), 200.0);
    assert_eq!(built.value(built.log_jacobian, &[1e6]), 400.0 - 1e6);
}

/// Inverses near the limits, against closed forms: softplus must not overflow, logit not cancel.
#[test]
fn inverses_keep_their_digits() {
    let invert = |transform: Transform, x: f64| {
        let mut g = exmc_graph::Graph::new();
        let x = g.scalar(x);
        let z = transform.unconstrain(&mut g, x);
        exmc_graph::evaluate(&g, &[z], &|_| None).unwrap()[0].as_scalar().unwrap()
    };
    // softplus(z) = e^z (1 - e^z/2 + ...) on the far left and z on the far right.
    assert_close(&[invert(Transform::Softplus, 1e-80)], &[-80.0 * f64::ln(10.0)], 1e-15, "left");
    for x in [40.0, 800.0, 1e6, 1e300] {
        assert_eq!(invert(Transform::Softplus, x), x);
    }
    // logit(x) = log x + x + x^2/2 + ... near 0 and -log(1 - x) + log x near 1.
    assert_close(&[invert(Transform::Logit, 1e-80)], &[-80.0 * f64::ln(10.0)], 1e-15, "left");
    let gap = f64::EPSILON / 2.0;
    assert_close(&[invert(Transform::Logit, 1.0 - gap)], &[53.0 * f64::ln(2.0)], 1e-15, "right");
}

/// Sticks and factors whose elements span many orders of magnitude come back by relative digits.
#[test]
fn far_simplexes_and_factors_come_back() {
    let simplex = Built::new(|_| Transform::Simplex, &[6]);
    let z = [60.0, -50.0, 1.5, -0.75, 30.0];
    assert_close(&simplex.values(simplex.back, &z), &z, 1e-13, "simplex");
    let factor = Built::new(|_| Transform::CorrelationCholesky, &[4, 4]);
    let z = [15.0, -15.0, 0.5, 0.25, 15.0, -1.5];
    assert_close(&factor.values(factor.back, &z), &z, 1e-12, "correlation");
}
