//! Draws as they are made -> the chains' files and the display; and the word to stop.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use exmc::advanced::{BoundModel, Recorder};
use exmc::infer::{ChainOutcome, Checkpoint, Draw, Observer, RunPhase};
use exmc::{Error, SamplerConfig};
use exmc_draws::ChainWriter;
use exmc_infer::ChainResult;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::signals::Stop;

/// Writers of chains, by number, and the first error that one of them met.
pub(crate) struct Sink {
    chains: Vec<Option<Chain>>,
    warmup: u64,
    error: Mutex<Option<Failure>>,
    is_broken: AtomicBool,
}

struct Chain {
    written: Mutex<Written>,
    /// Whether it was time for a checkpoint when a draw was appended last, which is looked at
    /// without the lock.
    is_due: AtomicBool,
}

struct Written {
    writer: ChainWriter,
    /// Where the chain stood when it was last stored.
    last: Option<Checkpoint>,
}

impl Chain {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(|poison| poison.into_inner())
    }
}

impl Sink {
    /// With where each chain goes on, if it does.
    pub(crate) fn new(
        config: &SamplerConfig,
        writers: Vec<(u32, ChainWriter, Option<Checkpoint>)>,
    ) -> Self {
        let mut chains: Vec<_> = (0..config.chains).map(|_| None).collect();
        for (number, writer, last) in writers {
            let written = Mutex::new(Written { writer, last });
            chains[number as usize] = Some(Chain { written, is_due: AtomicBool::new(false) });
        }
        let (error, is_broken) = (Mutex::new(None), AtomicBool::new(false));
        Self { chains, warmup: config.warmup, error, is_broken }
    }

    fn written(&self, chain: u32) -> Option<MutexGuard<'_, Written>> {
        Some(self.chain(chain)?.written())
    }

    fn chain(&self, chain: u32) -> Option<&Chain> {
        self.chains.get(chain as usize)?.as_ref()
    }

    /// Where a chain stood when it was last stored.
    pub(crate) fn last_checkpoint(&self, chain: u32) -> Option<Checkpoint> {
        self.written(chain)?.last.clone()
    }

    fn append(&self, draw: &Draw<'_>, values: Result<&[f64], Error>) -> ControlFlow<()> {
        let values = match values {
            Ok(values) => values,
            // The draw is left out, and the chain ends as by any request to stop.
            Err(error) if error.is_interrupted() => return ControlFlow::Break(()),
            Err(error) => {
                self.note(error);
                return ControlFlow::Break(());
            }
        };
        let Some(chain) = self.chain(draw.chain) else { return ControlFlow::Continue(()) };
        let mut written = chain.written();
        match written.writer.append(draw.phase, draw.index, draw.info, values) {
            Ok(()) => {
                chain.is_due.store(written.writer.is_checkpoint_due(), Ordering::Relaxed);
                ControlFlow::Continue(())
            }
            Err(error) => {
                self.note(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Stores where a chain stands behind a draw, if it is time for that or the chain ends there;
    /// from where it may go on in another round.
    fn checkpoint(
        &self,
        draw: &Draw<'_>,
        (appended, ends): (bool, bool),
        goes_on: bool,
    ) -> ControlFlow<()> {
        let Some(chain) = self.chain(draw.chain) else { return ControlFlow::Continue(()) };
        if !ends && appended && !chain.is_due.load(Ordering::Relaxed) {
            return ControlFlow::Continue(());
        }
        let mut written = chain.written();
        if !ends && !written.writer.is_checkpoint_due() {
            return ControlFlow::Continue(());
        }
        let mut taken = None;
        let stored = written.writer.checkpoint(self.warmup, || {
            let checkpoint = draw.checkpoint();
            if ends && goes_on {
                taken = Some(checkpoint.clone());
            }
            checkpoint
        });
        if taken.is_some() {
            written.last = taken;
        }
        match stored {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.note(error);
                ControlFlow::Break(())
            }
        }
    }

    fn note(&self, error: impl Into<Failure>) {
        self.is_broken.store(true, Ordering::Relaxed);
        self.error.lock().unwrap_or_else(|poison| poison.into_inner()).get_or_insert(error.into());
    }

    /// Writes out what a chain has left.
    fn finish_chain(&self, chain: u32) {
        let Some(mut written) = self.written(chain) else { return };
        if let Err(error) = written.writer.finish() {
            self.note(error);
        }
    }

    /// Writes everything out and gives the first error of the run, if there was one.
    pub(crate) fn finish(self) -> Option<Failure> {
        (0..self.chains.len() as u32).for_each(|chain| self.finish_chain(chain));
        self.error.into_inner().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// The observer of a run.
pub(crate) struct Watch<'a> {
    progress: Arc<Progress>,
    stop: &'a Stop,
    deadline: Option<Instant>,
    is_late: AtomicBool,
    recorded: Option<Recorded<'a>>,
    made: Vec<AtomicU64>,
    /// Draws after which a chain ends for now.
    draws: AtomicU64,
    /// Whether chains that end do so for good.
    is_last: AtomicBool,
}

struct Recorded<'a> {
    sink: &'a Sink,
    recorder: Box<dyn Observer + 'a>,
    save_warmup: bool,
    warmup: u64,
}

impl<'a> Watch<'a> {
    /// Watches a run whose draws stay in memory.
    pub(crate) fn new(progress: Progress, stop: &'a Stop, chains: u32) -> Self {
        let made = (0..chains).map(|_| AtomicU64::new(0)).collect();
        Self {
            progress: Arc::new(progress),
            stop,
            deadline: None,
            is_late: AtomicBool::new(false),
            recorded: None,
            made,
            draws: AtomicU64::new(u64::MAX),
            is_last: AtomicBool::new(true),
        }
    }

    /// Hands every draw to the sink too.
    pub(crate) fn record(
        mut self,
        model: &BoundModel,
        config: &SamplerConfig,
        sink: &'a Sink,
        save_warmup: bool,
    ) -> Result<Self, Failure> {
        let chains = self.made.len() as u32;
        let progress = Arc::clone(&self.progress);
        let append = move |draw: &Draw<'_>, values: Result<&[f64], Error>| {
            if let (RunPhase::Sampling, Ok(values)) = (draw.phase, &values) {
                progress.draw(draw, values);
            }
            sink.append(draw, values)
        };
        let recorder = Box::new(Recorder::new(model, chains, config.seed, append)?);
        self.recorded = Some(Recorded { sink, recorder, save_warmup, warmup: config.warmup });
        Ok(self)
    }

    /// Ends all chains after their first draw at that time or later, or amid one that takes long.
    pub(crate) fn until(mut self, deadline: Option<Instant>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Tells how many draws chains will make now, and whether that is all.
    pub(crate) fn round(&self, draws: u64, is_last: bool) {
        self.draws.store(draws, Ordering::Relaxed);
        self.is_last.store(is_last, Ordering::Relaxed);
    }

    /// Counts draws that were made before.
    pub(crate) fn made_before(&self, chain: u32, draws: u64) {
        self.made[chain as usize].store(draws, Ordering::Relaxed);
        self.progress.made_before(chain, draws);
    }

    /// Draws after warmup that all chains together have made.
    pub(crate) fn draws_made(&self) -> u64 {
        self.made.iter().map(|n| n.load(Ordering::Relaxed)).sum()
    }

    /// Whether time was up.
    pub(crate) fn is_late(&self) -> bool {
        self.is_late.load(Ordering::Relaxed)
    }

    fn is_asked_to_end(&self) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            self.is_late.store(true, Ordering::Relaxed);
        }
        self.stop.is_asked() || self.is_late()
    }
}

