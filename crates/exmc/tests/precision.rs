//! Sampling in `f32`: the same posterior where the data allow it, a warning where they do not.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use exmc::advanced::{
    BoundModel, CompileOptions, Executor, OPTIMISATIONS, Precision, compile, sample, sample_with,
};
use exmc::diagnose::WarningKind;
use exmc::distributions::{bernoulli, exponential, logistic, normal};
use exmc::infer::Silent;
use exmc::model::{Expr, Tensor, Values};
use exmc::runs::Posterior;
use exmc::{Model, ModelBuilder, SamplerConfig};

/// Equally spread numbers between -1 and 1.
fn series(n: usize, stride: usize) -> Vec<f64> {
    let fraction = |k: usize| ((k * stride + 1) as f64 * 0.618_033_988_749_894_9).fract();
    (0..n).map(|k| 2.0 * fraction(k) - 1.0).collect()
}

/// Without optimisations, so that sums over data stay loops.
fn bind(model: &Model, executor: Executor, precision: Precision) -> BoundModel {
    let mut options = CompileOptions::default();
    (options.executor, options.precision) = (executor, precision);
    options.without = OPTIMISATIONS.iter().map(|known| known.name.to_owned()).collect();
    compile(model, &options).unwrap().bind(&Values::new()).unwrap()
}

fn run(model: &BoundModel, draws: u64) -> Posterior {
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.seed) = (4, 500, draws, 11);
    sample(model, &config).unwrap()
}

/// Columns of the regression below, and its observations.
const COLUMNS: usize = 16;
const ROWS: usize = 13 * COLUMNS;

/// A regression with known spread whose columns are orthogonal: entries are Walsh functions of the
/// row. The posterior means of its coefficients, which are independent, and the variance of each.
fn conjugate() -> (Model, Vec<f64>, f64) {
    let y = series(ROWS, 3);
    let entry = |i: usize, j: usize| {
        let both = (i % COLUMNS) & j;
        if both.count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
    };
    let design: Vec<f64> = (0..ROWS).flat_map(|i| (0..COLUMNS).map(move |j| entry(i, j))).collect();
    let precision = 1.0 / 100.0 + ROWS as f64 / 2.25;
    let projection = |j: usize| (0..ROWS).map(|i| entry(i, j) * y[i]).sum::<f64>();
    let means = (0..COLUMNS).map(|j| projection(j) / 2.25 / precision).collect();
    let mut m = ModelBuilder::new();
    m.data("x", Tensor::real([ROWS, COLUMNS], design).unwrap());
    m.rv("beta", normal(0.0, 10.0)).shape([COLUMNS]);
    m.rv("y", normal(Expr::name("x").matmul("beta"), 1.5)).shape([ROWS]);
    m.observe("o", "y", Tensor::vector(&y));
    (m.build().unwrap(), means, 1.0 / precision)
}

/// Draws of a batch: many more than those after which two are independent.
const BATCH: usize = 100;

/// Four standard errors, those of variances by batches: one run in 16,000 of a right sampler fails
/// each. The variances are known to 6 %, so that a rejection of half of what should be accepted, or
/// any term counted twice, would show.
#[test]
fn a_posterior_in_closed_form_is_met() {
    let (model, means, variance) = conjugate();
    for (executor, draws) in [(Executor::Native, 10_000), (Executor::Reference, 10_000)] {
        let bound = bind(&model, executor, Precision::F32);
        assert!(bound.compiled().program().rounds());
        let posterior = run(&bound, draws);
        assert_eq!(posterior.warnings, []);
        for (j, ((name, beta), mean)) in posterior.summary().iter().zip(&means).enumerate() {
            let error = (beta.mean - mean).abs();
            let name = format!("{} {name}", executor.name());
            assert!(error < 4.0 * beta.mcse_mean, "{name}: mean {} not {mean}", beta.mean);
            let draws: Vec<f64> = posterior.draws_of("beta", j).unwrap().concat();
            let squares: Vec<f64> = draws.iter().map(|x| (x - mean) * (x - mean)).collect();
            let batches = squares.chunks_exact(BATCH).map(|batch| {
                let square = batch.iter().sum::<f64>() / BATCH as f64;
                square / variance
            });
            let batches: Vec<f64> = batches.collect();
            let n = batches.len() as f64;
            let ratio = batches.iter().sum::<f64>() / n;
            let spread = batches.iter().map(|b| (b - ratio) * (b - ratio)).sum::<f64>();
            let error = (spread / (n * (n - 1.0))).sqrt();
            assert!(error < 0.015, "underpowered: {name} is known to {error}");
            assert!((ratio - 1.0).abs() < 4.0 * error, "{name}: variance x {ratio} ± {error}");
        }
    }
}

