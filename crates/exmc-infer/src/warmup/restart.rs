//! Warmup draws -> whether a chain is stuck, and a better place for it to go on from.
//!
//! A chain may start where the density is $10^{-100}$, or where no step is small enough, and then
//! spend its warmup on the way, with a metric and a step size that fit the way and not the
//! posterior. [`StuckDetector`] looks at a few draws at the ends of early parts of warmup. It finds
//! that a chain is *on its way*, when the log density changes by more than a posterior's would, or
//! that it *does not move*: transitions that stay where they were, or trajectories of the largest
//! length. Where neither is so, one cheap walk uphill from another random point looks whether there
//! is a far higher place that a walk from the chain's own does not lead to: then the chain may be
//! in a mode that has next to none of the mass.
//!
//! Such a chain walks to a mode by [`pathfinder`](mod@crate::pathfinder) from where it is, and goes
//! on at a draw of the best normal approximation, with that one's variances for a metric, if the
//! log density is far larger there. Paths from other random points count only if their evidence
//! lower bound, which knows how wide a mode is, is far larger than that of the chain's own path: a
//! chain in a proper mode of its own stays there, for R-hat to show.
//!
//! A chain judges itself by (seed, chain) alone, with random numbers of its own phase, so that
//! draws depend neither on other chains nor on when they run.

mod search;

use exmc_fault::{Fault, planted};

use crate::config::SamplerConfig;
use crate::state::Info;
use crate::warmup::adaptation::wide_range;

/// Why a chain was restarted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestartReason {
    /// Its log density still rose by far more than the log densities of a posterior vary.
    OnItsWay,
    /// Most of its transitions stayed where they were.
    Still,
    /// Most of its trajectories had the largest length.
    TinySteps,
    /// It moved, in a mode that has next to none of the mass.
    LowMode,
}

/// That a chain went on from another place during warmup.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Restart {
    /// Warmup draws before it.
    pub iteration: u64,
    /// What was wrong.
    pub reason: RestartReason,
    /// Log density of the draw before it, in nats.
    pub logp_before: f64,
    /// Log density where the chain went on.
    pub logp_after: f64,
    /// Evaluations of the density that it took, which no count of leapfrog steps has.
    pub evaluations: u64,
}

impl Restart {
    /// A restart, as it was recorded.
    pub fn new(
        iteration: u64,
        reason: RestartReason,
        [logp_before, logp_after]: [f64; 2],
        evaluations: u64,
    ) -> Self {
        Self { iteration, reason, logp_before, logp_after, evaluations }
    }
}

impl RestartReason {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OnItsWay, Self::Still, Self::TinySteps, Self::LowMode];

    /// The word that records use.
    pub fn name(self) -> &'static str {
        match self {
            Self::OnItsWay => "on-its-way",
            Self::Still => "still",
            Self::TinySteps => "tiny-steps",
            Self::LowMode => "low-mode",
        }
    }
}

/// Draws that are looked at before a judgement.
const BLOCK: u64 = 25;
/// Trajectories of the largest length among them that show tiny steps.
const MAX_SATURATED: u32 = 10;
/// Restarts of one chain at most.
const MAX_RESTARTS: usize = 3;
/// Higher places that a chain may see in vain, before it no more looks for any while it is well.
const MAX_FAILED_RESTARTS: u32 = 2;

/// What a chain has seen of itself in the part of warmup that is judged next, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct StuckDetector {
    /// Draws looked at.
    pub draws: u32,
    /// The smallest log density among them.
    pub least: f64,
    /// The largest.
    pub most: f64,
    /// Transitions that stayed where they were.
    pub still: u32,
    /// Trajectories of the largest length.
    pub saturated: u32,
    /// Whether this part was judged before its end.
    pub is_judged: bool,
    /// What is to be done before the next draw.
    pub due: Option<RestartReason>,
    /// The largest log density before that.
    pub reached: f64,
    /// How often paths were looked for, which numbers their random streams.
    pub searches: u64,
    /// How many of them saw a higher place, to go to which was not right.
    pub in_vain: u32,
    /// The restarts that were made.
    pub restarts: Vec<Restart>,
}

impl StuckDetector {
    /// Before the first draw.
    pub(crate) fn new() -> Self {
        Self {
            draws: 0,
            least: f64::INFINITY,
            most: f64::NEG_INFINITY,
            still: 0,
            saturated: 0,
            is_judged: false,
            due: None,
            reached: f64::NEG_INFINITY,
            searches: 0,
            in_vain: 0,
            restarts: Vec::new(),
        }
    }

    /// Takes in the draw with `index` draws before it; a judgement may be due after it.
    ///
    /// Judged are the last 25 of the first 50, 100, 200, ... draws, as long as half of warmup is
    /// left to learn in. Trajectories of the largest length are what costs, so the tenth of them is
    /// waited for no longer, and the first 25 draws are looked at for those alone: they begin at a
    /// random point and may well be on their way. What is due after a judgement of a chain that
    /// looks well is a look at what else there is.
    pub(crate) fn watch(&mut self, index: u64, config: &SamplerConfig, dim: usize, info: &Info) {
        let end = judgement_after(index);
        let in_time = end <= config.warmup / 2 || planted(Fault::RestartWhileSampling);
        if dim == 0 || config.warm_start.is_some() || !in_time || index + BLOCK < end {
            return;
        }
        self.draws += 1;
        self.least = self.least.min(info.logp);
        self.most = self.most.max(info.logp);
        self.still += u32::from(!info.moved);
        self.saturated += u32::from(info.reached_max_depth);
        let is_last = index + 1 == end;
        let reason = if self.is_judged {
            None
        } else if self.saturated >= MAX_SATURATED {
            Some(RestartReason::TinySteps)
        } else if !is_last || end == BLOCK {
            None
        } else if 5 * self.still >= 4 * self.draws {
            Some(RestartReason::Still)
        } else if self.most - self.least > wide_range(dim) {
            Some(RestartReason::OnItsWay)
        } else {
            Some(RestartReason::LowMode)
        };
        if reason.is_some() {
            let few = self.restarts.len() < MAX_RESTARTS;
            let hopeful = self.in_vain < MAX_FAILED_RESTARTS;
            self.is_judged = true;
            self.due = reason.filter(|r| few && (hopeful || *r != RestartReason::LowMode));
            self.reached = self.most;
        }
        if is_last {
            (self.draws, self.still, self.saturated) = (0, 0, 0);
            (self.least, self.most) = (f64::INFINITY, f64::NEG_INFINITY);
            self.is_judged = false;
        }
    }
}

/// The number of draws after which the part of warmup that holds draw `index` is judged: 25 doubled
/// some times.
fn judgement_after(index: u64) -> u64 {
    let parts = (index / BLOCK + 1).checked_next_power_of_two().unwrap_or(u64::MAX);
    parts.saturating_mul(BLOCK)
}
