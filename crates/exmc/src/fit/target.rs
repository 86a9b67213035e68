//! What can be sampled: models, models with data, Stan programs with data, densities of one's own.

use exmc_density::{DensityModel, LogDensity};
use exmc_draws::{ChainDraws, Posterior, Variable};
use exmc_infer::{Run, SamplerConfig, Silent};
use exmc_model::{Code, DataSet, Diagnostic, Model};

use super::monitor::{Monitor, Monitored, NoMonitor, Verdict};
use super::{Fit, Source};
use crate::compile::BoundModel;
use crate::error::Error;
use crate::model::bind;
use crate::sample::{in_learned_coordinates, sample_with, variables};
use crate::stan::StanModel;

/// Samples a posterior: of a [`Model`] or a [`StanModel`], or a [`Density`] of your own.
///
/// Variables that are normal given the rest are integrated out of a model's density where that
/// pays, and those with a location and a scale are sampled in coordinates that short pilot chains
/// choose; neither changes the posterior, and the draws hold all variables as they were declared.
/// The draws of a [`Model`] are those that `exmc sample` makes with the same seed.
///
/// ```
/// use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
/// let mut model = ModelBuilder::new();
/// model.rv("x", normal(3, 2));
/// let fit = sample(&model.build()?, &SamplerConfig::default().seed(1))?;
/// assert!((fit["x"].mean() - 3.0).abs() < 0.2 && (fit["x"].sd() - 2.0).abs() < 0.2);
/// # Ok::<(), exmc::Error>(())
/// ```
///
/// # Errors
/// When data are missing or do not fit, settings are wrong, the draws will not fit into memory, or
/// every chain failed before it made a draw. A chain that fails otherwise keeps its draws, and
/// [`Fit::diagnose`] says so.
pub fn sample(target: &(impl Target + ?Sized), settings: &SamplerConfig) -> Result<Fit, Error> {
    target.sample(settings)
}

/// What [`sample`] takes.
pub trait Target {
    /// See [`sample`].
    ///
    /// # Errors
    /// See there.
    fn sample(&self, settings: &SamplerConfig) -> Result<Fit, Error> {
        self.sample_monitored(settings, &NoMonitor)
    }

    /// See [`sample_monitored`](crate::sample_monitored).
    ///
    /// # Errors
    /// See there.
    fn sample_monitored(
        &self,
        settings: &SamplerConfig,
        monitor: &dyn Monitor,
    ) -> Result<Fit, Error>;

    /// See [`Fit::refit`].
    ///
    /// # Errors
    /// See there.
    fn sample_from(&self, earlier: &Fit, settings: &SamplerConfig) -> Result<Fit, Error>;
}

impl Target for Model {
    fn sample(&self, settings: &SamplerConfig) -> Result<Fit, Error> {
        bind(self, DataSet::new())?.sample(settings)
    }

    fn sample_monitored(
        &self,
        settings: &SamplerConfig,
        monitor: &dyn Monitor,
    ) -> Result<Fit, Error> {
        bind(self, DataSet::new())?.sample_monitored(settings, monitor)
    }

    fn sample_from(&self, earlier: &Fit, settings: &SamplerConfig) -> Result<Fit, Error> {
        bind(self, DataSet::new())?.sample_from(earlier, settings)
    }
}

impl Target for BoundModel {
    fn sample(&self, settings: &SamplerConfig) -> Result<Fit, Error> {
        let bound = in_learned_coordinates(self, settings, &|| false)?;
        let posterior = sample_with(&bound, settings, &[], &Silent)?;
        Ok(Fit::new(posterior, settings.clone(), source_of(bound)))
    }

    fn sample_monitored(
        &self,
        settings: &SamplerConfig,
        monitor: &dyn Monitor,
    ) -> Result<Fit, Error> {
        let (bound, posterior, is_late) = monitored(self, settings, monitor)?;
        Ok(Fit::new(posterior, settings.clone(), source_of(bound)).late(is_late))
    }

