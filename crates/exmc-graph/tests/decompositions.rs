//! `Op::Decompose`: each kind's derivative against differences, and its text.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_graph::{
    DType, Decomposition, Graph, Op, Role, Shape, Tensor, differentiate, evaluate, parse, print,
};

fn numbers(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed * 77 + 5;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count + 3).map(|_| next()).skip(3).collect()
}

/// Numbers of the result that mean something.
fn used(kind: Decomposition, shape: &[usize]) -> usize {
    let (n, m) = (shape[0], shape[1]);
    match kind {
        Decomposition::Schur => 4 * n * n + 2 * n,
        Decomposition::Eigen | Decomposition::HermitianEigen => 2 * n * n + 2 * n,
        Decomposition::Singular => n.min(m) * (1 + 2 * n + 2 * m),
        Decomposition::PseudoInverse => n * m,
        _ => 2 * n * m,
    }
}

#[test]
fn derivatives_are_those_of_the_values() {
    for &kind in Decomposition::ALL {
        let shapes: &[&[usize]] = match kind {
            Decomposition::Schur | Decomposition::Eigen | Decomposition::HermitianEigen => {
                &[&[1, 1, 2], &[3, 3, 2]]
            }
            Decomposition::PseudoInverse => &[&[3, 2], &[2, 4], &[3, 3]],
            _ => &[&[4, 2, 2], &[2, 3, 2]],
        };
        for &shape in shapes {
            let mut g = Graph::new();
            let x = g.input("x", Role::Parameter, Shape::from(shape), DType::Real).unwrap();
            // A Hermitian matrix is one of its lower triangle.
            let a = if kind == Decomposition::HermitianEigen {
                let n = shape[0];
                let triangle = |upper: bool, side: f64| {
                    let entry = move |k: usize| {
                        let (i, j, part) = (k / 2 / n, k / 2 % n, k % 2);
                        let kept = if upper { i < j } else { i > j || (i == j && part == 0) };
                        f64::from(u8::from(kept)) * if part == 1 { side } else { 1.0 }
                    };
                    Tensor::real(shape, (0..2 * n * n).map(entry).collect::<Vec<_>>()).unwrap()
                };
                let (lower, upper) =
                    (g.constant(triangle(false, 1.0)), g.constant(triangle(true, -1.0)));
                let turned = g.apply(Op::Permute(vec![1, 0, 2]), &[x]).unwrap();
                let (lower, upper) = (g.mul(x, lower), g.mul(turned, upper));
                g.add(lower, upper)
            } else {
                x
            };
            let found = g.apply(Op::Decompose(kind), &[a]).unwrap();
            let count = used(kind, shape);
            let part = g.slice(found, 0, 0, count);
            let weights = g.constant(Tensor::vector(&numbers(9, count)));
            let terms = g.mul(part, weights);
            let value = g.sum(terms);
            let gradient = differentiate(&mut g, value, &[x]).unwrap();
            assert_eq!(print(&parse(&print(&g)).unwrap()), print(&g), "{kind:?}");
            let position = numbers(4, shape.iter().product());
            let values_at = |point: &[f64], node| {
                let read = |_: &str| Tensor::real(shape, point.to_vec());
                evaluate(&g, &[node], &read).unwrap()[0].values().to_vec()
            };
            let slope = values_at(&position, gradient[0]);
            for k in 0..position.len() {
                let moved = |h: f64| {
                    let mut point = position.clone();
                    point[k] += h;
                    values_at(&point, value)[0]
                };
                let h = 1e-4;
                let difference = (8.0 * (moved(h) - moved(-h))
                    - (moved(2.0 * h) - moved(-2.0 * h)))
                    / (12.0 * h);
                // Fourth-order differences: h^4 and rounding over h, times the condition.
                let close = (difference - slope[k]).abs() < 1e-7 * (1.0 + difference.abs());
                assert!(close, "{kind:?} {shape:?} {k}: {difference} {}", slope[k]);
            }
        }
    }
}

#[test]
fn shapes_that_do_not_fit_are_errors() {
    let mut g = Graph::new();
    let x = g.input("x", Role::Parameter, Shape::from([2, 3, 2]), DType::Real).unwrap();
    for kind in [Decomposition::Schur, Decomposition::Eigen, Decomposition::PseudoInverse] {
        assert!(g.apply(Op::Decompose(kind), &[x]).is_err());
    }
    assert!(g.apply(Op::DecomposeAdjoint(Decomposition::Singular), &[x, x, x]).is_err());
}
