//! The native executor against the reference: random expressions at every level of instructions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{Executor, FunctionSource, compile, compile_function};
use exmc_graph::{Binary, DType, Graph, Role, Shape};
use exmc_math::simd::Level;

use crate::support::Program;

const SEEDS: std::ops::Range<u64> = 1..401;

/// Elementary functions differ by up to 4 ulp from the reference's, sums are taken in another order
/// and products are added without rounding; compositions of thirty operations with slopes of scale
/// one multiply that by up to some hundred terms: 1e-16 * 4 * 250.
const TOLERANCE: f64 = 1e-13;

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn random_expressions_agree_with_the_reference_and_between_levels_to_the_bit() {
    let mut worst: f64 = 0.0;
    for seed in SEEDS {
        let program = Program::new(seed);
        let evaluate = |executor, level: Option<Level>| {
            let compiled = compile(executor, &program.source).unwrap();
            let mut bound = compiled.bind(&|name| program.lookup(name)).unwrap();
            if let Some(level) = level {
                bound = bound.at_level(level);
            }
            let mut found = vec![0.0; program.source.dim + 1];
            let mut instance = bound.instance();
            let mut again = found.clone();
            found[0] = instance.logp_grad(&program.position, &mut found[1..]).unwrap();
            // A second evaluation finds the memory of the first.
            again[0] = instance.logp_grad(&program.position, &mut again[1..]).unwrap();
            assert_eq!(bits(&found), bits(&again), "seed {seed}: the same twice");
            found
        };
        let expected = evaluate(Executor::Reference, None);
        let mut first: Option<Vec<f64>> = None;
        for level in Level::available() {
            let found = evaluate(Executor::Native, Some(level));
            let best = first.get_or_insert_with(|| found.clone());
            assert_eq!(bits(best), bits(&found), "seed {seed} at {}", level.name());
            for (k, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
                let error = (found - expected).abs() / expected.abs().max(1.0);
                worst = worst.max(error);
                assert!(
                    error < TOLERANCE,
                    "seed {seed}, element {k}: {found}, expected {expected}"
                );
            }
        }
    }
    println!("largest difference {worst:e}");
}

#[test]
fn random_functions_agree_with_the_reference() {
    for seed in SEEDS {
        let program = Program::new(seed);
        let graph = program.source.graph.clone();
        // Every tenth node is an output, so that results of all kinds and shapes are copied out.
        let outputs: Vec<_> = graph
            .ids()
            .filter(|id| {
                id.index() % 10 == 3 && !matches!(graph.node(*id).op, exmc_graph::Op::Scan { .. })
            })
            .collect();
        let source = FunctionSource {
            graph,
            outputs,
            parameters: program.source.parameters.clone(),
            dim: program.source.dim,
        };
        let evaluate = |executor| {
            let function = compile_function(executor, &source).unwrap();
            let bound = function.bind(&|name| program.lookup(name)).unwrap();
            let mut out = vec![0.0; function.sizes().iter().sum()];
            bound.instance().evaluate(&program.position, &mut out).unwrap();
            out
        };
        let (expected, found) = (evaluate(Executor::Reference), evaluate(Executor::Native));
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let error = (found - expected).abs() / expected.abs().max(1.0);
            assert!(error < TOLERANCE, "seed {seed}, element {k}: {found}, expected {expected}");
        }
    }
}

