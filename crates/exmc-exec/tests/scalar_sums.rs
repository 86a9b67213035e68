//! Sums of scalars with products, squares of products and signs in them, which the native executor
//! computes by one instruction: the reference executor, which has no such instruction, judges.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_exec::{Executor, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, NodeId, Role, Shape, Unary};

use crate::support::random::Random;

const INPUTS: usize = 5;

/// A tree of sums, products, squares and negatives; every inner node has one reader.
fn tree(g: &mut Graph, random: &mut Random, inputs: &[NodeId], depth: usize) -> NodeId {
    if depth == 0 || random.below(6) == 0 {
        let input = random.pick(inputs);
        // A function of an input, so that leaves are computed values too.
        return if random.below(2) == 0 { g.tanh(input) } else { input };
    }
    let a = tree(g, random, inputs, depth - 1);
    match random.below(8) {
        0 | 1 => g.unary(Unary::Square, a),
        2 => g.neg(a),
        3 | 4 => {
            let b = tree(g, random, inputs, depth - 1);
            g.mul(a, b)
        }
        5 => {
            let b = tree(g, random, inputs, depth - 1);
            g.sub(a, b)
        }
        _ => {
            let b = tree(g, random, inputs, depth - 1);
            g.add(a, b)
        }
    }
}

fn evaluated(executor: Executor, source: &FunctionSource, position: &[f64]) -> Vec<f64> {
    let function = compile_function(executor, source).unwrap();
    let mut instance = function.bind(&|_| None).unwrap().instance();
    let mut out = vec![f64::NAN; source.outputs.len()];
    instance.evaluate(position, &mut out).unwrap();
    out
}

#[test]
fn sums_of_products_and_squares_are_those_of_the_reference() {
    let mut random = Random::new(20);
    for _ in 0..400 {
        let mut g = Graph::new();
        let inputs: Vec<NodeId> = (0..INPUTS)
            .map(|k| {
                let shape = Shape::scalar();
                g.input(&format!("p{k}"), Role::Parameter, shape, DType::Real).unwrap()
            })
            .collect();
        let outputs: Vec<NodeId> = (0..2)
            .map(|_| {
                // Three terms at least, as fewer are no such sum.
                let mut sum = tree(&mut g, &mut random, &inputs, 4);
                for _ in 0..2 {
                    let term = tree(&mut g, &mut random, &inputs, 4);
                    sum = g.add(sum, term);
                }
                sum
            })
            .collect();
        let parameters = inputs.iter().copied().zip(0..).collect();
        let source = FunctionSource { graph: g, outputs, parameters, dim: INPUTS };
        let position: Vec<f64> = (0..INPUTS).map(|_| 2.0 * random.uniform() - 1.0).collect();
        let expected = evaluated(Executor::Reference, &source, &position);
        let found = evaluated(Executor::Native, &source, &position);
        for (found, expected) in found.iter().zip(&expected) {
            // Another order of at most some hundred summands of size one.
            let allowed = 1e-13 * expected.abs().max(1.0);
            assert!((found - expected).abs() <= allowed, "{found} for {expected}");
        }
    }
}

/// The base of a square stands twice among the factors, and is a product itself.
#[test]
fn a_square_of_a_product_is_a_term() {
    let mut g = Graph::new();
    let mut input =
        |name: &str| g.input(name, Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let (x, y) = (input("x"), input("y"));
    let product = g.mul(x, y);
    let square = g.unary(Unary::Square, product);
    let exp = g.exp(x);
    let sum = g.add(square, exp);
    let sum = g.add(sum, y);
    let parameters = vec![(x, 0), (y, 1)];
    let source = FunctionSource { graph: g, outputs: vec![sum], parameters, dim: 2 };
    let found = evaluated(Executor::Native, &source, &[2.0, 3.0])[0];
    assert!((found - (36.0 + f64::exp(2.0) + 3.0)).abs() < 1e-12, "{found}");
}
