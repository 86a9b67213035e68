//! Groups, differences, lengths and Gram matrices: a tensor in row-major order -> value and
//! gradient.

use crate::{Answer, around, norm, sign, sum};

/// $\sum_g w\lVert x_g\rVert$, a group for each index of an axis.
#[must_use]
pub fn group_lasso(x: &[f64], dims: &[usize], axis: usize, size_weighted: bool) -> Answer {
    let (_, length, after) = around(dims, axis);
    let weight = if size_weighted { (x.len() as f64 / length as f64).sqrt() } else { 1.0 };
    let group = |i: usize| i / after % length;
    let mut groups = vec![Vec::new(); length];
    x.iter().enumerate().for_each(|(i, x)| groups[group(i)].push(*x));
    let lengths: Vec<f64> = groups.iter().map(|g| norm(g)).collect();
    let slope = |i: usize| {
        let l = lengths[group(i)];
        if l == 0.0 { 0.0 } else { weight * (x[i] / l) }
    };
    Answer::one(weight * sum(lengths.iter().copied()), (0..x.len()).map(slope).collect())
}

/// $\sum|x_{i+1} - x_i|$ along an axis.
#[must_use]
pub fn total_variation(x: &[f64], dims: &[usize], axis: usize) -> Answer {
    let (before, length, after) = around(dims, axis);
    let mut terms = Vec::new();
    let mut slope = vec![0.0; x.len()];
    for b in 0..before {
        for i in 1..length {
            for a in 0..after {
                let here = (b * length + i) * after + a;
                let d = x[here] - x[here - after];
                terms.push(d.abs());
                slope[here] += sign(d);
                slope[here - after] -= sign(d);
            }
        }
    }
    Answer::one(sum(terms), slope)
}

/// $(f\lVert y\rVert - t)^2$, with $f = 1/\sqrt n$ for the root mean square.
#[must_use]
pub fn magnitude(y: &[f64], target: f64, mean: bool) -> Answer {
    let factor = if mean { 1.0 / (y.len() as f64).sqrt() } else { 1.0 };
    let length = norm(y);
    let away = factor * length - target;
    let slope = |y: &f64| if length == 0.0 { 0.0 } else { 2.0 * away * factor * (y / length) };
    Answer::one(away * away, y.iter().map(slope).collect())
}

/// What an orthogonality penalty measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Off the diagonal.
    Soft,
    /// Away from the identity.
    Hard,
    /// The trace, and off the diagonal.
    Spectral,
}

/// Orthogonality of the rows of a matrix with `width` columns.
#[must_use]
pub fn orthogonality(x: &[f64], width: usize, mode: Mode, normalise: bool) -> Answer {
    let count = x.len() / width;
    let row = |i: usize| &x[i * width..(i + 1) * width];
    let lengths: Vec<f64> = (0..count).map(|i| norm(row(i))).collect();
    let divisors: Vec<f64> =
        lengths.iter().map(|l| if normalise { l.max(1e-8) } else { 1.0 }).collect();
    let unit: Vec<f64> = (0..x.len()).map(|k| x[k] / divisors[k / width]).collect();
    let urow = |i: usize| &unit[i * width..(i + 1) * width];
    let gram = |i: usize, j: usize| sum(urow(i).iter().zip(urow(j)).map(|(a, b)| a * b));
    let grams: Vec<Vec<f64>> =
        (0..count).map(|i| (0..count).map(|j| gram(i, j)).collect()).collect();
    let off = |i: usize, j: usize| if i == j { 0.0 } else { grams[i][j] };
    let soft = sum((0..count * count).map(|k| off(k / count, k % count).powi(2)));
    let trace = sum((0..count).map(|i| grams[i][i])) - count as f64;
    let value = match mode {
        Mode::Soft => soft,
        Mode::Hard => soft + sum((0..count).map(|i| (grams[i][i] - 1.0).powi(2))),
        Mode::Spectral => trace * trace + soft,
    };
    // The derivative with respect to the Gram matrix, which is symmetric.
    let pull = |i: usize, j: usize| match mode {
        _ if i != j => 2.0 * grams[i][j],
        Mode::Soft => 0.0,
        Mode::Hard => 2.0 * (grams[i][i] - 1.0),
        Mode::Spectral => 2.0 * trace,
    };
    let mut slope = Vec::with_capacity(x.len());
    for i in 0..count {
        let up: Vec<f64> = (0..width)
            .map(|k| 2.0 * sum((0..count).map(|j| pull(i, j) * unit[j * width + k])))
            .collect();
        // Through the division by the row's length.
        let along = if normalise && lengths[i] >= 1e-8 {
            sum(up.iter().zip(urow(i)).map(|(g, u)| g * u))
        } else {
            0.0
        };
        slope.extend(up.iter().zip(urow(i)).map(|(g, u)| (g - along * u) / divisors[i]));
    }
    Answer::one(value, slope)
}

/// `[batch, sequence, vocabulary]` as a matrix whose rows are an axis: the index of each element of
/// the matrix.
#[must_use]
pub fn rows_of_axis(dims: [usize; 3], axis: usize) -> Vec<usize> {
    let index_of = |i: [usize; 3]| (i[0] * dims[1] + i[1]) * dims[2] + i[2];
    let (outer, inner): (usize, usize) = match axis {
        1 => (0, 2),
        _ => (0, 1),
    };
    let mut order = Vec::new();
    for r in 0..dims[axis] {
        for a in 0..dims[outer] {
            for b in 0..dims[inner] {
                let mut i = [0; 3];
                (i[axis], i[outer], i[inner]) = (r, a, b);
                order.push(index_of(i));
            }
        }
    }
    order
}
