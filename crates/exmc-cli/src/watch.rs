//! Draws as they are made -> the chains' files and the display; and the word to stop.

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use exmc::Error;
use exmc::advanced::{BoundModel, Recorder};
use exmc::infer::{ChainOutcome, Draw, Observer, RunPhase};
use exmc_draws::ChainWriter;
use exmc_infer::ChainResult;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::signals::Stop;

/// Writers of all chains, and the first error that one of them met.
pub(crate) struct Sink {
    writers: Vec<Mutex<ChainWriter>>,
    error: Mutex<Option<Failure>>,
    is_broken: AtomicBool,
}

impl Sink {
    pub(crate) fn new(writers: Vec<ChainWriter>) -> Self {
        Self {
            writers: writers.into_iter().map(Mutex::new).collect(),
            error: Mutex::new(None),
            is_broken: AtomicBool::new(false),
        }
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
        let writer = &self.writers[draw.chain as usize];
        let mut writer = writer.lock().unwrap_or_else(|poison| poison.into_inner());
        let written = writer.append(draw.phase, draw.index, draw.info, values);
        match written {
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
    fn finish_chain(&self, chain: usize) {
        let mut writer = self.writers[chain].lock().unwrap_or_else(|poison| poison.into_inner());
        if let Err(error) = writer.finish() {
            self.note(error);
        }
    }

    /// Writes everything out and gives the first error of the run, if there was one.
    pub(crate) fn finish(self) -> Option<Failure> {
        (0..self.writers.len()).for_each(|chain| self.finish_chain(chain));
        self.error.into_inner().unwrap_or_else(|poison| poison.into_inner())
    }
}

/// The observer of a run.
pub(crate) struct Watch<'a> {
    progress: Progress,
    stop: &'a Stop,
    sink: Option<&'a Sink>,
    recorder: Option<Box<dyn Observer + 'a>>,
    save_warmup: bool,
    made: Vec<AtomicU64>,
}

impl<'a> Watch<'a> {
    /// Watches a run whose draws stay in memory.
    pub(crate) fn new(progress: Progress, stop: &'a Stop, chains: u32) -> Self {
        let made = (0..chains).map(|_| AtomicU64::new(0)).collect();
        Self { progress, stop, sink: None, recorder: None, save_warmup: false, made }
    }

    /// Hands every draw to the sink too.
    pub(crate) fn record(
        mut self,
        model: &BoundModel,
        seed: u64,
        sink: &'a Sink,
        save_warmup: bool,
    ) -> Result<Self, Failure> {
        let chains = self.made.len() as u32;
        let append = |draw: &Draw<'_>, values: Result<&[f64], Error>| sink.append(draw, values);
        self.recorder = Some(Box::new(Recorder::new(model, chains, seed, append)?));
        self.sink = Some(sink);
        self.save_warmup = save_warmup;
        Ok(self)
    }

    /// Draws after warmup that all chains together have made.
    pub(crate) fn draws_made(&self) -> u64 {
        self.made.iter().map(|n| n.load(Ordering::Relaxed)).sum()
    }
}

impl Observer for Watch<'_> {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let sampling = draw.phase == RunPhase::Sampling;
        if sampling {
            self.made[draw.chain as usize].fetch_add(1, Ordering::Relaxed);
        }
        if let Some(recorder) = &self.recorder
            && (sampling || self.save_warmup)
        {
            recorder.draw(draw)?;
        }
        self.progress.draw(draw);
        let broken = self.sink.is_some_and(|sink| sink.is_broken.load(Ordering::Relaxed));
        if broken || self.stop.is_asked() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }

    fn chain_finished(&self, result: &ChainResult) {
        if let Some(sink) = self.sink {
            sink.finish_chain(result.chain as usize);
            // What ends one chain this way ends the run.
            if matches!(&result.outcome, ChainOutcome::Failed(error) if error.is_ended()) {
                sink.is_broken.store(true, Ordering::Relaxed);
            }
        }
        let made = self.made[result.chain as usize].load(Ordering::Relaxed);
        self.progress.chain_finished(result, made);
    }
}
