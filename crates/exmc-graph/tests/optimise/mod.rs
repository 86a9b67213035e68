//! Optimisations: value and gradient stay, the estimated cost falls, and text in gives text out.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod alike;
mod models;
mod repeated_rows;
mod rules;
mod softmax;

use exmc_graph::{Graph, NodeId, OPTIMISATIONS, Tensor, cost, optimise};
use models::*;

/// All passes but one.
fn only(name: &str) -> Vec<String> {
    OPTIMISATIONS.iter().filter(|p| p.name != name).map(|p| p.name.to_owned()).collect()
}

#[test]
fn values_and_gradients_stay_and_costs_fall() {
    for model in models() {
        let (graph, logp, applied) = optimise(&model.graph, model.logp, &[]);
        model.check(&graph, logp, "all");
        for pass in OPTIMISATIONS {
            let (graph, logp, applied) = optimise(&model.graph, model.logp, &only(pass.name));
            model.check(&graph, logp, pass.name);
            assert!(applied.iter().all(|a| a.pass == pass.name));
            let (graph, logp, applied) =
                optimise(&model.graph, model.logp, &[pass.name.to_owned()]);
            model.check(&graph, logp, "without");
            assert!(applied.iter().all(|a| a.pass != pass.name));
        }
        // What is estimated is what is printed, and it falls where there are rows to save.
        let after = cost(&graph, &[logp]);
        assert!(applied.last().is_none_or(|a| a.after == after));
        if model.name.contains("500") {
            let before = applied[0].before;
            assert!(after < before, "{}: {before} to {after}", model.name);
        }
        // A second round finds little to do, and nothing that is wrong.
        let (graph, logp, _) = optimise(&graph, logp, &[]);
        model.check(&graph, logp, "twice");
    }
}

/// Elements that an evaluation computes: the length of every node that depends on parameters.
fn elements(graph: &Graph, root: NodeId) -> usize {
    let live = graph.reachable(&[root]);
    let live_nodes = graph.ids().filter(|id| live[id.index()]);
    live_nodes
        .map(|id| match graph.node(id) {
            node if node.dependence != exmc_graph::Dependence::Parameter => 0,
            node => node.shape.len(),
        })
        .sum()
}

#[test]
fn gaussian_rows_leave_no_work_that_grows_with_them() {
    type Make = fn(usize) -> Model;
    let makers: [(&str, Make); 8] = [
        ("mean", mean),
        ("groups", |n| groups(n, 4, false)),
        ("stress", |n| groups(n, 4, true)),
        ("regression", |n| regression(n, 5, false)),
        ("known scales", |n| regression(n, 5, true)),
        ("radon", |n| slopes(n, 6, 0)),
        ("radon with columns", |n| slopes(n, 6, 4)),
        ("crossed", crossed),
    ];
    for (name, make) in makers {
        let work = [1000, 4000].map(|n| {
            let model = make(n);
            let (graph, logp, _) = optimise(&model.graph, model.logp, &[]);
            elements(&graph, logp)
        });
        assert_eq!(work[0], work[1], "{name}");
        assert!(work[0] < 1000, "{name}: {} elements", work[0]);
    }
}

#[test]
fn the_same_graph_takes_other_data() {
    let mut model = slopes(500, 6, 2);
    let (graph, logp, _) = optimise(&model.graph, model.logp, &[]);
    for (name, value) in &mut model.inputs {
        if name == "y" {
            *value = Tensor::vector(&series(500, 17));
        }
        if name == "county" {
            // All rows in two counties.
            *value = Tensor::indices(&(0..500).map(|r| r % 2 * 5).collect::<Vec<_>>());
        }
    }
    model.check(&graph, logp, "other data");
}

#[test]
fn elements_that_no_row_reads_do_not_matter() {
    // The log of a table with a zero that no row reads, once alone and once beneath a square.
    for squared in [false, true] {
        let mut b = Build::new();
        let table = b.parameter("t", [3]);
        b.inputs[0].1 = Tensor::vector(&[0.5, 0.0, 2.0]);
        let index = b.data("i", Tensor::indices(&[0, 2, 2, 0, 2, 2, 2, 0, 0, 0, 2, 0]));
        let y = b.rows("y", 12, 3);
        let rows = if squared {
            let log = b.g.log(table);
            let rows = b.g.gather(log, index);
            let residual = b.g.sub(y, rows);
            b.g.square(residual)
        } else {
            let rows = b.g.gather(table, index);
            b.g.log(rows)
        };
        let sum = b.g.sum(rows);
        let model = b.finish("unread", &[sum]);
        let (graph, logp, _) = optimise(&model.graph, model.logp, &[]);
        // Where the table itself holds the pole, its own derivative is not finite in either form.
        let expected = model.evaluate(&model.graph, model.logp);
        let found = model.evaluate(&graph, logp);
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let same = (found - expected).abs() < 1e-14 * expected.abs().max(1.0);
            assert!(same || expected.is_nan(), "element {k}: {found}, not {expected}");
        }
        assert!(found[0].is_finite());
    }
}
