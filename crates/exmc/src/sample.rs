//! Bound model and settings -> posterior draws by name.

use std::ops::ControlFlow;
use std::sync::Mutex;

use exmc_draws::{ChainDraws, Posterior, Variable};
use exmc_infer::{Draw, Observer, RunPhase, SampleError, SamplerConfig, Silent, Start};
use exmc_math::random::{ChainRng, Phase};
use exmc_model::{Code, Diagnostic};

use crate::compile::{BoundModel, Values};
use crate::coordinates::learn_coordinates;
use crate::error::Error;
use crate::generated_quantities::{DrawNumber, QuantitiesInstance};
use crate::precision::Positions;
use crate::recorded_values::TraceInstance;

/// Samples the posterior from random starts, in coordinates that are learned first where the model
/// has none ([`learn_coordinates`]).
///
/// # Errors
/// When settings are wrong; when the draws will not fit into memory; or when every chain failed
/// before it made a draw, with the first one's error: no start where the density is finite (the
/// error names the terms that are not), a panic, an end that the model asks for. A chain that fails
/// otherwise keeps its draws and its error ([`Posterior::failures`]), and what the summary is then
/// without is told ([`Posterior::left_out`], also among [`Posterior::warnings`]).
pub fn sample(model: &BoundModel, config: &SamplerConfig) -> Result<Posterior, Error> {
    sample_with(&in_learned_coordinates(model, config, &|| false)?, config, &[], &Silent)
}

/// The model in the coordinates that a run of these settings samples it in.
pub(crate) fn in_learned_coordinates(
    model: &BoundModel,
    config: &SamplerConfig,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<BoundModel, Error> {
    if model.coordinates().is_some() {
        return Ok(model.clone());
    }
    if config.warm_start.is_none() {
        return learn_coordinates(model, config, &[], is_over);
    }
    // A metric and positions are of the coordinates that they were found in.
    if model.has_other_coordinates() {
        let message = "a warm start is of the coordinates that the earlier run had, and this model has none yet";
        let help = "sample what `learn_coordinates` returned both times, or give the earlier ones to `in_coordinates`";
        return Err(Diagnostic::new(Code::BadTransform, message).help(help).into());
    }
    Ok(model.clone())
}

/// Samples the posterior from given starts (none, one for all chains, or one a chain; each may
/// leave variables out), with an observer that sees every draw. What it sees are positions of this
/// model, which is sampled in the coordinates that it has: those of [`learn_coordinates`] are asked
/// for there.
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
    let all: Vec<u32> = (0..config.chains).collect();
    sample_chains(model, config, &all, &starts, observer)
}

/// Samples some chains of `config`, by their numbers, from given starts: one per chain of `config`,
/// or as [`sample_with`]. A chain that begins at the checkpoint of an earlier run goes on with the
/// draws that it would have had without an end there.
///
/// # Errors
/// As [`sample_with`], and when there is no chain of that number.
pub fn sample_chains(
    model: &BoundModel,
    config: &SamplerConfig,
    chains: &[u32],
    starts: &[Start],
    observer: &dyn Observer,
) -> Result<Posterior, Error> {
    let mut recording = Recording::new(model, config.seed);
    if config.keep_draws {
        let kept = config.draws.saturating_add(if config.save_warmup { config.warmup } else { 0 });
        // All chains' draws are kept at the end: better told now than after hours.
        let rows = kept.saturating_mul(chains.len() as u64);
        values_of(rows as usize, recording.width)?;
    }
    let positions = Positions::new(observer, config);
    let rounds = model.compiled().program().rounds();
    let observer: &dyn Observer = if rounds { &positions } else { observer };
    let run = exmc_infer::sample_chains(model, chains, starts, config, observer)
        .map_err(|e| explain_start(model, e))?;
    let warnings = model.precision_warnings(&positions.into_positions())?;
    let dim = model.compiled().dim();
    let mut chains = Vec::with_capacity(run.chains.len());
    for chain in run.chains {
        chains.push(ChainDraws {
            chain: chain.chain,
            values: recording.all(
                (chain.chain, RunPhase::Sampling),
                chain.infos.len(),
                &chain.draws,
                dim,
            )?,
            warmup_values: recording.all(
                (chain.chain, RunPhase::Warmup),
                chain.warmup_infos.len(),
                &chain.warmup_draws,
                dim,
            )?,
            infos: chain.infos,
            warmup_infos: chain.warmup_infos,
            leapfrogs: chain.leapfrogs,
            raised_target: chain.raised_target,
            restarts: chain.restarts,
            warmup_seconds: chain.warmup_seconds,
            sampling_seconds: chain.sampling_seconds,
            tuned: chain.tuned,
            outcome: chain.outcome,
        });
    }
    let mut posterior = Posterior {
        variables: variables(model),
        chains,
        seconds: run.seconds,
        max_depth: config.max_depth,
        warnings,
    };
    // Who keeps no draws here has them elsewhere.
    if config.keep_draws {
        posterior.warnings.extend(posterior.left_out());
    }
    Ok(posterior)
}

