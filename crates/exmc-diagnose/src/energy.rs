//! Energy diagnostics: a chain's Hamiltonian energies -> how well momentum refreshes explore them.

use crate::moments::{dot, mean_of, variance_of};

/// Estimated Bayesian fraction of missing information of one chain.
///
/// $\frac{1}{n-1}\sum_{t>1} (E_t - E_{t-1})^2 \big/ \frac{1}{n-1}\sum_t (E_t - \bar E)^2$, where
/// $E_t$ is the energy at the start of transition $t$, after its momentum was drawn. Near 1 (2 for
/// independent energies) is good; below 0.3 momentum refreshes move the energy too little, and the
/// tails are explored by slow diffusion.
///
/// **Edges**: fewer than 2 energies, constant or non-finite energies give NaN.
/// **Reference**: Betancourt 2016, arXiv 1604.00695; normalised as ArviZ 0.23 `bfmi`.
///
/// ```
/// assert_eq!(exmc_diagnose::e_bfmi(&[1.0, 3.0, 1.0, 3.0]), 3.0);
/// ```
pub fn e_bfmi(energy: &[f64]) -> f64 {
    if energy.len() < 2 || energy.iter().any(|e| !e.is_finite()) {
        return f64::NAN;
    }
    let steps: Vec<f64> = energy.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let movement = dot(&steps, &steps) / steps.len() as f64;
    movement / variance_of(energy, mean_of(energy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_nan() {
        for energy in [&[][..], &[1.0], &[0.1; 7], &[1.0, f64::INFINITY, 2.0], &[1.0, f64::NAN]] {
            assert!(e_bfmi(energy).is_nan(), "{energy:?}");
        }
    }
}
