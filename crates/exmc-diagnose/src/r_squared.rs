//! Bayesian R-squared: predicted means of every draw -> the share of the variance that they
//! explain.

use crate::moments::{mean_of, variance_of};

/// Share of a draw's predictive variance that its means explain: $\operatorname{var}_i \mu_i /
/// (\operatorname{var}_i \mu_i + \sigma^2)$.
///
/// **Shapes**: the draw's predicted mean of each observation, and its residual variance (for
/// `n` observations of unequal variance the mean of them; for a Bernoulli model the mean of
/// $\mu_i (1 - \mu_i)$). One value a draw: call it for each. **Edges**: fewer than 2 observations
/// give NaN; no variance at all gives NaN. **Reference**: Gelman, Goodrich, Gabry and Vehtari 2019,
/// *The American Statistician* 73(3); ArviZ `bayesian_r2`.
///
/// ```
/// assert_eq!(exmc_diagnose::bayesian_r_squared(&[1.0, 2.0, 3.0], 3.0), 0.25);
/// ```
pub fn bayesian_r_squared(means: &[f64], residual_variance: f64) -> f64 {
    let explained = variance_of(means, mean_of(means));
    explained / (explained + residual_variance)
}

/// The same with the variance of the draw's residuals: $\operatorname{var}_i \mu_i /
/// (\operatorname{var}_i \mu_i + \operatorname{var}_i (y_i - \mu_i))$.
///
/// **Shapes**: the observations, and the draw's predicted mean of each. **Edges**: as
/// [`bayesian_r_squared`]. **Reference**: as there; ArviZ `residual_r2`.
///
/// # Panics
/// When the lengths differ.
pub fn residual_r_squared(observed: &[f64], means: &[f64]) -> f64 {
    assert_eq!(observed.len(), means.len(), "a mean for each observation");
    let residuals: Vec<f64> = observed.iter().zip(means).map(|(y, m)| y - m).collect();
    bayesian_r_squared(means, variance_of(&residuals, mean_of(&residuals)))
}
