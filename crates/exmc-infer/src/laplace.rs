//! A log density and its maximum -> the normal approximation there, and draws from it.
//!
//! The Hessian comes from differences of gradients. Its coordinates are scaled first so that a step
//! is the same fraction of every coordinate's own width, whatever the units are.

use exmc_density::LogDensity;
use exmc_math::linear::{cholesky_lower, dot, solve_lower_transposed};
use exmc_math::random::ChainRng;

use crate::error::SampleError;
use crate::state::evaluate_into;

/// Steps in units of a coordinate's conditional standard deviation. The five-point rule's error is
/// $h^4/30$ times the fifth derivative (relative to these units), and rounding's about $10^{-16}/h$
/// times the log density's size, so that both stay near $10^{-12}$.
const STEP: f64 = 2e-3;

/// A normal distribution whose mode and curvature are those of a log density.
#[derive(Clone, Debug, PartialEq)]
pub struct Laplace {
    mode: Vec<f64>,
    /// Lower Cholesky factor of the negative Hessian (the precision), row-major.
    factor: Vec<f64>,
}

/// The Hessian of a log density, by differences of its gradients, row-major and symmetric.
///
/// **Shapes**: `[dim, dim]`. **Numerics**: five-point central differences with steps of 1/500 of
/// each coordinate's conditional standard deviation: exact up to rounding for a normal density,
/// relative error about 1e-10 for smooth ones. **Cost**: some `7 dim` gradients.
///
/// # Errors
/// A fatal failure of the density, or a point so near to the edge of the support that a step leaves
/// it.
pub fn hessian(density: &mut impl LogDensity, centre: &[f64]) -> Result<Vec<f64>, SampleError> {
    let dim = centre.len();
    let mut point = centre.to_vec();
    let mut rows = vec![0.0; dim * dim];
    let mut gradients = [const { Vec::new() }; 4];
    gradients.iter_mut().for_each(|g| *g = vec![0.0; dim]);
    for i in 0..dim {
        let step = STEP * width(density, &mut point, i)?;
        for (offset, gradient) in [-2.0, -1.0, 1.0, 2.0].into_iter().zip(&mut gradients) {
            point[i] = centre[i] + offset * step;
            slope(density, &point, i, gradient)?;
        }
        point[i] = centre[i];
        // The steps that were taken, after rounding.
        let near = (centre[i] + step) - (centre[i] - step);
        let far = (centre[i] + 2.0 * step) - (centre[i] - 2.0 * step);
        for j in 0..dim {
            let inner = (gradients[2][j] - gradients[1][j]) / near;
            let outer = (gradients[3][j] - gradients[0][j]) / far;
            rows[i * dim + j] = (4.0 * inner - outer) / 3.0;
        }
    }
    for i in 0..dim {
        for j in 0..i {
            let mean = 0.5 * (rows[i * dim + j] + rows[j * dim + i]);
            rows[i * dim + j] = mean;
            rows[j * dim + i] = mean;
        }
    }
    Ok(rows)
}

/// How wide the density is along one coordinate: $1/\sqrt{|H_{ii}|}$, to a digit or so. A first
/// guess that leaves the support or is far too long shows in a curvature that changes, so the guess
/// is repeated until it does not.
fn width(density: &mut impl LogDensity, point: &mut [f64], i: usize) -> Result<f64, SampleError> {
    let centre = point[i];
    let mut gradient = vec![0.0; point.len()];
    let mut width = 1e-2 * centre.abs().max(1.0);
    let mut found = None;
    for _ in 0..12 {
        let step = STEP * width;
        let mut ends = [0.0; 2];
        let mut is_usable = true;
        for (sign, end) in [-1.0, 1.0].into_iter().zip(&mut ends) {
            point[i] = centre + sign * step;
            let logp = evaluate_into(density, point, &mut gradient)?;
            is_usable &= logp.is_finite() && gradient[i].is_finite();
            *end = gradient[i];
        }
        point[i] = centre;
        if !is_usable {
            width *= 0.01;
            continue;
        }
        let curvature = ((ends[1] - ends[0]) / (2.0 * step)).abs();
        if curvature == 0.0 {
            // Flat: any step will do, and a longer one finds curvature that rounding hides.
            found = Some(width);
            width *= 10.0;
            if width > 1e6 * centre.abs().max(1.0) {
                break;
            }
            continue;
        }
        let next_width = 1.0 / curvature.sqrt();
        found = Some(next_width);
        if next_width > 0.5 * width && next_width < 2.0 * width {
            break;
        }
        width = next_width;
    }
    found.ok_or_else(|| edge(i))
}

fn slope(
    density: &mut impl LogDensity,
    point: &[f64],
    i: usize,
    gradient: &mut [f64],
) -> Result<(), SampleError> {
    let logp = evaluate_into(density, point, gradient)?;
    let is_finite = logp.is_finite() && gradient.iter().all(|g| g.is_finite());
    if is_finite { Ok(()) } else { Err(edge(i)) }
}

fn edge(i: usize) -> SampleError {
    let text = "the density is not finite in the neighbourhood of the mode";
    SampleError::fatal(format!("{text} (coordinate {i}), so that it has no curvature there"))
}

impl Laplace {
    /// The approximation at `mode`.
    ///
    /// # Errors
    /// As [`hessian`]; or when the negative Hessian is not positive definite: the point is no
    /// maximum, or the density is flat along some direction.
    pub fn at(density: &mut impl LogDensity, mode: &[f64]) -> Result<Self, SampleError> {
        let dim = mode.len();
        let precision: Vec<f64> = hessian(density, mode)?.into_iter().map(|h| -h).collect();
        let mut factor = vec![0.0; dim * dim];
        cholesky_lower(dim, &precision, &mut factor).map_err(|_| {
            SampleError::fatal(
                "the negative Hessian is not positive definite: the point is no maximum, or the density is flat along \
                 some direction",
            )
        })?;
        Ok(Self { mode: mode.to_vec(), factor })
    }

    /// Its mode.
    pub fn mode(&self) -> &[f64] {
        &self.mode
    }

    /// Its covariance, row-major.
    pub fn covariance(&self) -> Vec<f64> {
        let dim = self.mode.len();
        let mut columns = vec![0.0; dim * dim];
        for i in 0..dim {
            let mut unit = vec![0.0; dim];
            unit[i] = 1.0;
            exmc_math::linear::solve_lower(&self.factor, &mut unit);
            solve_lower_transposed(&self.factor, &mut unit);
            columns[i * dim..(i + 1) * dim].copy_from_slice(&unit);
        }
        columns
    }

    /// Writes a draw and returns its log density up to a constant, $-\tfrac12 (x-m)^\top P (x-m)$
    /// in nats (0 at the mode), as CmdStan's `log_q__` has it.
    ///
    /// # Panics
    /// When `out` has another length than the mode.
    pub fn draw(&self, rng: &mut ChainRng, out: &mut [f64]) -> f64 {
        assert_eq!(out.len(), self.mode.len(), "a draw has as many coordinates as the mode");
        out.iter_mut().for_each(|z| *z = rng.standard_normal());
        let log_density = -0.5 * dot(out, out);
        // With P = L L', x = m + L'^-1 z has covariance P^-1.
        solve_lower_transposed(&self.factor, out);
        out.iter_mut().zip(&self.mode).for_each(|(x, m)| *x += m);
        log_density
    }
}
