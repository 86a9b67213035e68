//! Edges: supports of parameters and outcomes, ends of distribution functions, tiny scales.

use exmc_graph::Graph;
use exmc_model::{Support, Transform};

use super::examples::EXAMPLES;
use super::harness::Quantity::{Lccdf, Lcdf, Lpdf};
use super::harness::{compile, family, inside, value};

const INF: f64 = f64::INFINITY;

/// Outcomes below and above everything that can happen.
pub(crate) fn outer_points(name: &str, parameters: &[f64]) -> Vec<f64> {
    let [below, above] = sides(name, parameters);
    [below, above].concat()
}

fn sides(name: &str, parameters: &[f64]) -> [Vec<f64>; 2] {
    let mut below = vec![-INF];
    let mut above = vec![INF];
    match family(name).support() {
        Support::Real => {}
        Support::Positive | Support::NonNegative => below.extend([-1e300, -3.0, -1e-300]),
        Support::UnitOpen => {
            below.extend([-3.0, -1e-300]);
            above.extend([1.0 + 1e-15, 3.0]);
        }
        Support::Between { lower, upper } => {
            let limits = [lower, upper].map(|k| k.map(|k| parameters[k]));
            below.extend(limits[0].filter(|l| l.is_finite()).map(|l| l - 0.5));
            above.extend(limits[1].filter(|l| l.is_finite()).map(|l| l + 0.5));
        }
        Support::Circle => {
            below.push(-3.2);
            above.push(3.2);
        }
        other => panic!("no sides of {other:?}"),
    }
    [below, above]
}

#[test]
fn parameters_outside_their_supports_are_seen() {
    for e in EXAMPLES.iter() {
        for (k, parameter) in family(e.family).parameters().iter().enumerate() {
            let wrong: &[f64] = match parameter.support {
                Support::Real => &[f64::NAN],
                Support::Positive => &[0.0, -0.0, -1.0, -INF, f64::NAN],
                Support::NonNegative => &[-1e-300, -1.0, f64::NAN],
                other => panic!("{} has a parameter with {other:?}", e.family),
            };
            for value in wrong {
                let seen = !inside(parameter.support, *value, e.parameters);
                assert!(seen, "{} {} = {value}", e.family, parameter.name);
            }
            let right = inside(parameter.support, e.parameters[k], e.parameters);
            assert!(right, "{} {}", e.family, parameter.name);
        }
    }
}

#[test]
fn outcomes_outside_the_support_are_seen() {
    for e in EXAMPLES.iter() {
        let support = family(e.family).support();
        assert!(!inside(support, f64::NAN, e.parameters), "{}", e.family);
        for y in outer_points(e.family, e.parameters) {
            // Infinite outcomes are told from finite ones by their density.
            if y.is_finite() {
                assert!(!inside(support, y, e.parameters), "{} {y}", e.family);
            }
        }
        for y in e.outcomes {
            assert!(inside(support, *y, e.parameters), "{} {y}", e.family);
        }
    }
    for (name, parameters, end, belongs) in [
        ("half_normal", &[1.0][..], 0.0, false),
        ("exponential", &[1.0], 0.0, true),
        ("pareto", &[1.5, 2.0], 1.5, true),
        ("uniform", &[-1.0, 2.0], 2.0, true),
        ("uniform", &[3.0, 2.0], 2.5, false),
        ("truncated_normal", &[0.0, 1.0, -1.0, INF], -1.0, true),
        ("beta", &[1.0, 1.0], 1.0, false),
    ] {
        assert_eq!(inside(family(name).support(), end, parameters), belongs, "{name}");
    }
}

#[test]
fn infinite_outcomes_have_no_density() {
    for e in EXAMPLES.iter().filter(|e| !["uniform", "von_mises"].contains(&e.family)) {
        for y in [-INF, INF] {
            if inside(family(e.family).support(), y, e.parameters) {
                let lpdf = value(e.family, Lpdf, y, e.parameters);
                // A power of an infinite outcome against its exponential is NaN, which callers
                // treat alike.
                assert!(lpdf == -INF || lpdf.is_nan(), "{} {y}: {lpdf}", e.family);
            }
        }
    }
}

