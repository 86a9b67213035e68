//! Simultaneous band for the empirical distribution of uniform ranks, with exact coverage.
//!
//! At up to 100 places the number of ranks at or below is binomial. The band takes pointwise
//! binomial limits at one common level, as wide as the wanted *simultaneous* false-alarm rate asks
//! for; that rate is computed exactly, not simulated. Such a band is narrow near 0 and 1, where a
//! sup-distance (Kolmogorov, DKW) has no power.
//!
//! **Reference**: Säilynoja, Bürkner, Vehtari 2022, *Statistics and Computing* 32. Their recursion
//! multiplies binomial transitions; here uniform counts are Poisson counts given their sum, so the
//! increments are independent and each step is a plain convolution.

use exmc_math::{exp, lgamma, log, log1p};

use super::rank_error::{RankError, check_ranks};

/// Most places at which the band is checked.
const MAX_PLACES: u64 = 100;

/// Limits on how many of `n` uniform ranks may lie at or below each of up to 100 places.
#[derive(Clone, Debug, PartialEq)]
pub struct EcdfBand {
    n: usize,
    max_rank: u32,
    places: Vec<u32>,
    limits: Vec<(usize, usize)>,
    false_alarm: f64,
}

/// Where ranks leave an [`EcdfBand`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossing {
    /// The place: ranks at or below it were counted.
    pub rank: u32,
    /// How many there were.
    pub count: usize,
    /// The fewest that the band allows.
    pub lower: usize,
    /// The most that the band allows.
    pub upper: usize,
}

impl EcdfBand {
    /// The band for `n` independent ranks on `0..=max_rank` with simultaneous false-alarm rate at
    /// most `alpha`.
    ///
    /// **Cost**: about $100 \cdot w^2$ operations times 40, with $w \approx
    /// \sqrt{n}\,|\Phi^{-1}(\alpha/100)|$ the width of the band.
    ///
    /// # Errors
    /// `n` = 0, `max_rank` = 0, or `alpha` outside `(0, 1)`.
    pub fn new(n: usize, max_rank: u32, alpha: f64) -> Result<Self, RankError> {
        if n == 0 {
            return Err(RankError::Empty);
        }
        if max_rank == 0 {
            return Err(RankError::Bins { n_bins: 1 });
        }
        if !(alpha > 0.0 && alpha < 1.0) {
            return Err(RankError::Alpha);
        }
        let size = u64::from(max_rank) + 1;
        let steps = size.min(MAX_PLACES + 1);
        // The last place would be `max_rank` itself, where the count is always `n`.
        let places: Vec<u32> = (1..steps).map(|k| (k * size / steps) as u32 - 1).collect();
        let probabilities: Vec<f64> =
            places.iter().map(|&place| (f64::from(place) + 1.0) / size as f64).collect();
        let log_factorial: Vec<f64> = (0..=n).map(|k| lgamma(k as f64 + 1.0)).collect();
        let tails: Vec<Tails> =
            probabilities.iter().map(|&p| Tails::of_binomial(n, p, &log_factorial)).collect();

        // The widest level that cannot fail is Bonferroni's; search upwards from it on the log
        // scale.
        let limits_at =
            |level: f64| tails.iter().map(|t| t.limits(0.5 * level)).collect::<Vec<_>>();
        let alarm =
            |limits: &[(usize, usize)]| false_alarm(n, &probabilities, limits, &log_factorial);
        let mut limits = limits_at(alpha / places.len() as f64);
        let mut rate = alarm(&limits);
        let (mut low, mut high) = (log(alpha / places.len() as f64), log(alpha));
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            let tighter = limits_at(exp(middle));
            let tighter_rate = alarm(&tighter);
            if tighter_rate <= alpha {
                low = middle;
                (limits, rate) = (tighter, tighter_rate);
            } else {
                high = middle;
            }
        }
        Ok(EcdfBand { n, max_rank, places, limits, false_alarm: rate })
    }

    /// The exact probability that uniform ranks leave the band: at most the `alpha` asked for.
    pub fn false_alarm(&self) -> f64 {
        self.false_alarm
    }

    /// The band as (place, fewest, most) of ranks at or below the place.
    pub fn limits(&self) -> impl Iterator<Item = (u32, usize, usize)> + '_ {
        self.places.iter().zip(&self.limits).map(|(&place, &(low, high))| (place, low, high))
    }

    /// The first place where `ranks` leave the band, if any.
    ///
    /// # Errors
    /// No ranks, a rank above `max_rank`, or another number of ranks than the band was made for.
    pub fn crossing(&self, ranks: &[u32]) -> Result<Option<Crossing>, RankError> {
        check_ranks(ranks, self.max_rank)?;
        if ranks.len() != self.n {
            return Err(RankError::Count { expected: self.n, found: ranks.len() });
        }
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        Ok(self.limits().find_map(|(rank, lower, upper)| {
            let count = sorted.partition_point(|&r| r <= rank);
            let outside = count < lower || count > upper;
            outside.then_some(Crossing { rank, count, lower, upper })
        }))
    }
}

