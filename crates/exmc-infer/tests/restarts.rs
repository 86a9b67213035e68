//! Chains that are stuck early in warmup go on elsewhere; all others stay, also in modes of their
//! own.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use crate::common::review::{KINDS, Keeper, Plain};
use crate::common::{Density, correlated, hash, mean};
use exmc_density::{BATCH, DensityModel, EvaluationError, LaneDensity, LogDensity};
use exmc_infer::{ChainOutcome, ChainResult, RestartReason, SamplerConfig, Silent, Start, sample};

/// Standard normals behind a wall that is exponential in the first coordinate: at 24 the log
/// density is -1e100, and a chain that starts there comes down by some factor a draw.
fn wall(q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
    let wall = (10.0 * (q[0] - 1.0)).exp();
    let mut logp = -wall;
    for (q, g) in q.iter().zip(&mut *g) {
        *g = -q;
        logp -= 0.5 * q * q;
    }
    g[0] -= 10.0 * wall;
    Ok(logp)
}

/// Standard normals whose values, but not gradients, are rough beyond 5, as those of a solver of
/// low accuracy may be: there no energy is kept unless a whole trajectory is shorter than the
/// roughness, some 1e-10.
fn rough(q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
    let mut logp = if q[0] > 5.0 { 2000.0 * ((1e6 * q[0]).sin() - 1.0) } else { 0.0 };
    for (q, g) in q.iter().zip(g) {
        *g = -q;
        logp -= 0.5 * q * q;
    }
    Ok(logp)
}

/// Two unit normals of equal weight, twenty deviations apart.
fn two_modes(q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
    let (mut left, mut right) = (0.0, 0.0);
    for q in q {
        left -= 0.5 * (q + 10.0) * (q + 10.0);
        right -= 0.5 * (q - 10.0) * (q - 10.0);
    }
    let top = left.max(right);
    let (a, b) = ((left - top).exp(), (right - top).exp());
    for (q, g) in q.iter().zip(g) {
        *g = (-a * (q + 10.0) - b * (q - 10.0)) / (a + b);
    }
    Ok(top + (a + b).ln())
}

fn density(dim: usize, logp_grad: Plain) -> Density<Plain> {
    Density { dim, logp_grad }
}

fn config(chains: u32) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    (config.chains, config.seed, config.save_warmup) = (chains, 11, true);
    (config.warmup, config.draws) = (400, 200);
    config
}

fn all_at(chains: u32, position: &[f64]) -> Vec<Start> {
    (0..chains).map(|_| Start::At(position.to_vec())).collect()
}

#[test]
fn a_chain_that_is_still_on_its_way_walks_there() {
    for kind in KINDS {
        let mut config = config(4);
        config.metric = kind;
        let starts = all_at(4, &[24.0, 1.0]);
        let run = sample(&density(2, wall), &starts, &config, &Silent).unwrap();
        for chain in &run.chains {
            let [restart] = chain.restarts[..] else { panic!("{kind:?} {:?}", chain.restarts) };
            assert!([RestartReason::OnItsWay, RestartReason::Still].contains(&restart.reason));
            assert_eq!(restart.iteration, 50);
            assert!(restart.logp_before < -1e10 && restart.logp_after > -20.0, "{restart:?}");
            assert!(restart.evaluations > 10);
            // The draw before is the one before, the first after it came from where it says.
            let infos = &chain.warmup_infos;
            assert_eq!(infos[49].logp, restart.logp_before);
            assert!(infos[50].logp > -20.0, "{:?}", infos[50]);
            // What is learnt from then on fits the posterior, not the way: 1 or so, where steps of
            // 1e-30 were taken before.
            let step = chain.tuned.as_ref().unwrap().step_size;
            let variance = chain.tuned.as_ref().unwrap().inverse_metric.diagonal()[1];
            assert!((0.1..3.0).contains(&(step * variance.sqrt())), "{kind:?}: {step} {variance}");
            let early: u64 = infos[50..150].iter().map(|i| u64::from(i.n_steps)).sum();
            assert!(early < 100 * 31, "{kind:?}: {early}");
        }
    }
}

#[test]
fn a_chain_of_tiny_steps_goes_to_where_the_mass_is() {
    let config = config(2);
    let run = sample(&density(3, rough), &all_at(2, &[30.0, 0.5, -0.5]), &config, &Silent).unwrap();
    for chain in &run.chains {
        let tiny = chain.restarts.iter().any(|r| r.reason == RestartReason::TinySteps);
        assert!(tiny, "{:?}", chain.restarts);
        assert!(chain.infos.iter().all(|info| info.logp > -40.0));
        let steps: u64 = chain.infos.iter().map(|i| u64::from(i.n_steps)).sum();
        assert!(steps < 200 * 15, "{steps}");
    }
}

