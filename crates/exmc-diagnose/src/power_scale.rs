//! Power-scaling sensitivity: draws with the log density of a component, prior or likelihood -> how
//! the posterior would change if that component counted a little more or less.
//!
//! The component is raised to a power $\alpha$ near 1, which importance weights $e^{(\alpha -
//! 1)\ell}$ do without a refit. The distance between the weighted and the plain distribution of a
//! variable, over the change in $\log_2 \alpha$, is its sensitivity.
//!
//! **Reference**: Kallioinen, Paananen, Bürkner and Vehtari 2024, *Statistics and Computing*
//! 34(57).

use exmc_fault::{Fault, planted};
use exmc_math::{exp, log2};

use crate::draws::Draws;
use crate::ess::ess_tail;
use crate::pareto_khat::both_tails_length;
use crate::psis::{PsisWeights, psis_of_tail};

/// Powers on either side of 1 at which sensitivities are taken, as in R `priorsense` and ArviZ.
const POWERS: (f64, f64) = (0.99, 1.01);
/// The sensitivity from which on a component counts as mattering.
const SENSITIVE: f64 = 0.05;

/// Smoothed weights that turn draws of the posterior into draws of the one whose component has the
/// power `alpha`.
///
/// **Shapes**: `component` has the log density of the component (all its terms added up) at every
/// draw. The relative efficiency behind the tail's length is that of the tail ESS of the component,
/// its chains joined end to end. **Edges**: as [`crate::psis`]; a component that is constant gives
/// equal weights. **Reference**: ArviZ `power_scale_lw`.
pub fn power_scale_weights(component: &Draws, alpha: f64) -> PsisWeights {
    let values: Vec<f64> = component.iter().collect();
    let joined: [&[f64]; 1] = [&values];
    let joined = Draws::new(&joined).expect("a component has draws");
    let efficiency = ess_tail(&joined) / values.len() as f64;
    let efficiency = if efficiency.is_nan() { 1.0 } else { efficiency };
    let log_ratios: Vec<f64> = values.iter().map(|l| (alpha - 1.0) * l).collect();
    psis_of_tail(&log_ratios, both_tails_length(values.len(), efficiency))
}

/// Cumulative Jensen-Shannon distance between the distribution of draws and the same draws with
/// weights: the larger of the values for the draws and for their negatives.
///
/// **Scale**: 0 to 1, whatever the draws' units. **Shapes**: a weight a draw, not negative; their
/// sum does not matter. **Edges**: NaN for NaN or infinite draws or weights, and for equal draws.
/// **Reference**: Nguyen and Vreeken 2015; Kallioinen et al. 2024, section 2.4; ArviZ.
pub fn cjs_distance(draws: &[f64], weights: &[f64]) -> f64 {
    let usable = draws.iter().chain(weights).all(|x| x.is_finite());
    if !usable || draws.len() != weights.len() || draws.len() < 2 {
        return f64::NAN;
    }
    let mut pairs: Vec<(f64, f64)> = draws.iter().copied().zip(weights.iter().copied()).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let upward = one_sided_distance(&pairs);
    pairs.reverse();
    pairs.iter_mut().for_each(|(x, _)| *x = -*x);
    let downward = one_sided_distance(&pairs);
    if upward.is_nan() || downward.is_nan() { f64::NAN } else { upward.max(downward) }
}

/// The distance of the cumulative distributions of ascending draws.
fn one_sided_distance(pairs: &[(f64, f64)]) -> f64 {
    let n = pairs.len() as f64;
    let total: f64 = pairs.iter().map(|(_, w)| w).sum();
    let log_or_zero = |x: f64| if x == 0.0 { 0.0 } else { log2(x) };
    let (mut p_area, mut q_area) = (0.0, 0.0);
    let (mut p_sum, mut q_sum, mut cumulated) = (0.0, 0.0, 0.0);
    for (place, pair) in pairs.windows(2).enumerate() {
        let width = pair[1].0 - pair[0].0;
        cumulated += pair[0].1 / total;
        let (p, q) = ((place + 1) as f64 / n, cumulated);
        let middle = log_or_zero(0.5 * (p + q));
        p_area += width * p;
        q_area += width * q;
        p_sum += width * p * (log_or_zero(p) - middle);
        q_sum += width * q * (log_or_zero(q) - middle);
    }
    let half = 0.5 / std::f64::consts::LN_2;
    let from_p = (p_sum + half * (q_area - p_area)).max(0.0);
    let from_q = (q_sum + half * (p_area - q_area)).max(0.0);
    ((from_p + from_q) / (p_area + q_area)).sqrt()
}

