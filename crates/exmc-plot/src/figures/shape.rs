//! Draws -> the marks of their distribution: a density, bars for whole numbers, a line for equal
//! draws.

use exmc_diagnose::{Bandwidth, Draws, kernel_density};

use crate::figure::{Mark, Style};
use crate::statistics::{count_table, histogram};

/// Most different whole numbers that get a bar each.
const MOST_BARS: f64 = 60.0;

/// The form of a distribution. Heights are densities, or probabilities of whole numbers.
pub(crate) enum Shape {
    Curve(Vec<(f64, f64)>),
    Whole { edges: Vec<f64>, heights: Vec<f64> },
    Constant(f64),
    Nothing,
}

impl Shape {
    /// **Shapes**: `sorted` holds finite numbers, ascending.
    pub(crate) fn of(sorted: &[f64]) -> Self {
        Self::with(sorted, true)
    }

    /// The same of numbers that are measured, even where all happen to be whole.
    pub(crate) fn of_measured(sorted: &[f64]) -> Self {
        Self::with(sorted, false)
    }

    fn with(sorted: &[f64], may_be_whole: bool) -> Self {
        let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
            return Self::Nothing;
        };
        if may_be_whole
            && low < high
            && high - low < MOST_BARS
            && sorted.iter().all(|x| x.fract() == 0.0)
        {
            let counts = count_table(sorted, low as i64, high as i64);
            let edges = (0..=counts.len()).map(|k| low - 0.5 + k as f64).collect();
            let heights = counts.iter().map(|c| *c as f64 / sorted.len() as f64).collect();
            return Self::Whole { edges, heights };
        }
        // Draws that differ by rounding are equal.
        let size = low.abs().max(high.abs());
        if high - low <= 1e-12 * size {
            return Self::Constant(0.5 * (low + high));
        }
        let chains = [sorted];
        let found = Draws::new(&chains).ok().and_then(|d| kernel_density(&d, Bandwidth::Mean));
        match found {
            Some(found) => Self::Curve(found.grid.into_iter().zip(found.density).collect()),
            // Half of the draws are one number: no kernel has a width.
            None => {
                let bins = histogram(sorted, MOST_BARS as usize);
                let n = sorted.len() as f64;
                let heights = bins.edges.windows(2).zip(&bins.counts);
                let heights = heights.map(|(e, c)| *c as f64 / (n * (e[1] - e[0]))).collect();
                Self::Whole { edges: bins.edges, heights }
            }
        }
    }

    /// Its outline. `scale` multiplies heights.
    pub(crate) fn mark(&self, style: Style, scale: f64) -> Option<Mark> {
        match self {
            Self::Curve(points) => {
                let points = points.iter().map(|(x, y)| (*x, y * scale)).collect();
                Some(Mark::Line { points, style })
            }
            Self::Whole { edges, heights } => Some(Mark::Bars {
                edges: edges.clone(),
                heights: heights.iter().map(|h| h * scale).collect(),
                filled: false,
                style,
            }),
            Self::Constant(value) => Some(Mark::Rule { vertical: true, value: *value, style }),
            Self::Nothing => None,
        }
    }

    /// The area under a curve between two abscissas.
    pub(crate) fn area(&self, low: f64, high: f64, style: Style) -> Option<Mark> {
        let Self::Curve(points) = self else { return None };
        let height = |abscissa: f64| {
            let next = points.partition_point(|p| p.0 < abscissa).clamp(1, points.len() - 1);
            let (a, b) = (points[next - 1], points[next]);
            a.1 + (b.1 - a.1) * ((abscissa - a.0) / (b.0 - a.0)).clamp(0.0, 1.0)
        };
        let inside = points.iter().copied().filter(|p| p.0 > low && p.0 < high);
        let mut all = vec![(low, height(low))];
        all.extend(inside);
        all.push((high, height(high)));
        let (x, upper): (Vec<f64>, Vec<f64>) = all.into_iter().unzip();
        Some(Mark::Band { lower: vec![0.0; x.len()], x, upper, style })
    }

    /// The largest height.
    pub(crate) fn peak(&self) -> f64 {
        match self {
            Self::Curve(points) => points.iter().map(|p| p.1).fold(0.0, f64::max),
            Self::Whole { heights, .. } => heights.iter().copied().fold(0.0, f64::max),
            Self::Constant(_) | Self::Nothing => 1.0,
        }
    }
}
