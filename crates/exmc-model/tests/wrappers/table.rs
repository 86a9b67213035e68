//! Values and gradients of the 50-digit table.

use super::harness::{Known, golden, is_discrete, observed};

struct Row<'a> {
    dist: &'a str,
    known: Known,
    y: f64,
    value: f64,
}

fn rows() -> Vec<Row<'static>> {
    let rows = include_str!("../data/wrappers.csv").lines().skip(1);
    rows.map(|line| {
        let cells: Vec<_> = line.split(';').collect();
        let [dist, known, y, value] = cells[..] else { panic!("{line}") };
        let known = Known::from_text(known);
        Row { dist, known, y: y.parse().unwrap(), value: value.parse().unwrap() }
    })
    .collect()
}

/// Relative to the value, or absolutely where it is below one. Log probabilities of the families
/// are held to 1e-10 of their value by their own tests, and a truncated density is a difference of
/// two.
const TOLERANCE: f64 = 1e-11;

#[test]
fn values() {
    let mut failures = Vec::new();
    let mut worst = 0.0_f64;
    for Row { dist, known, y, value } in rows() {
        let point = observed(dist, known, y);
        let found = point.term("obs").unwrap();
        let error = if found == value { 0.0 } else { (found - value).abs() / value.abs().max(1.0) };
        worst = worst.max(error);
        if error.is_nan() || error > TOLERANCE || !point.data_are_good() {
            failures.push(format!("{dist} {known:?} {y}: {found}, expected {value}"));
        }
    }
    println!("largest error {worst:e}");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn gradients() {
    let (mut compared, mut all) = (0, 0);
    for Row { dist, known, y, .. } in rows() {
        let what = format!("{dist} {known:?} {y}");
        let point = observed(dist, known, y);
        compared += point.check_gradient("p", &what);
        all += point.values["p"].shape().len();
        // At the limit of a support, or one at which outcomes pile up, there is no slope.
        let at_limit = dist.starts_with("censored") || (y == 0.0 && !dist.contains("normal"));
        if !is_discrete(dist) && !at_limit && y.is_finite() {
            compared += point.check_gradient("seen", &what);
            all += 1;
        }
    }
    // Steps over a limit have no difference.
    println!("{compared} of {all} compared");
    assert!(10 * compared > 9 * all, "only {compared} of {all} elements were compared");
}

#[test]
fn specification() {
    for (dist, known, y, value) in [
        ("mixture([0.3, 0.7], normal(0.0, 1.0), normal(2.0, 0.5))", Known::Exactly, 1.0, -1.909337),
        ("truncated(normal(0.0, 1.0), 8.0, None)", Known::Exactly, 9.0, -6.405501),
        ("truncated(normal(0.0, 1.0), -1, 1)", Known::Exactly, 0.0, -0.537223),
        ("normal(0.0, 1.0)", Known::Right, 2.5, -5.081648),
        ("normal(0.0, 1.0)", Known::Left, 2.5, -0.006229),
        ("normal(0.0, 1.0)", Known::To(0.5), -1.0, -0.629596),
        ("normal(0.0, 1.0)", Known::Right, 10.0, -53.231285),
        ("normal(0.0, 1.0)", Known::Right, 40.0, -804.608442),
        ("weibull(1.5, 2.0)", Known::Right, 3.0, -1.837117),
        ("weibull(1.5, 2.0)", Known::Exactly, 3.0, -1.922067),
    ] {
        golden(observed(dist, known, y).term("obs").unwrap(), value);
    }
}
