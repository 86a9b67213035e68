//! Hand-written models: log density and gradient against their analytic forms, and binding.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "expected values are computed independently")]

use std::sync::Arc;

use exmc_density::{DensityModel, EvaluationError, LogDensity};
use exmc_exec::{DensitySource, Executor, FunctionSource, compilations, compile, compile_function};
use exmc_graph::{DType, Graph, Op, Role, ScanBody, Shape, SharedBody, Tensor};

/// Differences of sums that are taken in another order: a few units in the last place each.
const TOLERANCE: f64 = 1e-12;

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= TOLERANCE * b.abs().max(1.0), "{a} differs from {b}");
}

/// y_i ~ normal(a + b x_i, exp(s)), flat priors; data y and x.
fn regression(n: usize) -> DensitySource {
    let mut graph = Graph::new();
    let g = &mut graph;
    let real = |g: &mut Graph, name: &str, role, shape: Shape| {
        g.input(name, role, shape, DType::Real).unwrap()
    };
    let a = real(g, "a", Role::Parameter, Shape::scalar());
    let b = real(g, "b", Role::Parameter, Shape::scalar());
    let s = real(g, "s", Role::Parameter, Shape::scalar());
    let x = real(g, "x", Role::Data, [n].into());
    let y = real(g, "y", Role::Data, [n].into());
    let bx = g.mul(b, x);
    let mean = g.add(a, bx);
    let residual = g.sub(y, mean);
    let sigma = g.exp(s);
    let z = g.div(residual, sigma);
    let square = g.square(z);
    let half = g.scale(square, -0.5);
    let terms = g.sub(half, s);
    let logp = g.sum(terms);
    DensitySource { graph, logp, parameters: vec![(b, 1), (a, 0), (s, 2)], dim: 3 }
}

fn regression_data(n: usize, shift: f64) -> impl Fn(&str) -> Option<Tensor> {
    move |name: &str| {
        let f = |f: &dyn Fn(f64) -> f64| (0..n).map(|i| f(i as f64)).collect::<Vec<_>>();
        match name {
            "x" => Some(Tensor::vector(&f(&|i| i * 0.1 - 1.0))),
            "y" => Some(Tensor::vector(&f(&|i| 0.3 * i + (i * i) % 7.0 + shift))),
            _ => None,
        }
    }
}

#[test]
fn normal_regression_has_its_analytic_gradient() {
    for &executor in Executor::ALL {
        let n = 37;
        let program = compile(executor, &regression(n)).unwrap();
        let data = regression_data(n, 0.0);
        let bound = program.bind(&data).unwrap();
        let (x, y) = (data("x").unwrap(), data("y").unwrap());
        let position = [0.7, -1.3, 0.4];
        let mut gradient = [0.0; 3];
        let logp = bound.instance().logp_grad(&position, &mut gradient).unwrap();
        let [a, b, s] = position;
        let variance = (2.0 * s).exp();
        let mut expected = [0.0; 4];
        for (x, y) in x.values().iter().zip(y.values()) {
            let r = y - (a + b * x);
            expected[0] += r / variance;
            expected[1] += r * x / variance;
            expected[2] += r * r / variance - 1.0;
            expected[3] += -0.5 * r * r / variance - s;
        }
        close(logp, expected[3]);
        for (found, expected) in gradient.iter().zip(expected) {
            close(*found, expected);
        }
    }
}