/// A logistic regression and a logistic likelihood have the posterior of `f64`, within four
/// standard errors of both.
#[test]
fn posteriors_are_those_of_f64() {
    let n = 3000;
    let y: Vec<f64> = series(n, 3).iter().map(|u| f64::from(*u < -0.2)).collect();
    let mut m = ModelBuilder::new();
    m.data("x", Tensor::real([n, 2], series(2 * n, 1)).unwrap());
    m.data("y", Tensor::int([n], y).unwrap());
    m.rv("alpha", normal(0.0, 1.0));
    m.rv("beta", normal(0.0, 1.0)).shape([2]);
    let eta = Expr::name("x").matmul("beta") + "alpha";
    m.rv("p", bernoulli(Expr::call("inv_logit", [eta])));
    m.observe("o", "p", "y");
    let regression = m.build().unwrap();
    for model in [regression, located(0.0)] {
        let [single, double] = [Precision::F32, Precision::F64].map(|precision| {
            let bound = bind(&model, Executor::Native, precision);
            assert_eq!(bound.compiled().program().rounds(), precision == Precision::F32);
            run(&bound, 1000)
        });
        assert_eq!(single.warnings, []);
        for ((name, one), (_, other)) in single.summary().iter().zip(&double.summary()) {
            let error = 4.0 * one.mcse_mean.hypot(other.mcse_mean);
            assert!((one.mean - other.mean).abs() < error, "{name}: {one:?}, in f64 {other:?}");
            assert!((one.sd / other.sd - 1.0).abs() < 0.2, "{name}: {one:?}, in f64 {other:?}");
            assert!(one.rhat < 1.02, "{name}: {one:?}");
        }
    }
}

/// Observations of scale one about a location.
fn located(location: f64) -> Model {
    let y: Vec<f64> = series(500, 3).iter().map(|u| location + u).collect();
    let mut m = ModelBuilder::new();
    m.rv("mu", normal(location, 10.0));
    m.rv("sigma", exponential(1.0));
    m.data("data", Tensor::vector(&y));
    m.rv("y", logistic("mu", "sigma")).shape([500]);
    m.observe("o", "y", "data");
    m.build().unwrap()
}

/// A short run of two chains from a start, for models that no sampler can do much with.
fn short(model: &BoundModel, start: &Values) -> Posterior {
    let mut config = SamplerConfig::default();
    (config.chains, config.warmup, config.draws, config.seed) = (2, 30, 30, 11);
    config.max_depth = 5;
    sample_with(model, &config, std::slice::from_ref(start), &Silent).unwrap()
}

/// Numbers near 1e8 are eight apart in `f32`: a run says so, and how much that changes.
#[test]
fn data_that_lose_their_digits_are_told_of() {
    let model = located(1e8);
    let start = Values::from([
        ("mu".to_owned(), Tensor::scalar(1e8)),
        ("sigma".to_owned(), Tensor::scalar(0.6)),
    ]);
    let posterior = short(&bind(&model, Executor::Native, Precision::F32), &start);
    let [warning] = &posterior.warnings[..] else { panic!("{:?}", posterior.warnings) };
    assert_eq!(warning.kind, WarningKind::Precision);
    assert!(warning.message.contains("rounding to f32 moves `data` by up to "), "{warning}");
    assert!(warning.hint.contains("f64"), "{warning}");
    let posterior = short(&bind(&model, Executor::Native, Precision::F64), &start);
    assert_eq!(posterior.warnings, []);
}

/// A column of spread 1e-4 about 1e4 is constant in `f32`, so that its coefficient has no effect
/// there; the other column is well scaled. It is told of by name, and seen between positions.
#[test]
fn ill_scaled_columns_are_told_of() {
    let n = 400;
    let mut design = Vec::new();
    for (u, v) in series(n, 1).into_iter().zip(series(n, 7)) {
        design.extend([1e4 + 1e-4 * u, v]);
    }
    let y: Vec<f64> = series(n, 3).iter().map(|u| f64::from(*u < 0.1)).collect();
    let mut m = ModelBuilder::new();
    m.data("x", Tensor::real([n, 2], design).unwrap());
    m.data("y", Tensor::int([n], y).unwrap());
    m.rv("alpha", normal(0.0, 1e9));
    m.rv("beta", normal(0.0, 1e5)).shape([2]);
    let eta = Expr::name("x").matmul("beta") + "alpha";
    m.rv("p", bernoulli(Expr::call("inv_logit", [eta])));
    m.observe("o", "p", "y");
    let model = m.build().unwrap();
    let bound = bind(&model, Executor::Native, Precision::F32);
    let start = Values::from([
        ("alpha".to_owned(), Tensor::scalar(0.0)),
        ("beta".to_owned(), Tensor::vector(&[0.0, 0.0])),
    ]);
    let posterior = short(&bound, &start);
    let [warning] = &posterior.warnings[..] else { panic!("{:?}", posterior.warnings) };
    assert_eq!(warning.kind, WarningKind::Precision);
    assert!(warning.message.contains("moves `x` by up to "), "{warning}");

    // Two points of nearly the same intercept where the column is: the predictor goes from 0 to -10
    // to 10.
    let points: Vec<f64> = [0.0, 1e5].iter().flat_map(|b| [-1e4 * b, *b, 0.3]).collect();
    let rounding = bound.rounding(&points).unwrap();
    assert_eq!((rounding.positions, rounding.not_finite), (2, 0));
    assert!(rounding.spread > 10.0, "{rounding:?}");
    let exact = bind(&model, Executor::Native, Precision::F64).rounding(&points).unwrap();
    assert_eq!(exact.spread, 0.0);
}
