//! Runs that somebody ends amid a draw: the draw is not made, those before are those of the run
//! that was left alone.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::common::Density;
use crate::lanes::shared;
use exmc_density::{DensityModel, EvaluationError};
use exmc_infer::{
    ChainOutcome, InverseMetric, Observer, Run, SamplerConfig, Silent, WarmStart, sample,
};
use exmc_math::interruption::is_interrupted;

/// Evaluations that all chains together make before one does not come to an end by itself.
#[derive(Default)]
struct Watched {
    left: AtomicU64,
    waits: AtomicBool,
}

impl Watched {
    fn after(left: u64) -> &'static Self {
        Box::leak(Box::new(Self { left: AtomicU64::new(left), waits: AtomicBool::new(false) }))
    }

    /// One evaluation; NaN, like a solver that gives up, if it was interrupted.
    fn evaluate(&self) -> f64 {
        let counted = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if counted.is_ok() {
            return 0.0;
        }
        self.waits.store(true, Ordering::Relaxed);
        let began = Instant::now();
        while !is_interrupted() {
            assert!(began.elapsed() < Duration::from_secs(60), "nobody interrupts");
            std::thread::sleep(Duration::from_millis(1));
        }
        f64::NAN
    }
}

impl Observer for Watched {
    fn interrupts(&self) -> Option<bool> {
        Some(self.waits.load(Ordering::Relaxed))
    }
}

/// A normal density with correlated neighbours.
fn density(watched: &'static Watched) -> impl DensityModel<Instance: 'static> {
    let logp_grad = |q: &[f64], g: &mut [f64]| {
        let between = q[0] - q[1];
        g.copy_from_slice(&[-q[0] - 4.0 * between, 4.0 * between - q[1]]);
        Ok(watched.evaluate() - 0.5 * (q[0] * q[0] + q[1] * q[1]) - 2.0 * between * between)
    };
    Density { dim: 2, logp_grad }
}

fn config(chains: u32, threads: u32) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    (config.chains, config.threads) = (chains, threads);
    (config.warmup, config.draws, config.save_warmup) = (60, 40, true);
    config
}

/// Every chain's draws are the first ones of the whole run's.
fn check(cut: &Run, uncut: &Run) -> usize {
    let mut made = 0;
    for (cut, uncut) in cut.chains.iter().zip(&uncut.chains) {
        let warmup = cut.warmup_draws.len();
        assert_eq!(cut.warmup_draws, uncut.warmup_draws[..warmup]);
        assert_eq!(cut.draws, uncut.draws[..cut.draws.len()]);
        assert_eq!(cut.warmup_infos, uncut.warmup_infos[..warmup / 2]);
        assert_eq!(cut.n_draws as usize, cut.draws.len() / 2);
        let ended = ChainOutcome::Completed;
        assert!(cut.outcome == ChainOutcome::Interrupted || cut.outcome == ended, "{cut:?}");
        assert_eq!(cut.outcome == ended, cut.draws.len() == uncut.draws.len());
        made += warmup + cut.draws.len();
    }
    made
}

#[test]
fn chains_end_amid_a_draw_with_the_draws_that_they_made() {
    for (chains, threads) in [(1, 1), (3, 1), (2, 2), (4, 1), (9, 2)] {
        let unwatched = density(Watched::after(u64::MAX));
        let config = config(chains, threads);
        let uncut = sample(&unwatched, &[], &config, &Silent).unwrap();
        // Amid the search for a first step, in warmup, and while draws are made.
        let all: u64 = uncut.chains.iter().map(|chain| chain.leapfrogs).sum();
        for evaluations in [2, all / 10, all / 2, all - 20] {
            let (alone, beside) = (Watched::after(evaluations), Watched::after(evaluations));
            let cut = sample(&density(alone), &[], &config, alone).unwrap();
            let interrupted =
                |run: &Run| run.chains.iter().any(|c| c.outcome == ChainOutcome::Interrupted);
            assert!(interrupted(&cut));
            assert!(check(&cut, &uncut) > 0 || evaluations < 100);
            // Side by side there may be more evaluations than alone.
            let model = shared(density(beside));
            assert!(model.lane_instance().is_some());
            let cut = sample(&model, &[], &config, beside).unwrap();
            assert!(interrupted(&cut));
            check(&cut, &uncut);
        }
    }
}

/// Between two evaluations too: with so short a step one draw has 2^20 of them, and none takes
/// long.
#[test]
fn a_draw_of_many_quick_evaluations_is_cut_too() {
    struct AtOnce;
    impl Observer for AtOnce {
        fn interrupts(&self) -> Option<bool> {
            Some(true)
        }
    }
    let began = Instant::now();
    let slow = Density {
        dim: 1,
        logp_grad: move |q: &[f64], g: &mut [f64]| {
            if began.elapsed() > Duration::from_secs(20) {
                return Err(EvaluationError::Fatal("nobody interrupts".into()));
            }
            std::thread::sleep(Duration::from_micros(50));
            g[0] = -q[0];
            Ok(-0.5 * q[0] * q[0])
        },
    };
    let mut config = config(2, 2);
    (config.warmup, config.max_depth) = (0, 20);
    config.warm_start = Some(WarmStart {
        step_size: 1e-8,
        inverse_metric: InverseMetric::Diagonal(vec![1.0]),
        adapt_metric: false,
        positions: vec![vec![0.5]],
    });
    let run = sample(&slow, &[], &config, &AtOnce).unwrap();
    assert!(run.chains.iter().all(|c| c.outcome == ChainOutcome::Interrupted && c.n_draws == 0));
}

/// Chains go on where the question panics, and nothing of the run is lost.
#[test]
fn an_answer_that_panics_is_none() {
    struct Broken(AtomicU64);
    impl Observer for Broken {
        fn interrupts(&self) -> Option<bool> {
            assert!(self.0.fetch_add(1, Ordering::Relaxed) == 0, "the answer is lost");
            Some(true)
        }
    }
    let slow = Density {
        dim: 1,
        logp_grad: |q: &[f64], g: &mut [f64]| {
            std::thread::sleep(Duration::from_millis(2));
            g[0] = -q[0];
            Ok(-0.5 * q[0] * q[0])
        },
    };
    let observer = Broken(AtomicU64::new(0));
    let run = sample(&slow, &[], &config(2, 2), &observer).unwrap();
    assert!(run.chains.iter().all(|chain| chain.outcome == ChainOutcome::Completed));
    // Before the run, and once while it went on.
    assert_eq!(observer.0.into_inner(), 2);
}