/// Chains of two separate modes of equal weight stay where they are, and their means are apart:
/// nothing here may hide a mode.
#[test]
fn chains_in_modes_of_their_own_stay() {
    for dim in [1, 3, 20] {
        let starts: Vec<Start> =
            (0..4).map(|k| Start::At(vec![[-10.0, 10.0][k % 2]; dim])).collect();
        let run = sample(&density(dim, two_modes), &starts, &config(4), &Silent).unwrap();
        for (k, chain) in run.chains.iter().enumerate() {
            assert!(chain.restarts.is_empty(), "{dim}: {:?}", chain.restarts);
            let first: Vec<f64> = chain.draws.iter().copied().step_by(dim).collect();
            assert!((mean(&first) - [-10.0, 10.0][k % 2]).abs() < 1.0);
        }
    }
}

/// A normal at 0 with deviation 1, and one at 300 with another deviation whose log density at its
/// mode is `low` nats lower.
#[expect(clippy::type_complexity, reason = "a closure has no name")]
fn low_mode(
    dim: usize,
    low: f64,
    scale: f64,
) -> Density<impl Fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError> + Clone + Send + Sync> {
    let logp_grad = move |q: &[f64], g: &mut [f64]| {
        let (mut a, mut b) = (0.0, -low);
        for q in q {
            a -= 0.5 * q * q;
            b -= 0.5 * ((q - 300.0) / scale).powi(2);
        }
        let top = f64::max(a, b);
        let (x, y) = ((a - top).exp(), (b - top).exp());
        for (q, g) in q.iter().zip(g) {
            *g = (-x * q - y * (q - 300.0) / (scale * scale)) / (x + y);
        }
        Ok(top + (x + y).ln())
    };
    Density { dim, logp_grad }
}

/// A chain that moves, in a mode with $e^{-60}$ of the mass, is taken out of there. One with
/// $e^{-8}$ stays, and so does one whose mode is as low but wide: $20^{20}=e^{60}$ times the volume
/// makes up for it.
#[test]
fn only_modes_without_mass_are_left() {
    let restarts = |dim: usize, low: f64, scale: f64| {
        let starts = all_at(4, &vec![301.0; dim]);
        let run = sample(&low_mode(dim, low, scale), &starts, &config(4), &Silent).unwrap();
        let moved = |chain: &&ChainResult| chain.draws.iter().all(|x| *x < 100.0);
        let n_moved = run.chains.iter().filter(moved).count();
        let mut restarts = run.chains.iter().flat_map(|chain| &chain.restarts);
        assert!(restarts.all(|restart| restart.reason == RestartReason::LowMode));
        (run.chains.iter().filter(|chain| !chain.restarts.is_empty()).count(), n_moved)
    };
    assert_eq!(restarts(1, 60.0, 1.0), (4, 4));
    assert_eq!(restarts(5, 60.0, 1.0), (4, 4));
    assert_eq!(restarts(1, 8.0, 1.0), (0, 0));
    assert_eq!(restarts(20, 20.0 * 20.0_f64.ln(), 20.0), (0, 0));
}

/// Draws after warmup are those of one Markov chain, wherever it was; heavy tails give blocks of
/// draws whose log densities differ by as much as on a way.
#[test]
fn no_chain_is_restarted_after_warmup() {
    // A mixture of scales from 1 to 1e40: the log density of a draw varies by some ninety nats.
    let heavy = |q: &[f64], g: &mut [f64]| {
        let x = q[0];
        let size = 1.0 + x * x;
        g[0] = -1.05 * x / size;
        Ok(-0.525 * size.ln())
    };
    let mut config = config(4);
    (config.warmup, config.draws) = (100, 3000);
    let density = Density { dim: 1, logp_grad: heavy as Plain };
    let run = sample(&density, &all_at(4, &[1e40]), &config, &Silent).unwrap();
    for chain in &run.chains {
        assert_eq!(chain.outcome, ChainOutcome::Completed);
        assert!(chain.restarts.iter().all(|r| r.iteration <= 50), "{:?}", chain.restarts);
        // A transition starts where the last one ended: it may stay there, with its log density.
        for pair in chain.infos.windows(2).filter(|pair| !pair[1].moved) {
            assert_eq!(pair[0].logp, pair[1].logp);
        }
    }
    // A chain that does not move for all of its draws, of a density that is a wall: the same in the
    // plainest form.
    let mut config = self::config(2);
    (config.warmup, config.draws) = (1, 220);
    let run = sample(&self::density(2, wall), &all_at(2, &[24.0, 1.0]), &config, &Silent).unwrap();
    for chain in &run.chains {
        assert!(chain.restarts.is_empty(), "{:?}", chain.restarts);
        let logps: Vec<f64> = chain.infos.iter().map(|info| info.logp).collect();
        assert!(logps.iter().all(|logp| *logp < -1e3), "{logps:?}");
    }
}

