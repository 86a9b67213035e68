//! Credible intervals: draws -> where a given probability lies.

use crate::draws::Draws;
use crate::quantile::quantile_of_sorted;

/// A closed interval of the draws' own scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub lower: f64,
    /// Its upper end.
    pub upper: f64,
}

const UNKNOWN: Interval = Interval { lower: f64::NAN, upper: f64::NAN };

/// Highest density interval: the shortest interval between two draws that holds $\lfloor pS \rfloor
/// + 1$ of the $S$ draws (all of them at most).
///
/// One interval, also where the density has several modes; see [`crate::hdi_modes`]. Of several
/// equally short ones the lowest. Not invariant under transformations of the variable.
///
/// **Domain and edges**: `prob` in `(0, 1]`, else NaN; NaN when a draw is NaN or infinite.
/// **Reference**: Chen and Shao 1999; ArviZ `hdi(method="nearest")`.
///
/// ```
/// use exmc_diagnose::{Draws, hdi};
/// let chain = [0.0, 0.1, 0.2, 0.3, 5.0];
/// let chains: [&[f64]; 1] = [&chain];
/// let interval = hdi(&Draws::new(&chains)?, 0.6);
/// assert_eq!((interval.lower, interval.upper), (0.0, 0.3));
/// # Ok::<(), exmc_diagnose::DrawsError>(())
/// ```
pub fn hdi(draws: &Draws, prob: f64) -> Interval {
    sorted(draws).map_or(UNKNOWN, |sorted| hdi_of_sorted(&sorted, prob))
}

/// [`hdi`] of finite numbers in ascending order; NaN of none.
pub fn hdi_of_sorted(sorted: &[f64], prob: f64) -> Interval {
    if sorted.is_empty() || !(prob > 0.0 && prob <= 1.0) {
        return UNKNOWN;
    }
    let span = ((prob * sorted.len() as f64) as usize).min(sorted.len() - 1);
    let mut best = Interval { lower: sorted[0], upper: sorted[span] };
    for (lower, upper) in sorted.iter().zip(&sorted[span..]) {
        if upper - lower < best.upper - best.lower {
            best = Interval { lower: *lower, upper: *upper };
        }
    }
    best
}

/// Equal-tailed interval: the quantiles at $(1-p)/2$ and $(1+p)/2$.
///
/// **Domain and edges**: as [`hdi`]. **Reference**: ArviZ `eti`.
pub fn equal_tailed_interval(draws: &Draws, prob: f64) -> Interval {
    sorted(draws).map_or(UNKNOWN, |sorted| equal_tailed_of_sorted(&sorted, prob))
}

/// [`equal_tailed_interval`] of finite numbers in ascending order; NaN of none.
pub fn equal_tailed_of_sorted(sorted: &[f64], prob: f64) -> Interval {
    if sorted.is_empty() || !(prob > 0.0 && prob <= 1.0) {
        return UNKNOWN;
    }
    let tail = (1.0 - prob) / 2.0;
    Interval {
        lower: quantile_of_sorted(sorted, tail),
        upper: quantile_of_sorted(sorted, 1.0 - tail),
    }
}

/// The draws, ascending, unless one is not finite.
pub(crate) fn sorted(draws: &Draws) -> Option<Vec<f64>> {
    let mut values: Vec<f64> = draws.iter().collect();
    if !values.iter().all(|x| x.is_finite()) {
        return None;
    }
    values.sort_unstable_by(f64::total_cmp);
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        let chains: [&[f64]; 2] = [&[3.0, 1.0], &[2.0, 9.0]];
        let draws = Draws::new(&chains).unwrap();
        for prob in [0.0, -0.1, 1.1, f64::NAN] {
            assert!(hdi(&draws, prob).lower.is_nan());
            assert!(equal_tailed_interval(&draws, prob).upper.is_nan());
        }
        assert_eq!(hdi(&draws, 1.0), Interval { lower: 1.0, upper: 9.0 });
        assert_eq!(hdi(&draws, 0.5), Interval { lower: 1.0, upper: 3.0 });
        let bad: [&[f64]; 1] = [&[1.0, f64::INFINITY]];
        assert!(hdi(&Draws::new(&bad).unwrap(), 0.5).lower.is_nan());
    }
}
