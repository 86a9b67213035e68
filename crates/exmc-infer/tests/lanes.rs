//! Chains that share vector lanes make the draws that they would make alone, and fail alone.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::common::{Density, correlated, standard_normal};
use exmc_density::{BATCH, DensityModel, EvaluationError, LaneDensity, LogDensity};
use exmc_infer::{
    ChainOutcome, ChainResult, Checkpoint, Draw, Info, MetricKind, Observer, SamplerConfig, Silent,
    Start, sample,
};

/// Another model whose chains run side by side; it counts evaluations by how many lanes were
/// active.
pub(crate) struct Shared<M> {
    model: M,
    counts: &'static [AtomicU64; 5],
}

struct Lanes<L> {
    instances: [L; BATCH],
    counts: &'static [AtomicU64; 5],
}

impl<L: LogDensity> LaneDensity for Lanes<L> {
    fn logp_grads(
        &mut self,
        positions: &[[f64; BATCH]],
        gradients: &mut [[f64; BATCH]],
        logps: &mut [f64; BATCH],
        active: [bool; BATCH],
    ) -> Vec<(usize, EvaluationError)> {
        let n = active.iter().filter(|is_active| **is_active).count();
        self.counts[n].fetch_add(1, Ordering::Relaxed);
        let mut failed = Vec::new();
        for lane in (0..BATCH).filter(|lane| active[*lane]) {
            let position: Vec<f64> = positions.iter().map(|x| x[lane]).collect();
            let mut gradient = vec![0.0; position.len()];
            match self.instances[lane].logp_grad(&position, &mut gradient) {
                Ok(logp) => logps[lane] = logp,
                Err(error) => failed.push((lane, error)),
            }
            gradients.iter_mut().zip(gradient).for_each(|(to, x)| to[lane] = x);
        }
        failed
    }
}

impl<M: DensityModel> DensityModel for Shared<M>
where
    M::Instance: 'static,
{
    type Instance = M::Instance;

    fn dim(&self) -> usize {
        self.model.dim()
    }

    fn instance(&self) -> M::Instance {
        self.model.instance()
    }

    fn lane_instance(&self) -> Option<Box<dyn LaneDensity + Send>> {
        let instances = std::array::from_fn(|_| self.model.instance());
        Some(Box::new(Lanes { instances, counts: self.counts }))
    }
}

pub(crate) fn shared<M: DensityModel>(model: M) -> Shared<M> {
    Shared { model, counts: Box::leak(Box::default()) }
}

fn counts<M>(model: &Shared<M>) -> Vec<u64> {
    model.counts.iter().map(|n| n.load(Ordering::Relaxed)).collect()
}

fn config(chains: u32) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    (config.chains, config.threads) = (chains, 1);
    (config.warmup, config.draws, config.save_warmup) = (120, 60, true);
    config
}

/// What must not depend on who runs beside a chain.
fn made(chains: &[ChainResult]) -> Vec<(&ChainOutcome, Vec<u64>, &[Info], u64)> {
    let bits = |chain: &ChainResult| {
        chain.warmup_draws.iter().chain(&chain.draws).map(|x| x.to_bits()).collect()
    };
    chains.iter().map(|c| (&c.outcome, bits(c), &c.infos[..], c.leapfrogs)).collect()
}

#[test]
fn draws_do_not_depend_on_who_is_beside() {
    for dim in [1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 13, 16] {
        for kind in [MetricKind::Diag, MetricKind::Stan, MetricKind::LowRank, MetricKind::Dense] {
            let (chains, threads) = [(4, 1), (7, 1), (8, 2), (9, 2), (12, 3)][dim % 5];
            let mut config = config(chains);
            (config.threads, config.metric) = (threads, kind);
            let density = correlated(dim, [0.6, 0.95][dim % 2]);
            let alone = sample(&density, &[], &config, &Silent).unwrap();
            let model = shared(density);
            let together = sample(&model, &[], &config, &Silent).unwrap();
            assert_eq!(made(&together.chains), made(&alone.chains), "{dim} {kind:?} {chains}");
            let counts = counts(&model);
            assert!(counts[BATCH] > 100, "{counts:?}");
        }
    }
}

