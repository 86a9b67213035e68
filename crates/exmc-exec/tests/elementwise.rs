//! Every elementwise operation under the native executor: the reference's values, also at special
//! numbers, and a vector kernel for those that had one.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, FunctionSource, compile, compile_function};
use exmc_graph::{Binary, DType, Graph, NodeId, Op, Role, Shape, Tensor, Ternary, Unary};
use exmc_math::simd::Level;

/// The functions that must not be computed one element after the other.
const WITH_KERNEL: [&str; 57] = [
    "neg",
    "abs",
    "sign",
    "floor",
    "ceil",
    "round",
    "not",
    "is_finite",
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "square",
    "reciprocal",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "inv_logit",
    "softplus",
    "log1m_exp",
    "lgamma",
    "digamma",
    "trigamma",
    "tetragamma",
    "erf",
    "erfc",
    "std_normal_lcdf",
    "inv_Phi",
    "log_bessel_i0",
    "bessel_i1_i0",
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "min",
    "max",
    "log_add_exp",
    "log_add_exp_share",
    "log_diff_exp",
    "atan2",
    "lt",
    "le",
    "eq",
    "ne",
    "and",
    "or",
    "lbeta",
    "digamma_rise",
    "select",
];

const INF: f64 = f64::INFINITY;

/// Numbers where functions change their form, in no order and with no length that is a multiple of
/// eight.
const NUMBERS: [f64; 37] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    2.0,
    -2.0,
    0.25,
    0.75,
    1.5,
    2.5,
    -2.5,
    3.0,
    6.0,
    5.75,
    10.5,
    -30.0,
    40.0,
    1e-3,
    1e-12,
    -1e-12,
    1e-300,
    5e-324,
    709.5,
    -745.0,
    1e6,
    0.9999,
    0.01,
    7.25,
    1e15,
    1e300,
    -1e300,
    f64::MAX,
    INF,
    -INF,
    f64::NAN,
];

/// A graph of one operation of parameters of `len` elements.
fn source(op: &Op, arity: usize, len: usize) -> FunctionSource {
    let mut graph = Graph::new();
    let mut parameters = Vec::new();
    let args: Vec<NodeId> = (0..arity)
        .map(|k| {
            let name = format!("x{k}");
            let input = graph.input(&name, Role::Parameter, Shape::from([len]), DType::Real);
            let input = input.unwrap();
            parameters.push((input, k * len));
            input
        })
        .collect();
    let output = graph.apply(op.clone(), &args).unwrap();
    FunctionSource { graph, outputs: vec![output], parameters, dim: arity * len }
}

/// Whether two results are the same as far as the vector kernels promise: to the bit where they are
/// special, else to four ulp of both executors, and of one where terms of that size cancel.
fn agree(found: f64, expected: f64) -> bool {
    if expected.is_nan() || expected.is_infinite() {
        return found.is_nan() && expected.is_nan() || found == expected;
    }
    (found - expected).abs() <= 8.0 * f64::EPSILON * expected.abs().max(1.0)
}

fn check(op: &Op, arity: usize) {
    let name = op.name();
    // Every pair, or triple of every number, its neighbour and one further on.
    let mut columns: [Vec<f64>; 3] = Default::default();
    for (i, &x) in NUMBERS.iter().enumerate() {
        for (j, &y) in NUMBERS.iter().enumerate() {
            if arity > 1 || j == 0 {
                for (column, value) in columns.iter_mut().zip([x, y, NUMBERS[(2 * i + j) % 37]]) {
                    column.push(value);
                }
            }
        }
    }
    let len = columns[0].len();
    let position: Vec<f64> = columns[..arity].concat();
    let source = source(op, arity, len);
    let evaluate = |executor, level: Option<Level>| {
        let function = compile_function(executor, &source).unwrap();
        let bound = function.bind(&|_| None).unwrap();
        let bound = match level {
            Some(level) => bound.at_level(level),
            None => bound,
        };
        let mut out = vec![0.0; len];
        bound.instance().evaluate(&position, &mut out).unwrap();
        (out, function.sections().one_by_one)
    };
    let (expected, _) = evaluate(Executor::Reference, None);
    for level in Level::available() {
        let (found, one_by_one) = evaluate(Executor::Native, Some(level));
        assert!(one_by_one == 0 || !WITH_KERNEL.contains(&name), "{name} lost its kernel");
        for k in 0..len {
            let arguments: Vec<f64> = columns[..arity].iter().map(|column| column[k]).collect();
            assert!(
                agree(found[k], expected[k]),
                "{name}{arguments:?} at {}: {:e}, expected {:e}",
                level.name(),
                found[k],
                expected[k]
            );
        }
    }
}

#[test]
fn functions_of_one_argument_are_the_references() {
    for &op in Unary::ALL {
        check(&Op::Unary(op), 1);
    }
}

#[test]
fn functions_of_two_arguments_are_the_references() {
    for &op in Binary::ALL {
        check(&Op::Binary(op), 2);
    }
}

#[test]
fn functions_of_three_arguments_are_the_references() {
    for &op in Ternary::ALL {
        check(&Op::Ternary(op), 3);
    }
}

