//! Same settings, same bits: any number of threads, and across a checkpoint; golden draws.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

mod common;

use std::ops::ControlFlow;
use std::sync::Mutex;

use common::{correlated, hash, standard_normal};
use exmc_infer::{
    ChainOutcome, Checkpoint, Draw, Info, MetricKind, Observer, RunPhase, SamplerConfig, Silent,
    Start, sample,
};

const KINDS: [MetricKind; 4] =
    [MetricKind::Diag, MetricKind::Stan, MetricKind::Dense, MetricKind::LowRank];

fn config(kind: MetricKind, threads: u32) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    config.metric = kind;
    config.threads = threads;
    config.chains = 5;
    config.warmup = 150;
    config.draws = 60;
    config.seed = 17;
    config
}

fn bits(kind: MetricKind, threads: u32) -> Vec<u64> {
    let run = sample(&correlated(3, 0.8), &[], &config(kind, threads), &Silent).unwrap();
    run.chains.iter().map(|chain| hash(&chain.draws)).collect()
}

#[test]
fn threads_do_not_change_a_bit() {
    for kind in KINDS {
        let one = bits(kind, 1);
        assert_eq!(one, bits(kind, 2), "{kind:?}");
        assert_eq!(one, bits(kind, 8), "{kind:?}");
        let mut distinct = one.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 5, "every chain has its own stream");
    }
}

/// Chain 2 alone (as one of three) is chain 2 of five.
#[test]
fn a_chain_does_not_depend_on_how_many_there_are() {
    let mut few = config(MetricKind::Diag, 1);
    few.chains = 3;
    let run = sample(&correlated(3, 0.8), &[], &few, &Silent).unwrap();
    assert_eq!(hash(&run.chains[2].draws), bits(MetricKind::Diag, 1)[2]);
}

#[test]
fn another_seed_gives_other_draws() {
    let mut other = config(MetricKind::Diag, 1);
    other.seed = 18;
    let run = sample(&correlated(3, 0.8), &[], &other, &Silent).unwrap();
    assert_ne!(hash(&run.chains[0].draws), bits(MetricKind::Diag, 1)[0]);
}

/// These change only with a line in the changelog: they are the promise that a seed means
/// something.
#[test]
fn golden_draws() {
    let golden = KINDS.map(|kind| bits(kind, 1)[0]);
    assert_eq!(golden, GOLDEN, "{golden:#x?}");
}

const GOLDEN: [u64; 4] =
    [0x60ba_1660_2978_66af, 0x09c3_0489_e1de_3d9e, 0xca24_0ee9_65f2_3fcd, 0x81e3_8611_dd47_c9fb];

/// Chain, phase, index, position and what the transition did.
type Seen = (u32, RunPhase, u64, Vec<f64>, Info);

#[derive(Default)]
struct Recorder {
    seen: Mutex<Vec<Seen>>,
    checkpoints: Mutex<Vec<Checkpoint>>,
    checkpoint_at: Vec<u64>,
    stop_at: Option<(u32, u64)>,
}

