//! A gradient call allocates nothing: counted by the allocator of this test.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "expected values are computed independently")]
#![allow(unsafe_code, reason = "an allocator cannot be written without it")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use exmc_density::{BATCH, DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, compile};
use exmc_graph::{
    DType, Graph, NodeId, OdeArguments, Op, Reduction, Role, ScanBody, Shape, SharedBody, Tensor,
    ode,
};
use exmc_math::{OdeControl, OdeMethod};

struct Counting;

thread_local! {
    /// Allocations of this thread; the test harness allocates on others.
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // Not there while a thread ends.
    let _ = COUNT.try_with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator; counting allocates nothing
// because the thread-local is constant-initialised and has no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantees are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantees are those that `System` asks for.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantees are those that `System` asks for.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Something of everything: moves, reductions over scattered axes, a factorisation, nested loops.
fn source() -> DensitySource {
    let mut graph = Graph::new();
    let g = &mut graph;
    let x = g.input("x", Role::Parameter, [2, 3, 2].into(), DType::Real).unwrap();
    let index = g.input("index", Role::Data, [4].into(), DType::Int).unwrap();
    let turned = g.apply(Op::Permute(vec![2, 0, 1]), &[x]).unwrap();
    let picked = g.gather(turned, index);
    let scattered = g.reduce(Reduction::LogSumExp, picked, &[0, 2]);
    let parts = g.concat(&[x, x, x, x], 1);
    let stretched = g.broadcast_to(scattered, &Shape::from([3, 2]));
    let matrix = g.reshape(x, [3, 4]);
    let transposed = g.transpose(matrix);
    let square = g.matmul(matrix, transposed);
    let identity: Vec<f64> = (0..9).map(|k| if k % 4 == 0 { 2.0 } else { 0.0 }).collect();
    let identity = g.constant(Tensor::real([3, 3], identity).unwrap());
    let definite = g.add(square, identity);
    let factor = g.cholesky(definite);
    let solution = g.triangular_solve(factor, matrix, false);
    let inverse = g.solve(definite, matrix);
    let flat = g.reshape(x, [12]);
    let running = g.cumulative_sum(flat, 0);
    let start = g.scalar(0.1);
    let scan = g.apply(scan_op(12, true), &[start, running, start]).unwrap();
    let end = g.apply(Op::Project(0), &[scan]).unwrap();
    let path = g.apply(Op::Project(1), &[scan]).unwrap();
    let mut logp = end;
    for node in [scattered, parts, stretched, solution, inverse, path] {
        let bounded = g.tanh(node);
        let sum = g.sum(bounded);
        logp = g.add(logp, sum);
    }
    DensitySource { graph, logp, parameters: vec![(x, 0)], dim: 12 }
}

/// A loop of `length` steps; with `nest`, every step runs a loop of its own.
fn scan_op(length: usize, nest: bool) -> Op {
    let mut graph = Graph::new();
    let g = &mut graph;
    let input = |g: &mut Graph, name: &str| -> NodeId {
        g.input(name, Role::Parameter, Shape::scalar(), DType::Real).unwrap()
    };
    let (carry, x, fixed) = (input(g, "carry0"), input(g, "x0"), input(g, "fixed0"));
    let scaled = g.mul(carry, fixed);
    let sum = g.add(scaled, x);
    let mut next = g.tanh(sum);
    if nest {
        let sequence = g.broadcast_to(next, &Shape::from([3]));
        let inner = g.apply(scan_op(3, false), &[carry, sequence, fixed]).unwrap();
        let stacked = g.apply(Op::Project(1), &[inner]).unwrap();
        next = g.sum(stacked);
    }
    let (next, stacked) = (vec![next], vec![sum]);
    let body = SharedBody(Arc::new(ScanBody { graph, next, stacked, counts: [1, 1, 1] }));
    Op::Scan { length, reverse: nest, body }
}

#[test]
fn a_gradient_allocates_nothing() {
    for &executor in Executor::ALL {
        let program = compile(executor, &source()).unwrap();
        let bound = program.bind(&|_| Some(Tensor::indices(&[1, 0, 1, 1]))).unwrap();
        let mut instance = bound.instance();
        let mut position: Vec<f64> = (0..12).map(|k| (f64::from(k) * 0.7).sin()).collect();
        let mut gradient = vec![0.0; 12];
        let before = COUNT.get();
        let mut total = 0.0;
        for _ in 0..50 {
            total += instance.logp_grad(&position, &mut gradient).unwrap();
            position[3] += 0.01;
        }
        assert_eq!(COUNT.get() - before, 0, "allocations in 50 gradients");
        assert!(total.is_finite());
        // The counter counts.
        let before = COUNT.get();
        drop(std::hint::black_box(vec![total]));
        assert_eq!(COUNT.get() - before, 1);
    }
}

/// Prey and predators over 20 years: a squared error of the populations' logarithms.
fn populations(method: OdeMethod) -> DensitySource {
    let mut body = Graph::new();
    let b = &mut body;
    let input = |b: &mut Graph, name: &str, len: usize| {
        let array = b.input(name, Role::Parameter, [len].into(), DType::Real).unwrap();
        (0..len).map(|k| b.slice(array, 0, k, k + 1)).collect::<Vec<_>>()
    };
    let (y, v) = (input(b, "y", 2), input(b, "values", 4));
    let (eaten, fed) = (b.mul(v[1], y[1]), b.mul(v[3], y[0]));
    let (prey, predators) = (b.sub(v[0], eaten), b.sub(fed, v[2]));
    let (prey, predators) = (b.mul(prey, y[0]), b.mul(predators, y[1]));
    let slope = b.concat(&[prey, predators], 0);
    let mut graph = Graph::new();
    let g = &mut graph;
    let x = g.input("x", Role::Parameter, [6].into(), DType::Real).unwrap();
    let all = g.exp(x);
    let (start, values) = (g.slice(all, 0, 0, 2), vec![g.slice(all, 0, 2, 6)]);
    let initial_time = g.scalar(0.0);
    let times: Vec<f64> = (1..=20).map(f64::from).collect();
    let times = g.constant(Tensor::vector(&times));
    let control = OdeControl { relative: 1e-5, absolute: 1e-3, max_steps: 500 };
    let arguments =
        OdeArguments { graph: body, slope, method, control, start, values, initial_time, times };
    let solution = ode(g, arguments).unwrap();
    let logs = g.log(solution);
    let observed = g.input("y", Role::Data, [20, 2].into(), DType::Real).unwrap();
    let error = g.sub(logs, observed);
    let squares = g.square(error);
    let sum = g.sum(squares);
    let logp = g.neg(sum);
    DensitySource { graph, logp, parameters: vec![(x, 0)], dim: 6 }
}

#[test]
fn a_gradient_through_an_initial_value_problem_allocates_nothing_after_the_first() {
    let log = |x: f64| x.ln();
    let position = [30.0, 4.0, 0.55, 0.028, 0.84, 0.026].map(log);
    for method in OdeMethod::ALL {
        let mut results = Vec::new();
        for &executor in Executor::ALL {
            let program = compile(executor, &populations(method)).unwrap();
            let data = Tensor::real([20, 2], vec![2.5; 40]).unwrap();
            let bound = program.bind(&|_| Some(data.clone())).unwrap();
            let mut instance = bound.instance();
            let mut gradient = vec![0.0; 6];
            instance.logp_grad(&position, &mut gradient).unwrap();
            let before = COUNT.get();
            for _ in 0..20 {
                gradient.fill(0.0);
                instance.logp_grad(&position, &mut gradient).unwrap();
            }
            assert_eq!(COUNT.get() - before, 0, "allocations in 20 gradients");
            results.push(gradient);
        }
        // Both executors run the same solver; logarithms and sums differ in the last digits.
        for (a, b) in results[0].iter().zip(&results[1]) {
            assert!((a - b).abs() <= 1e-11 * a.abs(), "{method:?}: {results:?}");
        }
    }
}

#[test]
fn an_instance_copies_no_data() {
    for &executor in Executor::ALL {
        // A large data set and a small scratch: what an instance allocates must not grow with the
        // data.
        let measure = |n: usize| {
            let mut graph = Graph::new();
            let x = graph.input("x", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
            let y = graph.input("y", Role::Data, [n].into(), DType::Real).unwrap();
            let sum = graph.sum(y);
            let logp = graph.mul(sum, x);
            let source = DensitySource { graph, logp, parameters: vec![(x, 0)], dim: 1 };
            let program = compile(executor, &source).unwrap();
            let bound = program.bind(&|_| Some(Tensor::vector(&vec![1.0; n]))).unwrap();
            let before = COUNT.get();
            let mut instance = bound.instance();
            let count = COUNT.get() - before;
            let mut gradient = [0.0];
            assert_eq!(instance.logp_grad(&[2.0], &mut gradient), Ok(2.0 * n as f64));
            assert_eq!(gradient, [n as f64]);
            (count, program.sections().slots)
        };
        assert_eq!(measure(10), measure(10_000));
    }
}

#[test]
fn nested_loops_have_the_right_gradient() {
    for &executor in Executor::ALL {
        let program = compile(executor, &source()).unwrap();
        let bound = program.bind(&|_| Some(Tensor::indices(&[1, 0, 1, 1]))).unwrap();
        let mut instance = bound.instance();
        let position: Vec<f64> = (0..12).map(|k| (f64::from(k) * 0.7).sin()).collect();
        let mut gradient = vec![0.0; 12];
        let mut scratch = vec![0.0; 12];
        instance.logp_grad(&position, &mut gradient).unwrap();
        let h = 3e-4;
        for k in 0..12 {
            let mut logp_at = |offset: f64| {
                let mut moved = position.clone();
                moved[k] += offset * h;
                instance.logp_grad(&moved, &mut scratch).unwrap()
            };
            let expected = (logp_at(-2.0) - 8.0 * logp_at(-1.0) + 8.0 * logp_at(1.0)
                - logp_at(2.0))
                / (12.0 * h);
            // Rounding of 1e-16 / h, with a margin for the sum of some hundred terms.
            assert!((gradient[k] - expected).abs() < 1e-9 * expected.abs().max(1.0), "element {k}");
        }
    }
}

#[test]
fn a_gradient_for_several_positions_allocates_nothing() {
    // Limits, of which one position lies outside.
    let mut graph = Graph::new();
    let g = &mut graph;
    let x = g.input("x", Role::Parameter, [3].into(), DType::Real).unwrap();
    let (low, high) = (g.scalar(-200.0), g.scalar(200.0));
    let below = g.min(x, high);
    let held = g.max(below, low);
    let scales = g.exp(held);
    let difference = g.sub(below, scales);
    let logp = g.sum(difference);
    let source = DensitySource { graph, logp, parameters: vec![(x, 0)], dim: 3 };
    let bound = compile(Executor::Native, &source).unwrap().bind(&|_| None).unwrap();
    let Some(mut lanes) = bound.lane_instance() else { return };
    let positions = [[0.1, 1.0, 0.5, 2.0], [0.2, -1.0, 0.4, 1.0], [0.3, 0.0, 300.0, 0.0]];
    for active in [[true; BATCH], [true, false, true, false]] {
        let (mut gradients, mut logps) = ([[0.0; BATCH]; 3], [f64::NAN; BATCH]);
        // The first time, what evaluates outside of limits is compiled.
        for measured in [false, true] {
            let before = COUNT.get();
            let errors = lanes.logp_grads(&positions, &mut gradients, &mut logps, active);
            assert!(!measured || COUNT.get() == before, "allocations for {active:?}");
            assert!(errors.is_empty());
            assert!((0..BATCH).all(|lane| !active[lane] || logps[lane].is_finite()));
        }
    }
}
