//! Draws -> counts in bins of equal width, or of whole numbers.

use exmc_diagnose::quantile_of_sorted;
use exmc_math::pow;

/// Counts between edges.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// The bins' edges: one more than bins.
    pub edges: Vec<f64>,
    /// How many values lie in each bin: at or above its lower edge and below its upper one; the
    /// last bin has its upper edge too.
    pub counts: Vec<usize>,
}

/// A histogram by the rule of Freedman and Diaconis, bin width $2\,\mathrm{IQR}\,n^{-1/3}$, rounded
/// so that whole bins fill the range; between 1 and `most` bins.
///
/// **Shapes**: `sorted` is ascending. **Edges**: no values give no bins; equal ones give one bin of
/// width 1 around them; a zero interquartile range gives $\lceil\log_2 n\rceil + 1$ bins (Sturges).
/// **Reference**: Freedman, Diaconis 1981, *Z. Wahrscheinlichkeitstheorie* 57.
pub fn histogram(sorted: &[f64], most: usize) -> Histogram {
    let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
        return Histogram { edges: Vec::new(), counts: Vec::new() };
    };
    if low == high {
        return Histogram { edges: vec![low - 0.5, low + 0.5], counts: vec![sorted.len()] };
    }
    let n = sorted.len() as f64;
    let iqr = quantile_of_sorted(sorted, 0.75) - quantile_of_sorted(sorted, 0.25);
    let width = 2.0 * iqr * pow(n, -1.0 / 3.0);
    let bins =
        if width > 0.0 { ((high - low) / width).ceil() } else { exmc_math::log2(n).ceil() + 1.0 };
    let bins = bins.clamp(1.0, most.max(1) as f64) as usize;
    let edges: Vec<f64> =
        (0..=bins).map(|k| low + (high - low) * (k as f64 / bins as f64)).collect();
    let below = |edge: f64| sorted.partition_point(|x| *x < edge);
    let mut counts: Vec<usize> = edges.windows(2).map(|e| below(e[1]) - below(e[0])).collect();
    counts[bins - 1] = sorted.len() - below(edges[bins - 1]);
    Histogram { edges, counts }
}

/// How often each whole number from `low` to `high` occurs.
pub fn count_table(values: &[f64], low: i64, high: i64) -> Vec<usize> {
    let mut table = vec![0; (high - low + 1).max(0) as usize];
    for &value in values {
        let place = value as i64 - low;
        if value.fract() == 0.0 && (0..table.len() as i64).contains(&place) {
            table[place as usize] += 1;
        }
    }
    table
}
