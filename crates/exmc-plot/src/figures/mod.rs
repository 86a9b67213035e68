//! Arrays -> figures, one file a plot.

mod autocorrelation;
mod compare;
mod energy;
mod ess;
mod forest;
mod loo_pit;
mod overview;
mod pair;
mod parallel;
mod pareto_k;
mod posterior;
mod predictive;
mod predictive_discrete;
mod prior;
mod rank;
mod sbc;
mod shape;
mod trace;

pub use autocorrelation::autocorrelation_plot;
pub use compare::{ComparedModel, compare_plot};
pub use energy::energy_plot;
pub use ess::{ess_evolution_plot, ess_quantile_plot};
pub use forest::{forest_by_index_plot, forest_plot};
pub use loo_pit::loo_pit_plot;
pub use overview::overview_plot;
pub use pair::pair_plot;
pub use parallel::parallel_plot;
pub use pareto_k::pareto_k_plot;
pub use posterior::posterior_plot;
pub use predictive::{Predictive, predictive_density_plot, predictive_ecdf_plot};
pub use predictive_discrete::{calibration_plot, rootogram_plot};
pub use prior::prior_posterior_plot;
pub use rank::rank_plot;
pub use sbc::sbc_plot;
pub use trace::trace_plot;

use crate::figure::{Figure, Key, Style};
use crate::parameter::Parameter;

/// "`mu`", "`mu` and `tau`", "`mu`, `tau` and 8 others".
pub(crate) fn names_of(parameters: &[Parameter]) -> String {
    let quoted: Vec<String> = parameters.iter().map(|p| format!("`{}`", p.name())).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [a, b] => format!("{a} and {b}"),
        [a, b, c] => format!("{a}, {b} and {c}"),
        [a, b, rest @ ..] => format!("{a}, {b} and {} others", rest.len()),
    }
}

/// A legend entry a chain.
pub(crate) fn explain_chains(figure: &mut Figure, n_chains: usize) {
    for chain in 0..n_chains {
        figure.explain(format!("chain {chain}"), Key::Line, Style::series(chain));
    }
}

/// "95 %".
pub(crate) fn percent(probability: f64) -> String {
    format!("{} %", crate::decimal::short(100.0 * probability, 3))
}

/// At most `most` of `n` numbers, evenly spread, the first one included.
pub(crate) fn spread(n: usize, most: usize) -> impl Iterator<Item = usize> {
    let kept = n.min(most);
    (0..kept).map(move |k| k * n / kept)
}
