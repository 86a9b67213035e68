//! Random expressions over parameters and data, for tests that compare executors.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(dead_code, reason = "no test uses everything")]

use std::sync::Arc;

use exmc_exec::DensitySource;
use exmc_graph::{
    Binary, DType, Graph, MAX_FACTORS, NodeId, Op, Reduction, Role, ScanBody, Shape, SharedBody,
    Tensor, Unary,
};

/// SplitMix64 (Steele, Lea and Flood 2014): small, and the same everywhere.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64 * 2.0 - 1.0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    pub(crate) fn tensor(&mut self, shape: &Shape) -> Tensor {
        let values: Vec<f64> = (0..shape.len()).map(|_| self.uniform()).collect();
        Tensor::real(shape.clone(), values).unwrap()
    }
}

/// A random scalar expression over three parameters, with data.
pub(crate) struct Program {
    pub(crate) source: DensitySource,
    pub(crate) data: Vec<(String, Tensor)>,
    pub(crate) position: Vec<f64>,
}

impl Program {
    /// Elements of the largest node.
    pub(crate) fn largest(&self) -> usize {
        let graph = &self.source.graph;
        graph.ids().map(|id| graph.shape(id).len()).max().unwrap_or(1)
    }

    pub(crate) fn lookup(&self, name: &str) -> Option<Tensor> {
        let found = self.data.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone())
    }

    /// The value of a name at a position: data, or that part of the position.
    pub(crate) fn input(&self, position: &[f64], name: &str) -> Option<Tensor> {
        let id = self.source.graph.find_input(name)?;
        let Some(&(_, offset)) = self.source.parameters.iter().find(|(input, _)| *input == id)
        else {
            return self.lookup(name);
        };
        let shape = self.source.graph.shape(id).clone();
        Tensor::real(shape.clone(), &position[offset..offset + shape.len()])
    }

    /// Small shapes, so that there are many operations and little arithmetic.
    pub(crate) fn new(seed: u64) -> Self {
        Self::with(Random(seed), [vec![], vec![4], vec![3, 4]], &[5], 30)
    }

    /// Lengths around those of vectors and blocks, so that last vectors are full, have one element
    /// or lack one.
    pub(crate) fn wide(seed: u64) -> Self {
        const LENGTHS: [usize; 18] =
            [1, 2, 7, 8, 9, 16, 31, 33, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1025];
        let mut random = Random(seed);
        let (n, rows) = (random.pick(&LENGTHS), 1 + random.below(3));
        let lengths = [random.pick(&LENGTHS), random.pick(&LENGTHS)];
        Self::with(random, [vec![], vec![n], vec![rows, n]], &lengths, 12)
    }

    /// The same beside products of matrices as long as each of its loops of up to 600 elements,
    /// whose many columns make these quicker in `f32`.
    pub(crate) fn with_matrices(mut self) -> Self {
        const COLUMNS: usize = 80;
        let g = &mut self.source.graph;
        let mut lengths: Vec<usize> = g.ids().map(|id| g.shape(id).len()).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let shape = Shape::from([COLUMNS]);
        let factors = g.input("factors", Role::Parameter, shape, DType::Real).unwrap();
        self.source.parameters.push((factors, self.source.dim));
        self.source.dim += COLUMNS;
        self.position.extend((0..COLUMNS).map(|k| 1.0 / (k + 1) as f64));
        for n in lengths.into_iter().filter(|&n| (65..=600).contains(&n)) {
            let values = Random(n as u64).tensor(&[n, COLUMNS].into());
            let name = format!("matrix {n}");
            let matrix = g.input(&name, Role::Data, [n, COLUMNS].into(), DType::Real).unwrap();
            self.data.push((name, values));
            let rows = g.matmul(matrix, factors);
            // No squares, whose sum would be least squares and no loop; and no zeros behind the
            // last row.
            let above = g.exp(rows);
            let sum = g.sum(above);
            let mean = g.scale(sum, 1.0 / n as f64);
            self.source.logp = g.add(self.source.logp, mean);
        }
        self
    }

    /// `steps` operations over parameters, data and constants of these shapes; indices and the
    /// other side of matrices are as long as one of `lengths`.
    fn with(mut random: Random, shapes: [Vec<usize>; 3], lengths: &[usize], steps: usize) -> Self {
        let mut g = Graph::new();
        let mut data = Vec::new();
        let mut parameters = Vec::new();
        let mut pool = Vec::new();
        let mut dim = 0;
        for (k, shape) in shapes.into_iter().enumerate() {
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
        for _ in 0..steps {
            let node = step(&mut g, &mut random, &pool, &mut data, lengths);
            // Slopes stay of scale one.
            let bounded = if random.below(3) == 0 { g.tanh(node) } else { node };
            pool.push(bounded);
        }
        let mut logp = g.scalar(0.0);
        // One for all: large and small factors would cancel in the log density, and its digits with
        // them.
        let extreme = [1e30, 1e-30][random.below(2)];
        for &node in pool.iter().rev().take(8) {
            let bounded = g.tanh(node);
            let weight = random.tensor(&g.shape(bounded).clone());
            let weight = g.constant(weight);
            let product = g.mul(weight, bounded);
            let sum = g.sum(product);
            logp = g.add(logp, sum);
            // Zeros behind the last element are ones here, so that a sum with too many terms is
            // seen; of few enough terms that each counts.
            let n = g.shape(product).len();
            if n <= LONG_SUM {
                let above = g.exp(product);
                let sum = g.sum(above);
                let mean = g.scale(sum, 1.0 / n as f64);
                logp = g.add(logp, mean);
            }
            // Logarithms that become one of a product, some of factors too extreme for that.
            if n <= MAX_FACTORS {
                let square = g.square(product);
                let above = g.shift(square, 1.0);
                let size = if random.below(3) == 0 { extreme } else { 1.0 };
                let factor = g.scale(above, size);
                let log = g.log(factor);
                let log = g.scale(log, [-0.5, -1.0][random.below(2)]);
                let sum = g.sum(log);
                logp = g.add(logp, sum);
            }
        }
        let position: Vec<f64> = (0..dim).map(|_| random.uniform()).collect();
        Self { source: DensitySource { graph: g, logp, parameters, dim }, data, position }
    }
}

