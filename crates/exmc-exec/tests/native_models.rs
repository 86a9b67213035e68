//! The native executor on models of the kinds that people fit: values, bits, and no slow paths.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{BoundDensity, DensitySource, Executor, Sections, compile, compile_without};
use exmc_graph::{DType, Graph, NodeId, Role, Tensor};
use exmc_math::simd::Level;

use crate::support::models;
use crate::support::models::Model;

/// The models at sizes that do not fill a vector, a block or a tile, and at some that do.
fn models() -> Vec<Model> {
    let mut all = vec![models::eight_schools()];
    for n in [1, 7, 8, 33, 96, 97, 500] {
        all.extend([models::logistic(n, 20), models::logistic(n, 3), models::regression(n)]);
    }
    for (n, groups) in [(5, 3), (1000, 10), (1003, 100), (10_000, 100)] {
        all.extend([models::student(n, groups, true), models::student(n, groups, false)]);
    }
    all.extend([models::volatility(3), models::volatility(100), models::volatility(1000)]);
    for n in [4, 60, 1000] {
        all.extend([models::groups(n, 3, false), models::groups(n, 3, true)]);
        all.extend([models::linear(n, 9), models::radon(n, 30), models::clamped(n)]);
    }
    all.extend([models::item_response(7, 3), models::item_response(100, 20)]);
    all.extend([models::mixture(9, 2), models::mixture(300, 3), models::gaussian_process(11)]);
    all.extend([models::gaussian_process(1), models::gaussian_process(13)]);
    all
}

fn bind(executor: Executor, model: &Model) -> (BoundDensity, Sections) {
    let program = compile(executor, &model.source).unwrap();
    let bound = program.bind(&|name| model.data(name)).unwrap();
    (bound, program.sections())
}

/// Log density and gradient.
fn evaluate(bound: &BoundDensity, position: &[f64]) -> Vec<f64> {
    let mut values = vec![0.0; position.len() + 1];
    values[0] = bound.instance().logp_grad(position, &mut values[1..]).unwrap();
    values
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|v| v.to_bits()).collect()
}

#[test]
fn models_agree_with_the_reference_and_between_levels_to_the_bit() {
    for model in models() {
        let position = model.position();
        let expected = evaluate(&bind(Executor::Reference, &model).0, &position);
        let (bound, _) = bind(Executor::Native, &model);
        let found = evaluate(&bound, &position);
        // Sums of up to 1e4 terms of both signs in another order: rounding grows with the terms'
        // size, for which the largest element of the gradient stands, and with the root of their
        // number.
        let size = expected.iter().fold(1.0, |size: f64, v| size.max(v.abs()));
        for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let error = (found - expected).abs() / size;
            let name = &model.name;
            assert!(error < 1e-14, "{name}, element {k}: {found}, expected {expected}");
        }
        for level in Level::available() {
            let other = evaluate(&bound.clone().at_level(level), &position);
            assert_eq!(bits(&other), bits(&found), "{} at {}", model.name, level.name());
        }
        // Another binding, and an instance that has seen another position.
        let (again, _) = bind(Executor::Native, &model);
        let mut instance = again.instance();
        let mut values = vec![0.0; position.len() + 1];
        let elsewhere: Vec<f64> = position.iter().map(|x| 1.0 - x).collect();
        instance.logp_grad(&elsewhere, &mut values[1..]).unwrap();
        values[0] = instance.logp_grad(&position, &mut values[1..]).unwrap();
        assert_eq!(bits(&values), bits(&found), "{}: an instance that was used", model.name);
    }
}

#[test]
fn inside_of_its_limits_a_density_runs_without_clamps() {
    let model = models::clamped(60);
    let program = compile(Executor::Native, &model.source).unwrap();
    let without = ["drop-clamps".to_owned()];
    let general = compile_without(Executor::Native, &model.source, &without).unwrap();
    assert_eq!(program.optimisations().last().map(|a| a.pass), Some("drop-clamps"));
    assert!(general.optimisations().iter().all(|a| a.pass != "drop-clamps"));
    let text = program.print();
    assert!(text.starts_with("where -200 <= z <= 200\n"), "{text}");
    assert!(text.contains("\nelsewhere\n"), "{text}");
    let (inside, outside) = text.split_once("\nelsewhere\n").unwrap();
    let ordinary = [inside, outside].map(|text| text.contains("ExpOfOrdinary("));
    assert_eq!(ordinary, [true, false], "{text}");
    // Two clamps of one vector, their masks and what is added under them.
    let saved = general.sections().main - program.sections().main;
    assert!(saved >= 6, "{saved} operations saved");
    let [found, general] = [program, general].map(|p| p.bind(&|name| model.data(name)).unwrap());
    let reference = bind(Executor::Reference, &model).0;
    let position_at = |z: [f64; 2]| [0.3, z[0], z[1]];
    let inside = [[-0.4, 0.7], [200.0, 0.1], [-200.0, 199.9]];
    let outside =
        [[200.1, 0.0], [0.0, -201.0], [350.0, -350.0], [f64::NAN, 0.0], [0.0, f64::INFINITY]];
    // One instance for all, so that what an evaluation leaves behind shows.
    let mut instance = found.instance();
    for (z, is_inside) in inside.map(|z| (z, true)).into_iter().chain(outside.map(|z| (z, false))) {
        let position = position_at(z);
        let mut values = vec![0.0; position.len() + 1];
        values[0] = instance.logp_grad(&position, &mut values[1..]).unwrap();
        if !is_inside {
            assert_eq!(bits(&values), bits(&evaluate(&general, &position)), "{z:?}");
        }
        // The bits of what is no number are nobody's.
        for level in Level::available().into_iter().filter(|_| values.iter().all(|v| !v.is_nan())) {
            let other = evaluate(&found.clone().at_level(level), &position);
            assert_eq!(bits(&other), bits(&values), "{z:?} at {}", level.name());
        }
        for (found, expected) in values.iter().zip(evaluate(&reference, &position)) {
            let same = *found == expected || (found.is_nan() && expected.is_nan());
            let error = (found - expected).abs() / expected.abs();
            assert!(same || error < 1e-12, "{z:?}: {found}, not {expected}");
        }
    }
}