#[test]
fn short_warmups_and_given_metrics_are_left_alone() {
    let mut short = config(1);
    short.warmup = 60;
    let run = sample(&density(2, wall), &all_at(1, &[24.0, 1.0]), &short, &Silent).unwrap();
    assert!(run.chains[0].restarts.iter().all(|r| r.iteration <= 30));
    let mut warm = config(1);
    warm.warm_start = run.chains[0].tuned.clone();
    let run = sample(&density(2, wall), &all_at(1, &[24.0, 1.0]), &warm, &Silent).unwrap();
    assert!(run.chains[0].restarts.is_empty());
}

/// Another density whose chains may run side by side.
struct Shared(Density<Plain>);

struct Lanes([Density<Plain>; BATCH]);

impl LaneDensity for Lanes {
    fn logp_grads(
        &mut self,
        positions: &[[f64; BATCH]],
        gradients: &mut [[f64; BATCH]],
        logps: &mut [f64; BATCH],
        active: [bool; BATCH],
    ) -> Vec<(usize, EvaluationError)> {
        for lane in (0..BATCH).filter(|lane| active[*lane]) {
            let position: Vec<f64> = positions.iter().map(|x| x[lane]).collect();
            let mut gradient = vec![0.0; position.len()];
            logps[lane] = self.0[lane].logp_grad(&position, &mut gradient).unwrap();
            gradients.iter_mut().zip(gradient).for_each(|(to, x)| to[lane] = x);
        }
        Vec::new()
    }
}

impl DensityModel for Shared {
    type Instance = Density<Plain>;

    fn dim(&self) -> usize {
        self.0.dim
    }

    fn instance(&self) -> Density<Plain> {
        self.0.clone()
    }

    fn lane_instance(&self) -> Option<Box<dyn LaneDensity + Send>> {
        Some(Box::new(Lanes(std::array::from_fn(|_| self.0.clone()))))
    }
}

fn made(chains: &[ChainResult]) -> Vec<(u64, u64, String)> {
    let fingerprint =
        |c: &ChainResult| (hash(&c.warmup_draws), hash(&c.draws), format!("{:?}", c.restarts));
    chains.iter().map(fingerprint).collect()
}

/// Some of the chains start behind the wall: alone, beside others, at any number of threads, the
/// same bits.
#[test]
fn restarts_do_not_depend_on_other_chains() {
    for kind in KINDS {
        let starts: Vec<Start> =
            (0..8).map(|k| Start::At(vec![[0.1, 24.0, 20.0][k % 3], 1.0])).collect();
        let mut config = config(8);
        (config.metric, config.threads) = (kind, 1);
        let alone = sample(&density(2, wall), &starts, &config, &Silent).unwrap();
        assert!(alone.chains.iter().any(|chain| !chain.restarts.is_empty()));
        assert!(alone.chains.iter().any(|chain| chain.restarts.is_empty()));
        let model = Shared(density(2, wall));
        let together = sample(&model, &starts, &config, &Silent).unwrap();
        assert_eq!(made(&together.chains), made(&alone.chains), "{kind:?}");
        config.threads = 3;
        let threads = sample(&density(2, wall), &starts, &config, &Silent).unwrap();
        assert_eq!(made(&threads.chains), made(&alone.chains), "{kind:?}");
        config.chains = 3;
        let few = sample(&density(2, wall), &starts[..3], &config, &Silent).unwrap();
        assert_eq!(made(&few.chains), made(&alone.chains)[..3], "{kind:?}");
    }
}

/// Resumed while the judgement is under way, just before the restart, and after it.
#[test]
fn a_resumed_chain_restarts_as_it_would_have() {
    for iteration in [40, 50, 51, 120] {
        let mut config = config(1);
        config.threads = 1;
        let starts = all_at(1, &[24.0, 1.0]);
        let keeper = Keeper { iteration, ..Keeper::default() };
        let uninterrupted = sample(&density(2, wall), &starts, &config, &keeper).unwrap();
        assert_eq!(uninterrupted.chains[0].restarts.len(), 1);
        let checkpoint = keeper.kept.into_inner().unwrap().pop().unwrap();
        let resume = [Start::Resume(Box::new(checkpoint))];
        let rest = sample(&density(2, wall), &resume, &config, &Silent).unwrap();
        assert_eq!(
            hash(&rest.chains[0].draws),
            hash(&uninterrupted.chains[0].draws),
            "{iteration}"
        );
        assert_eq!(rest.chains[0].restarts, uninterrupted.chains[0].restarts, "{iteration}");
    }
}

/// Ordinary posteriors are never judged stuck, by any metric.
#[test]
fn ordinary_chains_are_not_restarted() {
    for kind in KINDS {
        for dim in [1, 5, 40] {
            let mut config = config(4);
            config.metric = kind;
            let run = sample(&correlated(dim, 0.9), &[], &config, &Silent).unwrap();
            assert!(run.chains.iter().all(|c| c.restarts.is_empty()), "{kind:?} {dim}");
        }
    }
}
