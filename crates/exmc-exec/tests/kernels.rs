//! Operations over whole arrays: the native executor against the reference, at every size and
//! level.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, FunctionSource, compile, compile_function};
use exmc_graph::{Decomposition, Dependence, Graph, NodeId, Op, Reduction, Role, Shape, Tensor};
use exmc_math::simd::Level;

use crate::support::random::Random;

/// Sizes below, at and above those of vectors and of unrolled kernels.
const SIZES: [usize; 22] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 33, 64];

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| if v.is_nan() { f64::NAN.to_bits() } else { v.to_bits() }).collect()
}

/// An operation of one array that depends on parameters.
type Build<'a> = &'a dyn Fn(&mut Graph, NodeId) -> NodeId;

fn parameter(g: &mut Graph, shape: &Shape) -> NodeId {
    g.input("x", Role::Parameter, shape.clone(), exmc_graph::DType::Real).unwrap()
}

/// Values and gradient of a weighted sum of an operation's bounded results, at random positions.
fn check(name: &str, shape: &[usize], tolerance: f64, build: Build<'_>) {
    let shape = Shape::from(shape);
    let mut random = Random::new(shape.len() as u64 + 1);
    let mut graph = Graph::new();
    let x = parameter(&mut graph, &shape);
    let y = build(&mut graph, x);
    assert_eq!(graph.dependence(y), Dependence::Parameter);
    let bounded = graph.tanh(y);
    let weights = random.tensor(&graph.shape(y).clone());
    let weights = graph.constant(weights);
    let terms = graph.mul(weights, bounded);
    let logp = graph.sum(terms);
    let dim = shape.len();
    let source = DensitySource { graph, logp, parameters: vec![(x, 0)], dim };
    let position = random.tensor(&shape).values().to_vec();
    let run = |executor, level: Option<Level>| {
        let mut bound = compile(executor, &source).unwrap().bind(&|_| None).unwrap();
        if let Some(level) = level {
            bound = bound.at_level(level);
        }
        let mut found = vec![0.0; dim + 1];
        found[0] = bound.instance().logp_grad(&position, &mut found[1..]).unwrap();
        found
    };
    let expected = run(Executor::Reference, None);
    let size = expected.iter().fold(1.0, |size: f64, v| size.max(v.abs()));
    let mut first: Option<Vec<f64>> = None;
    for level in Level::available() {
        let found = run(Executor::Native, Some(level));
        let best = first.get_or_insert_with(|| found.clone());
        assert_eq!(bits(best), bits(&found), "{name} of {shape} at {}", level.name());
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let error = (found - expected).abs() / size;
            assert!(error < tolerance, "{name} of {shape}, {k}: {found}, expected {expected}");
        }
    }
}

/// Values alone, where they may be infinite or NaN: the same as the reference's to `tolerance`.
fn check_values(name: &str, shape: &[usize], values: &[f64], tolerance: f64, build: Build<'_>) {
    let shape = Shape::from(shape);
    let mut graph = Graph::new();
    let x = parameter(&mut graph, &shape);
    let y = build(&mut graph, x);
    let size = graph.shape(y).len();
    let source =
        FunctionSource { graph, outputs: vec![y], parameters: vec![(x, 0)], dim: values.len() };
    let run = |executor, level: Option<Level>| {
        let mut bound = compile_function(executor, &source).unwrap().bind(&|_| None).unwrap();
        if let Some(level) = level {
            bound = bound.at_level(level);
        }
        let mut found = vec![0.0; size];
        bound.instance().evaluate(values, &mut found).unwrap();
        found
    };
    let expected = run(Executor::Reference, None);
    for level in Level::available() {
        let found = run(Executor::Native, Some(level));
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let same = found == expected || (found.is_nan() && expected.is_nan());
            let error = (found - expected).abs() / expected.abs().max(1.0);
            let level = level.name();
            assert!(
                same || error < tolerance,
                "{name} of {values:?} at {level}, {k}: {found}, expected {expected}"
            );
        }
    }
}

#[test]
fn reductions_over_every_axis() {
    for reduction in Reduction::ALL {
        for &n in &SIZES {
            for (shape, axes) in [
                (vec![n], vec![0]),
                (vec![n, 2], vec![1]),
                (vec![n, 3], vec![0]),
                (vec![2, n], vec![1]),
                (vec![17, n], vec![0]),
                (vec![n, 20], vec![1]),
                (vec![3, n, 2], vec![1]),
                (vec![2, n, 9], vec![1]),
                (vec![2, n, 3], vec![0, 2]),
                (vec![2, n, 3], vec![0, 1, 2]),
                (vec![40, n], vec![0, 1]),
            ] {
                // Sums of up to 2560 terms of size one, in another order.
                check(reduction.name(), &shape, 1e-14, &|g, x| {
                    g.apply(Op::Reduce(*reduction, axes.clone()), &[x]).unwrap()
                });
            }
        }
    }
}

