//! Long loops in `f32`, which generated code runs where there is such: at every level the same
//! bits, near what `f64` gives.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, Settings, compile_with};
use exmc_graph::{Binary, DType, Graph, NodeId, Op, Precision, Role, Shape, Tensor, Unary};
use exmc_math::simd::Level;

use crate::support::random::Random;

/// Loops of one block and of many, with and without a vector that is not whole, of either type.
const LENGTHS: [usize; 12] = [65, 70, 72, 80, 96, 101, 255, 256, 264, 511, 513, 1031];

/// A log density while it is being written, with its position and data.
struct Source {
    graph: Graph,
    parameters: Vec<(NodeId, usize)>,
    position: Vec<f64>,
    data: Vec<(String, Tensor)>,
}

impl Source {
    fn new() -> Self {
        Self { graph: Graph::new(), parameters: Vec::new(), position: Vec::new(), data: Vec::new() }
    }

    /// Rows of a matrix with so many columns that a loop over them is quicker in `f32` beside what
    /// these tests have in it; `evaluate` sees that it is.
    fn rows(&mut self, n: usize) -> NodeId {
        const COLUMNS: usize = 32;
        let part = |j: usize| (j as f64 * 0.618_033_988_749_894_9).fract() / COLUMNS as f64;
        let matrix: Vec<f64> = (0..n * COLUMNS).map(part).collect();
        let matrix = self.data(Tensor::real([n, COLUMNS], matrix).unwrap(), DType::Real);
        let factors = self.parameter(&[1.7; COLUMNS], Shape::from([COLUMNS]));
        self.graph.matmul(matrix, factors)
    }

    fn parameter(&mut self, values: &[f64], shape: Shape) -> NodeId {
        let name = format!("p{}", self.parameters.len());
        let id = self.graph.input(&name, Role::Parameter, shape, DType::Real).unwrap();
        self.parameters.push((id, self.position.len()));
        self.position.extend(values);
        id
    }

    fn data(&mut self, value: Tensor, dtype: DType) -> NodeId {
        let name = format!("d{}", self.data.len());
        let shape = value.shape().clone();
        let id = self.graph.input(&name, Role::Data, shape, dtype).unwrap();
        self.data.push((name, value));
        id
    }

    /// The value and its gradient; those of the native executor with `f32` are the same at every
    /// level.
    fn evaluate(&self, logp: NodeId, executor: Executor, precision: Precision) -> Vec<f64> {
        let source = DensitySource {
            graph: self.graph.clone(),
            logp,
            parameters: self.parameters.clone(),
            dim: self.position.len(),
        };
        let settings = Settings::of(executor).at_precision(precision);
        let program = compile_with(&settings, &source).unwrap();
        assert_eq!(program.rounds(), precision == Precision::F32, "{}", program.print());
        let lookup = |name: &str| {
            let found = self.data.iter().find(|(candidate, _)| candidate == name);
            found.map(|(_, value)| value.clone())
        };
        let bound = program.bind(&lookup).unwrap();
        let evaluate_at = |level: Option<Level>| {
            let bound = bound.clone();
            let bound = level.map_or(bound.clone(), |level| bound.at_level(level));
            let mut found = vec![0.0; self.position.len() + 1];
            let mut instance = bound.instance();
            found[0] = instance.logp_grad(&self.position, &mut found[1..]).unwrap();
            // One NaN for all, and one zero.
            let bits = |x: &f64| if x.is_nan() { f64::NAN } else { *x + 0.0 }.to_bits();
            let bits: Vec<u64> = found.iter().map(bits).collect();
            (found, bits)
        };
        let (found, bits) = evaluate_at(None);
        for level in Level::available().into_iter().chain([Level::portable()]) {
            let (other, other_bits) = evaluate_at(Some(level));
            let name = level.name();
            assert_eq!(other_bits, bits, "{name}: {other:?} is not {found:?}\n{}", program.print());
        }
        found
    }
}

/// What an operand of an instruction is.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Parameters,
    Data,
    /// A parameter, which may be any number.
    Number,
    /// Data that are an `f32`.
    Exact,
    /// Data that are none.
    Inexact,
}

const KINDS: [Kind; 5] = [Kind::Parameters, Kind::Data, Kind::Number, Kind::Exact, Kind::Inexact];

