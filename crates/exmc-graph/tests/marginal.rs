//! Integrating out: $\log p(z, \phi) = \log p(\phi) + \log N(z; \text{mean}, \text{deviation})$ at
//! any z, and so do slopes.
//!
//! The right side is normalised over z whatever the two numbers are, so that the identity at more
//! points than a polynomial of the second degree has coefficients is the whole claim.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_graph::{
    DType, Graph, Marginal, NodeId, Op, Role, Shape, Tensor, Unary, differentiate, evaluate,
    fold_constants, integrate_normal, release,
};

/// A log density, the input that is integrated out, and what else it depends on.
struct Case {
    name: &'static str,
    g: Graph,
    logp: NodeId,
    z: NodeId,
}

fn parameter(g: &mut Graph, name: &str, shape: impl Into<Shape>) -> NodeId {
    g.input(name, Role::Parameter, shape.into(), DType::Real).unwrap()
}

fn vector(g: &mut Graph, values: &[f64]) -> NodeId {
    g.constant(Tensor::vector(values))
}

/// `sum(log N(x; mean, deviation))` without constants.
fn normal(g: &mut Graph, x: NodeId, mean: NodeId, deviation: NodeId) -> NodeId {
    let apart = g.sub(x, mean);
    let units = g.div(apart, deviation);
    let square = g.square(units);
    let square = g.scale(square, -0.5);
    let log = g.log(deviation);
    let term = g.sub(square, log);
    g.sum(term)
}

/// mu, and tau = exp(t), with priors: the mean, the deviation, and the log density so far.
fn parents(g: &mut Graph) -> (NodeId, NodeId, NodeId) {
    let (mu, t) = (parameter(g, "mu", []), parameter(g, "t", []));
    let (zero, one) = (g.scalar(0.3), g.scalar(1.5));
    let (a, b) = (normal(g, mu, zero, one), normal(g, t, zero, one));
    (mu, g.exp(t), g.add(a, b))
}

const EFFECT: [f64; 4] = [2.0, -0.7, 0.4, 1.3];
const ERROR: [f64; 4] = [0.9, 1.4, 0.6, 2.0];

fn standardised() -> Case {
    let mut g = Graph::new();
    let (mu, tau, prior) = parents(&mut g);
    let z = parameter(&mut g, "z", [4]);
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let effect_density = normal(&mut g, z, zero, one);
    let spread = g.mul(tau, z);
    let effect = g.add(mu, spread);
    let (y, sigma) = (vector(&mut g, &EFFECT), vector(&mut g, &ERROR));
    let seen = normal(&mut g, y, effect, sigma);
    let logp = g.add(prior, effect_density);
    let logp = g.add(logp, seen);
    Case { name: "standardised", g, logp, z }
}

fn centred() -> Case {
    let mut g = Graph::new();
    let (mu, tau, prior) = parents(&mut g);
    let z = parameter(&mut g, "z", [4]);
    let effect_density = normal(&mut g, z, mu, tau);
    let (y, sigma) = (vector(&mut g, &EFFECT), vector(&mut g, &ERROR));
    let seen = normal(&mut g, y, z, sigma);
    let logp = g.add(prior, effect_density);
    let logp = g.add(logp, seen);
    Case { name: "centred", g, logp, z }
}

/// Rows in groups, one of which has none, with a slope, a column of data and an unknown deviation.
fn groups() -> Case {
    let mut g = Graph::new();
    let (mu, tau, prior) = parents(&mut g);
    let z = parameter(&mut g, "z", [3]);
    let effect_density = normal(&mut g, z, mu, tau);
    let group = g.constant(Tensor::indices(&[0, 2, 2, 0, 0, 2]));
    let x = vector(&mut g, &[0.5, -1.0, 2.0, 0.0, 1.5, -0.5]);
    let y = vector(&mut g, &[1.0, 0.3, -0.8, 2.2, 0.1, -1.4]);
    let (slope, s) = (parameter(&mut g, "slope", []), parameter(&mut g, "s", []));
    let sigma = g.softplus(s);
    let gathered = g.gather(z, group);
    let line = g.mul(slope, x);
    let mean = g.add(gathered, line);
    let seen = normal(&mut g, y, mean, sigma);
    let logp = g.add(prior, effect_density);
    let logp = g.add(logp, seen);
    let slope = g.square(slope);
    let logp = g.sub(logp, slope);
    let s = g.square(s);
    let logp = g.sub(logp, s);
    Case { name: "groups", g, logp, z }
}

