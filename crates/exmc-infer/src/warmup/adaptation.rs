//! Warmup: draws and their acceptance -> metric and step size.
//!
//! Everything that warmup has learnt is plain data in [`Adaptation`], apart from the state of the
//! chain, so that a checkpoint can hold it.

use exmc_fault::{Fault, planted};
use exmc_math::simd::Level;

use crate::config::SamplerConfig;
use crate::metric::low_rank_estimate::{VARIANCE_RANGE, estimate_low_rank};
use crate::metric::running_moments::{
    RunningCovariance, RunningMoments, regularised_covariance, regularised_variances,
};
use crate::metric::{InverseMetric, Metric, MetricKind};
use crate::state::{Info, State};
use crate::warmup::schedule::{OverlappingWindows, StanWindows};
use crate::warmup::step_size::DualAveraging;
use crate::warmup::target_acceptance::TargetReview;

/// What warmup has learnt so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Adaptation {
    /// The step size.
    pub step_size: DualAveraging,
    /// Whether divergences ask for a larger target; nothing where the target is to be kept.
    pub review: Option<TargetReview>,
    /// The metric's estimate in the making.
    pub estimator: MetricEstimator,
}

/// A metric's estimate in the making, by [`MetricKind`].
#[derive(Clone, Debug, PartialEq)]
pub enum MetricEstimator {
    /// The metric stays as it is (warm start).
    Fixed,
    /// Variances of the draws in the current window ([`MetricKind::Stan`]).
    Variances(RunningMoments),
    /// Covariance of the draws in the current window ([`MetricKind::Dense`]).
    Covariance(RunningCovariance),
    /// Variances of draws and gradients in two overlapping windows ([`MetricKind::Diag`]).
    DrawsAndGradients(OverlappingMoments),
    /// The draws and gradients of two overlapping windows ([`MetricKind::LowRank`]).
    Stored(StoredWindows),
}

/// Moments of draws and of gradients.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PairedMoments {
    /// Of the positions.
    pub draws: RunningMoments,
    /// Of the gradients.
    pub gradients: RunningMoments,
}

/// Two overlapping windows of moments; see [`OverlappingWindows`].
#[derive(Clone, Debug, PartialEq)]
pub struct OverlappingMoments {
    /// What the metric is computed from.
    pub foreground: PairedMoments,
    /// What takes its place when it holds a window of draws.
    pub background: PairedMoments,
    /// Length of the window after the early phase.
    pub later_window: u64,
    /// Whether the metric has been estimated at all.
    pub started: bool,
}

/// Numbers of the draws, and of the gradients, that a chain stores at most: 32 MB of each. Windows
/// have hundreds of draws, so those that are larger are of some ten thousand dimensions or more:
/// directions are then learnt from the last draws, and above 350,000 dimensions not at all.
const MOST_STORED: usize = 1 << 22;

/// Two overlapping windows of stored draws, and their moments; see [`OverlappingWindows`].
#[derive(Clone, Debug, PartialEq)]
pub struct StoredWindows {
    /// What the scales rest on while there is no estimate of directions.
    pub moments: OverlappingMoments,
    /// Positions of the foreground window, row-major; the background is its tail.
    pub draws: Vec<f64>,
    /// Gradients, likewise.
    pub gradients: Vec<f64>,
    /// Log densities, likewise.
    pub logp: Vec<f64>,
    /// Rows at the last estimate, 0 when there was none.
    pub rows_at_estimate: u64,
    /// Leapfrog steps since the last estimate.
    pub steps_since_estimate: u64,
}

/// One warmup draw, as the metric's estimate sees it.
pub(crate) struct WarmupDraw<'a> {
    /// Number of warmup draws before it.
    pub(crate) index: u64,
    /// Warmup draws in all.
    pub(crate) warmup: u64,
    pub(crate) state: &'a State,
    pub(crate) info: &'a Info,
    /// Where the transition diverged: position and gradient.
    pub(crate) divergence: (&'a [f64], &'a [f64]),
}

impl PairedMoments {
    fn new(dim: usize) -> Self {
        Self { draws: RunningMoments::new(dim), gradients: RunningMoments::new(dim) }
    }

