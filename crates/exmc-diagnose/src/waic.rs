//! Widely applicable information criterion: log likelihoods, one observation after the other -> the
//! expected log predictive density by the variance of the log likelihood.

use exmc_fault::{Fault, planted};
use exmc_math::{log, log_sum_exp};

use crate::loo::sum_and_error;
use crate::moments::{mean_of, variance_of};

/// WAIC of a model, in nats; prefer [`crate::Loo`], which says when it fails.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Waic {
    /// Pointwise (log predictive density, effective number of parameters).
    pub pointwise: Vec<(f64, f64)>,
    /// Expected log pointwise predictive density: $\sum_i (\mathrm{lppd}_i - p_i)$.
    pub elpd: f64,
    /// Its standard error, as of [`crate::Loo::se`].
    pub se: f64,
    /// Effective number of parameters: $\sum_i \operatorname{var}_s \ell_{is}$.
    pub p_waic: f64,
}

impl Waic {
    /// The information criterion: `-2 * elpd`.
    pub fn waic(&self) -> f64 {
        -2.0 * self.elpd
    }

    /// The observations whose variance of the log likelihood is above 0.4, for which WAIC is not to
    /// be trusted (Vehtari, Gelman and Gabry 2017, section 2.2).
    pub fn untrusted(&self) -> Vec<usize> {
        let bad = |i: &usize| self.pointwise[*i].1 > 0.4 || self.pointwise[*i].1.is_nan();
        (0..self.pointwise.len()).filter(bad).collect()
    }
}

/// WAIC from one slice an observation, of one log likelihood a draw.
///
/// Variances have divisor $S - 1$, and $n - 1$ for the standard error, as in R `loo` (ArviZ 0.23
/// has $S$ and $n$; ArviZ 1.x has no WAIC). **Edges**: no observation gives zeros; a log likelihood
/// that is NaN or infinite, or a single draw, gives NaN.
/// **Reference**: Watanabe 2010; Vehtari, Gelman and Gabry 2017, *Statistics and Computing* 27(5).
///
/// ```
/// let likelihood: [[f64; 2]; 2] = [[0.2, 0.4], [0.5, 0.5]];
/// let log_lik = likelihood.map(|row| row.map(f64::ln));
/// let waic = exmc_diagnose::waic(log_lik.iter().map(|row| row.as_slice()));
/// assert!((waic.waic() - 4.274693).abs() < 1e-6 && (waic.se - 0.751052).abs() < 1e-6);
/// ```
pub fn waic<'a>(log_lik: impl IntoIterator<Item = &'a [f64]>) -> Waic {
    let pointwise: Vec<(f64, f64)> = log_lik
        .into_iter()
        .map(|row| {
            let n = row.len() as f64;
            let lppd = log_sum_exp(row) - log(n);
            let divisor = if planted(Fault::PopulationVariance) { (n - 1.0) / n } else { 1.0 };
            (lppd, variance_of(row, mean_of(row)) * divisor)
        })
        .collect();
    if pointwise.is_empty() {
        return Waic { pointwise, elpd: 0.0, se: f64::NAN, p_waic: 0.0 };
    }
    let elpd: Vec<f64> = pointwise.iter().map(|(lppd, p)| lppd - p).collect();
    let (sum, se) = sum_and_error(&elpd);
    let p_waic = pointwise.iter().map(|(_, p)| p).sum();
    Waic { pointwise, elpd: sum, se, p_waic }
}