/// The parts that a mixture has: columns joined along a last axis, with weights, and shares of the
/// sum.
#[test]
fn mixtures_of_columns() {
    for components in [2, 3, 5, 16, 17] {
        for n in [1, 2, 7, 8, 33, 600] {
            check("mixture", &[n + 2 * components], 1e-14, &|g, x| {
                let (mut columns, seen) = (Vec::new(), g.slice(x, 0, 0, n));
                for k in 0..components {
                    let mean = g.slice(x, 0, n + k, n + k + 1);
                    let residual = g.sub(seen, mean);
                    let square = g.square(residual);
                    let term = g.scale(square, -3.0);
                    columns.push(g.reshape(term, [n, 1]));
                }
                let weights = g.slice(x, 0, n + components, n + 2 * components);
                let table = g.concat(&columns, 1);
                let joint = g.add(weights, table);
                g.log_sum_exp(joint, 1)
            });
        }
    }
}

#[test]
fn reductions_keep_infinities_and_nan() {
    let edges = [f64::NEG_INFINITY, f64::INFINITY, f64::NAN, 0.0, -0.0, 700.0, -800.0, 1e300];
    for reduction in Reduction::ALL {
        for a in edges {
            for b in edges {
                for width in [2, 3, 5, 24] {
                    let mut values = vec![-1.5; 4 * width];
                    values[1] = a;
                    values[0] = b;
                    values[width..width + 2].copy_from_slice(&[a, b]);
                    values[2 * width..3 * width].fill(a);
                    for (shape, axis) in [(vec![4, width], 1), (vec![width, 4], 0)] {
                        let build: Build<'_> =
                            &|g, x| g.apply(Op::Reduce(*reduction, vec![axis]), &[x]).unwrap();
                        check_values(reduction.name(), &shape, &values, 1e-15, build);
                    }
                    let build: Build<'_> =
                        &|g, x| g.apply(Op::Reduce(*reduction, vec![0]), &[x]).unwrap();
                    check_values(reduction.name(), &[4 * width], &values, 1e-15, build);
                }
            }
        }
    }
}

#[test]
fn running_sums_and_joined_pieces() {
    for &n in &SIZES {
        for reverse in [false, true] {
            for (shape, axis) in [(vec![n], 0), (vec![n, 3], 0), (vec![3, n], 1), (vec![n, 9], 0)] {
                check("running sum", &shape, 1e-14, &|g, x| {
                    g.apply(Op::CumSum { axis, reverse }, &[x]).unwrap()
                });
            }
        }
        for pieces in [2, 9, 30] {
            for (shape, axis) in [(vec![n], 0), (vec![3, n], 0), (vec![3, n], 1)] {
                check("pieces", &shape, 1e-14, &|g, x| {
                    let parts: Vec<NodeId> =
                        (0..pieces).map(|k| g.scale(x, f64::from(k) * 0.1)).collect();
                    g.concat(&parts, axis)
                });
            }
        }
    }
}

/// A well-conditioned positive definite matrix made of a square one.
fn definite(g: &mut Graph, x: NodeId) -> NodeId {
    let n = g.shape(x).extents()[0];
    let transposed = g.transpose(x);
    let square = g.matmul(x, transposed);
    let square = g.scale(square, 1.0 / n as f64);
    let identity: Vec<f64> = (0..n * n).map(|k| f64::from(u8::from(k / n == k % n))).collect();
    let identity = g.constant(Tensor::real([n, n], identity).unwrap());
    g.add(square, identity)
}

#[test]
fn products_of_matrices() {
    for &n in &SIZES {
        for (m, k) in [(1, 3), (2, 2), (5, 9), (16, 8)] {
            check("product", &[m * n + n * k], 1e-13, &|g, x| {
                let (a, b) = (g.slice(x, 0, 0, m * n), g.slice(x, 0, m * n, m * n + n * k));
                let (a, b) = (g.reshape(a, [m, n]), g.reshape(b, [n, k]));
                g.matmul(a, b)
            });
        }
        check("product with a vector", &[n * n + n], 1e-13, &|g, x| {
            let (a, b) = (g.slice(x, 0, 0, n * n), g.slice(x, 0, n * n, n * n + n));
            let a = g.reshape(a, [n, n]);
            g.matmul(a, b)
        });
    }
}

