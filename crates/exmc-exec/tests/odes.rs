//! Initial value problems: the native executor, whose slopes are machine code, against the
//! reference, to the bit at every level.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_exec::{Executor, FunctionSource, compile_function};
use exmc_graph::{DType, Graph, NodeId, OdeArguments, Role, Shape, Tensor, ode};
use exmc_math::simd::Level;
use exmc_math::{OdeControl, OdeMethod};

const CONTROL: OdeControl = OdeControl { relative: 1e-6, absolute: 1e-8, max_steps: 100_000 };
const METHODS: [OdeMethod; 3] = [OdeMethod::Rk45, OdeMethod::Ckrk, OdeMethod::Adams];

fn element(g: &mut Graph, x: NodeId, k: usize) -> NodeId {
    let part = g.slice(x, 0, k, k + 1);
    g.reshape(part, [])
}

/// The slope's components, from time, states and values.
type Slope<'a> = &'a dyn Fn(&mut Graph, NodeId, &[NodeId], &[NodeId]) -> Vec<NodeId>;

/// Which of a problem's numbers are parameters.
#[derive(Clone, Copy, Debug)]
struct Varying {
    start: bool,
    values: usize,
    time: bool,
}

/// The native executor's numbers are the reference's at every level, for every method; gives those
/// by the first one.
fn check(name: &str, n: usize, values: &[f64], varying: Varying, slope: Slope<'_>) -> Vec<f64> {
    let m = values.len();
    let mut body = Graph::new();
    let input = |g: &mut Graph, name: &str, shape: &[usize]| {
        g.input(name, Role::Parameter, Shape::from(shape), DType::Real).unwrap()
    };
    let t = input(&mut body, "t", &[]);
    let (y, v) = (input(&mut body, "y", &[n]), input(&mut body, "values", &[m]));
    let y: Vec<NodeId> = (0..n).map(|k| element(&mut body, y, k)).collect();
    let v: Vec<NodeId> = (0..m).map(|k| element(&mut body, v, k)).collect();
    let slopes = slope(&mut body, t, &y, &v);
    let slopes: Vec<NodeId> = slopes.into_iter().map(|s| body.reshape(s, [1])).collect();
    let slope = body.concat(&slopes, 0);
    let mut found = Vec::new();
    for method in METHODS {
        let mut graph = Graph::new();
        let (mut parameters, mut position) = (Vec::new(), Vec::new());
        let mut part = |graph: &mut Graph, name: &str, numbers: &[f64], varies: bool| {
            if !varies || numbers.is_empty() {
                return graph.constant(Tensor::vector(numbers));
            }
            let node = input(graph, name, &[numbers.len()]);
            parameters.push((node, position.len()));
            position.extend_from_slice(numbers);
            node
        };
        let start: Vec<f64> = (0..n).map(|k| 0.4 + 0.3 * k as f64).collect();
        let start = part(&mut graph, "start", &start, varying.start);
        let first = part(&mut graph, "first", &values[..varying.values], true);
        let rest = part(&mut graph, "rest", &values[varying.values..], false);
        let initial_time = part(&mut graph, "time", &[0.25], varying.time);
        let initial_time = graph.reshape(initial_time, []);
        let times = graph.constant(Tensor::vector(&[0.25, 0.5, 1.75, 2.0]));
        let arguments = OdeArguments {
            graph: body.clone(),
            slope,
            method,
            control: CONTROL,
            start,
            values: vec![first, rest],
            initial_time,
            times,
        };
        let solution = ode(&mut graph, arguments).unwrap();
        // States and sensitivities as the solver leaves them.
        let packed = graph.node(solution).args[1];
        let (size, dim) = (graph.shape(packed).len(), position.len());
        let source = FunctionSource { graph, outputs: vec![packed], parameters, dim };
        let run = |executor, level: Option<Level>| {
            let mut bound = compile_function(executor, &source).unwrap().bind(&|_| None).unwrap();
            if let Some(level) = level {
                bound = bound.at_level(level);
            }
            let mut instance = bound.instance();
            let mut found = vec![0.0; size];
            // Another position first, so that nothing may be left over from the last one.
            let other: Vec<f64> = position.iter().map(|x| 1.01 * x).collect();
            instance.evaluate(&other, &mut found).unwrap();
            instance.evaluate(&position, &mut found).unwrap();
            found
        };
        let expected = run(Executor::Reference, None);
        assert!(expected.iter().all(|x| x.is_finite()), "{name} by {method:?}: {expected:?}");
        for level in Level::available() {
            let native = run(Executor::Native, Some(level));
            for (k, (native, expected)) in native.iter().zip(&expected).enumerate() {
                let level = level.name();
                assert_eq!(native, expected, "{name} of {n} by {method:?} at {level}, {k}");
            }
        }
        if found.is_empty() {
            found = expected;
        }
    }
    found
}

