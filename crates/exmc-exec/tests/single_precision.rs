//! Programs in `f32`: within stated distances of those in `f64`, the same at every level and number
//! of threads.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{BoundDensity, DensitySource, Executor, Settings, compile_with};
use exmc_graph::{DType, Graph, Precision, Role, Shape, Tensor};
use exmc_math::simd::Level;

use crate::support::Program;
use crate::support::models;
use crate::support::models::{Build, Model};

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

fn bind(executor: Executor, precision: Precision, model: &Model) -> BoundDensity {
    let settings = Settings::of(executor).at_precision(precision);
    compile_with(&settings, &model.source).unwrap().bind(&|name| model.data(name)).unwrap()
}

/// Log density and gradient.
fn evaluate(bound: &BoundDensity, position: &[f64]) -> Vec<f64> {
    let mut values = vec![0.0; position.len() + 1];
    let mut instance = bound.instance();
    values[0] = instance.logp_grad(position, &mut values[1..]).unwrap();
    values
}

/// Lengths about vectors and blocks, long ones, and models with every kind of loop.
fn models() -> Vec<Model> {
    let mut all = Vec::new();
    for n in [65, 80, 95, 96, 97, 255, 256, 257, 512, 513, 1025, 5003] {
        all.push(models::logistic(n, 1));
        all.push(models::logistic(n, 7));
        all.push(models::student(n, 9, false));
        all.push(models::student(n, 9, true));
        all.push(models::volatility(n));
        all.push(models::regression(n));
        all.push(models::groups(n, 5, true));
        all.push(models::linear(n, 4));
        all.push(models::radon(n, 7));
    }
    all.push(models::logistic(300, 150));
    all.push(models::item_response(40, 30));
    all.push(models::eight_schools());
    all
}

/// The largest difference, in units of the largest number.
fn distance(found: &[f64], expected: &[f64]) -> f64 {
    let size = expected.iter().fold(1.0_f64, |size, x| size.max(x.abs()));
    let differences = found.iter().zip(expected).map(|(a, b)| (a - b).abs() / size);
    // Not the maximum, which would not see NaN.
    differences.fold(0.0, |most, d| if d <= most { most } else { d })
}

/// An element is off by half an ulp (6e-8) for each of a dozen operations, in either direction, so
/// that sums of more than 64 of them are off by less than that of one; 1e-7 also has room for
/// factors of a matrix, which are rounded for all rows alike.
const MODELS: f64 = 1e-7;

#[test]
fn models_are_near_those_in_f64() {
    for model in models() {
        let position = model.position();
        let exact = evaluate(&bind(Executor::Reference, Precision::F64, &model), &position);
        let oracle = evaluate(&bind(Executor::Reference, Precision::F32, &model), &position);
        let bound = bind(Executor::Native, Precision::F32, &model);
        let found = evaluate(&bound, &position);
        let name = &model.name;
        for (what, error) in [
            ("in f64", distance(&found, &exact)),
            ("of the reference", distance(&found, &oracle)),
            ("of the reference in f64", distance(&oracle, &exact)),
        ] {
            assert!(error < MODELS, "{name}: {error:e} from that {what}");
        }
        for level in Level::available() {
            let other = evaluate(&bound.clone().at_level(level), &position);
            assert_eq!(bits(&other), bits(&found), "{name} at {}", level.name());
        }
        for threads in [2, 3] {
            let other = evaluate(&bound.clone().with_threads(threads), &position);
            assert_eq!(bits(&other), bits(&found), "{name}, {threads} threads");
        }
    }
}

/// Compositions of a dozen operations with slopes of scale one multiply an error of 6e-8 by up to
/// some hundred terms; of 600 graphs the worst was off by 9e-6.
const RANDOM: f64 = 2e-5;

