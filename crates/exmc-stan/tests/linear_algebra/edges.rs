//! Sizes zero and one, matrices that are not square, repeated values, too low a rank, what is not a
//! number: a value or an error, never a panic.

use exmc_stan::host::error::FaultKind;
use exmc_stan::typed::Type;
use exmc_stan::value::Value;

use super::support::{numbers, on_graph, on_host, slopes, value};

const SQUARE: &[&str] =
    &["eigenvalues", "eigenvectors", "complex_schur_decompose_t", "complex_schur_decompose_u"];
const ANY: &[&str] = &["singular_values", "svd_U", "svd_V", "generalized_inverse"];

fn matrix(rows: usize, columns: usize, values: &[f64]) -> Vec<(Type, Value)> {
    vec![(Type::Matrix, value(&Type::Matrix, &[rows, columns], values.to_vec()))]
}

fn returns(name: &str) -> Type {
    match name {
        "eigenvalues" => Type::ComplexVector,
        "singular_values" => Type::Vector,
        "svd_U" | "svd_V" | "generalized_inverse" => Type::Matrix,
        _ => Type::ComplexMatrix,
    }
}

#[test]
fn what_has_no_decomposition_is_an_error() {
    for name in SQUARE {
        for args in [matrix(2, 3, &[1.0; 6]), matrix(0, 0, &[])] {
            let fault = on_host(name, &args, &returns(name)).unwrap_err();
            assert_ne!(fault.kind, FaultKind::Unsupported, "{name}: {}", fault.message);
            assert!(on_graph(name, &args).is_err(), "{name}");
        }
    }
}

#[test]
fn matrices_without_elements_have_results_without_elements() {
    for name in ANY {
        for (rows, columns) in [(0, 0), (0, 2), (3, 0)] {
            let args = matrix(rows, columns, &[]);
            assert!(numbers(&on_host(name, &args, &returns(name)).unwrap()).is_empty());
            assert!(on_graph(name, &args).unwrap().is_empty());
        }
    }
    for (name, shape) in
        [("fft", &[0][..]), ("inv_fft", &[0]), ("fft2", &[0, 2]), ("inv_fft2", &[2, 0])]
    {
        let ty = if shape.len() == 1 { Type::ComplexVector } else { Type::ComplexMatrix };
        let args = vec![(ty.clone(), value(&ty, shape, Vec::new()))];
        assert!(numbers(&on_host(name, &args, &ty).unwrap()).is_empty(), "{name}");
    }
}

#[test]
fn what_is_not_a_number_spreads() {
    for name in SQUARE.iter().chain(ANY) {
        for bad in [f64::NAN, f64::INFINITY] {
            let args = matrix(2, 2, &[1.0, bad, 0.5, 2.0]);
            let found = on_graph(name, &args).unwrap();
            assert!(found.iter().all(|x| x.is_nan()), "{name}: {found:?}");
            assert!(
                numbers(&on_host(name, &args, &returns(name)).unwrap()).iter().all(|x| x.is_nan())
            );
        }
    }
}

/// The sum of the eigenvalues is the trace, that of the singular values of a multiple of the
/// identity has the derivative of a norm, whatever basis the equal values have.
#[test]
fn equal_values_leave_derivatives_finite() {
    let identity = matrix(3, 3, &[2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0]);
    let unit = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let (sum, slope) = slopes("eigenvalues", &identity, &[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!((sum, slope.as_slice()), (6.0, &unit[..]));
    let (sum, slope) = slopes("singular_values", &identity, &[1.0; 3]);
    assert_eq!((sum, slope.as_slice()), (6.0, &unit[..]));
    for name in ["eigenvectors", "complex_schur_decompose_u"] {
        let (_, slope) = slopes(name, &identity, &[0.3; 18]);
        assert!(slope.iter().all(|x| x.is_finite()), "{name}: {slope:?}");
    }
}

/// The values of a matrix without vectors enough are right all the same.
#[test]
fn too_few_vectors_are_no_fault() {
    let jordan = matrix(2, 2, &[1.0, 1.0, 0.0, 1.0]);
    let values = on_graph("eigenvalues", &jordan).unwrap();
    assert!(values.iter().zip([1.0, 0.0, 1.0, 0.0]).all(|(x, y)| (x - y).abs() < 1e-7));
    assert!(on_graph("eigenvectors", &jordan).unwrap().iter().all(|x| x.is_finite()));
}

/// Left vectors of values that are zero complete the basis, as in Eigen.
#[test]
fn vectors_of_too_low_a_rank_are_orthonormal() {
    let args = matrix(3, 2, &[1.0, 2.0, 2.0, 4.0, 3.0, 6.0]);
    let values = on_graph("singular_values", &args).unwrap();
    assert!((values[0] - 70.0f64.sqrt()).abs() < 1e-14 && values[1].abs() < 1e-14);
    for (name, rows) in [("svd_U", 3), ("svd_V", 2)] {
        let found = on_graph(name, &args).unwrap();
        for (j, k, inner) in [(0, 0, 1.0), (0, 1, 0.0), (1, 1, 1.0)] {
            let dot: f64 = (0..rows).map(|i| found[2 * i + j] * found[2 * i + k]).sum();
            assert!((dot - inner).abs() < 1e-14, "{name}");
        }
    }
}

/// Zeros that are there for all parameters are left out; those that parameters decide are refused,
/// with words.
#[test]
fn the_pattern_of_a_sparse_matrix_must_not_depend_on_parameters() {
    use exmc_graph::{DType, Graph, Role, Shape};
    use exmc_stan::library::{Argument, LibraryError, function};
    let mut g = Graph::new();
    let d = g.input("d", Role::Parameter, Shape::from([2]), DType::Real).unwrap();
    let vector = Argument { node: d, ty: Type::Vector, batched: false };
    let diagonal = function(&mut g, "diag_matrix", &[vector]).unwrap();
    let matrix = |node| [Argument { node, ty: Type::Matrix, batched: false }];
    let w = function(&mut g, "csr_extract_w", &matrix(diagonal.node)).unwrap();
    assert_eq!(g.shape(w.node).extents(), [2]);
    let zero = g.scalar(0.0);
    let positive = g.max(diagonal.node, zero);
    let refused = function(&mut g, "csr_extract_w", &matrix(positive)).unwrap_err();
    assert!(matches!(refused, LibraryError::Unsupported(_)), "{refused}");
}
