//! Proximal operators and projections: elements and a step -> elements.

use crate::norm;
use crate::spectrum::decompose;

/// Of $s|x|$.
#[must_use]
pub fn soft_threshold(x: &[f64], step: f64) -> Vec<f64> {
    x.iter().map(|x| if x.abs() <= step { 0.0 } else { x - step * x.signum() }).collect()
}

/// Of $s(x - c)^2$.
#[must_use]
pub fn shrink(x: &[f64], centre: f64, step: f64) -> Vec<f64> {
    x.iter().map(|x| (x + 2.0 * step * centre) / (1.0 + 2.0 * step)).collect()
}

/// Of $s(\alpha|x| + (1 - \alpha)x^2)$.
#[must_use]
pub fn elastic_net(x: &[f64], ratio: f64, step: f64) -> Vec<f64> {
    soft_threshold(x, step * ratio).iter().map(|x| x / (1.0 + 2.0 * step * (1.0 - ratio))).collect()
}

/// Of $s\sum\lVert x_g\rVert$ for rows of `width`.
#[must_use]
pub fn block_soft_threshold(x: &[f64], width: usize, step: f64) -> Vec<f64> {
    rows(x, width, |row| {
        let length = norm(row);
        row.iter().map(|x| if length <= step { 0.0 } else { x - step * (x / length) }).collect()
    })
}

/// Rows of `width` no longer than `limit`.
#[must_use]
pub fn max_norm(x: &[f64], width: usize, limit: f64) -> Vec<f64> {
    rows(x, width, |row| {
        let length = norm(row);
        if length <= limit {
            row.to_vec()
        } else {
            row.iter().map(|x| x * limit / length).collect()
        }
    })
}

/// Rows of `width` on the simplex, by bisection of the threshold and then its closed form.
#[must_use]
pub fn simplex(x: &[f64], width: usize) -> Vec<f64> {
    rows(x, width, |row| {
        let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut low, mut high) = (top - 1.0, top);
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            let total: f64 = row.iter().map(|x| (x - middle).max(0.0)).sum();
            if total > 1.0 { low = middle } else { high = middle }
        }
        let kept: Vec<f64> = row.iter().map(|x| x - top).filter(|d| *d + top > high).collect();
        let threshold = (crate::sum(kept.iter().copied()) - 1.0) / kept.len() as f64;
        row.iter().map(|x| (x - top - threshold).max(0.0)).collect()
    })
}

/// Of $s\sum\sigma_i$ for a matrix with `width` columns.
#[must_use]
pub fn nuclear(x: &[f64], width: usize, step: f64) -> Vec<f64> {
    let parts = decompose(x, width);
    (0..x.len())
        .map(|index| {
            let (i, j) = (index / width, index % width);
            crate::sum(
                (0..width).map(|k| {
                    (parts.values[k] - step).max(0.0) * parts.left[k][i] * parts.right[k][j]
                }),
            )
        })
        .collect()
}

fn rows(x: &[f64], width: usize, each: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    x.chunks(width).flat_map(each).collect()
}