const ALL: Varying = Varying { start: true, values: 2, time: true };

/// Pairs of neighbours that feed on each other: every tail of rows of four columns, every number of
/// states.
#[test]
fn rows_of_any_length() {
    let ring: Slope<'_> = &|g, _, y, v| {
        let n = y.len();
        (0..n)
            .map(|k| {
                let product = g.mul(y[k], y[(k + 1) % n]);
                let (gain, loss) = (g.mul(v[0], product), g.mul(v[v.len() - 1], y[k]));
                g.sub(gain, loss)
            })
            .collect()
    };
    for n in 1..=6 {
        for varies in 0..=5 {
            let others = [(false, false), (true, false), (false, true)];
            for (start, time) in
                others.into_iter().filter(|other| varies > 0 || *other != (false, false))
            {
                let varying = Varying { start, values: varies, time };
                check("ring", n, &[0.3, 0.1, 0.2, 0.4, 0.7], varying, ring);
            }
        }
    }
}

/// Every function and operation that has code, of time, states and values.
#[test]
fn functions_and_branches() {
    let found = check("functions", 3, &[0.5, 1.5], ALL, &|g, t, y, v| {
        let (rise, turned) = (g.exp(y[0]), g.mul(t, v[0]));
        let bent = g.tanh(turned);
        let first = g.sub(bent, rise);
        let (root, inverse) = (g.sqrt(y[1]), g.reciprocal(v[1]));
        let (soft, share) = (g.softplus(y[1]), g.inv_logit(y[2]));
        let (a, b) = (g.mul(root, inverse), g.sub(share, soft));
        let second = g.add(a, b);
        let early = g.lt(t, v[1]);
        let (log, log1p) = (g.log(y[1]), g.log1p(y[0]));
        let chosen = g.select(early, log, log1p);
        let (small, negative) = (g.expm1(t), g.neg(y[2]));
        let third = g.div(chosen, small);
        let third = g.max(third, negative);
        let square = g.square(y[2]);
        let third = g.sub(third, square);
        vec![first, second, third]
    });
    // What is computed depends on all that it is made of.
    assert!(found[found.len() - 6..].iter().all(|x| *x != 0.0), "{found:?}");
}

/// More scalars at once than there are registers.
#[test]
fn scalars_that_give_their_registers_away() {
    check("dense", 6, &[0.11, 0.07], ALL, &|g, t, y, v| {
        let products: Vec<NodeId> = (0..36).map(|k| g.mul(y[k / 6], y[k % 6])).collect();
        (0..6)
            .map(|row| {
                let mut sum = g.mul(v[0], t);
                for (k, product) in products.iter().enumerate() {
                    let weight = g.scalar(0.01 * ((k * 7 + row * 5) % 13) as f64 - 0.06);
                    let term = g.mul(weight, *product);
                    sum = g.add(sum, term);
                }
                let loss = g.mul(v[1], y[row]);
                g.sub(sum, loss)
            })
            .collect()
    });
}

/// A right-hand side that has no code is solved all the same.
#[test]
fn what_has_no_code() {
    check("sine", 2, &[0.5, 1.5], ALL, &|g, t, y, v| {
        let (sine, power) = (g.sin(t), g.pow(y[0], v[1]));
        let first = g.mul(v[0], sine);
        vec![g.sub(first, power), y[0]]
    });
}