    fn sample_from(&self, earlier: &Fit, settings: &SamplerConfig) -> Result<Fit, Error> {
        let (bound, settings) = as_before(self, earlier, settings)?;
        bound.sample(&settings)
    }
}

impl Target for StanModel {
    fn sample(&self, settings: &SamplerConfig) -> Result<Fit, Error> {
        let bound = in_learned_coordinates(self.bound(), settings, &|| false)?;
        let posterior = sample_with(&bound, settings, &[], &Silent)?;
        let source = Source::Stan(Box::new(self.sampled_as(&bound)));
        Ok(Fit::new(posterior, settings.clone(), source))
    }

    fn sample_monitored(
        &self,
        settings: &SamplerConfig,
        monitor: &dyn Monitor,
    ) -> Result<Fit, Error> {
        let (bound, posterior, is_late) = monitored(self.bound(), settings, monitor)?;
        let source = Source::Stan(Box::new(self.sampled_as(&bound)));
        Ok(Fit::new(posterior, settings.clone(), source).late(is_late))
    }

    fn sample_from(&self, earlier: &Fit, settings: &SamplerConfig) -> Result<Fit, Error> {
        let (bound, settings) = as_before(self.bound(), earlier, settings)?;
        self.sampled_as(&bound).sample(&settings)
    }
}

fn source_of(bound: BoundModel) -> Source {
    match bound.compiled().declared() {
        Some(_) => Source::Model(Box::new(bound)),
        None => Source::Unknown,
    }
}

/// A model in the coordinates that it was sampled in, its draws, and whether time was up.
fn monitored(
    model: &BoundModel,
    settings: &SamplerConfig,
    monitor: &dyn Monitor,
) -> Result<(BoundModel, Posterior, bool), Error> {
    let is_over = || monitor.verdict() != Verdict::Continue;
    let bound = in_learned_coordinates(model, settings, &is_over)?;
    let variables = variables(&bound);
    let monitored = Monitored::new(monitor, &variables, settings);
    let posterior = {
        let observer = monitored.recording(&bound, settings)?;
        sample_with(&bound, settings, &[], &observer)?
    };
    let is_late = monitored.is_late();
    Ok((bound, posterior, is_late))
}

/// A model in the coordinates of an earlier fit, and settings that start there.
fn as_before(
    bound: &BoundModel,
    earlier: &Fit,
    settings: &SamplerConfig,
) -> Result<(BoundModel, SamplerConfig), Error> {
    let before = earlier.bound();
    let bound = match before.and_then(BoundModel::coordinates) {
        Some(coordinates) => bound.in_coordinates(coordinates)?,
        None => bound.clone(),
    };
    let layout = |bound: &BoundModel| -> Vec<(String, usize)> {
        let entries = bound.compiled().lowered().layout.iter();
        entries.map(|e| (e.name.clone(), e.unconstrained.len())).collect()
    };
    if before.is_none_or(|before| layout(before) != layout(&bound)) {
        let message = "the earlier fit has other free variables than this model";
        let help = "go on from a fit of the same model, with data of the same shapes";
        return Err(Diagnostic::new(Code::BadTransform, message).help(help).into());
    }
    Ok((bound, settings.clone().warm_start(earlier.warm_start()?)))
}

/// A log density of your own, as something to sample: over the whole real vector, with its
/// gradient.
///
/// ```
/// use exmc::SamplerConfig;
/// use exmc::infer::{Density, EvaluationError, LogDensity};
///
/// /// Two independent normal numbers with means 3 and -1.
/// #[derive(Clone)]
/// struct Normals;
///
/// impl LogDensity for Normals {
///     fn dim(&self) -> usize { 2 }
///     fn logp_grad(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<f64, EvaluationError> {
///         gradient.copy_from_slice(&[3.0 - x[0], -1.0 - x[1]]);
///         Ok(-0.5 * (gradient[0].powi(2) + gradient[1].powi(2)))
///     }
/// }
///
/// let density = Density::new(Normals).variable("a", 1).variable("b", []);
/// let fit = exmc::sample(&density, &SamplerConfig::default().seed(1))?;
/// assert!((fit["b"].mean() + 1.0).abs() < 4.0 * fit.summary()["b"].mcse_mean);
/// # Ok::<(), exmc::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Density<D> {
    density: D,
    variables: Vec<Variable>,
}

