//! Every function of `golden.txt` (made by `golden.py`): value, gradient, lanes.

use exmc_graph::{Graph, Shape, Tensor, differentiate};
use exmc_stan::library::function;

use crate::harness::{Known, Row, arguments, check_lanes, near, rows, tensors, values};

fn table() -> Vec<Row> {
    rows(include_str!("golden.txt"))
}

#[test]
fn values_are_those_of_numpy_and_scipy() {
    for row in table() {
        let mut g = Graph::new();
        let args = arguments(&mut g, &row.args, &|_| false, 0);
        let output = function(&mut g, &row.name, &args)
            .unwrap_or_else(|error| panic!("{}: {error}", row.name));
        let value = values(&g, &[output.node], &tensors(&row.args)).remove(0);
        assert_eq!(*value.shape(), row.value.shape, "{}", row.name);
        for (found, wanted) in value.values().iter().zip(&row.value.values) {
            // SciPy's own special functions are good to about 1e-13.
            assert!(near(*found, *wanted, 1e-11), "{}: {found} {wanted}", row.name);
        }
    }
}

/// Irregular weights, so that no error cancels in the sum.
fn weights(len: usize) -> Vec<f64> {
    (0..len).map(|k| ((k as f64 + 1.0) * 12.9898).sin() + 0.2).collect()
}

#[test]
fn gradients_are_those_of_differences() {
    for row in table() {
        let mut g = Graph::new();
        let args = arguments(&mut g, &row.args, &|_| false, 0);
        let output = function(&mut g, &row.name, &args).unwrap();
        let shape = g.shape(output.node).clone();
        let w = g.constant(Tensor::real(shape.clone(), weights(shape.len())).unwrap());
        let product = g.mul(w, output.node);
        let scalar = g.sum(product);
        let real: Vec<usize> = (0..args.len()).filter(|k| !row.args[*k].is_int()).collect();
        if real.is_empty() {
            continue;
        }
        let wrt: Vec<_> = real.iter().map(|k| args[*k].node).collect();
        let gradient = differentiate(&mut g, scalar, &wrt).unwrap();
        let at = tensors(&row.args);
        let found = values(&g, &gradient, &at);
        let f = |parameters: &[Tensor]| {
            values(&g, &[scalar], parameters).remove(0).as_scalar().unwrap()
        };
        for (&k, found) in real.iter().zip(&found) {
            for element in 0..row.args[k].values.len() {
                let moved = |by: f64| {
                    let mut parameters = at.clone();
                    let mut changed = row.args[k].values.clone();
                    changed[element] += by;
                    parameters[k] = Tensor::real(row.args[k].shape.clone(), changed).unwrap();
                    f(&parameters)
                };
                let h = 1e-3;
                let difference = (moved(-2.0 * h) - 8.0 * moved(-h) + 8.0 * moved(h)
                    - moved(2.0 * h))
                    / (12.0 * h);
                let derivative = found.values()[element];
                // The difference's own error is about h^4 of the fifth derivative.
                assert!(
                    near(derivative, difference, 2e-7),
                    "{}, argument {k}, element {element}: {derivative} {difference}",
                    row.name
                );
            }
        }
    }
}

/// What does not take lanes in some argument: the caller calls it once a lane.
const ONE_LANE_AT_A_TIME: &[&str] = &[
    "hmm_marginal",
    "log_determinant",
    "determinant",
    "inverse",
    "mdivide_left",
    "mdivide_right",
    "divide",
];

#[test]
fn lanes_are_single_calls_stacked() {
    for row in table() {
        let vary = |lane: usize| -> Vec<Known> {
            let factor = 1.0 + 0.01 * lane as f64;
            let scaled = |arg: &Known| Known {
                values: arg.values.iter().map(|v| v * factor).collect(),
                ..arg.clone()
            };
            row.args.iter().map(|a| if a.is_int() { a.clone() } else { scaled(a) }).collect()
        };
        let make: crate::harness::Make<'_> = &|g, args| function(g, &row.name, args);
        let made = check_lanes(&row.name, &row.args, &vary, make, 1e-12);
        let real = row.args.iter().filter(|a| !a.is_int()).count();
        let expected = (1 << real) - 1;
        if !ONE_LANE_AT_A_TIME.contains(&row.name.as_str()) {
            assert_eq!(made, expected, "{} does not take lanes everywhere", row.name);
        }
    }
}

#[test]
fn mistakes_are_told() {
    let mut g = Graph::new();
    let known = |shape: Shape, ty| {
        let values = vec![1.0; shape.len()];
        Known { ty, shape, values }
    };
    let vector = known(Shape::from([3]), exmc_stan::typed::Type::Vector);
    let matrix = known(Shape::from([2, 2]), exmc_stan::typed::Type::Matrix);
    let mut number = known(Shape::scalar(), exmc_stan::typed::Type::Int);
    number.values[0] = 4.0;
    let mut told = |name: &str, args: &[Known]| {
        let args = arguments(&mut g, args, &|k| k > 9, 1);
        // Inputs of other shapes go by other names in a real program; here a new graph does.
        function(&mut g, name, &args).unwrap_err().to_string()
    };
    assert_eq!(
        told("head", &[vector.clone(), number.clone()]),
        "element 4 is asked for where there are 3"
    );
    assert_eq!(
        told("nothing", std::slice::from_ref(&vector)),
        "the function `nothing` is not available for parameters yet"
    );
    let mut g = Graph::new();
    let args = arguments(&mut g, &[matrix, vector], &|_| false, 0);
    let error = function(&mut g, "multiply", &args).unwrap_err().to_string();
    assert_eq!(error, "sizes [2, 2] and [3] do not multiply");
}
