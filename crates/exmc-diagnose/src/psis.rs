//! Pareto smoothed importance sampling: log importance ratios -> stable log weights and a
//! diagnostic.

use exmc_fault::{Fault, planted};
use exmc_math::simd::{self, Level};
use exmc_math::{exp, log, log_sum_exp, log10};

use crate::pareto_fit::ParetoFit;

/// Smoothed importance weights.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PsisWeights {
    /// Logarithms of the weights, which sum to 1.
    pub log_weights: Vec<f64>,
    /// Shape $\hat k$ of the tail of the ratios; the weights are to be trusted up to
    /// [`k_threshold`].
    pub k: f64,
}

/// Pareto smoothed importance sampling.
///
/// The largest ratios, [`tail_length`] of them, are replaced by the expected order statistics of
/// the generalised Pareto distribution that fits them, but by none above the largest; then all are
/// normalised.
///
/// **Shapes**: one log ratio a draw, in any unit: a constant does not change the result.
/// `relative_efficiency` is the effective sample size of the draws over their number, 1 for
/// independent draws. **Edges**: a log ratio of $-\infty$ is a weight of 0; any NaN or $+\infty$
/// gives NaN weights and $\hat k = \infty$; equal ratios give equal weights and $\hat k = -\infty$
/// (there is no tail); fewer than 21 draws, or a tail whose ratios are all equal, leave the weights
/// as they are, with $\hat k = \infty$; a tail that no Pareto distribution fits (its first quarter
/// is one value) leaves the weights as they are, with $\hat k$ NaN.
/// **Reference**: Vehtari, Simpson, Gelman, Yao and Gabry 2024, *Journal of Machine Learning
/// Research* 25(72), algorithm 1; R `loo::psis`.
///
/// ```
/// let log_ratios: Vec<f64> =
///     (0..1000).map(|i| -0.5 * (1.0 - (f64::from(i) + 0.5) / 1000.0).ln()).collect();
/// let weights = exmc_diagnose::psis(&log_ratios, 1.0);
/// assert!((weights.k - 0.4971).abs() < 1e-4);
/// assert!(weights.k < exmc_diagnose::k_threshold(1000));
/// ```
pub fn psis(log_ratios: &[f64], relative_efficiency: f64) -> PsisWeights {
    psis_of_tail(log_ratios, tail_length(log_ratios.len(), relative_efficiency))
}

/// As [`psis`], with the number of largest ratios that are smoothed given.
///
/// ArviZ 1.x rounds that number down where R `loo` and the reference implementation round up.
pub fn psis_of_tail(log_ratios: &[f64], tail: usize) -> PsisWeights {
    let mut log_weights = log_ratios.to_vec();
    let k = Smoother::default().smooth(&mut log_weights, tail);
    PsisWeights { log_weights, k }
}

/// How many ratios [`psis`] takes for the tail: $\lceil\min(S/5, 3\sqrt{S/r})\rceil$ of $S$ draws
/// of relative efficiency $r$.
///
/// **Reference**: Vehtari et al. 2024, section 3; R `loo`.
pub fn tail_length(n_draws: usize, relative_efficiency: f64) -> usize {
    let size = n_draws as f64;
    (0.2 * size).min(3.0 * (size / relative_efficiency).sqrt()).ceil() as usize
}

/// The largest $\hat k$ at which estimates from $S$ draws can be trusted: $\min(1 - 1/\log_{10} S,\
/// 0.7)$.
///
/// **Reference**: Vehtari et al. 2024, section 3.2.4.
pub fn k_threshold(n_draws: usize) -> f64 {
    (1.0 - 1.0 / log10(n_draws as f64)).min(0.7)
}

/// Smooths one set of ratios after another, keeping its buffers.
#[derive(Default)]
pub(crate) struct Smoother {
    order: Vec<usize>,
    distances: Vec<f64>,
}

impl Smoother {
    /// Turns log ratios into normalised, smoothed log weights, in place; returns $\hat k$.
    pub(crate) fn smooth(&mut self, ratios: &mut [f64], tail: usize) -> f64 {
        let most = ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !most.is_finite() || ratios.iter().any(|x| x.is_nan()) {
            ratios.fill(f64::NAN);
            return f64::INFINITY;
        }
        ratios.iter_mut().for_each(|x| *x -= most);
        let k = self.smooth_tail(ratios, tail);
        let total = log_sum_exp_of(ratios);
        ratios.iter_mut().for_each(|x| *x -= total);
        k
    }