/// Rows that take elements of what was taken: a part, elements of it in another order, and a part
/// of these.
fn taken_again() -> Case {
    let mut g = Graph::new();
    let (mu, tau, prior) = parents(&mut g);
    let z = parameter(&mut g, "z", [5]);
    let effect_density = normal(&mut g, z, mu, tau);
    let part = g.slice(z, 0, 1, 5);
    let order = g.constant(Tensor::indices(&[3, 0, 0, 2, 1, 3]));
    let taken = g.gather(part, order);
    let again = g.slice(taken, 0, 1, 6);
    let y = vector(&mut g, &[1.0, 0.3, -0.8, 2.2, 0.1]);
    let sigma = vector(&mut g, &[0.7, 1.1, 0.4, 2.0, 0.9]);
    let seen = normal(&mut g, y, again, sigma);
    let all = vector(&mut g, &[0.2, -0.4, 0.9, 1.3, -1.0, 0.6]);
    let one = g.scalar(1.0);
    let others = normal(&mut g, all, taken, one);
    let logp = g.add(prior, effect_density);
    let logp = g.add(logp, seen);
    let logp = g.add(logp, others);
    Case { name: "taken again", g, logp, z }
}

/// A common mean of all rows, through a sum, a product with a matrix, and a condition that is
/// known.
fn shared() -> Case {
    let mut g = Graph::new();
    let (mu, tau, prior) = parents(&mut g);
    let z = parameter(&mut g, "z", []);
    let effect_density = normal(&mut g, z, mu, tau);
    let column = g.broadcast_to(z, &[2].into());
    let matrix = g.constant(Tensor::real([3, 2], vec![1.0, 0.5, -0.3, 2.0, 0.8, 0.1]).unwrap());
    let product = g.matmul(matrix, column);
    let total = g.cumulative_sum(product, 0);
    let condition = vector(&mut g, &[1.0, 0.0, 1.0]);
    let y = vector(&mut g, &[0.3, -0.2, 1.1]);
    let chosen = g.select(condition, total, y);
    let half = g.slice(chosen, 0, 0, 2);
    let seen = normal(&mut g, half, mu, tau);
    let all = g.sum(product);
    let again = normal(&mut g, all, mu, tau);
    let logp = g.add(prior, effect_density);
    let logp = g.add(logp, seen);
    let logp = g.add(logp, again);
    Case { name: "shared", g, logp, z }
}

/// A matrix of effects, a part of another vector, and a product of two expressions of the same
/// element.
fn odd() -> Case {
    let mut g = Graph::new();
    let (mu, tau, prior) = parents(&mut g);
    let z = parameter(&mut g, "z", [2, 2]);
    let effect_density = normal(&mut g, z, mu, tau);
    let flat = g.reshape(z, [4]);
    let some = g.slice(flat, 0, 1, 3);
    let y = vector(&mut g, &[0.4, -1.0]);
    let seen = normal(&mut g, y, some, tau);
    let (left, right) = (g.scale(flat, 0.7), g.shift(flat, 0.4));
    let product = g.mul(left, right);
    let product = g.sum(product);
    let product = g.scale(product, -0.25);
    let logp = g.add(prior, effect_density);
    let logp = g.add(logp, seen);
    let logp = g.add(logp, product);
    Case { name: "odd", g, logp, z }
}

/// Numbers by name: what the inputs of a case are, different at every `turn`.
fn values(turn: usize) -> impl Fn(&str) -> Option<Tensor> {
    move |name| {
        let k = name.bytes().map(usize::from).sum::<usize>() + 31 * turn;
        let value = (k as f64 * 0.618_033_988_749_894_9).fract() * 2.0 - 1.0;
        (name != "z").then(|| Tensor::scalar(value))
    }
}

fn elements(shape: &Shape, turn: usize) -> Tensor {
    let value = |k: usize| ((k * 7 + turn * 5 + 1) as f64 * 0.754_877_666_246_692_7).fract();
    let values: Vec<f64> = (0..shape.len()).map(|k| 6.0 * value(k) - 3.0).collect();
    Tensor::real(shape.clone(), values).unwrap()
}

/// `log p(z, rest) - log N(z; mean, deviation)` as an expression of everything, without anything
/// held.
fn rest(case: &Case, found: &Marginal) -> (Graph, NodeId) {
    let mut g = case.g.clone();
    let same = |_: &mut Graph, _, _: &str| Ok::<_, exmc_graph::GraphError>(None);
    let roots = g.import(&found.graph, &[found.mean, found.deviation], same).unwrap();
    let density = normal(&mut g, case.z, roots[0], roots[1]);
    let n = g.shape(case.z).len() as f64;
    let rest = g.sub(case.logp, density);
    let rest = g.shift(rest, 0.5 * n * std::f64::consts::TAU.ln());
    match release(&g, &[rest]) {
        Some((g, roots)) => (g, roots[0]),
        None => (g, rest),
    }
}

