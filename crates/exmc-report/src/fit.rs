//! What a page is made of: a stored run with its texts and whatever was computed about it.

use exmc_diagnose::{RunDiagnostics, Summary, Thresholds, Warning, WarningKind, warnings};
use exmc_draws::{Method, Posterior, StoredRun};
use exmc_plot::figures::Predictive;

/// A file of a run directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// Its name: `model.stan`, `model.json`, `data.json`.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// Approximate leave-one-out cross-validation of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Loo {
    /// Expected log predictive density, in nats, and its standard error.
    pub elpd: (f64, f64),
    /// Effective number of parameters.
    pub p: f64,
    /// Pareto shape of each observation.
    pub pareto_k: Vec<f64>,
    /// Above it a shape is unreliable.
    pub limit: f64,
    /// Probability integral transform of each observation.
    pub pit: Option<Vec<f64>>,
}

/// A run to report.
#[derive(Clone, Debug)]
pub struct Fit<'a> {
    /// What it is called on the page: its directory.
    pub label: String,
    /// The run.
    pub run: &'a StoredRun,
    /// The model's text.
    pub model: Option<SourceText>,
    /// The data's text.
    pub data: Option<SourceText>,
    /// Predictive checks, each with a name.
    pub checks: Vec<(String, Predictive)>,
    /// Leave-one-out cross-validation.
    pub loo: Option<Loo>,
}

impl Fit<'_> {
    pub(crate) fn posterior(&self) -> &Posterior {
        &self.run.posterior
    }

    /// Whether a sampler made the draws.
    pub(crate) fn is_sampled(&self) -> bool {
        self.run.record.method == Method::Sample
    }
}

/// Summaries, totals and all warnings of a run: as `exmc summary` has them.
pub fn health(posterior: &Posterior) -> (Vec<(String, Summary)>, RunDiagnostics, Vec<Warning>) {
    let summaries = posterior.summary();
    let totals = posterior.diagnostics();
    let named: Vec<_> = summaries.iter().map(|(name, s)| (name.as_str(), s)).collect();
    let mut all: Vec<Warning> = posterior.left_out().into_iter().collect();
    let own = posterior.warnings.iter().filter(|w| w.kind != WarningKind::Chains);
    all.extend(own.cloned());
    all.extend(posterior.apart());
    all.extend(posterior.label_switching());
    all.extend(warnings(&named, &totals, &Thresholds::default()));
    (summaries, totals, all)
}
