//! Programs that are one straight line: one function where machine code is generated, the bits of
//! single instructions.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, FunctionSource, compile, compile_function};
use exmc_graph::{DType, Graph, NodeId, Op, Role, Shape, Tensor, Unary};
use exmc_math::simd::Level;

use crate::support::lanes::{lanes_agree, positions};
use crate::support::random::Random;

/// What surrounds results, to see that nothing else is written.
const UNTOUCHED: f64 = -12345.0;

/// A random expression over scalars and arrays of at most so many elements, with products of these
/// with a square matrix of data or its transpose; some of its nodes are results.
fn random_source(random: &mut Random, most: usize) -> (FunctionSource, Tensor) {
    let mut g = Graph::new();
    let n = 1 + random.below(most);
    let entries: Vec<f64> = (0..n * n).map(|_| random.uniform()).collect();
    let entries = Tensor::real([n, n], entries).unwrap();
    let matrix = g.input("matrix", Role::Data, [n, n].into(), DType::Real).unwrap();
    let (mut parameters, mut dim) = (Vec::new(), 0);
    let mut pool: Vec<NodeId> = Vec::new();
    for (k, len) in [None, Some(n), None, Some(n), Some(2 * n)].into_iter().enumerate() {
        let shape = len.map_or(Shape::from([]), |len| Shape::from([len]));
        let input = g.input(&format!("p{k}"), Role::Parameter, shape.clone(), DType::Real).unwrap();
        parameters.push((input, dim));
        dim += shape.len();
        // The long one is read in parts only.
        if len != Some(2 * n) || 2 * n <= most {
            pool.push(input);
        }
        if len == Some(2 * n) {
            let start = random.below(n + 1);
            let part = Op::Slice { axis: 0, start, step: 1, len: n };
            pool.push(g.apply(part, &[input]).unwrap());
        }
    }
    for _ in 0..8 + random.below(24) {
        let a = random.pick(&pool);
        let same: Vec<NodeId> =
            pool.iter().copied().filter(|&b| g.shape(b) == g.shape(a)).collect();
        let (b, c) = (random.pick(&same), random.pick(&same));
        let rank = g.shape(a).rank();
        let node = match random.below(18) {
            0 => g.add(a, b),
            1 => g.sub(a, b),
            2 => g.mul(a, b),
            3 => g.min(a, b),
            4 => g.max(a, b),
            5 => {
                let product = g.mul(a, b);
                g.add(product, c)
            }
            6 => g.apply(Op::Unary(Unary::Tanh), &[a]).unwrap(),
            7 => g.apply(Op::Unary(Unary::Exp), &[a]).unwrap(),
            8 => g.apply(Op::Unary(Unary::Log), &[a]).unwrap(),
            9 => g.apply(Op::Unary(Unary::Softplus), &[a]).unwrap(),
            10 => g.apply(Op::Unary(Unary::InvLogit), &[a]).unwrap(),
            11 => {
                let square = g.mul(a, a);
                g.apply(Op::Unary(Unary::Log1p), &[square]).unwrap()
            }
            12 if rank == 1 => g.sum(a),
            13 if rank == 1 => {
                let len = g.shape(a).len();
                let start = random.below(len);
                let part = Op::Slice { axis: 0, start, step: 1, len: 1 };
                let part = g.apply(part, &[a]).unwrap();
                g.reshape(part, Vec::new())
            }
            14 if rank == 1 && g.shape(a).len() + g.shape(b).len() <= most => {
                g.apply(Op::Concat { axis: 0 }, &[a, b]).unwrap()
            }
            15 | 16 if rank == 1 && g.shape(a).len() == n => {
                let turned = random.below(2) == 0;
                let matrix = if turned { g.transpose(matrix) } else { matrix };
                g.matmul(matrix, a)
            }
            15 if rank == 0 => g.broadcast_to(a, &Shape::from([n])),
            _ => g.sub(a, b),
        };
        pool.push(node);
    }
    let outputs = (0..1 + random.below(5)).map(|_| random.pick(&pool)).chain(pool.last().copied());
    let outputs: Vec<NodeId> = outputs.collect();
    (FunctionSource { graph: g, outputs, parameters, dim }, entries)
}

/// Lines of single vectors, and of up to five, of which loops of four are parts of straight lines.
const MOST: [usize; 2] = [8, 40];

/// One NaN for all, and one zero.
fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|&x| if x.is_nan() { f64::NAN } else { x + 0.0 }.to_bits()).collect()
}

#[test]
fn straight_lines_have_the_same_bits_at_every_level_and_write_their_results_only() {
    for seed in 1..3000 {
        let mut random = Random::new(seed);
        let (source, matrix) = random_source(&mut random, MOST[seed as usize % 2]);
        // In memory of just that size, so that reading beyond it is seen by who looks for such
        // things.
        let position: Box<[f64]> = (0..source.dim).map(|_| 3.0 * random.uniform()).collect();
        let function = compile_function(Executor::Native, &source).unwrap();
        let bound = function.bind(&|_| Some(matrix.clone())).unwrap();
        let len: usize = function.sizes().iter().sum();
        let evaluate = |level: Level| {
            let mut instance = bound.clone().at_level(level).instance();
            let mut out = vec![UNTOUCHED; len + 2];
            for _ in 0..2 {
                instance.evaluate(&position, &mut out[1..=len]).unwrap();
            }
            assert_eq!([out[0], out[len + 1]], [UNTOUCHED; 2], "seed {seed} at {}", level.name());
            bits(&out[1..=len])
        };
        let expected = evaluate(Level::portable());
        for level in Level::available() {
            assert_eq!(evaluate(level), expected, "seed {seed} at {}", level.name());
        }
    }
}

#[test]
fn densities_of_one_line_have_the_same_bits_at_every_level_and_in_lanes() {
    let mut with_lanes = 0;
    for seed in 1..1000 {
        let mut random = Random::new(seed);
        let (source, matrix) = random_source(&mut random, MOST[seed as usize % 2]);
        let FunctionSource { mut graph, outputs, parameters, dim } = source;
        let terms: Vec<NodeId> = outputs.iter().map(|&x| graph.sum(x)).collect();
        let logp = terms.into_iter().reduce(|a, b| graph.add(a, b)).unwrap();
        let source = DensitySource { graph, logp, parameters, dim };
        let position: Vec<f64> = (0..dim).map(|_| 3.0 * random.uniform()).collect();
        let program = compile(Executor::Native, &source).unwrap();
        let bound = program.bind(&|_| Some(matrix.clone())).unwrap();
        let evaluate = |level: Level| {
            let mut found = vec![0.0; dim + 1];
            let mut instance = bound.clone().at_level(level).instance();
            let value = instance.logp_grad(&position, &mut found[1..]).unwrap();
            found[0] = value;
            bits(&found)
        };
        let expected = evaluate(Level::portable());
        for level in Level::available() {
            assert_eq!(evaluate(level), expected, "seed {seed} at {}", level.name());
        }
        let agree = lanes_agree(&bound, &positions(&position));
        with_lanes += usize::from(agree.unwrap_or_else(|why| panic!("seed {seed}: {why}")));
    }
    println!("{with_lanes} of 999 have lanes");
    let generated = cfg!(target_os = "linux") && Level::detect().name().starts_with("avx");
    assert!(!generated || with_lanes > 500, "{with_lanes} have lanes");
}
