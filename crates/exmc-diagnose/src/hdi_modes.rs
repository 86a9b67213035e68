//! Highest density region of several pieces: draws -> the intervals where the density is largest.

use crate::bandwidth::Bandwidth;
use crate::draws::Draws;
use crate::interval::Interval;
use crate::kde::kernel_density;

/// One piece of a highest density region.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct HdiMode {
    /// Where it lies.
    pub interval: Interval,
    /// The estimated probability in it.
    pub prob: f64,
}

/// Highest density region of a continuous variable, which may be several intervals: the points of a
/// kernel density estimate with the largest density that together hold at least `prob`.
///
/// **Shapes**: the intervals, ascending. Their ends are points of the estimate's grid, so they are
/// known to one bin, 1/512 of the range. **Edges**: nothing where [`kernel_density`] has no
/// estimate or `prob` lies outside `(0, 1]`. **Reference**: Hyndman 1996, *The American
/// Statistician* 50(2); ArviZ `hdi(method="multimodal")`.
pub fn hdi_modes(draws: &Draws, prob: f64) -> Vec<HdiMode> {
    if !(prob > 0.0 && prob <= 1.0) {
        return Vec::new();
    }
    let Some(estimate) = kernel_density(draws, Bandwidth::Improved) else { return Vec::new() };
    let (grid, last) = (&estimate.grid, estimate.grid.len() - 1);
    let width = (grid[last] - grid[0]) / last as f64;
    let probs: Vec<f64> = estimate.density.iter().map(|p| p * width).collect();
    pieces(grid, &probs, prob, width)
}

/// Highest density region of a variable with whole numbers for values: the most frequent values
/// that together hold at least `prob`, neighbours joined.
///
/// **Shapes**: the intervals, ascending; their ends are values. **Edges**: nothing when a draw is
/// NaN or infinite, or `prob` lies outside `(0, 1]`. **Reference**: as [`hdi_modes`].
pub fn hdi_modes_discrete(draws: &Draws, prob: f64) -> Vec<HdiMode> {
    let Some(sorted) = crate::interval::sorted(draws).filter(|_| prob > 0.0 && prob <= 1.0) else {
        return Vec::new();
    };
    let runs: Vec<&[f64]> = sorted.chunk_by(|a, b| a == b).collect();
    let values: Vec<f64> = runs.iter().map(|run| run[0]).collect();
    let probs: Vec<f64> = runs.iter().map(|run| run.len() as f64 / sorted.len() as f64).collect();
    pieces(&values, &probs, prob, 1.0)
}

/// Joins the most probable `points` into intervals of points not further than `width` apart.
fn pieces(points: &[f64], probs: &[f64], prob: f64, width: f64) -> Vec<HdiMode> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    order.sort_by(|&a, &b| probs[b].total_cmp(&probs[a]));
    let mut held = 0.0;
    let mut taken = 0;
    while taken < order.len() && held < prob {
        held += probs[order[taken]];
        taken += 1;
    }
    let mut inside = order[..taken].to_vec();
    inside.sort_unstable();
    // A hundredth more than a bin, because the grid is rounded.
    inside
        .chunk_by(|&a, &b| points[b] - points[a] <= 1.01 * width)
        .map(|run| HdiMode {
            interval: Interval { lower: points[run[0]], upper: points[run[run.len() - 1]] },
            prob: run.iter().map(|&i| probs[i]).sum(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_heaps_are_two_intervals() {
        let chain: Vec<f64> =
            (0..400).map(|i| f64::from(i % 2) * 20.0 + (f64::from(i) * 0.37).sin()).collect();
        let chains: [&[f64]; 1] = [&chain];
        let draws = Draws::new(&chains).unwrap();
        let modes = hdi_modes(&draws, 0.9);
        // Each heap is densest at its two ends, so it may be two intervals; none is in the gap.
        let (left, right): (Vec<_>, Vec<_>) =
            modes.iter().copied().partition(|m| m.interval.lower < 10.0);
        assert!(!left.is_empty() && !right.is_empty(), "{modes:?}");
        assert!(left.iter().all(|m| m.interval.upper < 3.0), "{modes:?}");
        assert!(right.iter().all(|m| m.interval.lower > 17.0), "{modes:?}");
        // The single interval has to bridge the gap.
        assert!(crate::hdi(&draws, 0.9).upper - crate::hdi(&draws, 0.9).lower > 18.0);
    }

    #[test]
    fn whole_numbers() {
        let chains: [&[f64]; 1] = [&[1.0, 1.0, 1.0, 2.0, 7.0, 7.0, 7.0, 7.0, 9.0, 4.0]];
        let modes = hdi_modes_discrete(&Draws::new(&chains).unwrap(), 0.7);
        assert_eq!(modes.len(), 2);
        assert_eq!(modes[0].interval, Interval { lower: 1.0, upper: 1.0 });
        assert_eq!(modes[1].interval, Interval { lower: 7.0, upper: 7.0 });
        assert!((modes[1].prob - 0.4).abs() < 1e-15);
    }
}
