//! Whole runs: moments of known targets under every metric, in units of their Monte Carlo error.
//!
//! Each check is |z| < 5 with the error from the effective sample size, 6e-7 false alarms a check
//! and below 1e-4 for the file with a fixed seed; a run with too few effective draws to see a
//! change of 20 % in a variance fails as underpowered.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use crate::common::{
    column, correlated, log_exponential, log_half_normal, normal, standard_normal, student_t,
    z_score,
};
use std::sync::Mutex;

use exmc_density::{DensityModel, EvaluationError, LogDensity};
use exmc_infer::{
    ChainOutcome, InverseMetric, MetricKind, Observer, Run, SamplerConfig, Silent, Start, State,
    WarmStart, sample,
};

const KINDS: [MetricKind; 4] =
    [MetricKind::Diag, MetricKind::Stan, MetricKind::Dense, MetricKind::LowRank];

fn config(kind: MetricKind) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    config.metric = kind;
    config.seed = 11;
    config.threads = 2;
    config.draws = 2000;
    config
}

fn chains(run: &Run, i: usize) -> Vec<Vec<f64>> {
    run.chains.iter().map(|c| column(&c.draws, c.dim, i)).collect()
}

/// Mean and variance of coordinate `i` (mapped by `f`), given the fourth central moment over the
/// squared variance, which sets how many effective draws a change of 20 % takes: 4 sigma.
fn check(name: &str, run: &Run, i: usize, f: fn(f64) -> f64, truth: (f64, f64, f64)) {
    let (mean, variance, kurtosis) = truth;
    let mapped: Vec<Vec<f64>> =
        chains(run, i).iter().map(|c| c.iter().map(|x| f(*x)).collect()).collect();
    let (z_mean, _) = z_score(&mapped, mean, |x| x);
    let (z_variance, ess) = z_score(&mapped, variance, |x| (x - mean) * (x - mean));
    let needed = 16.0 * (kurtosis - 1.0) / (0.2 * 0.2);
    assert!(ess > needed, "{name}[{i}]: underpowered, {ess:.0} effective draws of {needed:.0}");
    assert!(z_mean.abs() < 5.0, "{name}[{i}]: z of the mean {z_mean}");
    assert!(z_variance.abs() < 5.0, "{name}[{i}]: z of the variance {z_variance}");
}

fn run(model: &impl DensityModel, config: &SamplerConfig) -> Run {
    let run = sample(model, &[], config, &Silent).unwrap();
    assert!(run.chains.iter().all(|c| c.outcome == ChainOutcome::Completed));
    run
}

#[test]
fn normals_have_their_moments() {
    for kind in KINDS {
        for dim in [1, 3, 30] {
            let run = run(&normal(dim), &config(kind));
            for i in [0, dim / 2, dim - 1] {
                let variance = ((i + 1) * (i + 1)) as f64;
                check(&format!("{kind:?} normal {dim}"), &run, i, |x| x, (0.0, variance, 3.0));
            }
            assert!(run.chains.iter().all(|c| c.divergences == 0));
        }
    }
    let run = run(&standard_normal(100), &config(MetricKind::Diag));
    check("diag normal 100", &run, 57, |x| x, (0.0, 1.0, 3.0));
}

#[test]
fn transformed_and_heavy_tailed_targets_have_their_moments() {
    for kind in KINDS {
        let mut config = config(kind);
        config.draws = 8000;
        let name = |what: &str| format!("{kind:?} {what}");
        // Half normal: mean sqrt(2/pi), variance 1 - 2/pi, kurtosis 3.8692.
        let pi = std::f64::consts::PI;
        let half_normal = run(&log_half_normal(), &config);
        let truth = ((2.0 / pi).sqrt(), 1.0 - 2.0 / pi, 3.8692);
        check(&name("half normal"), &half_normal, 0, f64::exp, truth);
        let exponential = run(&log_exponential(), &config);
        check(&name("exponential"), &exponential, 0, f64::exp, (0.5, 0.25, 9.0));
        // Student t's fourth moment barely exists with 5 degrees of freedom; its arc tangent has
        // all.
        let student = run(&student_t(), &config);
        let (mean_square, fourth) = angle_moments();
        let truth = (0.0, mean_square, fourth / (mean_square * mean_square));
        check(&name("student"), &student, 0, |x| (x / 5.0_f64.sqrt()).atan(), truth);
    }
}

/// Second and fourth moments of the angle atan(x / sqrt 5), whose density is proportional to cos^4,
/// by Simpson's rule.
fn angle_moments() -> (f64, f64) {
    let n = 2000;
    let h = std::f64::consts::PI / n as f64;
    let integral = |k: i32| {
        (0..=n)
            .map(|i| {
                let t = -std::f64::consts::FRAC_PI_2 + i as f64 * h;
                let weight = if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
                weight * t.powi(k) * t.cos().powi(4)
            })
            .sum::<f64>()
    };
    (integral(2) / integral(0), integral(4) / integral(0))
}