/// Weights of a component scaled down and up, made once and used for every variable.
#[derive(Clone, Debug)]
pub struct PowerScaling {
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// The larger $\hat k$ of the two sets of weights.
    pub pareto_k: f64,
}

impl PowerScaling {
    /// From the log density of the component at every draw; see [`power_scale_weights`].
    pub fn new(component: &Draws) -> Self {
        let weights_of = |alpha| power_scale_weights(component, alpha);
        let (lower, upper) = (weights_of(POWERS.0), weights_of(POWERS.1));
        let weights = |w: &PsisWeights| w.log_weights.iter().map(|l| exp(*l)).collect();
        PowerScaling {
            pareto_k: lower.pareto_k().max(upper.pareto_k()),
            lower: weights(&lower),
            upper: weights(&upper),
        }
    }

    /// Sensitivity of a variable's distribution to the component: the mean, over powers of 0.99 and
    /// 1.01, of [`cjs_distance`] over the size of $\log_2 \alpha$.
    ///
    /// **Edges**: NaN as [`cjs_distance`]. **Reference**: Kallioinen et al. 2024, equation 6; ArviZ
    /// `psense`.
    pub fn sensitivity(&self, variable: &Draws) -> f64 {
        let values: Vec<f64> = variable.iter().collect();
        let rate = |weights: &[f64], alpha: f64| {
            let distance = cjs_distance(&values, weights);
            if planted(Fault::SensitivityUnscaled) {
                distance
            } else {
                distance / log2(alpha).abs()
            }
        };
        0.5 * (rate(&self.lower, POWERS.0) + rate(&self.upper, POWERS.1))
    }
}

impl PsisWeights {
    fn pareto_k(&self) -> f64 {
        if self.k.is_nan() { f64::INFINITY } else { self.k }
    }
}

/// What two sensitivities of a variable say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SensitivityVerdict {
    /// The posterior follows the likelihood and not the prior, or neither.
    Unremarkable,
    /// Both prior and likelihood move the posterior: they may contradict each other.
    PriorDataConflict,
    /// The prior moves the posterior and the likelihood does not.
    StrongPrior,
}

/// Reads the sensitivities to the prior and to the likelihood; 0.05 and more counts.
///
/// **Reference**: Kallioinen et al. 2024, table 1; ArviZ `psense_summary`.
pub fn sensitivity_verdict(prior: f64, likelihood: f64) -> SensitivityVerdict {
    match (prior >= SENSITIVE, likelihood >= SENSITIVE) {
        (true, true) => SensitivityVerdict::PriorDataConflict,
        (true, false) => SensitivityVerdict::StrongPrior,
        _ => SensitivityVerdict::Unremarkable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_no_distance_and_edges_are_nan() {
        let draws = [3.0, 1.0, 2.0, 5.0];
        assert!(cjs_distance(&draws, &[0.25; 4]).abs() < 1e-8);
        assert!(cjs_distance(&draws, &[0.4, 0.1, 0.1, 0.4]) > 0.01);
        assert!(cjs_distance(&[1.0; 4], &[0.25; 4]).is_nan());
        assert!(cjs_distance(&draws, &[0.25; 3]).is_nan());
        assert!(cjs_distance(&[1.0, f64::NAN], &[0.5; 2]).is_nan());
    }

    #[test]
    fn verdicts() {
        assert_eq!(sensitivity_verdict(0.01, 0.2), SensitivityVerdict::Unremarkable);
        assert_eq!(sensitivity_verdict(0.1, 0.2), SensitivityVerdict::PriorDataConflict);
        assert_eq!(sensitivity_verdict(0.1, 0.01), SensitivityVerdict::StrongPrior);
        assert_eq!(sensitivity_verdict(f64::NAN, 0.2), SensitivityVerdict::Unremarkable);
    }
}
