//! Sorted draws -> an interval that holds a given share of them.

use exmc_diagnose::{equal_tailed_of_sorted, hdi_of_sorted};

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
        let found = match self {
            Self::EqualTailed => equal_tailed_of_sorted(sorted, probability),
            Self::HighestDensity => hdi_of_sorted(sorted, probability),
        };
        (found.lower, found.upper)
    }

    /// Its usual abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Self::EqualTailed => "equal-tailed",
            Self::HighestDensity => "highest-density",
        }
    }
}
