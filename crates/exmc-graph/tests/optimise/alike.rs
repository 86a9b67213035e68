//! Alike terms of scalars: one by one in, vectors out, and where they are left as they are.

use exmc_graph::{DType, Graph, NodeId, Op, Role, Shape, Tensor, optimise, print};

use crate::optimise::models::{Build, Model, series};
use crate::optimise::only;

/// What the pass makes of a model's density, whose value and gradient stay.
fn grouped(model: &Model) -> String {
    let (graph, logp, applied) = optimise(&model.graph, model.logp, &only("group-alike"));
    model.check(&graph, logp, "group-alike");
    assert!(applied.iter().all(|a| a.after < a.before));
    print(&graph)
}

/// The operations of a graph, without inputs and constants.
fn operations(text: &str) -> Vec<&str> {
    let separator = |line: &'_ str| -> Option<usize> { line.find(" = ") };
    text.lines()
        .filter_map(|line| line.get(separator(line)? + 3..)?.split(['(', ' ']).next())
        .filter(|op| !matches!(*op, "input" | "constant"))
        .collect()
}

fn count(text: &str, op: &str) -> usize {
    operations(text).iter().filter(|other| **other == op).count()
}

fn variables(b: &mut Build, n: usize) -> Vec<NodeId> {
    (0..n).map(|k| b.parameter(&format!("a{k}"), [])).collect()
}

/// A normal density without constants.
fn normal(g: &mut Graph, [y, location, scale]: [NodeId; 3]) -> NodeId {
    let difference = g.sub(y, location);
    let z = g.div(difference, scale);
    let square = g.square(z);
    let half = g.scale(square, -0.5);
    let log = g.log(scale);
    g.sub(half, log)
}

/// Scalars with a common prior, an outcome each: numbers, or data of their own name.
fn hierarchy(n: usize, is_data: bool) -> Model {
    let mut b = Build::new();
    let [mu, log_tau, log_sigma] = ["mu", "log_tau", "log_sigma"].map(|name| b.parameter(name, []));
    let (tau, sigma) = (b.g.exp(log_tau), b.g.exp(log_sigma));
    let scalars = variables(&mut b, n);
    let mut logp = b.g.square(mu);
    for &a in &scalars {
        let prior = normal(&mut b.g, [a, mu, tau]);
        logp = b.g.add(logp, prior);
    }
    for (k, &a) in scalars.iter().enumerate() {
        let outcome = series(n, 3)[k];
        let y = match is_data {
            true => b.data(&format!("y{k}"), Tensor::scalar(outcome)),
            false => b.g.scalar(outcome),
        };
        let term = normal(&mut b.g, [y, a, sigma]);
        logp = b.g.add(logp, term);
    }
    b.finish("scalars", &[logp])
}

#[test]
fn scalars_with_a_prior_and_an_outcome_each_are_two_sums_over_vectors() {
    for is_data in [false, true] {
        let few = grouped(&hierarchy(10, is_data));
        let many = grouped(&hierarchy(40, is_data));
        assert_eq!(count(&few, "sum"), 2, "{few}");
        assert_eq!(count(&few, "sub"), 2, "{few}");
        assert_eq!(count(&few, "gather"), 0, "{few}");
        // Of operations that depend on their number there is the way into vectors.
        let rest = |text: &str| operations(text).len() - count(text, "reshape");
        assert_eq!(rest(&few), rest(&many), "{few}{many}");
    }
}

#[test]
fn fewer_than_eight_are_left_alone() {
    let model = hierarchy(7, false);
    let (_, _, applied) = optimise(&model.graph, model.logp, &only("group-alike"));
    assert_eq!(applied, []);
    assert_eq!(count(&grouped(&model), "concat"), 0);
}

#[test]
fn others_in_between_stay_and_factors_are_a_vector() {
    let mut b = Build::new();
    let scalars = variables(&mut b, 12);
    let mut logp = b.g.exp(scalars[3]);
    for (k, &a) in scalars.iter().enumerate() {
        let term = if k % 5 == 4 { b.g.exp(a) } else { b.g.sin(a) };
        let term = b.g.scale(term, 1.0 + k as f64);
        logp = b.g.add(logp, term);
    }
    let text = grouped(&b.finish("holes", &[logp]));
    assert_eq!(
        (count(&text, "sin"), count(&text, "exp"), count(&text, "sum")),
        (1, 3, 1),
        "{text}"
    );
}

