//! Nested R-hat: many short chains in groups that start together -> whether the groups agree.

use crate::draws::Draws;
use crate::gaussian_ranks::rank_scores;
use crate::moments::{mean_of, variance_of};
use crate::quantile::quantile_of_sorted;
use crate::sample::Sample;
use crate::split::Halves;

/// Rank-normalised nested R-hat: for many short chains, of which those of a group ("superchain")
/// have started at the same point.
///
/// The larger of the values for rank scores and for rank scores of distances from the median, each
/// $\sqrt{1 + \hat B/\hat W}$ over split chains: $\hat B$ is the variance of the groups' means,
/// $\hat W$ the mean over groups of the variance between and within their chains. `groups[c]` is
/// the group of chain `c`.
///
/// **Edges**: NaN for fewer than 2 groups, for groups of unequal size, for another number of groups
/// than of chains, and as the crate's table. **Reference**: Margossian et al. 2024, *Bayesian
/// Analysis*, equations 4 to 8; ArviZ `rhat_nested`, which splits as here.
pub fn nested_rhat(draws: &Draws, groups: &[usize]) -> f64 {
    let n_groups = groups.iter().max().map_or(0, |g| g + 1);
    let sizes: Vec<usize> =
        (0..n_groups).map(|g| groups.iter().filter(|&&other| other == g).count()).collect();
    let equal = sizes.windows(2).all(|pair| pair[0] == pair[1]);
    if groups.len() != draws.n_chains() || n_groups < 2 || !equal || sizes[0] == 0 {
        return f64::NAN;
    }
    let Some(sample) = Sample::gather(draws) else { return f64::NAN };
    let halves = sample.halves();
    let split: Vec<f64> = halves.iter().flatten().copied().collect();
    let of_half: Vec<usize> = groups.iter().flat_map(|&g| [g, g]).collect();
    let mut sorted = split.clone();
    sorted.sort_unstable_by(f64::total_cmp);
    let median = quantile_of_sorted(&sorted, 0.5);
    let folded: Vec<f64> = split.iter().map(|x| (x - median).abs()).collect();
    let value = |values: &[f64]| {
        nested(Halves::unsplit(&rank_scores(values), halves.len()), &of_half, n_groups)
    };
    value(&split).max(value(&folded))
}

fn nested(chains: Halves, groups: &[usize], n_groups: usize) -> f64 {
    let means: Vec<f64> = chains.iter().map(mean_of).collect();
    let variances: Vec<f64> =
        chains.iter().zip(&means).map(|(chain, &mean)| variance_of(chain, mean)).collect();
    let mut group_means = Vec::with_capacity(n_groups);
    let mut within = 0.0;
    for g in 0..n_groups {
        let of_group = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(groups).filter(|&(_, &group)| group == g).map(|(x, _)| *x).collect()
        };
        let (means, variances) = (of_group(&means), of_group(&variances));
        let mean = mean_of(&means);
        within += mean_of(&variances) + variance_of(&means, mean);
        group_means.push(mean);
    }
    within /= n_groups as f64;
    (1.0 + variance_of(&group_means, mean_of(&group_means)) / within).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_must_be_equal_and_as_many_as_chains() {
        let chain: Vec<f64> = (0..20).map(|t| f64::from(t * t % 13)).collect();
        let chains: Vec<&[f64]> = vec![&chain; 4];
        let draws = Draws::new(&chains).unwrap();
        for groups in [&[0, 0, 0, 1][..], &[0, 0, 1], &[0, 0, 0, 0], &[0, 0, 2, 2]] {
            assert!(nested_rhat(&draws, groups).is_nan(), "{groups:?}");
        }
        assert!(nested_rhat(&draws, &[0, 1, 0, 1]).is_finite());
    }
}
