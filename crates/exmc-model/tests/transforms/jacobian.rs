//! Each row of the table against numerical derivatives and its own inverse, at random points.

use crate::transforms::cases::{CASES, Free};
use crate::transforms::numeric::{Built, assert_close, differences, log_abs_det, point};

const POINTS: u64 = 5;

#[test]
fn unconstrain_undoes_constrain() {
    for case in CASES.iter().filter(|c| c.free != Free::Radius) {
        let built = Built::new(case.transform, case.shape);
        for seed in 0..POINTS {
            let z = point(seed, built.dim(), 3.0);
            let x = built.values(built.x, &z);
            assert!(case.holds(&x), "{}: {x:?}", case.name);
            assert_close(&built.values(built.back, &z), &z, 1e-10, case.name);
        }
    }
}

/// Differences of the value are good to about 1e-12, so logs of determinants of a dozen rows are to
/// 1e-9.
#[test]
fn log_jacobian_is_the_log_determinant_of_the_free_coordinates() {
    let bounded = [Free::All, Free::AllButLast, Free::AllButLastRow, Free::Below, Free::Triangle];
    for case in CASES.iter().filter(|c| bounded.contains(&c.free)) {
        let built = Built::new(case.transform, case.shape);
        let free = case.free_positions();
        assert_eq!(free.len(), built.dim(), "{}", case.name);
        for seed in 0..POINTS {
            let z = point(seed, built.dim(), 2.0);
            let coordinates = |z: &[f64]| {
                let x = built.values(built.x, z);
                free.iter().map(|&k| x[k]).collect()
            };
            let expected = log_abs_det(differences(coordinates, &z));
            let found = built.value(built.log_jacobian, &z);
            assert_close(&[found], &[expected], 1e-9, case.name);
        }
    }
}

/// An isometry keeps all lengths: the columns of its Jacobian are orthonormal.
#[test]
fn sum_to_zero_is_isometric() {
    for case in CASES.iter().filter(|c| c.free == Free::Isometric) {
        let built = Built::new(case.transform, case.shape);
        let z = point(1, built.dim(), 2.0);
        let rows = differences(|z| built.values(built.x, z), &z);
        for (i, a) in rows.iter().enumerate() {
            for (j, b) in rows.iter().enumerate() {
                let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
                assert_close(&[product], &[f64::from(u8::from(i == j))], 1e-11, case.name);
            }
        }
        assert_eq!(built.value(built.log_jacobian, &z), 0.0);
    }
}

/// With polar coordinates z = r (cos t, sin t), a uniform direction leaves the radius the density
/// of a standard normal vector's length, $r e^{-r^2/2}$.
#[test]
fn unit_vector_radius_is_that_of_a_standard_normal_vector() {
    let built = Built::new(|_| exmc_model::Transform::UnitVector, &[2]);
    for (radius, angle) in [(0.3, 0.2), (1.0, -2.0), (2.5, 3.0)] {
        let polar = |p: &[f64]| vec![p[0] * f64::cos(p[1]), p[0] * f64::sin(p[1])];
        let area = log_abs_det(differences(polar, &[radius, angle]));
        let log_density = built.value(built.log_jacobian, &polar(&[radius, angle])) + area;
        let expected = f64::ln(radius) - 0.5 * radius * radius;
        assert_close(&[log_density], &[expected], 1e-11, "radius");
    }
}

/// Unit vectors lose their radius, so their inverse is one only from the value's side.
#[test]
fn unit_vectors_are_kept_by_there_and_back() {
    for case in CASES.iter().filter(|c| c.free == Free::Radius) {
        let built = Built::new(case.transform, case.shape);
        let x = built.values(built.x, &point(3, built.dim(), 2.0));
        assert!(case.holds(&x), "{}: {x:?}", case.name);
        let again = built.values(built.x, &built.values(built.back, &x));
        assert_close(&again, &x, 1e-15, case.name);
    }
}

/// Five-point differences of these functions are good to about 1e-12; 1e-9 leaves room for sums.
#[test]
fn gradients_of_value_and_log_jacobian_equal_differences() {
    for case in CASES {
        let mut built = Built::new(case.transform, case.shape);
        let sum = built.weighted_sum();
        let both = built.g.add(sum, built.log_jacobian);
        for output in [both, built.log_jacobian] {
            for seed in 0..POINTS {
                let z = point(seed + 10, built.dim(), 2.0);
                let rows = differences(|z| built.values(output, z), &z);
                let expected: Vec<f64> = rows.iter().map(|row| row[0]).collect();
                assert_close(&built.gradient(output, &z), &expected, 1e-9, case.name);
            }
        }
    }
}