/// Most columns of a matrix.
const MATRIX: usize = 65;
/// Elements beyond which an expression is not made longer.
const LONG: usize = 1025 * 1025;

/// Terms of a sum that are each above what the others' sum is rounded by, in `f32`, too.
const LONG_SUM: usize = 2000;

/// One more operation over nodes of the pool.
fn step(
    g: &mut Graph,
    random: &mut Random,
    pool: &[NodeId],
    data: &mut Vec<(String, Tensor)>,
    lengths: &[usize],
) -> NodeId {
    let x = random.pick(pool);
    let shape = g.shape(x).clone();
    let rank = shape.rank();
    let axis = if rank > 0 { random.below(rank) } else { 0 };
    let extent = shape.extents().get(axis).copied().unwrap_or(1);
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let may_be_gathered =
        shape.extents().first().is_some_and(|rows| shape.len() / rows * longest <= LONG);
    match random.below(19) {
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
        9 if rank > 0 && shape.len() <= LONG => g.concat(&[x, x], axis),
        10 if rank > 0 && may_be_gathered => {
            let name = format!("i{}", data.len());
            let rows = shape.extents()[0];
            let len = random.pick(lengths);
            let mut index: Vec<usize> = (0..len).map(|_| random.below(rows)).collect();
            if random.below(2) == 0 {
                index.sort_unstable();
            }
            let id = g.input(&name, Role::Data, [len].into(), DType::Int).unwrap();
            data.push((name, Tensor::indices(&index)));
            g.gather(x, id)
        }
        11 if rank == 2 => g.transpose(x),
        12 if rank > 0 => {
            g.apply(Op::CumSum { axis, reverse: random.below(2) == 0 }, &[x]).unwrap()
        }
        13 if rank == 2 && shape.extents()[0].pow(2) <= LONG => {
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
        15 if rank == 1 && extent <= MATRIX => {
            let rows = random.pick(lengths);
            let name = format!("m{}", data.len());
            let transposed = random.below(2) == 0;
            let sides: Shape = if transposed { [extent, rows] } else { [rows, extent] }.into();
            let matrix = g.input(&name, Role::Data, sides.clone(), DType::Real).unwrap();
            // Products of scale one, whatever the extent.
            let values = random.tensor(&sides);
            let scale = 1.0 / (extent as f64).sqrt();
            let values: Vec<f64> = values.values().iter().map(|v| v * scale).collect();
            data.push((name, Tensor::real(sides, values).unwrap()));
            let matrix = if transposed { g.transpose(matrix) } else { matrix };
            g.matmul(matrix, x)
        }
        // Rows that repeat, of constants, so that equal ones are found.
        16 if rank > 0 => {
            let rows = shape.extents()[0];
            let kinds = random.tensor(&[3, shape.len() / rows].into());
            let index: Vec<usize> = (0..rows).map(|_| random.below(3)).collect();
            let (kinds, index) = (g.constant(kinds), g.constant(Tensor::indices(&index)));
            let chosen = g.gather(kinds, index);
            let chosen = g.reshape(chosen, shape);
            g.mul(x, chosen)
        }
        // Of more than a few rows: a sum of equal numbers is rounded in one direction.
        17 if rank > 0 && may_be_gathered && shape.extents()[0] > 3 => {
            let rows = shape.extents()[0];
            let len = random.pick(lengths);
            let index: Vec<usize> = (0..len).map(|_| random.below(rows.min(9))).collect();
            let index = g.constant(Tensor::indices(&index));
            g.gather(x, index)
        }
        _ if shape.len() > LONG => g.tanh(x),
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
