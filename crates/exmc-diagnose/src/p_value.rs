//! Posterior predictive p-value: a statistic of replicated data and of the data -> how unusual the
//! data are to the model.

/// Share of replications whose statistic is at least the data's: $P(T(y^\mathrm{rep}) \ge T(y))$.
///
/// Near 0 or 1 the model does not reproduce this feature of the data. Not uniform for a right
/// model: statistics that the model fits stay near 1/2.
///
/// **Shapes**: a replicated statistic and the data's a draw; they are paired because a discrepancy
/// may depend on the parameters (give the same value each time if it does not). **Edges**: no
/// replication, or NaN anywhere, gives NaN. **Reference**: Gelman, Meng and Stern 1996; Gelman et
/// al. 2013, section 6.3.
///
/// # Panics
/// When the lengths differ.
///
/// ```
/// let replicated = [1.0, 4.0, 2.0, 8.0];
/// assert_eq!(exmc_diagnose::posterior_predictive_p(&replicated, &[3.0; 4]), 0.5);
/// ```
pub fn posterior_predictive_p(replicated: &[f64], observed: &[f64]) -> f64 {
    assert_eq!(replicated.len(), observed.len(), "a pair for each draw");
    if replicated.iter().chain(observed).any(|t| t.is_nan()) {
        return f64::NAN;
    }
    let at_least = replicated.iter().zip(observed).filter(|(rep, obs)| rep >= obs).count();
    at_least as f64 / replicated.len() as f64
}

/// The same with ties counted half, which is right for discrete statistics.
///
/// **Shapes**, **Edges**, **Panics**: as [`posterior_predictive_p`].
pub fn posterior_predictive_mid_p(replicated: &[f64], observed: &[f64]) -> f64 {
    let ties = replicated.iter().zip(observed).filter(|(rep, obs)| rep == obs).count();
    posterior_predictive_p(replicated, observed) - 0.5 * ties as f64 / replicated.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_edges() {
        assert_eq!(posterior_predictive_p(&[1.0, 1.0, 2.0, 0.0], &[1.0; 4]), 0.75);
        assert_eq!(posterior_predictive_mid_p(&[1.0, 1.0, 2.0, 0.0], &[1.0; 4]), 0.5);
        assert!(posterior_predictive_p(&[], &[]).is_nan());
        assert!(posterior_predictive_p(&[f64::NAN], &[1.0]).is_nan());
    }
}
