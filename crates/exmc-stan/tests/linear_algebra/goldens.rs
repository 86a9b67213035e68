//! Rows of `golden.txt` (NumPy's values, `golden.py`): the host's values, the graphs' values and
//! derivatives.

use exmc_stan::typed::Type;
use exmc_stan::value::Value;

use super::support::{numbers, on_graph, on_host, slopes, value};

fn read(text: &str) -> (Type, Value) {
    let (head, list) = text.trim().split_once(']').unwrap();
    let (kind, extents) = head.split_once('[').unwrap();
    let shape: Vec<usize> =
        extents.split(',').filter(|e| !e.is_empty()).map(|e| e.parse().unwrap()).collect();
    let ty = match kind {
        "int" => Type::Int,
        "ints" => Type::Int.array(1),
        "real" => Type::Real,
        "reals" => Type::Real.array(1),
        "complex" => Type::Complex,
        "complexes" => Type::Complex.array(1),
        "vector" => Type::Vector,
        "matrix" => Type::Matrix,
        "complex_vector" => Type::ComplexVector,
        "complex_row_vector" => Type::ComplexRowVector,
        "complex_matrix" => Type::ComplexMatrix,
        other => panic!("kind {other}"),
    };
    let list: Vec<f64> = list.split_whitespace().map(|x| x.parse().unwrap()).collect();
    let value = value(&ty, &shape, list);
    (ty, value)
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| (x - y).abs() / (1.0 + y.abs())).fold(0.0, f64::max)
}

#[test]
fn values_and_derivatives_are_numpys() {
    let mut wrong = Vec::new();
    for line in include_str!("golden.txt").lines() {
        let parts: Vec<&str> = line.split(" | ").collect();
        let &[name, args, expected, weights, derivatives] = parts.as_slice() else {
            panic!("{line}")
        };
        let args: Vec<(Type, Value)> = args.split(';').map(read).collect();
        let (returns, expected) = read(expected);
        let expected = numbers(&expected);
        let (weights, derivatives) = (numbers(&read(weights).1), numbers(&read(derivatives).1));
        let host = numbers(&on_host(name, &args, &returns).unwrap());
        let graph = on_graph(name, &args).unwrap();
        // Conditions of the matrices are below a hundred.
        let (host, graph) = (apart(&host, &expected), apart(&graph, &expected));
        let mut off =
            (host > 1e-12 || graph > 1e-12).then(|| format!("host {host}, graph {graph}"));
        if !derivatives.is_empty() {
            let (_, slopes) = slopes(name, &args, &weights);
            // Sixth-order differences of step 2e-3: 1e-12 of rounding over the step, and the
            // condition.
            let apart = apart(&slopes, &derivatives);
            if apart > 1e-8 {
                off = Some(format!("derivatives {apart}: {slopes:?}, {derivatives:?}"));
            }
        }
        wrong.extend(off.map(|off| format!("{name} {:?}: {off}", args[0].1.shape())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
