//! Loops with carried state: the native executor against the reference, at every length and level.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::{DensityModel, LogDensity};
use exmc_exec::{BoundDensity, Executor, compile};
use exmc_math::simd::Level;

use crate::support::models::Model;
use crate::support::recurrences;

fn bind(executor: Executor, model: &Model) -> BoundDensity {
    compile(executor, &model.source).unwrap().bind(&|name| model.data(name)).unwrap()
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
fn loops_agree_with_the_reference_and_between_levels_to_the_bit() {
    for length in [1, 2, 3, 7, 8, 9, 33, 64, 200] {
        for model in recurrences::all(length) {
            let position = model.position();
            let expected = evaluate(&bind(Executor::Reference, &model), &position);
            let bound = bind(Executor::Native, &model);
            let found = evaluate(&bound, &position);
            // Roundings of a step are carried on by contractions of rate at most 0.9, so they grow
            // to at most ten times a step's; sums of 200 terms of both signs add as many. The
            // largest element stands for the terms' size.
            let size = expected.iter().fold(1.0, |size: f64, v| size.max(v.abs()));
            for (k, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let (error, name) = ((found - expected).abs() / size, &model.name);
                assert!(error < 1e-13, "{name}, element {k}: {found}, expected {expected}");
            }
            for level in Level::available() {
                let other = evaluate(&bound.clone().at_level(level), &position);
                assert_eq!(bits(&other), bits(&found), "{} at {}", model.name, level.name());
            }
            // An instance that has seen another position.
            let mut instance = bound.instance();
            let mut values = vec![0.0; position.len() + 1];
            let elsewhere: Vec<f64> = position.iter().map(|x| 0.1 - x).collect();
            instance.logp_grad(&elsewhere, &mut values[1..]).unwrap();
            values[0] = instance.logp_grad(&position, &mut values[1..]).unwrap();
            assert_eq!(bits(&values), bits(&found), "{}: an instance that was used", model.name);
        }
    }
}

/// A state and a copy of it are one number, however the state is computed: a program may compare
/// them.
#[test]
fn a_copy_of_a_state_is_equal_to_it() {
    for t in [1, 2, 7, 17, 64, 200] {
        for width in [1, 5] {
            for reverse in [false, true] {
                for is_multiplied in [false, true] {
                    let model = recurrences::copied(t, width, (reverse, is_multiplied));
                    let found = evaluate(&bind(Executor::Native, &model), &model.position());
                    assert_eq!(found[0], 0.0, "{}", model.name);
                }
            }
        }
    }
}

#[test]
fn loops_need_no_slow_path() {
    for model in recurrences::all(9) {
        let program = compile(Executor::Native, &model.source).unwrap();
        assert_eq!(program.fallbacks(), Vec::<&str>::new(), "{}", model.name);
    }
}

#[test]
fn the_way_back_of_hidden_states_takes_no_function() {
    for model in [recurrences::hidden_markov(50, 3), recurrences::paired_markov(50, 2)] {
        let text = compile(Executor::Native, &model.source).unwrap().print();
        let loops = ["markov ", "mixing ", "repeat "].map(|name| text.matches(name).count());
        assert_eq!(loops, [1, 1, 0], "{text}");
        // Behind the forward loop, exponentials are taken of the last states and of transitions at
        // most.
        let (_, after) = text.split_once("markov ").unwrap();
        for name in ["LogAddExp", "Log("] {
            assert_eq!(after.matches(name).count(), 0, "{name}: {text}");
        }
        assert!(after.matches("= Exp(").count() <= 2, "{text}");
    }
}

#[test]
fn what_a_loop_computes_apart_from_its_state_is_taken_out_of_it() {
    // Errors of a moving average: forwards and backwards one multiplication and addition a step.
    let text = compile(Executor::Native, &recurrences::arma11(200).source).unwrap().print();
    let recurrences = text.lines().filter(|line| line.contains("recurrence ")).count();
    assert_eq!((recurrences, text.matches("repeat ").count()), (2, 0), "{text}");
}
