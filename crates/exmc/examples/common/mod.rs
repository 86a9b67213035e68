//! Posterior draws and exact answers -> a printed comparison, and a failure when they differ.

use exmc::Fit;
use exmc::diagnose::{Draws, Summariser, mcse_sd};

/// Prints the named columns beside their exact posterior mean and, where known, standard deviation,
/// and asserts that each agrees within four Monte Carlo standard errors.
///
/// A right sampler fails that for one of 16 000 numbers at a random seed; at the fixed seeds of the
/// examples the outcome never changes. R-hat must lie below 1.01, the usual bar for converged
/// chains.
///
/// # Panics
/// When a column is missing or disagrees.
pub(crate) fn check(fit: &Fit, exact: &[(&str, f64, Option<f64>)]) {
    let posterior = fit.posterior();
    let diagnostics = posterior.diagnostics();
    println!(
        "  {} draws in {:.0} ms, {} leapfrog steps, {} divergences",
        posterior.chains.iter().map(|c| c.infos.len()).sum::<usize>(),
        1e3 * posterior.seconds,
        posterior.leapfrogs(),
        diagnostics.divergences
    );
    println!(
        "  {:14} {:>10} {:>10} {:>10} {:>10} {:>6} {:>6}",
        "", "mean", "exact", "sd", "exact", "ess", "rhat"
    );
    let names = posterior.column_names();
    let mut summariser = Summariser::new();
    for &(name, mean, sd) in exact {
        let column = names.iter().position(|n| n == name);
        let column = column.unwrap_or_else(|| panic!("no column `{name}` among {names:?}"));
        let chains = posterior.column(column);
        let chains: Vec<&[f64]> = chains.iter().map(Vec::as_slice).collect();
        let draws = Draws::new(&chains).expect("chains of a finished run have one length");
        let s = summariser.summary(&draws);
        let shown = sd.map_or_else(String::new, |sd| format!("{sd:.4}"));
        println!(
            "  {name:14} {:10.4} {mean:10.4} {:10.4} {shown:>10} {:6.0} {:6.3}",
            s.mean, s.sd, s.ess_bulk, s.rhat
        );
        let error = (s.mean - mean).abs() / s.mcse_mean;
        assert!(error < 4.0, "the mean of {name} is {error:.1} standard errors from {mean}");
        if let Some(sd) = sd {
            let error = (s.sd - sd).abs() / mcse_sd(&draws);
            assert!(error < 4.0, "the sd of {name} is {error:.1} standard errors from {sd}");
        }
        assert!(s.rhat < 1.01, "the chains disagree about {name}: R-hat {:.3}", s.rhat);
    }
}