#[test]
fn a_bad_index_is_still_the_users_to_hear_of() {
    let model = models::radon(300, 20);
    let program = compile(Executor::Native, &model.source).unwrap();
    let data = |name: &str| match name {
        "county" => Some(Tensor::indices(&(0..300).map(|k| k % 21).collect::<Vec<_>>())),
        name => model.data(name),
    };
    let error = program.bind(&data).unwrap_err();
    assert_eq!(error.message(), "`county`: index 20 is outside 0..20");
}

#[test]
fn models_need_no_slow_path() {
    for model in models() {
        let program = compile(Executor::Native, &model.source).unwrap();
        let Sections { calls, one_by_one, .. } = program.sections();
        assert_eq!((calls, one_by_one), (0, 0), "{}", model.name);
        assert_eq!(program.fallbacks(), Vec::<&str>::new(), "{}", model.name);
    }
}

#[test]
fn extreme_positions_give_what_the_reference_gives() {
    // Overflow, underflow and poles: finite or not must agree, and finite numbers to rounding.
    let model = models::regression(33);
    let (native, _) = bind(Executor::Native, &model);
    let (reference, _) = bind(Executor::Reference, &model);
    // Taking a log of an exponential for its argument is right where the exponential is 0 or
    // infinite, too.
    let without = ["cancel-inverses".to_owned()];
    let program = compile_without(Executor::Native, &model.source, &without).unwrap();
    let literal = program.bind(&|name| model.data(name)).unwrap();
    for s in [-800.0, -300.0, -30.0, 30.0, 300.0, 800.0, f64::INFINITY, f64::NAN] {
        let position = [0.3, -0.2, s];
        let native = if s.abs() == 800.0 { &literal } else { &native };
        let (found, expected) = (evaluate(native, &position), evaluate(&reference, &position));
        for (found, expected) in found.iter().zip(&expected) {
            // Infinite terms of both signs make NaN, their sum times infinity need not.
            let same = found == expected || !(found.is_finite() || expected.is_finite());
            let error = (found - expected).abs() / expected.abs();
            assert!(same || error < 1e-12, "at {s}: {found}, expected {expected}");
        }
    }
}

/// The value and gradient of the sum of a function of 100 parameters.
fn sum_of(f: fn(&mut Graph, NodeId) -> NodeId, executor: Executor, x: &[f64]) -> Vec<f64> {
    let mut graph = Graph::new();
    let input = graph.input("x", Role::Parameter, [100].into(), DType::Real).unwrap();
    let terms = f(&mut graph, input);
    let logp = graph.sum(terms);
    let source = DensitySource { graph, logp, parameters: vec![(input, 0)], dim: 100 };
    evaluate(&compile(executor, &source).unwrap().bind(&|_| None).unwrap(), x)
}

#[test]
fn sums_of_logarithms_are_right_at_the_edges() {
    let functions: [fn(&mut Graph, NodeId) -> NodeId; 3] =
        [Graph::log, Graph::log1p, Graph::softplus];
    let edges = [
        0.0,
        -0.0,
        -1.0,
        -2.0,
        -40.0,
        40.0,
        -800.0,
        f64::MIN,
        f64::NEG_INFINITY,
        5e-324,
        1e-310,
        f64::MIN_POSITIVE,
        1e-300,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
    ];
    for f in functions {
        for edge in edges {
            for index in [0, 7, 64, 99] {
                let mut x: Vec<f64> = (0..100).map(|k| 1e3 / f64::from(1 + k * k)).collect();
                x[index] = edge;
                let found = sum_of(f, Executor::Native, &x);
                let expected = sum_of(f, Executor::Reference, &x);
                for (found, expected) in found.iter().zip(&expected) {
                    let same = found == expected || (found.is_nan() && expected.is_nan());
                    // A hundred terms of up to 700, rounded in another order.
                    let error = (found - expected).abs() / expected.abs().max(1.0);
                    assert!(
                        same || error < 1e-14,
                        "{edge} at {index}: {found}, expected {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_program_prints_its_loops() {
    let text = compile(Executor::Native, &models::logistic(500, 20).source).unwrap().print();
    let (_, main) = text.split_once("main").unwrap();
    let names: Vec<&str> = main
        .lines()
        .filter_map(|line| Some(line.split_once(" = ")?.1.split_once('(')?.0))
        .collect();
    // One pass over the design: its product and its transpose's are in one loop.
    // What is linear in the parameters has left it.
    let design = ["MatVec", "Add", "SumSoftplusInvLogit", "Sum", "MatTVec"];
    assert!(names.windows(design.len()).any(|found| found == design), "{text}");
    assert!(text.contains("  loop 500 // blocks of 96, 1 registers\n"), "{text}");
}