/// Deep trees, divergences, jitter, few doublings, and energies whose weights need another
/// reference.
#[test]
fn draws_do_not_depend_on_who_is_beside_where_it_is_rough() {
    let check = |density: &dyn Fn() -> Density<Rough>, change: &dyn Fn(&mut SamplerConfig)| {
        let mut config = config(4);
        change(&mut config);
        let starts: Vec<Start> = (0..4).map(|k| Start::At(vec![30.0 + f64::from(k); 3])).collect();
        let alone = sample(&density(), &starts, &config, &Silent).unwrap();
        let together = sample(&shared(density()), &starts, &config, &Silent).unwrap();
        assert_eq!(made(&together.chains), made(&alone.chains));
        let infos = alone.chains.iter().flat_map(|c| c.infos.iter().chain(&c.warmup_infos));
        let (mut divergent, mut deepest, mut lowest) = (0, 0, 0.0_f64);
        for info in infos {
            divergent += u32::from(info.divergent);
            deepest = deepest.max(info.tree_depth);
            lowest = lowest.min(info.max_energy_error);
        }
        (divergent, deepest, lowest)
    };
    // A funnel: divergences and deep trees.
    let (divergent, deepest, _) = check(&|| Density { dim: 3, logp_grad: funnel }, &|_| {});
    assert!(divergent > 10 && deepest > 5, "{divergent} {deepest}");
    // Far from a narrow mode energies fall by more than 500.
    let narrow = || Density { dim: 3, logp_grad: narrow as Rough };
    let (_, _, lowest) = check(&narrow, &|_| {});
    assert!(lowest < -1000.0, "{lowest}");
    check(&narrow, &|config| (config.max_depth, config.step_jitter) = (1, 0.5));
    check(&narrow, &|config| config.max_depth = 2);
    // What cannot be evaluated.
    let (divergent, ..) = check(&|| Density { dim: 3, logp_grad: walled }, &|_| {});
    assert!(divergent > 10, "{divergent}");
    check(&|| Density { dim: 3, logp_grad: infinite }, &|_| {});
}

type Rough = fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError>;

fn funnel(q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
    let precision = libm::exp(-q[0]);
    let squares = q[1] * q[1] + q[2] * q[2];
    g.copy_from_slice(&[
        0.5 * precision * squares - 1.0 - q[0] / 9.0,
        -precision * q[1],
        -precision * q[2],
    ]);
    Ok(-0.5 * precision * squares - q[0] - q[0] * q[0] / 18.0)
}

fn narrow(q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
    g.iter_mut().zip(q).for_each(|(g, q)| *g = -100.0 * q);
    Ok(-50.0 * q.iter().map(|q| q * q).sum::<f64>())
}

fn walled(q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
    g.iter_mut().zip(q).for_each(|(g, q)| *g = -q);
    if q[1] < -0.5 {
        return Ok([f64::NAN, f64::NEG_INFINITY][usize::from(q[2] > 0.0)]);
    }
    Ok(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
}

/// Derivatives without bound at one side.
fn infinite(q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
    g.iter_mut().zip(q).for_each(|(g, q)| *g = if *q < -1.0 { f64::INFINITY } else { -q });
    Ok(-0.5 * q.iter().map(|q| q * q).sum::<f64>())
}

#[test]
fn nobody_shares_what_nobody_else_needs() {
    for (chains, threads, dim) in
        [(1, 1, 2), (3, 1, 2), (4, 2, 2), (7, 2, 2), (4, 8, 2), (4, 1, 0), (4, 1, 17)]
    {
        let model = shared(standard_normal(dim));
        let mut config = config(chains);
        config.threads = threads;
        sample(&model, &[], &config, &Silent).unwrap();
        assert_eq!(counts(&model), [0; 5]);
    }
}

/// Chains of which the one in lane 1 has an evaluation that fails.
fn with_one_bad_lane(
    fail: fn() -> Result<f64, EvaluationError>,
) -> (Vec<ChainResult>, Vec<ChainResult>) {
    struct Failing {
        lanes: Box<dyn LaneDensity + Send>,
        calls: u32,
        fail: fn() -> Result<f64, EvaluationError>,
    }
    impl LaneDensity for Failing {
        fn logp_grads(
            &mut self,
            positions: &[[f64; BATCH]],
            gradients: &mut [[f64; BATCH]],
            logps: &mut [f64; BATCH],
            active: [bool; BATCH],
        ) -> Vec<(usize, EvaluationError)> {
            let mut failed = self.lanes.logp_grads(positions, gradients, logps, active);
            self.calls += 1;
            if self.calls == 150 {
                failed.extend((self.fail)().err().map(|error| (1, error)));
            }
            failed
        }
    }
    struct Model<M> {
        model: M,
        fail: fn() -> Result<f64, EvaluationError>,
    }
    impl<M: DensityModel> DensityModel for Model<M> {
        type Instance = M::Instance;
        fn dim(&self) -> usize {
            self.model.dim()
        }
        fn instance(&self) -> M::Instance {
            self.model.instance()
        }
        fn lane_instance(&self) -> Option<Box<dyn LaneDensity + Send>> {
            let lanes = self.model.lane_instance()?;
            Some(Box::new(Failing { lanes, calls: 0, fail: self.fail }))
        }
    }
    let alone = sample(&standard_normal(2), &[], &config(4), &Silent).unwrap();
    let model = Model { model: shared(standard_normal(2)), fail };
    (sample(&model, &[], &config(4), &Silent).unwrap().chains, alone.chains)
}

#[test]
fn a_lane_that_fails_leaves_the_others_alone() {
    let (chains, alone) = with_one_bad_lane(|| Err(EvaluationError::Fatal("data are gone".into())));
    let ChainOutcome::Failed(error) = &chains[1].outcome else { panic!("{:?}", chains[1]) };
    assert!(error.is_fatal() && error.to_string().contains("data are gone"));
    let kept = chains[1].warmup_draws.len();
    assert!(kept > 0 && chains[1].warmup_draws[..] == alone[1].warmup_draws[..kept]);
    for k in [0, 2, 3] {
        assert_eq!(made(&chains[k..=k]), made(&alone[k..=k]));
    }
    // Counted apart from divergences.
    let (chains, alone) =
        with_one_bad_lane(|| Err(EvaluationError::Recoverable("no factorisation".into())));
    assert!(chains.iter().all(|chain| chain.outcome == ChainOutcome::Completed));
    let mut infos = chains[1].warmup_infos.iter().zip(&alone[1].warmup_infos);
    let (first, alone_there) = infos.find(|(a, b)| a != b).unwrap();
    assert!(first.recovered && !first.divergent && first.max_energy_error == f64::INFINITY);
    assert!(!alone_there.recovered && !alone_there.divergent);
    for k in [0, 2, 3] {
        assert_eq!(made(&chains[k..=k]), made(&alone[k..=k]));
    }
    // Nobody knows whose evaluation it was: all of them end, with the draws that they made.
    let (chains, alone) = with_one_bad_lane(|| panic!("an index out of range"));
    for (chain, alone) in chains.iter().zip(&alone) {
        let ChainOutcome::Failed(error) = &chain.outcome else { panic!("{chain:?}") };
        assert!(error.is_panic() && error.to_string().contains("an index out of range"));
        let kept = chain.warmup_draws.len();
        assert!(kept > 0 && chain.warmup_draws[..] == alone.warmup_draws[..kept]);
    }
}

/// Stops chain 1 at a draw, panics at a later one of chain 2, and keeps a checkpoint of every
/// chain.
struct Meddling {
    draw_index: u64,
    seen: AtomicUsize,
    checkpoints: Mutex<Vec<Checkpoint>>,
}

impl Observer for Meddling {
    fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
        self.seen.fetch_add(1, Ordering::Relaxed);
        if draw.index == self.draw_index {
            self.checkpoints.lock().unwrap().push(draw.checkpoint());
        }
        match (draw.chain, draw.index) {
            (1, k) if k == self.draw_index => ControlFlow::Break(()),
            (2, k) if k == self.draw_index + 3 => panic!("no room on the disk"),
            _ => ControlFlow::Continue(()),
        }
    }
}

