//! What a page is made of: a stored run with its texts and whatever was computed about it.

use exmc_diagnose::{RunDiagnostics, Summary, Warning};
use exmc_draws::{Method, Posterior, StoredRun};
use exmc_plot::Parameter;
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
    /// The observations with the largest shapes that are unreliable: name, shape, log predictive
    /// density.
    pub worst: Vec<(String, f64, f64)>,
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
    /// Variables that are not shown one by one: replications and log likelihoods of observations,
    /// which have figures of their own.
    pub aside: Vec<String>,
    /// Predictive checks, each with a name.
    pub checks: Vec<(String, Predictive)>,
    /// What the predictive checks leave out, as a sentence.
    pub checks_note: Option<String>,
    /// Leave-one-out cross-validation.
    pub loo: Option<Loo>,
    /// Draws of parameters from the prior; none where it was not asked for.
    pub prior: Vec<Parameter>,
}

impl Fit<'_> {
    /// Whether a recorded number is shown one by one.
    pub(crate) fn is_shown(&self, column: &str) -> bool {
        if self.aside.len() == self.run.posterior.variables.len() {
            return true;
        }
        let variable = column.split('[').next().unwrap_or(column);
        !self.aside.iter().any(|name| name == variable)
    }

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
    let all = posterior.judged((posterior.left_out(), posterior.label_switching()), &summaries);
    (summaries, totals, all)
}