#[test]
fn random_graphs_agree_with_the_reference_and_between_levels_to_the_bit() {
    let mut rounded = 0;
    for seed in 1..61 {
        let program = Program::wide(seed);
        let long = program.largest() > 64;
        let program = program.with_matrices();
        let run = |executor, precision, level: Option<Level>| {
            let settings = Settings::of(executor).at_precision(precision);
            let compiled = compile_with(&settings, &program.source).unwrap();
            let mut bound = compiled.bind(&|name| program.lookup(name)).unwrap();
            if let Some(level) = level {
                bound = bound.at_level(level);
            }
            evaluate(&bound, &program.position)
        };
        let oracle = run(Executor::Reference, Precision::F32, None);
        let found = run(Executor::Native, Precision::F32, None);
        for level in Level::available() {
            let other = run(Executor::Native, Precision::F32, Some(level));
            assert_eq!(bits(&other), bits(&found), "seed {seed} at {}", level.name());
        }
        for (k, (found, oracle)) in found.iter().zip(&oracle).enumerate() {
            let error = (found - oracle).abs() / oracle.abs().max(1.0);
            assert!(error < RANDOM, "seed {seed}, element {k}: {found}, expected {oracle}");
        }
        // Where nothing is long, nothing is rounded.
        let double = run(Executor::Native, Precision::F64, None);
        if !long {
            assert_eq!(bits(&found), bits(&double), "seed {seed}");
        }
        rounded += usize::from(bits(&found) != bits(&double));
    }
    assert!(rounded >= 20, "{rounded} of 60 graphs have long arrays");
}

