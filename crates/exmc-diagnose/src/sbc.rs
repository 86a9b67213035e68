//! Simulation-based calibration: a value that data were simulated from, and draws of the posterior
//! given those data -> its rank.
//!
//! If the sampler and the model are right, the rank of the true value among independent draws is
//! uniform on $0, \dots, L$. [`crate::gate::EcdfBand`] and [`crate::gate::RankGate`] judge ranks of
//! many simulations; [`EcdfDifference`] is what a plot shows.
//!
//! **Reference**: Talts, Betancourt, Simpson, Vehtari and Gelman 2018, arXiv 1804.06788; Säilynoja,
//! Bürkner and Vehtari 2022, *Statistics and Computing* 32(32).

use exmc_math::random::{ChainRng, Phase};

use crate::draws::Draws;
use crate::ess::ess_bulk;
use crate::gate::{EcdfBand, RankError};

/// Rank of `truth` among draws: how many are below it, with equal ones placed at random.
///
/// **Shapes**: `draws` must be nearly independent; thin them by [`thinning`]. The same seed gives
/// the same rank; give each simulation its own. **Edges**: NaN draws count as above.
pub fn sbc_rank(truth: f64, draws: impl IntoIterator<Item = f64>, seed: u64) -> u32 {
    let (mut below, mut equal) = (0, 0);
    for x in draws {
        below += u32::from(x < truth);
        equal += u32::from(x == truth);
    }
    let among = ChainRng::new(seed, 0, Phase::Initial).below(u64::from(equal) + 1);
    below + among as u32
}

/// Every how many draws to keep so that those left are nearly independent: $\lceil S/\mathrm{ESS}
/// \rceil$ of the bulk ESS.
///
/// **Edges**: 1 where the effective sample size is NaN or exceeds the number of draws.
pub fn thinning(draws: &Draws) -> usize {
    let total = (draws.n_chains() * draws.n_draws()) as f64;
    let every = (total / ess_bulk(draws)).ceil();
    if every >= 1.0 { every as usize } else { 1 }
}

/// The empirical distribution of ranks less the uniform one, with the band that it should stay in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct EcdfDifference {
    /// Where: the uniform distribution function, ascending in (0, 1).
    pub at: Vec<f64>,
    /// Empirical less uniform.
    pub difference: Vec<f64>,
    /// The band's lower end, empirical less uniform.
    pub lower: Vec<f64>,
    /// The band's upper end.
    pub upper: Vec<f64>,
    /// Whether the ranks leave the band anywhere.
    pub crosses: bool,
}

impl EcdfDifference {
    /// From ranks on `0..=max_rank` of independent simulations; ranks of a calibrated sampler leave
    /// the band somewhere with probability at most `alpha`.
    ///
    /// # Errors
    /// As [`EcdfBand::new`] and [`EcdfBand::crossing`].
    pub fn of(ranks: &[u32], max_rank: u32, alpha: f64) -> Result<Self, RankError> {
        let band = EcdfBand::new(ranks.len(), max_rank, alpha)?;
        let crosses = band.crossing(ranks)?.is_some();
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        let n = ranks.len() as f64;
        let mut out = EcdfDifference {
            at: Vec::new(),
            difference: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
            crosses,
        };
        for (place, fewest, most) in band.limits() {
            let uniform = (f64::from(place) + 1.0) / (f64::from(max_rank) + 1.0);
            let count = sorted.partition_point(|&r| r <= place);
            let less = |count: usize| count as f64 / n - uniform;
            out.at.push(uniform);
            out.difference.push(less(count));
            out.lower.push(less(fewest));
            out.upper.push(less(most));
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_what_is_below() {
        let draws = [0.1, 0.5, 0.9];
        assert_eq!(sbc_rank(0.0, draws, 1), 0);
        assert_eq!(sbc_rank(0.6, draws, 1), 2);
        assert_eq!(sbc_rank(2.0, draws, 1), 3);
        // Ties are spread evenly: 4000 ranks on 0..=3, each expected 1000 times, deviation 27.
        let mut counts = [0; 4];
        (0..4000).for_each(|seed| counts[sbc_rank(1.0, [1.0; 3], seed) as usize] += 1);
        assert!(counts.iter().all(|c: &i32| (c - 1000).abs() < 140), "{counts:?}");
    }

    #[test]
    fn a_band_tells_uniform_ranks_from_others() {
        let uniform: Vec<u32> = (0..400).map(|i| i % 100).collect();
        let even = EcdfDifference::of(&uniform, 99, 0.05).unwrap();
        assert!(!even.crosses && even.at.len() == 99);
        assert!(even.lower.iter().zip(&even.upper).all(|(l, u)| *l <= 0.0 && *u >= 0.0));
        let low: Vec<u32> = uniform.iter().map(|r| r / 2).collect();
        assert!(EcdfDifference::of(&low, 99, 0.05).unwrap().crosses);
        assert!(EcdfDifference::of(&[], 99, 0.05).is_err());
    }

    #[test]
    fn slow_chains_are_thinned() {
        let slow: Vec<f64> = (0..200).map(|t| (f64::from(t) * 0.05).sin()).collect();
        let mut rng = ChainRng::new(1, 0, Phase::Initial);
        let fast: Vec<f64> = (0..200).map(|_| rng.uniform()).collect();
        assert!(thinning(&Draws::new(&[&slow]).unwrap()) > 5);
        assert!(thinning(&Draws::new(&[&fast]).unwrap()) <= 2);
        assert_eq!(thinning(&Draws::new(&[&[1.0; 50]]).unwrap()), 1);
    }
}