    fn push(&mut self, level: Level, position: &[f64], gradient: &[f64]) {
        self.draws.push(level, position);
        self.gradients.push(level, gradient);
    }

    fn clear(&mut self) {
        self.draws.clear();
        self.gradients.clear();
    }
}

impl Adaptation {
    /// The state before the first warmup draw.
    pub(crate) fn new(dim: usize, config: &SamplerConfig, step_size: f64) -> Self {
        let fixed = config.warm_start.as_ref().is_some_and(|warm| !warm.adapt_metric);
        let estimator = match config.metric {
            _ if fixed => MetricEstimator::Fixed,
            MetricKind::Stan => MetricEstimator::Variances(RunningMoments::new(dim)),
            MetricKind::Dense => MetricEstimator::Covariance(RunningCovariance::new(dim)),
            MetricKind::Diag => MetricEstimator::DrawsAndGradients(OverlappingMoments::new(dim)),
            MetricKind::LowRank => MetricEstimator::Stored(StoredWindows {
                moments: OverlappingMoments::new(dim),
                draws: Vec::new(),
                gradients: Vec::new(),
                logp: Vec::new(),
                rows_at_estimate: 0,
                steps_since_estimate: 0,
            }),
        };
        Self {
            step_size: DualAveraging::new(step_size, config.target_accept),
            review: config.raise_target_accept.then(TargetReview::default),
            estimator,
        }
    }

    /// Takes in one warmup draw. Returns whether the metric changed so much that a first step size
    /// must be searched for again.
    ///
    /// A divergent transition (or one that met a position without a density) that stayed where it
    /// was says nothing about the posterior's scale and is left out of the metric; its acceptance
    /// counts for the step size.
    pub(crate) fn learn(&mut self, draw: &WarmupDraw<'_>, metric: &mut Metric) -> bool {
        self.step_size.update(draw.info.accept_stat);
        let (number, step_size) = ((draw.index, draw.warmup), &self.step_size);
        let raised = self.review.as_mut().and_then(|r| r.count(number, draw.info, step_size));
        if let Some(raised) = raised {
            self.step_size.retarget(raised);
        }
        let failed = draw.info.divergent || draw.info.recovered;
        let sample = if !failed {
            Some((&draw.state.position[..], &draw.state.gradient[..]))
        } else if planted(Fault::DivergentDrawsInMetric) {
            Some(draw.divergence)
        } else {
            draw.info.moved.then_some((&draw.state.position[..], &draw.state.gradient[..]))
        };
        match &mut self.estimator {
            MetricEstimator::Fixed => false,
            MetricEstimator::Variances(moments) => {
                let windows = StanWindows::new(draw.warmup);
                if let Some((position, _)) = sample.filter(|_| windows.feeds_metric(draw.index)) {
                    moments.push(metric.level(), position);
                }
                let ends = windows.window_ends_at(draw.index);
                if ends {
                    let variances = regularised_variances(moments);
                    metric.replace(InverseMetric::Diagonal(variances));
                    moments.clear();
                }
                ends
            }
            MetricEstimator::Covariance(moments) => {
                let windows = StanWindows::new(draw.warmup);
                if let Some((position, _)) = sample.filter(|_| windows.feeds_metric(draw.index)) {
                    moments.push(metric.level(), position);
                }
                let ends = windows.window_ends_at(draw.index);
                if ends {
                    let covariance = regularised_covariance(moments);
                    metric.replace(InverseMetric::Dense { dim: metric.dim(), covariance });
                    moments.clear();
                }
                ends
            }
            MetricEstimator::DrawsAndGradients(moments) => moments.learn(draw, sample, metric),
            MetricEstimator::Stored(rows) => rows.learn(draw, sample, metric),
        }
    }
}

impl OverlappingMoments {
    fn new(dim: usize) -> Self {
        Self {
            foreground: PairedMoments::new(dim),
            background: PairedMoments::new(dim),
            later_window: OverlappingWindows::FIRST_WINDOW,
            started: false,
        }
    }

    fn learn(
        &mut self,
        draw: &WarmupDraw<'_>,
        sample: Option<(&[f64], &[f64])>,
        metric: &mut Metric,
    ) -> bool {
        if !OverlappingWindows::new(draw.warmup).feeds_metric(draw.index) {
            return false;
        }
        self.take_in(draw, sample, metric.level());
        self.update(metric)
    }