impl Observer for Recorder {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        let row = (draw.chain, draw.phase, draw.index, draw.position.to_vec(), *draw.info);
        self.seen.lock().unwrap().push(row);
        let checkpoint = draw.checkpoint();
        if self.checkpoint_at.contains(&checkpoint.iteration) {
            self.checkpoints.lock().unwrap().push(checkpoint);
        }
        let stop =
            draw.phase == RunPhase::Sampling && Some((draw.chain, draw.index)) == self.stop_at;
        if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn the_observer_sees_what_the_result_holds() {
    let mut config = config(MetricKind::Diag, 2);
    config.save_warmup = true;
    let recorder = Recorder::default();
    let run = sample(&correlated(3, 0.8), &[], &config, &recorder).unwrap();
    let seen = recorder.seen.into_inner().unwrap();
    assert_eq!(seen.len(), 5 * 210);
    for (chain, phase, index, position, info) in seen {
        let result = &run.chains[chain as usize];
        let (draws, infos) = match phase {
            RunPhase::Warmup => (&result.warmup_draws, &result.warmup_infos),
            RunPhase::Sampling => (&result.draws, &result.infos),
        };
        let index = index as usize;
        assert_eq!(position, draws[index * 3..index * 3 + 3]);
        assert_eq!(info, infos[index]);
    }
    for result in &run.chains {
        assert_eq!((result.infos.len(), result.warmup_infos.len()), (60, 150));
        let steps: u64 =
            result.infos.iter().chain(&result.warmup_infos).map(|i| u64::from(i.n_steps)).sum();
        assert_eq!(steps, result.leapfrogs);
        assert_eq!(result.outcome, ChainOutcome::Completed);
    }
}

/// A chain cut in warmup (on a window's edge and off it), at its end and in sampling goes on to the
/// same bits, whatever the metric.
#[test]
fn resuming_from_a_checkpoint_gives_the_same_bits() {
    for kind in KINDS {
        let config = config(kind, 1);
        let density = correlated(3, 0.8);
        let recorder =
            Recorder { checkpoint_at: vec![1, 37, 100, 149, 150, 151, 190], ..Default::default() };
        let uninterrupted = sample(&density, &[], &config, &recorder).unwrap();
        let checkpoints = recorder.checkpoints.into_inner().unwrap();
        assert_eq!(checkpoints.len(), 7 * 5);
        for iteration in [1, 37, 100, 149, 150, 151, 190] {
            let starts: Vec<Start> = checkpoints
                .iter()
                .filter(|checkpoint| checkpoint.iteration == iteration)
                .map(|checkpoint| Start::Resume(Box::new(checkpoint.clone())))
                .collect();
            let rest = sample(&density, &starts, &config, &Silent).unwrap();
            for (rest, expected) in rest.chains.iter().zip(&uninterrupted.chains) {
                let from = expected.draws.len() - rest.draws.len();
                assert_eq!(from as u64, 3 * iteration.saturating_sub(150), "{kind:?}");
                assert_eq!(rest.draws, expected.draws[from..], "{kind:?} from draw {iteration}");
                assert_eq!(rest.leapfrogs, expected.leapfrogs);
                assert_eq!(rest.tuned, expected.tuned);
            }
        }
    }
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let recorder = Recorder { checkpoint_at: vec![5], ..Default::default() };
    let config = config(MetricKind::Diag, 1);
    sample(&standard_normal(2), &[], &config, &recorder).unwrap();
    let checkpoint = recorder.checkpoints.into_inner().unwrap().remove(0);
    let starts = [Start::Resume(Box::new(checkpoint))];
    let error = sample(&standard_normal(3), &starts, &config, &Silent).unwrap_err();
    assert!(error.is_checkpoint(), "{error}");
    // One checkpoint cannot serve five chains.
    let run = sample(&standard_normal(2), &starts, &config, &Silent).unwrap();
    assert_eq!(run.chains[0].outcome, ChainOutcome::Completed);
    assert!(matches!(&run.chains[1].outcome, ChainOutcome::Failed(e) if e.is_checkpoint()));
}

#[test]
fn an_observer_stops_one_chain_after_a_whole_draw() {
    let recorder = Recorder { stop_at: Some((1, 20)), ..Default::default() };
    let config = config(MetricKind::Diag, 2);
    let run = sample(&correlated(3, 0.8), &[], &config, &recorder).unwrap();
    let uninterrupted = sample(&correlated(3, 0.8), &[], &config, &Silent).unwrap();
    assert_eq!(run.chains[1].outcome, ChainOutcome::Interrupted);
    assert_eq!(run.chains[1].draws, uninterrupted.chains[1].draws[..21 * 3]);
    assert_eq!(run.chains[2].draws, uninterrupted.chains[2].draws);
}

#[test]
fn draws_can_be_left_to_the_observer() {
    let mut config = config(MetricKind::Diag, 1);
    config.keep_draws = false;
    let recorder = Recorder::default();
    let run = sample(&correlated(3, 0.8), &[], &config, &recorder).unwrap();
    assert!(run.chains.iter().all(|chain| chain.draws.is_empty() && chain.infos.is_empty()));
    assert_eq!(recorder.seen.into_inner().unwrap().len(), 5 * 210);
}
