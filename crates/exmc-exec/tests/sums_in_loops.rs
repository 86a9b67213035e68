//! Sums of long loops, which generated code takes with what they sum: at every level the same bits,
//! and the reference's values.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_exec::{Executor, FunctionSource, compile_function};
use exmc_graph::{Binary, DType, Graph, NodeId, Role, Shape};
use exmc_math::simd::Level;

/// Loops of one block and of many, with and without a vector that is not whole, also as the only
/// one of its block.
const LENGTHS: [usize; 13] = [9, 16, 24, 43, 65, 70, 96, 101, 511, 513, 768, 1031, 2000];

fn evaluate(source: &FunctionSource, executor: Executor, position: &[f64]) -> Vec<f64> {
    let function = compile_function(executor, source).unwrap();
    let mut out = vec![0.0; function.sizes().iter().sum()];
    let bound = function.bind(&|_| None).unwrap();
    if executor == Executor::Reference {
        bound.instance().evaluate(position, &mut out).unwrap();
        return out;
    }
    let levels = Level::available().into_iter().chain([Level::portable()]).map(|level| {
        let mut found = vec![0.0; out.len()];
        let bound = function.bind(&|_| None).unwrap().at_level(level);
        bound.instance().evaluate(position, &mut found).unwrap();
        found
    });
    let all: Vec<Vec<f64>> = levels.collect();
    for found in &all {
        // NaNs have no particular bits.
        let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
        assert!(found.iter().zip(&all[0]).all(same), "{found:?} is not {:?}", all[0]);
    }
    all[0].clone()
}

/// Every elementwise instruction beside as many sums as there may be, so that all registers are
/// taken.
#[test]
fn sums_beside_any_instruction_leave_it_the_registers_that_it_needs() {
    type Make = fn(&mut Graph, [NodeId; 3]) -> NodeId;
    let instructions: [Make; 20] = [
        |g, [x, ..]| g.neg(x),
        |g, [x, ..]| g.abs(x),
        |g, [x, ..]| g.not(x),
        |g, [x, ..]| g.square(x),
        |g, [_, y, _]| g.sqrt(y),
        |g, [_, y, _]| g.reciprocal(y),
        |g, [x, y, _]| g.add(x, y),
        |g, [x, y, _]| g.sub(x, y),
        |g, [x, y, _]| g.div(x, y),
        |g, [x, y, _]| g.min(x, y),
        |g, [x, y, _]| g.max(x, y),
        |g, [x, y, _]| g.lt(x, y),
        |g, [x, y, _]| g.binary(Binary::Ne, x, y),
        |g, [x, y, z]| g.select(x, y, z),
        |g, [x, y, z]| {
            let product = g.mul(x, y);
            g.add(product, z)
        },
        |g, [x, y, z]| {
            let product = g.mul(x, y);
            g.sub(z, product)
        },
        |g, [x, y, z]| {
            let sum = g.add(x, y);
            g.mul(sum, z)
        },
        |g, [x, y, z]| {
            let difference = g.sub(x, y);
            g.mul(difference, z)
        },
        |g, [x, y, z]| {
            let product = g.mul(x, y);
            g.mul(product, z)
        },
        |g, [_, y, z]| {
            let sum = g.add(y, z);
            g.reciprocal(sum)
        },
    ];
    for n in LENGTHS {
        for (k, instruction) in instructions.iter().enumerate() {
            let mut g = Graph::new();
            let arrays: Vec<NodeId> = ["x", "y", "z"]
                .into_iter()
                .map(|name| g.input(name, Role::Parameter, Shape::from([n]), DType::Real).unwrap())
                .collect();
            let arrays = [arrays[0], arrays[1], arrays[2]];
            let value = instruction(&mut g, arrays);
            let [x, y, z] = arrays;
            let squares = g.square(value);
            let mut outputs = vec![g.sum(value)];
            for other in [squares, x, y, z] {
                let product = g.mul(value, other);
                outputs.push(g.sum(product));
            }
            for positive in [squares, y] {
                let logs = g.log1p(positive);
                outputs.push(g.sum(logs));
            }
            let logs = g.log(y);
            outputs.push(g.sum(logs));
            let parameters =
                arrays.iter().zip([0, n, 2 * n]).map(|(&id, offset)| (id, offset)).collect();
            let source = FunctionSource { graph: g, outputs, parameters, dim: 3 * n };
            let part = |j: usize| (j as f64 * 0.618_033_988_749_894_9).fract();
            let position: Vec<f64> =
                (0..3 * n).map(|j| part(j) + if j < n { -0.5 } else { 0.1 }).collect();
            let found = evaluate(&source, Executor::Native, &position);
            let expected = evaluate(&source, Executor::Reference, &position);
            for (found, expected) in found.iter().zip(&expected) {
                // Up to 2000 terms below 125 in another order, mostly of one sign.
                let near = (found - expected).abs() <= 1e-12 * expected.abs().max(n as f64);
                assert!(near, "instruction {k}, {n} elements: {found}, expected {expected}");
            }
        }
    }
}

/// Numbers whose product is no number, or loses digits, are found wherever they stand: their
/// logarithms are added one by one.
#[test]
fn sums_of_logarithms_take_any_number() {
    let specials = [
        vec![0.0],
        vec![-0.5, -0.25],
        vec![1e-310],
        vec![1e-78; 3],
        // Four of one lane: below any normal number, and then well above.
        vec![1e-160; 9],
        vec![1e200; 17],
        vec![f64::INFINITY],
        vec![f64::INFINITY, 0.0],
        vec![f64::NAN],
        vec![-1.0],
    ];
    for n in LENGTHS {
        for special in &specials {
            for first in [0, 7, n / 2, n.saturating_sub(special.len())] {
                let mut g = Graph::new();
                let x = g.input("x", Role::Parameter, Shape::from([n]), DType::Real).unwrap();
                let (two, minus) = (g.scalar(2.0), g.neg(x));
                let twice = g.mul(x, two);
                // Another sum, which is not to be added up twice.
                let (log, log1p) = (g.log(twice), g.log1p(minus));
                let outputs = [log, log1p, twice].map(|values| g.sum(values)).to_vec();
                let source = FunctionSource { graph: g, outputs, parameters: vec![(x, 0)], dim: n };
                let mut position: Vec<f64> =
                    (0..n).map(|j| 0.1 + 0.8 * (j as f64 * 0.618).fract()).collect();
                for (k, value) in special.iter().enumerate() {
                    // In neighbouring lanes, or one after the other in one.
                    let index = if k % 2 == 0 { first + k } else { first + 8 * k };
                    if index < n {
                        position[index] = *value;
                    }
                }
                let found = evaluate(&source, Executor::Native, &position);
                let expected = evaluate(&source, Executor::Reference, &position);
                for (found, expected) in found.iter().zip(&expected) {
                    let near = (found - expected).abs() <= 1e-12 * expected.abs().max(n as f64);
                    let same = found == expected || (found.is_nan() && expected.is_nan());
                    assert!(near || same, "{special:?} at {first} of {n}: {found}, {expected}");
                }
            }
        }
    }
}
