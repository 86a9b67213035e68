//! `Op::SymmetricEigen` where eigenvalues are close: gradients of smooth functions of the matrix
//! against closed forms.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "expected values are computed independently")]

use exmc_graph::{DType, Graph, NodeId, Op, Role, Tensor, differentiate, evaluate};

const N: usize = 6;
const RANK: usize = 2;

/// $w^\top h(A) w$ by eigenvalues and eigenvectors.
fn quadratic(
    g: &mut Graph,
    a: NodeId,
    w: &Tensor,
    h: &dyn Fn(&mut Graph, NodeId) -> NodeId,
) -> NodeId {
    let packed = g.apply(Op::SymmetricEigen, &[a]).unwrap();
    let (values, vectors) = (g.slice(packed, 0, 0, 1), g.slice(packed, 0, 1, N + 1));
    let values = g.reshape(values, [N]);
    let w = g.constant(w.clone());
    let turned = g.matmul(vectors, w);
    let square = g.square(turned);
    let weights = h(g, values);
    let product = g.mul(square, weights);
    g.sum(product)
}

fn gradient(g: &mut Graph, f: NodeId, x: NodeId, point: &Tensor) -> Vec<f64> {
    let gradient = differentiate(g, f, &[x]).unwrap();
    evaluate(g, &gradient, &|_| Some(point.clone())).unwrap()[0].values().to_vec()
}

fn wave(len: usize, salt: f64) -> Vec<f64> {
    (0..len).map(|k| ((k as f64 + salt) * 12.9898).sin()).collect()
}

/// Of a matrix $BB^\top$ of low rank, the other eigenvalues are rounding: their gaps are some
/// 1e-17. What moves B does not mix their vectors, so $w^\top (1 + BB^\top)^{-1} w$ has the
/// gradient $-2 u (B^\top u)^\top$ with $u = (1 + BB^\top)^{-1} w$, and noise divided by the gaps
/// must not get out.
#[test]
fn rounding_among_equal_values_stays_there() {
    let b = Tensor::real([N, RANK], wave(N * RANK, 3.0)).unwrap();
    let w = Tensor::real([N], wave(N, 5.0)).unwrap();
    let mut g = Graph::new();
    let x = g.input("b", Role::Parameter, [N, RANK].into(), DType::Real).unwrap();
    let transposed = g.transpose(x);
    let a = g.matmul(x, transposed);
    let f = quadratic(&mut g, a, &w, &|g, values| {
        let shifted = g.shift(values, 1.0);
        g.reciprocal(shifted)
    });
    let found = gradient(&mut g, f, x, &b);
    // (1 + B B')^{-1} w = w - B (1 + B'B)^{-1} B'w, the inner matrix of two rows.
    let (b, w) = (b.values(), w.values());
    let dot = |k: usize, v: &[f64]| (0..N).map(|i| b[i * RANK + k] * v[i]).sum::<f64>();
    let column = |k: usize| (0..N).map(|i| b[i * RANK + k]).collect::<Vec<_>>();
    let (p, q, r) = (1.0 + dot(0, &column(0)), dot(0, &column(1)), 1.0 + dot(1, &column(1)));
    let (c0, c1, det) = (dot(0, w), dot(1, w), p * r - q * q);
    let inner = [(r * c0 - q * c1) / det, (p * c1 - q * c0) / det];
    let u: Vec<f64> =
        (0..N).map(|i| w[i] - b[i * RANK] * inner[0] - b[i * RANK + 1] * inner[1]).collect();
    for i in 0..N {
        for k in 0..RANK {
            let (found, expected) = (found[i * RANK + k], -2.0 * u[i] * dot(k, &u));
            assert!((found - expected).abs() < 1e-13, "{i} {k}: {found}, not {expected}");
        }
    }
}

/// $w^\top A^2 w$ where two eigenvalues are 1e-5 apart: $\bar A = w (Aw)^\top + (Aw) w^\top$.
#[test]
fn close_values_have_the_derivative_of_the_function() {
    let axis = wave(N, 1.0);
    let norm: f64 = axis.iter().map(|x| x * x).sum();
    // A reflection's columns are the vectors.
    let q = |i: usize, k: usize| f64::from(u8::from(i == k)) - 2.0 * axis[i] * axis[k] / norm;
    let values = [0.5, 1.0, 1.0 + 1e-5, 2.0, 3.0, 4.5];
    let cell = |i: usize, j: usize| (0..N).map(|k| q(i, k) * values[k] * q(j, k)).sum::<f64>();
    let cells: Vec<f64> = (0..N * N).map(|k| cell(k / N, k % N)).collect();
    let w = wave(N, 5.0);
    let image: Vec<f64> = (0..N).map(|i| (0..N).map(|j| cell(i, j) * w[j]).sum()).collect();
    let mut g = Graph::new();
    let x = g.input("a", Role::Parameter, [N, N].into(), DType::Real).unwrap();
    let weights = Tensor::real([N], w.clone()).unwrap();
    let f = quadratic(&mut g, x, &weights, &|g, values| g.square(values));
    let found = gradient(&mut g, f, x, &Tensor::real([N, N], cells).unwrap());
    for i in 0..N {
        for j in 0..N {
            let both = w[i] * image[j] + image[i] * w[j];
            // Only the lower triangle is read, so it has the upper one's share.
            let expected = match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => both,
                std::cmp::Ordering::Greater => 2.0 * both,
            };
            let found = found[i * N + j];
            // Rounding divided by the gap.
            assert!((found - expected).abs() < 1e-9, "{i} {j}: {found}, not {expected}");
        }
    }
}
