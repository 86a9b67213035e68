//! A fit: draws of a posterior by name, what they say, and what follows from them.

mod leave_out;
mod many;
mod monitor;
mod prediction;
mod store;
mod summary;
mod target;

use std::ops::Index;
use std::path::Path;
use std::sync::OnceLock;

use exmc_diagnose::{Summary, Warning};
use exmc_draws::{Posterior, Variable};
use exmc_infer::{SamplerConfig, WarmStart};
use exmc_model::{Code, Diagnostic};

use crate::arrays::DrawArray;
use crate::compile::BoundModel;
use crate::error::Error;
use crate::stan::StanModel;

pub use many::{Bind, Template, fit_each, fit_many};
pub use monitor::{Cancel, Monitor, MonitoredDraw, Status, TimeLimit, Verdict, sample_monitored};
pub use prediction::{FailedDraw, NewData, Outcomes};
pub use store::{coordinates, executor_name};
pub use summary::{FitSummary, HEAD as SUMMARY_HEAD, cells as summary_cells};
pub use target::{Density, Target, sample};

/// The draws of a run by name, with the model that they are of.
///
/// ```
/// use exmc::{ModelBuilder, SamplerConfig, distributions::{half_normal, normal}};
///
/// let mut model = ModelBuilder::new();
/// model.rv("mu", normal(0, 10));
/// model.rv("sigma", half_normal(2));
/// model.rv("y", normal("mu", "sigma")).shape(5);
/// model.observe("y_obs", "y", [2.1, 2.5, 1.8, 2.3, 2.7]);
///
/// let fit = exmc::sample(&model.build()?, &SamplerConfig::default().seed(1))?;
/// assert!(fit.diagnose().is_empty());
/// let mu = &fit["mu"];
/// assert_eq!(mu.shape(), [4, 1000]);
/// assert!((mu.mean() - 2.278).abs() < 4.0 * fit.summary()["mu"].mcse_mean);
/// println!("{}", fit.summary());
/// # Ok::<(), exmc::Error>(())
/// ```
#[derive(Debug)]
pub struct Fit {
    posterior: Posterior,
    settings: SamplerConfig,
    source: Source,
    /// Whether a time limit ended the run.
    is_late: bool,
    /// One a variable, copied out of the posterior when somebody asks.
    arrays: Vec<OnceLock<DrawArray>>,
}

/// What the draws are of.
#[derive(Clone, Debug)]
enum Source {
    /// A model with its data, in the coordinates that it was sampled in.
    Model(Box<BoundModel>),
    /// A Stan program with its data, likewise.
    Stan(Box<StanModel>),
    /// A density of the caller's, or draws of which the model is not known.
    Unknown,
}

impl Fit {
    fn new(posterior: Posterior, settings: SamplerConfig, source: Source) -> Self {
        let arrays = posterior.variables.iter().map(|_| OnceLock::new()).collect();
        Self { posterior, settings, source, is_late: false, arrays }
    }

    /// The settings of the run.
    pub fn settings(&self) -> &SamplerConfig {
        &self.settings
    }

