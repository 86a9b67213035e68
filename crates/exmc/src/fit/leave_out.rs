//! A fit -> how well its model predicts observations that it has not seen: by importance weights,
//! by draws that are moved, by refits.
//!
//! A refit leaves observations out of the density: of a model by a mask over its observations,
//! which are compiled once for all refits; of a Stan program by subtracting what it records as
//! `log_lik`, or else by leaving them out of the statements on data.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;

use exmc_density::{DensityModel, LogDensity};
use exmc_diagnose::{
    Draws, Kfold, Loo, LooBuilder, MomentMatching, UnconstrainedDraws, group_log_likelihood, kfold,
    refit_untrusted, relative_efficiency,
};
use exmc_graph::Tensor;
use exmc_infer::{RunPhase, SamplerConfig};
use exmc_model::{Code, DataSet, Diagnostic};

use super::{Fit, Source};
use crate::arrays::DrawArrays;
use crate::compile::{BoundModel, CompiledModel, compile};
use crate::error::Error;
use crate::generate::Generator;
use crate::generated_quantities::DrawNumber;
use crate::predict::{counting, log_likelihood};
use crate::stan::without::LOG_LIK;
use crate::stan::{Observed, StanModel};

/// The log likelihood of an observation, by its number, at a position.
type Elements<'a> = Box<dyn FnMut(&[f64], usize) -> f64 + 'a>;

