//! Leave-one-out cross-validation: the log likelihood of one observation after the other -> the
//! expected log predictive density, without refitting.
//!
//! For observation $i$ with log likelihoods $\ell_{is}$ over the $S$ draws, importance ratios
//! $e^{-\ell_{is}}$ turn draws of the posterior into draws of the posterior without it. With their
//! Pareto smoothed weights $w_{is}$ the predictive density is $\log \sum_s w_{is} e^{\ell_{is}}$.
//! One observation is looked at at a time, so memory does not grow with draws times observations.
//!
//! **Reference**: Vehtari, Gelman and Gabry 2017, *Statistics and Computing* 27(5).

use exmc_fault::{Fault, planted};
use exmc_math::simd::{self, Level};
use exmc_math::{log, log1p};

use crate::draws::Draws;
use crate::ess::ess_mean;
use crate::moments::{lane_sum, mean_of, variance_of};
use crate::psis::{Smoother, k_threshold, log_sum_exp_of, tail_length};

/// What leaving out one observation gives. All in nats.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct PointwiseLoo {
    /// Log predictive density of the observation given the others.
    pub elpd: f64,
    /// Log predictive density given all observations, this one too.
    pub lppd: f64,
    /// Pareto shape of its importance ratios; see [`k_threshold`].
    pub pareto_k: f64,
    /// Effective number of draws behind `elpd`: $r/\sum_s w_s^2$.
    pub n_eff: f64,
    /// Monte Carlo standard error of `elpd`; means nothing where `pareto_k` is too large.
    pub mcse: f64,
}

impl PointwiseLoo {
    /// Its share of the effective number of parameters: `lppd - elpd`.
    pub fn p_loo(&self) -> f64 {
        self.lppd - self.elpd
    }
}

/// Leave-one-out cross-validation of a model.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Loo {
    /// Number of draws, over all chains.
    pub n_draws: usize,
    /// One entry an observation, in the order they were given.
    pub pointwise: Vec<PointwiseLoo>,
    /// Expected log pointwise predictive density: the sum over observations.
    pub elpd: f64,
    /// Its standard error over observations: $\sqrt{n \operatorname{var}_i}$ with divisor $n - 1$;
    /// NaN for one observation.
    pub se: f64,
    /// Effective number of parameters.
    pub p_loo: f64,
    /// Its standard error.
    pub se_p_loo: f64,
    /// Monte Carlo standard error of `elpd`; NaN when an observation's $\hat k$ is too large.
    pub mcse: f64,
}

impl Loo {
    /// The sums over pointwise results.
    pub fn of(pointwise: Vec<PointwiseLoo>, n_draws: usize) -> Self {
        let column = |f: fn(&PointwiseLoo) -> f64| pointwise.iter().map(f).collect::<Vec<f64>>();
        let (elpd, p_loo) = (column(|p| p.elpd), column(PointwiseLoo::p_loo));
        let (sum, se) = sum_and_error(&elpd);
        let (sum_p, se_p_loo) = sum_and_error(&p_loo);
        let trusted = pointwise.iter().all(|p| p.pareto_k <= k_threshold(n_draws));
        let variance = lane_sum(&column(|p| p.mcse), |e| e * e);
        let mcse = if trusted { variance.sqrt() } else { f64::NAN };
        Loo { n_draws, elpd: sum, se, p_loo: sum_p, se_p_loo, mcse, pointwise }
    }

    /// The same with the observations in another order: `order[i]` is where the i-th one is now.
    ///
    /// # Panics
    /// When there is no such observation.
    #[must_use]
    pub fn in_order(&self, order: &[usize]) -> Self {
        Self::of(order.iter().map(|k| self.pointwise[*k]).collect(), self.n_draws)
    }

    /// The information criterion: `-2 * elpd`.
    pub fn looic(&self) -> f64 {
        -2.0 * self.elpd
    }

    /// The largest $\hat k$ to be trusted with this many draws.
    pub fn k_threshold(&self) -> f64 {
        k_threshold(self.n_draws)
    }

    /// The observations whose $\hat k$ is above the threshold, or unknown.
    pub fn untrusted(&self) -> Vec<usize> {
        let threshold = self.k_threshold();
        let bad = |p: &PointwiseLoo| p.pareto_k > threshold || p.pareto_k.is_nan();
        (0..self.pointwise.len()).filter(|&i| bad(&self.pointwise[i])).collect()
    }
}