    /// The same fit, of which predictive draws have random numbers of another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    fn late(mut self, is_late: bool) -> Self {
        self.is_late = is_late;
        self
    }

    /// Whether the run came to its end, or was stopped before.
    pub fn status(&self) -> Status {
        monitor::status(&self.posterior.chains, self.is_late)
    }

    /// Names of all recorded variables, in their order.
    pub fn names(&self) -> Vec<&str> {
        self.posterior.variables.iter().map(|variable| variable.name.as_str()).collect()
    }

    /// The draws of a variable: `[chain, draw, ...]`, over the chains that did not fail and the
    /// draws that all of them have.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// let fit = sample(&model, &SamplerConfig::default().chains(2).draws(100))?;
    /// assert_eq!(fit.get("mu").unwrap().shape(), [2, 100]);
    /// assert!(fit.get("nu").is_none());
    /// # Ok::<(), exmc::Error>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&DrawArray> {
        let k = self.posterior.variables.iter().position(|variable| variable.name == name)?;
        Some(self.arrays[k].get_or_init(|| self.array(&self.posterior.variables[k])))
    }

    fn array(&self, variable: &Variable) -> DrawArray {
        let usable = self.posterior.usable_chains();
        let draws = usable.iter().map(|chain| chain.infos.len()).min().unwrap_or(0);
        let (width, len) = (self.posterior.width(), variable.len());
        let mut values = Vec::with_capacity(usable.len() * draws * len);
        for chain in &usable {
            for row in chain.values.chunks_exact(width.max(1)).take(draws) {
                values.extend_from_slice(&row[variable.offset..variable.offset + len]);
            }
        }
        DrawArray::new(usable.len(), draws, variable.shape.as_slice(), values)
            .expect("a chain has a row of all columns for each of its draws")
    }

    /// Names with their draws.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &DrawArray)> {
        self.names().into_iter().filter_map(|name| Some((name, self.get(name)?)))
    }

    /// Mean, standard deviation, quantiles, effective sample sizes and R-hat of every number that
    /// was recorded. It prints as a table.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// let summary = sample(&model, &SamplerConfig::default())?.summary();
    /// assert!(summary["mu"].rhat < 1.01 && summary["mu"].ess_bulk > 400.0);
    /// assert!(summary.to_string().starts_with("parameter"));
    /// # Ok::<(), exmc::Error>(())
    /// ```
    pub fn summary(&self) -> FitSummary {
        FitSummary::of(&self.posterior)
    }

    /// What speaks against the draws: divergences, chains that disagree, too few effective draws,
    /// chains that are missing. Empty when nothing does.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// let few = sample(&model, &SamplerConfig::default().warmup(0).draws(8))?;
    /// for warning in few.diagnose() {
    ///     println!("{}\n  help: {}", warning.message, warning.hint);
    /// }
    /// assert!(!few.diagnose().is_empty());
    /// # Ok::<(), exmc::Error>(())
    /// ```
    pub fn diagnose(&self) -> Vec<Warning> {
        let mut posterior = self.posterior.clone();
        posterior.chains.retain(|chain| !chain.infos.is_empty());
        let left_out = self.posterior.left_out();
        diagnosis(&posterior, (left_out, posterior.label_switching()), &posterior.summary())
    }

    /// All draws as they were recorded, chain by chain, with the sampler's statistics.
    pub fn posterior(&self) -> &Posterior {
        &self.posterior
    }

    /// Step size and metric of the chain with the median step size, and where the chains ended: for
    /// [`SamplerConfig::warm_start`] of a run in the same coordinates, as [`refit`](Self::refit)
    /// makes it.
    ///
    /// # Errors
    /// When no chain came to the end of its warmup.
    pub fn warm_start(&self) -> Result<WarmStart, Error> {
        let tuned = || self.posterior.chains.iter().filter_map(|chain| chain.tuned.as_ref());
        let mut steps: Vec<&WarmStart> = tuned().filter(|t| t.step_size > 0.0).collect();
        steps.sort_by(|a, b| a.step_size.total_cmp(&b.step_size));
        let Some(&middle) = steps.get(steps.len() / 2) else {
            let message = "the earlier fit holds no metric: it did not end";
            return Err(Diagnostic::new(Code::MissingData, message).into());
        };
        let positions = tuned().filter_map(|t| t.positions.first().cloned()).collect();
        Ok(WarmStart { adapt_metric: false, positions, ..middle.clone() })
    }

    /// Samples a model of the same variables, with other data perhaps, from where this fit ended,
    /// with its metric, step size and coordinates: warmup only tunes the step size, and may be
    /// short.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// let fit = sample(&model, &SamplerConfig::default())?;
    /// let more = fit.refit(&model, &SamplerConfig::default().seed(1).warmup(50))?;
    /// assert_eq!(more["mu"].shape(), [4, 1000]);
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`sample`]; when the model has other variables, or this fit did not end.
    pub fn refit(
        &self,
        target: &(impl Target + ?Sized),
        settings: &SamplerConfig,
    ) -> Result<Self, Error> {
        target.sample_from(self, settings)
    }

    /// Stores the draws with the model and its data in a new directory, which `exmc summary` and
    /// its neighbours read too.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(2);
    /// # model.observe("y_seen", "y", [1.0, 3.0]);
    /// # let model = model.build()?;
    /// # let folder = std::env::temp_dir().join(format!("exmc-save-{}", std::process::id()));
    /// let fit = sample(&model, &SamplerConfig::default())?;
    /// fit.save(&folder)?;
    /// assert_eq!(exmc::Fit::load(&folder)?["mu"], fit["mu"]);
    /// # std::fs::remove_dir_all(&folder).unwrap();
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the directory holds a run, or a file cannot be written; when the density is the
    /// caller's own, of which there is no text.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<(), Error> {
        store::save(self, directory.as_ref())
    }

    /// Reads a run's directory: one of [`save`](Self::save), or of `exmc sample`, also one that was
    /// killed.
    ///
    /// # Errors
    /// When there is no run, files are damaged, or the model cannot be compiled.
    pub fn load(directory: impl AsRef<Path>) -> Result<Self, Error> {
        store::load(directory.as_ref())
    }

    /// The model with its data, as it was sampled.
    fn bound(&self) -> Option<&BoundModel> {
        match &self.source {
            Source::Model(bound) => Some(bound),
            Source::Stan(model) => Some(model.bound()),
            Source::Unknown => None,
        }
    }
}

/// What speaks against draws of chains that made any, given what is said of those that were left
/// out and of labels that chains switched, and the draws' summary.
pub fn diagnosis(
    posterior: &Posterior,
    (left_out, switched): (Option<Warning>, Option<Warning>),
    summary: &[(String, Summary)],
) -> Vec<Warning> {
    posterior.judged((left_out, switched), summary)
}

impl Index<&str> for Fit {
    type Output = DrawArray;

    /// # Panics
    /// When nothing of that name was recorded; see [`Fit::get`].
    fn index(&self, name: &str) -> &DrawArray {
        self.get(name).unwrap_or_else(|| {
            panic!("nothing was recorded as `{name}`; recorded were {}", self.names().join(", "))
        })
    }
}