/// Room for recorded values, or that there is none.
fn values_of(rows: usize, width: usize) -> Result<Vec<f64>, Error> {
    let mut values = Vec::new();
    let n = rows.saturating_mul(width);
    values.try_reserve_exact(n).map_err(|_| SampleError::out_of_memory(n.saturating_mul(8)))?;
    Ok(values)
}

/// What a bound model records, in column order: its values, then its quantities.
pub fn variables(model: &BoundModel) -> Vec<Variable> {
    let mut offset = 0;
    // Front ends that lower their own density are Stan's, which counts from one.
    let first_index = usize::from(model.compiled().model().is_none());
    let mut variable = |name: &str, shape: &[usize], dims: &[String]| {
        let (name, shape, dims) = (name.to_owned(), shape.to_vec(), dims.to_vec());
        let variable = Variable { name, shape, dims, offset, first_index };
        offset += variable.len();
        variable
    };
    let entries = model.compiled().lowered().trace.iter();
    let mut all: Vec<Variable> =
        entries.map(|e| variable(&e.name, e.shape.extents(), &e.plates)).collect();
    let quantities = model.quantities().map(|q| q.variables()).unwrap_or_default();
    all.extend(quantities.iter().map(|(name, shape)| variable(name, shape.extents(), &[])));
    all
}

/// Computes what is recorded of a draw, for one thread.
pub struct Recording {
    trace: TraceInstance,
    quantities: Option<Box<dyn QuantitiesInstance>>,
    seed: u64,
    /// Those for the draw after the one that was recorded last, where that is of the same group.
    noise: Option<Noise>,
    trace_width: usize,
    width: usize,
}

impl Recording {
    /// For draws of a run with this seed.
    pub fn new(model: &BoundModel, seed: u64) -> Self {
        let trace_width = model.trace_width();
        let width = variables(model).iter().map(Variable::len).sum();
        let quantities = model.quantities().map(|q| q.instance(seed));
        let trace = model.trace_instance();
        Self { trace, quantities, seed, noise: None, trace_width, width }
    }

    /// Number of recorded values, those of [`variables`].
    pub fn width(&self) -> usize {
        self.width
    }

    /// Writes one draw's recorded values.
    ///
    /// # Errors
    /// When they cannot be evaluated at the position; [`Error::is_fatal`] where the model asks for
    /// the run to end.
    pub fn draw(
        &mut self,
        number: DrawNumber,
        position: &[f64],
        row: &mut [f64],
    ) -> Result<(), Error> {
        let (values, rest) = row.split_at_mut(self.trace_width);
        let (seed, noise) = (self.seed, &mut self.noise);
        let fill = |numbers: &mut [f64]| {
            let stream = noise.take().filter(|stream| stream.next == number);
            let mut stream = stream.unwrap_or_else(|| Noise::before(seed, number, numbers.len()));
            stream.rng.fill_standard_normal(numbers);
            stream.next.index += 1;
            // The next draw may be the first of a group.
            *noise = Some(stream).filter(|stream| !stream.next.index.is_multiple_of(GROUP));
        };
        let evaluated = self.trace.evaluate_with(position, fill, values);
        evaluated.map_err(|e| Error::internal(e.to_string()))?;
        match &mut self.quantities {
            Some(quantities) => quantities.evaluate(number, values, rest),
            None => Ok(()),
        }
    }

