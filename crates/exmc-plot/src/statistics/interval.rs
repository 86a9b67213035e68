//! Sorted draws -> an interval that holds a given share of them.

use exmc_diagnose::quantile_of_sorted;

/// Which of the intervals of one probability is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Interval {
    /// Between quantiles that leave the same share on both sides.
    #[default]
    EqualTailed,
    /// The shortest one.
    HighestDensity,
}

impl Interval {
    /// The interval of that kind; `(NaN, NaN)` without draws.
    pub fn of(self, sorted: &[f64], probability: f64) -> (f64, f64) {
        match self {
            Self::EqualTailed => equal_tailed(sorted, probability),
            Self::HighestDensity => highest_density(sorted, probability),
        }
    }

    /// Its usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Self::EqualTailed => "equal-tailed",
            Self::HighestDensity => "highest-density",
        }
    }
}

/// Quantiles (type 7) at $(1-p)/2$ and $(1+p)/2$.
pub fn equal_tailed(sorted: &[f64], probability: f64) -> (f64, f64) {
    if sorted.is_empty() {
        return (f64::NAN, f64::NAN);
    }
    let tail = 0.5 * (1.0 - probability);
    (quantile_of_sorted(sorted, tail), quantile_of_sorted(sorted, 1.0 - tail))
}

/// The shortest interval between two draws that are $\lfloor p\,n \rfloor$ places apart; the first
/// of equally short ones. For a density with one mode it is the highest-density interval.
///
/// **Edges**: `(NaN, NaN)` without draws. **Reference**: Chen, Shao 1999, *JCGS* 8; ArviZ's `hdi`
/// counts in the same way.
pub fn highest_density(sorted: &[f64], probability: f64) -> (f64, f64) {
    let n = sorted.len();
    if n == 0 {
        return (f64::NAN, f64::NAN);
    }
    let apart = ((probability * n as f64).floor() as usize).min(n - 1);
    let mut shortest = (sorted[0], sorted[apart]);
    for (&low, &high) in sorted.iter().zip(&sorted[apart..]) {
        if high - low < shortest.1 - shortest.0 {
            shortest = (low, high);
        }
    }
    shortest
}
