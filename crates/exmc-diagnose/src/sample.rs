//! One parameter's draws, gathered and sorted once: draws -> the statistics that share that work.

use exmc_fault::{Fault, planted};

use crate::draws::Draws;
use crate::ess::{constant_up_to_rounding, ess_of_halves};
use crate::gaussian_ranks::GaussianRanks;
use crate::quantile::quantile_by;
use crate::rhat::rhat_of_halves;
use crate::split::Halves;

/// Usable draws of one scalar (at least 4 a chain, finite, not all equal), with buffers that are
/// kept between scalars.
#[derive(Default)]
pub(crate) struct Sample {
    values: Vec<f64>,
    n_draws: usize,
    /// (key that sorts as the value, position in `values`), ascending; empty until needed.
    order: Vec<(u64, usize)>,
    /// Where the buckets of the sort begin.
    starts: Vec<u32>,
    /// Scores of the ranks at the positions of `values`; only the positions in halves are
    /// meaningful.
    scores: Vec<f64>,
    has_scores: bool,
    ranks: GaussianRanks,
    scratch: Vec<f64>,
}

/// What [`Sample::refill`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Usable {
    /// All statistics have a value.
    Yes,
    /// All draws are equal (up to rounding): no R-hat, ESS or MCSE.
    Constant,
    /// Some draw is NaN or infinite.
    NonFinite,
    /// Fewer than 4 draws a chain.
    TooShort,
}

impl Sample {
    /// A sample for one use, or `None` when its R-hat and ESS are NaN by the crate's edge rules.
    pub(crate) fn gather(draws: &Draws) -> Option<Self> {
        let mut sample = Sample::default();
        (sample.refill(draws) == Usable::Yes).then_some(sample)
    }

    /// Replaces the draws, keeping buffers and rank scores.
    pub(crate) fn refill(&mut self, draws: &Draws) -> Usable {
        self.values.clear();
        draws.append_to(&mut self.values);
        self.n_draws = draws.n_draws();
        self.order.clear();
        self.has_scores = false;
        if !self.values.iter().all(|x| x.is_finite()) {
            Usable::NonFinite
        } else if constant_up_to_rounding(self.values.iter().copied()) {
            Usable::Constant
        } else if self.n_draws < 4 {
            Usable::TooShort
        } else {
            Usable::Yes
        }
    }

    /// All draws, chain after chain.
    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }

    /// The half chains of the draws.
    pub(crate) fn halves(&self) -> Halves<'_> {
        Halves::new(&self.values, self.n_draws)
    }

    /// Quantile of all draws.
    pub(crate) fn quantile(&mut self, p: f64) -> f64 {
        self.sort();
        quantile_by(self.values.len(), p, |k| self.values[self.order[k].1])
    }

    /// ESS of the draws.
    pub(crate) fn ess_mean(&mut self) -> f64 {
        ess_of_halves(Halves::new(&self.values, self.n_draws), &mut self.scratch)
    }

    /// ESS of the rank scores.
    pub(crate) fn ess_bulk(&mut self) -> f64 {
        self.score();
        ess_of_halves(Halves::new(&self.scores, self.n_draws), &mut self.scratch)
    }

    /// ESS of the indicator of being at most the quantile at `p`.
    pub(crate) fn ess_quantile(&mut self, p: f64) -> f64 {
        let bound = self.quantile(p);
        self.ess_indicator(|x| x <= bound)
    }

    /// ESS of the indicator of a set.
    pub(crate) fn ess_indicator(&mut self, is_inside: impl Fn(f64) -> bool) -> f64 {
        self.has_scores = false;
        self.scores.clear();
        self.scores.extend(self.values.iter().map(|&x| f64::from(u8::from(is_inside(x)))));
        ess_of_halves(Halves::new(&self.scores, self.n_draws), &mut self.scratch)
    }

    /// The smaller ESS of the 5 % and 95 % quantiles.
    pub(crate) fn ess_tail(&mut self) -> f64 {
        if planted(Fault::TailIsBulk) {
            return self.ess_bulk();
        }
        self.ess_quantile(0.05).min(self.ess_quantile(0.95))
    }

    /// The larger R-hat of rank scores and folded rank scores.
    pub(crate) fn rank_rhat(&mut self) -> f64 {
        let bulk = self.bulk_rhat();
        // `max` passes over a NaN, which the folded value is when all distances from the median are
        // equal.
        bulk.max(self.folded_rhat())
    }

    /// R-hat of the rank scores.
    pub(crate) fn bulk_rhat(&mut self) -> f64 {
        self.score();
        rhat_of_halves(Halves::new(&self.scores, self.n_draws))
    }

    /// R-hat of the rank scores of distances from the median.
    pub(crate) fn folded_rhat(&mut self) -> f64 {
        self.score_folded();
        rhat_of_halves(Halves::new(&self.scores, self.n_draws))
    }

    /// ESS of the rank scores of distances from the median.
    pub(crate) fn ess_folded(&mut self) -> f64 {
        self.score_folded();
        ess_of_halves(Halves::new(&self.scores, self.n_draws), &mut self.scratch)
    }

    fn score_folded(&mut self) {
        self.sort();
        self.has_scores = false;
        self.scores.resize(self.values.len(), 0.0);
        let in_halves = in_halves(self.n_draws);
        let order = self.order.iter().map(|&(_, i)| i).filter(|&i| in_halves(i));
        self.ranks.folded_scores(order, &self.values, &mut self.scores);
    }

    fn score(&mut self) {
        self.sort();
        if self.has_scores {
            return;
        }
        self.scores.resize(self.values.len(), 0.0);
        if planted(Fault::RanksForgotten) {
            self.scores.copy_from_slice(&self.values);
            return;
        }
        let in_halves = in_halves(self.n_draws);
        let order = self.order.iter().map(|&(_, i)| i).filter(|&i| in_halves(i));
        self.ranks.scores(order, &self.values, &mut self.scores);
        self.has_scores = true;
    }

    fn sort(&mut self) {
        if self.order.is_empty() {
            sort_positions(&self.values, &mut self.order, &mut self.starts);
        }
    }
}