    /// Replaces the largest `tail` of log ratios whose maximum is 0.
    fn smooth_tail(&mut self, ratios: &mut [f64], tail: usize) -> f64 {
        let n = ratios.len();
        if ratios.iter().all(|x| *x == 0.0) {
            return f64::NEG_INFINITY;
        }
        if tail < 5 || tail >= n {
            return f64::INFINITY;
        }
        self.order.clear();
        self.order.extend(0..n);
        // Equal ratios in the order of the draws, so that the result has one value.
        let by_ratio =
            |a: &usize, b: &usize| ratios[*a].total_cmp(&ratios[*b]).then_with(|| a.cmp(b));
        let first = n - tail;
        self.order.select_nth_unstable_by(first, by_ratio);
        let cutoff =
            self.order[..first].iter().map(|&i| ratios[i]).fold(f64::NEG_INFINITY, f64::max);
        let members = &mut self.order[first..];
        members.sort_unstable_by(by_ratio);
        if ratios[members[0]] == ratios[members[tail - 1]] {
            return f64::INFINITY;
        }
        let cutoff = exp(cutoff);
        self.distances.clear();
        self.distances.extend(members.iter().map(|&i| exp(ratios[i]) - cutoff));
        let Some(fit) = ParetoFit::of_sorted(&self.distances) else { return f64::NAN };
        if !fit.k.is_finite() || planted(Fault::TailNotSmoothed) {
            return fit.k;
        }
        for (place, &i) in members.iter().enumerate() {
            let p = (place as f64 + 0.5) / tail as f64;
            ratios[i] = log(fit.quantile(p) + cutoff).min(0.0);
        }
        fit.k
    }
}

/// Log of a sum of exponentials, eight at a time; NaN where a term is.
pub(crate) fn log_sum_exp_of(terms: &[f64]) -> f64 {
    let is_ordinary = terms.iter().all(|x| x.is_finite());
    if is_ordinary { simd::log_sum_exp(Level::detect(), terms) } else { log_sum_exp(terms) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges() {
        let ramp = |n: u32| -> Vec<f64> { (0..n).map(|i| f64::from(i * i % 101) * 0.05).collect() };
        let equal = psis(&[3.5; 100], 1.0);
        assert_eq!(equal.k, f64::NEG_INFINITY);
        assert!(equal.log_weights.iter().all(|w| (w + 100f64.ln()).abs() < 1e-14));
        assert_eq!(psis(&ramp(20), 1.0).k, f64::INFINITY);
        assert!(
            (psis(&ramp(20), 1.0).log_weights[3] - psis(&ramp(20), 1.0).log_weights[2] - 0.25)
                .abs()
                < 1e-12
        );
        for bad in [f64::NAN, f64::INFINITY] {
            let mut ratios = ramp(100);
            ratios[7] = bad;
            let weights = psis(&ratios, 1.0);
            assert_eq!(weights.k, f64::INFINITY);
            assert!(weights.log_weights.iter().all(|w| w.is_nan()));
        }
        let mut ratios = ramp(100);
        ratios[7] = f64::NEG_INFINITY;
        assert_eq!(psis(&ratios, 1.0).log_weights[7], f64::NEG_INFINITY);
        assert!(psis(&ratios, 1.0).k.is_finite());
        let steps: Vec<f64> = (0..100).map(|i| f64::from(i / 50)).collect();
        assert_eq!(psis(&steps, 1.0).k, f64::INFINITY);
        // A tail of 20, of which the first half is one value.
        let tied: Vec<f64> = (0..100).map(|i| f64::from(i32::max(i, 90))).collect();
        assert!(psis(&tied, 1.0).k.is_nan());
    }

    #[test]
    fn a_constant_changes_nothing() {
        let ratios: Vec<f64> = (0..400).map(|i| (f64::from(i) * 0.7).sin() * 3.0).collect();
        let moved: Vec<f64> = ratios.iter().map(|x| x - 1024.0).collect();
        let (a, b) = (psis(&ratios, 0.8), psis(&moved, 0.8));
        assert!((a.k - b.k).abs() < 1e-10);
        assert!((a.log_weights.iter().map(|x| exp(*x)).sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn tails_and_thresholds() {
        assert_eq!([100, 225, 1000, 4000].map(|s| tail_length(s, 1.0)), [20, 45, 95, 190]);
        assert_eq!(tail_length(1000, 0.25), 190);
        assert!((k_threshold(1000) - 2.0 / 3.0).abs() < 1e-15 && k_threshold(10_000) == 0.7);
    }
}