/// Scalars have instructions of their own at some levels, with the bits that the elements of arrays
/// have.
#[test]
fn functions_of_scalars_have_the_bits_of_those_of_arrays() {
    let len = NUMBERS.len();
    let unary = Unary::ALL.iter().map(|&op| (Op::Unary(op), 1));
    // What is divided by a scalar is multiplied by its reciprocal instead.
    let binary = Binary::ALL.iter().filter(|&&op| op != Binary::Div);
    for (op, arity) in unary.chain(binary.map(|&op| (Op::Binary(op), 2))) {
        let arrays = source(&op, arity, len);
        let mut scalars = arrays.clone();
        scalars.outputs.clear();
        for k in 0..len {
            let args: Vec<NodeId> = arrays
                .parameters
                .iter()
                .map(|&(x, _)| {
                    let part = Op::Slice { axis: 0, start: k, step: 1, len: 1 };
                    scalars.graph.apply(part, &[x]).unwrap()
                })
                .collect();
            scalars.outputs.push(scalars.graph.apply(op.clone(), &args).unwrap());
        }
        let mut position = NUMBERS.to_vec();
        position.extend(NUMBERS.iter().rev().take(len * (arity - 1)));
        for level in Level::available() {
            let [array, scalar] = [&arrays, &scalars].map(|source| {
                let function = compile_function(Executor::Native, source).unwrap();
                let bound = function.bind(&|_| None).unwrap().at_level(level);
                let mut out = vec![0.0; len];
                bound.instance().evaluate(&position, &mut out).unwrap();
                // One NaN for all.
                out.iter()
                    .map(|y| if y.is_nan() { f64::NAN } else { *y }.to_bits())
                    .collect::<Vec<_>>()
            });
            assert_eq!(array, scalar, "{} at {}", op.name(), level.name());
        }
    }
}

/// Functions that one instruction computes together have the bits that they have alone, whichever
/// comes first.
#[test]
fn functions_that_share_their_work_are_one_instruction() {
    let len = NUMBERS.len();
    let evaluate = |ops: &[Unary]| {
        let mut source = source(&Op::Unary(ops[0]), 1, len);
        let x = source.parameters[0].0;
        for &op in &ops[1..] {
            // Of the same numbers in another shape, so that it may also be the same function.
            let column = source.graph.reshape(x, vec![len, 1]);
            source.outputs.push(source.graph.apply(Op::Unary(op), &[column]).unwrap());
        }
        let function = compile_function(Executor::Native, &source).unwrap();
        let bound = function.bind(&|_| None).unwrap();
        let mut out = vec![0.0; len * ops.len()];
        bound.instance().evaluate(&NUMBERS, &mut out).unwrap();
        // Sign and payload of a NaN are left open.
        let number = |y: &f64| if y.is_nan() { f64::NAN } else { *y };
        let bits: Vec<u64> = out.iter().map(|y| number(y).to_bits()).collect();
        (bits, function.sections().main)
    };
    for pair in [
        [Unary::Lgamma, Unary::Digamma],
        [Unary::Sin, Unary::Cos],
        [Unary::Softplus, Unary::InvLogit],
    ] {
        let alone = pair.map(|op| evaluate(&[op]).0);
        for [first, second] in [[0, 1], [1, 0]] {
            let (bits, instructions) = evaluate(&[pair[first], pair[second]]);
            assert_eq!(instructions, 1, "{pair:?}");
            assert_eq!(bits, [alone[first].clone(), alone[second].clone()].concat(), "{pair:?}");
        }
        for k in [0, 1] {
            let (bits, _) = evaluate(&[pair[k], pair[k]]);
            assert_eq!(bits, [alone[k].clone(), alone[k].clone()].concat(), "{pair:?}");
        }
    }
}

/// In a density of counts with a free dispersion the gradient's digammas come with the density's
/// log gammas.
#[test]
fn gradients_of_log_gamma_share_its_work() {
    let n = 37;
    let mut graph = Graph::new();
    let dispersion = graph.input("phi", Role::Parameter, Shape::from([1]), DType::Real).unwrap();
    let counts = graph.input("y", Role::Data, Shape::from([n]), DType::Real).unwrap();
    let many = graph.broadcast_to(dispersion, &Shape::from([n]));
    let sum = graph.add(counts, many);
    let (above, below) = (graph.lgamma(sum), graph.lgamma(dispersion));
    let (above, below) = (graph.sum(above), graph.sum(below));
    let below = graph.scale(below, n as f64);
    let logp = graph.sub(above, below);
    let source = DensitySource { graph, logp, parameters: vec![(dispersion, 0)], dim: 1 };
    let program = compile(Executor::Native, &source).unwrap();
    let text = program.print();
    assert_eq!(text.matches("LgammaDigamma").count(), 2, "{text}");
    // sum_k lgamma(k + 2) - lgamma(2) is a sum of log factorials, and its slope one of digammas.
    let values: Vec<f64> = (0..n).map(|k| k as f64).collect();
    let data = |name: &str| (name == "y").then(|| Tensor::vector(&values));
    let mut slope = [0.0];
    let found = program.bind(&data).unwrap().instance().logp_grad(&[2.0], &mut slope).unwrap();
    let (mut log_factorials, mut harmonics, mut log_factorial, mut harmonic) = (0.0, 0.0, 0.0, 0.0);
    for k in 0..n {
        log_factorial += exmc_math::log((k + 1) as f64);
        log_factorials += log_factorial;
        harmonics += harmonic;
        harmonic += 1.0 / (k + 2) as f64;
    }
    assert!((found / log_factorials - 1.0).abs() < 1e-14, "{found} {log_factorials}");
    assert!((slope[0] / harmonics - 1.0).abs() < 1e-14, "{} {harmonics}", slope[0]);
}
