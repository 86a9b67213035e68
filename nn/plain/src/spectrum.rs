//! Singular values by Jacobi rotations: a matrix -> spectral and nuclear norm with their gradients.

use crate::{Answer, sum};

/// A singular value decomposition: values in descending order, left and right vectors for each.
#[derive(Clone, Debug)]
pub struct Decomposition {
    /// Singular values.
    pub values: Vec<f64>,
    /// Left vectors, one for each value.
    pub left: Vec<Vec<f64>>,
    /// Right vectors, one for each value.
    pub right: Vec<Vec<f64>>,
}

/// One-sided Jacobi (Hestenes 1958): columns are rotated in pairs until all are orthogonal.
#[must_use]
pub fn decompose(x: &[f64], width: usize) -> Decomposition {
    let count = x.len() / width;
    let mut columns: Vec<Vec<f64>> =
        (0..width).map(|j| (0..count).map(|i| x[i * width + j]).collect()).collect();
    let mut right: Vec<Vec<f64>> =
        (0..width).map(|j| (0..width).map(|i| f64::from(u8::from(i == j))).collect()).collect();
    let dot = |a: &[f64], b: &[f64]| sum(a.iter().zip(b).map(|(a, b)| a * b));
    for _ in 0..60 {
        let mut turned = false;
        for p in 0..width {
            for q in p + 1..width {
                let (a, b) = (dot(&columns[p], &columns[p]), dot(&columns[q], &columns[q]));
                let c = dot(&columns[p], &columns[q]);
                // Below this it is rounding of the sums; turning on would only add more.
                if c.abs() <= 1e-15 * (a * b).sqrt() || c == 0.0 {
                    continue;
                }
                turned = true;
                let z = (b - a) / (2.0 * c);
                let t = z.signum() / (z.abs() + (1.0 + z * z).sqrt());
                let cosine = 1.0 / (1.0 + t * t).sqrt();
                let sine = cosine * t;
                for set in [&mut columns, &mut right] {
                    for i in 0..set[p].len() {
                        let (u, v) = (set[p][i], set[q][i]);
                        set[p][i] = cosine * u - sine * v;
                        set[q][i] = sine * u + cosine * v;
                    }
                }
            }
        }
        if !turned {
            break;
        }
    }
    // Every rotation rounded the columns; the product with what turned them rounds once.
    let right = orthonormal(right);
    for (column, turned) in columns.iter_mut().zip(&right) {
        let product = |i: usize| sum((0..width).map(|j| x[i * width + j] * turned[j]));
        *column = (0..count).map(product).collect();
    }
    let lengths: Vec<f64> = columns.iter().map(|c| dot(c, c).sqrt()).collect();
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|a, b| lengths[*b].total_cmp(&lengths[*a]));
    let unit = |j: usize| -> Vec<f64> {
        let l = lengths[j];
        columns[j].iter().map(|x| if l == 0.0 { 0.0 } else { x / l }).collect()
    };
    Decomposition {
        values: order.iter().map(|j| lengths[*j]).collect(),
        left: order.iter().map(|j| unit(*j)).collect(),
        right: order.iter().map(|j| right[*j].clone()).collect(),
    }
}

/// Nearly orthonormal vectors after one Newton–Schulz step, $v_j + \tfrac12\sum_k (\delta_{jk} -
/// v_j\cdot v_k) v_k$, which squares what they lack.
fn orthonormal(vectors: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let step = |j: usize, vector: &[f64]| -> Vec<f64> {
        let lacks = |k: usize, other: &[f64]| {
            let products = vector.iter().zip(other).map(|(a, b)| -a * b);
            0.5 * sum(std::iter::once(f64::from(u8::from(j == k))).chain(products))
        };
        let by: Vec<f64> = vectors.iter().enumerate().map(|(k, other)| lacks(k, other)).collect();
        let more = |i: usize| sum(by.iter().zip(&vectors).map(|(by, other)| by * other[i]));
        (0..vector.len()).map(|i| vector[i] + more(i)).collect()
    };
    vectors.iter().enumerate().map(|(j, vector)| step(j, vector)).collect()
}

/// $\sigma_1$ with gradient $u_1v_1^\top$.
#[must_use]
pub fn spectral_norm(x: &[f64], width: usize) -> Answer {
    factor(x, width, |k, _| if k == 0 { (1.0, 1.0) } else { (0.0, 0.0) })
}

/// $\sum\sigma_i$ with gradient $UV^\top$, without vanishing values.
#[must_use]
pub fn nuclear_norm(x: &[f64], width: usize) -> Answer {
    factor(x, width, |_, share| if share > 1e-12 { (1.0, 1.0) } else { (1.0, 0.0) })
}

/// A sum of singular values with weights, and the sum of their vectors' products with weights.
fn factor(x: &[f64], width: usize, weight: impl Fn(usize, f64) -> (f64, f64)) -> Answer {
    let parts = decompose(x, width);
    let first = parts.values.first().copied().unwrap_or(0.0);
    let share = |k: usize| if first == 0.0 { 0.0 } else { parts.values[k] / first };
    let weights: Vec<_> = (0..width).map(|k| weight(k, share(k))).collect();
    let value = sum(weights.iter().zip(&parts.values).map(|(w, s)| w.0 * s));
    let slope = (0..x.len()).map(|index| {
        let (i, j) = (index / width, index % width);
        sum((0..width).map(|k| weights[k].1 * parts.left[k][i] * parts.right[k][j]))
    });
    Answer::one(value, slope.collect())
}
