//! Values against the tables of 50-digit oracles, and the named numbers of the specification.

use std::collections::BTreeMap;
use std::f64::consts::LN_2;

use super::examples::EXAMPLES;
use super::harness::Quantity::{Lccdf, Lcdf, Lpdf};
use super::harness::{Quantity, lpdf_batch, value};

struct Row<'a> {
    family: &'a str,
    quantity: Quantity,
    outcome: Vec<f64>,
    parameters: Vec<Vec<f64>>,
    value: f64,
    terms: f64,
}

fn rows(table: &str) -> Vec<Row<'_>> {
    let numbers =
        |text: &str| -> Vec<f64> { text.split_whitespace().map(|v| v.parse().unwrap()).collect() };
    table
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<_> = line.split(',').collect();
            Row {
                family: cells[0],
                quantity: Quantity::from_name(cells[1]),
                outcome: numbers(cells[2]),
                parameters: cells[3].split('|').map(numbers).collect(),
                value: cells[4].parse().unwrap(),
                terms: cells[5].parse().unwrap(),
            }
        })
        .collect()
}

/// Log densities: 1e-12 of the value, or absolutely where the value is below one; where the formula
/// is a difference of larger terms, also five roundings of those. Tails: 1e-10 of the value also
/// where it is tiny, because a probability near one must keep what it lacks to one.
fn check(table: &str, wanted: usize) {
    let mut worst: BTreeMap<String, f64> = BTreeMap::new();
    let mut count: BTreeMap<&str, usize> = BTreeMap::new();
    let mut failures = Vec::new();
    for row in rows(table) {
        let parameters: Vec<&[f64]> = row.parameters.iter().map(Vec::as_slice).collect();
        let found = value(row.family, row.quantity, &row.outcome, &parameters);
        let tolerance = match row.quantity {
            Lpdf => 1e-12 * row.value.abs().max(1.0) + 5.0 * f64::EPSILON * row.terms,
            _ => 1e-10 * row.value.abs() + 1e-300,
        };
        let error = if found == row.value { 0.0 } else { (found - row.value).abs() / tolerance };
        let name = format!("{} {:?}", row.family, row.quantity);
        let entry = worst.entry(name).or_default();
        *entry = entry.max(error);
        if error.is_nan() || error > 1.0 {
            failures.push(format!(
                "{} {:?} of {:?} given {:?}: {found:e}, expected {:e}",
                row.family, row.quantity, row.outcome, row.parameters, row.value
            ));
        }
        if row.quantity == Lpdf {
            *count.entry(row.family).or_default() += 1;
        }
    }
    println!("largest error as a part of the tolerance: {worst:#?}");
    assert!(failures.is_empty(), "{} rows:\n{}", failures.len(), failures.join("\n"));
    for (family, rows) in count {
        assert!(rows >= wanted, "{family} has only {rows} rows");
        assert!(EXAMPLES.iter().any(|e| e.family == family), "{family} is not a family");
    }
}

#[test]
fn discrete_table() {
    check(include_str!("../data/discrete.csv"), 16);
}

#[test]
fn multivariate_table() {
    check(include_str!("../data/multivariate.csv"), 6);
}

#[track_caller]
fn golden(name: &str, y: &[f64], parameters: &[&[f64]], expected: f64) {
    // The specification gives six decimals.
    let found = value(name, Lpdf, y, parameters);
    assert!((found - expected).abs() < 6e-7, "{name}: {found}, expected {expected}");
}

#[test]
fn specification_bernoulli() {
    golden("bernoulli", &[1.0], &[&[0.7]], -0.356675);
    golden("bernoulli_logit", &[1.0], &[&[-40.0]], -40.0);
}

#[test]
fn specification_binomial() {
    golden("binomial", &[437.0], &[&[980.0], &[0.446]], -3.663956);
}

#[test]
fn specification_poisson() {
    golden("poisson", &[3.0], &[&[2.0]], -1.712318);
    golden("poisson", &[0.0], &[&[2.0]], -2.0);
}

#[test]
fn specification_negative_binomial() {
    golden("negative_binomial", &[4.0], &[&[3.0], &[2.0]], -2.266446);
}

#[test]
fn specification_multi_normal() {
    golden("multi_normal", &[0.0, 0.0], &[&[0.0, 0.0], &[1.0, 0.0, 0.0, 1.0]], -1.837877);
    golden("multi_normal", &[1.0, 2.0], &[&[0.0, 0.0], &[2.0, 0.5, 0.5, 1.0]], -4.117685);
}

