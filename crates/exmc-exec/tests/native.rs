//! The native executor against the reference: random expressions at every level of instructions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{Executor, FunctionSource, compile, compile_function};
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
