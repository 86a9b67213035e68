//! Cross-validation with refits: a function that fits without some observations -> the expected log
//! predictive density.

use std::fmt;

use exmc_math::random::{ChainRng, Phase};
use exmc_math::{log, log_sum_exp};

use crate::loo::{Loo, sum_and_error};

/// Why observations cannot be divided into folds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoldError {
    /// Fewer than 2 folds, or more than there are observations (or groups) to divide.
    Folds {
        /// How many folds were asked for.
        n_folds: usize,
        /// How many observations or groups there are.
        available: usize,
    },
}

impl fmt::Display for FoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FoldError::Folds { n_folds, available } => {
                write!(f, "{n_folds} folds of {available}: give at least 2 and at most {available}")
            }
        }
    }
}

impl std::error::Error for FoldError {}

/// Divides observations at random into folds whose sizes differ by at most 1.
///
/// **Shapes**: the fold of each observation, from 0. The same seed gives the same folds.
///
/// # Errors
/// Fewer than 2 folds, or more than observations.
pub fn random_folds(n: usize, n_folds: usize, seed: u64) -> Result<Vec<usize>, FoldError> {
    check(n_folds, n)?;
    let order = shuffled((0..n).collect(), &mut ChainRng::new(seed, 0, Phase::Initial));
    let mut folds = vec![0; n];
    order.iter().enumerate().for_each(|(place, &i)| folds[i] = place % n_folds);
    Ok(folds)
}

/// Divides observations into folds that have each class in nearly the same proportion.
///
/// **Shapes** and **Errors**: as [`random_folds`]; `classes` has a number for each observation.
pub fn stratified_folds(
    classes: &[usize],
    n_folds: usize,
    seed: u64,
) -> Result<Vec<usize>, FoldError> {
    check(n_folds, classes.len())?;
    let mut order: Vec<usize> =
        shuffled((0..classes.len()).collect(), &mut ChainRng::new(seed, 0, Phase::Initial));
    order.sort_by_key(|&i| classes[i]);
    let mut folds = vec![0; classes.len()];
    order.iter().enumerate().for_each(|(place, &i)| folds[i] = place % n_folds);
    Ok(folds)
}

/// Divides groups of observations at random into folds: no group is split.
///
/// **Shapes** and **Errors**: as [`random_folds`]; `groups` has a number for each observation, and
/// there are at most as many folds as groups.
pub fn grouped_folds(groups: &[usize], n_folds: usize, seed: u64) -> Result<Vec<usize>, FoldError> {
    let mut names = groups.to_vec();
    names.sort_unstable();
    names.dedup();
    let of_group = random_folds(names.len(), n_folds, seed)?;
    let place = |g: &usize| names.binary_search(g).expect("every group is among the names");
    Ok(groups.iter().map(|g| of_group[place(g)]).collect())
}

fn check(n_folds: usize, available: usize) -> Result<(), FoldError> {
    let fits = (2..=available).contains(&n_folds);
    if fits { Ok(()) } else { Err(FoldError::Folds { n_folds, available }) }
}

/// Fisher and Yates' shuffle.
fn shuffled(mut items: Vec<usize>, rng: &mut ChainRng) -> Vec<usize> {
    for last in (1..items.len()).rev() {
        items.swap(last, rng.below(last as u64 + 1) as usize);
    }
    items
}

/// Result of cross-validation with refits, in nats.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Kfold {
    /// Log predictive density of each observation given the folds that it is not in.
    pub pointwise: Vec<f64>,
    /// Their sum.
    pub elpd: f64,
    /// Its standard error over observations, as of [`Loo::se`].
    pub se: f64,
}

/// Cross-validation by folds: `refit(left_out)` fits without the observations of a fold and returns
/// their log likelihoods, one vector an observation, in the order they were given.
///
/// **Shapes**: `folds` has the fold of each observation. Fits may have different numbers of draws.
/// **Errors**: those of `refit`.
///
/// # Panics
/// When `refit` returns another number of observations than were left out.
pub fn kfold<E>(
    folds: &[usize],
    mut refit: impl FnMut(&[usize]) -> Result<Vec<Vec<f64>>, E>,
) -> Result<Kfold, E> {
    let n_folds = folds.iter().max().map_or(0, |f| f + 1);
    let mut pointwise = vec![f64::NAN; folds.len()];
    for fold in 0..n_folds {
        let left_out: Vec<usize> = (0..folds.len()).filter(|&i| folds[i] == fold).collect();
        if left_out.is_empty() {
            continue;
        }
        let log_lik = refit(&left_out)?;
        assert_eq!(log_lik.len(), left_out.len(), "log likelihoods of all that was left out");
        for (&i, row) in left_out.iter().zip(&log_lik) {
            pointwise[i] = log_mean_exp(row);
        }
    }
    let (elpd, se) = sum_and_error(&pointwise);
    Ok(Kfold { pointwise, elpd, se })
}