/// A value and its slopes by all inputs but z.
fn slopes(g: &Graph, root: NodeId, look_up: &dyn Fn(&str) -> Option<Tensor>) -> Vec<f64> {
    let (mut g, root) = (g.clone(), root);
    let names = ["mu", "t", "slope", "s"];
    let wrt: Vec<NodeId> = names.iter().filter_map(|name| g.find_input(name)).collect();
    let mut roots = differentiate(&mut g, root, &wrt).unwrap();
    roots.insert(0, root);
    let found = evaluate(&g, &roots, look_up).unwrap();
    found.iter().map(|value| value.as_scalar().unwrap()).collect()
}

fn check(case: &Case, found: &Marginal) {
    let live = found.graph.reachable(&[found.logp, found.mean, found.deviation]);
    let z = found.graph.find_input("z");
    assert!(z.is_none_or(|z| !live[z.index()]), "{}: z is gone", case.name);
    let (g, rest) = rest(case, found);
    for turn in 0..12 {
        let named = values(turn);
        let z = elements(case.g.shape(case.z), turn);
        let look_up = |name: &str| if name == "z" { Some(z.clone()) } else { named(name) };
        let expected = slopes(&g, rest, &look_up);
        let found = slopes(&found.graph, found.logp, &named);
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            // Sums of some ten terms of size one to a hundred, some of them of squares that cancel
            // on the left.
            let allowed = 1e-10 * expected.abs().max(1.0);
            let apart = (found - expected).abs();
            assert!(apart < allowed, "{} {turn} {k}: {found} for {expected}", case.name);
        }
    }
}

#[test]
fn joint_densities_are_marginal_ones_times_conditional_ones() {
    for case in [standardised(), centred(), groups(), taken_again(), shared(), odd()] {
        let found = integrate_normal(&case.g, case.logp, case.z);
        check(&case, &found.unwrap_or_else(|| panic!("{} is normal", case.name)));
    }
}

/// The mean of the hierarchy after its effects: of what the first integration left, not of the
/// original.
#[test]
fn what_is_left_is_integrated_again() {
    for case in [standardised(), centred(), groups()] {
        let first = integrate_normal(&case.g, case.logp, case.z).unwrap();
        let mu = first.graph.find_input("mu").unwrap();
        let second = integrate_normal(&first.graph, first.logp, mu).expect(case.name);
        // Under the name that the oracle leaves free.
        let renamed = |g: &Graph, roots: &[NodeId]| {
            let mut new = Graph::new();
            let z = parameter(&mut new, "z", []);
            let put = |_: &mut Graph, _: NodeId, name: &str| {
                Ok::<_, exmc_graph::GraphError>((name == "mu").then_some(z))
            };
            let roots = new.import(g, roots, put).unwrap();
            (new, roots, z)
        };
        let (g, roots, z) = renamed(&first.graph, &[first.logp]);
        let left = Case { name: case.name, g, logp: roots[0], z };
        check(&left, &second);
    }
}

