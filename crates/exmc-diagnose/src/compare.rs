//! Comparison of models: pointwise predictive densities of several models -> differences with
//! errors, and weights.

use std::fmt;

use exmc_math::std_normal_cdf;

use crate::loo::sum_and_error;
use crate::stacking::stacking_weights;

/// One model's row of a comparison. In nats.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Which of the models given this is.
    pub model: usize,
    /// Expected log pointwise predictive density.
    pub elpd: f64,
    /// Its standard error.
    pub se: f64,
    /// Its difference from the best model's: 0 for that, negative for the others.
    pub elpd_diff: f64,
    /// Standard error of the difference, from the pointwise differences; 0 for the best model.
    pub se_diff: f64,
    /// Probability that the model predicts worse than the best one, if the difference were normally
    /// distributed; NaN for the best model, and one that predicts just alike. Too sure of itself
    /// where there are fewer than 100 observations or `elpd_diff` is within 4 of 0.
    pub p_worse: f64,
    /// Stacking weight.
    pub weight: f64,
}

/// Why models cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CompareError {
    /// There is no model, or it has no observation.
    Empty,
    /// Models are of different numbers of observations.
    Observations {
        /// The first model whose number differs from model 0's.
        model: usize,
        /// Model 0's number of observations.
        expected: usize,
        /// That model's.
        found: usize,
    },
}

impl fmt::Display for CompareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CompareError::Empty => write!(f, "there is no observation to compare models by"),
            CompareError::Observations { model, expected, found } => write!(
                f,
                "model {model} has {found} observations, model 0 has {expected}; only models of \
                 the same data can be compared"
            ),
        }
    }
}

impl std::error::Error for CompareError {}

/// Compares models by the log predictive densities of the same observations, best first.
///
/// The standard error of a difference is $\sqrt{n \operatorname{var}_i(\ell_{ki} - \ell_{0i})}$
/// with divisor $n - 1$, as R `loo` has it (ArviZ 1.3: divisor $n$, though it has $n - 1$ for
/// `se`). Models with equal elpd keep the order in which they were given.
///
/// # Errors
/// No models, no observations, different numbers of observations.
///
/// **Reference**: Vehtari, Gelman and Gabry 2017, section 5; Sivula, Magnusson, Matamoros and
/// Vehtari 2025 for `p_worse`.
///
/// ```
/// let (a, b) = ([-1.0, -1.5, -1.2], [-2.0, -1.4, -2.2]);
/// let rows = exmc_diagnose::compare(&[&b, &a])?;
/// assert_eq!((rows[0].model, rows[1].model), (1, 0));
/// assert!((rows[1].elpd_diff + 1.9).abs() < 1e-12 && rows[1].p_worse > 0.9);
/// # Ok::<(), exmc_diagnose::CompareError>(())
/// ```
pub fn compare(pointwise: &[&[f64]]) -> Result<Vec<Comparison>, CompareError> {
    let n = pointwise.first().map_or(0, |lpd| lpd.len());
    if n == 0 {
        return Err(CompareError::Empty);
    }
    if let Some((model, lpd)) = pointwise.iter().enumerate().find(|(_, lpd)| lpd.len() != n) {
        return Err(CompareError::Observations { model, expected: n, found: lpd.len() });
    }
    let sums: Vec<(f64, f64)> = pointwise.iter().map(|lpd| sum_and_error(lpd)).collect();
    let mut order: Vec<usize> = (0..pointwise.len()).collect();
    // NaN goes to the end.
    let rank = |k: usize| if sums[k].0.is_nan() { f64::NEG_INFINITY } else { sums[k].0 };
    order.sort_by(|&a, &b| rank(b).total_cmp(&rank(a)));
    let (best, weights) = (order[0], stacking_weights(pointwise));
    let row = |&model: &usize| {
        let (elpd, se) = sums[model];
        let row = Comparison {
            model,
            elpd,
            se,
            elpd_diff: 0.0,
            se_diff: 0.0,
            p_worse: f64::NAN,
            weight: weights[model],
        };
        if model == best {
            return row;
        }
        let differences: Vec<f64> =
            pointwise[model].iter().zip(pointwise[best]).map(|(a, b)| a - b).collect();
        let (elpd_diff, se_diff) = sum_and_error(&differences);
        Comparison { elpd_diff, se_diff, p_worse: std_normal_cdf(-elpd_diff / se_diff), ..row }
    };
    Ok(order.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_shapes_are_values() {
        assert_eq!(compare(&[]), Err(CompareError::Empty));
        assert_eq!(compare(&[&[]]), Err(CompareError::Empty));
        let (a, b) = ([-1.0, -2.0], [-1.0]);
        let error = CompareError::Observations { model: 1, expected: 2, found: 1 };
        assert_eq!(compare(&[&a, &b]), Err(error));
    }
}