fn operand(source: &mut Source, kind: Kind, n: usize, start: f64) -> NodeId {
    let part = |j: usize| start + (j as f64 * 0.618_033_988_749_894_9).fract();
    let values: Vec<f64> = (0..n).map(part).collect();
    match kind {
        Kind::Parameters => source.parameter(&values, Shape::from([n])),
        Kind::Data => source.data(Tensor::vector(&values), DType::Real),
        Kind::Number => source.parameter(&[start + 0.3], Shape::scalar()),
        Kind::Exact => source.data(Tensor::scalar(start + 0.25), DType::Real),
        Kind::Inexact => source.data(Tensor::scalar(start + 0.3), DType::Real),
    }
}

/// Every instruction with every kind of operands, beside as many sums as there may be, so that all
/// registers are taken.
#[test]
fn instructions_take_arrays_and_numbers_of_any_kind() {
    type Make = fn(&mut Graph, [NodeId; 3]) -> NodeId;
    let instructions: [(usize, Make); 24] = [
        (1, |g, [x, ..]| g.neg(x)),
        (1, |g, [x, ..]| g.abs(x)),
        (1, |g, [x, ..]| g.not(x)),
        (1, |g, [x, ..]| g.square(x)),
        (1, |g, [x, ..]| {
            let square = g.square(x);
            g.sqrt(square)
        }),
        (1, |g, [x, ..]| g.reciprocal(x)),
        (2, |g, [x, y, _]| g.add(x, y)),
        (2, |g, [x, y, _]| g.sub(x, y)),
        (2, |g, [x, y, _]| g.mul(x, y)),
        (2, |g, [x, y, _]| g.div(x, y)),
        (2, |g, [x, y, _]| g.min(x, y)),
        (2, |g, [x, y, _]| g.max(x, y)),
        (2, |g, [x, y, _]| g.lt(x, y)),
        (2, |g, [x, y, _]| g.binary(Binary::Le, x, y)),
        (2, |g, [x, y, _]| g.binary(Binary::Ne, x, y)),
        (2, |g, [x, y, _]| {
            let product = g.binary(Binary::And, x, y);
            g.binary(Binary::Or, product, x)
        }),
        (3, |g, [x, y, z]| {
            let condition = g.lt(x, y);
            g.select(condition, y, z)
        }),
        (3, |g, [x, y, z]| {
            let product = g.mul(x, y);
            g.add(product, z)
        }),
        (3, |g, [x, y, z]| {
            let product = g.mul(x, y);
            g.sub(product, z)
        }),
        (3, |g, [x, y, z]| {
            let product = g.mul(x, y);
            g.sub(z, product)
        }),
        (3, |g, [x, y, z]| {
            let sum = g.add(x, y);
            g.mul(sum, z)
        }),
        (3, |g, [x, y, z]| {
            let difference = g.sub(x, y);
            g.mul(difference, z)
        }),
        (3, |g, [x, y, z]| {
            let product = g.mul(x, y);
            g.mul(product, z)
        }),
        (2, |g, [x, y, _]| {
            let sum = g.add(x, y);
            g.reciprocal(sum)
        }),
    ];
    for (k, (count, instruction)) in instructions.iter().enumerate() {
        for number in 0..KINDS.len().pow(*count as u32) {
            let kinds: [Kind; 3] =
                std::array::from_fn(|j| KINDS[number / KINDS.len().pow(j as u32) % KINDS.len()]);
            let n = LENGTHS[(number + k) % LENGTHS.len()];
            let mut source = Source::new();
            // Away from zero and from each other, where comparisons and slopes jump.
            let starts = [0.7, -4.3, 2.1];
            let operands: [NodeId; 3] =
                std::array::from_fn(|j| operand(&mut source, kinds[j], n, starts[j]));
            let beside = source.rows(n);
            let g = &mut source.graph;
            let value = instruction(g, operands);
            let value = g.mul(value, beside);
            // What is behind the last element is one then, not zero, which a sum with too many
            // terms would not show.
            let value = g.shift(value, 1.0);
            let square = g.square(value);
            let logs = g.log1p(square);
            let terms = [value, square, logs].map(|x| g.sum(x));
            let logp = terms.into_iter().reduce(|a, b| g.add(a, b)).unwrap();
            let found = source.evaluate(logp, Executor::Native, Precision::F32);
            let expected = source.evaluate(logp, Executor::Reference, Precision::F64);
            let size = expected.iter().fold(1.0_f64, |size, x| size.max(x.abs()));
            for (found, expected) in found.iter().zip(&expected) {
                // Sums of up to 2000 terms, each off by a few half ulps (6e-8) in either direction.
                let near = (found - expected).abs() <= 3e-6 * size;
                assert!(near, "instruction {k} of {kinds:?}: {found}, expected {expected}");
            }
        }
    }
}

