//! Simultaneous band for the ranks that a chain's draws have among those of all chains.
//!
//! If all chains sample the same distribution, independently, the pooled order is a random order of
//! labels: among the first `m` of `L n` ranks a chain has a hypergeometric number. With $B_j$
//! independent binomial counts of a label between places, of probability $1/L$, the labels are
//! exactly $B$ given that their sum is $n$; the probability that all partial sums stay inside
//! limits is then one convolution a place and a division, so that the band's coverage is exact and
//! no simulation is needed.
//!
//! **Reference**: Säilynoja, Bürkner, Vehtari 2022, *Statistics and Computing* 32, section 2.4, who
//! get the adjustment for several samples by simulation.

use exmc_fault::{Fault, planted};
use exmc_math::{exp, lgamma, log};

/// Most places where the band is checked.
const MAX_PLACES: usize = 100;

/// Limits on how many of a chain's draws are among the first ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct RankBand {
    /// The places: numbers of ranks from the smallest on.
    pub places: Vec<usize>,
    /// The fewest and the most of the chain's draws among them.
    pub limits: Vec<(usize, usize)>,
    /// The exact probability that one chain leaves the limits somewhere.
    pub false_alarm: f64,
}

/// The band for a chain of `n` draws among `chains` chains of equal length, which one chain leaves
/// somewhere with probability at most `alpha / chains`; any of them with at most `alpha`.
///
/// **Edges**: `None` for fewer than two chains or two draws. **Numerics**: probabilities are formed
/// from log factorials: relative error about 1e-12.
pub fn rank_band(n: usize, chains: usize, alpha: f64) -> Option<RankBand> {
    if n < 2 || chains < 2 {
        return None;
    }
    let total = n * chains;
    let log_factorial: Vec<f64> = (0..=total).map(|k| lgamma(k as f64 + 1.0)).collect();
    let steps = (MAX_PLACES + 1).min(n);
    let places: Vec<usize> = (1..steps).map(|k| k * total / steps).collect();
    let counts: Vec<Counts> =
        places.iter().map(|m| Counts::hypergeometric(n, *m, total, &log_factorial)).collect();
    let alpha = if planted(Fault::BandOfOneChain) { alpha * chains as f64 } else { alpha };
    let wanted = alpha / chains as f64;
    let limits_at = |level: f64| counts.iter().map(|c| c.limits(0.5 * level)).collect::<Vec<_>>();
    let rate_of =
        |limits: &[(usize, usize)]| leaves(n, chains, total, &places, limits, &log_factorial);
    // Bonferroni's level cannot fail; the largest one that keeps to the rate lies above it.
    let (mut low, mut high) = (log(wanted / places.len() as f64), log(wanted));
    let mut limits = limits_at(exp(low));
    let mut false_alarm = rate_of(&limits);
    for _ in 0..30 {
        let middle = 0.5 * (low + high);
        let tighter = limits_at(exp(middle));
        let rate = rate_of(&tighter);
        if rate <= wanted {
            low = middle;
            (limits, false_alarm) = (tighter, rate);
        } else {
            high = middle;
        }
    }
    Some(RankBand { places, limits, false_alarm })
}

/// Tails of the number of a chain's draws among the first ranks.
struct Counts {
    first: usize,
    at_most: Vec<f64>,
    at_least: Vec<f64>,
}

impl Counts {
    fn hypergeometric(n: usize, m: usize, total: usize, log_factorial: &[f64]) -> Self {
        let choose =
            |n: usize, k: usize| log_factorial[n] - log_factorial[k] - log_factorial[n - k];
        let (first, last) = ((m + n).saturating_sub(total), m.min(n));
        let mass =
            (first..=last).map(|k| exp(choose(n, k) + choose(total - n, m - k) - choose(total, m)));
        let mass: Vec<f64> = mass.collect();
        let mut at_most = mass.clone();
        for k in 1..mass.len() {
            at_most[k] += at_most[k - 1];
        }
        let mut at_least = mass;
        for k in (0..at_least.len() - 1).rev() {
            at_least[k] += at_least[k + 1];
        }
        Self { first, at_most, at_least }
    }

    /// The shortest interval with at most `tail` below and at most `tail` above it.
    fn limits(&self, tail: f64) -> (usize, usize) {
        let lower = self.at_most.partition_point(|p| *p <= tail);
        let upper = self.at_least.partition_point(|p| *p > tail).saturating_sub(1).max(lower);
        (self.first + lower, self.first + upper)
    }
}

/// The probability that a chain leaves the limits at some place.
fn leaves(
    n: usize,
    chains: usize,
    total: usize,
    places: &[usize],
    limits: &[(usize, usize)],
    log_factorial: &[f64],
) -> f64 {
    let q = 1.0 / chains as f64;
    let (log_q, log_rest) = (log(q), exmc_math::log1p(-q));
    let binomial = |m: usize, k: usize| {
        let choose = log_factorial[m] - log_factorial[k] - log_factorial[m - k];
        exp(choose + k as f64 * log_q + (m - k) as f64 * log_rest)
    };
    // `inside[i]`: probability of a count of `first + i` at the place, having stayed inside.
    let (mut inside, mut first, mut before) = (vec![1.0], 0, 0);
    for (&place, &(lower, upper)) in places.iter().zip(limits) {
        let size = place - before;
        let mass: Vec<f64> = (0..=size).map(|k| binomial(size, k)).collect();
        let mut next = vec![0.0; upper - lower + 1];
        for (i, p) in inside.iter().enumerate() {
            let from = first + i;
            for (count, slot) in (lower..).zip(&mut next) {
                if (from..=from + size).contains(&count) {
                    *slot += p * mass[count - from];
                }
            }
        }
        (inside, first, before) = (next, lower, place);
    }
    let rest = total - before;
    let stayed = inside.iter().enumerate().map(|(i, p)| match n.checked_sub(first + i) {
        Some(k) if k <= rest => p * binomial(rest, k),
        _ => 0.0,
    });
    (1.0 - stayed.sum::<f64>() / binomial(total, n)).max(0.0)
}