    /// Returns whether the background took over.
    fn take_in(
        &mut self,
        draw: &WarmupDraw<'_>,
        sample: Option<(&[f64], &[f64])>,
        level: Level,
    ) -> bool {
        if let Some((position, gradient)) = sample {
            self.foreground.push(level, position, gradient);
            self.background.push(level, position, gradient);
        }
        let windows = OverlappingWindows::new(draw.warmup);
        let in_background = self.background.draws.count;
        let switched = switches(&windows, draw.index, in_background, &mut self.later_window);
        if switched {
            std::mem::swap(&mut self.foreground, &mut self.background);
            self.background.clear();
        }
        switched
    }

    /// A diagonal metric of the foreground's scales; whether it is the first.
    fn update(&mut self, metric: &mut Metric) -> bool {
        if self.foreground.draws.count < 3 {
            return false;
        }
        if metric.diagonal_sigma().is_none() {
            metric.replace(InverseMetric::Diagonal(metric.inverse().diagonal()));
        }
        let PairedMoments { draws, gradients } = &self.foreground;
        metric.update_diagonal(&draws.squares, &gradients.squares);
        !std::mem::replace(&mut self.started, true)
    }
}

impl StoredWindows {
    fn learn(
        &mut self,
        draw: &WarmupDraw<'_>,
        sample: Option<(&[f64], &[f64])>,
        metric: &mut Metric,
    ) -> bool {
        /// Rows before the first estimate: two directions' worth.
        const MIN_DRAWS: u64 = 6;
        /// Leapfrog steps between estimates: one costs as much as some hundred steps of a cheap
        /// density, and where trajectories are short there is little to gain.
        const MIN_STEPS: u64 = 600;
        /// Rows that make directions worth their memory: one from draws and one from gradients.
        const FEWEST_STORED: usize = 2 * MIN_DRAWS as usize;
        let windows = OverlappingWindows::new(draw.warmup);
        if !windows.feeds_metric(draw.index) {
            return false;
        }
        let dim = metric.dim();
        self.steps_since_estimate += u64::from(draw.info.n_steps);
        let most_stored = MOST_STORED / dim.max(1);
        if let Some((position, gradient)) = sample
            && most_stored >= FEWEST_STORED
        {
            // The oldest quarter at once: what moves is then a few rows for each draw.
            if self.logp.len() >= most_stored {
                self.forget(most_stored / 4 + 1, dim);
            }
            self.draws.extend_from_slice(position);
            self.gradients.extend_from_slice(gradient);
            self.logp.push(draw.state.logp);
        }
        let switched = self.moments.take_in(draw, sample, metric.level());
        let rows = self.moments.foreground.draws.count;
        if switched {
            self.forget(self.logp.len().saturating_sub(rows as usize), dim);
            self.rows_at_estimate = self.rows_at_estimate.min(rows);
        }
        // An estimate costs passes over all rows, so it waits until they have grown by half; one
        // that a switch would replace at once is not worth it.
        let due = self.rows_at_estimate + self.rows_at_estimate / 2 + 4;
        let window = windows.window(draw.index, self.moments.later_window);
        let until_switch = window.saturating_sub(self.moments.background.draws.count);
        let grown = rows >= due && (4 * until_switch > self.rows_at_estimate);
        let last = !windows.feeds_metric(draw.index + 1);
        let pays = self.steps_since_estimate >= MIN_STEPS;
        if rows >= MIN_DRAWS && ((switched || grown) && pays || last) {
            self.rows_at_estimate = rows;
            self.steps_since_estimate = 0;
            if has_settled(&self.logp, dim) {
                let fallback = metric.inverse().diagonal();
                let (draws, gradients) = (&self.draws, &self.gradients);
                match estimate_low_rank(metric.level(), dim, draws, gradients, &fallback) {
                    Some(InverseMetric::LowRank { scale, values, .. }) if values.is_empty() => {
                        let variances = scale.iter().map(|s| s * s).collect();
                        metric.replace(InverseMetric::Diagonal(variances));
                    }
                    Some(estimate) => metric.replace(estimate),
                    None => {}
                }
                return !std::mem::replace(&mut self.moments.started, true);
            }
            return self.moments.update(metric);
        }
        // Until there are directions the scales follow every draw.
        metric.diagonal_sigma().is_some() && self.moments.update(metric)
    }