/// Whether a position of chain-major values lies in a half chain: all but the middle draw of odd
/// chains.
fn in_halves(n_draws: usize) -> impl Fn(usize) -> bool {
    move |i| n_draws.is_multiple_of(2) || i % n_draws != n_draws / 2
}

/// Fills `order` with the keys and positions of finite values, ascending.
///
/// As many buckets as values, even in value, then each bucket for itself: draws are spread so
/// evenly that most buckets hold one or none. Whatever the values are, no bucket costs more than a
/// sort of its own.
fn sort_positions(values: &[f64], order: &mut Vec<(u64, usize)>, starts: &mut Vec<u32>) {
    let n = values.len();
    order.clear();
    if u32::try_from(n).is_err() {
        order.extend(values.iter().enumerate().map(|(i, &x)| (sort_key(x), i)));
        order.sort_unstable();
        return;
    }
    order.resize(n, (0, 0));
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let per_unit = n.saturating_sub(1) as f64 / (most - least);
    // Rises with x, because every rounding does; no number (equal values, an infinite range) is the
    // first bucket.
    let bucket = |x: f64| (((x - least) * per_unit) as usize).min(n - 1);
    starts.clear();
    starts.resize(n + 1, 0);
    for x in values {
        starts[bucket(*x) + 1] += 1;
    }
    let mut begin = 0;
    for count in &mut starts[1..] {
        begin += std::mem::replace(count, begin);
    }
    // `starts[b + 1]` is where bucket b begins, and in the end where it ends.
    for (i, x) in values.iter().enumerate() {
        let slot = &mut starts[bucket(*x) + 1];
        order[*slot as usize] = (sort_key(*x), i);
        *slot += 1;
    }
    for ends in starts.windows(2) {
        if ends[1] - ends[0] > 1 {
            order[ends[0] as usize..ends[1] as usize].sort_unstable();
        }
    }
}

/// A number that orders as the value does, with -0 equal to 0.
fn sort_key(x: f64) -> u64 {
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Even, heavy-tailed, tied, equal, extreme and few values, against the sort of the standard
    /// library.
    #[test]
    fn positions_come_in_the_order_of_their_values() {
        let wave = |i: i32| (f64::from(i) * 0.7).sin();
        let shapes: [&dyn Fn(i32) -> f64; 7] = [
            &wave,
            &|i| 1.0 / wave(i),
            &|i| (600.0 * wave(i)).exp(),
            &|i| f64::from(i % 3),
            &|_| 4.5,
            &|i| if i % 2 == 0 { f64::MAX } else { f64::MIN * wave(i).abs() },
            &|i| 1e-310 * wave(i),
        ];
        let (mut order, mut starts) = (Vec::new(), Vec::new());
        for shape in shapes {
            for n in [0, 1, 2, 7, 1000] {
                let values: Vec<f64> = (1..=n).map(shape).collect();
                sort_positions(&values, &mut order, &mut starts);
                let pairs = values.iter().enumerate().map(|(i, x)| (sort_key(*x), i));
                let mut expected: Vec<(u64, usize)> = pairs.collect();
                expected.sort_unstable();
                assert_eq!(order, expected);
            }
        }
    }

    #[test]
    fn keys_sort_as_values_do() {
        let ascending = [f64::MIN, -2.0, -1.0, -5e-324, 0.0, 5e-324, 1.0, 1.5, f64::MAX];
        assert!(ascending.windows(2).all(|w| sort_key(w[0]) < sort_key(w[1])));
        assert_eq!(sort_key(-0.0), sort_key(0.0));
    }
}
