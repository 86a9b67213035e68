//! The native executor against the reference: random expressions at every level of instructions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{Executor, FunctionSource, compile, compile_function};
use exmc_graph::{DType, Graph, Role, Shape};
use exmc_math::simd::Level;

mod support;
use support::Program;

const SEEDS: std::ops::Range<u64> = 1..401;

/// Elementary functions differ by up to 4 ulp from the reference's, sums are taken in another order and
/// products are added without rounding; compositions of thirty operations with slopes of scale one
/// multiply that by up to some hundred terms: 1e-16 * 4 * 250.
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

/// A density is a sum of many scalars, which one instruction adds up, whatever their signs and factors.
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