/// y_i ~ bernoulli_logit(x_i beta + tau u_group[i]), u ~ normal(0, 1), tau = exp(t).
fn logistic(n: usize, k: usize, groups: usize) -> DensitySource {
    let mut graph = Graph::new();
    let g = &mut graph;
    let beta = g.input("beta", Role::Parameter, [k].into(), DType::Real).unwrap();
    let u = g.input("u", Role::Parameter, [groups].into(), DType::Real).unwrap();
    let t = g.input("t", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
    let x = g.input("x", Role::Data, [n, k].into(), DType::Real).unwrap();
    let y = g.input("y", Role::Data, [n].into(), DType::Int).unwrap();
    let group = g.input("group", Role::Data, [n].into(), DType::Int).unwrap();
    let tau = g.exp(t);
    let effect = g.mul(tau, u);
    let effects = g.gather(effect, group);
    let linear = g.matmul(x, beta);
    let eta = g.add(linear, effects);
    let chosen = g.mul(y, eta);
    let normaliser = g.softplus(eta);
    let terms = g.sub(chosen, normaliser);
    let likelihood = g.sum(terms);
    let square = g.square(u);
    let sum = g.sum(square);
    let prior = g.scale(sum, -0.5);
    let logp = g.add(likelihood, prior);
    let parameters = vec![(beta, 0), (u, k), (t, k + groups)];
    DensitySource { graph, logp, parameters, dim: k + groups + 1 }
}

#[test]
fn logistic_regression_with_groups_has_its_analytic_gradient() {
    for &executor in Executor::ALL {
        let (n, k, groups) = (29, 3, 4);
        let x: Vec<f64> = (0..n * k).map(|i| ((i * 37) % 19) as f64 / 7.0 - 1.2).collect();
        let y: Vec<f64> = (0..n).map(|i| ((i * i) % 3 % 2) as f64).collect();
        let group: Vec<usize> = (0..n).map(|i| (i * 5) % groups).collect();
        let data = |name: &str| match name {
            "x" => Tensor::real([n, k], x.clone()),
            "y" => Tensor::int([n], y.clone()),
            "group" => Some(Tensor::indices(&group)),
            _ => None,
        };
        let program = compile(executor, &logistic(n, k, groups)).unwrap();
        let bound = program.bind(&data).unwrap();
        let position = [0.3, -0.8, 0.5, 0.1, -0.2, 1.4, -0.6, -0.35];
        let mut gradient = [0.0; 8];
        let logp = bound.instance().logp_grad(&position, &mut gradient).unwrap();
        let tau = position[7].exp();
        let mut expected = [0.0; 8];
        let mut total = 0.0;
        for j in 0..groups {
            total -= 0.5 * position[k + j] * position[k + j];
            expected[k + j] -= position[k + j];
        }
        for i in 0..n {
            let row = &x[i * k..(i + 1) * k];
            let u = position[k + group[i]];
            let eta = row.iter().zip(&position).map(|(x, b)| x * b).sum::<f64>() + tau * u;
            total += y[i] * eta - eta.exp().ln_1p();
            let residual = y[i] - 1.0 / (1.0 + (-eta).exp());
            for j in 0..k {
                expected[j] += residual * row[j];
            }
            expected[k + group[i]] += residual * tau;
            expected[7] += residual * tau * u;
        }
        close(logp, total);
        for (found, expected) in gradient.iter().zip(expected) {
            close(*found, expected);
        }
    }
}

#[test]
fn data_of_the_same_shape_are_bound_without_compiling() {
    for &executor in Executor::ALL {
        let program = compile(executor, &regression(5)).unwrap();
        let before = compilations();
        let mut seen = Vec::new();
        for k in 0..1000 {
            let bound = program.bind(&regression_data(5, f64::from(k))).unwrap();
            let mut gradient = [0.0; 3];
            seen.push(bound.instance().logp_grad(&[0.0; 3], &mut gradient).unwrap());
        }
        // Other tests of this process compile, but not a thousand times.
        assert!(compilations() - before < 100);
        seen.dedup();
        assert_eq!(seen.len(), 1000, "every binding has its own data");
    }
}

#[test]
fn data_that_do_not_fit_are_errors_with_the_name() {
    for &executor in Executor::ALL {
        let program = compile(executor, &regression(5)).unwrap();
        let error = program.bind(&regression_data(4, 0.0)).unwrap_err();
        assert_eq!(error.message(), "data variable `x`: expected real[5], found real[4]");
        let only_x = |name: &str| regression_data(5, 0.0)(name).filter(|_| name == "x");
        let error = program.bind(&only_x).unwrap_err();
        assert_eq!(error.message(), "data variable `y`: expected real[5], found nothing");

        let program = compile(executor, &logistic(2, 1, 8)).unwrap();
        let data = |name: &str| match name {
            "x" => Tensor::real([2, 1], vec![1.0, 2.0]),
            "y" => Some(Tensor::indices(&[0, 1])),
            "group" => Some(Tensor::indices(&[3, 8])),
            _ => None,
        };
        let error = program.bind(&data).unwrap_err();
        assert_eq!(error.message(), "`group`: index 8 is outside 0..8");
    }
}

#[test]
fn parameters_must_tile_the_position() {
    for &executor in Executor::ALL {
        let mut source = regression(5);
        source.dim = 4;
        let error = compile(executor, &source).unwrap_err();
        assert_eq!(error.message(), "the parameters have 3 elements, the position 4");
        source = regression(5);
        source.parameters[1].1 = 1;
        assert!(compile(executor, &source).is_err());
    }
}

#[test]
fn instances_agree_to_the_bit() {
    for &executor in Executor::ALL {
        let program = compile(executor, &regression(23)).unwrap();
        let bound = program.bind(&regression_data(23, 0.5)).unwrap();
        let mut instances: Vec<_> = (0..4).map(|_| bound.instance()).collect();
        let mut used = bound.instance();
        for step in 0..20 {
            let t = f64::from(step);
            let position = [0.1 * t, 1.0 - t, 0.02 * t];
            let run = |instance: &mut exmc_exec::DensityInstance| {
                let mut gradient = [0.0; 3];
                let logp = instance.logp_grad(&position, &mut gradient).unwrap();
                [logp, gradient[0], gradient[1], gradient[2]].map(f64::to_bits)
            };
            let first = run(&mut used);
            assert!(instances.iter_mut().all(|instance| run(instance) == first));
        }
    }
}

#[test]
fn values_outside_the_support_are_returned() {
    for &executor in Executor::ALL {
        let mut graph = Graph::new();
        let x = graph.input("x", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
        let logp = graph.log(x);
        let source = DensitySource { graph, logp, parameters: vec![(x, 0)], dim: 1 };
        let bound = compile(executor, &source).unwrap().bind(&|_| None).unwrap();
        let mut instance = bound.instance();
        let mut gradient = [0.0];
        assert_eq!(instance.logp_grad(&[0.0], &mut gradient), Ok(f64::NEG_INFINITY));
        assert!(instance.logp_grad(&[-1.0], &mut gradient).unwrap().is_nan());
    }
}

#[test]
fn functions_return_their_outputs_one_after_the_other() {
    for &executor in Executor::ALL {
        let mut graph = Graph::new();
        let x = graph.input("x", Role::Parameter, [2].into(), DType::Real).unwrap();
        let data = graph.input("d", Role::Data, Shape::scalar(), DType::Real).unwrap();
        let scaled = graph.mul(x, data);
        let sum = graph.sum(x);
        let reversed = graph.apply(Op::Slice { axis: 0, start: 1, step: 1, len: 1 }, &[x]).unwrap();
        let outputs = vec![scaled, sum, data, reversed];
        let source = FunctionSource { graph, outputs, parameters: vec![(x, 0)], dim: 2 };
        let function = compile_function(executor, &source).unwrap();
        assert_eq!(function.sizes(), [2, 1, 1, 1]);
        let bound = function.bind(&|_| Some(Tensor::scalar(10.0))).unwrap();
        let mut out = [0.0; 5];
        bound.instance().evaluate(&[1.0, 2.0], &mut out).unwrap();
        assert_eq!(out, [10.0, 20.0, 3.0, 10.0, 2.0]);
    }
}

#[test]
fn an_index_that_a_loop_cannot_follow_is_an_error() {
    for &executor in Executor::ALL {
        // A loop that reads x[i] for an index i of its sequence: bound data are checked when it
        // runs.
        let mut body = Graph::new();
        let carry = body.input("carry0", Role::Parameter, Shape::scalar(), DType::Real).unwrap();
        let index = body.input("x0", Role::Data, Shape::scalar(), DType::Int).unwrap();
        let table = body.input("fixed0", Role::Parameter, [3].into(), DType::Real).unwrap();
        let entry = body.gather(table, index);
        let next = body.mul(carry, entry);
        let body = ScanBody { graph: body, next: vec![next], stacked: vec![], counts: [1, 1, 1] };
        let mut g = Graph::new();
        let x = g.input("x", Role::Parameter, [3].into(), DType::Real).unwrap();
        let order = g.input("order", Role::Data, [4].into(), DType::Int).unwrap();
        let one = g.scalar(1.0);
        let op = Op::Scan { length: 4, reverse: false, body: SharedBody(Arc::new(body)) };
        let scan = g.apply(op, &[one, order, x]).unwrap();
        let logp = g.apply(Op::Project(0), &[scan]).unwrap();
        let source = DensitySource { graph: g, logp, parameters: vec![(x, 0)], dim: 3 };
        let program = compile(executor, &source).unwrap();
        // The native executor takes the look-up out of the loop, so that binding checks it.
        let bad = program.bind(&|_| Some(Tensor::indices(&[0, 1, 3, 0])));
        let run = |order: &[usize]| {
            let bound = program.bind(&|_| Some(Tensor::indices(order))).unwrap();
            let mut gradient = [0.0; 3];
            let logp = bound.instance().logp_grad(&[1.0, 10.0, 100.0], &mut gradient)?;
            Ok((logp, gradient))
        };
        assert_eq!(run(&[2, 0, 2, 1]), Ok((1e5, [1e5, 1e4, 2e3])));
        let message = "index 3 is outside 0..3".to_owned();
        if executor == Executor::Native {
            assert_eq!(bad.unwrap_err().message(), format!("`order`: {message}"));
        } else {
            assert_eq!(run(&[0, 1, 3, 0]), Err(EvaluationError::Fatal(message)));
        }
    }
}

#[test]
fn a_program_prints_its_prelude_and_steps() {
    let mut graph = Graph::new();
    let x = graph.input("x", Role::Parameter, [2].into(), DType::Real).unwrap();
    let d = graph.input("d", Role::Data, [2].into(), DType::Real).unwrap();
    let weight = graph.exp(d);
    let product = graph.mul(weight, x);
    let logp = graph.sum(product);
    let source = DensitySource { graph, logp, parameters: vec![(x, 0)], dim: 2 };
    let program = compile(Executor::Reference, &source).unwrap();
    let text = "prelude // 1 operations\n  %1 = input \"d\" : real[2] data\n  \
                %2 = exp(%1) : real[2] data\nmain // 2 operations, 0 in loops, 3 slots\n  \
                s0 = input %0\n  s1 = mul(c0, s0) : [2]\n  s2 = sum(s1) : []\n  result s2, c0\n";
    assert_eq!(program.print(), text);
}
