//! Every function of `golden.txt` and `golden_changes.txt` (made by the scripts of these names):
//! value, gradient, lanes.

use exmc_graph::{Graph, Shape};
use exmc_stan::library::function;

use crate::library::harness::{
    Known, Row, arguments, check_gradient, check_lanes, near, rows, scaled, tensors, values,
};

fn table() -> Vec<Row> {
    rows(concat!(include_str!("golden.txt"), include_str!("golden_changes.txt")))
}

#[test]
fn values_are_those_of_numpy_scipy_and_stan() {
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

#[test]
fn gradients_are_those_of_differences() {
    for row in table() {
        check_gradient(&row, &|g, args| function(g, &row.name, args));
    }
}

/// What does not take lanes in some argument: the caller calls it once a lane.
const ONE_LANE_AT_A_TIME: &[&str] = &[
    "hmm_marginal",
    "eigenvalues_sym",
    "qr_thin_Q",
    "qr_thin_R",
    "qr_Q",
    "qr_R",
    "singular_values",
    "svd_U",
    "svd_V",
    "sort_asc",
    "sort_desc",
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
        let vary = |lane: usize| scaled(&row.args, 1.0 + 0.01 * lane as f64);
        let make: crate::library::harness::Make<'_> = &|g, args| function(g, &row.name, args);
        let made = check_lanes(&row.name, &row.args, &vary, make, 1e-12);
        let real = row.args.iter().filter(|a| !a.is_int()).count();
        let expected = (1 << real) - 1;
        let of_matrices = ["cholesky_factor_", "corr_matrix_", "cov_matrix_"];
        let single = ONE_LANE_AT_A_TIME.contains(&row.name.as_str())
            || row.name.ends_with("_log_jacobian")
            || of_matrices.iter().any(|start| row.name.starts_with(start));
        if !single {
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
