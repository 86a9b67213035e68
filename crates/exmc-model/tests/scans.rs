//! Models with loops over time: log densities and gradients against mpmath (`data/scans.py`), and
//! the builder's form of the same models.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use exmc_graph::{DType, NodeId, Role, Tensor, differentiate, evaluate};
use exmc_model::distributions::normal;
use exmc_model::{
    DataSet, Expr, LowerOptions, Model, ModelBuilder, Scan, lower, read_json, rewrite, write_json,
};

/// Log density and gradient at a position in the order of names.
fn logp_grad(model: &Model, position: &[f64]) -> Vec<f64> {
    let data = DataSet::new().bind(model).unwrap();
    let lowered = lower(&rewrite(model, &[]).unwrap(), LowerOptions::default()).unwrap();
    assert_eq!(position.len(), lowered.dim);
    let mut graph = lowered.graph.clone();
    let mut parameters: Vec<NodeId> = Vec::new();
    for entry in &lowered.layout {
        let shape = entry.unconstrained.clone();
        let input = graph.input(&entry.name, Role::Parameter, shape, DType::Real).unwrap();
        parameters.push(input);
    }
    let mut roots = vec![lowered.logp];
    roots.extend(differentiate(&mut graph, lowered.logp, &parameters).unwrap());
    let value = |name: &str| {
        let Some(entry) = lowered.layout.iter().find(|entry| entry.name == name) else {
            return data.get(name).cloned();
        };
        let part = &position[entry.offset..entry.offset + entry.unconstrained.len()];
        Tensor::real(entry.unconstrained.clone(), part)
    };
    let found = evaluate(&graph, &roots, &value).unwrap();
    found.iter().flat_map(|tensor| tensor.values().to_vec()).collect()
}

fn corpus(name: &str) -> Model {
    let file = format!("tests/corpus/good/{name}.json");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    read_json(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn assert_close(name: &str, found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
        // Six steps of a few roundings each, of terms of size ten at most.
        let error = (found - expected).abs();
        assert!(error <= 1e-13 * expected.abs().max(1.0), "{name}, {k}: {found}, {expected}");
    }
}

#[test]
fn densities_and_gradients_are_those_of_their_formulas() {
    let mut rows = 0;
    for line in include_str!("data/scans.csv").lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers = |text: &str| -> Vec<f64> {
            text.split(' ').map(|number| number.parse().unwrap()).collect()
        };
        let [name, position, logp, gradient] = fields[..] else { panic!("{line}") };
        let expected = [numbers(logp), numbers(gradient)].concat();
        let found = logp_grad(&corpus(name), &numbers(position));
        assert_close(name, &found, &expected);
        rows += 1;
    }
    assert_eq!(rows, 5);
}

#[test]
fn the_builder_makes_what_the_text_says() {
    let mut model = ModelBuilder::new();
    let y = [0.5, -1.25, 2.0, 0.75, -0.5, 1.5];
    model.data("y", Tensor::vector(&y));
    for (name, scale) in [("mu", 10.0), ("phi", 2.0), ("theta", 2.0), ("log_sigma", 1.0)] {
        model.rv(name, normal(0.0, scale));
    }
    let step = "mu" + Expr::name("phi") * "before" + Expr::name("theta") * "error";
    let scan = Scan::new()
        .sequence("now", Expr::name("y").slice(1, 6))
        .sequence("before", Expr::name("y").slice(0, 5))
        .carry("error", 0.0, Expr::name("now") - step);
    model.det("errors", scan.states("error"));
    // The last state is the last of all states: a term that is zero.
    model.det("last", scan.last("error"));
    let z = Expr::name("errors") / Expr::name("log_sigma").exp();
    let last = (Expr::name("last") - Expr::name("errors").at(4)) * 3.0;
    model.potential("likelihood", z.square().sum() * -0.5 - Expr::name("log_sigma") * 5.0 + last);
    let model = model.build().unwrap();
    let position = [0.25, 0.5, -0.375, 0.75];
    let expected = logp_grad(&corpus("scan_arma"), &position);
    assert_close("builder", &logp_grad(&model, &position), &expected);
    let again = read_json(&write_json(&model)).unwrap();
    assert_eq!(logp_grad(&again, &position), logp_grad(&model, &position));
    assert!(model.print().contains("errors = scan("), "{}", model.print());
}

#[test]
fn names_of_steps_hide_those_of_the_model_and_refer_to_nothing_outside() {
    let scan = Scan::new().sequence("row", "rows").value("sum", Expr::name("row") + "shift");
    let scan = scan.carry("state", "start", Expr::name("state") * "sum");
    let each = scan.each(Expr::name("state") + "other");
    assert_eq!(each.references(), ["other", "rows", "shift", "start"]);
    // A million loops in each other's starts are dropped without a stack as deep.
    let mut deep = Expr::from(0.0);
    for _ in 0..100_000 {
        deep = Scan::new().steps(1).carry("s", deep, "s").last("s");
    }
    drop(deep);
}

#[test]
fn a_scan_may_stand_in_the_steps_of_another() {
    // Powers of each row, added up: the sum over t of x_t + x_t^2 + x_t^3.
    let mut model = ModelBuilder::new();
    model.rv("x", normal(0.0, 1.0)).shape([4]);
    let powers = Scan::new().steps(3).carry("power", 1.0, Expr::name("power") * "now");
    let total = Expr::name("total") + powers.states("power").sum();
    let scan = Scan::new().sequence("now", "x").carry("total", 0.0, total);
    model.potential("sums", scan.last("total"));
    let model = model.build().unwrap();
    let x = [0.5, -0.25, 1.5, -2.0];
    let half_log_2_pi = 0.918_938_533_204_672_8;
    let logp = |x: f64| -0.5 * x * x - half_log_2_pi + x + x * x + x * x * x;
    let mut expected = vec![x.iter().map(|&x| logp(x)).sum::<f64>()];
    expected.extend(x.iter().map(|x| -x + 1.0 + 2.0 * x + 3.0 * x * x));
    assert_close("nested", &logp_grad(&model, &x), &expected);
    let again = read_json(&write_json(&model)).unwrap();
    assert_close("nested, written and read", &logp_grad(&again, &x), &expected);
}
