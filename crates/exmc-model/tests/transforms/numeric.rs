//! A transform built into a graph, and the numerical derivatives that it is held against.

use exmc_graph::{DType, Graph, NodeId, Role, Shape, Tensor, differentiate, evaluate};
use exmc_model::Transform;

/// A graph with the input `z` and a transform of it.
pub(crate) struct Built {
    pub(crate) g: Graph,
    pub(crate) z: NodeId,
    pub(crate) x: NodeId,
    pub(crate) log_jacobian: NodeId,
    /// The inverse, applied to `x`.
    pub(crate) back: NodeId,
}

impl Built {
    pub(crate) fn new(transform: impl Fn(&mut Graph) -> Transform, shape: &[usize]) -> Self {
        let mut g = Graph::new();
        let transform = transform(&mut g);
        let shape = Shape::from(shape);
        let unconstrained = transform.unconstrained_shape(&shape).unwrap();
        let z = g.input("z", Role::Parameter, unconstrained, DType::Real).unwrap();
        let (x, log_jacobian) = transform.constrain(&mut g, z, &shape);
        assert_eq!(g.shape(x), &shape);
        let log_jacobian = log_jacobian.unwrap_or_else(|| g.scalar(0.0));
        assert!(g.shape(log_jacobian).is_scalar());
        let back = transform.unconstrain(&mut g, x);
        Self { g, z, x, log_jacobian, back }
    }

    /// Number of elements of `z`.
    pub(crate) fn dim(&self) -> usize {
        self.g.shape(self.z).len()
    }

    pub(crate) fn values(&self, id: NodeId, z: &[f64]) -> Vec<f64> {
        let z = Tensor::real(self.g.shape(self.z).clone(), z).unwrap();
        evaluate(&self.g, &[id], &|_| Some(z.clone())).unwrap()[0].values().to_vec()
    }

    pub(crate) fn value(&self, id: NodeId, z: &[f64]) -> f64 {
        self.values(id, z)[0]
    }

    /// The derivatives of a scalar node by `z`, from the graph.
    pub(crate) fn gradient(&mut self, output: NodeId, z: &[f64]) -> Vec<f64> {
        let gradient = differentiate(&mut self.g, output, &[self.z]).unwrap()[0];
        self.values(gradient, z)
    }

    /// The scalar $\sum_k c_k x_k$ with unequal weights, so that no two elements can be confused.
    pub(crate) fn weighted_sum(&mut self) -> NodeId {
        let shape = self.g.shape(self.x).clone();
        let weights: Vec<f64> = (0..shape.len()).map(|k| 1.0 + 0.37 * k as f64).collect();
        let weights = self.g.constant(Tensor::real(shape, weights).unwrap());
        let terms = self.g.mul(weights, self.x);
        self.g.sum(terms)
    }
}

/// Derivatives of `f` by each coordinate (rows) by five-point central differences.
///
/// With steps of 1e-3 the truncation error is $h^4 f^{(5)}/30 \approx 3\cdot10^{-14}f^{(5)}$ and
/// the rounding error about $10^{-13}|f|$.
pub(crate) fn differences(f: impl Fn(&[f64]) -> Vec<f64>, z: &[f64]) -> Vec<Vec<f64>> {
    const STEP: f64 = 1e-3;
    (0..z.len())
        .map(|k| {
            let shifted = |steps: f64| {
                let mut moved = z.to_vec();
                moved[k] += steps * STEP;
                f(&moved)
            };
            let (a, b, c, d) = (shifted(-2.0), shifted(-1.0), shifted(1.0), shifted(2.0));
            (0..a.len()).map(|i| (a[i] - 8.0 * b[i] + 8.0 * c[i] - d[i]) / (12.0 * STEP)).collect()
        })
        .collect()
}

/// $\log|\det A|$ by elimination with partial pivoting.
pub(crate) fn log_abs_det(mut a: Vec<Vec<f64>>) -> f64 {
    let n = a.len();
    let mut total = 0.0;
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
        a.swap(k, pivot);
        total += a[k][k].abs().ln();
        let (above, below) = a.split_at_mut(k + 1);
        for row in below {
            let factor = row[k] / above[k][k];
            for (target, value) in row[k..].iter_mut().zip(&above[k][k..]) {
                *target -= factor * value;
            }
        }
    }
    total
}

/// Reproducible points: `count` numbers in (-span, span) from a linear congruential generator.
pub(crate) fn point(seed: u64, count: usize, span: f64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(0xD1B5_4A32_D192_ED03);
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            span * (2.0 * ((state >> 11) as f64 / (1_u64 << 53) as f64) - 1.0)
        })
        .collect()
}

/// Asserts that two lists agree to `tolerance` relative to the larger of the expected value and
/// one.
pub(crate) fn assert_close(found: &[f64], expected: &[f64], tolerance: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        let limit = tolerance * e.abs().max(1.0);
        assert!((f - e).abs() <= limit, "{what}: element {k} is {f:e}, expected {e:e}");
    }
}
