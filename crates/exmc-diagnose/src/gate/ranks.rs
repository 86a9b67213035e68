//! Uniformity of ranks: simulation-based calibration ranks -> chi-square test, ECDF band, one joint
//! gate.

use exmc_math::gamma_q;

use super::ecdf_band::{Crossing, EcdfBand};
use super::rank_error::{RankError, check_ranks};

/// Result of a chi-square test.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChiSquare {
    /// $\sum_b (O_b - E_b)^2/E_b$.
    pub statistic: f64,
    /// Degrees of freedom: bins minus one.
    pub degrees: usize,
    /// Probability of a statistic at least this large under uniform ranks.
    pub p_value: f64,
}

/// Chi-square test that independent ranks are uniform on `0..=max_rank`, in `n_bins` nearly equal
/// bins.
///
/// Bins of unequal width (when `n_bins` does not divide `max_rank + 1`) have unequal expectations.
/// **False alarms**: the p-value is asymptotic; with at least 5 expected ranks a bin, `p < 1e-4`
/// happens to a correct sampler with probability near 1e-4. **Power**: sees any shape, none of them
/// as early as a test made for it.
///
/// # Errors
/// No ranks, a rank above `max_rank`, fewer than 2 bins or more bins than possible ranks.
pub fn rank_chi_square(
    ranks: &[u32],
    max_rank: u32,
    n_bins: usize,
) -> Result<ChiSquare, RankError> {
    check_ranks(ranks, max_rank)?;
    let (size, bins) = (u64::from(max_rank) + 1, n_bins as u64);
    if n_bins < 2 || bins > size {
        return Err(RankError::Bins { n_bins });
    }
    let mut observed = vec![0.0; n_bins];
    for &rank in ranks {
        observed[(u64::from(rank) * bins / size) as usize] += 1.0;
    }
    let mut statistic = 0.0;
    for (bin, count) in (0..bins).zip(observed) {
        // Ranks r with floor(r bins / size) = bin: from ceil(bin size / bins) to before the next
        // bin's first.
        let width = ((bin + 1) * size).div_ceil(bins) - (bin * size).div_ceil(bins);
        let expected = ranks.len() as f64 * width as f64 / size as f64;
        statistic += (count - expected) * (count - expected) / expected;
    }
    let degrees = n_bins - 1;
    Ok(ChiSquare { statistic, degrees, p_value: gamma_q(0.5 * degrees as f64, 0.5 * statistic) })
}

/// Both tests of rank uniformity, chi-square in 20 bins and [`EcdfBand`], at half of the
/// false-alarm rate each.
///
/// Made once for a number of ranks, then used for each quantity of a calibration run.
///
/// **False alarms**: at most `alpha` a quantity for a correct sampler (the chi-square part
/// asymptotically). **Power** at `alpha` = 1e-4, by simulation of 400 runs of ranks on `0..=99`: a
/// posterior shifted by 0.2 sd is seen by 1000 ranks in 92 % of runs, one shifted by 0.1 sd by 4000
/// ranks in 92 %, one whose sd is 0.9 times the right one by 4000 ranks in 99 %. Two hundred ranks
/// see a shift of 0.2 sd in 5 % only.
///
/// ```
/// use exmc_diagnose::gate::RankGate;
/// let even: Vec<u32> = (0..1000).map(|i| i % 100).collect();
/// let gate = RankGate::new(1000, 99, 1e-4)?;
/// assert!(gate.check(&even)?.uniform);
/// assert!(!gate.check(&[50; 1000])?.uniform);
/// # Ok::<(), exmc_diagnose::gate::RankError>(())
/// ```
#[derive(Clone, Debug)]
pub struct RankGate {
    band: EcdfBand,
    max_rank: u32,
    n_bins: usize,
    alpha: f64,
}

/// What a [`RankGate`] measured.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RankEvidence {
    /// Whether both tests accept the ranks as uniform.
    pub uniform: bool,
    /// Chi-square test in 20 bins (fewer when there are fewer possible ranks).
    pub chi_square: ChiSquare,
    /// The first place where the empirical distribution leaves its band.
    pub crossing: Option<Crossing>,
}

impl RankGate {
    /// A gate for `n` independent ranks on `0..=max_rank` that fails a correct sampler at rate
    /// `alpha` at most.
    ///
    /// # Errors
    /// `n` = 0, `max_rank` = 0, or `alpha` outside `(0, 1)`.
    pub fn new(n: usize, max_rank: u32, alpha: f64) -> Result<Self, RankError> {
        let band = EcdfBand::new(n, max_rank, 0.5 * alpha)?;
        let n_bins = (max_rank as usize).saturating_add(1).min(20);
        Ok(RankGate { band, max_rank, n_bins, alpha })
    }

    /// Tests the ranks of one quantity.
    ///
    /// # Errors
    /// No ranks, a rank above the largest possible one, or another number of ranks than the gate
    /// was made for.
    pub fn check(&self, ranks: &[u32]) -> Result<RankEvidence, RankError> {
        let chi_square = rank_chi_square(ranks, self.max_rank, self.n_bins)?;
        let crossing = self.band.crossing(ranks)?;
        let uniform = crossing.is_none() && chi_square.p_value >= 0.5 * self.alpha;
        Ok(RankEvidence { uniform, chi_square, crossing })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chi_square_by_hand_with_unequal_bins() {
        // Ranks 0..=4 in 2 bins: {0, 1, 2} and {3, 4}; 10 ranks, expected 6 and 4, observed 3
        // and 7.
        let ranks = [0, 1, 2, 3, 3, 3, 4, 4, 4, 4];
        let test = rank_chi_square(&ranks, 4, 2).unwrap();
        assert!((test.statistic - (9.0 / 6.0 + 9.0 / 4.0)).abs() < 1e-14);
        // scipy.stats.chi2.sf(3.75, 1)
        assert!((test.p_value - 0.052_807_511_416_113_395).abs() < 1e-14);
        assert_eq!(test.degrees, 1);
    }

    #[test]
    fn bad_input_is_a_value() {
        assert_eq!(rank_chi_square(&[], 9, 2), Err(RankError::Empty));
        let outside = RankError::OutOfRange { rank: 10, max_rank: 9 };
        assert_eq!(rank_chi_square(&[3, 10], 9, 2), Err(outside.clone()));
        assert_eq!(RankGate::new(2, 9, 0.01).unwrap().check(&[3, 10]), Err(outside));
        assert_eq!(rank_chi_square(&[3], 9, 1), Err(RankError::Bins { n_bins: 1 }));
        assert_eq!(rank_chi_square(&[3], 9, 11), Err(RankError::Bins { n_bins: 11 }));
        assert_eq!(RankGate::new(0, 9, 0.01).unwrap_err(), RankError::Empty);
        assert_eq!(RankGate::new(1, 0, 0.01).unwrap_err(), RankError::Bins { n_bins: 1 });
        assert_eq!(RankGate::new(1, 9, 0.0).unwrap_err(), RankError::Alpha);
        assert_eq!(RankGate::new(1, 9, f64::NAN).unwrap_err(), RankError::Alpha);
    }
}
