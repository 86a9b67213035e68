//! Densities integrated: to one, and to the mean and variance that the family states.

use std::f64::consts::{FRAC_PI_2, PI};

use exmc_model::Support;

use super::examples::{EXAMPLES, Example};
use super::harness::Quantity::{Lcdf, Lpdf};
use super::harness::{compile, family};

/// Steps of double-exponential rules, and how far they go: the ends are at $e^{\pm 116}$.
const STEP: f64 = 1.0 / 64.0;
const STEPS: i32 = 320;

/// Points and weights from `origin` to infinity in one direction (1 or -1).
fn half_line(origin: f64, scale: f64, direction: f64) -> Vec<(f64, f64)> {
    let node = |k: i32| {
        let t = f64::from(k) * STEP;
        let distance = scale * (FRAC_PI_2 * t.sinh()).exp();
        (origin + direction * distance, distance * FRAC_PI_2 * t.cosh() * STEP)
    };
    (-STEPS..=STEPS).map(node).collect()
}

/// Points and weights inside an interval. Points that round to an end are left out; the densities
/// here have less than 1e-9 beyond them.
fn interval(lower: f64, upper: f64) -> Vec<(f64, f64)> {
    let node = |k: i32| {
        let t = f64::from(k) * STEP;
        let fraction = 1.0 / (1.0 + (-PI * t.sinh()).exp());
        let slope = fraction * (1.0 / (1.0 + (PI * t.sinh()).exp())) * PI * t.cosh();
        (lower + (upper - lower) * fraction, (upper - lower) * slope * STEP)
    };
    (-STEPS..=STEPS).map(node).filter(|(y, _)| *y > lower && *y < upper).collect()
}

fn points(e: &Example) -> Vec<(f64, f64)> {
    let up = || half_line(e.origin, e.scale, 1.0);
    let down = || half_line(e.origin, e.scale, -1.0);
    match family(e.family).support() {
        Support::Positive | Support::NonNegative => up(),
        Support::UnitOpen => interval(0.0, 1.0),
        Support::Circle => interval(-PI, PI),
        Support::Real => [down(), up()].concat(),
        Support::Between { lower, upper } => {
            let limit = |k: Option<usize>, infinite| k.map_or(infinite, |k| e.parameters[k]);
            let (a, b) = (limit(lower, f64::NEG_INFINITY), limit(upper, f64::INFINITY));
            match (a.is_finite(), b.is_finite()) {
                (true, true) => interval(a, b),
                (true, false) => up(),
                (false, true) => down(),
                (false, false) => [down(), up()].concat(),
            }
        }
        other => panic!("no points for {other:?}"),
    }
}

/// The integral of `power`-th powers of the distance from `centre`.
fn moment(e: &Example, centre: f64, power: i32) -> f64 {
    let points = points(e);
    let outcomes: Vec<_> = points.iter().map(|p| p.0).collect();
    let compiled = compile(e.family, Lpdf, outcomes.len()).unwrap();
    let log_densities = compiled.values(&outcomes, e.parameters);
    let terms = points.iter().zip(log_densities).filter(|(_, lp)| *lp > f64::NEG_INFINITY);
    terms.map(|((y, w), lp)| w * lp.exp() * (y - centre).powi(power)).sum()
}

#[test]
fn every_density_integrates_to_one() {
    for e in EXAMPLES.iter() {
        let total = moment(e, 0.0, 0);
        assert!((total - 1.0).abs() < 1e-8, "{} {:?}: {total}", e.family, e.parameters);
    }
}

#[test]
fn means_and_variances_are_those_of_the_density() {
    for e in EXAMPLES.iter() {
        let Some((mean, variance)) = family(e.family).mean_variance(e.parameters) else {
            let without = ["cauchy", "half_cauchy", "von_mises"].contains(&e.family);
            assert!(without || e.parameters[0] < 2.0, "{} {:?}", e.family, e.parameters);
            continue;
        };
        let first = moment(e, 0.0, 1);
        let second = moment(e, mean, 2);
        let error = (first - mean).abs() / variance.sqrt();
        assert!(error < 1e-7, "{} {:?}: mean {first}, not {mean}", e.family, e.parameters);
        let error = (second / variance - 1.0).abs();
        // The interval of 0.005 standard deviations has its uniform limit's variance.
        let allowed = if e.parameters.contains(&0.71) { 1e-5 } else { 1e-7 };
        assert!(error < allowed, "{} {:?}: {second}, not {variance}", e.family, e.parameters);
    }
}

#[test]
fn moments_that_do_not_exist_are_not_given() {
    for (name, parameters) in [
        ("student_t", &[2.0, 0.0, 1.0][..]),
        ("half_student_t", &[2.0, 1.0]),
        ("inverse_gamma", &[2.0, 1.0]),
        ("pareto", &[1.0, 2.0]),
        ("cauchy", &[0.0, 1.0]),
        ("half_cauchy", &[1.0]),
    ] {
        assert_eq!(family(name).mean_variance(parameters), None, "{name}");
    }
}

/// The density is the slope of the distribution function: in integrated form, between two outcomes.
#[test]
fn distribution_functions_are_integrals_of_the_density() {
    for e in EXAMPLES.iter() {
        let Some(cdf) = compile(e.family, Lcdf, 1) else { continue };
        let cdf_at = |y: f64| cdf.values(&[y], e.parameters)[0].exp();
        for pair in e.outcomes.windows(2) {
            let points = interval(pair[0], pair[1]);
            let outcomes: Vec<_> = points.iter().map(|p| p.0).collect();
            let compiled = compile(e.family, Lpdf, outcomes.len()).unwrap();
            let log_densities = compiled.values(&outcomes, e.parameters);
            let integral: f64 =
                points.iter().zip(log_densities).map(|((_, w), lp)| w * lp.exp()).sum();
            let difference = cdf_at(pair[1]) - cdf_at(pair[0]);
            // A Laplace has a kink between two of its outcomes, which costs the rule its digits.
            let allowed = if e.family == "laplace" { 1e-4 } else { 1e-10 };
            let error = (integral - difference).abs();
            assert!(error < allowed, "{} {pair:?}: {integral} {difference}", e.family);
        }
    }
}