    /// Drops the oldest rows.
    fn forget(&mut self, rows: usize, dim: usize) {
        self.draws.drain(..rows * dim);
        self.gradients.drain(..rows * dim);
        self.logp.drain(..rows);
    }
}

/// Whether a window's log densities look like a posterior's and not like the way to it: those of a
/// normal target in `dim` dimensions vary by $\sqrt{d/2}$. On the way, where the density is
/// $10^{-60}$ and draws differ in their last bits, directions learnt from them would hold the chain
/// there.
fn has_settled(logp: &[f64], dim: usize) -> bool {
    let least = logp.iter().copied().fold(f64::INFINITY, f64::min);
    let most = logp.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most > least && most - least <= wide_range(dim)
}

/// A range, in nats, that the log densities of a window of draws hardly exceed where the draws are
/// those of a posterior.
pub fn wide_range(dim: usize) -> f64 {
    const SLACK: f64 = 50.0;
    const PER_ROOT_DIMENSION: f64 = 10.0;
    SLACK + PER_ROOT_DIMENSION * (dim as f64).sqrt()
}

/// Whether the background window takes over after draw `index`; lengthens later windows as it does.
fn switches(
    windows: &OverlappingWindows,
    index: u64,
    in_background: u64,
    later_window: &mut u64,
) -> bool {
    let early = windows.is_early(index);
    let next = if early {
        OverlappingWindows::EARLY_WINDOW
    } else {
        OverlappingWindows::grown(*later_window)
    };
    if in_background < windows.window(index, *later_window) || !windows.has_room(index, next) {
        return false;
    }
    if !early {
        *later_window = next;
    }
    true
}