#[test]
fn specification_dirichlet() {
    let third = 1.0 / 3.0;
    golden("dirichlet", &[third, third, third], &[&[1.0, 1.0, 1.0]], LN_2);
    golden("dirichlet", &[third, third, third], &[&[2.0, 2.0, 2.0]], 1.491655);
    golden("dirichlet", &[0.2, 0.3, 0.5], &[&[2.0, 3.0, 4.0]], 2.022871);
}

#[test]
fn specification_gaussian_random_walk() {
    golden("gaussian_random_walk", &[0.5, 1.0, 0.7], &[&[0.5], &[0.5], &[0.0]], -1.857374);
}

#[test]
fn large_dispersion_is_poisson() {
    // The difference of the log masses is ((y - mu)^2 - y) / (2 phi) to first order: 5.5e-12 at
    // most here.
    for y in [0.0, 3.0, 9.0] {
        let limit = value("poisson", Lpdf, &[y], &[&[4.0]]);
        let found = value("negative_binomial", Lpdf, &[y], &[&[4.0], &[1e12]]);
        assert!((found - limit).abs() < 1e-11, "{found} {limit}");
    }
}

#[test]
fn lkj_of_shape_one_is_flat_on_correlations() {
    // For two variables the correlation is uniform on (-1, 1); its Jacobian to the factor is one.
    for r in [-0.9_f64, 0.0, 0.3] {
        let factor = [1.0, 0.0, r, (1.0 - r * r).sqrt()];
        let found = value("lkj_corr_cholesky", Lpdf, &factor, &[&[1.0]]);
        assert!((found + 2.0_f64.ln()).abs() < 1e-14, "{found}");
    }
}

#[test]
fn tails_are_defined_on_the_whole_line() {
    for (name, parameters) in [
        ("bernoulli", &[&[0.3][..]][..]),
        ("bernoulli_logit", &[&[-0.7]]),
        ("binomial", &[&[12.0], &[0.3]]),
        ("binomial", &[&[0.0], &[0.3]]),
        ("binomial_logit", &[&[12.0], &[-0.7]]),
        ("poisson", &[&[6.5]]),
        ("poisson_log", &[&[1.3]]),
        ("negative_binomial", &[&[3.0], &[2.0]]),
    ] {
        for below in [f64::NEG_INFINITY, -1e300, -1.0, -1e-9] {
            assert_eq!(
                value(name, Lcdf, &[below], parameters),
                f64::NEG_INFINITY,
                "{name} {below}"
            );
            assert_eq!(value(name, Lccdf, &[below], parameters), 0.0, "{name} {below}");
        }
        assert_eq!(value(name, Lcdf, &[f64::INFINITY], parameters), 0.0, "{name}");
        assert_eq!(value(name, Lccdf, &[f64::INFINITY], parameters), f64::NEG_INFINITY, "{name}");
        for y in [0.0, 0.5, 1.0, 3.0, 7.9] {
            let low = value(name, Lcdf, &[y], parameters);
            let high = value(name, Lccdf, &[y], parameters);
            assert!((low.exp() + high.exp() - 1.0).abs() < 1e-13, "{name} {y}: {low} {high}");
        }
    }
}

#[test]
fn tails_add_up_the_masses() {
    for (name, parameters) in [
        ("binomial", &[&[12.0][..], &[0.3]][..]),
        ("binomial_logit", &[&[12.0], &[-0.7]]),
        ("poisson", &[&[6.5]]),
        ("poisson_log", &[&[1.3]]),
        ("negative_binomial", &[&[3.0], &[2.0]]),
        ("negative_binomial", &[&[3.0], &[1e10]]),
    ] {
        let outcomes: Vec<_> = (0..12).map(|k| vec![f64::from(k)]).collect();
        let mut sum = 0.0;
        for (y, mass) in outcomes.iter().zip(lpdf_batch(name, &outcomes, parameters)) {
            sum += mass.exp();
            let low = value(name, Lcdf, y, parameters);
            // The lower tail of a huge dispersion is good to about 1e-16 times the dispersion.
            let tolerance = if parameters[parameters.len() - 1][0] > 1e6 { 1e-5 } else { 1e-12 };
            assert!((low.exp() / sum - 1.0).abs() < tolerance, "{name} {y:?}: {} {sum}", low.exp());
        }
    }
}
