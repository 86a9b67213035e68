//! Gradients against five-point differences, and where differences cannot go.

use super::examples::EXAMPLES;
use super::harness::Quantity::{Lccdf, Lcdf, Lpdf};
use super::harness::{Compiled, compile, family};

/// Relative to the larger of one and the derivative. The step of 3e-4 leaves a truncation error of
/// about 1e-9 and a rounding error of about 1e-9 in these ordinary points, below 1e-7.
fn check(what: &str, compiled: &Compiled, y: f64, parameters: &[f64]) {
    let gradient = compiled.gradient(y, parameters);
    let arguments: Vec<f64> = [y].iter().chain(parameters).copied().collect();
    for (k, found) in gradient.iter().enumerate() {
        if arguments[k].is_infinite() {
            assert_eq!(*found, 0.0, "{what}, argument {k}");
            continue;
        }
        // Close limits bound the step.
        let h = if what.contains("0.71]") { 2e-5 } else { 3e-4 * arguments[k].abs().max(0.05) };
        let shifted = |steps: f64| {
            let mut moved = arguments.clone();
            moved[k] += steps * h;
            compiled.values(&moved[..1], &moved[1..])[0]
        };
        let near = shifted(1.0) - shifted(-1.0);
        let far = shifted(2.0) - shifted(-2.0);
        let expected = (8.0 * near - far) / (12.0 * h);
        let error = (found - expected).abs() / expected.abs().max(1.0);
        assert!(error < 1e-7, "{what}, argument {k}: {found}, differences give {expected}");
    }
}

#[test]
fn of_densities_and_distribution_functions() {
    for e in EXAMPLES.iter() {
        for quantity in [Lpdf, Lcdf, Lccdf] {
            let Some(compiled) = compile(e.family, quantity, 1) else { continue };
            for y in e.outcomes {
                let what = format!("{} {quantity:?} of {y} given {:?}", e.family, e.parameters);
                check(&what, &compiled, *y, e.parameters);
            }
        }
    }
}

/// Where a formula takes another branch than at the ordinary points.
#[test]
fn of_the_other_branches() {
    for (name, quantity, y, parameters) in [
        ("student_t", Lpdf, 1.5, &[1e6, 0.0, 1.0][..]),
        ("student_t", Lcdf, 0.4, &[1e3, 0.0, 1.0]),
        ("half_student_t", Lccdf, 1e-3, &[3.0, 1.0]),
        ("half_student_t", Lcdf, 80.0, &[0.3, 1.0]),
        ("von_mises", Lpdf, 0.15, &[0.1, 1500.0]),
        ("weibull", Lcdf, 0.05, &[15.0, 1.0]),
        ("gumbel", Lccdf, 45.0, &[0.2, 1.0]),
        ("pareto", Lcdf, 1.7, &[1.5, 3.0]),
        ("beta", Lccdf, 0.01, &[0.05, 3.0]),
        ("skew_normal", Lcdf, -4.0, &[0.0, 1.0, 2.0]),
        ("skew_normal", Lcdf, -0.05, &[0.0, 1.0, 20.0]),
        ("skew_normal", Lccdf, -0.05, &[0.0, 1.0, 20.0]),
        ("skew_normal", Lcdf, -39.0, &[0.0, 1.0, 0.05]),
        ("truncated_normal", Lpdf, 9.0, &[0.0, 1.0, 8.0, f64::INFINITY]),
        ("truncated_normal", Lpdf, -9.0, &[0.0, 1.0, -12.0, -8.0]),
        ("truncated_normal", Lpdf, 0.3, &[0.5, 900.0, -1.0, 1.0]),
    ] {
        let compiled = compile(name, quantity, 1).unwrap();
        check(
            &format!("{name} {quantity:?} of {y} given {parameters:?}"),
            &compiled,
            y,
            parameters,
        );
    }
}