/// A dense or low-rank metric gets the moments of a correlated normal right and takes far fewer
/// steps per effective draw than a diagonal one.
#[test]
fn correlated_normals_are_easy_for_dense_and_low_rank_metrics() {
    for dim in [2, 10, 50] {
        let model = correlated(dim, 0.95);
        let cost = |kind: MetricKind, must_see: bool| {
            let run = run(&model, &config(kind));
            if must_see {
                for i in [0, dim - 1] {
                    check(&format!("{kind:?} correlated {dim}"), &run, i, |x| x, (0.0, 1.0, 3.0));
                }
            }
            let (_, ess) = z_score(&chains(&run, 0), 0.0, |x| x);
            let steps: u64 =
                run.chains.iter().flat_map(|c| &c.infos).map(|i| u64::from(i.n_steps)).sum();
            steps as f64 / ess
        };
        let diag = cost(MetricKind::Diag, false);
        let dense = cost(MetricKind::Dense, true);
        let low_rank = cost(MetricKind::LowRank, true);
        assert!(dense < 0.5 * diag, "dim {dim}: dense {dense}, diag {diag} steps a draw");
        assert!(low_rank < 0.5 * diag, "dim {dim}: low rank {low_rank}, diag {diag}");
    }
}

/// The funnel, non-centred: log-scale v ~ N(0, 3), x = exp(v/2) z. Var x = e^4.5 has too heavy a
/// tail to estimate, so the checks are on P(v < -5) and E|x| = 2.457657.
#[test]
fn the_non_centred_funnel_has_its_moments() {
    let run = run(&standard_normal(10), &config(MetricKind::Diag));
    let scale: Vec<Vec<f64>> =
        chains(&run, 0).iter().map(|c| c.iter().map(|z| 3.0 * z).collect()).collect();
    let (z, _) = z_score(&scale, 0.047_790, |v| f64::from(v < -5.0));
    assert!(z.abs() < 5.0, "P(v < -5): z {z}");
    let x: Vec<Vec<f64>> = run
        .chains
        .iter()
        .map(|c| (0..2000).map(|i| (1.5 * c.draw(i)[0]).exp() * c.draw(i)[4]).collect())
        .collect();
    let (z, _) = z_score(&x, 2.457_657, f64::abs);
    assert!(z.abs() < 5.0, "E|x|: z {z}");
}

/// Every metric tunes the step size to about the target acceptance (dual averaging lands a little
/// above, in Stan too), and finds the scales of a badly scaled normal within a factor.
#[test]
fn warmup_meets_the_target_and_finds_the_scales() {
    for kind in KINDS {
        for target in [0.7, 0.9] {
            let mut config = config(kind);
            config.target_accept = target;
            let run = run(&normal(20), &config);
            for chain in &run.chains {
                let accept = chain.infos.iter().map(|i| i.accept_stat).sum::<f64>() / 2000.0;
                // Stan's windows leave 50 draws for the last average, which then lags behind.
                let above =
                    if matches!(kind, MetricKind::Stan | MetricKind::Dense) { 0.2 } else { 0.1 };
                let off = accept - target;
                assert!(-0.1 < off && off < above, "{kind:?}: {accept} for {target}");
                let tuned = chain.tuned.as_ref().unwrap();
                for (i, variance) in tuned.inverse_metric.diagonal().iter().enumerate() {
                    let ratio = variance / ((i + 1) * (i + 1)) as f64;
                    assert!((0.4..2.5).contains(&ratio), "{kind:?}[{i}]: {ratio}");
                }
            }
        }
    }
}

/// Every short warmup must adapt something: from scales 1 to 30 apart, 20 warmup draws already beat
/// none.
#[test]
fn short_warmups_adapt() {
    for kind in KINDS {
        for warmup in [1, 5, 19, 20, 50, 100, 151] {
            let mut config = config(kind);
            config.warmup = warmup;
            config.draws = 50;
            let run = run(&normal(5), &config);
            for chain in &run.chains {
                let tuned = chain.tuned.as_ref().unwrap();
                assert!(tuned.step_size.is_finite() && tuned.step_size > 0.0);
                let identity = tuned.inverse_metric == InverseMetric::identity(5);
                let uses_gradients = matches!(kind, MetricKind::Diag | MetricKind::LowRank);
                assert_eq!(identity, warmup < 20 && !uses_gradients, "{kind:?} {warmup}");
            }
        }
    }
}

