//! Densities and settings that misbehave: every case is a value, never a crash or a wrong draw.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{
    Density, column, log_exponential, mean, standard_normal, variance, walled_normal, z_score,
};
use exmc_density::{EvaluationError, Failing, Failure, FailureKind};
use exmc_infer::nuts::{Scratch, TreeLimits, transition};
use exmc_infer::{
    ChainOutcome, Draw, InverseMetric, Metric, MetricKind, Observer, RunPhase, SampleError,
    SamplerConfig, Silent, Start, State, sample,
};
use exmc_math::random::{ChainRng, Phase};

fn config() -> SamplerConfig {
    let mut config = SamplerConfig::default();
    config.threads = 1;
    config.seed = 3;
    config
}

/// A standard normal cut at 0.5 by NaN. The draws follow the cut normal: mean and variance in
/// closed form, each within z = 5 of its Monte Carlo error (false alarm 1e-6), for each metric.
#[test]
fn a_region_of_nan_is_never_entered() {
    for kind in [MetricKind::Diag, MetricKind::Stan, MetricKind::Dense, MetricKind::LowRank] {
        let mut config = config();
        config.metric = kind;
        config.draws = 5000;
        let run = sample(&walled_normal(), &[], &config, &Silent).unwrap();
        let chains: Vec<Vec<f64>> = run.chains.iter().map(|c| c.draws.clone()).collect();
        assert!(chains.iter().flatten().all(|x| *x <= 0.5));
        assert!(run.chains.iter().all(|c| c.divergences > 0));
        let (z_mean, ess) = z_score(&chains, -0.509_160, |x| x);
        let (z_variance, _) = z_score(&chains, 0.486_175, |x| (x + 0.509_160).powi(2));
        assert!(z_mean.abs() < 5.0 && z_variance.abs() < 5.0, "{kind:?}: {z_mean} {z_variance}");
        assert!(ess > 1000.0, "{kind:?}: underpowered with {ess} effective draws");
    }
}

/// A chain that starts where the density is $10^{-10^{60}}$ (as an unstable recurrence gives it)
/// must find its way: a metric learnt on the way would hold it where positions move by their last
/// bits.
#[test]
fn chains_come_back_from_where_the_density_is_tiny() {
    let wall = Density {
        dim: 4,
        logp_grad: |x: &[f64], gradient: &mut [f64]| {
            let wall = libm::exp(70.0 * (x[0] + 0.3 * x[1] - 1.0));
            for (gradient, x) in gradient.iter_mut().zip(x) {
                *gradient = -x;
            }
            gradient[0] -= 70.0 * wall;
            gradient[1] -= 21.0 * wall;
            Ok(-0.5 * x.iter().map(|x| x * x).sum::<f64>() - wall)
        },
    };
    for kind in [MetricKind::Diag, MetricKind::LowRank] {
        let mut config = config();
        (config.metric, config.chains) = (kind, 12);
        let starts: Vec<Start> =
            (0..12).map(|i| Start::At(vec![1.5 + 0.1 * f64::from(i), 1.7, 0.1, -1.0])).collect();
        let run = sample(&wall, &starts, &config, &Silent).unwrap();
        for chain in &run.chains {
            let step = chain.infos.last().map_or(0.0, |info| info.step_size);
            let first: Vec<f64> = chain.draws.chunks_exact(4).map(|x| x[2]).collect();
            assert!(step > 0.01 && variance(&first) > 0.3, "{kind:?}: {step} {}", variance(&first));
        }
    }
}

#[test]
fn nan_everywhere_is_an_error_with_the_last_point() {
    let density = Density { dim: 3, logp_grad: |_: &[f64], _: &mut [f64]| Ok(f64::NAN) };
    let given = Start::At(vec![f64::NAN, 0.25, f64::NAN]);
    let error = sample(&density, &[given], &config(), &Silent).unwrap_err();
    assert!(error.is_initial_point());
    let point = error.rejected_point().unwrap();
    assert!(point.logp.is_nan() && point.attempts == 100);
    assert_eq!((point.position.len(), point.position[1]), (3, 0.25));
    assert!(point.position.iter().all(|x| x.abs() < 2.0));
}

