//! What is written of a chain while it runs: its CSV file, its metric, lines of progress.

use std::fmt::Display;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use exmc::advanced::density::{DensityModel, LogDensity};
use exmc::advanced::{BoundModel, DrawNumber, Generator, ModelInstance, Recording, variables};
use exmc::infer::{ChainOutcome, Draw, Info, InverseMetric, Observer, RunPhase};
use exmc::runs::Posterior;
use exmc::stan::StanModel;
use exmc::{Error, ErrorKind};
use exmc_fault::{Fault, planted};

use super::Run;
use super::columns::{Columns, record};
use super::csv::Csv;
use super::metric::Written;
use crate::console::say;
use crate::failure::Failure;

/// The sampler's columns.
const STATISTICS: [&str; 7] = [
    "lp__",
    "accept_stat__",
    "stepsize__",
    "treedepth__",
    "n_leapfrog__",
    "divergent__",
    "energy__",
];

/// The place of the step size among them.
const STEP_SIZE: usize = 2;

/// Warmup draws that variances are estimated from at most, where the metric is of other
/// coordinates than those that are written.
const MAX_FOR_VARIANCES: u64 = 400;

/// What the options ask of all chains.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// Whether the sampler sees Stan's coordinates.
    pub(super) is_as_written: bool,
    kind: &'static str,
    engaged: bool,
    warmup: u64,
    draws: u64,
    thin: u64,
    save_warmup: bool,
    save_metric: bool,
    refresh: u64,
    n_chains: u64,
}

impl Plan {
    pub(super) fn of(run: &Run<'_>) -> Self {
        let args = run.arguments;
        let hmc = |name: &str| format!("method/sample/algorithm/hmc/{name}");
        let engaged = args.flag("method/sample/adapt/engaged");
        let save_metric = args.flag("method/sample/adapt/save_metric");
        let is_as_written = !engaged
            || save_metric
            || !args.text("output/diagnostic_file").is_empty()
            || ["metric", "metric_file", "stepsize"]
                .iter()
                .any(|option| args.is_given(&hmc(option)));
        Self {
            is_as_written,
            kind: args.choice(&hmc("metric")),
            engaged,
            warmup: args.count("method/sample/num_warmup"),
            draws: args.count("method/sample/num_samples"),
            thin: args.count("method/sample/thin"),
            save_warmup: args.flag("method/sample/save_warmup"),
            save_metric,
            refresh: args.count("output/refresh"),
            n_chains: args.count("method/sample/num_chains"),
        }
    }
}

/// The way from a recorded row to Stan's coordinates and the log density there.
struct Back<'a> {
    generator: Generator<'a>,
    model: &'a BoundModel,
    density: ModelInstance,
    gradient: Vec<f64>,
}

impl Back<'_> {
    fn position(&self, row: &[f64]) -> Option<Vec<f64>> {
        self.model.unconstrain(&self.generator.values(row).ok()?).ok()
    }

    fn logp(&mut self, row: &[f64]) -> f64 {
        let Some(position) = self.position(row) else { return f64::NAN };
        self.density.logp_grad(&position, &mut self.gradient).unwrap_or(f64::NAN)
    }
}

/// One chain.
pub(super) struct Chain<'a> {
    plan: &'a Plan,
    columns: Columns,
    header: Vec<String>,
    digits: crate::number::Digits,
    coordinates: Vec<String>,
    order: &'a [usize],
    /// `Chain [3] ` where there are several.
    prefix: String,
    metric_path: String,
    state: Mutex<State<'a>>,
}

struct State<'a> {
    recording: Recording,
    row: Vec<f64>,
    file: Option<Csv>,
    diagnostic: Option<Csv>,
    back: Option<Back<'a>>,
    /// Warmup draws, in Stan's coordinates by the sampler's order.
    for_variances: Vec<Vec<f64>>,
    has_adaptation: bool,
    failure: Option<Failure>,
}

impl<'a> Chain<'a> {
    /// Chain number `k` of this process. `written` is over Stan's coordinates, `sampled` what the
    /// sampler sees.
    pub(super) fn create(
        run: &Run<'a>,
        plan: &'a Plan,
        (written, sampled): (&'a StanModel, &'a BoundModel),
        seed: u64,
        k: u64,
    ) -> Result<Self, Failure> {
        let recording = Recording::new(sampled, seed);
        let row = vec![0.0; recording.width()];
        let back = match plan.is_as_written {
            true => None,
            false => {
                let model = written.bound();
                Some(Back {
                    generator: Generator::new(model, &variables(sampled), seed)?,
                    model,
                    density: model.instance(),
                    gradient: vec![0.0; model.compiled().dim()],
                })
            }
        };
        let several = plan.n_chains > 1;
        Ok(Self {
            plan,
            columns: Columns::of_model(sampled),
            header: run.header(),
            digits: run.digits,
            coordinates: written.coordinate_names(),
            order: written.stan_order(),
            prefix: if several { format!("Chain [{}] ", run.id + k) } else { String::new() },
            metric_path: String::new(),
            state: Mutex::new(State {
                recording,
                row,
                file: None,
                diagnostic: None,
                back,
                for_variances: Vec::new(),
                has_adaptation: false,
                failure: None,
            }),
        })
    }

