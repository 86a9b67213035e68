//! Every function of one argument -> does the native executor find the reference's values all along
//! the axis.
//!
//! Random expressions visit few arguments of a function, and where a result is small beside one
//! they cannot tell it from a wrong one. Here arguments are close together and differences
//! relative, so an error of a part in a million million shows in any range wider than a hundredth,
//! also in tails. Each function runs as a scalar, as one vector and as a long loop, which are
//! different code.

use exmc_exec::{Executor, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, Op, Role, Shape, Unary};
use exmc_math::simd::Level;

/// Arguments: hundredths from -40 to 40, off the places where functions are zero.
const COUNT: usize = 8000;
/// Kernels are good to some ulp, relative to the result or, where terms of size one cancel, to
/// those.
const TOLERANCE: f64 = 1e-12;
/// How elements are run: alone, as one vector, and all at once.
const LENGTHS: [usize; 3] = [1, 8, COUNT];

fn argument(k: usize) -> f64 {
    (k as f64 - 4000.0) * 0.01 + 0.003_7
}

/// Compares the executors, at every level of instructions. Returns the number of values compared.
///
/// # Errors
/// The first disagreement.
pub fn check() -> Result<usize, String> {
    let mut compared = 0;
    for &op in Unary::ALL {
        for len in LENGTHS {
            compared += compare(op, len)?;
        }
    }
    Ok(compared)
}

fn compare(op: Unary, len: usize) -> Result<usize, String> {
    let mut graph = Graph::new();
    let say = |why: &dyn std::fmt::Display| format!("{}: {why}", Op::Unary(op).name());
    let x = graph.input("x", Role::Parameter, Shape::from([len]), DType::Real);
    let x = x.map_err(|e| say(&e))?;
    let y = graph.unary(op, x);
    let source = FunctionSource { graph, outputs: vec![y], parameters: vec![(x, 0)], dim: len };
    let function = |executor| compile_function(executor, &source).map_err(|e| say(&e));
    let native = function(Executor::Native)?.bind(&|_| None).map_err(|e| say(&e))?;
    let reference = function(Executor::Reference)?.bind(&|_| None).map_err(|e| say(&e))?;
    let mut reference = reference.instance();
    let mut compared = 0;
    for level in Level::available() {
        let mut instance = native.clone().at_level(level).instance();
        for first in (0..COUNT).step_by(len) {
            let position: Vec<f64> = (first..first + len).map(argument).collect();
            let (mut found, mut expected) = (vec![0.0; len], vec![0.0; len]);
            instance.evaluate(&position, &mut found).map_err(|e| say(&e))?;
            reference.evaluate(&position, &mut expected).map_err(|e| say(&e))?;
            for ((x, &found), &expected) in position.iter().zip(&found).zip(&expected) {
                let same = found == expected || (found.is_nan() && expected.is_nan());
                // Numbers that have lost digits to underflow have fewer to agree in.
                let size = expected.abs().max(1e-290);
                let near = (found - expected).abs() <= TOLERANCE * size;
                if !same && !near {
                    let level = level.name();
                    return Err(say(&format!(
                        "{found:e} at {x} as one of {len} at {level}, expected {expected:e}"
                    )));
                }
            }
            compared += len;
        }
    }
    Ok(compared)
}