/// A run that starts from an earlier run's metric and step size, with no warmup at all, has the
/// same posterior.
#[test]
fn a_warm_start_gives_the_cold_posterior() {
    let model = normal(4);
    for kind in KINDS {
        let cold = run(&model, &config(kind));
        let mut warm = config(kind);
        warm.warm_start = cold.chains[0].tuned.clone();
        warm.seed = 12;
        for warmup in [0, 50] {
            warm.warmup = warmup;
            let run = run(&model, &warm);
            let tuned = run.chains[3].tuned.as_ref().unwrap();
            let given = warm.warm_start.as_ref().unwrap();
            assert_eq!(tuned.inverse_metric, given.inverse_metric);
            assert_eq!(tuned.step_size == given.step_size, warmup == 0);
            // Random starts within two units of scale need a few draws to settle.
            let settled: Vec<Vec<f64>> = chains(&run, 3).iter().map(|c| c[50..].to_vec()).collect();
            let (z_mean, _) = z_score(&settled, 0.0, |x| x);
            let (z_variance, _) = z_score(&settled, 16.0, |x| x * x);
            assert!(z_mean.abs() < 5.0 && z_variance.abs() < 5.0, "{kind:?} {z_mean} {z_variance}");
        }
        // Adapting on from a metric that is far off ends near the truth again.
        warm.warm_start = Some(WarmStart {
            step_size: 0.1,
            inverse_metric: InverseMetric::Diagonal(vec![100.0, 1.0, 0.01, 1.0]),
            adapt_metric: true,
            positions: Vec::new(),
        });
        warm.warmup = 500;
        let run = run(&model, &warm);
        let diagonal = run.chains[0].tuned.as_ref().unwrap().inverse_metric.diagonal();
        assert!((0.4..2.5).contains(&diagonal[0]) && (4.0..25.0).contains(&diagonal[2]));
    }
}

/// Jitter varies the step size of every draw within its bounds and leaves the target alone.
#[test]
fn jitter_keeps_the_target() {
    let mut config = config(MetricKind::Diag);
    config.step_jitter = 0.3;
    let run = run(&normal(2), &config);
    check("jitter", &run, 1, |x| x, (0.0, 4.0, 3.0));
    for chain in &run.chains {
        let step = chain.tuned.as_ref().unwrap().step_size;
        let (low, high) = chain
            .infos
            .iter()
            .fold((f64::MAX, 0.0_f64), |(l, h), i| (l.min(i.step_size), h.max(i.step_size)));
        assert!(low >= 0.7 * step && high <= 1.3 * step && low < 0.75 * step && high > 1.25 * step);
    }
}

/// A chain of a warm run starts where the earlier run's chain ended: from its first draw on, with
/// no warmup, all draws are draws from the target, also of one that random starts are far from.
#[test]
fn a_warm_start_begins_where_the_earlier_run_ended() {
    let model = Far;
    let cold = run(&model, &config(MetricKind::Diag));
    let mut warm = config(MetricKind::Diag);
    let tuned: Vec<_> = cold.chains.iter().map(|c| c.tuned.clone().unwrap()).collect();
    let mut first = tuned[0].clone();
    first.positions = tuned.iter().flat_map(|t| t.positions.clone()).collect();
    warm.warm_start = Some(first);
    (warm.warmup, warm.chains, warm.seed) = (0, 6, 12);
    let starts = Starts(Mutex::new(vec![Vec::new(); 6]));
    let run = sample(&model, &[], &warm, &starts).unwrap();
    for (chain, start) in starts.0.into_inner().unwrap().iter().enumerate() {
        let end = &cold.chains[chain % 4];
        assert_eq!(start, end.draw(end.infos.len() - 1), "chain {chain}");
    }
    let all = chains(&run, 0);
    let (z_mean, _) = z_score(&all, 1e4, |x| x);
    assert!(z_mean.abs() < 5.0, "{z_mean}");
    assert!(all.iter().flatten().all(|x| (x - 1e4).abs() < 6.0), "seven standard deviations");
    // Initial values that are given come before it.
    let given = Start::At(vec![9_999.5]);
    let starts = Starts(Mutex::new(vec![Vec::new(); 6]));
    sample(&model, &[given], &warm, &starts).unwrap();
    assert_eq!(starts.0.into_inner().unwrap()[5], [9_999.5]);
}

/// A standard normal around 10,000.
#[derive(Clone, Copy)]
struct Far;

impl LogDensity for Far {
    fn dim(&self) -> usize {
        1
    }
    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        g[0] = 1e4 - q[0];
        Ok(-0.5 * g[0] * g[0])
    }
}

impl DensityModel for Far {
    type Instance = Self;
    fn dim(&self) -> usize {
        1
    }
    fn instance(&self) -> Self {
        *self
    }
}

/// Where chains start.
struct Starts(Mutex<Vec<Vec<f64>>>);

impl Observer for Starts {
    fn chain_started(&self, chain: u32, state: &State) {
        self.0.lock().unwrap()[chain as usize] = state.position.to_vec();
    }
}
