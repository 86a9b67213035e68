//! Monitored runs: every draw once, early ends that change no draw, cancelling, time limits.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use exmc::distributions::{half_normal, normal};
use exmc::infer::{Density, EvaluationError, InverseMetric, LogDensity, RunPhase, WarmStart};
use exmc::{
    Cancel, Model, ModelBuilder, Monitor, MonitoredDraw, SamplerConfig, Status, TimeLimit, Verdict,
    sample, sample_monitored,
};

/// Eight schools, of which theta is integrated out.
fn schools() -> Model {
    let mut model = ModelBuilder::new();
    model.rv("mu", normal(0.0, 5.0));
    model.rv("tau", half_normal(5.0));
    model.rv("theta", normal("mu", "tau")).shape([8]);
    model.rv("y", normal("theta", [15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]));
    model.observe("y_obs", "y", [28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]);
    model.build().unwrap()
}

/// Keeps every draw and phase that it sees; ends the run at a draw of chain 1, if it is to.
#[derive(Default)]
struct Keeper {
    draws: Mutex<BTreeMap<(u32, u64), Vec<f64>>>,
    warmup: Mutex<BTreeMap<(u32, u64), usize>>,
    phases: Mutex<Vec<(u32, RunPhase)>>,
    end: Option<u64>,
}

impl Monitor for Keeper {
    fn draw(&self, draw: &MonitoredDraw<'_>) -> Verdict {
        let place = (draw.chain, draw.index);
        if draw.phase == RunPhase::Warmup {
            assert!(draw.get("mu").is_none());
            *self.warmup.lock().unwrap().entry(place).or_default() += 1;
            return Verdict::Continue;
        }
        assert_eq!(draw.get("theta").unwrap().len(), 8);
        let before = self.draws.lock().unwrap().insert(place, draw.values.to_vec());
        assert!(before.is_none(), "{place:?} was seen twice");
        if draw.chain == 1 && Some(draw.index) == self.end {
            return Verdict::Stop;
        }
        Verdict::Continue
    }

    fn phase(&self, chain: u32, phase: RunPhase) {
        self.phases.lock().unwrap().push((chain, phase));
    }
}

#[test]
fn every_draw_is_seen_once_as_it_is_kept() {
    let settings = SamplerConfig::default().chains(3).warmup(150).draws(120).threads(2).seed(4);
    let (model, keeper) = (schools(), Keeper::default());
    let fit = sample_monitored(&model, &settings, &keeper).unwrap();
    assert_eq!(fit.status(), Status::Complete);
    let plain = sample(&model, &settings).unwrap();
    let seen = keeper.draws.into_inner().unwrap();
    assert_eq!(seen.len(), 360);
    for (chain, other) in fit.posterior().chains.iter().zip(&plain.posterior().chains) {
        assert_eq!(chain.values, other.values);
        for (index, row) in chain.values.chunks(10).enumerate() {
            assert_eq!(seen[&(chain.chain, index as u64)], row);
        }
    }
    let warmup = keeper.warmup.into_inner().unwrap();
    assert!(warmup.len() == 450 && warmup.values().all(|n| *n == 1));
    let phases = keeper.phases.into_inner().unwrap();
    for chain in 0..3 {
        let chain_phases: Vec<RunPhase> = phases
            .iter()
            .filter(|(seen_chain, _)| *seen_chain == chain)
            .map(|(_, phase)| *phase)
            .collect();
        assert_eq!(chain_phases, [RunPhase::Warmup, RunPhase::Sampling]);
    }
}

#[test]
fn draws_of_a_stopped_run_are_the_first_of_the_whole_run() {
    let settings = SamplerConfig::default().chains(2).warmup(100).draws(400).threads(1).seed(9);
    let model = schools();
    let full_run = sample(&model, &settings).unwrap();
    let keeper = Keeper { end: Some(36), ..Keeper::default() };
    let fit = sample_monitored(&model, &settings, &keeper).unwrap();
    assert_eq!(fit.status(), Status::Stopped);
    let lengths: Vec<usize> = fit.posterior().chains.iter().map(|c| c.infos.len()).collect();
    // One thread: chain 0 has ended when chain 1 begins.
    assert_eq!(lengths, [400, 37]);
    for (part, all) in fit.posterior().chains.iter().zip(&full_run.posterior().chains) {
        assert_eq!(part.values, all.values[..part.values.len()]);
        assert_eq!(part.infos, all.infos[..part.infos.len()]);
    }
    let seen: usize = keeper.draws.into_inner().unwrap().len();
    assert_eq!(seen, 437);
}

#[test]
fn another_thread_or_a_time_limit_ends_a_run() {
    let endless = SamplerConfig::default().chains(2).draws(1 << 40).keep_draws(false);
    let (model, cancel) = (schools(), Cancel::default());
    let began = Instant::now();
    let fit = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        sample_monitored(&model, &endless, &cancel).unwrap()
    });
    assert_eq!(fit.status(), Status::Stopped);
    let limit = TimeLimit::new(Duration::from_millis(50));
    let fit = sample_monitored(&model, &endless, &(Cancel::default(), limit)).unwrap();
    assert_eq!(fit.status(), Status::Deadline);
    // Ends come with the next draw, which takes microseconds; a busy machine may take longer.
    assert!(began.elapsed() < Duration::from_secs(60));
}

/// With so short a step one draw has 2^20 leapfrog steps of at least 50 microseconds, a minute in
/// all.
#[test]
fn nobody_waits_for_the_end_of_a_long_draw() {
    #[derive(Clone)]
    struct SlowNormal;
    impl LogDensity for SlowNormal {
        fn dim(&self) -> usize {
            1
        }
        fn logp_grad(&mut self, x: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
            std::thread::sleep(Duration::from_micros(50));
            g[0] = -x[0];
            Ok(-0.5 * x[0] * x[0])
        }
    }
    let density = Density::new(SlowNormal).variable("x", 1);
    let mut settings = SamplerConfig::default().chains(2).warmup(0).draws(1000);
    settings.max_depth = 20;
    settings.warm_start = Some(WarmStart {
        step_size: 1e-8,
        inverse_metric: InverseMetric::Diagonal(vec![1.0]),
        adapt_metric: false,
        positions: vec![vec![0.5]],
    });
    let began = Instant::now();
    let cancel = Cancel::default();
    let fit = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            cancel.cancel();
        });
        sample_monitored(&density, &settings, &cancel).unwrap()
    });
    assert_eq!(fit.status(), Status::Stopped);
    let limit = TimeLimit::new(Duration::from_millis(50));
    let fit = sample_monitored(&density, &settings, &limit).unwrap();
    assert_eq!(fit.status(), Status::Deadline);
    assert!(fit.posterior().chains.iter().all(|chain| chain.infos.is_empty()));
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
