//! A run as it goes on -> what its caller sees of it, and the word to stop.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use exmc_draws::{ChainDraws, Variable};
use exmc_infer::{ChainOutcome, ChainResult, Draw, Info, Observer, RunPhase, SamplerConfig, State};

use super::{Fit, Target};
use crate::compile::BoundModel;
use crate::error::Error;
use crate::sample::Recorder;

/// Samples a posterior as [`sample`](crate::sample) does, while a [`Monitor`] sees every draw as it
/// is made and may end the run.
///
/// What a monitor does changes no draw: those of a run that was ended are the first ones of the run
/// that was left alone. [`Fit::status`] says how the run ended.
///
/// ```
/// use std::time::Duration;
/// use exmc::{Monitor, MonitoredDraw, Status, TimeLimit, Verdict};
/// use exmc::{ModelBuilder, SamplerConfig, distributions::normal, sample_monitored};
///
/// /// Ends the run once a chain has 50 draws.
/// struct Fifty;
///
/// impl Monitor for Fifty {
///     fn draw(&self, draw: &MonitoredDraw<'_>) -> Verdict {
///         if draw.index + 1 == 50 && draw.get("mu").is_some() {
///             return Verdict::Stop;
///         }
///         Verdict::Continue
///     }
/// }
///
/// let mut model = ModelBuilder::new();
/// model.rv("mu", normal(0, 10));
/// let model = model.build()?;
/// let settings = SamplerConfig::default().chains(1);
/// let monitor = (Fifty, TimeLimit::new(Duration::from_secs(60)));
/// let fit = sample_monitored(&model, &settings, &monitor)?;
/// assert_eq!(fit.status(), Status::Stopped);
/// assert_eq!(fit["mu"].shape(), [1, 50]);
/// # Ok::<(), exmc::Error>(())
/// ```
///
/// # Errors
/// As [`sample`](crate::sample).
pub fn sample_monitored(
    target: &(impl Target + ?Sized),
    settings: &SamplerConfig,
    monitor: &dyn Monitor,
) -> Result<Fit, Error> {
    target.sample_monitored(settings, monitor)
}

/// Whether a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Continue,
    /// Every chain ends with the draw that it is making, or amid it if it takes long;
    /// [`Status::Stopped`].
    Stop,
    /// The same, because time is up; [`Status::Deadline`].
    TimeIsUp,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Every chain made all its draws, or failed.
    Complete,
    /// Somebody stopped it.
    Stopped,
    /// Its time was up.
    Deadline,
}

/// Sees every draw of every chain exactly once, from several threads at once, and may end the run.
///
/// A pair of monitors is one, which ends the run when one of them does.
pub trait Monitor: Sync {
    /// Whether the run goes on; asked with every draw, also of the pilot chains that choose
    /// coordinates and whose draws nobody sees, and ten times a second besides, by a thread of its
    /// own: draws that take long are then not made to their end.
    fn verdict(&self) -> Verdict {
        Verdict::Continue
    }

    /// A draw was made, of warmup or after it.
    fn draw(&self, draw: &MonitoredDraw<'_>) -> Verdict {
        let _ = draw;
        self.verdict()
    }

    /// A chain begins a phase.
    fn phase(&self, chain: u32, phase: RunPhase) {
        let _ = (chain, phase);
    }
}

/// One draw of one chain.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct MonitoredDraw<'a> {
    /// Number of the chain.
    pub chain: u32,
    /// Whether the draw belongs to warmup.
    pub phase: RunPhase,
    /// Number of the draw within its phase, from 0.
    pub index: u64,
    /// The draw on the unconstrained scale.
    pub position: &'a [f64],
    /// What the transition did.
    pub info: &'a Info,
    /// What is recorded of the draw, in the order of [`variables`](Self::variables); empty during
    /// warmup.
    pub values: &'a [f64],
    /// What is recorded.
    pub variables: &'a [Variable],
}

impl<'a> MonitoredDraw<'a> {
    /// The numbers of a variable; nothing during warmup, or where there is no such variable.
    pub fn get(&self, name: &str) -> Option<&'a [f64]> {
        let variable = self.variables.iter().find(|variable| variable.name == name)?;
        self.values.get(variable.offset..variable.offset + variable.len())
    }
}

impl<A: Monitor, B: Monitor> Monitor for (A, B) {
    fn verdict(&self) -> Verdict {
        self.0.verdict().or(self.1.verdict())
    }

    fn draw(&self, draw: &MonitoredDraw<'_>) -> Verdict {
        self.0.draw(draw).or(self.1.draw(draw))
    }

    fn phase(&self, chain: u32, phase: RunPhase) {
        self.0.phase(chain, phase);
        self.1.phase(chain, phase);
    }
}

impl Verdict {
    fn or(self, other: Self) -> Self {
        if self == Self::Continue { other } else { self }
    }
}