/// The metric before any draw: from the warm start; from the size of the gradient at the initial
/// point, $\sigma_i^2 = 1/|\partial_i|$, for the kinds that use gradients (nutpie); else the
/// identity (Stan).
pub(crate) fn initial_metric(config: &SamplerConfig, state: &State) -> InverseMetric {
    if let Some(warm) = &config.warm_start {
        return warm.inverse_metric.clone();
    }
    let (least, most) = VARIANCE_RANGE;
    match config.metric {
        MetricKind::Stan | MetricKind::Dense => InverseMetric::identity(state.position.len()),
        MetricKind::Diag | MetricKind::LowRank => InverseMetric::Diagonal(
            state
                .gradient
                .iter()
                .map(|g| if *g == 0.0 { 1.0 } else { (1.0 / g.abs()).clamp(least, most) })
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use exmc_math::random::{ChainRng, Phase};

    use super::*;
    use crate::warmup::schedule::OverlappingWindows;

    fn info(divergent: bool, moved: bool) -> Info {
        Info { divergent, moved, accept_stat: 0.0, ..Info::still(0.0, 1.0) }
    }

    /// The three cases of row D44: a divergence that stayed is skipped by the metric and kept by
    /// the step size; one that moved is a draw like any other.
    #[test]
    fn divergences_that_stay_are_skipped_by_the_metric_only() {
        for kind in [MetricKind::Diag, MetricKind::Stan, MetricKind::Dense, MetricKind::LowRank] {
            let config = SamplerConfig { metric: kind, ..SamplerConfig::default() };
            let state = State { position: vec![1.0].into(), logp: 0.0, gradient: vec![2.0].into() };
            let mut metric = Metric::new(InverseMetric::identity(1)).unwrap();
            let mut adaptation = Adaptation::new(1, &config, 0.1);
            let bad = [f64::NAN];
            for (divergent, moved) in [(true, false), (false, false), (true, true)] {
                let draw = WarmupDraw {
                    index: 80,
                    warmup: 1000,
                    state: &state,
                    info: &info(divergent, moved),
                    divergence: (&bad, &bad),
                };
                adaptation.learn(&draw, &mut metric);
            }
            let count = match &adaptation.estimator {
                MetricEstimator::Fixed => 0,
                MetricEstimator::Variances(m) => m.count,
                MetricEstimator::Covariance(m) => m.count,
                MetricEstimator::DrawsAndGradients(m) => m.foreground.draws.count,
                MetricEstimator::Stored(rows) => rows.logp.len() as u64,
            };
            assert_eq!((count, adaptation.step_size.count), (2, 3), "{kind:?}");
        }
    }

    #[test]
    fn the_background_takes_over_when_it_is_full_and_there_is_room() {
        let windows = OverlappingWindows::new(1000);
        let mut later = OverlappingWindows::FIRST_WINDOW;
        assert!(!switches(&windows, 5, 9, &mut later));
        assert!(switches(&windows, 5, 10, &mut later));
        assert_eq!(later, 80);
        assert!(!switches(&windows, 400, 79, &mut later));
        assert!(switches(&windows, 400, 80, &mut later));
        assert_eq!(later, 120);
        // The next window, 180 draws, would not fill before draw 850.
        assert!(!switches(&windows, 700, 200, &mut later));
    }

    /// Estimates of directions among the first hundred draws, by the length of trajectories:
    /// without the wait there are as many after short trajectories as after long ones.
    #[test]
    fn estimates_of_directions_wait_for_steps() {
        let estimates = |n_steps: u32| {
            let config = SamplerConfig { metric: MetricKind::LowRank, ..SamplerConfig::default() };
            let mut metric = Metric::new(InverseMetric::identity(2)).unwrap();
            let mut adaptation = Adaptation::new(2, &config, 0.1);
            let mut rng = ChainRng::new(5, 0, Phase::Warmup);
            let mut count = 0;
            for index in 0..100 {
                let x = [rng.standard_normal(), rng.standard_normal()];
                let logp = -0.5 * (x[0] * x[0] + x[1] * x[1]);
                let gradient = vec![-x[0], -x[1]].into();
                let state = State { position: x.to_vec().into(), logp, gradient };
                let info = Info { n_steps, ..info(false, true) };
                let divergence: (&[f64], &[f64]) = (&[], &[]);
                let draw =
                    WarmupDraw { index, warmup: 1000, state: &state, info: &info, divergence };
                adaptation.learn(&draw, &mut metric);
                let MetricEstimator::Stored(rows) = &adaptation.estimator else { panic!() };
                count += u32::from(rows.steps_since_estimate == 0);
            }
            count
        };
        // One for each six hundred steps, at the next occasion.
        assert_eq!(estimates(1), 0);
        assert!((3..=5).contains(&estimates(30)), "{}", estimates(30));
        assert!(estimates(600) >= 9, "{}", estimates(600));
    }

    /// Of huge dimension a part of a window is stored, its last draws, or none where that would be
    /// too few for directions; scales come from all of it.
    #[test]
    fn windows_of_huge_dimension_are_stored_in_part() {
        for (dim, least, most) in [(MOST_STORED / 16, 12, 16), (MOST_STORED / 10, 0, 0)] {
            let config = SamplerConfig { metric: MetricKind::LowRank, ..SamplerConfig::default() };
            let mut metric = Metric::new(InverseMetric::identity(dim)).unwrap();
            let mut adaptation = Adaptation::new(dim, &config, 0.1);
            for index in 0..24_u64 {
                let x = if index % 2 == 0 { 2.0 } else { -2.0 };
                let position = vec![x; dim].into();
                let state = State { position, logp: index as f64, gradient: vec![-x; dim].into() };
                let info = Info { n_steps: 100, ..info(false, true) };
                let divergence: (&[f64], &[f64]) = (&[], &[]);
                let draw =
                    WarmupDraw { index, warmup: 100, state: &state, info: &info, divergence };
                adaptation.learn(&draw, &mut metric);
                let MetricEstimator::Stored(rows) = &adaptation.estimator else { panic!() };
                let stored = rows.logp.len();
                assert!(stored <= most && rows.draws.len() == stored * dim, "{dim}, {index}");
                assert_eq!(rows.gradients.len(), stored * dim);
                assert!(stored == 0 || rows.logp[stored - 1] == index as f64);
            }
            let MetricEstimator::Stored(rows) = &adaptation.estimator else { panic!() };
            assert!(rows.logp.len() >= least && rows.moments.started, "{dim}");
        }
    }
}