impl<D: LogDensity + Clone + Send + Sync> Density<D> {
    /// With one variable `x`, the whole position, until [`variable`](Self::variable) names its
    /// parts.
    pub fn new(density: D) -> Self {
        Self { density, variables: Vec::new() }
    }

    /// Names the next part of the position.
    #[must_use]
    pub fn variable(mut self, name: &str, shape: impl Into<exmc_graph::Shape>) -> Self {
        let offset = self.variables.last().map_or(0, |last| last.offset + last.len());
        let shape = shape.into().extents().to_vec();
        let (name, dims) = (name.to_owned(), Vec::new());
        self.variables.push(Variable { name, shape, dims, offset, first_index: 0 });
        self
    }

    fn variables(&self) -> Result<Vec<Variable>, Error> {
        let dim = self.density.dim();
        if self.variables.is_empty() {
            return Ok(Self::new(self.density.clone()).variable("x", dim).variables);
        }
        let named: usize = self.variables.iter().map(Variable::len).sum();
        if named == dim {
            return Ok(self.variables.clone());
        }
        let message =
            format!("the variables of the density have {named} numbers, its positions {dim}");
        Err(Diagnostic::new(Code::ShapeMismatch, message).into())
    }
}

/// A density that every chain has a copy of.
struct Copies<'a, D>(&'a D);

impl<D: LogDensity + Clone + Send + Sync> DensityModel for Copies<'_, D> {
    type Instance = D;

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn instance(&self) -> D {
        self.0.clone()
    }
}

impl<D: LogDensity + Clone + Send + Sync> Target for Density<D> {
    fn sample(&self, settings: &SamplerConfig) -> Result<Fit, Error> {
        let variables = self.variables()?;
        let run = exmc_infer::sample(&Copies(&self.density), &[], settings, &Silent)?;
        Ok(Fit::new(posterior(run, variables, settings), settings.clone(), Source::Unknown))
    }

    fn sample_monitored(
        &self,
        settings: &SamplerConfig,
        monitor: &dyn Monitor,
    ) -> Result<Fit, Error> {
        let variables = self.variables()?;
        let monitored = Monitored::new(monitor, &variables, settings);
        let run = exmc_infer::sample(&Copies(&self.density), &[], settings, &monitored)?;
        let is_late = monitored.is_late();
        let posterior = posterior(run, variables, settings);
        Ok(Fit::new(posterior, settings.clone(), Source::Unknown).late(is_late))
    }

    fn sample_from(&self, earlier: &Fit, settings: &SamplerConfig) -> Result<Fit, Error> {
        self.sample(&settings.clone().warm_start(earlier.warm_start()?))
    }
}

/// Positions as draws.
fn posterior(run: Run, variables: Vec<Variable>, settings: &SamplerConfig) -> Posterior {
    let chains = run.chains.into_iter().map(|chain| ChainDraws {
        chain: chain.chain,
        values: chain.draws,
        infos: chain.infos,
        warmup_values: chain.warmup_draws,
        warmup_infos: chain.warmup_infos,
        leapfrogs: chain.leapfrogs,
        raised_target: chain.raised_target,
        restarts: chain.restarts,
        warmup_seconds: chain.warmup_seconds,
        sampling_seconds: chain.sampling_seconds,
        tuned: chain.tuned,
        outcome: chain.outcome,
    });
    let mut posterior = Posterior {
        variables,
        chains: chains.collect(),
        seconds: run.seconds,
        max_depth: settings.max_depth,
        warnings: Vec::new(),
    };
    if settings.keep_draws {
        posterior.warnings.extend(posterior.left_out());
    }
    posterior
}
