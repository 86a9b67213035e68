//! Divergences of warmup -> the acceptance that the step size is adapted to.
//!
//! A step size that meets an acceptance of 0.8 on average may be far too large in a small part of
//! the posterior, the neck of a funnel: chains diverge there, and one that gets in stays for
//! hundreds of draws. The better the metric fits the bulk, the larger are the steps, and the worse
//! that becomes. So the target is raised where warmup diverges: half of what is left to one each
//! time, 0.8, 0.9, 0.95, 0.975.
//!
//! Divergences are counted after the early phase, in which the metric is rough, and the target is
//! reviewed three times, the last time when the metric is final. One is enough, as draws are made
//! several times as often as are counted here. A leaf whose energy is off by 50 nats counts like
//! one, and so do two of 20 nats: where divergences are rare, a chain may see none before its
//! draws. Only transitions with a step size near the averaged one count, which draws will be made
//! with: the step size explores, and beyond the limit of stability everything diverges, a normal
//! density too.

use exmc_fault::{Fault, planted};

use crate::state::Info;
use crate::warmup::step_size::DualAveraging;

/// Updates after which a step size has left behind that it begins with steps ten times too long.
const MIN_SETTLED_DRAWS: u64 = 20;
/// A step size is near the averaged one if it is no larger than this multiple of it.
const MAX_STEP_RATIO: f64 = 1.4;
/// Energy errors of a leaf, in nats, that count as half a divergence and as one here: a step size
/// that the draws will be made with makes such errors only where it is too large, and there several
/// times as often as errors that are a divergence (1000). A single one of 20 nats is met in one
/// dimension too, where nothing is wrong.
const ERROR_OF_HALF: f64 = 20.0;
const ERROR_OF_ONE: f64 = 50.0;
/// So many divergences raise the target by two steps at once: a chain may be caught in the 200
/// draws before the next review.
const MIN_DIVERGENCES: u64 = 3;
/// The target is not raised beyond: smaller steps cost in proportion.
const MAX_TARGET: f64 = 0.975;
/// When counting begins, and when the target is reviewed: per cent of warmup.
const COUNTED_FROM: u64 = 30;
const REVIEWS: [u64; 3] = [45, 65, 85];

/// Divergences since the target was raised last, as plain data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TargetReview {
    /// Twice how many: a leaf that is off by 20 nats is half a divergence.
    pub half_divergences: u64,
}

impl TargetReview {
    /// Takes in warmup draw `index` of `warmup`; another target than the one in force, where that
    /// is due.
    pub(crate) fn count(
        &mut self,
        (index, warmup): (u64, u64),
        info: &Info,
        step_size: &DualAveraging,
    ) -> Option<f64> {
        let draw_index = |per_cent: u64| (u128::from(warmup) * u128::from(per_cent) / 100) as u64;
        if index < draw_index(COUNTED_FROM) || index >= draw_index(REVIEWS[2]) {
            return None;
        }
        let usual = libm::exp(step_size.log_step_averaged);
        if step_size.count > MIN_SETTLED_DRAWS && info.step_size <= MAX_STEP_RATIO * usual {
            let is_off =
                |nats: f64| info.divergent || (info.max_energy_error > nats && !info.recovered);
            self.half_divergences +=
                u64::from(is_off(ERROR_OF_HALF)) + u64::from(is_off(ERROR_OF_ONE));
        }
        if !REVIEWS.iter().any(|per_cent| draw_index(*per_cent) == index + 1) {
            return None;
        }
        let target = step_size.target;
        let left = if self.half_divergences < 2 * MIN_DIVERGENCES { 0.5 } else { 0.25 };
        let raised = (1.0 - left + left * target).min(MAX_TARGET.max(target));
        if self.half_divergences < 2 || raised <= target || planted(Fault::DivergencesKeepTarget) {
            return None;
        }
        *self = Self::default();
        Some(raised)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The targets after each review of a warmup of 1000 draws, of which every `every`-th diverges.
    fn targets(every: u64, first: f64) -> Vec<f64> {
        let (mut review, mut found) = (TargetReview::default(), Vec::new());
        let mut step_size = DualAveraging::new(1.0, first);
        for index in 0..1000 {
            step_size.count += 1;
            let divergent = index % every == 0;
            let info = Info { divergent, ..Info::still(0.0, 1.0) };
            if let Some(raised) = review.count((index, 1000), &info, &step_size) {
                assert!([449, 649, 849].contains(&index), "{index}");
                step_size.target = raised;
                found.push(raised);
            }
        }
        found
    }

    #[test]
    fn many_divergences_raise_the_target() {
        let close = |found: Vec<f64>, expected: &[f64]| {
            let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(found.len() == expected.len() && near, "{found:?} {expected:?}");
        };
        close(targets(50, 0.8), &[0.95, 0.975]);
        close(targets(50, 0.95), &[0.975]);
        close(targets(50, 0.99), &[]);
        // One is enough: of draws 300, 600 and 900 the last comes too late.
        close(targets(300, 0.8), &[0.9, 0.95]);
        // None counts in the early phase, or after the last review.
        close(targets(1000, 0.8), &[]);
    }

    /// Whether transitions with an energy error, and none that diverges, raise the target.
    #[test]
    fn what_nearly_diverges_counts() {
        let raises = |errors: &[f64], step: f64| {
            let (mut review, mut step_size) =
                (TargetReview::default(), DualAveraging::new(1.0, 0.8));
            step_size.count = MIN_SETTLED_DRAWS + 1;
            for &error in errors {
                let info = Info { max_energy_error: error, ..Info::still(0.0, step) };
                review.count((400, 1000), &info, &step_size);
            }
            review.count((449, 1000), &Info::still(0.0, 1.0), &step_size).is_some()
        };
        let usual = libm::exp(DualAveraging::new(1.0, 0.8).log_step_averaged);
        assert!(raises(&[51.0], usual));
        assert!(!raises(&[49.0], usual));
        assert!(raises(&[21.0, 21.0], usual));
        assert!(!raises(&[21.0, 19.0], usual));
        assert!(!raises(&[-51.0, -51.0], usual));
        assert!(!raises(&[51.0, 51.0], 1.5 * usual));
    }

    #[test]
    fn any_number_of_draws_will_do() {
        for warmup in [0, 1, 2, 7, 20, 99, 150] {
            let mut review = TargetReview::default();
            let mut step_size = DualAveraging::new(1.0, 0.8);
            let info = Info { divergent: true, ..Info::still(0.0, 1.0) };
            let mut count = |i| {
                step_size.count += 1;
                review.count((i, warmup), &info, &step_size)
            };
            let raised = (0..warmup).filter_map(&mut count).count();
            assert!(raised <= 3 && (warmup < 50 || raised > 0), "{warmup}: {raised}");
        }
    }
}