#[test]
fn data_of_lengths_of_their_own_are_laid_one_behind_the_other() {
    let mut b = Build::new();
    let scalars = variables(&mut b, 9);
    let mut logp = b.g.scalar(0.0);
    for (k, &a) in scalars.iter().enumerate() {
        let rows = b.rows(&format!("y{k}"), 1 + k % 3, 5 + k);
        let difference = b.g.sub(rows, a);
        let square = b.g.softplus(difference);
        let sum = b.g.sum(square);
        logp = b.g.sub(logp, sum);
    }
    let text = grouped(&b.finish("lengths", &[logp]));
    assert_eq!(
        [count(&text, "softplus"), count(&text, "gather"), count(&text, "sum")],
        [1, 1, 1],
        "{text}"
    );
}

#[test]
fn elements_of_a_vector_are_a_part_of_it_in_the_order_of_terms() {
    let mut b = Build::new();
    let v = b.parameter("v", [20]);
    let element = |g: &mut Graph, k: usize| {
        let part = g.slice(v, 0, k, k + 1);
        g.reshape(part, Shape::scalar())
    };
    let mut logp = b.g.scalar(0.0);
    // The last first; steps between neighbours.
    for k in (1..20).rev() {
        let (now, before) = (element(&mut b.g, k), element(&mut b.g, k - 1));
        let step = b.g.sub(now, before);
        let square = b.g.square(step);
        logp = b.g.sub(logp, square);
    }
    let text = grouped(&b.finish("steps", &[logp]));
    assert_eq!(operations(&text).iter().filter(|op| **op == "slice").count(), 2, "{text}");
    assert_eq!((count(&text, "gather"), count(&text, "square")), (0, 1), "{text}");
}

/// Elements of two arrays in alike terms: sums of their own, so that each array is read alone.
/// Rests of fewer than eight stay as they are.
#[test]
fn elements_of_two_arrays_are_sums_of_their_own() {
    for (rest, sums) in [(0, 2), (3, 2), (8, 3)] {
        let mut b = Build::new();
        let arrays = ["u", "v", "w"].map(|name| b.parameter(name, [10]));
        let mut logp = b.g.scalar(0.0);
        for (array, len) in arrays.into_iter().zip([10, 10, rest]) {
            let location = b.parameter(&format!("m{array:?}"), []);
            for k in 0..len {
                let part = b.g.slice(array, 0, k, k + 1);
                let element = b.g.reshape(part, Shape::scalar());
                let difference = b.g.sub(element, location);
                let square = b.g.square(difference);
                logp = b.g.sub(logp, square);
            }
        }
        let text = grouped(&b.finish("arrays", &[logp]));
        assert_eq!(count(&text, "sum"), sums, "{text}");
        assert_eq!((count(&text, "concat"), count(&text, "gather")), (0, 0), "{text}");
        assert_eq!(count(&text, "square"), sums + rest % 8, "{text}");
    }
}

#[test]
fn arrays_that_are_put_together_from_alike_scalars_are_functions_of_vectors() {
    let mut b = Build::new();
    let scalars = variables(&mut b, 10);
    let mut parts = Vec::new();
    for &a in scalars.iter().rev() {
        let exp = b.g.exp(a);
        parts.push(b.g.reshape(exp, [1]));
    }
    let all = b.g.concat(&parts, 0);
    let logp = b.g.log_sum_exp(all, 0);
    let text = grouped(&b.finish("array", &[logp]));
    assert_eq!(count(&text, "exp"), 1, "{text}");
    // The last comes first.
    assert_eq!(count(&text, "gather"), 1, "{text}");
}

#[test]
fn what_is_the_same_in_three_groups_is_computed_three_times() {
    let mut b = Build::new();
    let scalars = variables(&mut b, 30);
    let scales = ["s0", "s1", "s2"].map(|name| b.parameter(name, []));
    let scales = scales.map(|s| b.g.exp(s));
    let mut logp = b.g.scalar(0.0);
    for (k, &a) in scalars.iter().enumerate() {
        let z = b.g.div(a, scales[k % 3]);
        let square = b.g.square(z);
        logp = b.g.sub(logp, square);
    }
    let text = grouped(&b.finish("three", &[logp]));
    assert_eq!([count(&text, "exp"), count(&text, "div")], [3, 1], "{text}");
}

#[test]
fn operations_that_have_no_counterpart_on_vectors_are_left_alone() {
    let mut g = Graph::new();
    let mut logp = g.scalar(0.0);
    for k in 0..10 {
        let x = g.input(&format!("x{k}"), Role::Parameter, [3].into(), DType::Real).unwrap();
        let largest = g.apply(Op::Reduce(exmc_graph::Reduction::Max, vec![0]), &[x]).unwrap();
        logp = g.add(logp, largest);
    }
    let (_, _, applied) = optimise(&g, logp, &only("group-alike"));
    assert_eq!(applied, []);
}