/// A complete initial point is tried once; a gradient that is not finite makes it unusable too.
#[test]
fn a_bad_gradient_at_the_given_point_is_an_error() {
    let density = Density {
        dim: 1,
        logp_grad: |q: &[f64], g: &mut [f64]| {
            g[0] = f64::INFINITY;
            Ok(-q[0] * q[0])
        },
    };
    let error = sample(&density, &[Start::At(vec![0.0])], &config(), &Silent).unwrap_err();
    assert_eq!(error.rejected_point().unwrap().attempts, 1);
    assert!(error.to_string().contains("gradient"), "{error}");
}

/// Outside the support half of the time: a later attempt finds a point.
#[test]
fn random_initial_points_are_retried() {
    let density = Density {
        dim: 2,
        logp_grad: |q: &[f64], g: &mut [f64]| {
            if q.iter().any(|x| *x < 0.0) {
                return Ok(f64::NEG_INFINITY);
            }
            g.iter_mut().zip(q).for_each(|(g, q)| *g = -(q - 3.0));
            Ok(-0.5 * q.iter().map(|x| (x - 3.0) * (x - 3.0)).sum::<f64>())
        },
    };
    let run = sample(&density, &[], &config(), &Silent).unwrap();
    assert!(run.chains.iter().all(|c| c.outcome == ChainOutcome::Completed));
    assert!(run.chains.iter().all(|c| c.draws.iter().all(|x| *x >= 0.0)));
}

#[test]
fn recoverable_failures_are_counted_apart_from_divergences() {
    let density = Density {
        dim: 1,
        logp_grad: |q: &[f64], g: &mut [f64]| {
            if q[0] > 1.0 {
                return Err(EvaluationError::Recoverable("no factorisation".into()));
            }
            g[0] = -q[0];
            Ok(-0.5 * q[0] * q[0])
        },
    };
    let run = sample(&density, &[Start::At(vec![0.0])], &config(), &Silent).unwrap();
    for chain in &run.chains {
        assert_eq!(chain.outcome, ChainOutcome::Completed);
        assert!(chain.divergences == 0 && chain.draws.iter().all(|x| *x <= 1.0));
        let met: Vec<_> = chain.infos.iter().filter(|info| info.recovered).collect();
        assert_eq!((chain.recovered, chain.n_draws), (met.len() as u64, 1000));
        assert!(met.len() > 50 && chain.warmup_recovered > 50, "{}", met.len());
        for info in &met {
            assert!(info.max_energy_error == f64::INFINITY && info.last_discarded);
            // The leaf counts as a step, and not in the mean, which is that of leaves with hardly
            // any energy error.
            let alone = info.n_steps == 1;
            assert!(
                if alone { info.accept_stat == 0.0 } else { info.accept_stat > 0.3 },
                "{info:?}"
            );
        }
        assert!(chain.infos.iter().all(|info| !info.divergent));
    }
}

/// Nothing but failures around the start: the step size shrinks until there is somewhere to go.
#[test]
fn a_chain_with_failures_only_shrinks_its_steps() {
    let density = Density {
        dim: 1,
        logp_grad: |q: &[f64], g: &mut [f64]| {
            if q[0].abs() > 3e-4 {
                return Err(EvaluationError::Recoverable("far".into()));
            }
            g[0] = -1e8 * q[0];
            Ok(-0.5e8 * q[0] * q[0])
        },
    };
    let mut config = config();
    config.metric = MetricKind::Stan;
    let run = sample(&density, &[Start::At(vec![0.0])], &config, &Silent).unwrap();
    for chain in &run.chains {
        let x = column(&chain.draws, 1, 0);
        assert!((variance(&x) / 0.97e-8 - 1.0).abs() < 0.5, "{}", variance(&x));
    }
}