/// Expressions in which the input is no such polynomial, or its distribution not surely proper.
#[test]
fn what_is_not_plainly_normal_stays() {
    type Make = fn(&mut Graph, NodeId, NodeId) -> NodeId;
    let cases: [(&str, Make); 9] = [
        ("a function of it", |g, z, _| {
            let x = g.exp(z);
            g.sum(x)
        }),
        ("a cube", |g, z, _| {
            let square = g.square(z);
            let cube = g.mul(square, z);
            g.sum(cube)
        }),
        ("two elements together", |g, z, _| {
            let total = g.sum(z);
            let square = g.square(total);
            g.neg(square)
        }),
        ("a matrix", |g, z, _| {
            let matrix = g.constant(Tensor::real([4, 4], vec![0.3; 16]).unwrap());
            let x = g.matmul(matrix, z);
            let square = g.square(x);
            let sum = g.sum(square);
            g.neg(sum)
        }),
        ("two places at once", |g, z, _| {
            let index = g.constant(Tensor::indices(&[1, 0, 3, 2]));
            let other = g.gather(z, index);
            let product = g.mul(z, other);
            g.sum(product)
        }),
        ("a divisor", |g, z, t| {
            let x = g.div(t, z);
            g.sum(x)
        }),
        ("a condition", |g, z, t| {
            let zero = g.scalar(0.0);
            let holds = g.binary(exmc_graph::Binary::Lt, z, zero);
            let x = g.select(holds, z, t);
            g.sum(x)
        }),
        ("a precision of either sign", |g, z, t| {
            let square = g.square(z);
            let product = g.mul(t, square);
            g.sum(product)
        }),
        ("a size", |g, z, _| {
            let x = g.unary(Unary::Abs, z);
            g.sum(x)
        }),
    ];
    for (name, make) in cases {
        let Case { mut g, logp, z, .. } = centred();
        let t = g.find_input("t").unwrap();
        let term = make(&mut g, z, t);
        let logp = g.add(logp, term);
        assert!(integrate_normal(&g, logp, z).is_none(), "{name}");
    }
    // Without a prior, a group without rows has no distribution.
    let mut g = Graph::new();
    let z = parameter(&mut g, "z", [3]);
    let index = g.constant(Tensor::indices(&[0, 0, 2]));
    let (gathered, y) = (g.gather(z, index), vector(&mut g, &[0.1, 0.4, 0.2]));
    let one = g.scalar(1.0);
    let logp = normal(&mut g, y, gathered, one);
    assert!(integrate_normal(&g, logp, z).is_none());
    // Nor has what the density does not speak of.
    let other = parameter(&mut g, "other", [3]);
    assert!(integrate_normal(&g, logp, other).is_none());
}

/// Slopes take what is held as known, until it is released.
#[test]
fn what_is_held_is_held_until_it_is_released() {
    let mut graph = Graph::new();
    let (x, y) = (parameter(&mut graph, "x", []), parameter(&mut graph, "y", []));
    let square = graph.square(x);
    let known = graph.apply(Op::Hold, &[square]).unwrap();
    let product = graph.mul(known, y);
    let root = graph.add(product, x);
    let held = |g: &Graph| g.nodes().iter().filter(|node| node.op == Op::Hold).count();
    let three = |_: &str| Some(Tensor::scalar(3.0));
    let value = |g: &Graph, root| evaluate(g, &[root], &three).unwrap()[0].as_scalar().unwrap();
    let mut with_slopes = graph.clone();
    let slopes = differentiate(&mut with_slopes, root, &[x, y]).unwrap();
    let slopes: Vec<f64> = slopes.into_iter().map(|id| value(&with_slopes, id)).collect();
    assert_eq!(slopes, [1.0, 9.0]);
    let (g, roots) = release(&graph, &[root]).unwrap();
    assert_eq!((held(&graph), held(&g), value(&g, roots[0])), (1, 0, 30.0));
    let (folded, _) = fold_constants(&graph, &[root]);
    assert_eq!(held(&folded), 1, "folding comes before derivatives");
    assert!(release(&g, &roots).is_none());
}

/// Outcomes of size 1e8 with a deviation of one, known to 1e9 beforehand: 50 digits by mpmath
/// (`data/marginal.py`).
#[test]
fn large_means_keep_their_digits() {
    let mut g = Graph::new();
    let (z, s) = (parameter(&mut g, "z", []), parameter(&mut g, "s", []));
    let (zero, wide) = (g.scalar(0.0), g.scalar(1e9));
    let prior = normal(&mut g, z, zero, wide);
    let y = vector(&mut g, &[1e8 + 0.25, 1e8 - 1.5, 1e8 + 0.75, 1e8 + 2.0, 1e8 - 0.5]);
    let sigma = g.exp(s);
    let seen = normal(&mut g, y, z, sigma);
    let logp = g.add(prior, seen);
    let found = integrate_normal(&g, logp, z).unwrap();
    let value_of = |_: &str| Some(Tensor::scalar(0.5));
    let slopes = {
        let mut g = found.graph.clone();
        let s = g.find_input("s").unwrap();
        let slope = differentiate(&mut g, found.logp, &[s]).unwrap()[0];
        evaluate(&g, &[found.logp, slope, found.mean, found.deviation], &value_of).unwrap()
    };
    let expected =
        [-23.887_828_825_034_9, -1.452_434_869_887_762, 100_000_000.2, 0.737_330_567_447_064];
    for (found, expected) in slopes.iter().zip(expected) {
        let found = found.as_scalar().unwrap();
        // One in the last place of 1e8 is 1.5e-8, and residuals have that error.
        assert!((found - expected).abs() < 1e-7 * expected.abs().min(1.0), "{found} {expected}");
    }
}
