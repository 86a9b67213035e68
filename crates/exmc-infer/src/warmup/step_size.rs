//! Step size: acceptance statistics -> a step size that meets the target acceptance.
//!
//! Dual averaging as in Hoffman & Gelman 2014, section 3.2, and the search for a first step size of
//! their algorithm 4.

use exmc_density::LogDensity;
use exmc_math::random::ChainRng;

use crate::error::SampleError;
use crate::integrator::leapfrog::{Endpoint, depart};
use crate::linalg::aligned_vector::AlignedVec;
use crate::linalg::kernels::sum_of_squares;
use crate::metric::Metric;
use crate::state::State;

/// Shrinkage towards `mu` (Hoffman & Gelman 2014, section 3.2.1; Stan's default).
const GAMMA: f64 = 0.05;
/// Damping of the first iterations (same source).
const T0: f64 = 10.0;
/// Weight of the newest iterate in the recent average, which so remembers some five draws.
const RECENT_WEIGHT: f64 = 0.2;
/// Bound on the absolute log step size, $10^{\pm 100}$: an improper density accepts everything and
/// would drive positions to infinity, where a flat one still looks finite.
const MAX_LOG_STEP: f64 = 230.0;

/// State of dual averaging, as plain data.
#[derive(Clone, Debug, PartialEq)]
pub struct DualAveraging {
    /// Acceptance statistic that the step size is to reach, in `(0, 1)`.
    pub target: f64,
    /// The log step size that the iterates shrink towards, $\log(10\epsilon_0)$.
    pub mu: f64,
    /// Running mean of (target - acceptance), $\bar H$.
    pub mean_error: f64,
    /// Log of the step size to explore with.
    pub log_step: f64,
    /// Log of the averaged step size, used after warmup.
    pub log_step_averaged: f64,
    /// The same average over the last few iterates only.
    pub log_step_recent: f64,
    /// Updates since the last restart.
    pub count: u64,
}

impl DualAveraging {
    /// Starts at `step_size` with a target acceptance.
    pub fn new(step_size: f64, target: f64) -> Self {
        let log_step = libm::log(step_size);
        Self {
            target,
            mu: libm::log(10.0 * step_size),
            mean_error: 0.0,
            log_step,
            log_step_averaged: log_step,
            log_step_recent: log_step,
            count: 0,
        }
    }

    /// Forgets everything and starts again at `step_size`.
    pub fn restart(&mut self, step_size: f64) {
        *self = Self::new(step_size, self.target);
    }

    /// Goes on from the averaged step size to meet another target.
    pub(crate) fn retarget(&mut self, target: f64) {
        let log_step = self.log_step_averaged;
        // What it shrinks towards is the step size so far: where steps have just turned out to be
        // too long, ten times as long ones teach nothing.
        *self = Self { mu: log_step, ..Self::new(libm::exp(log_step), target) };
    }

    /// Takes in the acceptance statistic of one transition; NaN counts as 0.
    pub fn update(&mut self, accept_stat: f64) {
        let accept = if accept_stat.is_nan() { 0.0 } else { accept_stat.clamp(0.0, 1.0) };
        self.count += 1;
        let t = self.count as f64;
        let eta = 1.0 / (t + T0);
        self.mean_error = (1.0 - eta) * self.mean_error + eta * (self.target - accept);
        let log_step = self.mu - self.mean_error * t.sqrt() / GAMMA;
        self.log_step = log_step.clamp(-MAX_LOG_STEP, MAX_LOG_STEP);
        // The average forgets like $t^{-3/4}$ (same source; the exponent is in `(0.5, 1]` for
        // convergence).
        let weight = 1.0 / (t.sqrt() * t.sqrt().sqrt());
        self.log_step_averaged = weight * self.log_step + (1.0 - weight) * self.log_step_averaged;
        self.log_step_recent =
            RECENT_WEIGHT * self.log_step + (1.0 - RECENT_WEIGHT) * self.log_step_recent;
    }

    /// The step size to explore with.
    pub fn step_size(&self) -> f64 {
        libm::exp(self.log_step)
    }

    /// The step size to sample with after warmup: the averaged one, or the recent one where that is
    /// less than half.
    ///
    /// Warmup may end in a place that needs far smaller steps than most of the posterior, as the
    /// neck of a funnel does. With the average a chain would stay there: every step diverges, and
    /// nothing adapts any more.
    pub fn sampling_step_size(&self) -> f64 {
        let stuck = self.log_step_recent < self.log_step_averaged - std::f64::consts::LN_2;
        libm::exp(if stuck { self.log_step_recent } else { self.log_step_averaged })
    }
}