/// A limit at the location is the commonest truncation; the beta function's derivative is infinite
/// there.
#[test]
fn of_distribution_functions_at_the_location() {
    for (name, parameters) in [
        ("normal", &[0.5, 2.0][..]),
        ("student_t", &[4.0, 0.5, 2.0]),
        ("student_t", &[0.3, 0.5, 2.0]),
        ("cauchy", &[0.5, 2.0]),
        ("laplace", &[0.5, 2.0]),
        ("logistic", &[0.5, 2.0]),
        ("gumbel", &[0.5, 2.0]),
        ("skew_normal", &[0.5, 2.0, 3.0]),
        ("skew_normal", &[0.5, 2.0, 0.0]),
    ] {
        let density = compile(name, Lpdf, 1).unwrap().values(&[0.5], parameters)[0].exp();
        for (quantity, sign) in [(Lcdf, 1.0), (Lccdf, -1.0)] {
            let compiled = compile(name, quantity, 1).unwrap();
            let probability = compiled.values(&[0.5], parameters)[0].exp();
            let gradient = compiled.gradient(0.5, parameters);
            let expected = sign * density / probability;
            assert!((gradient[0] - expected).abs() < 1e-12, "{name} {quantity:?}: {gradient:?}");
            assert!(gradient.iter().all(|v| v.is_finite()), "{name} {quantity:?}: {gradient:?}");
        }
    }
}

/// Next to the location the distribution function is a line, and where the formulas meet they
/// agree.
#[test]
fn of_a_students_t_next_to_its_location() {
    for nu in [0.2, 3.0, 1e4] {
        let compiled = compile("student_t", Lcdf, 1).unwrap();
        let curvature: f64 = 1.0 + 1.0 / nu;
        let border = 1e-5 / curvature.sqrt();
        let slopes: Vec<f64> = [0.0, 0.5 * border, 0.99 * border, 1.01 * border]
            .iter()
            .map(|z| {
                let gradient = compiled.gradient(*z, &[nu, 0.0, 1.0]);
                gradient[0] * compiled.values(&[*z], &[nu, 0.0, 1.0])[0].exp()
            })
            .collect();
        for slope in &slopes {
            assert!((slope / slopes[0] - 1.0).abs() < 1e-9, "{nu}: {slopes:?}");
        }
    }
}

/// Infinite outcomes and outcomes beyond the support have constant distribution functions.
#[test]
fn vanish_outside_the_support() {
    for e in EXAMPLES.iter() {
        for quantity in [Lcdf, Lccdf] {
            let Some(compiled) = compile(e.family, quantity, 1) else { continue };
            for y in super::edges::outer_points(e.family, e.parameters) {
                let gradient = compiled.gradient(y, e.parameters);
                let zero = gradient.iter().all(|v| *v == 0.0);
                assert!(zero, "{} {quantity:?} at {y}: {gradient:?}", e.family);
            }
        }
    }
}

/// Scales far from one, in both directions, with outcomes to match.
#[test]
fn stay_finite_at_extreme_scales() {
    for e in EXAMPLES.iter() {
        let f = family(e.family);
        let Some(ls) = f.location_scale() else { continue };
        for scale in [1e-30, 1e-12, 1e12, 1e30] {
            let mut parameters = e.parameters.to_vec();
            parameters[ls.scale] = scale;
            if let Some(k) = ls.location {
                parameters[k] = 0.0;
            }
            for z in [1e-3, 0.5, 3.0] {
                for quantity in [Lpdf, Lcdf, Lccdf] {
                    let compiled = compile(e.family, quantity, 1).unwrap();
                    let value = compiled.values(&[z * scale], &parameters)[0];
                    let gradient = compiled.gradient(z * scale, &parameters);
                    assert!(value.is_finite(), "{} {quantity:?} {scale}: {value}", e.family);
                    let finite = gradient.iter().all(|v| v.is_finite());
                    assert!(finite, "{} {quantity:?} {scale}: {gradient:?}", e.family);
                }
            }
        }
    }
}
