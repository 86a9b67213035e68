//! Chains -> ranks of their draws among all draws, and how many fall into each bin.

/// Ranks from 1 to S of each draw among all S draws; equal draws share the mean of their ranks.
///
/// **Shapes**: as the chains. NaN ranks last.
pub fn pooled_ranks(chains: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut places: Vec<(usize, usize)> = chains
        .iter()
        .enumerate()
        .flat_map(|(c, chain)| (0..chain.len()).map(move |t| (c, t)))
        .collect();
    let value = |&(c, t): &(usize, usize)| chains[c][t];
    places.sort_by(|a, b| value(a).total_cmp(&value(b)));
    let mut ranks: Vec<Vec<f64>> = chains.iter().map(|chain| vec![0.0; chain.len()]).collect();
    for equal in places.chunk_by(|a, b| value(a) == value(b)).scan(0, |before, group| {
        let first = *before + 1;
        *before += group.len();
        Some((group, 0.5 * (first + *before) as f64))
    }) {
        let (group, rank) = equal;
        for &(c, t) in group {
            ranks[c][t] = rank;
        }
    }
    ranks
}

/// How many of a chain's ranks among `total` fall into each of `bins` bins of equal width.
pub fn rank_counts(ranks: &[f64], total: usize, bins: usize) -> Vec<usize> {
    let mut counts = vec![0; bins];
    for rank in ranks {
        let place = ((rank - 0.5) / total as f64 * bins as f64) as usize;
        counts[place.min(bins - 1)] += 1;
    }
    counts
}
