//! Random expressions: the reference executor agrees with plain evaluation to the bit, before and after
//! simplification, and gradients agree with differences.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, FunctionSource, compile, compile_function};
use exmc_graph::{
    Binary, DType, Graph, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody, Tensor, Unary,
    differentiate, evaluate, parse, print, simplify, verify,
};

/// SplitMix64 (Steele, Lea and Flood 2014): small, and the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn tensor(&mut self, shape: &Shape) -> Tensor {
        let values: Vec<f64> = (0..shape.len()).map(|_| self.uniform()).collect();
        Tensor::real(shape.clone(), values).unwrap()
    }
}

/// A random scalar expression over three parameters, with data.
struct Program {
    source: DensitySource,
    data: Vec<(String, Tensor)>,
    position: Vec<f64>,
}

impl Program {
    fn lookup(&self, name: &str) -> Option<Tensor> {
        let found = self.data.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    /// The value of a name at a position: data, or that part of the position.
    fn input(&self, position: &[f64], name: &str) -> Option<Tensor> {
        let id = self.source.graph.find_input(name)?;
        let Some(&(_, offset)) = self.source.parameters.iter().find(|(input, _)| *input == id)
        else {
            return self.lookup(name);
        };
        let shape = self.source.graph.shape(id).clone();
        Tensor::real(shape.clone(), &position[offset..offset + shape.len()])
    }

    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut g = Graph::new();
        let mut data = Vec::new();
        let mut parameters = Vec::new();
        let mut pool = Vec::new();
        let mut dim = 0;
        for (k, shape) in [vec![], vec![4], vec![3, 4]].into_iter().enumerate() {
            let shape = Shape::from(shape);
            let name = format!("p{k}");
            let id = g.input(&name, Role::Parameter, shape.clone(), DType::Real).unwrap();
            parameters.push((id, dim));
            dim += shape.len();
            pool.push(id);
            let name = format!("d{k}");
            pool.push(g.input(&name, Role::Data, shape.clone(), DType::Real).unwrap());
            data.push((name, random.tensor(&shape)));
            let constant = random.tensor(&shape);
            pool.push(g.constant(constant));
        }
        for _ in 0..30 {
            let node = step(&mut g, &mut random, &pool, &mut data);
            // Slopes stay of scale one.
            let bounded = if random.below(3) == 0 { g.tanh(node) } else { node };
            pool.push(bounded);
        }
        let mut logp = g.scalar(0.0);
        for &node in pool.iter().rev().take(8) {
            let bounded = g.tanh(node);
            let weight = random.tensor(&g.shape(bounded).clone());
            let weight = g.constant(weight);
            let product = g.mul(weight, bounded);
            let sum = g.sum(product);
            logp = g.add(logp, sum);
        }
        let position: Vec<f64> = (0..dim).map(|_| random.uniform()).collect();
        Self { source: DensitySource { graph: g, logp, parameters, dim }, data, position }
    }
}