/// All that a loop in `f32` may have: elements by index, functions that are routines, and numbers
/// that are sums of other loops.
fn random_source(random: &mut Random) -> (Source, NodeId) {
    let mut source = Source::new();
    let n = random.pick(&LENGTHS);
    let values = |random: &mut Random, n: usize| -> Vec<f64> {
        (0..n).map(|_| 2.0 * random.uniform()).collect()
    };
    let mut pool = Vec::new();
    for len in [n, n, 1, 1, 1] {
        let shape = if len == 1 { Shape::scalar() } else { Shape::from([len]) };
        let values = values(random, len);
        pool.push(source.parameter(&values, shape));
    }
    for _ in 0..2 {
        let values = values(random, n);
        pool.push(source.data(Tensor::vector(&values), DType::Real));
    }
    pool.push(source.data(Tensor::scalar(0.3), DType::Real));
    let groups = 1 + random.below(70);
    let table = values(random, groups);
    let table = source.parameter(&table, Shape::from([groups]));
    let mut index: Vec<usize> = (0..n).map(|_| random.below(groups)).collect();
    if random.below(2) == 0 {
        index.sort_unstable();
    }
    let index = source.data(Tensor::indices(&index), DType::Int);
    let rows = source.rows(n);
    let g = &mut source.graph;
    pool.extend([rows, g.gather(table, index)]);
    pool.extend([0.5, -1.0, 0.1].map(|x| g.scalar(x)));
    for _ in 0..6 + random.below(16) {
        let [x, y, z] = std::array::from_fn(|_| random.pick(&pool));
        let node = match random.below(18) {
            0 => g.add(x, y),
            1 => g.sub(x, y),
            2 | 3 => g.mul(x, y),
            4 => g.min(x, y),
            5 => g.max(x, y),
            6 => {
                let product = g.mul(x, y);
                g.add(product, z)
            }
            7 => {
                let sum = g.sub(x, y);
                g.mul(sum, z)
            }
            8 => {
                let square = g.square(x);
                let above = g.shift(square, 0.7);
                g.reciprocal(above)
            }
            9 => {
                let (a, b) = (g.square(x), g.square(y));
                let sum = g.add(a, b);
                let away = g.shift(sum, 0.1);
                g.div(z, away)
            }
            10 => {
                let condition = g.lt(x, y);
                g.select(condition, y, z)
            }
            11 => {
                let tanh = g.tanh(x);
                let op = random.pick(&[Unary::Exp, Unary::InvLogit, Unary::Softplus, Unary::Neg]);
                g.unary(op, tanh)
            }
            12 => {
                let square = g.square(x);
                g.log1p(square)
            }
            13 => {
                let (sum, scale) = (g.sum(x), 1.0 / n as f64);
                g.scale(sum, scale)
            }
            14 => g.abs(x),
            15 => g.apply(Op::Unary(Unary::Not), &[x]).unwrap(),
            16 => {
                let product = g.mul(x, y);
                g.mul(product, z)
            }
            _ => {
                let sum = g.add(x, y);
                g.tanh(sum)
            }
        };
        pool.push(node);
    }
    // Not of squares: least squares of a known matrix are no loop.
    let sizes = g.abs(rows);
    let mut logp = g.sum(sizes);
    for &node in pool.iter().rev().take(6) {
        let sum = g.sum(node);
        logp = g.add(logp, sum);
    }
    (source, logp)
}

#[test]
fn random_loops_have_the_same_bits_at_every_level() {
    let mut rounded = 0;
    for seed in 1..500 {
        let (source, logp) = random_source(&mut Random::new(seed));
        let found = source.evaluate(logp, Executor::Native, Precision::F32);
        let double = source.evaluate(logp, Executor::Native, Precision::F64);
        rounded += usize::from(found[0].to_bits() != double[0].to_bits());
    }
    assert!(rounded >= 450, "{rounded} of 499 programs are rounded");
}