/// One column or one row, and columns in every group that the transpose takes; one block of rows,
/// and several with a rest.
#[test]
fn products_of_a_known_matrix_and_a_vector() {
    for columns in 1..=15 {
        for rows in [1, 2, 9, 70, 300, 771] {
            for [m, k] in [[rows, columns], [columns, rows]] {
                let number = |j: usize| (j as f64 * 0.618_033_988_749_894_9).fract() - 0.5;
                let numbers: Vec<f64> = (0..m * k).map(number).collect();
                let matrix = Tensor::real([m, k], numbers).unwrap();
                check("product", &[k], 1e-13, &|g, x| {
                    let matrix = g.constant(matrix.clone());
                    g.matmul(matrix, x)
                });
            }
        }
    }
}

#[test]
fn factors_and_solutions() {
    for &n in &SIZES {
        // Condition numbers below 10, a hundred or two operations deep.
        check("cholesky", &[n, n], 1e-13, &|g, x| {
            let a = definite(g, x);
            g.cholesky(a)
        });
        // A lower triangle with pivots of 3 and more, and an adjoint that is no triangle.
        check("adjoint of a factor", &[n, n], 1e-13, &|g, x| {
            let unit: Vec<f64> =
                (0..n * n).map(|k| f64::from(u8::from(k % (n + 1) == 0))).collect();
            let unit = g.constant(Tensor::real([n, n], unit).expect("n times n elements"));
            let pivots = g.scale(unit, 3.0 + n as f64);
            let factor = g.add(x, pivots);
            let adjoint = g.scale(x, 0.5);
            g.apply(Op::CholeskyAdjoint, &[factor, adjoint]).expect("squares")
        });
        for transposed in [false, true] {
            check("triangular solve", &[n, n], 1e-13, &|g, x| {
                let a = definite(g, x);
                let factor = g.cholesky(a);
                g.triangular_solve(factor, x, transposed)
            });
            check("triangular solve of a vector", &[n, n], 1e-13, &|g, x| {
                let a = definite(g, x);
                let factor = g.cholesky(a);
                let row = g.slice(x, 0, 0, 1);
                let row = g.reshape(row, [n]);
                g.triangular_solve(factor, row, transposed)
            });
        }
        check("solution", &[n, n], 1e-13, &|g, x| {
            let a = definite(g, x);
            g.solve(a, x)
        });
        check("determinant", &[n, n], 1e-13, &|g, x| {
            let a = definite(g, x);
            let log = g.log_abs_det(a);
            g.scale(log, 0.1)
        });
    }
}

#[test]
fn what_has_no_factor_is_as_in_the_reference() {
    for n in [1, 2, 5, 8, 12, 13, 20] {
        for (index, value) in [(0, -1.0), (n - 1, 0.0), (n / 2, f64::NAN), (n / 2, f64::INFINITY)] {
            let mut values = vec![0.0; n * n];
            for k in 0..n {
                values[k * n + k] = 2.0;
            }
            values[index * n + index] = value;
            check_values("cholesky", &[n, n], &values, 1e-15, &|g, x| g.cholesky(x));
            check_values("solve", &[n, n], &values, 1e-15, &|g, x| {
                let b = g.filled(&Shape::from([n]), 1.0);
                g.triangular_solve(x, b, false)
            });
            check_values("determinant", &[n, n], &values, 1e-15, &|g, x| g.log_abs_det(x));
        }
        // Only the lower triangle is read.
        let mut values = vec![f64::NAN; n * n];
        for i in 0..n {
            for j in 0..=i {
                values[i * n + j] = if i == j { 3.0 } else { 0.1 };
            }
        }
        check_values("cholesky", &[n, n], &values, 1e-14, &|g, x| g.cholesky(x));
    }
}

/// What lies behind the parts that are read is memory of the kernel, which may differ.
#[test]
fn decompositions_and_transforms() {
    for &kind in Decomposition::ALL {
        let (shape, used): (&[usize], usize) = match kind {
            Decomposition::Schur => (&[3, 3, 2], 42),
            Decomposition::Eigen | Decomposition::HermitianEigen => (&[3, 3, 2], 24),
            Decomposition::Singular => (&[4, 2, 2], 26),
            Decomposition::PseudoInverse => (&[4, 2], 8),
            Decomposition::Fourier | Decomposition::InverseFourier => (&[5, 2, 2], 20),
        };
        check(kind.name(), shape, 1e-11, &|g, x| {
            let found = g.apply(Op::Decompose(kind), &[x]).unwrap();
            g.slice(found, 0, 0, used)
        });
    }
}