/// A mixture's rows: the logs of sums of two exponentials and their slopes are one instruction,
/// whichever of them are wanted.
#[test]
fn logs_of_sums_of_two_exponentials_share_their_work() {
    for (n, summed) in [(1000, true), (9, false), (1, false)] {
        let mut graph = Graph::new();
        let a = graph.input("a", Role::Parameter, Shape::from([n]), DType::Real).unwrap();
        let b = graph.input("b", Role::Parameter, Shape::from([n]), DType::Real).unwrap();
        let logs = graph.log_add_exp(a, b);
        let (of_a, of_b) = (graph.log_add_exp_share(a, b), graph.log_add_exp_share(b, a));
        let total = graph.sum(logs);
        let outputs = vec![total, of_a, of_b];
        let source =
            FunctionSource { graph, outputs, parameters: vec![(a, 0), (b, n)], dim: 2 * n };
        let function = compile_function(Executor::Native, &source).unwrap();
        let text = function.print();
        let instruction = if summed { "SumLogAddExpShares(" } else { "LogAddExpShares(" };
        assert!(text.contains(instruction) && !text.contains("Share("), "{text}");
        // Pairs that differ by more and more, and edges.
        let mut position: Vec<f64> = (0..2 * n).map(|k| (k % 37) as f64 * 0.7 - 13.0).collect();
        if n > 1 {
            (position[3], position[n + 3]) = (f64::NEG_INFINITY, 1.0);
        }
        let mut out = vec![0.0; 1 + 2 * n];
        function.bind(&|_| None).unwrap().instance().evaluate(&position, &mut out).unwrap();
        let (mut expected, mut size) = (0.0, 0.0);
        for k in 0..n {
            let (a, b) = (position[k], position[n + k]);
            let log = exmc_math::log_add_exp(a, b);
            (expected, size) = (expected + log, size + log.abs());
            // One exponential of a rounded difference, one division.
            assert!((out[1 + k] - exmc_math::log_add_exp_share(a, b)).abs() < 1e-15, "{k}");
            assert!((out[1 + n + k] - exmc_math::log_add_exp_share(b, a)).abs() < 1e-15, "{k}");
        }
        // Some ulps of each term's own size.
        assert!((out[0] - expected).abs() < 1e-15 * (size + n as f64), "{} {expected}", out[0]);
        if n > 1 {
            position[n + 3] = f64::NEG_INFINITY;
            function.bind(&|_| None).unwrap().instance().evaluate(&position, &mut out).unwrap();
            assert_eq!((out[0], out[4], out[n + 4]), (f64::NEG_INFINITY, 0.0, 0.0));
        }
    }
}

/// A density is a sum of many scalars, which one instruction adds up, whatever their signs and
/// factors.
#[test]
fn a_sum_of_scalar_products_is_one_instruction() {
    let mut graph = Graph::new();
    let input = |graph: &mut Graph, name: &str| {
        graph.input(name, Role::Parameter, Shape::scalar(), DType::Real).unwrap()
    };
    let (a, b) = (input(&mut graph, "a"), input(&mut graph, "b"));
    let two = graph.scalar(2.0);
    let (square, pair) = (graph.square(a), graph.mul(a, b));
    let product = graph.mul(two, pair);
    let triple = graph.mul(square, two);
    let cube = graph.mul(square, a);
    let exponential = graph.exp(b);
    // 2 a b - (2 a^2 - (b - a^3)) + (e^b - 2), where a^2 is read twice.
    let inner = graph.sub(b, cube);
    let middle = graph.sub(triple, inner);
    let left = graph.sub(product, middle);
    let right = graph.sub(exponential, two);
    let logp = graph.add(left, right);
    let source =
        FunctionSource { graph, outputs: vec![logp], parameters: vec![(a, 0), (b, 1)], dim: 2 };
    let function = compile_function(Executor::Native, &source).unwrap();
    let text = function.print();
    assert_eq!(text.matches("Terms(").count(), 1, "{text}");
    assert!(!text.contains("Add(") && !text.contains("Sub("), "{text}");
    let mut out = [0.0];
    // Small integers and e^0, so that nothing is rounded.
    let mut instance = function.bind(&|_| None).unwrap().instance();
    instance.evaluate(&[3.0, 0.0], &mut out).unwrap();
    assert_eq!(out, [0.0 - (18.0 - (0.0 - 27.0)) + (1.0 - 2.0)]);
    instance.evaluate(&[-2.0, 5.0], &mut out).unwrap();
    // -20 - (8 - (5 + 8)) - 2 + e^5, e^5 as mpmath has it.
    assert!((out[0] - (-17.0 + 148.413_159_102_576_6)).abs() < 1e-13, "{out:?}");
}

