//! Leave-one-out probability integral transform: predictions for one observation with the weights
//! of leave-one-out -> where it fell among them.

use exmc_math::{exp, log_sum_exp};

/// Share of the weighted predictions below `observed`, plus `fraction` times the share equal to it.
///
/// Over the observations of a calibrated model these are uniform on $(0, 1)$. For continuous
/// predictions nothing is equal and `fraction` does not matter; for discrete ones draw `fraction`
/// uniformly, one for each observation, or take 1/2 for the middle of the step.
///
/// **Shapes**: one prediction of this observation and one log weight a draw; [`crate::psis`] of the
/// negative log likelihood gives the weights. **Domain and edges**: `fraction` in `[0, 1]`, else
/// NaN; NaN among predictions or weights gives NaN. The result lies in `[0, 1]`. **Reference**:
/// Gelfand, Dey and Chang 1992; Czado, Gneiting and Held 2009 for the randomised form; ArviZ
/// `loo_pit`.
///
/// # Panics
/// When the lengths differ.
///
/// ```
/// use exmc_diagnose::loo_pit;
/// let counts = [0.0, 1.0, 1.0, 2.0];
/// assert!((loo_pit(&counts, 1.0, &[0.0; 4], 0.0) - 0.25).abs() < 1e-15);
/// assert!((loo_pit(&counts, 1.0, &[0.0; 4], 1.0) - 0.75).abs() < 1e-15);
/// ```
pub fn loo_pit(predictions: &[f64], observed: f64, log_weights: &[f64], fraction: f64) -> f64 {
    assert_eq!(predictions.len(), log_weights.len(), "one weight for each prediction");
    let unknown = observed.is_nan() || predictions.iter().any(|x| x.is_nan());
    if unknown || !(0.0..=1.0).contains(&fraction) {
        return f64::NAN;
    }
    let total = log_sum_exp(log_weights);
    let share = |is_counted: &dyn Fn(f64) -> bool| -> f64 {
        let counted = predictions.iter().zip(log_weights).filter(|(x, _)| is_counted(**x));
        counted.map(|(_, w)| exp(w - total)).sum()
    };
    let below = share(&|x| x < observed);
    let equal = share(&|x| x == observed);
    (below + fraction * equal).min(1.0)
}
