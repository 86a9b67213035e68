//! Bound model and settings -> posterior draws by name.

use std::ops::ControlFlow;

use exmc_draws::{ChainDraws, Posterior, Variable};
use exmc_exec::FunctionInstance;
use exmc_infer::{Draw, Observer, SamplerConfig, Silent, Start};
use exmc_model::{Code, Diagnostic};

use crate::compile::{BoundModel, Values};
use crate::error::Error;

/// Samples the posterior from random starts.
///
/// # Errors
/// When settings are wrong, or no chain finds a start where the density is finite; the error names
/// the terms that are not.
pub fn sample(model: &BoundModel, config: &SamplerConfig) -> Result<Posterior, Error> {
    sample_with(model, config, &[], &Silent)
}

/// Samples the posterior from given starts (none, one for all chains, or one a chain; each may leave
/// variables out), with an observer that sees every draw.
///
/// # Errors
/// As [`sample`], and when a start does not fit the model.
pub fn sample_with(
    model: &BoundModel,
    config: &SamplerConfig,
    starts: &[Values],
    observer: &dyn Observer,
) -> Result<Posterior, Error> {
    let starts = starts
        .iter()
        .map(|s| model.unconstrain(s).map(Start::At))
        .collect::<Result<Vec<_>, _>>()?;
    let run = exmc_infer::sample(model, &starts, config, observer)
        .map_err(|e| explain_start(model, e))?;
    let mut trace = model.trace_instance();
    let width = model.trace_width();
    let dim = model.compiled().dim();
    let mut chains = Vec::with_capacity(run.chains.len());
    for chain in run.chains {
        chains.push(ChainDraws {
            chain: chain.chain,
            values: recorded(&mut trace, &chain.draws, chain.infos.len(), dim, width)?,
            warmup_values: recorded(
                &mut trace,
                &chain.warmup_draws,
                chain.warmup_infos.len(),
                dim,
                width,
            )?,
            infos: chain.infos,
            warmup_infos: chain.warmup_infos,
            leapfrogs: chain.leapfrogs,
            warmup_seconds: chain.warmup_seconds,
            sampling_seconds: chain.sampling_seconds,
            tuned: chain.tuned,
            outcome: chain.outcome,
        });
    }
    Ok(Posterior {
        variables: variables(model),
        chains,
        seconds: run.seconds,
        max_depth: config.max_depth,
    })
}

/// What a bound model records, in column order.
pub fn variables(model: &BoundModel) -> Vec<Variable> {
    let mut offset = 0;
    let entries = model.compiled().lowered().trace.iter();
    entries
        .map(|entry| {
            let (shape, dims) = (entry.shape.extents().to_vec(), entry.plates.clone());
            let variable = Variable { name: entry.name.clone(), shape, dims, offset };
            offset += variable.len();
            variable
        })
        .collect()
}

fn recorded(
    trace: &mut FunctionInstance,
    positions: &[f64],
    n: usize,
    dim: usize,
    width: usize,
) -> Result<Vec<f64>, Error> {
    let mut values = vec![0.0; n * width];
    if width > 0 {
        for (k, row) in values.chunks_exact_mut(width).enumerate() {
            let position = &positions[k * dim..(k + 1) * dim];
            trace.evaluate(position, row).map_err(|e| Error::internal(e.to_string()))?;
        }
    }
    Ok(values)
}

/// Names the terms that keep sampling from starting.
fn explain_start(model: &BoundModel, error: exmc_infer::SampleError) -> Error {
    let Some(point) = error.rejected_point() else { return error.into() };
    let mut bad = model.explain(point.position);
    if bad.is_empty() {
        return error.into();
    }
    let (name, value) = bad.swap_remove(0);
    let message = format!("{error}; the log density of `{name}` is {value} there");
    let help = "give initial values, or check that priors and data lie in each other's support";
    let mut diagnostic = Diagnostic::new(Code::NotFinite, message).help(help);
    if let Some(node) = model.compiled().model().nodes().get(&name) {
        diagnostic = diagnostic.at(&name, &node.origin);
    }
    diagnostic.into()
}

/// An observer that hands every draw's recorded values to a closure, after warmup and, if asked for,
/// during it. One evaluation a draw; safe to use from several chains at once.
pub struct Recorder<F> {
    instances: Vec<std::sync::Mutex<(FunctionInstance, Vec<f64>)>>,
    record: F,
}

impl<F: Fn(&Draw<'_>, &[f64]) -> ControlFlow<()> + Sync> Recorder<F> {
    /// A recorder for `chains` chains.
    pub fn new(model: &BoundModel, chains: u32, record: F) -> Self {
        let width = model.trace_width();
        let instance = || std::sync::Mutex::new((model.trace_instance(), vec![0.0; width]));
        Self { instances: (0..chains).map(|_| instance()).collect(), record }
    }
}

impl<F: Fn(&Draw<'_>, &[f64]) -> ControlFlow<()> + Sync> Observer for Recorder<F> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let slot = &self.instances[draw.chain as usize];
        let mut slot = slot.lock().unwrap_or_else(|poison| poison.into_inner());
        let (instance, values) = &mut *slot;
        if instance.evaluate(draw.position, values).is_err() {
            values.fill(f64::NAN);
        }
        (self.record)(draw, values)
    }
}
