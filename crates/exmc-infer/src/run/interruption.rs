//! An observer's wish to end a run -> chains that end amid a draw.
//!
//! A [`StopFlag`] is put up for every thread that runs chains, and solvers deep inside a density
//! look at it. A thread of its own asks the observer and raises it. What was evaluated since then
//! has no meaning, so [`Interruptible`] makes an error of it, and the draw is not made.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use exmc_density::{EvaluationError, LogDensity};
use exmc_math::interruption::StopFlag;

use crate::run::observer::Observer;

/// Time from one question whether to interrupt to the next.
const TIME_BETWEEN_QUESTIONS: Duration = Duration::from_millis(100);

/// A density whose evaluations fail from when the flag is raised.
#[derive(Debug)]
pub(crate) struct Interruptible<L> {
    density: L,
    stop: StopFlag,
}

impl<L> Interruptible<L> {
    pub(crate) fn new(density: L, stop: StopFlag) -> Self {
        Self { density, stop }
    }
}

impl<L: LogDensity> LogDensity for Interruptible<L> {
    fn dim(&self) -> usize {
        self.density.dim()
    }

    fn logp_grad(
        &mut self,
        position: &[f64],
        gradient: &mut [f64],
    ) -> Result<f64, EvaluationError> {
        let found = self.density.logp_grad(position, gradient);
        if self.stop.is_raised() { Err(EvaluationError::Interrupted) } else { found }
    }
}

/// Whether the observer wants chains to end amid their draws, if it says so. A panic in it says
/// nothing: one at a draw is the chain's.
pub(crate) fn wish(observer: &dyn Observer) -> Option<bool> {
    catch_unwind(AssertUnwindSafe(|| observer.interrupts())).ok().flatten()
}

/// Asks the observer until the senders of `chains` are gone or it says nothing, and raises the flag
/// when the answer was yes twice in a row: in between chains with quick draws end at one of them.
pub(crate) fn watch(observer: &dyn Observer, stop: &StopFlag, chains: &Receiver<()>) {
    let mut was_wanted = false;
    while chains.recv_timeout(TIME_BETWEEN_QUESTIONS) == Err(RecvTimeoutError::Timeout) {
        let Some(is_wanted) = wish(observer) else { return };
        if is_wanted && was_wanted {
            return stop.raise();
        }
        was_wanted = is_wanted;
    }
}