/// A sum over observations and its standard error $\sqrt{n \operatorname{var}}$.
pub(crate) fn sum_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mut mean = mean_of(values);
    if mean.is_nan() && values.contains(&f64::NEG_INFINITY) && !values.iter().any(|x| x.is_nan()) {
        mean = f64::NEG_INFINITY;
    }
    let divisor = if planted(Fault::PopulationError) { (n - 1.0) / n } else { 1.0 };
    (mean * n, (n * variance_of(values, mean) * divisor).sqrt())
}

/// Takes the log likelihoods of one observation after the other, in one pass over the data.
///
/// Memory: a few numbers a draw and five an observation, whatever their product.
///
/// ```
/// use exmc_diagnose::LooBuilder;
/// let mut loo = LooBuilder::new();
/// for i in 0..20 {
///     let log_lik: Vec<f64> =
///         (0..400).map(|s| -0.5 * (f64::from(i * 400 + s) * 0.37).sin().powi(2) - 1.0).collect();
///     loo.push(&log_lik, 1.0);
/// }
/// let loo = loo.finish();
/// assert!(loo.untrusted().is_empty() && loo.elpd < -20.0);
/// ```
#[derive(Default)]
pub struct LooBuilder {
    pointwise: Vec<PointwiseLoo>,
    n_draws: usize,
    weights: Vec<f64>,
    terms: Vec<f64>,
    smoother: Smoother,
}

impl LooBuilder {
    /// A builder without observations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Leaves out one observation, given its log likelihood at every draw and the relative
    /// efficiency of the draws for it ([`relative_efficiency`]; 1 for independent draws).
    ///
    /// **Edges**: as [`crate::psis`] of the negative log likelihoods. A likelihood of 0 in a draw
    /// gives an `elpd` of $-\infty$ with $\hat k = \infty$; NaN gives NaN.
    ///
    /// # Panics
    /// When the number of draws differs from the first observation's, or is 0.
    pub fn push(&mut self, log_lik: &[f64], relative_efficiency: f64) -> PointwiseLoo {
        assert!(!log_lik.is_empty(), "an observation has no draws");
        if self.pointwise.is_empty() {
            self.n_draws = log_lik.len();
        }
        assert_eq!(log_lik.len(), self.n_draws, "all observations have the same draws");
        self.weights.clear();
        self.weights.extend(log_lik.iter().map(|l| -l));
        let tail = tail_length(self.n_draws, relative_efficiency);
        let k = self.smoother.smooth(&mut self.weights, tail);
        let left_out = of_weights(log_lik, &self.weights, k, relative_efficiency, &mut self.terms);
        self.pointwise.push(left_out);
        left_out
    }

    /// The sums over all observations.
    pub fn finish(self) -> Loo {
        Loo::of(self.pointwise, self.n_draws)
    }
}

/// Pointwise results of normalised log weights.
pub(crate) fn of_weights(
    log_lik: &[f64],
    log_weights: &[f64],
    pareto_k: f64,
    relative_efficiency: f64,
    terms: &mut Vec<f64>,
) -> PointwiseLoo {
    let lppd = log_sum_exp_of(log_lik) - log(log_lik.len() as f64);
    if log_lik.contains(&f64::NEG_INFINITY) && !log_lik.iter().any(|l| l.is_nan()) {
        let elpd = f64::NEG_INFINITY;
        return PointwiseLoo { elpd, lppd, pareto_k, n_eff: 0.0, mcse: f64::NAN };
    }
    terms.clear();
    terms.extend(log_weights.iter().zip(log_lik).map(|(w, l)| w + l));
    let elpd = if planted(Fault::LooKeepsObservation) { lppd } else { log_sum_exp_of(terms) };
    let level = Level::detect();
    let n = log_lik.len();
    terms.resize(2 * n, 0.0);
    let (weights, relative) = terms.split_at_mut(n);
    simd::exp(level, log_weights, weights);
    // Relative to the estimate, so that nothing underflows.
    let shifted: Vec<f64> = log_lik.iter().map(|l| l - elpd).collect();
    simd::exp(level, &shifted, relative);
    relative.iter_mut().zip(&*weights).for_each(|(r, w)| *r = w * (*r - 1.0));
    let variance = lane_sum(relative, |x| x * x);
    let n_eff = relative_efficiency / lane_sum(weights, |w| w * w);
    let mcse = (log1p(variance) / relative_efficiency).sqrt();
    PointwiseLoo { elpd, lppd, pareto_k, n_eff, mcse }
}