    /// The recorded values of the `n` draws of one phase, row by row.
    fn all(
        &mut self,
        (chain, phase): (u32, RunPhase),
        n: usize,
        positions: &[f64],
        dim: usize,
    ) -> Result<Vec<f64>, Error> {
        let mut values = values_of(n, self.width)?;
        values.resize(n * self.width, 0.0);
        // Quantities without a column may print, or end the run.
        if self.width > 0 || self.quantities.is_some() {
            for k in 0..n {
                let number = DrawNumber { chain, phase, index: k as u64 };
                let row = &mut values[k * self.width..(k + 1) * self.width];
                self.draw(number, &positions[k * dim..(k + 1) * dim], row)?;
            }
        }
        Ok(values)
    }
}

/// Standard normal numbers for variables that are integrated out: a stream that stands before a
/// draw.
struct Noise {
    rng: ChainRng,
    next: DrawNumber,
}

/// Draws whose random words follow each other. Each group has a place of its own in the stream, so
/// that a draw's numbers follow from its number, at the price of those before it in its group.
const GROUP: u64 = 64;

impl Noise {
    /// Before a draw that takes `n` numbers. A number takes two words, and four or so once in a
    /// hundred times: a group has eight for each. Groups of warmup stand behind those of 2^32
    /// draws.
    fn before(seed: u64, draw: DrawNumber, n: usize) -> Self {
        let group = draw.index / GROUP;
        let group = match draw.phase {
            RunPhase::Sampling => group,
            RunPhase::Warmup => (1 << 32) + group,
        };
        let mut rng = ChainRng::new(seed, draw.chain, Phase::Conditional);
        rng.set_word_position(u128::from(group) * 8 * u128::from(GROUP) * n as u128);
        for _ in 0..draw.index % GROUP * n as u64 {
            rng.standard_normal();
        }
        Self { rng, next: draw }
    }
}

/// Names the terms that keep sampling from starting.
pub(crate) fn explain_start(model: &BoundModel, error: exmc_infer::SampleError) -> Error {
    let Some(point) = error.rejected_point() else { return error.into() };
    let mut bad = model.explain(point.position);
    if bad.is_empty() {
        return error.into();
    }
    let (name, value) = bad.swap_remove(0);
    let message = format!("{error}; the log density of `{name}` is {value} there");
    let help = "give initial values, or check that priors and data lie in each other's support";
    let mut diagnostic = Diagnostic::new(Code::NotFinite, message).help(help);
    if let Some(node) = model.compiled().model().and_then(|m| m.nodes().get(&name)) {
        diagnostic = diagnostic.at(&name, &node.origin);
    }
    diagnostic.into()
}

/// An observer that hands every draw's recorded values to a closure, after warmup and, if asked
/// for, during it; or the error with which the draw's quantities ask for the run to end. Values
/// that cannot be evaluated are NaN. One evaluation a draw; safe to use from several chains at
/// once.
pub struct Recorder<F> {
    chains: Vec<Mutex<(Recording, Vec<f64>)>>,
    record: F,
}

impl<F: Fn(&Draw<'_>, Result<&[f64], Error>) -> ControlFlow<()> + Sync> Recorder<F> {
    /// A recorder for `chains` chains of a run with this seed.
    ///
    /// # Errors
    /// When there is no memory for one draw's recorded values of each chain.
    pub fn new(model: &BoundModel, chains: u32, seed: u64, record: F) -> Result<Self, Error> {
        let chain = |_| {
            let recording = Recording::new(model, seed);
            let mut row = values_of(1, recording.width)?;
            row.resize(recording.width, 0.0);
            Ok(Mutex::new((recording, row)))
        };
        let chains = (0..chains).map(chain).collect::<Result<_, Error>>()?;
        Ok(Self { chains, record })
    }
}

impl<F: Fn(&Draw<'_>, Result<&[f64], Error>) -> ControlFlow<()> + Sync> Observer for Recorder<F> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let chain = &self.chains[draw.chain as usize];
        let mut chain = chain.lock().unwrap_or_else(|poison| poison.into_inner());
        let (recording, row) = &mut *chain;
        let number = DrawNumber { chain: draw.chain, phase: draw.phase, index: draw.index };
        match recording.draw(number, draw.position, row) {
            Ok(()) => {}
            Err(error) if error.is_fatal() || error.is_interrupted() => {
                return (self.record)(draw, Err(error));
            }
            Err(_) => row.fill(f64::NAN),
        }
        (self.record)(draw, Ok(row))
    }
}
