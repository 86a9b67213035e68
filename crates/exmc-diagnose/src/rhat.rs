//! Potential scale reduction: chains -> R-hat, plain, split, rank-normalised and folded.

use crate::draws::Draws;
use crate::moments::{mean_of, variance_of};
use crate::sample::Sample;
use crate::split::Halves;

/// Rank-normalised R-hat: the larger of the rank-normalised split R-hat and [`folded_rhat`].
///
/// Above 1.01, the chains do not agree in location, scale or tails, and the draws should not be
/// used. **Domain and edges**: as the crate's table: NaN for fewer than 4 draws, non-finite or
/// equal draws; +inf for chains that are stuck at different points; one chain is compared with
/// itself by halves. **Reference**: Vehtari et al. 2021, section 4.
pub fn rank_rhat(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |mut sample| sample.rank_rhat())
}

/// Split R-hat of the draws themselves, without ranks: $\sqrt{(B/W + n - 1)/n}$.
///
/// $n$ is the length of the half chains, $B = n \operatorname{var}(\text{means})$, $W$ the mean of
/// their variances. **Edges**: as [`rank_rhat`]. Meaningless for targets without a variance; prefer
/// [`rank_rhat`]. **Reference**: Gelman et al. 2013, section 11.4.
pub fn split_rhat(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |sample| rhat_of_halves(sample.halves()))
}

/// R-hat of the rank-normalised distances from the median: sees chains that differ in scale only.
///
/// **Edges**: as [`rank_rhat`]; also NaN when all distances are equal.
/// **Reference**: Vehtari et al. 2021, section 4.
pub fn folded_rhat(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |mut sample| sample.folded_rhat())
}

/// R-hat of the rank-normalised draws: sees chains that differ in location, however heavy their
/// tails.
///
/// **Edges**: as [`rank_rhat`], whose other part is [`folded_rhat`]. **Reference**: Vehtari et al.
/// 2021, section 4; ArviZ `rhat(method="z_scale")`.
pub fn bulk_rhat(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |mut sample| sample.bulk_rhat())
}

/// R-hat of the chains as they are, neither split nor ranked: $\sqrt{(B/W + n - 1)/n}$.
///
/// Blind to a chain that drifts and to targets without a variance; prefer [`rank_rhat`].
/// **Edges**: as [`rank_rhat`], but NaN for one chain, which has nothing to differ from.
/// **Reference**: Gelman and Rubin 1992; ArviZ `rhat(method="identity")`.
pub fn plain_rhat(draws: &Draws) -> f64 {
    if draws.n_chains() < 2 {
        return f64::NAN;
    }
    Sample::gather(draws).map_or(f64::NAN, |sample| {
        rhat_of_halves(Halves::unsplit(sample.values(), draws.n_draws()))
    })
}

/// $\sqrt{(B/W + n - 1)/n}$ over half chains; 0/0 gives NaN, a positive $B$ over 0 gives +inf.
pub(crate) fn rhat_of_halves(halves: Halves) -> f64 {
    let n = halves.len() as f64;
    let mut means = Vec::with_capacity(halves.count());
    let mut within = 0.0;
    for half in halves.iter() {
        let mean = mean_of(half);
        within += variance_of(half, mean);
        means.push(mean);
    }
    within /= halves.count() as f64;
    let between = n * variance_of(&means, mean_of(&means));
    ((between / within + n - 1.0) / n).sqrt()
}
