//! Draws -> a smooth density on a grid.

use exmc_diagnose::quantile_of_sorted;
use exmc_fault::{Fault, planted};
use exmc_math::{exp, pow};

/// A density at equally spaced points.
#[derive(Clone, Debug, PartialEq)]
pub struct Density {
    /// Abscissas, from the smallest to the largest draw.
    pub x: Vec<f64>,
    /// The density there; its integral over the grid is 1 but for the trapezoid rule's error.
    pub y: Vec<f64>,
    /// Standard deviation of the kernel.
    pub bandwidth: f64,
}

/// Gaussian kernel estimate with the draws mirrored at the smallest and the largest one:
///
/// $$f(x) = \frac{1}{n h}\sum_i \phi\Bigl(\frac{x-x_i}{h}\Bigr)
///   + \phi\Bigl(\frac{x-(2a-x_i)}{h}\Bigr) + \phi\Bigl(\frac{x-(2b-x_i)}{h}\Bigr)$$
///
/// on $[a, b]$, the range of the draws. Without the mirror images a density that ends abruptly (a
/// scale near 0) would fall off within its support and leak out of it.
/// $h = 0.9 \min(s, \mathrm{IQR}/1.349)\, n^{-1/5}$.
///
/// **Shapes**: `sorted` is ascending; `points` at least 2. **Edges**: `None` for fewer than two
/// draws and for equal ones; a zero interquartile range leaves $s$ alone. **Numerics**: kernels
/// beyond 8 bandwidths are left out: less than 1e-14 of the peak. **Reference**: Silverman 1986,
/// sections 3.4.2 (eq. 3.31) and 2.10.
pub fn density(sorted: &[f64], points: usize) -> Option<Density> {
    let (low, high) = (*sorted.first()?, *sorted.last()?);
    let n = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / n;
    let variance = sorted.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
    let sd = variance.sqrt();
    // Draws that differ by rounding are equal.
    if !(high - low > 1e-12 * mean.abs() && sd > 0.0 && sd.is_finite()) {
        return None;
    }
    let iqr = quantile_of_sorted(sorted, 0.75) - quantile_of_sorted(sorted, 0.25);
    let spread = if iqr > 0.0 { sd.min(iqr / 1.349) } else { sd };
    let bandwidth = 0.9 * spread * pow(n, -0.2);

    let step = (high - low) / (points - 1) as f64;
    let x: Vec<f64> = (0..points).map(|k| low + step * k as f64).collect();
    let mirrored = !planted(Fault::DensityLeaks);
    let scale = 1.0 / (n * bandwidth * (2.0 * std::f64::consts::PI).sqrt());
    let y = x.iter().map(|&at| {
        let mut sum = near(sorted, at, bandwidth);
        if mirrored {
            sum +=
                near(sorted, 2.0 * low - at, bandwidth) + near(sorted, 2.0 * high - at, bandwidth);
        }
        sum * scale
    });
    let y = y.collect();
    Some(Density { x, y, bandwidth })
}

/// The sum of $e^{-z^2/2}$ over the draws near a point.
fn near(sorted: &[f64], at: f64, bandwidth: f64) -> f64 {
    let reach = 8.0 * bandwidth;
    let first = sorted.partition_point(|x| *x < at - reach);
    let last = sorted.partition_point(|x| *x <= at + reach);
    sorted[first..last]
        .iter()
        .map(|x| exp(-0.5 * ((at - x) / bandwidth) * ((at - x) / bandwidth)))
        .sum()
}