/// The sum of softplus of a parameter times 300 known numbers of a size.
fn sized(size: f64) -> DensitySource {
    let mut g = Graph::new();
    let a = g.input("a", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let known: Vec<f64> = (0..300).map(|k| size * (1.0 + f64::from(k) / 300.0)).collect();
    let known = g.constant(Tensor::vector(&known));
    let product = g.mul(known, a);
    let softplus = g.softplus(product);
    let total = g.sum(softplus);
    let logp = g.neg(total);
    DensitySource { graph: g, logp, parameters: vec![(a, 0)], dim: 1 }
}

/// What is made of numbers near the end of the range soon leaves it.
#[test]
fn loops_over_extreme_numbers_are_f64() {
    for (size, rounds) in [(1.0, true), (1e-29, true), (1e29, true), (1e-32, false), (1e32, false)]
    {
        let single = Settings::of(Executor::Native).at_precision(Precision::F32);
        let program = compile_with(&single, &sized(size)).unwrap();
        assert_eq!(program.rounds(), rounds, "{size:e}");
    }
}

/// A constant that brings numbers to the size one stays with them: (y / 1e25)^2 is no y^2 / 1e50
/// where y^2 has no `f32`.
#[test]
fn squares_of_numbers_brought_to_size_one_stay_in_range() {
    let mut g = Graph::new();
    let a = g.input("a", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let known: Vec<f64> = (0..300).map(|k| 1e25 * (1.0 + f64::from(k) / 300.0)).collect();
    let known = g.constant(Tensor::vector(&known));
    let growth = g.mul(known, a);
    let size = g.softplus(growth);
    let scale = g.scalar(1e25);
    let ratio = g.div(size, scale);
    let square = g.square(ratio);
    let log = g.exp(square);
    let total = g.sum(log);
    let logp = g.neg(total);
    let source = DensitySource { graph: g, logp, parameters: vec![(a, 0)], dim: 1 };
    let run = |precision| {
        let settings = Settings::of(Executor::Native).at_precision(precision);
        let program = compile_with(&settings, &source).unwrap();
        assert_eq!(program.rounds(), precision == Precision::F32);
        evaluate(&program.bind(&|_| None).unwrap(), &[0.5])
    };
    let (found, exact) = (run(Precision::F32), run(Precision::F64));
    assert!(exact.iter().all(|x| x.is_finite()), "{exact:?}");
    // An exponential of at most one, some operations.
    assert!(distance(&found, &exact) < 1e-5, "{found:?}, expected {exact:?}");
}

/// Each executor says what it rounds, and short loops, loops that would be slower, sums and
/// gradients of scalars are none of it.
#[test]
fn programs_show_their_precision() {
    let plain = models::student(300, 9, false);
    let single = Settings::of(Executor::Native).at_precision(Precision::F32);
    assert!(!compile_with(&single, &plain.source).unwrap().rounds());
    let model = models::logistic(300, 20);
    let text = |executor, precision| {
        let settings = Settings::of(executor).at_precision(precision);
        compile_with(&settings, &model.source).unwrap().print()
    };
    let native = text(Executor::Native, Precision::F32);
    assert!(native.contains("MatVec.f32("), "{native}");
    assert!(native.contains("SumSoftplusInvLogit.f32("), "{native}");
    assert!(!text(Executor::Native, Precision::F64).contains("f32"));
    assert!(text(Executor::Reference, Precision::F32).contains(": [300] f32"));
    assert!(!text(Executor::Reference, Precision::F64).contains("f32"));
    let small = models::eight_schools();
    let settings = Settings::of(Executor::Native).at_precision(Precision::F32);
    let small = compile_with(&settings, &small.source).unwrap();
    assert!(!small.print().contains("f32"));
    assert_eq!(small.precision(), Precision::F32);
    assert!(!small.rounds());
    for &executor in Executor::ALL {
        let settings = Settings::of(executor).at_precision(Precision::F32);
        assert!(compile_with(&settings, &model.source).unwrap().rounds(), "{}", executor.name());
        assert!(!compile_with(&Settings::of(executor), &model.source).unwrap().rounds());
    }
}

/// The log density of a Gaussian process of `n` points that lie so close that a covariance rounded
/// to `f32` has no Cholesky factor.
fn process(n: usize) -> Model {
    let mut b = Build::new();
    let (log_scale, log_length) =
        (b.parameter("log_scale", Vec::new()), b.parameter("log_length", Vec::new()));
    let times: Vec<f64> = (0..n).map(|k| k as f64 / n as f64).collect();
    let squares = times.iter().flat_map(|s| times.iter().map(move |t| (s - t) * (s - t)));
    let squares: Vec<f64> = squares.collect();
    let squares = b.data("squares", Tensor::real([n, n], squares).unwrap());
    let mut jitter = vec![0.0; n * n];
    jitter.iter_mut().step_by(n + 1).for_each(|x| *x = 1e-9);
    let jitter = b.data("jitter", Tensor::real([n, n], jitter).unwrap());
    let y = b.data("y", Tensor::vector(&models::series(n, 5)));
    let g = &mut b.graph;
    let (scale, length) = (g.exp(log_scale), g.exp(log_length));
    let ratio = g.div(squares, length);
    let minus = g.scale(ratio, -0.5);
    let correlation = g.exp(minus);
    let plain = g.mul(correlation, scale);
    let covariance = g.add(plain, jitter);
    let factor = g.cholesky(covariance);
    let z = g.triangular_solve(factor, y, false);
    let square = g.square(z);
    let sum = g.sum(square);
    let logp = g.scale(sum, -0.5);
    b.finish(format!("process of {n}"), &[logp])
}

#[test]
fn what_a_decomposition_reads_keeps_all_digits() {
    let model = process(12);
    let position = [0.2, 0.5];
    let exact = evaluate(&bind(Executor::Reference, Precision::F64, &model), &position);
    assert!(exact.iter().all(|x| x.is_finite()), "{exact:?}");
    for executor in [Executor::Native, Executor::Reference] {
        let found = evaluate(&bind(executor, Precision::F32, &model), &position);
        // The condition of the covariance, 1e10, multiplies what f64 rounds.
        assert!(distance(&found, &exact) < 1e-5, "{found:?}, expected {exact:?}");
    }
}

/// Numbers beyond the range of `f32` are infinite in it, and what is not finite is no log density;
/// nothing traps or panics.
#[test]
fn beyond_its_range_a_number_is_infinite() {
    let n = 100;
    let mut b = Build::new();
    let z = b.parameter("z", [n]);
    let g = &mut b.graph;
    let value = g.exp(z);
    let sum = g.sum(value);
    let logp = g.neg(sum);
    let model = b.finish("exponentials", &[logp]);
    let mut position = vec![0.0; n];
    position[70] = 100.0;
    for executor in [Executor::Native, Executor::Reference] {
        let found = evaluate(&bind(executor, Precision::F32, &model), &position);
        assert_eq!(found[0], f64::NEG_INFINITY, "{}", executor.name());
        assert_eq!(found[1], -1.0);
        let found = evaluate(&bind(executor, Precision::F64, &model), &position);
        assert!(found[0].is_finite());
    }
}

/// Each of a million terms is off by its own half ulp, so their sum's error grows as its root:
/// changes of a log density along a short path are those of `f64` to a hundredth, which is what
/// energies need.
#[test]
fn energies_of_many_rows_change_as_in_f64() {
    let n = 1 << 20;
    for model in [models::logistic(n, 3), models::student(n, 50, false)] {
        let [single, double] =
            [Precision::F32, Precision::F64].map(|p| bind(Executor::Native, p, &model));
        let start: Vec<f64> = model.position().iter().map(|x| 0.1 * x).collect();
        let mut first = None;
        for step in 0..8 {
            let scale = 1.0 + 1e-3 * f64::from(step);
            let position: Vec<f64> = start.iter().map(|x| scale * x).collect();
            let difference = evaluate(&single, &position)[0] - evaluate(&double, &position)[0];
            let first = *first.get_or_insert(difference);
            let change = (difference - first).abs();
            assert!(change < 0.01, "{}, step {step}: {change} nats", model.name);
        }
    }
}