/// One more operation over nodes of the pool.
fn step(
    g: &mut Graph,
    random: &mut Random,
    pool: &[NodeId],
    data: &mut Vec<(String, Tensor)>,
) -> NodeId {
    let x = random.pick(pool);
    let shape = g.shape(x).clone();
    let rank = shape.rank();
    let axis = if rank > 0 { random.below(rank) } else { 0 };
    let extent = shape.extents().get(axis).copied().unwrap_or(1);
    match random.below(16) {
        0 | 1 => {
            let op = random.pick(&[
                Unary::Tanh,
                Unary::InvLogit,
                Unary::Softplus,
                Unary::Sin,
                Unary::Cos,
                Unary::Neg,
                Unary::Square,
                Unary::Atan,
                Unary::Erf,
                Unary::LogNormalCdf,
                Unary::IsFinite,
            ]);
            let tanh = g.tanh(x);
            g.unary(op, tanh)
        }
        2 => {
            let positive = g.softplus(x);
            let away = g.shift(positive, 0.5);
            let op = random.pick(&[Unary::Log, Unary::Sqrt, Unary::Reciprocal, Unary::Lgamma]);
            g.unary(op, away)
        }
        3..=5 => {
            let partners: Vec<_> =
                pool.iter().copied().filter(|&y| g.shape(y).broadcast(&shape).is_some()).collect();
            let y = random.pick(&partners);
            let op = random.pick(&[
                Binary::Add,
                Binary::Sub,
                Binary::Mul,
                Binary::Mul,
                Binary::LogAddExp,
                Binary::Atan2,
            ]);
            let y = if op == Binary::Atan2 { g.softplus(y) } else { y };
            g.binary(op, x, y)
        }
        6 => {
            // Conditions on data and constants only: no kinks for the differences to meet.
            let known = |g: &Graph, y: &NodeId| {
                g.dependence(*y) < exmc_graph::Dependence::Parameter
                    && g.shape(*y).broadcasts_to(&shape)
            };
            let knowns: Vec<_> = pool.iter().copied().filter(|y| known(g, y)).collect();
            let condition = random.pick(&knowns);
            let zero = g.scalar(0.0);
            let condition = g.lt(condition, zero);
            let other = g.sin(x);
            g.select(condition, x, other)
        }
        7 => {
            let op = random.pick(Reduction::ALL);
            let op =
                if matches!(op, Reduction::Max | Reduction::Min) { Reduction::Sum } else { op };
            if rank == 0 { g.sum(x) } else { g.reduce(op, x, &[axis]) }
        }
        8 if rank > 0 => {
            let start = random.below(extent);
            let len = 1 + random.below((extent - start).max(1));
            g.slice(x, axis, start, (start + len).min(extent))
        }
        9 if rank > 0 => g.concat(&[x, x], axis),
        10 if rank > 0 => {
            let name = format!("i{}", data.len());
            let rows = shape.extents()[0];
            let index: Vec<usize> = (0..5).map(|_| random.below(rows)).collect();
            let id = g.input(&name, Role::Data, [5].into(), DType::Int).unwrap();
            data.push((name, Tensor::indices(&index)));
            g.gather(x, id)
        }
        11 if rank == 2 => g.transpose(x),
        12 if rank > 0 => {
            g.apply(Op::CumSum { axis, reverse: random.below(2) == 0 }, &[x]).unwrap()
        }
        13 if rank == 2 => {
            let transposed = g.transpose(x);
            let product = g.matmul(x, transposed);
            if random.below(2) == 0 {
                return product;
            }
            let n = shape.extents()[0];
            let identity: Vec<f64> =
                (0..n * n).map(|k| if k / n == k % n { 1.0 } else { 0.0 }).collect();
            let identity = g.constant(Tensor::real([n, n], identity).unwrap());
            let bounded = g.tanh(product);
            let small = g.scale(bounded, 0.1);
            let matrix = g.add(small, identity);
            let factor = g.cholesky(matrix);
            g.triangular_solve(factor, x, random.below(2) == 0)
        }
        14 if rank == 1 => {
            let body = body();
            let (start, fixed) = (g.scalar(0.3), random.pick(&pool[..1]));
            let op = Op::Scan { length: extent, reverse: random.below(2) == 0, body };
            let scan = g.apply(op, &[start, x, fixed]).unwrap();
            g.apply(Op::Project(random.below(2)), &[scan]).unwrap()
        }
        _ => {
            let flat = g.reshape(x, [shape.len()]);
            g.broadcast_to(flat, &Shape::from([2, shape.len()]))
        }
    }
}

/// carry' = tanh(carry * fixed + x), stacked: carry' * e^tanh(fixed)
fn body() -> SharedBody {
    let mut graph = Graph::new();
    let g = &mut graph;
    let input = |g: &mut Graph, name: &str| {
        g.input(name, Role::Parameter, Shape::scalar(), DType::Real).unwrap()
    };
    let (carry, x, fixed) = (input(g, "carry0"), input(g, "x0"), input(g, "fixed0"));
    let product = g.mul(carry, fixed);
    let sum = g.add(product, x);
    let next = g.tanh(sum);
    let bounded = g.tanh(fixed);
    let scale = g.exp(bounded);
    let out = g.mul(next, scale);
    SharedBody(Arc::new(ScanBody {
        graph,
        next: vec![next],
        stacked: vec![out],
        counts: [1, 1, 1],
    }))
}

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
        // Five-point differences; compositions of thirty operations have fifth derivatives of several
        // hundred, which this step keeps below the tolerance.
        let h = 3e-4;
        for (k, &found) in gradient.iter().enumerate() {
            let mut at = |offset: f64| {
                let mut moved = program.position.clone();
                moved[k] += offset * h;
                instance.logp_grad(&moved, &mut scratch).unwrap()
            };
            let expected = (at(-2.0) - 8.0 * at(-1.0) + 8.0 * at(1.0) - at(2.0)) / (12.0 * h);
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
