//! Every function of one argument all along the axis: the reference's values, also where they are small.
//!
//! Random expressions visit few arguments of a function, and where a result is small beside one they cannot tell it from a
//! wrong one. Here arguments are close together and differences relative, so that an error of a part in a million million
//! shows in any range wider than a hundredth, also in tails. Each function runs as a scalar, as one vector and as a
//! long loop, which are different code.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_exec::{Executor, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, Op, Role, Shape, Unary};
use exmc_math::simd::Level;

/// Arguments: hundredths from -40 to 40, off the places where functions are zero.
const COUNT: usize = 8000;
/// Kernels are good to some ulp, relative to the result or, where terms of size one cancel, to those.
const TOLERANCE: f64 = 1e-12;

fn argument(k: usize) -> f64 {
    (k as f64 - 4000.0) * 0.01 + 0.003_7
}

#[test]
fn functions_are_the_references_all_along_the_axis() {
    let positions: Vec<f64> = (0..COUNT).map(argument).collect();
    for &op in Unary::ALL {
        let make = |len: usize| {
            let mut graph = Graph::new();
            let x = graph.input("x", Role::Parameter, Shape::from([len]), DType::Real).unwrap();
            let y = graph.unary(op, x);
            FunctionSource { graph, outputs: vec![y], parameters: vec![(x, 0)], dim: len }
        };
        let whole = make(COUNT);
        let reference = compile_function(Executor::Reference, &whole).unwrap();
        let mut expected = vec![0.0; COUNT];
        let reference = reference.bind(&|_| None).unwrap();
        reference.instance().evaluate(&positions, &mut expected).unwrap();
        for len in [1, 8, COUNT] {
            let function = compile_function(Executor::Native, &make(len)).unwrap();
            for level in Level::available() {
                let bound = function.bind(&|_| None).unwrap().at_level(level);
                let mut instance = bound.instance();
                let mut found = vec![0.0; len];
                for (x, expected) in positions.chunks(len).zip(expected.chunks(len)) {
                    instance.evaluate(x, &mut found).unwrap();
                    for ((x, &found), &expected) in x.iter().zip(&found).zip(expected) {
                        let same = found == expected || (found.is_nan() && expected.is_nan());
                        // Numbers that have lost digits to underflow have fewer to agree in.
                        let size = expected.abs().max(1e-290);
                        let near = (found - expected).abs() <= TOLERANCE * size;
                        let (name, level) = (Op::Unary(op).name(), level.name());
                        assert!(
                            same || near,
                            "{name}({x}) as one of {len} at {level}: {found:e}, not {expected:e}"
                        );
                    }
                }
            }
        }
    }
}