/// Replaces the observations whose $\hat k$ is too large by exact refits without them:
/// `refit(i)` returns the log likelihood of observation `i` at draws of the posterior without it.
///
/// In the result they have $\hat k = 0$ and the full number of draws of the refit. **Errors**:
/// those of `refit`.
pub fn refit_untrusted<E>(
    loo: Loo,
    mut refit: impl FnMut(usize) -> Result<Vec<f64>, E>,
) -> Result<Loo, E> {
    let untrusted = loo.untrusted();
    let (n_draws, mut pointwise) = (loo.n_draws, loo.pointwise);
    for i in untrusted {
        let log_lik = refit(i)?;
        let n = log_lik.len() as f64;
        let elpd = log_mean_exp(&log_lik);
        let relative: Vec<f64> = log_lik.iter().map(|l| exmc_math::exp(l - elpd) - 1.0).collect();
        let variance = relative.iter().map(|x| x * x).sum::<f64>() / (n * n);
        let left_out = &mut pointwise[i];
        left_out.elpd = elpd;
        left_out.pareto_k = 0.0;
        left_out.n_eff = n;
        left_out.mcse = exmc_math::log1p(variance).sqrt();
    }
    Ok(Loo::of(pointwise, n_draws))
}

fn log_mean_exp(log_lik: &[f64]) -> f64 {
    log_sum_exp(log_lik) - log(log_lik.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folds_are_even_and_keep_classes_and_groups() {
        let folds = random_folds(23, 5, 1).unwrap();
        let sizes: Vec<usize> = (0..5).map(|f| folds.iter().filter(|&&g| g == f).count()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 23);
        assert!(sizes.iter().all(|s| (4..=5).contains(s)));
        assert_eq!(folds, random_folds(23, 5, 1).unwrap());
        assert_ne!(folds, random_folds(23, 5, 2).unwrap());

        let classes: Vec<usize> = (0..40).map(|i| usize::from(i % 4 == 0)).collect();
        let folds = stratified_folds(&classes, 5, 3).unwrap();
        for fold in 0..5 {
            let rare = (0..40).filter(|&i| folds[i] == fold && classes[i] == 1).count();
            assert_eq!(rare, 2);
        }

        let groups = [7, 7, 3, 3, 3, 9, 1, 1];
        let folds = grouped_folds(&groups, 3, 4).unwrap();
        assert!(folds[0] == folds[1] && folds[2] == folds[3] && folds[2] == folds[4]);
        assert_eq!(
            grouped_folds(&groups, 5, 0).unwrap_err(),
            FoldError::Folds { n_folds: 5, available: 4 }
        );
        assert!(random_folds(3, 1, 0).is_err() && random_folds(3, 4, 0).is_err());
    }

    #[test]
    fn every_observation_is_left_out_once() {
        let folds = [1, 0, 1, 0];
        let mut seen = Vec::new();
        let result = kfold(&folds, |left_out| {
            seen.push(left_out.to_vec());
            Ok::<_, ()>(left_out.iter().map(|&i| vec![-(i as f64); 3]).collect())
        })
        .unwrap();
        assert_eq!(seen, [vec![1, 3], vec![0, 2]]);
        assert!(
            result
                .pointwise
                .iter()
                .zip([0.0, -1.0, -2.0, -3.0])
                .all(|(a, b)| (a - b).abs() < 1e-15)
        );
        assert!((result.elpd + 6.0).abs() < 1e-14);
        assert!((result.se - (4.0 * 5.0f64 / 3.0).sqrt()).abs() < 1e-14);
        assert_eq!(kfold(&folds, |_| Err("no")), Err("no"));
    }
}
