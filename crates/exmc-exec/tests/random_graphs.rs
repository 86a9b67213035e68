//! Random expressions: the reference executor agrees with plain evaluation to the bit, before and
//! after simplification, and gradients agree with differences.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{Executor, FunctionSource, compile, compile_function};
use exmc_graph::{Graph, NodeId, Tensor, differentiate, evaluate, parse, print, simplify, verify};

use crate::support::Program;

const SEEDS: std::ops::Range<u64> = 1..121;

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// The gradient's nodes in a copy of the program's graph, value first.
fn with_gradient(program: &Program) -> (Graph, Vec<NodeId>) {
    let mut graph = program.source.graph.clone();
    let wrt: Vec<_> = program.source.parameters.iter().map(|(id, _)| *id).collect();
    let mut roots = vec![program.source.logp];
    roots.extend(differentiate(&mut graph, program.source.logp, &wrt).unwrap());
    (graph, roots)
}

fn concatenated(tensors: &[Tensor]) -> Vec<f64> {
    tensors.iter().flat_map(|t| t.values().to_vec()).collect()
}

#[test]
fn the_reference_executor_agrees_with_plain_evaluation_to_the_bit() {
    for seed in SEEDS {
        let program = Program::new(seed);
        let (graph, roots) = with_gradient(&program);
        let lookup = |name: &str| program.input(&program.position, name);
        let (simple, simple_roots) = simplify(&graph, &roots);
        let expected = concatenated(&evaluate(&simple, &simple_roots, &lookup).unwrap());

        let compiled = compile(Executor::Reference, &program.source).unwrap();
        let bound = compiled.bind(&|name| program.lookup(name)).unwrap();
        let mut found = vec![0.0; program.source.dim + 1];
        let mut instance = bound.instance();
        for round in 0..2 {
            let logp = instance.logp_grad(&program.position, &mut found[1..]).unwrap();
            found[0] = logp;
            assert_eq!(bits(&found), bits(&expected), "seed {seed}, round {round}");
        }

        // The same through a function, without differentiating.
        let source = FunctionSource {
            graph: program.source.graph.clone(),
            outputs: vec![program.source.logp],
            parameters: program.source.parameters.clone(),
            dim: program.source.dim,
        };
        let function = compile_function(Executor::Reference, &source).unwrap();
        let bound = function.bind(&|name| program.lookup(name)).unwrap();
        let mut out = [0.0];
        bound.instance().evaluate(&program.position, &mut out).unwrap();
        assert_eq!(out[0].to_bits(), expected[0].to_bits(), "seed {seed}, function");
    }
}

#[test]
fn simplification_changes_no_value_or_gradient() {
    for seed in SEEDS {
        let program = Program::new(seed);
        let (graph, roots) = with_gradient(&program);
        let lookup = |name: &str| program.input(&program.position, name);
        let before = concatenated(&evaluate(&graph, &roots, &lookup).unwrap());
        let (simple, roots) = simplify(&graph, &roots);
        assert_eq!(verify(&simple), Ok(()), "seed {seed}");
        assert!(simple.len() <= graph.len(), "seed {seed}");
        let after = concatenated(&evaluate(&simple, &roots, &lookup).unwrap());
        // Equal as numbers: folding may only change the sign of a zero.
        assert_eq!(before, after, "seed {seed}");
        let twice = simplify(&simple, &roots).0;
        assert_eq!(twice, simple, "seed {seed}: simplifying again finds nothing");
    }
}

#[test]
fn gradients_agree_with_differences() {
    for seed in SEEDS {
        let program = Program::new(seed);
        let compiled = compile(Executor::Reference, &program.source).unwrap();
        let bound = compiled.bind(&|name| program.lookup(name)).unwrap();
        let mut instance = bound.instance();
        let mut gradient = vec![0.0; program.source.dim];
        let mut scratch = gradient.clone();
        instance.logp_grad(&program.position, &mut gradient).unwrap();
        // Five-point differences; compositions of thirty operations have fifth derivatives of
        // several hundred, which this step keeps below the tolerance.
        let h = 3e-4;
        for (k, &found) in gradient.iter().enumerate() {
            let mut logp_at = |offset: f64| {
                let mut moved = program.position.clone();
                moved[k] += offset * h;
                instance.logp_grad(&moved, &mut scratch).unwrap()
            };
            let expected = (logp_at(-2.0) - 8.0 * logp_at(-1.0) + 8.0 * logp_at(1.0)
                - logp_at(2.0))
                / (12.0 * h);
            let error = (found - expected).abs() / expected.abs().max(1.0);
            assert!(error < 1e-7, "seed {seed}, element {k}: {found}, by differences {expected}");
        }
    }
}

#[test]
fn text_reads_back_to_the_same_graph() {
    for seed in SEEDS {
        let (graph, _) = with_gradient(&Program::new(seed));
        assert_eq!(verify(&graph), Ok(()), "seed {seed}");
        assert_eq!(parse(&print(&graph)).unwrap(), graph, "seed {seed}");
    }
}