/// Doubles or halves `start` until one leapfrog step crosses an acceptance of 0.8 (Stan's choice;
/// Hoffman & Gelman use 0.5), with a fresh momentum for each try.
///
/// **Edges**: stops within `[1e-12, 1e7]` and after 100 tries, so that a flat or a hopeless density
/// still gives a usable number.
///
/// # Errors
/// Only when the density fails fatally.
pub fn search_step_size(
    state: &State,
    density: &mut dyn LogDensity,
    metric: &Metric,
    start: f64,
    rng: &mut ChainRng,
) -> Result<f64, SampleError> {
    const ACCEPT: f64 = 0.8;
    const MAX_TRIES: u32 = 100;
    const RANGE: std::ops::RangeInclusive<f64> = 1e-12..=1e7;
    let dim = state.position.len();
    if dim == 0 {
        return Ok(start);
    }
    let (mut backward, mut forward) = (Endpoint::new(dim), Endpoint::new(dim));
    let (mut momentum, mut reached) = (AlignedVec::zeros(dim), AlignedVec::zeros(dim));
    let mut step_size = start;
    let mut growing = None;
    for _ in 0..MAX_TRIES {
        rng.fill_standard_normal(&mut momentum);
        depart(&mut backward, &mut forward, state, &momentum, metric, step_size);
        let before = 0.5 * sum_of_squares(metric.level(), momentum.rows()) - state.logp;
        let end = forward.step(density, metric, &mut reached)?;
        let error = end.kinetic - end.logp - before;
        // NaN compares as "not accepted".
        let accepted = -error > libm::log(ACCEPT);
        if *growing.get_or_insert(accepted) != accepted {
            return Ok(step_size);
        }
        let next = if accepted { 2.0 * step_size } else { 0.5 * step_size };
        if !RANGE.contains(&next) {
            return Ok(step_size);
        }
        step_size = next;
    }
    Ok(step_size)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed-form numbers of the requirement table's row on dual averaging.
    #[test]
    fn dual_averaging_follows_the_reference_numbers() {
        let mut averaging = DualAveraging::new(0.1, 0.8);
        assert!(averaging.mu.abs() < 1e-15);
        let expected = [
            (0.9, 0.181818, 0.181818),
            (0.7, 0.0, 0.073708),
            (1.0, 0.532939, 0.275169),
            (0.2, -1.142857, -0.226179),
        ];
        for (accept, log_step, averaged) in expected {
            averaging.update(accept);
            // The table prints six decimals.
            assert!((averaging.log_step - log_step).abs() < 6e-7, "{averaging:?}");
            assert!((averaging.log_step_averaged - averaged).abs() < 6e-7, "{averaging:?}");
        }
    }

    /// Acceptance that never gets better or worse must not overflow or vanish.
    #[test]
    fn hopeless_acceptance_stays_within_bounds() {
        for accept in [0.0, 1.0] {
            let mut averaging = DualAveraging::new(1.0, 0.8);
            (0..100_000).for_each(|_| averaging.update(accept));
            for step_size in [averaging.step_size(), averaging.sampling_step_size()] {
                assert!(step_size.is_finite() && step_size > 0.0, "{step_size}");
            }
        }
    }

    /// A chain that warmup leaves where every step is refused gets a step that it can make; one
    /// refusal is no reason.
    #[test]
    fn refusals_at_the_end_shorten_the_step_to_sample_with() {
        let mut averaging = DualAveraging::new(1.0, 0.8);
        (0..1000).for_each(|k| averaging.update([0.7, 0.9][k % 2]));
        let usual = averaging.sampling_step_size();
        averaging.update(0.0);
        assert!((averaging.sampling_step_size() / usual).ln().abs() < 0.01);
        (0..20).for_each(|_| averaging.update(0.0));
        assert!(libm::exp(averaging.log_step_averaged) > 0.5 * usual);
        let found = averaging.sampling_step_size();
        // The exploring step has halved some fifteen times; its average over five draws lags
        // behind.
        assert!(found < 0.01 * usual && found > averaging.step_size(), "{found} {usual}");
    }

    #[test]
    fn nan_acceptance_shrinks_the_step() {
        let mut averaging = DualAveraging::new(0.1, 0.8);
        averaging.update(f64::NAN);
        assert!(averaging.step_size().is_finite() && averaging.log_step < 0.0);
    }
}
