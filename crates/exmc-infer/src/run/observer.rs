//! Observers: what a caller sees of a run while it runs, and how it stops one.

use std::ops::ControlFlow;

use crate::run::ChainResult;
use crate::run::chain::Checkpoint;
use crate::state::{Info, RunPhase, State};

/// One draw, as it is made.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Draw<'a> {
    /// Number of the chain.
    pub chain: u32,
    /// Whether the draw belongs to warmup.
    pub phase: RunPhase,
    /// Number of the draw within its phase, from 0.
    pub index: u64,
    /// The draw, on the unconstrained scale.
    pub position: &'a [f64],
    /// Gradient of the log density there.
    pub gradient: &'a [f64],
    /// What the transition did.
    pub info: &'a Info,
    /// Where the transition diverged or the density could not be evaluated (may hold non-finite
    /// numbers), when that happened.
    pub divergence: Option<&'a [f64]>,
    pub(crate) snapshot: &'a dyn Fn() -> Checkpoint,
}

impl Draw<'_> {
    /// The chain after this draw, to resume from. Copies the chain's state, so it costs an
    /// allocation.
    pub fn checkpoint(&self) -> Checkpoint {
        (self.snapshot)()
    }
}

/// Sees every draw of every chain, from several threads at once.
///
/// An observer cannot change a draw. All methods do nothing by default.
pub trait Observer: Sync {
    /// A chain has its initial (or resumed) state and is about to make its first draw.
    fn chain_started(&self, chain: u32, state: &State) {
        let _ = (chain, state);
    }

    /// A draw was made. `Break` stops this chain after it (the draw counts); the caller stops the
    /// others by breaking on their next draws.
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let _ = draw;
        ControlFlow::Continue(())
    }

    /// Whether chains are to end amid the draws that they are making, which are then not made: the
    /// answer to a wish to stop where a single draw may take long. Where there is an answer when
    /// the run begins, a thread of its own asks for it ten times a second; chains have a tenth of a
    /// second to end by themselves at a [`draw`](Self::draw) before they are interrupted. An answer
    /// that panics is none, then and from then on.
    fn interrupts(&self) -> Option<bool> {
        None
    }

    /// A chain is done, whatever its outcome.
    fn chain_finished(&self, result: &ChainResult) {
        let _ = result;
    }
}

/// An observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}
