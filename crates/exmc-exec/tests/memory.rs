//! An instance's memory: long arrays take the place of those that nobody reads any more, and of no
//! others.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{DensitySource, Executor, compile};
use exmc_graph::{DType, Graph, Op, Role, Shape};

/// Elements of every array, and their lines of eight numbers with the one that may be read behind
/// them.
const N: usize = 1000;
const LINES: usize = N / 8 + 1;

/// Running sums of running sums, each scaled and, if `curved`, bent, so that the way back needs it.
fn chain(steps: usize, curved: bool) -> DensitySource {
    let mut graph = Graph::new();
    let g = &mut graph;
    let shape = Shape::from([N]);
    let x = g.input("x", Role::Parameter, shape.clone(), DType::Real).unwrap();
    let mut y = x;
    for k in 0..steps {
        let sum = g.apply(Op::CumSum { axis: 0, reverse: k % 2 == 1 }, &[y]).unwrap();
        y = g.scale(sum, 0.002);
        if curved {
            y = g.tanh(y);
        }
    }
    let bent = g.sin(y);
    let logp = g.sum(bent);
    DensitySource { graph, logp, parameters: vec![(x, 0)], dim: N }
}

/// Lines of one instance, with value and gradient where nothing of them was there before and once
/// more.
fn lines(steps: usize, curved: bool) -> usize {
    let source = chain(steps, curved);
    let position: Vec<f64> =
        (0..N).map(|k| ((k * 7 + 3) as f64 * 0.618_033_988_749_894_9).fract() - 0.3).collect();
    let run = |executor| {
        let program = compile(executor, &source).unwrap();
        let mut instance = program.bind(&|_| None).unwrap().instance();
        let (mut found, mut logp) = (vec![0.0; N], 0.0);
        for _ in 0..2 {
            logp = instance.logp_grad(&position, &mut found).unwrap();
        }
        found.push(logp);
        (found, program.sections().slots)
    };
    let (expected, _) = run(Executor::Reference);
    let (found, slots) = run(Executor::Native);
    let size = expected.iter().fold(1.0_f64, |size, x| size.max(x.abs()));
    for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
        // Sums of a thousand terms in another order, a few dozen times.
        assert!((found - expected).abs() < 1e-12 * size, "element {k}: {found}, not {expected}");
    }
    slots
}

#[test]
fn memory_does_not_grow_with_steps_whose_values_nobody_reads_again() {
    let [few, many] = [6, 30].map(|steps| lines(steps, false));
    // The position, an array or two on the way, registers and some scalars.
    assert!(few < 8 * LINES, "{few} lines");
    assert!(many < few + LINES, "{few} lines for 6 steps, {many} for 30");
}

#[test]
fn what_the_way_back_reads_keeps_its_place() {
    let [few, many] = [6, 30].map(|steps| lines(steps, true));
    assert!(many - few >= 24 * LINES, "{few} lines for 6 steps, {many} for 30");
    // One array a step.
    assert!(many - few < 26 * LINES, "{few} lines for 6 steps, {many} for 30");
}