/// Chains that all fail before there are draws are an error of the run; draws that were made are
/// kept.
#[test]
fn a_run_without_a_draw_is_an_error() {
    let failing = |kind, after| Failing::new(standard_normal(1), Failure::new(kind).after(after));
    let mut config = config();
    config.warmup = 100;
    let run = |kind, after| sample(&failing(kind, after), &[], &config, &Silent);
    let error = run(FailureKind::Panic, 50).unwrap_err();
    assert!(error.is_panic() && error.to_string().contains("evaluation 50"), "{error}");
    assert!(run(FailureKind::Fatal, 50).unwrap_err().is_fatal());
    let late = run(FailureKind::Fatal, 2000).unwrap();
    for chain in &late.chains {
        assert!(matches!(&chain.outcome, ChainOutcome::Failed(error) if error.is_fatal()));
        assert!(chain.n_draws > 0 && chain.draws.len() as u64 == chain.n_draws);
    }

    struct Panicking;
    impl Observer for Panicking {
        fn draw(&self, draw: &Draw<'_>) -> ControlFlow<()> {
            assert!(draw.phase == RunPhase::Warmup, "planted");
            ControlFlow::Continue(())
        }
    }
    // The draw in which the observer panics counts: it was made. No other was.
    let run = sample(&standard_normal(1), &[], &config, &Panicking).unwrap();
    assert!(run.chains.iter().all(|c| c.n_draws == 1 && c.draws.len() == 1));
    struct Early;
    impl Observer for Early {
        fn draw(&self, _: &Draw<'_>) -> ControlFlow<()> {
            panic!("planted")
        }
    }
    let error = sample(&standard_normal(1), &[], &config, &Early).unwrap_err();
    assert!(error.is_panic() && error.to_string().contains("planted"), "{error}");
}

/// Instance number 1 fails or panics after 500 evaluations; the others must not notice.
fn with_one_bad_chain(fail: fn() -> Result<f64, EvaluationError>) -> Vec<exmc_infer::ChainResult> {
    struct Model {
        instances: AtomicU32,
        fail: fn() -> Result<f64, EvaluationError>,
    }
    struct Instance {
        number: u32,
        evaluations: u32,
        fail: fn() -> Result<f64, EvaluationError>,
    }
    impl exmc_density::LogDensity for Instance {
        fn dim(&self) -> usize {
            1
        }
        fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
            self.evaluations += 1;
            if self.number == 1 && self.evaluations > 500 {
                return (self.fail)();
            }
            g[0] = -q[0];
            Ok(-0.5 * q[0] * q[0])
        }
    }
    impl exmc_density::DensityModel for Model {
        type Instance = Instance;
        fn dim(&self) -> usize {
            1
        }
        fn instance(&self) -> Instance {
            let number = self.instances.fetch_add(1, Ordering::Relaxed);
            Instance { number, evaluations: 0, fail: self.fail }
        }
    }
    let model = Model { instances: AtomicU32::new(0), fail };
    let mut config = config();
    config.warmup = 100;
    sample(&model, &[], &config, &Silent).unwrap().chains
}

#[test]
fn a_failing_chain_leaves_the_others_alone() {
    let reference = sample(
        &standard_normal(1),
        &[],
        &{
            let mut config = config();
            config.warmup = 100;
            config
        },
        &Silent,
    )
    .unwrap();
    let fatal = with_one_bad_chain(|| Err(EvaluationError::Fatal("data are gone".into())));
    let panicked = with_one_bad_chain(|| panic!("an index out of range"));
    let failed = |outcome: &ChainOutcome, test: fn(&SampleError) -> bool, text: &str| {
        matches!(outcome, ChainOutcome::Failed(error)
            if test(error) && error.to_string().contains(text))
    };
    assert!(failed(&fatal[1].outcome, SampleError::is_fatal, "data are gone"));
    assert!(failed(&panicked[1].outcome, SampleError::is_panic, "an index out of range"));
    for chains in [&fatal, &panicked] {
        for (chain, reference) in chains.iter().zip(&reference.chains) {
            if chain.chain == 1 {
                let n = chain.draws.len();
                assert!(n > 0 && n < 1000, "the draws before the failure are kept");
                assert_eq!(chain.draws, reference.draws[..n]);
            } else {
                assert_eq!(chain.draws, reference.draws);
            }
        }
    }
}

#[test]
fn dimension_zero_gives_empty_draws() {
    let run = sample(&standard_normal(0), &[], &config(), &Silent).unwrap();
    for chain in &run.chains {
        assert_eq!(chain.outcome, ChainOutcome::Completed);
        assert!(chain.draws.is_empty() && chain.infos.len() == 1000);
        assert!(chain.infos.iter().all(|info| info.accept_stat == 1.0 && !info.divergent));
    }
}

