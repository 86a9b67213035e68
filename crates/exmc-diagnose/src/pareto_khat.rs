//! Pareto $\hat k$ of draws: one scalar's draws -> whether its mean exists, as far as they show.

use exmc_math::pow;

use crate::draws::Draws;
use crate::ess::ess_tail;
use crate::interval::sorted;
use crate::pareto_fit::ParetoFit;

/// Shape of the heavier tail of a scalar's draws: the larger of the generalised Pareto shapes of
/// the largest and of the smallest draws.
///
/// From 1/2 on the variance, from 1 on the mean is infinite, and averages of draws say little. The
/// tails hold $\lfloor\min(S/5, 3\sqrt{S/r})\rfloor$ draws each, at least 5 and at most half, with
/// the relative efficiency $r$ of the tail ESS.
///
/// **Edges**: NaN when a draw is NaN or infinite, all are equal, a tail is of equal draws, there
/// are fewer than 10 draws, or the tail ESS is NaN. **Reference**: Vehtari et al. 2024, section
/// 3.2; R `posterior::pareto_khat`; ArviZ `pareto_khat`.
pub fn pareto_khat(draws: &Draws) -> f64 {
    let Some(mut values) = sorted(draws).filter(|values| values.len() >= 10) else {
        return f64::NAN;
    };
    let relative_efficiency = ess_tail(draws) / values.len() as f64;
    if relative_efficiency.is_nan() {
        return f64::NAN;
    }
    let tail = both_tails_length(values.len(), relative_efficiency);
    let right = tail_shape(&values, tail);
    values.reverse();
    values.iter_mut().for_each(|x| *x = -*x);
    let left = tail_shape(&values, tail);
    if right.is_nan() || left.is_nan() { f64::NAN } else { right.max(left) }
}

/// The fewest draws whose mean may be trusted, given the heavier tail's shape: $10^{1/(1 -
/// \max(0, \hat k))}$.
///
/// **Edges**: infinity from $\hat k = 0.99$ on; NaN where [`pareto_khat`] is. **Reference**:
/// Vehtari et al. 2024, equation 11; ArviZ `pareto_min_ss`.
pub fn pareto_min_sample_size(draws: &Draws) -> f64 {
    let k = pareto_khat(draws);
    if k.is_nan() {
        f64::NAN
    } else if k >= 0.99 {
        f64::INFINITY
    } else {
        pow(10.0, 1.0 / (1.0 - k.max(0.0)))
    }
}

/// Draws in each tail where both are looked at, as ArviZ counts them.
pub(crate) fn both_tails_length(n_draws: usize, relative_efficiency: f64) -> usize {
    let size = n_draws as f64;
    let wanted = if size * relative_efficiency > 225.0 {
        3.0 * (size / relative_efficiency).sqrt()
    } else {
        size / 5.0
    };
    (wanted as usize).min(n_draws / 2).max(5)
}

/// Shape of the largest `tail` of ascending values.
fn tail_shape(ascending: &[f64], tail: usize) -> f64 {
    let (below, members) = ascending.split_at(ascending.len() - tail);
    let cutoff = below[below.len() - 1];
    let distances: Vec<f64> = members.iter().map(|x| x - cutoff).collect();
    ParetoFit::of_sorted(&distances).map_or(f64::NAN, |fit| fit.k)
}
