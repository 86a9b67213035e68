//! Symmetric eigenvectors: orthonormal, in the order of the eigenvalues, and with derivatives that
//! do not depend on their signs.

use exmc_graph::{Graph, Shape, Tensor};
use exmc_stan::library::{Argument, function};
use exmc_stan::typed::Type;

use crate::library::harness::{Known, Row, check_gradient, near, values};

/// A symmetric matrix of n rows with distinct eigenvalues.
fn symmetric(n: usize) -> Known {
    let value = |k: usize| {
        let (i, j) = (k / n, k % n);
        let (low, high) = (i.min(j) as f64, i.max(j) as f64);
        (1.3 * low + 0.7 * high * high).sin() + if i == j { 0.8 * low } else { 0.0 }
    };
    Known { ty: Type::Matrix, shape: Shape::from([n, n]), values: (0..n * n).map(value).collect() }
}

fn matrix(node: exmc_graph::NodeId) -> Argument {
    Argument { node, ty: Type::Matrix, batched: false }
}

#[test]
fn vectors_are_orthonormal_and_restore_the_matrix() {
    for n in [1, 2, 3, 6, 9, 40] {
        let known = symmetric(n);
        let mut g = Graph::new();
        let a = g.constant(Tensor::real(known.shape.clone(), known.values.clone()).unwrap());
        let lambda = function(&mut g, "eigenvalues_sym", &[matrix(a)]).unwrap().node;
        let v = function(&mut g, "eigenvectors_sym", &[matrix(a)]).unwrap().node;
        let turned = g.transpose(v);
        let product = g.matmul(turned, v);
        let scaled = g.mul(v, lambda);
        let again = g.matmul(scaled, turned);
        let found = values(&g, &[product, again, lambda], &[]);
        for k in 0..n * n {
            let one = f64::from(u8::from(k % (n + 1) == 0));
            assert!((found[0].values()[k] - one).abs() < 1e-13, "{n}: {:?}", found[0]);
            let (back, a) = (found[1].values()[k], known.values[k]);
            assert!(near(back, a, 1e-12), "{n}: {back} {a}");
        }
        assert!(found[2].values().is_sorted(), "{:?}", found[2]);
    }
}

/// $V f(\Lambda) V'$ is a smooth function of the matrix that no sign changes: here the exponential.
#[test]
fn gradients_of_a_matrix_function_are_those_of_differences() {
    let known = symmetric(4);
    let row = Row { name: "exponential".to_owned(), args: vec![known.clone()], value: known };
    check_gradient(&row, &|g, args| {
        // The decomposition reads both triangles; this makes them one.
        let turned = g.transpose(args[0].node);
        let sum = g.add(args[0].node, turned);
        let a = matrix(g.scale(sum, 0.5));
        let lambda = function(g, "eigenvalues_sym", std::slice::from_ref(&a))?;
        let v = function(g, "eigenvectors_sym", &[a])?;
        let powers = g.exp(lambda.node);
        let scaled = g.mul(v.node, powers);
        let turned = g.transpose(v.node);
        let node = g.matmul(scaled, turned);
        Ok(exmc_stan::library::Output { node, batched: false })
    });
}

/// Values of the product of a matrix with itself would only be right to the root of the rounding
/// error.
#[test]
fn singular_values_are_right_to_their_own_size() {
    let mut g = Graph::new();
    let a = Tensor::real([2, 2], vec![1e-7, 2e-7, 1.5, -3.0]).unwrap();
    let a = g.constant(a);
    let found = function(&mut g, "singular_values", &[matrix(a)]).unwrap().node;
    let found = values(&g, &[found], &[]).remove(0);
    let (large, small) = (found.values()[0], found.values()[1]);
    // Their product is the determinant, the sum of their squares that of the elements'.
    assert!(near(large * small, 6e-7, 1e-14), "{found:?}");
    assert!(near(large.hypot(small), (11.25_f64 + 5e-14).sqrt(), 1e-14), "{found:?}");
}