impl Fit {
    /// Leave-one-out cross-validation of the model by Pareto smoothed importance sampling.
    ///
    /// Observations are the elements of [`log_likelihood`](Self::log_likelihood), one after the
    /// other. [`Loo::untrusted`] tells which of them the weights do not suffice for;
    /// [`loo_moment_matched`](Self::loo_moment_matched) and [`loo_exact`](Self::loo_exact) help
    /// there.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(4);
    /// # model.observe("y_seen", "y", [1.0, 3.0, 2.0, 2.5]);
    /// # let model = model.build()?;
    /// let fit = sample(&model, &SamplerConfig::default())?;
    /// let loo = fit.loo()?;
    /// assert_eq!(loo.pointwise.len(), 4);
    /// // With refits for what is left, nothing is.
    /// assert!(fit.loo_exact(loo)?.untrusted().is_empty());
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`log_likelihood`](Self::log_likelihood).
    pub fn loo(&self) -> Result<Loo, Error> {
        let (rows, n_draws) = self.rows()?;
        Ok(loo_of(&rows, n_draws))
    }

    /// The same, leaving out all observations of a group at once; `groups` has the number of each
    /// observation's group, from 0.
    ///
    /// # Errors
    /// As [`loo`](Self::loo), and when there is not one group number for each observation.
    pub fn loo_of_groups(&self, groups: &[usize]) -> Result<Loo, Error> {
        let (rows, n_draws) = self.rows()?;
        check_length(groups, rows.len())?;
        Ok(loo_of(&group_log_likelihood(rows.iter().map(Vec::as_slice), groups), n_draws))
    }

    /// A result of [`loo`](Self::loo) with exact refits in place of the estimates that are not to
    /// be trusted.
    ///
    /// # Errors
    /// When a refit fails, or outcomes cannot be left out of the density one by one.
    pub fn loo_exact(&self, loo: Loo) -> Result<Loo, Error> {
        let folds: Vec<Vec<usize>> = loo.untrusted().into_iter().map(|i| vec![i]).collect();
        self.with_refits(loo, &folds)
    }

    /// A result of [`loo_of_groups`](Self::loo_of_groups) with exact refits in place of the
    /// estimates that are not to be trusted.
    ///
    /// # Errors
    /// As [`loo_exact`](Self::loo_exact).
    pub fn loo_of_groups_exact(&self, loo: Loo, groups: &[usize]) -> Result<Loo, Error> {
        let members = |group: usize| (0..groups.len()).filter(move |i| groups[*i] == group);
        let folds: Vec<Vec<usize>> =
            loo.untrusted().into_iter().map(|group| members(group).collect()).collect();
        self.with_refits(loo, &folds)
    }

    fn with_refits(&self, loo: Loo, folds: &[Vec<usize>]) -> Result<Loo, Error> {
        let made = self.refits(folds)?;
        let mut made = made.into_iter();
        refit_untrusted(loo, |_| {
            let rows = made.next().ok_or_else(|| Error::internal("a refit was left out"))?;
            // The joint log likelihood of what was left out together.
            let mut rows = rows.into_iter();
            let mut total = rows.next().unwrap_or_default();
            for row in rows {
                total.iter_mut().zip(row).for_each(|(sum, l)| *sum += l);
            }
            Ok(total)
        })
    }

    /// K-fold cross-validation: one refit without the observations of each fold. `folds` has the
    /// number of each observation's fold, as [`random_folds`](crate::diagnose::random_folds) and
    /// its neighbours make them.
    ///
    /// ```
    /// # use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample};
    /// # let mut model = ModelBuilder::new();
    /// # model.rv("mu", normal(0, 10));
    /// # model.rv("y", normal("mu", 1)).shape(4);
    /// # model.observe("y_seen", "y", [1.0, 3.0, 2.0, 2.5]);
    /// # let model = model.build()?;
    /// let fit = sample(&model, &SamplerConfig::default())?;
    /// let kfold = fit.kfold(&[0, 1, 0, 1])?;
    /// assert!((kfold.elpd - fit.loo()?.elpd).abs() < 2.0);
    /// # Ok::<(), exmc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`loo_exact`](Self::loo_exact).
    pub fn kfold(&self, folds: &[usize]) -> Result<Kfold, Error> {
        let n = folds.iter().max().map_or(0, |fold| fold + 1);
        let mut parts = vec![Vec::new(); n];
        folds.iter().enumerate().for_each(|(i, fold)| parts[*fold].push(i));
        parts.retain(|part| !part.is_empty());
        let mut made = self.refits(&parts)?.into_iter();
        kfold(folds, |_| made.next().ok_or_else(|| Error::internal("a refit was left out")))
    }

    /// [`loo`](Self::loo) with the draws moved for observations whose Pareto k is too large, and
    /// for how many that helped.
    ///
    /// # Errors
    /// As [`loo`](Self::loo); when the density cannot be evaluated at the draws.
    pub fn loo_moment_matched(&self) -> Result<(Loo, usize), Error> {
        let (rows, per_chain) = self.rows()?;
        let loo = loo_of(&rows, per_chain);
        let untrusted = loo.untrusted();
        if untrusted.is_empty() {
            return Ok((loo, 0));
        }
        let whole_model = self.bound().ok_or_else(|| self.no_model())?.whole()?;
        let generator = Generator::new(
            self.bound().ok_or_else(|| self.no_model())?,
            &self.posterior.variables,
            0,
        )?;
        let dim = whole_model.compiled().dim();
        let (mut positions, mut log_density) = (Vec::new(), Vec::new());
        let mut density = whole_model.instance();
        let mut gradient = vec![0.0; dim];
        let width = self.posterior.width().max(1);
        for chain in self.posterior.usable_chains() {
            for draw in chain.values.chunks_exact(width).take(per_chain) {
                let position = whole_model.unconstrain(&generator.values(draw)?)?;
                log_density.push(density.logp_grad(&position, &mut gradient).unwrap_or(f64::NAN));
                positions.extend(position);
            }
        }
        let draws = UnconstrainedDraws { positions: &positions, log_density: &log_density };
        let mut elements = self.elements(whole_model)?;
        let (n_draws, mut parts, mut moved) = (loo.n_draws, loo.pointwise, 0);
        for i in untrusted {
            let efficiency = efficiency_of(&rows[i], per_chain);
            let matched = MomentMatching::default().leave_out(
                draws,
                efficiency,
                |p| density.logp_grad(p, &mut gradient).unwrap_or(f64::NAN),
                |p| elements(p, i),
            );
            moved += usize::from(matched.steps > 0);
            parts[i] = matched.left_out;
        }
        Ok((Loo::of(parts, n_draws), moved))
    }

    /// The log likelihood of an observation at a position of the whole model; NaN where there is
    /// none.
    fn elements<'a>(&'a self, whole_model: &'a BoundModel) -> Result<Elements<'a>, Error> {
        if let Source::Model(bound) = &self.source {
            let mut instance = whole_model.pointwise_instance()?;
            let mut values = vec![0.0; whole_model.pointwise_width()];
            let counts = counting(bound)?.into_iter().flat_map(|(_, counts)| counts);
            let places: Vec<usize> =
                counts.enumerate().filter(|(_, counts)| *counts).map(|(k, _)| k).collect();
            return Ok(Box::new(move |position, i| {
                match instance.evaluate(position, &mut values) {
                    Ok(()) => values[places[i]],
                    Err(_) => f64::NAN,
                }
            }));
        }
        let bound = self.bound().ok_or_else(|| self.no_model())?;
        let (mut first, mut width) = (None, 0);
        for (name, shape) in bound.quantities().into_iter().flat_map(|q| q.variables()) {
            if name == LOG_LIK {
                first = Some(width);
            }
            width += shape.len();
        }
        let (Some(first), Some(quantities)) = (first, bound.quantities()) else {
            return self.elements_of_statements(whole_model);
        };
        let mut instance = quantities.instance(self.settings.seed);
        let mut trace = whole_model.trace_instance();
        let (mut row, mut out) = (vec![0.0; whole_model.trace_width()], vec![0.0; width]);
        Ok(Box::new(move |position, i| {
            let number = DrawNumber { chain: 0, phase: RunPhase::Sampling, index: 0 };
            let made = trace.evaluate(position, &mut row).is_ok()
                && instance.evaluate(number, &row, &mut out).is_ok();
            if made { out[first + i] } else { f64::NAN }
        }))
    }

    /// The same of a program that does not record log likelihoods.
    fn elements_of_statements<'a>(
        &'a self,
        whole_model: &'a BoundModel,
    ) -> Result<Elements<'a>, Error> {
        let Source::Stan(model) = &self.source else { return Err(self.no_model()) };
        let observed = self.observed(model)?;
        let mut trace = whole_model.trace_instance();
        let (mut row, mut out) =
            (vec![0.0; whole_model.trace_width()], vec![0.0; observed.width()]);
        let mut instance = observed.instance();
        Ok(Box::new(move |position, i| {
            let made = trace.evaluate(position, &mut row).is_ok()
                && instance.evaluate(&row, &mut out).is_ok();
            if made { out[i] } else { f64::NAN }
        }))
    }

    /// The observations of a program that does not record their log likelihoods.
    fn observed(&self, model: &StanModel) -> Result<Arc<Observed>, Error> {
        let mut generator = Generator::new(model.bound(), &self.posterior.variables, 0)?;
        let usable = self.posterior.usable_chains();
        let first = usable.first().ok_or_else(|| self.no_model())?;
        let width = self.posterior.width().min(first.values.len());
        model.observed(generator.recorded(&first.values[..width])?)
    }

    /// One row an observation: its log likelihood at every draw, chain after chain; and the draws
    /// of a chain.
    fn rows(&self) -> Result<(Vec<Vec<f64>>, usize), Error> {
        let arrays = self.log_likelihood()?;
        let draws = arrays.iter().next().map_or(0, |(_, array)| array.n_draws());
        let rows = rows_of(&arrays);
        if draws == 0 || rows.is_empty() {
            let message = "there are no draws of log likelihoods";
            return Err(Diagnostic::new(Code::MissingData, message).into());
        }
        Ok((rows, draws))
    }

    /// For each set of observations their log likelihoods at draws of a fit without them.
    fn refits(&self, folds: &[Vec<usize>]) -> Result<Vec<Vec<Vec<f64>>>, Error> {
        let (rows, _) = self.rows()?;
        let n = rows.len();
        drop(rows);
        if let Some(wrong) = folds.iter().flatten().find(|i| **i >= n) {
            return Err(Error::internal(format!("there is no observation {wrong} of {n}")));
        }
        let settings = self.settings.clone().threads(1).threads_per_chain(1);
        match &self.source {
            Source::Model(bound) => {
                let masked = Masked::of(bound)?;
                side_by_side(folds.len(), self.settings.threads, |k| {
                    masked.refit(bound, &folds[k], &settings)
                })
            }
            Source::Stan(model) => {
                let recorded = self.get(LOG_LIK).is_some();
                let observed = if recorded { None } else { Some(self.observed(model)?) };
                side_by_side(folds.len(), self.settings.threads, |k| {
                    refit_program(model, observed.as_deref(), &folds[k], &settings)
                })
            }
            Source::Unknown => Err(self.no_model()),
        }
    }
}

