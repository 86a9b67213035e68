//! Where draws differ from the rest: one scalar's draws with flags, or its chains -> what sits
//! apart.

use crate::draws::Draws;
use crate::moments::{mean_of, variance_of};

/// Where the flagged draws of a scalar lie among all of its draws.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FlaggedPlace {
    /// Mean of the flagged draws' ranks, as a share of all draws: near 0 they are the smallest,
    /// near 1 the largest, near 1/2 spread like the rest (or on both sides).
    pub mean_rank: f64,
    /// Distance of `mean_rank` from 1/2 in standard errors, if flagged draws were any draws.
    pub z: f64,
}

/// Where flagged draws lie: of divergent transitions, the region that trajectories fail in.
///
/// **Shapes**: a flag for each draw, chain after chain. **Edges**: `None` when none or all are
/// flagged, when a draw is NaN, or when their numbers differ. Ties share the average rank. The
/// standard error takes flagged draws for independent, so `z` ranks variables and is no test.
pub fn flagged_place(draws: &Draws, flags: &[bool]) -> Option<FlaggedPlace> {
    let values: Vec<f64> = draws.iter().collect();
    let n = values.len();
    let flagged = flags.iter().filter(|&&f| f).count();
    if flags.len() != n || flagged == 0 || flagged == n || values.iter().any(|x| x.is_nan()) {
        return None;
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut sum = 0.0;
    let mut start = 0;
    for run in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let middle = start as f64 + 0.5 * run.len() as f64;
        sum += middle * run.iter().filter(|&&i| flags[i]).count() as f64;
        start += run.len();
    }
    let (n, flagged) = (n as f64, flagged as f64);
    let mean_rank = sum / flagged / n;
    // The variance of the mean of a sample without replacement from 1/n, ..., 1.
    let variance = (n - flagged) / (n - 1.0) / (12.0 * flagged);
    Some(FlaggedPlace { mean_rank, z: (mean_rank - 0.5) / variance.sqrt() })
}

/// Chains of a scalar that sit apart from the others: the widest gap between the sorted means of
/// chains, where it is more than twice the larger of the deviations within the two chains beside
/// it.
///
/// **Shapes**: the numbers of the chains on the smaller side of the gap, ascending; those below it
/// where the sides are equal. Nothing where chains overlap, or there is only one. **Edges**:
/// nothing for non-finite draws or fewer than 2 draws a chain.
pub fn chains_apart(draws: &Draws) -> Vec<usize> {
    let values: Vec<f64> = draws.iter().collect();
    if draws.n_draws() < 2 || !values.iter().all(|x| x.is_finite()) {
        return Vec::new();
    }
    let mut chains: Vec<(usize, f64, f64)> = values
        .chunks_exact(draws.n_draws())
        .enumerate()
        .map(|(chain, x)| (chain, mean_of(x), variance_of(x, mean_of(x)).sqrt()))
        .collect();
    chains.sort_by(|a, b| a.1.total_cmp(&b.1));
    let gap = |k: usize| {
        let (below, above) = (chains[k - 1], chains[k]);
        (above.1 - below.1, 2.0 * below.2.max(above.2))
    };
    let widest = (1..chains.len()).max_by(|&a, &b| gap(a).0.total_cmp(&gap(b).0));
    let Some(split) = widest.filter(|&k| gap(k).0 > gap(k).1) else { return Vec::new() };
    let (below, above) = chains.split_at(split);
    let mut few: Vec<usize> =
        if below.len() <= above.len() { below } else { above }.iter().map(|c| c.0).collect();
    few.sort_unstable();
    few
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flagged_draws_have_a_place() {
        let chain: Vec<f64> = (0..100).map(|i| f64::from(i * 37 % 100)).collect();
        let chains: [&[f64]; 1] = [&chain];
        let draws = Draws::new(&chains).unwrap();
        let small: Vec<bool> = chain.iter().map(|x| *x < 10.0).collect();
        let place = flagged_place(&draws, &small).unwrap();
        assert!((place.mean_rank - 0.05).abs() < 1e-12 && place.z < -4.0);
        let any: Vec<bool> = (0..100).map(|i| i % 7 == 0).collect();
        assert!(flagged_place(&draws, &any).unwrap().z.abs() < 2.0);
        assert_eq!(flagged_place(&draws, &[false; 100]), None);
        assert_eq!(flagged_place(&draws, &[true; 100]), None);
        assert_eq!(flagged_place(&draws, &[true; 3]), None);
        let equal: [&[f64]; 1] = [&[1.0; 4]];
        let tied = flagged_place(&Draws::new(&equal).unwrap(), &[true, false, false, false]);
        assert_eq!(tied.unwrap().mean_rank, 0.5);
    }

    #[test]
    fn chains_on_the_other_side_of_a_gap() {
        let chain_around = |middle: f64| -> Vec<f64> {
            (0..50).map(|t| middle + (f64::from(t) * 0.7).sin()).collect()
        };
        let rows = [chain_around(0.0), chain_around(0.3), chain_around(9.0), chain_around(-0.2)];
        let chains: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        assert_eq!(chains_apart(&Draws::new(&chains).unwrap()), [2]);
        let near: Vec<&[f64]> = vec![&rows[0], &rows[1], &rows[3]];
        assert!(chains_apart(&Draws::new(&near).unwrap()).is_empty());
        assert!(chains_apart(&Draws::new(&near[..1]).unwrap()).is_empty());
        let stuck: [&[f64]; 2] = [&[1.0; 9], &[2.0; 9]];
        assert_eq!(chains_apart(&Draws::new(&stuck).unwrap()), [0]);
    }
}