    /// The same with its files made.
    pub(super) fn with_files(
        mut self,
        draws: &str,
        diagnostic: Option<&String>,
        metric: &str,
    ) -> Result<Self, Failure> {
        let mut file = Csv::create(draws, self.digits, &self.header)?;
        file.names(&self.columns.behind(&STATISTICS))?;
        file.flush()?;
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        state.file = Some(file);
        if let Some(path) = diagnostic {
            let mut file = Csv::create(path, self.digits, &self.header)?;
            file.comment("The momenta p_* are not kept, and NaN here.")?;
            let names = STATISTICS.iter().map(|name| (*name).to_owned());
            let coordinates = &self.coordinates;
            let marked_names =
                |mark: &'static str| coordinates.iter().map(move |n| format!("{mark}{n}"));
            let names: Vec<String> = names
                .chain(marked_names(""))
                .chain(marked_names("p_"))
                .chain(marked_names("g_"))
                .collect();
            file.names(&names)?;
            state.diagnostic = Some(file);
        }
        self.metric_path = metric.to_owned();
        Ok(self)
    }

    /// What lines of its progress begin with.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Says how the chain ended.
    pub(super) fn end(&self, sampled: Result<Posterior, Error>) -> Result<(), Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let chain = match sampled {
            Ok(posterior) => posterior.chains.into_iter().next(),
            Err(error) => {
                if let Some(file) = &mut state.file {
                    file.flush()?;
                }
                return Err(self.failed(&error, error.kind() == ErrorKind::InitialPoint));
            }
        };
        if let Some(failure) = state.failure.take() {
            return Err(failure);
        }
        let Some(chain) = chain else { return Ok(()) };
        if let ChainOutcome::Failed(error) = &chain.outcome {
            return Err(self.failed(error, error.is_initial_point()));
        }
        if let Some(tuned) = &chain.tuned
            && !state.has_adaptation
        {
            let metric = self.metric(&state, &tuned.inverse_metric);
            self.write_adaptation(&mut state, tuned.step_size, &metric)?;
        }
        let (warmup, sampling) = match self.plan.engaged {
            true => (chain.warmup_seconds, chain.sampling_seconds),
            false => (0.0, chain.warmup_seconds + chain.sampling_seconds),
        };
        let lines = [
            format!(" Elapsed Time: {warmup:.6} seconds (Warm-up)"),
            format!("               {sampling:.6} seconds (Sampling)"),
            format!("               {:.6} seconds (Total)", warmup + sampling),
        ];
        if let Some(file) = &mut state.file {
            file.comment("")?;
            lines.iter().try_for_each(|line| file.comment(line))?;
            file.comment("")?;
            file.flush()?;
        }
        if let Some(file) = &mut state.diagnostic {
            file.flush()?;
        }
        say("");
        lines.iter().for_each(|line| say(&format!("{}{line}", self.prefix)));
        say("");
        Ok(())
    }

    /// Why a chain has no more draws. `is_start`: it found no point to start from.
    fn failed(&self, error: &impl Display, is_start: bool) -> Failure {
        if is_start {
            // On standard output, where clients look for it.
            say(&format!("{}Rejecting initial value:", self.prefix));
            say(&format!("{}  {error}", self.prefix));
        }
        let last = if is_start { "\nInitialization failed." } else { "" };
        Failure::exception(format!("{}{error}{last}", self.prefix))
    }

    /// The metric over Stan's coordinates: the sampler's own, or the variances of warmup draws
    /// where it is of other coordinates.
    fn metric(&self, state: &State<'_>, adapted: &InverseMetric) -> Written {
        if self.plan.is_as_written {
            return Written::of(adapted, self.order, self.plan.kind);
        }
        let draws = &state.for_variances;
        let n = draws.len() as f64;
        let variance = |place: &usize| {
            let values = || draws.iter().map(|draw| draw[*place]);
            let mean = values().sum::<f64>() / n;
            let variance = values().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0);
            // Stan's shrinkage towards 0.001, so that it is positive for any number of draws.
            if n < 2.0 { 1.0 } else { (n * variance + 5e-3) / (n + 5.0) }
        };
        Written::Diagonal(self.order.iter().map(variance).collect())
    }

    fn write_adaptation(
        &self,
        state: &mut State<'_>,
        step_size: f64,
        metric: &Written,
    ) -> Result<(), Failure> {
        state.has_adaptation = true;
        let digits = self.digits;
        let dim = self.coordinates.len();
        let step_size = if dim == 0 { f64::NAN } else { step_size };
        let mut lines = vec![
            "Adaptation terminated".to_owned(),
            format!("Step size = {}", digits.write(step_size)),
        ];
        match (self.plan.kind, dim) {
            ("unit_e", 0) => lines.push("No free parameters for unit metric".to_owned()),
            _ => lines.extend(metric.lines(digits)),
        }
        for file in [&mut state.file, &mut state.diagnostic].into_iter().flatten() {
            lines.iter().try_for_each(|line| file.comment(line))?;
        }
        if self.plan.save_metric {
            metric.save(&self.metric_path, step_size, self.plan.kind, dim)?;
        }
        Ok(())
    }

    /// A line of progress, where one is due. `index` counts within the phase.
    fn progress(&self, is_warmup: bool, index: u64) {
        let Plan { refresh, warmup, draws, .. } = *self.plan;
        let (before, all) = (if is_warmup { 0 } else { warmup }, warmup + draws);
        let iteration = before + index + 1;
        if refresh == 0 || !(index == 0 || iteration == all || (index + 1).is_multiple_of(refresh))
        {
            return;
        }
        let width = all.to_string().len();
        let percent = 100 * iteration / all;
        let phase = if is_warmup { "(Warmup)" } else { "(Sampling)" };
        let prefix = &self.prefix;
        say(&format!("{prefix}Iteration: {iteration:>width$} / {all} [{percent:>3}%]  {phase}"));
    }

    fn see(&self, state: &mut State<'_>, draw: &Draw<'_>) -> Result<(), Failure> {
        let plan = self.plan;
        let (is_warmup, index) = match (draw.phase, plan.engaged) {
            (RunPhase::Warmup, _) => (true, draw.index),
            (RunPhase::Sampling, false) if draw.index < plan.warmup => (true, draw.index),
            (RunPhase::Sampling, false) => (false, draw.index - plan.warmup),
            (RunPhase::Sampling, true) => (false, draw.index),
        };
        self.progress(is_warmup, index);
        if !is_warmup && index == 0 && !state.has_adaptation {
            let now = draw.checkpoint();
            let metric = self.metric(state, &now.inverse_metric);
            self.write_adaptation(state, now.step_size, &metric)?;
        }
        let is_written = (!is_warmup || plan.save_warmup) && index.is_multiple_of(plan.thin);
        let stride = (plan.warmup / 2).div_ceil(MAX_FOR_VARIANCES).max(1);
        let for_variance = is_warmup
            && state.back.is_some()
            && index >= plan.warmup / 2
            && index.is_multiple_of(stride);
        if !is_written && !for_variance {
            return Ok(());
        }
        let State { recording, row, back, .. } = state;
        let number = DrawNumber { chain: draw.chain, phase: draw.phase, index: draw.index };
        record(recording, number, draw.position, row, &self.prefix)?;
        if for_variance && let Some(position) = back.as_ref().and_then(|back| back.position(row)) {
            state.for_variances.push(position);
        }
        if !is_written {
            return Ok(());
        }
        // What was integrated out, or is sampled as something else, counts in `lp__` as written.
        let logp = match back {
            Some(back) => back.logp(row),
            None => draw.info.logp,
        };
        let mut statistics = statistics(logp, draw.info);
        if self.coordinates.is_empty() {
            // Nothing was stepped through.
            statistics[STEP_SIZE] = f64::NAN;
        }
        if let Some(file) = &mut state.file {
            file.row(statistics.iter().copied().chain(self.columns.values(row)))?;
        }
        if let Some(file) = &mut state.diagnostic {
            let element = |values: &[f64], i: &usize| values[*i];
            let places = || self.order.iter();
            let row = places().map(|i| element(draw.position, i));
            let row = row.chain(places().map(|_| f64::NAN));
            let row = row.chain(places().map(|i| element(draw.gradient, i)));
            file.row(statistics.iter().copied().chain(row))?;
        }
        Ok(())
    }
}

/// What the sampler says of a draw. Stan's depth leaves out a last doubling that was discarded.
fn statistics(logp: f64, info: &Info) -> [f64; 7] {
    let depth = info.tree_depth - u32::from(info.last_discarded && info.tree_depth > 0);
    let divergent = info.divergent && !planted(Fault::DivergencesUnwritten);
    [
        logp,
        info.accept_stat,
        info.step_size,
        f64::from(depth),
        f64::from(info.n_steps),
        f64::from(u8::from(divergent)),
        info.energy,
    ]
}

impl Observer for Chain<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match self.see(&mut state, draw) {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                state.failure = Some(failure);
                ControlFlow::Break(())
            }
        }
    }
}