/// A model with a mask over each of its observations.
struct Masked {
    compiled: CompiledModel,
    /// By observed variable: the name of its mask, and what counts in the whole fit.
    masks: Vec<(String, Vec<bool>)>,
}

impl Masked {
    fn of(bound: &BoundModel) -> Result<Self, Error> {
        let unknown = || Error::internal("the fit's model is not declared");
        let model = bound.compiled().declared().ok_or_else(unknown)?;
        let (masked, names) = model.with_open_masks()?;
        let compiled = compile(&masked, bound.compiled().options())?;
        let masks = counting(bound)?.into_iter().map(|(variable, counts)| {
            let entry = names.iter().find(|(target, _)| *target == variable);
            let (_, mask) = entry.ok_or_else(|| Error::internal("an observation has no mask"))?;
            Ok((mask.clone(), counts))
        });
        Ok(Self { compiled, masks: masks.collect::<Result<_, Error>>()? })
    }

    fn refit(
        &self,
        bound: &BoundModel,
        left_out: &[usize],
        settings: &SamplerConfig,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut data = DataSet::from(bound.data());
        let declared = self.compiled.declared();
        let mut first = 0;
        for (name, counts) in &self.masks {
            let mut kept: Vec<f64> =
                counts.iter().map(|counts| f64::from(u8::from(*counts))).collect();
            // Observations are numbered over those that count.
            let places = (0..counts.len()).filter(|place| counts[*place]);
            for (number, place) in (first..).zip(places) {
                if left_out.contains(&number) {
                    kept[place] = 0.0;
                }
            }
            first += counts.iter().filter(|counts| **counts).count();
            let found = declared.and_then(|m| m.data().find(|(candidate, _)| candidate == name));
            let shape = found.map(|(_, declaration)| declaration.shape.clone());
            let shape = shape.ok_or_else(|| Error::internal("a mask is not declared"))?;
            let mask = Tensor::int(shape, kept);
            data.insert(name, mask.ok_or_else(|| Error::internal("a mask has another shape"))?);
        }
        let fit = super::sample(&self.compiled.bind(data)?, settings)?;
        // Log likelihoods by the whole model: what is masked has none.
        let rows = rows_of(&log_likelihood(bound, &fit.posterior)?);
        Ok(left_out.iter().map(|i| rows[*i].clone()).collect())
    }
}

