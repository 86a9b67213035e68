//! A network of one hidden layer whose second derivatives are written out: the reference of
//! gradient penalties.
//!
//! $f(x) = \sum_j v_j\tanh(\sum_i x_i W_{ij} + b_j)$, so $\partial f/\partial x_i = \sum_j v_j(1 -
//! h_j^2)W_{ij}$.

use crate::{Answer, norm, sum};

/// Weights of $f$, `w` with `inputs` rows.
#[derive(Clone, Debug)]
pub struct Network {
    /// $W$, row-major.
    pub w: Vec<f64>,
    /// $b$.
    pub b: Vec<f64>,
    /// $v$.
    pub v: Vec<f64>,
}

impl Network {
    fn hidden(&self, x: &[f64]) -> Vec<f64> {
        let width = self.b.len();
        let preactivation =
            |j: usize| self.b[j] + sum((0..x.len()).map(|i| x[i] * self.w[i * width + j]));
        (0..width).map(|j| preactivation(j).tanh()).collect()
    }

    /// $\nabla f(x)$.
    #[must_use]
    pub fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let (h, width) = (self.hidden(x), self.b.len());
        let slope = |j: usize| self.v[j] * (1.0 - h[j] * h[j]);
        (0..x.len()).map(|i| sum((0..width).map(|j| slope(j) * self.w[i * width + j]))).collect()
    }

    /// $(\lVert\nabla\rVert - t)^2$ of the sum of $f$ over rows of `inputs` elements: one norm over
    /// all of `x`, or (`each`) the mean of one for each row. Gradients with respect to `x`, `w`,
    /// `b` and `v`.
    #[must_use]
    pub fn penalty(&self, x: &[f64], inputs: usize, target: f64, each: bool) -> Answer {
        let width = self.b.len();
        let rows: Vec<&[f64]> = x.chunks(inputs).collect();
        let slopes: Vec<Vec<f64>> = rows.iter().map(|row| self.gradient(row)).collect();
        let full_norm = norm(&slopes.concat());
        let lengths: Vec<f64> =
            slopes.iter().map(|s| if each { norm(s) } else { full_norm }).collect();
        let share = if each { 1.0 / rows.len() as f64 } else { 1.0 };
        let value = if each {
            share * sum(lengths.iter().map(|n| (n - target).powi(2)))
        } else {
            (full_norm - target).powi(2)
        };
        let mut gx = Vec::new();
        let (mut gw, mut gb, mut gv) =
            (vec![0.0; self.w.len()], vec![0.0; width], vec![0.0; width]);
        for ((row, slope), length) in rows.iter().zip(&slopes).zip(&lengths) {
            let h = self.hidden(row);
            // dP/d(slope_i), with n the row's length or that of all.
            let pull: Vec<f64> = slope
                .iter()
                .map(|s| {
                    if *length == 0.0 { 0.0 } else { share * 2.0 * (length - target) * s / length }
                })
                .collect();
            let mut row_gradient = vec![0.0; inputs];
            for j in 0..width {
                let c = 1.0 - h[j] * h[j];
                let along = sum((0..inputs).map(|i| pull[i] * self.w[i * width + j]));
                gv[j] += c * along;
                // d(1 - h^2)/dz = -2h(1 - h^2).
                let dz = self.v[j] * along * (-2.0 * h[j] * c);
                gb[j] += dz;
                for i in 0..inputs {
                    gw[i * width + j] += self.v[j] * c * pull[i] + dz * row[i];
                    row_gradient[i] += dz * self.w[i * width + j];
                }
            }
            gx.extend(row_gradient);
        }
        Answer { value, gradients: vec![gx, gw, gb, gv] }
    }
}
