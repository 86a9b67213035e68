//! Sampling in `f32`: the same posterior where the data allow it, a warning where they do not.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use exmc::diagnose::WarningKind;
use exmc::distributions::{bernoulli, exponential, normal, student_t};
use exmc::{
    BoundModel, CompileOptions, Executor, Expr, Model, ModelBuilder, OPTIMISATIONS, Posterior,
    Precision, SamplerConfig, Silent, Tensor, Values, compile, sample, sample_with,
};

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

/// A normal mean with known spread and 200 observations.
fn conjugate() -> (Model, f64, f64) {
    let y = series(200, 3);
    let sum: f64 = y.iter().sum();
    let precision = 1.0 / 100.0 + 200.0 / 2.25;
    let mut m = ModelBuilder::new();
    m.rv("mu", normal(0.0, 10.0));
    m.rv("y", normal("mu", 1.5)).shape([200]);
    m.observe("o", "y", Tensor::vector(&y));
    (m.build().unwrap(), sum / 2.25 / precision, 1.0 / precision)
}

/// Four standard errors: one run in 16,000 of a right sampler fails each. With an ESS above 13,000 the variance is known to
/// 5 %, so that a rejection of half of what should be accepted, or any term counted twice, would show.
#[test]
fn a_posterior_in_closed_form_is_met() {
    let (model, mean, variance) = conjugate();
    for (executor, draws) in [(Executor::Native, 10_000), (Executor::Reference, 10_000)] {
        let bound = bind(&model, executor, Precision::F32);
        assert!(bound.compiled().program().rounds());
        let posterior = run(&bound, draws);
        assert_eq!(posterior.warnings, []);
        let (_, mu) = &posterior.summary()[0];
        let error = (mu.mean - mean).abs();
        assert!(error < 4.0 * mu.mcse_mean, "{}: mean {} not {mean}", executor.name(), mu.mean);
        let draws: Vec<f64> = posterior.draws_of("mu", 0).unwrap().concat();
        let squares = draws.iter().map(|x| (x - mean) * (x - mean));
        let ratio = squares.sum::<f64>() / draws.len() as f64 / variance;
        assert!(mu.ess_bulk > 10_000.0, "underpowered: ESS {}", mu.ess_bulk);
        let half_width = 4.0 * (2.0 / mu.ess_bulk).sqrt();
        assert!((ratio - 1.0).abs() < half_width, "{}: variance x {ratio}", executor.name());
    }
}

/// A logistic regression and a Student-t likelihood have the posterior of `f64`, within four standard errors of both.
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
    let logistic = m.build().unwrap();
    for model in [logistic, student(0.0)] {
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
fn student(location: f64) -> Model {
    let y: Vec<f64> = series(500, 3).iter().map(|u| location + u).collect();
    let mut m = ModelBuilder::new();
    m.rv("mu", normal(location, 10.0));
    m.rv("sigma", exponential(1.0));
    m.data("data", Tensor::vector(&y));
    m.rv("y", student_t(4.0, "mu", "sigma")).shape([500]);
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
    let model = student(1e8);
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

/// A column of spread 1e-4 about 1e4 is constant in `f32`, so that its coefficient has no effect there; the other column
/// is well scaled. It is told of by name, and seen between positions.
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

    // Two points of nearly the same intercept where the column is: the predictor goes from 0 to -10 to 10.
    let points: Vec<f64> = [0.0, 1e5].iter().flat_map(|b| [-1e4 * b, *b, 0.3]).collect();
    let rounding = bound.rounding(&points).unwrap();
    assert_eq!((rounding.positions, rounding.not_finite), (2, 0));
    assert!(rounding.spread > 10.0, "{rounding:?}");
    let exact = bind(&model, Executor::Native, Precision::F64).rounding(&points).unwrap();
    assert_eq!(exact.spread, 0.0);
}