/// Ends runs that it watches, from any thread; clones are the same.
///
/// ```
/// use exmc::{Cancel, ModelBuilder, SamplerConfig, Status, distributions::normal,
/// sample_monitored}; let mut model = ModelBuilder::new();
/// model.rv("mu", normal(0, 10));
/// let model = model.build()?;
/// let cancel = Cancel::default();
/// let other = cancel.clone();
/// let thread = std::thread::spawn(move || other.cancel());
/// let fit = sample_monitored(&model,
/// &SamplerConfig::default().draws(100_000_000).keep_draws(false), &cancel)?;
/// assert_eq!(fit.status(), Status::Stopped);
/// # thread.join().unwrap();
/// # Ok::<(), exmc::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Ends the runs.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Monitor for Cancel {
    fn verdict(&self) -> Verdict {
        if self.0.load(Ordering::Relaxed) { Verdict::Stop } else { Verdict::Continue }
    }
}

/// Ends runs that it watches when time is up.
#[derive(Clone, Copy, Debug)]
pub struct TimeLimit(Option<Instant>);

impl TimeLimit {
    /// So long from now on.
    pub fn new(time: Duration) -> Self {
        Self(Instant::now().checked_add(time))
    }
}

impl Monitor for TimeLimit {
    fn verdict(&self) -> Verdict {
        let is_over = self.0.is_some_and(|end| Instant::now() >= end);
        if is_over { Verdict::TimeIsUp } else { Verdict::Continue }
    }
}

/// A monitor that sees nothing.
pub(super) struct NoMonitor;

impl Monitor for NoMonitor {}

/// The observer that tells a monitor.
pub(super) struct Monitored<'a> {
    monitor: &'a dyn Monitor,
    variables: &'a [Variable],
    warmup: u64,
    /// Why the run ends, as a [`Verdict`].
    ends: AtomicU8,
}

impl<'a> Monitored<'a> {
    pub(super) fn new(
        monitor: &'a dyn Monitor,
        variables: &'a [Variable],
        settings: &SamplerConfig,
    ) -> Self {
        let (warmup, ends) = (settings.warmup, AtomicU8::new(0));
        Self { monitor, variables, warmup, ends }
    }

    /// The same for a model, whose recorded values the monitor sees too.
    pub(super) fn recording<'b>(
        &'b self,
        model: &BoundModel,
        settings: &SamplerConfig,
    ) -> Result<impl Observer + 'b, Error> {
        let record = |draw: &Draw<'_>, values: Result<&[f64], Error>| match values {
            Ok(values) => self.tell(draw, values),
            // The same error comes again when draws are recorded for good.
            Err(_) => ControlFlow::Break(()),
        };
        let recorder = Recorder::new(model, settings.chains, settings.seed, record)?;
        Ok(OfModel { monitored: self, recorder })
    }

    /// Takes in a verdict; whether the run goes on.
    fn goes_on(&self, verdict: Verdict) -> bool {
        if verdict != Verdict::Continue {
            // The first reason is the one that is told.
            let reason = verdict as u8;
            let _ = self.ends.compare_exchange(0, reason, Ordering::Relaxed, Ordering::Relaxed);
        }
        self.ends.load(Ordering::Relaxed) == 0
    }

    fn tell(&self, draw: &Draw<'_>, values: &[f64]) -> ControlFlow<()> {
        let verdict = self.monitor.draw(&MonitoredDraw {
            chain: draw.chain,
            phase: draw.phase,
            index: draw.index,
            position: draw.position,
            info: draw.info,
            values,
            variables: self.variables,
        });
        if draw.phase == RunPhase::Warmup && draw.index + 1 == self.warmup {
            self.monitor.phase(draw.chain, RunPhase::Sampling);
        }
        if self.goes_on(verdict) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    /// Whether the run ended because time was up.
    pub(super) fn is_late(&self) -> bool {
        self.ends.load(Ordering::Relaxed) == Verdict::TimeIsUp as u8
    }
}

impl Observer for Monitored<'_> {
    fn chain_started(&self, chain: u32, _: &State) {
        let first = if self.warmup == 0 { RunPhase::Sampling } else { RunPhase::Warmup };
        self.monitor.phase(chain, first);
    }

    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let values = match draw.phase {
            RunPhase::Warmup => &[],
            RunPhase::Sampling => draw.position,
        };
        self.tell(draw, values)
    }

    fn interrupts(&self) -> Option<bool> {
        Some(!self.goes_on(self.monitor.verdict()))
    }
}

struct OfModel<'a, R> {
    monitored: &'a Monitored<'a>,
    recorder: R,
}

impl<R: Observer> Observer for OfModel<'_, R> {
    fn chain_started(&self, chain: u32, state: &State) {
        self.monitored.chain_started(chain, state);
    }

    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        match draw.phase {
            RunPhase::Warmup => self.monitored.tell(draw, &[]),
            RunPhase::Sampling => self.recorder.draw(draw),
        }
    }

    fn interrupts(&self) -> Option<bool> {
        self.monitored.interrupts()
    }

    fn chain_finished(&self, result: &ChainResult) {
        self.monitored.chain_finished(result);
    }
}

/// How a run of these chains ended.
pub(super) fn status(chains: &[ChainDraws], is_late: bool) -> Status {
    let is_cut = chains.iter().any(|chain| chain.outcome == ChainOutcome::Interrupted);
    match (is_cut, is_late) {
        (false, _) => Status::Complete,
        (true, false) => Status::Stopped,
        (true, true) => Status::Deadline,
    }
}
