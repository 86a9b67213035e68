//! Loops in shards: the same bits at any number of threads and at every level, and those values
//! that the reference gives.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{BoundDensity, DensitySource, Executor, compile};
use exmc_graph::{DType, Graph, Op, Role, Shape, Tensor};
use exmc_math::simd::Level;

use crate::support::models;

const THREADS: [usize; 4] = [1, 2, 3, 7];

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// A source with its data and a position.
struct Case {
    name: String,
    source: DensitySource,
    data: Vec<(&'static str, Tensor)>,
    position: Vec<f64>,
}

/// Equally spread numbers between -1 and 1.
fn series(n: usize, stride: usize) -> Vec<f64> {
    let fraction = |k: usize| ((k * stride + 1) as f64 * 0.618_033_988_749_894_9).fract();
    (0..n).map(|k| 2.0 * fraction(k) - 1.0).collect()
}

/// Every kind of sink over `n` elements, some of them of a value that a second loop reads from
/// memory.
fn sinks(n: usize, groups: usize, sorted: bool) -> Case {
    let mut graph = Graph::new();
    let g = &mut graph;
    let a = g.input("a", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let b = g.input("b", Role::Parameter, [groups].into(), DType::Real).unwrap();
    let beta = g.input("beta", Role::Parameter, [3].into(), DType::Real).unwrap();
    let x = g.input("x", Role::Data, [n, 3].into(), DType::Real).unwrap();
    let y = g.input("y", Role::Data, [n].into(), DType::Real).unwrap();
    let group = g.input("group", Role::Data, [n].into(), DType::Int).unwrap();
    let linear = g.matmul(x, beta);
    let of_group = g.gather(b, group);
    let shifted = g.add(linear, of_group);
    let scaled = g.mul(a, y);
    let eta = g.add(shifted, scaled);
    let bounded = g.tanh(eta);
    let sum = g.sum(bounded);
    let product = g.mul(bounded, y);
    let dot = g.sum(product);
    let square = g.square(eta);
    let log1p = g.log1p(square);
    let logs1p = g.sum(log1p);
    let two = g.scalar(2.0);
    let positive = g.add(bounded, two);
    let log = g.log(positive);
    let logs = g.sum(log);
    // Centred by a sum over all elements, so that the sum is there before the next loop begins.
    let mean = g.scale(sum, 1.0 / n as f64);
    let centred = g.sub(bounded, mean);
    let fourth = g.square(centred);
    let fourth = g.square(fourth);
    let spread = g.sum(fourth);
    let mut logp = spread;
    for part in [sum, dot, logs1p, logs] {
        logp = g.add(logp, part);
    }
    let index: Vec<usize> =
        (0..n).map(|k| if sorted { k * groups / n } else { k * 7919 % groups }).collect();
    let data = vec![
        ("x", Tensor::real([n, 3], series(3 * n, 1)).unwrap()),
        ("y", Tensor::vector(&series(n, 5))),
        ("group", Tensor::indices(&index)),
    ];
    let parameters = vec![(a, 0), (b, 1), (beta, 1 + groups)];
    let dim = groups + 4;
    let source = DensitySource { graph, logp, parameters, dim };
    Case { name: format!("sinks {n} {groups} {sorted}"), source, data, position: series(dim, 3) }
}

/// Terms that are summed by group and, centred, all together.
fn kept_and_scattered(n: usize) -> Case {
    let mut graph = Graph::new();
    let g = &mut graph;
    let a = g.input("a", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let y = g.input("y", Role::Data, [n].into(), DType::Real).unwrap();
    let group = g.input("group", Role::Data, [n].into(), DType::Int).unwrap();
    let scaled = g.mul(a, y);
    let mut bounded = g.tanh(scaled);
    for _ in 0..2 {
        let value = g.exp(bounded);
        bounded = g.tanh(value);
    }
    let totals = g.apply(Op::ScatterAdd { len: 9 }, &[bounded, group]).unwrap();
    let square = g.square(totals);
    let of_groups = g.sum(square);
    let sum = g.sum(bounded);
    let mean = g.scale(sum, 1.0 / n as f64);
    let mut centred = g.sub(bounded, mean);
    for _ in 0..3 {
        centred = g.tanh(centred);
    }
    let spread = g.sum(centred);
    let logp = g.add(of_groups, spread);
    let index: Vec<usize> = (0..n).map(|k| k * 9 / n).collect();
    let data = vec![("y", Tensor::vector(&series(n, 5))), ("group", Tensor::indices(&index))];
    let source = DensitySource { graph, logp, parameters: vec![(a, 0)], dim: 1 };
    Case { name: "kept and scattered".into(), source, data, position: vec![0.3] }
}

fn cases() -> Vec<Case> {
    let of_model = |model: models::Model| Case {
        position: model.position(),
        data: ["x", "y", "group"].iter().filter_map(|n| Some((*n, model.data(n)?))).collect(),
        name: model.name,
        source: model.source,
    };
    let mut all: Vec<Case> = vec![
        of_model(models::logistic(20_000, 20)),
        // Many shards of unequal numbers of blocks, of which the last is not full.
        of_model(models::logistic(123_457, 4)),
        of_model(models::student(40_003, 100, true)),
        of_model(models::student(40_003, 100, false)),
    ];
    all.extend([sinks(30_001, 40, true), sinks(30_001, 40, false), sinks(30_001, 1, true)]);
    all.push(kept_and_scattered(30_001));
    all
}

fn bind(case: &Case, executor: Executor) -> BoundDensity {
    let data = |name: &str| case.data.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
    compile(executor, &case.source).unwrap().bind(&data).unwrap()
}

/// Log density and gradient, from an instance that has seen another position before.
fn evaluate(bound: &BoundDensity, threads: usize, position: &[f64]) -> Vec<f64> {
    let mut instance = bound.clone().with_threads(threads).instance();
    assert_eq!(instance.threads(), threads.max(1));
    let mut values = vec![0.0; position.len() + 1];
    let elsewhere: Vec<f64> = position.iter().map(|x| 0.5 - x).collect();
    instance.logp_grad(&elsewhere, &mut values[1..]).unwrap();
    values[0] = instance.logp_grad(position, &mut values[1..]).unwrap();
    values
}

#[test]
fn bits_do_not_depend_on_threads_or_levels() {
    for case in cases() {
        let name = &case.name;
        let mut expected = vec![0.0; case.position.len() + 1];
        let mut oracle = bind(&case, Executor::Reference).with_threads(4).instance();
        assert_eq!(oracle.threads(), 1);
        expected[0] = oracle.logp_grad(&case.position, &mut expected[1..]).unwrap();
        let bound = bind(&case, Executor::Native);
        let best = evaluate(&bound, 1, &case.position);
        let size = expected.iter().fold(1.0, |size: f64, v| size.max(v.abs()));
        for (k, (found, expected)) in best.iter().zip(&expected).enumerate() {
            // Rounding of sums of 1e5 terms in another order; the largest element stands for the
            // terms' size.
            let error = (found - expected).abs() / size;
            assert!(error < 1e-13, "{name}, element {k}: {found}, expected {expected}");
        }
        for level in Level::available() {
            for threads in THREADS {
                // Which thread takes which shard differs from one evaluation to the next.
                let found = evaluate(&bound.clone().at_level(level), threads, &case.position);
                let level = level.name();
                assert_eq!(bits(&found), bits(&best), "{name}: {threads} threads at {level}");
            }
        }
    }
}

#[test]
fn threads_that_take_turns_leave_no_trace() {
    // Hundreds of evaluations at two positions in turn: who does what varies, the bits do not.
    let case = sinks(30_001, 40, true);
    let bound = bind(&case, Executor::Native);
    let other: Vec<f64> = case.position.iter().map(|x| -0.3 * x).collect();
    let expected = [&case.position, &other].map(|position| bits(&evaluate(&bound, 1, position)));
    let mut instance = bound.with_threads(3).instance();
    let mut values = vec![0.0; case.position.len() + 1];
    for k in 0..300 {
        let position = [&case.position, &other][k % 2];
        values[0] = instance.logp_grad(position, &mut values[1..]).unwrap();
        assert_eq!(bits(&values), expected[k % 2], "evaluation {k}");
    }
}

#[test]
fn shards_depend_on_the_loop_alone() {
    let shards = |model: &models::Model| -> Vec<usize> {
        let text = compile(Executor::Native, &model.source).unwrap().print();
        let number =
            |line: &str| line.split_once(" registers, ")?.1.split_once(" shards")?.0.parse().ok();
        text.lines()
            .filter(|line| line.trim_start().starts_with("loop "))
            .filter_map(number)
            .collect()
    };
    // Short loops, and loops whose slots would cost more than the threads save, stay whole.
    assert_eq!(shards(&models::logistic(1000, 20)), []);
    assert_eq!(shards(&models::eight_schools()), []);
    assert_eq!(shards(&models::student(10_000, 9_000, true)), []);
    // A loop that adds up by index what it keeps in memory reads there to the end of a vector,
    // where another shard may write, so it stays whole.
    let text = compile(Executor::Native, &kept_and_scattered(30_001).source).unwrap().print();
    let scatters = |part: &&str| part.contains("Scatter(m");
    let (scattering, others): (Vec<&str>, Vec<&str>) = text.split("loop ").partition(scatters);
    assert!(scattering.len() == 1 && !scattering[0].contains("shards"), "{text}");
    assert!(others.iter().any(|part| part.contains("shards")), "{text}");
    // Longer ones have the more shards the more there is to do.
    assert!(matches!(shards(&models::logistic(20_000, 20))[..], [4..=16]));
    assert_eq!(shards(&models::logistic(1_000_000, 20)), [32]);
}
