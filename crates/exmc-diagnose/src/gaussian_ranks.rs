//! Rank normalisation: sorted draws -> normal scores of their ranks, ties sharing the average rank.
//!
//! The score of rank $r$ of $S$ is $\Phi^{-1}\!\left(\frac{r - 3/8}{S + 1/4}\right)$ (Blom 1958;
//! Vehtari et al. 2021, equation 14). Without ties these are the same $S$ numbers for every
//! parameter, so they are kept.

use exmc_math::std_normal_quantile;

/// Normal scores of the ranks of samples of one size, computed once and reused while the size
/// stays.
#[derive(Default)]
pub(crate) struct GaussianRanks {
    /// `table[r - 1]` is the score of rank `r`.
    table: Vec<f64>,
    /// Positions in order; the order of the values, or of their distances from the median.
    order: Vec<usize>,
    keys: Vec<f64>,
}

impl GaussianRanks {
    /// Writes to `scores[i]` the score of `values[i]` for each position `i` of `order`, which is
    /// ascending in value.
    pub(crate) fn scores(
        &mut self,
        order: impl Iterator<Item = usize>,
        values: &[f64],
        scores: &mut [f64],
    ) {
        self.order.clear();
        self.order.extend(order);
        self.keys.clear();
        self.keys.extend(self.order.iter().map(|&i| values[i]));
        self.assign(scores);
    }

    /// As [`GaussianRanks::scores`], for the distances of the values from their median.
    pub(crate) fn folded_scores(
        &mut self,
        order: impl Iterator<Item = usize>,
        values: &[f64],
        scores: &mut [f64],
    ) {
        self.order.clear();
        self.order.extend(order);
        let sorted = std::mem::take(&mut self.order);
        let n = sorted.len();
        let median = (values[sorted[(n - 1) / 2]] + values[sorted[n / 2]]) / 2.0;
        // Distances fall towards the middle from both ends, so the two sides merge in one pass.
        let distance = |k: usize| (values[sorted[k]] - median).abs();
        let (mut left, mut right) = (n / 2, n / 2);
        self.keys.clear();
        while left > 0 || right < n {
            let take_left = right == n || (left > 0 && distance(left - 1) <= distance(right));
            let k = if take_left {
                left -= 1;
                left
            } else {
                right += 1;
                right - 1
            };
            self.order.push(sorted[k]);
            self.keys.push(distance(k));
        }
        self.assign(scores);
    }

    /// Scores for `order` with ascending `keys`.
    fn assign(&mut self, scores: &mut [f64]) {
        let n = self.order.len();
        if self.table.len() != n {
            // Scores are odd about the middle, where rank and n + 1 - rank meet.
            self.table.clear();
            self.table.resize(n, 0.0);
            for low in 0..n / 2 {
                let score = score((low + 1) as f64, n);
                (self.table[low], self.table[n - 1 - low]) = (score, -score);
            }
        }
        let mut start = 0;
        while start < n {
            let mut end = start + 1;
            while end < n && self.keys[end] == self.keys[start] {
                end += 1;
            }
            // Ranks start + 1 to end have this average, a multiple of one half.
            let doubled = start + end + 1;
            let shared = if doubled % 2 == 0 {
                self.table[doubled / 2 - 1]
            } else {
                score(doubled as f64 / 2.0, n)
            };
            for &i in &self.order[start..end] {
                scores[i] = shared;
            }
            start = end;
        }
    }
}

/// Normal scores of the ranks of `values`, at their places.
pub(crate) fn rank_scores(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut scores = vec![0.0; values.len()];
    GaussianRanks::default().scores(order.into_iter(), values, &mut scores);
    scores
}

/// Blom's normal score of `rank` among `n`.
fn score(rank: f64, n: usize) -> f64 {
    std_normal_quantile((rank - 0.375) / (n as f64 + 0.25))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_the_average_rank() {
        let values = [3.0, 1.0, 3.0, 2.0, 3.0, 1.0];
        let mut scores = [0.0; 6];
        let mut ranks = GaussianRanks::default();
        ranks.scores([1, 5, 3, 0, 2, 4].into_iter(), &values, &mut scores);
        let expected = [5.0, 1.5, 5.0, 3.0, 5.0, 1.5].map(|rank| score(rank, 6));
        assert_eq!(scores, expected);
    }

    #[test]
    fn folding_ranks_distances_from_the_median() {
        // Median 2.5; distances 7.5, 2.5, 1.5, 1.5, 0.5, 0.5.
        let values = [10.0, 0.0, 4.0, 1.0, 2.0, 3.0];
        let mut scores = [0.0; 6];
        let mut ranks = GaussianRanks::default();
        ranks.folded_scores([1, 3, 4, 5, 2, 0].into_iter(), &values, &mut scores);
        let expected = [6.0, 5.0, 3.5, 3.5, 1.5, 1.5].map(|rank| score(rank, 6));
        assert_eq!(scores, expected);
    }
}