impl Observer for Watch<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let sampling = draw.phase == RunPhase::Sampling;
        if sampling {
            self.made[draw.chain as usize].fetch_add(1, Ordering::Relaxed);
        }
        let ends = self.is_asked_to_end();
        let mut is_broken = false;
        if let Some(Recorded { sink, recorder, save_warmup, warmup }) = &self.recorded {
            let appended = sampling || *save_warmup;
            if appended {
                recorder.draw(draw)?;
            }
            let draws = self.draws.load(Ordering::Relaxed);
            let is_last = if sampling {
                draw.index + 1 == draws
            } else {
                draws == 0 && draw.index + 1 == *warmup
            };
            is_broken = sink.is_broken.load(Ordering::Relaxed);
            let goes_on = !self.is_last.load(Ordering::Relaxed);
            sink.checkpoint(draw, (appended, ends || is_last || is_broken), goes_on)?;
        }
        // Draws with recorded values were noted with them.
        if !sampling || self.recorded.is_none() {
            self.progress.draw(draw, &[]);
        }
        if ends || is_broken { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn interrupts(&self) -> Option<bool> {
        let is_broken =
            |Recorded { sink, .. }: &Recorded<'_>| sink.is_broken.load(Ordering::Relaxed);
        Some(self.is_asked_to_end() || self.recorded.as_ref().is_some_and(is_broken))
    }

    fn chain_finished(&self, result: &ChainResult) {
        if let Some(Recorded { sink, .. }) = &self.recorded {
            sink.finish_chain(result.chain);
            // What ends one chain this way ends the run.
            if matches!(&result.outcome, ChainOutcome::Failed(error) if error.is_ended()) {
                sink.is_broken.store(true, Ordering::Relaxed);
            }
        }
        let goes_on =
            result.outcome == ChainOutcome::Completed && !self.is_last.load(Ordering::Relaxed);
        if !goes_on {
            let made = self.made[result.chain as usize].load(Ordering::Relaxed);
            self.progress.chain_finished(result, made);
        }
    }
}