/// Both tails of a binomial distribution, each summed from its own end so that small values are
/// accurate.
struct Tails {
    /// `at_most[k]` is $P(X \le k)$.
    at_most: Vec<f64>,
    /// `at_least[k]` is $P(X \ge k)$.
    at_least: Vec<f64>,
}

impl Tails {
    fn of_binomial(n: usize, p: f64, log_factorial: &[f64]) -> Self {
        let (log_p, log_q) = (log(p), log1p(-p));
        let mass: Vec<f64> = (0..=n)
            .map(|k| {
                let log_choose = log_factorial[n] - log_factorial[k] - log_factorial[n - k];
                exp(log_choose + k as f64 * log_p + (n - k) as f64 * log_q)
            })
            .collect();
        let mut at_least = mass.clone();
        for k in (0..n).rev() {
            at_least[k] += at_least[k + 1];
        }
        let mut at_most = mass;
        for k in 1..=n {
            at_most[k] += at_most[k - 1];
        }
        Tails { at_most, at_least }
    }

    /// The shortest interval with at most `tail` below and at most `tail` above it.
    fn limits(&self, tail: f64) -> (usize, usize) {
        let lower = self.at_most.partition_point(|&p| p <= tail);
        let above = self.at_least.partition_point(|&p| p > tail);
        (lower, above.saturating_sub(1).max(lower))
    }
}

/// Exact probability that counts of `n` uniform ranks leave `limits` at some place.
///
/// With $N_j$ independent Poisson counts between places, of mean $n(p_j - p_{j-1})$, the wanted
/// coverage is $P(\text{all partial sums inside} \mid \sum N = n)$: one convolution a place, then a
/// division by $P(\sum N = n)$.
fn false_alarm(
    n: usize,
    probabilities: &[f64],
    limits: &[(usize, usize)],
    log_factorial: &[f64],
) -> f64 {
    let poisson = |mean: f64, k: usize| exp(k as f64 * log(mean) - mean - log_factorial[k]);
    let size = n as f64;
    // `inside[i]` is the probability of having stayed inside so far with a count of `first + i`.
    let (mut inside, mut first, mut before) = (vec![1.0], 0, 0.0);
    for (&p, &(lower, upper)) in probabilities.iter().zip(limits) {
        let last = first + inside.len() - 1;
        let fewest = lower.saturating_sub(last);
        let most = upper.saturating_sub(first);
        let step: Vec<f64> = (fewest..=most).map(|k| poisson(size * (p - before), k)).collect();
        let mut next = vec![0.0; upper + 1 - lower];
        for (i, &mass) in inside.iter().enumerate() {
            let from = first + i;
            let start = lower.max(from);
            if start > upper {
                break;
            }
            let increments = &step[start - from - fewest..=upper - from - fewest];
            for (target, &q) in next[start - lower..].iter_mut().zip(increments) {
                *target += mass * q;
            }
        }
        (inside, first, before) = (next, lower, p);
    }
    let rest = size * (1.0 - before);
    let stayed: f64 =
        inside.iter().enumerate().map(|(i, &mass)| mass * poisson(rest, n - first - i)).sum();
    (1.0 - stayed / poisson(size, n)).max(0.0)
}
