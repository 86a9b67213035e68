//! One model and many data sets -> many fits, on all cores.

use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::available_parallelism;

use exmc_infer::SamplerConfig;
use exmc_model::{DataSet, Model};

use super::{Fit, Target};
use crate::compile::{CompileOptions, CompiledModel, compile};
use crate::error::Error;
use crate::json::write_data;
use crate::stan::StanProgram;

/// Fits a model to each of many data sets, several at once, one a core.
///
/// The model is compiled once where its shapes are its own (a [`Model`]); a [`StanProgram`] is
/// lowered for each data set, of which sizes may differ. Each fit has the draws that
/// [`sample`](super::sample) makes of the same data with the same settings, whatever runs beside
/// it. A fit that fails is an error in its place, and the others go on. Results are in the order of
/// the data.
///
/// [`SamplerConfig::threads`] is how many fits run at once; 0 takes as many as the machine offers.
///
/// ```
/// use exmc::json::read_data;
/// use exmc::{ModelBuilder, SamplerConfig, distributions::normal, model::DType};
///
/// let mut model = ModelBuilder::new();
/// model.declare_data("y", DType::Real, 3);
/// model.rv("mu", normal(0, 10));
/// model.rv("seen", normal("mu", 1)).shape(3);
/// model.observe("seen_obs", "seen", "y");
/// let data = [read_data(r#"{"y": [1, 2, 3]}"#)?, read_data(r#"{"y": [4, 5]}"#)?];
///
/// let fits = exmc::fit_many(&model.build()?, &data, &SamplerConfig::default().draws(200));
/// assert!((fits[0].as_ref().unwrap()["mu"].mean() - 2.0).abs() < 0.3);
/// // Three numbers are declared, and two are given.
/// assert_eq!(fits[1].as_ref().unwrap_err().kind(), exmc::ErrorKind::Data);
/// # Ok::<(), exmc::Error>(())
/// ```
pub fn fit_many(
    template: &(impl Template + ?Sized),
    data: &[DataSet],
    settings: &SamplerConfig,
) -> Vec<Result<Fit, Error>> {
    let results: Vec<Mutex<Option<Result<Fit, Error>>>> =
        data.iter().map(|_| Mutex::default()).collect();
    fit_each(template, data, settings, |k, made| {
        *results[k].lock().unwrap_or_else(|poison| poison.into_inner()) = Some(made);
        ControlFlow::Continue(())
    });
    let made = results.into_iter().map(|result| {
        let result = result.into_inner().unwrap_or_else(|poison| poison.into_inner());
        result.unwrap_or_else(|| Err(Error::internal("a fit was left out")))
    });
    made.collect()
}

/// As [`fit_many`], handing over each fit with the number of its data set when it is there, in any
/// order and from several threads: for more fits than memory holds. No further fit begins after
/// `done` has said `Break`.
pub fn fit_each(
    template: &(impl Template + ?Sized),
    data: &[DataSet],
    settings: &SamplerConfig,
    done: impl Fn(usize, Result<Fit, Error>) -> ControlFlow<()> + Sync,
) {
    let compiled = match template.compiled() {
        Ok(compiled) => compiled,
        Err(error) => {
            let _ = (0..data.len()).try_for_each(|k| done(k, Err(error.clone())));
            return;
        }
    };
    // What runs beside each other are fits, not chains.
    let alone = settings.clone().threads(1).threads_per_chain(1);
    let fit = |data: &DataSet| {
        let made = catch_unwind(AssertUnwindSafe(|| compiled.bound(data)?.sample(&alone)));
        let mut fit = made.unwrap_or_else(|_| Err(Error::internal("a fit panicked")))?;
        fit.settings.clone_from(settings);
        Ok(fit)
    };
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || {
        while !stopped.load(Ordering::Relaxed) {
            let k = next.fetch_add(1, Ordering::Relaxed);
            let Some(data) = data.get(k) else { break };
            if done(k, fit(data)).is_break() {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    };
    let threads = match settings.threads {
        0 => available_parallelism().map_or(1, usize::from),
        threads => threads as usize,
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(data.len()) {
            // With fewer threads than asked for, those that there are do all the work.
            if std::thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                break;
            }
        }
        worker();
    });
}

/// What [`fit_many`] gives data to.
pub trait Template {
    /// What all data sets share.
    ///
    /// # Errors
    /// When the model cannot be compiled.
    fn compiled(&self) -> Result<Box<dyn Bind + '_>, Error>;
}

/// A template with what all data sets share.
pub trait Bind: Sync {
    /// With data, ready to be sampled.
    ///
    /// # Errors
    /// When the data do not fit.
    fn bound(&self, data: &DataSet) -> Result<Box<dyn Target>, Error>;
}

impl Template for Model {
    fn compiled(&self) -> Result<Box<dyn Bind + '_>, Error> {
        let options = CompileOptions { marginalise: Some(true), ..CompileOptions::default() };
        Ok(Box::new(compile(self, &options)?))
    }
}

impl Template for CompiledModel {
    fn compiled(&self) -> Result<Box<dyn Bind + '_>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Bind for CompiledModel {
    fn bound(&self, data: &DataSet) -> Result<Box<dyn Target>, Error> {
        Ok(Box::new(self.bind(data.clone())?))
    }
}

impl Template for StanProgram {
    fn compiled(&self) -> Result<Box<dyn Bind + '_>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Bind for StanProgram {
    fn bound(&self, data: &DataSet) -> Result<Box<dyn Target>, Error> {
        Ok(Box::new(self.bind("data", &write_data(data))?))
    }
}