#[test]
fn observers_stop_one_chain_and_checkpoints_of_all_go_on() {
    let mut config = config(4);
    config.save_warmup = false;
    let alone = sample(&correlated(5, 0.5), &[], &config, &Silent).unwrap().chains;
    let model = shared(correlated(5, 0.5));
    // Draws of warmup are numbered by themselves: none has this number.
    config.warmup = 20;
    let short = sample(&correlated(5, 0.5), &[], &config, &Silent).unwrap().chains;
    let observer =
        Meddling { draw_index: 40, seen: AtomicUsize::new(0), checkpoints: Mutex::default() };
    let chains = sample(&model, &[], &config, &observer).unwrap().chains;
    assert_eq!(chains[1].outcome, ChainOutcome::Interrupted);
    assert_eq!(chains[1].draws, short[1].draws[..41 * 5]);
    assert!(matches!(&chains[2].outcome, ChainOutcome::Failed(error) if error.is_panic()));
    assert_eq!(chains[2].draws, short[2].draws[..44 * 5]);
    for k in [0, 3] {
        assert_eq!(
            (&chains[k].outcome, &chains[k].draws),
            (&ChainOutcome::Completed, &short[k].draws)
        );
    }
    assert_eq!(observer.seen.into_inner(), 2 * 80 + 61 + 64);
    assert_ne!(alone[0].draws, short[0].draws);

    let mut checkpoints = observer.checkpoints.into_inner().unwrap();
    checkpoints.sort_by_key(|checkpoint| checkpoint.chain);
    let starts: Vec<Start> =
        checkpoints.into_iter().map(|checkpoint| Start::Resume(Box::new(checkpoint))).collect();
    let resumed = sample(&model, &starts, &config, &Silent).unwrap().chains;
    for (chain, expected) in resumed.iter().zip(&short) {
        assert_eq!(
            (&chain.outcome, chain.leapfrogs),
            (&ChainOutcome::Completed, expected.leapfrogs)
        );
        assert_eq!(chain.draws, expected.draws[41 * 5..]);
    }
}

/// A chain that cannot start has no lane; the others share theirs.
#[test]
fn a_chain_without_a_start_leaves_the_others_alone() {
    let starts = [[0.1, 0.2], [f64::MAX, 0.0], [-0.3, 0.5], [1.0, 1.0]];
    let starts = starts.map(|position| Start::At(position.to_vec()));
    let alone = sample(&standard_normal(2), &starts, &config(4), &Silent).unwrap().chains;
    let model = shared(standard_normal(2));
    let together = sample(&model, &starts, &config(4), &Silent).unwrap().chains;
    assert!(matches!(together[1].outcome, ChainOutcome::Failed(_)));
    assert_eq!(made(&together), made(&alone));
    assert!(counts(&model)[3] > 100 && counts(&model)[4] == 0);
}
