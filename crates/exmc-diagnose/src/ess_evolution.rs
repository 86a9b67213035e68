//! Evolution of the effective sample size: a statistic of growing parts of a run -> whether it
//! grows with the draws.

use crate::draws::Draws;

/// A statistic of the first $k$ draws of every chain, for `n_points` evenly spaced $k$ up to all.
///
/// The effective sample size of a run that mixes grows in proportion to its length; one that levels
/// off or falls says that chains have found something new. Any statistic may be given:
/// [`crate::ess_bulk`], [`crate::ess_tail`], [`crate::rank_rhat`].
///
/// **Shapes**: `n_points` pairs of $k = \lceil n i / \text{n\_points} \rceil$ and the statistic;
/// fewer when there are fewer draws. **Edges**: the statistic's own, so the first values may be
/// NaN.
/// **Reference**: Vehtari et al. 2021, appendix; ArviZ `plot_ess(kind="evolution")`.
///
/// ```
/// use exmc_diagnose::{Draws, ess_bulk, ess_evolution};
/// let chain: Vec<f64> = (0..100).map(|t| f64::from(t * t % 37)).collect();
/// let chains: [&[f64]; 2] = [&chain, &chain];
/// let evolution = ess_evolution(&Draws::new(&chains)?, 5, ess_bulk);
/// assert_eq!(evolution.iter().map(|(k, _)| *k).collect::<Vec<_>>(), [20, 40, 60, 80, 100]);
/// assert_eq!(evolution[4].1, ess_bulk(&Draws::new(&chains)?));
/// # Ok::<(), exmc_diagnose::DrawsError>(())
/// ```
pub fn ess_evolution(
    draws: &Draws,
    n_points: usize,
    statistic: impl Fn(&Draws) -> f64,
) -> Vec<(usize, f64)> {
    let (values, n_draws): (Vec<f64>, _) = (draws.iter().collect(), draws.n_draws());
    let mut lengths: Vec<usize> =
        (1..=n_points).map(|i| (n_draws * i).div_ceil(n_points.max(1))).collect();
    lengths.dedup();
    lengths
        .into_iter()
        .map(|k| {
            let first: Vec<&[f64]> = values.chunks_exact(n_draws).map(|c| &c[..k]).collect();
            let part = Draws::new(&first).expect("equal parts of chains of equal length");
            (k, statistic(&part))
        })
        .collect()
}
