//! One row of a summary table: one parameter's draws -> its estimates and how far to trust them.

use exmc_fault::{Fault, planted};

use crate::draws::Draws;
use crate::moments::{mean_of, variance_of};
use crate::sample::{Sample, Usable};

/// Estimates and diagnostics of one scalar over all draws of all chains.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// Mean; non-finite when a draw is.
    pub mean: f64,
    /// Sample standard deviation (divisor $S - 1$); 0 for equal draws.
    pub sd: f64,
    /// Monte Carlo standard error of the mean, see [`crate::mcse_mean`].
    pub mcse_mean: f64,
    /// Quantile at 0.05; all quantiles are of type 7, and NaN when a draw is non-finite, unless all
    /// are the same infinity.
    pub q5: f64,
    /// Quantile at 0.25.
    pub q25: f64,
    /// Median.
    pub q50: f64,
    /// Quantile at 0.75.
    pub q75: f64,
    /// Quantile at 0.95.
    pub q95: f64,
    /// Bulk effective sample size, see [`crate::ess_bulk`].
    pub ess_bulk: f64,
    /// Tail effective sample size, see [`crate::ess_tail`].
    pub ess_tail: f64,
    /// Rank-normalised R-hat, see [`crate::rank_rhat`].
    pub rhat: f64,
}

impl Summary {
    /// The summary of one scalar; for many, a [`Summariser`] saves most of the work.
    pub fn of(draws: &Draws) -> Self {
        Summariser::new().summary(draws)
    }
}

/// Summaries of many scalars with the same number of draws: keeps buffers and rank scores between
/// them.
///
/// ```
/// use exmc_diagnose::{Draws, Summariser};
/// let table: Vec<f64> = (0..200).map(|i| f64::from(i * i % 97)).collect();
/// let chains: [&[f64]; 2] = [&table, &table];
/// let mut summariser = Summariser::new();
/// for column in 0..2 {
///     let summary = summariser.summary(&Draws::column(&chains, 2, column)?);
///     assert!(summary.q5 < summary.q50 && summary.rhat < 1.01);
/// }
/// # Ok::<(), exmc_diagnose::DrawsError>(())
/// ```
#[derive(Default)]
pub struct Summariser {
    sample: Sample,
}

impl Summariser {
    /// A summariser with empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// The summary of one scalar: the same values as the single functions give.
    ///
    /// **Edges**: as the crate's table for R-hat, ESS and MCSE; equal draws still have mean, sd and
    /// quantiles, non-finite ones have NaN for everything but the mean (which says whether they
    /// were NaN or infinite) and, where all draws are the same infinity, the quantiles. **Cost**:
    /// one sort of the draws and four effective sample sizes.
    pub fn summary(&mut self, draws: &Draws) -> Summary {
        let usable = self.sample.refill(draws);
        let mean = mean_of_any(self.sample.values());
        let mut summary = Summary {
            mean,
            sd: f64::NAN,
            mcse_mean: f64::NAN,
            q5: f64::NAN,
            q25: f64::NAN,
            q50: f64::NAN,
            q75: f64::NAN,
            q95: f64::NAN,
            ess_bulk: f64::NAN,
            ess_tail: f64::NAN,
            rhat: f64::NAN,
        };
        if usable == Usable::NonFinite {
            // A log probability of zero in every draw is a constant like any other.
            let is_constant = mean.is_infinite() && self.sample.values().iter().all(|x| *x == mean);
            if is_constant {
                let quantiles = [&mut summary.q5, &mut summary.q25, &mut summary.q50];
                quantiles.into_iter().for_each(|q| *q = mean);
                (summary.q75, summary.q95) = (mean, mean);
            }
            return summary;
        }
        let sample = &mut self.sample;
        summary.sd = variance_of(sample.values(), mean).sqrt();
        summary.q5 = sample.quantile(0.05);
        summary.q25 = sample.quantile(0.25);
        summary.q50 = sample.quantile(0.5);
        summary.q75 = sample.quantile(0.75);
        summary.q95 = sample.quantile(0.95);
        if usable == Usable::Yes {
            let independent = planted(Fault::AutocorrelationForgotten);
            let ess = if independent { sample.values().len() as f64 } else { sample.ess_mean() };
            summary.mcse_mean = summary.sd / ess.sqrt();
            summary.ess_bulk = sample.ess_bulk();
            summary.rhat = sample.rank_rhat();
            summary.ess_tail = sample.ess_tail();
        }
        summary
    }
}

/// The mean, or for non-finite values the NaN or infinity that their plain sum is.
fn mean_of_any(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().sum();
    if sum.is_finite() { mean_of(values) } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ess_bulk, ess_tail, mcse_mean, quantile, rank_rhat, sd};

    #[test]
    fn equals_the_single_functions() {
        let mut summariser = Summariser::new();
        // Reused over sizes and kinds of draws, so that nothing may leak from one to the next.
        for (n, modulus) in [(40, 17), (41, 17), (6, 5), (40, 2), (41, 40)] {
            let chain = |c: i32| -> Vec<f64> {
                (0..n).map(|t: i32| f64::from((t * t + 3 * t * c + c) % modulus)).collect()
            };
            let (a, b, c) = (chain(0), chain(1), chain(2));
            let chains: [&[f64]; 3] = [&a, &b, &c];
            let draws = Draws::new(&chains).unwrap();
            let summary = summariser.summary(&draws);
            assert_eq!(summary.sd, sd(&draws));
            assert_eq!(summary.mcse_mean, mcse_mean(&draws));
            assert_eq!(summary.ess_bulk, ess_bulk(&draws));
            assert_eq!(summary.ess_tail, ess_tail(&draws));
            assert_eq!(summary.rhat, rank_rhat(&draws));
            let quantiles =
                [(summary.q5, 0.05), (summary.q25, 0.25), (summary.q50, 0.5), (summary.q95, 0.95)];
            for (found, p) in quantiles {
                assert_eq!(found, quantile(&draws, p));
            }
            assert_eq!(summary, Summary::of(&draws));
        }
    }
}