/// Effective sample size of an observation's likelihood over the number of draws.
///
/// **Edges**: 1 where the effective sample size is NaN: equal likelihoods, or too few draws.
/// **Numerics**: likelihoods are taken relative to the largest. **Reference**: R
/// `loo::relative_eff`, here with split chains.
pub fn relative_efficiency(log_lik: &Draws) -> f64 {
    let most = log_lik.iter().fold(f64::NEG_INFINITY, f64::max);
    let shifted: Vec<f64> = log_lik.iter().map(|l| l - most).collect();
    let mut likelihood = vec![0.0; shifted.len()];
    simd::exp(Level::detect(), &shifted, &mut likelihood);
    let chains: Vec<&[f64]> = likelihood.chunks_exact(log_lik.n_draws()).collect();
    let draws = Draws::new(&chains).expect("as many draws in every chain as before");
    let efficiency = ess_mean(&draws) / likelihood.len() as f64;
    if efficiency.is_nan() { 1.0 } else { efficiency }
}

/// Log likelihoods of groups of observations, for leaving out a group at a time: the sum over the
/// group's observations in each draw.
///
/// **Shapes**: `log_lik` yields one slice an observation, of one value a draw; `groups` says which
/// group each belongs to, from 0. The result has one vector a group, to be given to a
/// [`LooBuilder`]. Memory: draws times groups. An observation without a group is left out of all.
///
/// # Panics
/// When the slices differ in length.
pub fn group_log_likelihood<'a>(
    log_lik: impl IntoIterator<Item = &'a [f64]>,
    groups: &[usize],
) -> Vec<Vec<f64>> {
    let n_groups = groups.iter().max().map_or(0, |g| g + 1);
    let mut sums: Vec<Vec<f64>> = vec![Vec::new(); n_groups];
    for (observation, &group) in log_lik.into_iter().zip(groups) {
        let sum = &mut sums[group];
        if sum.is_empty() {
            sum.resize(observation.len(), 0.0);
        }
        assert_eq!(sum.len(), observation.len(), "all observations have the same draws");
        sum.iter_mut().zip(observation).for_each(|(s, l)| *s += l);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_and_unknown_likelihoods() {
        let mut log_lik: Vec<f64> = (0..100).map(|s| -f64::from(s % 7)).collect();
        let mut builder = LooBuilder::new();
        log_lik[3] = f64::NEG_INFINITY;
        let impossible = builder.push(&log_lik, 1.0);
        assert_eq!((impossible.elpd, impossible.pareto_k), (f64::NEG_INFINITY, f64::INFINITY));
        let loo = builder.finish();
        assert_eq!((loo.elpd, loo.untrusted()), (f64::NEG_INFINITY, vec![0]));
        assert!(loo.se.is_nan() && loo.mcse.is_nan());
        log_lik[3] = f64::NAN;
        let unknown = LooBuilder::new().push(&log_lik, 1.0);
        assert!(unknown.elpd.is_nan() && unknown.pareto_k.is_infinite());
    }

    #[test]
    fn an_observation_that_nothing_depends_on_costs_nothing() {
        let left_out = LooBuilder::new().push(&[-1.25; 200], 1.0);
        assert!((left_out.elpd + 1.25).abs() < 1e-14 && left_out.p_loo().abs() < 1e-14);
        assert_eq!((left_out.pareto_k, left_out.mcse), (f64::NEG_INFINITY, 0.0));
        assert!((left_out.n_eff - 200.0).abs() < 1e-10);
    }

    #[test]
    fn groups_add_up() {
        let rows = [[-1.0, -2.0], [-0.5, -0.25], [-4.0, -8.0]];
        let sums = group_log_likelihood(rows.iter().map(|r| r.as_slice()), &[1, 0, 1]);
        assert_eq!(sums, [vec![-0.5, -0.25], vec![-5.0, -10.0]]);
    }
}