fn refit_program(
    model: &StanModel,
    observed: Option<&Observed>,
    left_out: &[usize],
    settings: &SamplerConfig,
) -> Result<Vec<Vec<f64>>, Error> {
    let rows = match observed {
        None => rows_of(&super::sample(&model.without(left_out)?, settings)?.log_likelihood()?),
        Some(observed) => {
            let fit = super::sample(&model.without_observed(observed, left_out)?, settings)?;
            // Log likelihoods by the whole program: what was left out has none in the other.
            rows_of(&model.log_likelihood(fit.posterior())?.arrays)
        }
    };
    Ok(left_out.iter().map(|i| rows[*i].clone()).collect())
}

/// Elements of all arrays, each with its values at all draws, chain after chain.
fn rows_of(arrays: &DrawArrays) -> Vec<Vec<f64>> {
    let mut rows = Vec::new();
    for (_, array) in arrays.iter() {
        let size = array.element_shape().len();
        let all = array.values();
        rows.extend((0..size).map(|k| all.iter().skip(k).step_by(size).copied().collect()));
    }
    rows
}

fn efficiency_of(row: &[f64], per_chain: usize) -> f64 {
    let chains: Vec<&[f64]> = row.chunks_exact(per_chain).collect();
    Draws::new(&chains).map_or(1.0, |draws| relative_efficiency(&draws))
}

fn loo_of(rows: &[Vec<f64>], per_chain: usize) -> Loo {
    let mut builder = LooBuilder::new();
    for row in rows {
        builder.push(row, efficiency_of(row, per_chain));
    }
    builder.finish()
}

fn check_length(groups: &[usize], n: usize) -> Result<(), Error> {
    if groups.len() == n {
        return Ok(());
    }
    let message = format!("there are {} group numbers for {n} observations", groups.len());
    Err(Diagnostic::new(Code::BadArguments, message).into())
}

/// Pieces of work on several threads (0: as many as the machine has), in order; the first error
/// ends them.
fn side_by_side<T: Send>(
    n: usize,
    threads: u32,
    work: impl Fn(usize) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let made: Vec<Mutex<Option<Result<T, Error>>>> = (0..n).map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        while let k = next.fetch_add(1, Ordering::Relaxed)
            && k < n
        {
            let result = work(k);
            if result.is_err() {
                next.store(n, Ordering::Relaxed);
            }
            *made[k].lock().unwrap_or_else(|poison| poison.into_inner()) = Some(result);
        }
    };
    let threads = match threads {
        0 => available_parallelism().map_or(1, usize::from),
        threads => threads as usize,
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(n) {
            // With fewer threads than asked for, those that there are do all the work.
            if std::thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
    let mut results = Vec::with_capacity(n);
    let mut left = false;
    for slot in made {
        match slot.into_inner().unwrap_or_else(|poison| poison.into_inner()) {
            Some(result) => results.push(result?),
            None => left = true,
        }
    }
    if left { Err(Error::internal("a refit was left out")) } else { Ok(results) }
}
