//! Every row of `golden_special.txt` (made by `golden_special.py`): value and slopes, on graphs and
//! on values; edges.

use exmc_graph::{Graph, Shape, Tensor, differentiate};
use exmc_model::KnownSupports;
use exmc_stan::library::{density, function};

use crate::library::harness::{Make, Row, arguments, near, rows, tensors, values};

fn table() -> Vec<(Row, Vec<f64>)> {
    let split = |line: &str| {
        let (row, slopes) = line.rsplit_once('|').expect("slopes are the last column");
        let slopes = slopes.split_whitespace().map(|x| x.parse().unwrap()).collect();
        (rows(row).remove(0), slopes)
    };
    include_str!("golden_special.txt").lines().map(split).collect()
}

/// How far a value may be from the oracle's, relative to the larger one (absolutely below one).
fn tolerance(name: &str) -> f64 {
    match name {
        // Sums over the points of rules in time, and the oracle's own quadrature.
        _ if name.starts_with("wiener") => 1e-9,
        _ if name.starts_with("von_mises") => 1e-12,
        // Alternating series lose some digits.
        _ if name.starts_with("hypergeometric") => 1e-11,
        _ => 1e-12,
    }
}

#[test]
fn values_and_slopes_are_those_of_mpmath() {
    let mut wrong = Vec::new();
    for (row, slopes) in table() {
        let is_density = row.name.contains("cdf") || row.name.ends_with("_lpdf");
        let make: Make<'_> = if is_density {
            &|g, args| {
                let found = density(g, &mut KnownSupports::default(), &row.name, args)?;
                Ok(found.number(g))
            }
        } else {
            &|g, args| function(g, &row.name, args)
        };
        let mut g = Graph::new();
        let args = arguments(&mut g, &row.args, &|_| false, 0);
        let output = make(&mut g, &args).unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let real: Vec<_> =
            args.iter().zip(&row.args).filter(|(_, k)| !k.is_int()).map(|(a, _)| a.node).collect();
        let gradient = differentiate(&mut g, output.node, &real).unwrap();
        let nodes: Vec<_> = std::iter::once(output.node).chain(gradient).collect();
        let all = values(&g, &nodes, &tensors(&row.args));
        let wanted = std::iter::once(row.value.values[0]).chain(slopes);
        let found: Vec<f64> = all.iter().flat_map(|t| t.values().to_vec()).collect();
        let allowed = tolerance(&row.name);
        // Slopes are as good as what they are made of: the logarithm's of small tails lose a digit
        // or two.
        for (k, (a, b)) in found.iter().zip(wanted).enumerate() {
            let allowed = if k == 0 { allowed } else { 100.0 * allowed };
            if !near(*a, b, allowed) {
                wrong.push(format!(
                    "{} {:?} [{k}]: {a}, not {b}",
                    row.name,
                    row.args.iter().map(|a| &a.values).collect::<Vec<_>>()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Values at the ends of where functions are defined.
#[test]
fn edges() {
    let inf = f64::INFINITY;
    let cases: &[(&str, &[f64], f64)] = &[
        ("lambert_w0", &[0.0], 0.0),
        ("lambert_w0", &[inf], inf),
        ("lambert_w0", &[-0.5], f64::NAN),
        ("lambert_wm1", &[0.0], -inf),
        ("lambert_wm1", &[0.1], f64::NAN),
        ("inv_inc_beta", &[2.0, 3.0, 0.0], 0.0),
        ("inv_inc_beta", &[2.0, 3.0, 1.0], 1.0),
        ("student_t_qf", &[0.0, 3.0, 1.0, 2.0], -inf),
        ("student_t_qf", &[0.5, 3.0, 1.0, 2.0], 1.0),
        ("hypergeometric_1F0", &[2.0, 0.0], 1.0),
        ("hypergeometric_2F1", &[2.0, 3.0, 1.5, 0.0], 1.0),
        // The series does not converge there.
        ("hypergeometric_2F1", &[2.0, 3.0, 1.5, 1.5], f64::NAN),
        ("von_mises_lcdf", &[-4.0, 0.0, 1.0], f64::NAN),
        ("von_mises_lcdf", &[std::f64::consts::PI, 0.6, 1.0], 0.0),
        ("von_mises_lccdf", &[-std::f64::consts::PI, 0.6, 1.0], 0.0),
    ];
    for (name, args, wanted) in cases {
        let known: Vec<_> = args.iter().map(|x| format!("real[] {x:?}")).collect();
        let row = rows(&format!("{name} | {} | value[] 0", known.join("; "))).remove(0);
        let mut g = Graph::new();
        let nodes = arguments(&mut g, &row.args, &|_| false, 0);
        let output = if name.contains("cdf") {
            density(&mut g, &mut KnownSupports::default(), name, &nodes).unwrap().number(&mut g)
        } else {
            function(&mut g, name, &nodes).unwrap()
        };
        let found = values(&g, &[output.node], &tensors(&row.args))[0].as_scalar().unwrap();
        let same = found.is_nan() && wanted.is_nan() || near(found, *wanted, 1e-14);
        assert!(same, "{name}{args:?}: {found}, not {wanted}");
    }
}

/// One value for each order of an array.
#[test]
fn orders_may_differ() {
    let x = [0.7, 2.5, 3.0, 0.1];
    let row = rows("bessel | ints[4] 2 0 2 1; vector[4] 0.7 2.5 3.0 0.1 | value[] 0").remove(0);
    for name in ["bessel_first_kind", "modified_bessel_first_kind", "modified_bessel_second_kind"] {
        let mut g = Graph::new();
        let args = arguments(&mut g, &row.args, &|_| false, 0);
        let together = function(&mut g, name, &args).unwrap();
        let together = values(&g, &[together.node], &tensors(&row.args)).remove(0);
        for (k, order) in [2, 0, 2, 1].into_iter().enumerate() {
            let single =
                rows(&format!("x | int[] {order}; real[] {:?} | value[] 0", x[k])).remove(0);
            let mut g = Graph::new();
            let args = arguments(&mut g, &single.args, &|_| false, 0);
            let alone = function(&mut g, name, &args).unwrap();
            let inputs = [Tensor::scalar(0.0), Tensor::real(Shape::scalar(), vec![x[k]]).unwrap()];
            let alone = values(&g, &[alone.node], &inputs)[0].as_scalar().unwrap();
            assert!(near(together.values()[k], alone, 1e-14), "{name} {k}");
        }
    }
}