#[test]
fn bad_settings_and_starts_are_errors() {
    let check = |starts: &[Start], change: fn(&mut SamplerConfig), text: &str| {
        let mut config = config();
        change(&mut config);
        let error = sample(&standard_normal(2), starts, &config, &Silent).unwrap_err();
        assert!(error.is_config() && error.to_string().contains(text), "{error}");
    };
    check(&[], |c| c.chains = 0, "chains");
    check(&[], |c| c.target_accept = 0.0, "target_accept");
    check(&[Start::At(vec![0.0])], |_| {}, "expected length 2, found 1");
    check(&[Start::Random, Start::Random], |_| {}, "one per chain (4), found 2");
    check(&[Start::At(vec![0.0, f64::INFINITY])], |_| {}, "index 1");
}

#[test]
fn more_draws_than_memory_is_an_error() {
    let mut config = config();
    config.draws = 1 << 58;
    let error = sample(&standard_normal(2), &[], &config, &Silent).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
}

/// A flat density never turns and never ends; the run does.
#[test]
fn a_flat_density_ends_at_the_depth_limit() {
    let density = Density {
        dim: 1,
        logp_grad: |_: &[f64], g: &mut [f64]| {
            g[0] = 0.0;
            Ok(0.0)
        },
    };
    let mut config = config();
    (config.chains, config.warmup, config.draws, config.max_depth) = (1, 20, 20, 5);
    let run = sample(&density, &[], &config, &Silent).unwrap();
    assert!(run.chains[0].infos.iter().all(|info| info.reached_max_depth && info.n_steps == 31));
    (config.warmup, config.max_depth) = (20_000, 2);
    let run = sample(&density, &[], &config, &Silent).unwrap();
    assert!(run.chains[0].draws.iter().all(|x| x.is_finite()));
}

/// A jump in the log density by 900 upwards overflows no weight: the draws end up above it.
#[test]
fn a_cliff_of_many_nats_is_climbed() {
    let density = Density {
        dim: 1,
        logp_grad: |q: &[f64], g: &mut [f64]| {
            g[0] = -q[0];
            Ok(-0.5 * q[0] * q[0] + if q[0] > 0.0 { 5e4 } else { 0.0 })
        },
    };
    let mut config = config();
    config.draws = 4000;
    let run = sample(&density, &[Start::At(vec![-1.0])], &config, &Silent).unwrap();
    for chain in &run.chains {
        let x = column(&chain.draws, 1, 0);
        assert!(x.iter().all(|x| x.is_finite() && *x > 0.0));
        // Half-normal moments, to a tenth: 4000 draws, a wall that diverges on every touch.
        assert!((mean(&x) - 0.798).abs() < 0.1 && (variance(&x) - 0.363).abs() < 0.1);
    }
}

/// A step so long that density and gradient overflow leaves nothing behind in the scratch memory.
#[test]
fn the_chain_moves_again_after_an_infinite_gradient() {
    for inverse in [
        InverseMetric::identity(1),
        InverseMetric::Dense { dim: 1, covariance: vec![1.5] },
        InverseMetric::LowRank { scale: vec![1.0], vectors: vec![1.0], values: vec![2.0] },
    ] {
        let mut density = log_exponential();
        let metric = Metric::new(inverse).unwrap();
        let mut rng = ChainRng::new(2, 0, Phase::Sampling);
        let mut state = State::evaluate(&mut density, vec![0.1]).unwrap();
        let mut scratch = Scratch::new(1, 10);
        let limits = TreeLimits { max_depth: 10, max_energy_error: 1000.0 };
        let (mut overflows, mut moves) = (0, 0);
        for i in 0..100 {
            let step_size = if i % 2 == 0 { 1e4 } else { 0.5 };
            let info = transition(
                &mut state,
                &mut density,
                &metric,
                step_size,
                limits,
                &mut rng,
                &mut scratch,
            )
            .unwrap();
            overflows += u32::from(scratch.divergence().1[0].is_infinite() && info.divergent);
            moves += u32::from(i % 2 == 1 && info.moved);
        }
        // Of 50 ordinary transitions nearly all move.
        assert!(overflows > 5 && moves > 40, "{metric:?}: {overflows} overflows, {moves} moves");
    }
}
