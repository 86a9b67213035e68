//! Log densities and distribution functions against numbers computed with 60 digits.

use std::collections::{BTreeMap, BTreeSet};

use super::examples::EXAMPLES;
use super::harness::Quantity::{Lccdf, Lcdf, Lpdf};
use super::harness::{Quantity, compile, family};

struct Row {
    family: &'static str,
    quantity: Quantity,
    y: f64,
    parameters: Vec<f64>,
    value: f64,
    terms: f64,
}

fn rows() -> Vec<Row> {
    let number = |text: &str| text.parse::<f64>().unwrap();
    include_str!("../data/continuous.csv")
        .lines()
        .skip(1)
        .map(|line| {
            let [family, quantity, y, parameters, value, terms] =
                line.split(',').collect::<Vec<_>>()[..]
            else {
                panic!("six columns in {line}")
            };
            Row {
                family,
                quantity: match quantity {
                    "lpdf" => Lpdf,
                    "lcdf" => Lcdf,
                    "lccdf" => Lccdf,
                    other => panic!("no quantity {other}"),
                },
                y: number(y),
                parameters: parameters.split('|').filter(|p| !p.is_empty()).map(number).collect(),
                value: number(value),
                terms: number(terms),
            }
        })
        .collect()
}

/// How far the graph's value is from the table's, as a fraction of what is allowed.
fn error(row: &Row, found: f64) -> f64 {
    let allowed = match row.quantity {
        // Rounding is relative to the largest term of the sum.
        Lpdf => 1e-12 * row.value.abs().max(1.0) + 1e-14 * row.terms,
        // Also a probability next to 1 has a log with digits of its own, down to underflow.
        Lcdf | Lccdf => 1e-10 * row.value.abs() + 1e-300,
    };
    if found == row.value { 0.0 } else { (found - row.value).abs() / allowed }
}

#[test]
fn agree_with_the_table() {
    let mut worst: BTreeMap<String, (f64, String)> = BTreeMap::new();
    for row in rows() {
        let compiled = compile(row.family, row.quantity, 1).expect("it is in the table");
        let found = compiled.values(&[row.y], &row.parameters)[0];
        let error = error(&row, found);
        let key = format!("{} {:?}", row.family, row.quantity);
        let what = format!(
            "y = {:e}, parameters {:?}: {found:e}, should be {:e}",
            row.y, row.parameters, row.value
        );
        let slot = worst.entry(key).or_insert((0.0, String::new()));
        if error.is_nan() || error > slot.0 {
            *slot = (if error.is_nan() { f64::INFINITY } else { error }, what);
        }
    }
    let mut failures = Vec::new();
    for (key, (error, what)) in worst {
        println!("{key}: {error:.1e} of the tolerance");
        if error > 1.0 {
            failures.push(format!("{key}: {error:.1e} times the tolerance at {what}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_family_has_twenty_rows_a_quantity() {
    let rows = rows();
    let families: BTreeSet<_> = EXAMPLES.iter().map(|e| e.family).collect();
    for name in families {
        let parameters = family(name).parameters().len();
        for quantity in [Lpdf, Lcdf, Lccdf] {
            let count = rows.iter().filter(|r| r.family == name && r.quantity == quantity).count();
            let exists = compile(name, quantity, 1).is_some();
            assert_eq!(exists, quantity == Lpdf || name != "von_mises", "{name} {quantity:?}");
            let enough = if exists { 20.min(16 + 4 * parameters) } else { 0 };
            assert!(count >= enough, "{name} {quantity:?}: {count}");
        }
    }
}

/// A batch is the same as its outcomes one by one, whatever the shapes of the parameters.
#[test]
fn batches_broadcast() {
    use exmc_graph::{Graph, Shape, Tensor, evaluate};
    for e in EXAMPLES.iter().filter(|e| !e.parameters.is_empty()) {
        let f = family(e.family);
        let mut g = Graph::new();
        let y = Tensor::real([e.outcomes.len(), 1], e.outcomes.to_vec()).unwrap();
        let y = g.constant(y);
        // Parameters along the second axis: the same ones twice.
        let args: Vec<_> =
            e.parameters.iter().map(|p| g.constant(Tensor::vector(&[*p, *p]))).collect();
        let nodes: Vec<_> =
            [Some(f.lpdf(&mut g, y, &args)), f.lcdf(&mut g, y, &args), f.lccdf(&mut g, y, &args)]
                .into_iter()
                .flatten()
                .collect();
        let quantities = [Lpdf, Lcdf, Lccdf];
        for (found, quantity) in evaluate(&g, &nodes, &|_| None).unwrap().iter().zip(quantities) {
            assert_eq!(*found.shape(), Shape::from([e.outcomes.len(), 2]), "{}", e.family);
            for (k, y) in e.outcomes.iter().enumerate() {
                let one = compile(e.family, quantity, 1).unwrap().values(&[*y], e.parameters)[0];
                assert_eq!(found.values()[2 * k..2 * k + 2], [one, one], "{}", e.family);
            }
        }
    }
}
