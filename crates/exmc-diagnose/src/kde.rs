//! Kernel density estimate of one scalar: draws -> a density on a regular grid.

use std::f64::consts::PI;

use exmc_fault::{Fault, planted};
use exmc_math::exp;

use crate::bandwidth::Bandwidth;
use crate::draws::Draws;
use crate::interval::sorted;
use crate::moments::{mean_of, variance_of};

/// Number of points of the grid.
const GRID: usize = 512;

/// A density at the middles of equal bins from the smallest draw to the largest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KernelDensity {
    /// Middles of the bins, ascending.
    pub grid: Vec<f64>,
    /// The density there; the bins' areas sum to 1.
    pub density: Vec<f64>,
    /// Standard deviation of the Gaussian kernel, in the units of the draws.
    pub bandwidth: f64,
}

/// Gaussian kernel density estimate on 512 bins over the range of the draws, with mass that would
/// leave the range reflected back at its ends.
///
/// **Edges**: `None` when a draw is NaN or infinite, when all draws
/// are equal, or when half of them are, so that the bandwidth has no scale. **Reference**: Botev,
/// Grotowski and Kroese 2010; ArviZ `kde`, whose values these are.
///
/// ```
/// use exmc_diagnose::{Bandwidth, Draws, kernel_density};
/// let chain: Vec<f64> = (0..200).map(|i| (f64::from(i) * 0.37).sin()).collect();
/// let chains: [&[f64]; 1] = [&chain];
/// let estimate = kernel_density(&Draws::new(&chains)?, Bandwidth::Mean).unwrap();
/// let width = estimate.grid[1] - estimate.grid[0];
/// let area: f64 = estimate.density.iter().map(|p| p * width).sum();
/// assert!((area - 1.0).abs() < 1e-9);
/// # Ok::<(), exmc_diagnose::DrawsError>(())
/// ```
pub fn kernel_density(draws: &Draws, bandwidth: Bandwidth) -> Option<KernelDensity> {
    let sorted = sorted(draws)?;
    let (low, high) = (sorted[0], sorted[sorted.len() - 1]);
    if low == high || !(high - low).is_finite() {
        return None;
    }
    let step = (high - low) / GRID as f64;
    let edges: Vec<f64> =
        (0..=GRID).map(|i| if i == GRID { high } else { i as f64 * step + low }).collect();
    let mut counts = vec![0.0; GRID];
    for x in &sorted {
        let bin = edges.partition_point(|edge| edge <= x);
        counts[bin.clamp(1, GRID) - 1] += 1.0;
    }
    let sd = deviation(&sorted);
    let bandwidth = bandwidth.of(&sorted, &counts, high - low, sd);
    if !(bandwidth > 0.0 && bandwidth.is_finite()) {
        return None;
    }
    let width = edges[1] - edges[0];
    let mut density = smooth(&counts, bandwidth / width);
    let area: f64 = density.iter().sum::<f64>() * width;
    density.iter_mut().for_each(|p| *p /= area);
    let grid = edges.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0).collect();
    Some(KernelDensity { grid, density, bandwidth })
}

/// Standard deviation with divisor $n$.
fn deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    (variance_of(values, mean_of(values)) * (n - 1.0) / n).sqrt()
}

/// Convolution with a Gaussian of deviation `sigma` bins, cut at four deviations, of values that
/// are mirrored over a fifth of their number at both ends.
fn smooth(values: &[f64], sigma: f64) -> Vec<f64> {
    let n = values.len() as isize;
    let mirrored = if planted(Fault::DensityLeaks) { 0 } else { n / 5 };
    let reach = (4.0 * sigma).ceil() as isize;
    let weight = |offset: isize| {
        let z = offset as f64 / sigma;
        exp(-0.5 * z * z) / (sigma * (2.0 * PI).sqrt())
    };
    let kernel: Vec<f64> = (0..=reach).map(weight).collect();
    let value_at = |i: isize| -> f64 {
        let inside = if i < 0 {
            -1 - i
        } else if i >= n {
            2 * n - 1 - i
        } else {
            i
        };
        let outside = i < -mirrored || i >= n + mirrored;
        if outside { 0.0 } else { values[inside as usize] }
    };
    (0..n)
        .map(|i| {
            let sides =
                (1..=reach).map(|d| kernel[d as usize] * (value_at(i - d) + value_at(i + d)));
            kernel[0] * value_at(i) + sides.sum::<f64>()
        })
        .collect()
}