#[test]
fn distribution_functions_end_at_zero_and_one() {
    for e in EXAMPLES.iter() {
        if compile(e.family, Lcdf, 1).is_none() {
            continue;
        }
        let [below, above] = sides(e.family, e.parameters);
        for (points, lcdf, lccdf) in [(below, -INF, 0.0), (above, 0.0, -INF)] {
            for y in points {
                assert_eq!(value(e.family, Lcdf, y, e.parameters), lcdf, "{} {y}", e.family);
                assert_eq!(value(e.family, Lccdf, y, e.parameters), lccdf, "{} {y}", e.family);
            }
        }
        for quantity in [Lcdf, Lccdf] {
            assert!(value(e.family, quantity, f64::NAN, e.parameters).is_nan(), "{}", e.family);
        }
    }
}

/// The requirement of the precision port: no panic at any scale, and a log density that is finite
/// or $-\infty$ wherever the scale is positive.
#[test]
fn tiny_scales_give_numbers() {
    for (name, parameters) in [
        ("normal", &[0.5, 1.0][..]),
        ("half_normal", &[1.0]),
        ("student_t", &[3.0, 0.5, 1.0]),
        ("half_student_t", &[3.0, 1.0]),
        ("cauchy", &[0.5, 1.0]),
        ("half_cauchy", &[1.0]),
        ("laplace", &[0.5, 1.0]),
        ("logistic", &[0.5, 1.0]),
        ("lognormal", &[0.5, 1.0]),
        ("gumbel", &[0.5, 1.0]),
        ("skew_normal", &[0.5, 1.0, 2.0]),
        ("weibull", &[1.5, 1.0]),
        ("truncated_normal", &[0.5, 1.0, 0.2, 3.0]),
        ("truncated_normal", &[0.5, 1.0, 0.6, INF]),
    ] {
        let f = family(name);
        let scale =
            f.parameters().iter().position(|p| ["sigma", "beta", "omega"].contains(&p.name));
        let scale = scale.expect("each of these has a scale");
        for sigma in [1e-30, 1e-45, 1e-100] {
            let mut parameters = parameters.to_vec();
            parameters[scale] = sigma;
            for y in [0.5, 0.7, 2.0] {
                let compiled = compile(name, Lpdf, 1).unwrap();
                let lpdf = compiled.values(&[y], &parameters)[0];
                let outside = !inside(f.support(), y, &parameters);
                assert!(lpdf < INF || outside, "{name} {sigma} {y}: {lpdf}");
                compiled.gradient(y, &parameters);
            }
            parameters[scale] = 0.0;
            compile(name, Lpdf, 1).unwrap().gradient(0.5, &parameters);
        }
    }
}

#[test]
fn defaults_and_aliases_are_as_documented() {
    let defaults =
        |name: &str| -> Vec<_> { family(name).parameters().iter().map(|p| p.default).collect() };
    assert_eq!(defaults("uniform"), [Some(0.0), Some(1.0)]);
    assert_eq!(defaults("truncated_normal"), [None, None, Some(-INF), Some(INF)]);
    for (alias, name) in [
        ("double_exponential", "laplace"),
        ("inv_gamma", "inverse_gamma"),
        ("uniform01", "uniform"),
    ] {
        assert_eq!(family(alias).name(), name);
    }
}

#[test]
fn default_transforms_fit_the_supports() {
    let mut g = Graph::new();
    let args: Vec<_> = (0..4).map(|k| g.scalar(f64::from(k))).collect();
    for (name, transform) in [
        ("std_normal", Transform::Identity),
        ("half_normal", Transform::Softplus),
        ("half_cauchy", Transform::Log),
        ("exponential", Transform::Log),
        ("gamma", Transform::Log),
        ("beta", Transform::Logit),
        ("uniform", Transform::Interval(args[0], args[1])),
        ("pareto", Transform::Lower(args[0])),
        ("truncated_normal", Transform::Interval(args[2], args[3])),
        ("von_mises", Transform::Circle),
    ] {
        let count = family(name).parameters().len();
        assert_eq!(family(name).default_transform(&args[..count]), transform, "{name}");
    }
}