/// Loops with more values than a processor has registers, of one vector, of one block and of many,
/// with all functions that generated code has: the same bits as from one instruction after the
/// other at the portable level.
#[test]
fn values_survive_when_registers_run_out() {
    for n in [1, 3, 7, 8, 9, 16, 300, 512, 513, 2000] {
        let mut g = Graph::new();
        let x = g.input("x", Role::Parameter, Shape::from([n]), DType::Real).unwrap();
        let s = g.input("s", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
        let mut values = Vec::new();
        for k in 0..24 {
            let factor = g.scalar(0.3 + f64::from(k) * 0.17);
            let scaled = g.mul(x, factor);
            let moved = if k % 2 == 0 { g.add(scaled, s) } else { g.sub(s, scaled) };
            values.push(match k % 8 {
                0 => g.square(moved),
                1 => g.abs(moved),
                2 => g.neg(moved),
                3 => g.min(moved, x),
                4 => g.max(moved, s),
                5 => g.lt(moved, x),
                6 => g.le(x, moved),
                _ => g.binary(Binary::Ne, moved, x),
            });
        }
        // Pairs from the outside in, so that all of them live until the last ones are there.
        let mut total = values[0];
        for k in 1..12 {
            let (a, b) = (values[k], values[24 - k]);
            let product = g.mul(a, b);
            let sum = g.add(total, product);
            let positive = g.square(sum);
            let shifted = g.shift(positive, 0.5);
            let quotient = g.div(sum, shifted);
            let root = g.sqrt(shifted);
            let not = g.not(a);
            total = g.select(not, root, quotient);
        }
        let squares = g.mul(total, x);
        let (first, second) = (g.sum(total), g.sum(squares));
        let logp = g.add(first, second);
        let dim = n + 1;
        let source =
            exmc_exec::DensitySource { graph: g, logp, parameters: vec![(x, 0), (s, n)], dim };
        let mut position: Vec<f64> = (0..dim).map(|k| (k as f64 * 0.618).fract() - 0.4).collect();
        let evaluate = |executor, level: Option<Level>, position: &[f64]| {
            let mut bound = compile(executor, &source).unwrap().bind(&|_| None).unwrap();
            if let Some(level) = level {
                bound = bound.at_level(level);
            }
            let mut found = vec![0.0; dim + 1];
            found[0] = bound.instance().logp_grad(position, &mut found[1..]).unwrap();
            found
        };
        for special in [0.25, f64::NAN, f64::INFINITY, -0.0] {
            position[n / 2] = special;
            let portable = evaluate(Executor::Native, Some(Level::portable()), &position);
            for level in Level::available() {
                let found = evaluate(Executor::Native, Some(level), &position);
                let same = found
                    .iter()
                    .zip(&portable)
                    .all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan());
                assert!(same, "{n} elements, {special} at {}", level.name());
            }
            if special.is_finite() {
                let expected = evaluate(Executor::Reference, None, &position);
                for (found, expected) in portable.iter().zip(&expected) {
                    // Sums of up to 2000 terms of size one in another order.
                    let near = (found - expected).abs() <= 1e-11 * expected.abs().max(1.0);
                    assert!(near, "{n} elements, {special}: {found}, expected {expected}");
                }
            }
        }
    }
}

/// An outer product's rows read a table from its first element to its last, again and again, across
/// blocks.
#[test]
fn indices_that_rise_are_read_and_added_to_in_order() {
    for (len, n, first) in [(37, 1000, 0), (100, 2000, 0), (9, 720, 0), (300, 299, 1), (8, 64, 0)] {
        let mut g = Graph::new();
        let table = g.input("t", Role::Parameter, Shape::from([len]), DType::Real).unwrap();
        let index: Vec<usize> = (0..n).map(|k| first + k % (len - first)).collect();
        let index = g.constant(exmc_graph::Tensor::indices(&index));
        let weights: Vec<f64> = (0..n).map(|k| (k as f64 * 0.618).fract() - 0.3).collect();
        let weights = g.constant(exmc_graph::Tensor::vector(&weights));
        let rows = g.gather(table, index);
        let products = g.mul(rows, weights);
        let sines = g.sin(products);
        let logp = g.sum(sines);
        let parameters = vec![(table, 0)];
        let source = exmc_exec::DensitySource { graph: g, logp, parameters, dim: len };
        let position: Vec<f64> = (0..len).map(|k| 0.1 * k as f64 - 1.0).collect();
        let evaluate = |executor, level: Option<Level>| {
            let mut bound = compile(executor, &source).unwrap().bind(&|_| None).unwrap();
            if let Some(level) = level {
                bound = bound.at_level(level);
            }
            let mut found = vec![0.0; len + 1];
            found[0] = bound.instance().logp_grad(&position, &mut found[1..]).unwrap();
            found
        };
        let expected = evaluate(Executor::Reference, None);
        let portable = evaluate(Executor::Native, Some(Level::portable()));
        for (found, expected) in portable.iter().zip(&expected) {
            // Up to 2000 terms of size one, in another order.
            assert!((found - expected).abs() < 1e-12, "{n} of {len}: {found}, not {expected}");
        }
        for level in Level::available() {
            assert_eq!(bits(&portable), bits(&evaluate(Executor::Native, Some(level))));
        }
    }
}
