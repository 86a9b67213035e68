//! Several positions at once: the bits of single ones, for models and random expressions, whatever
//! is in the other lanes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use exmc_density::DensityModel;
use exmc_exec::{BoundDensity, Executor, compile};
use exmc_math::simd::Level;

use crate::support::models;

use crate::support::lanes::{lanes_agree, positions};
use crate::support::models::Model;
use crate::support::random::Program;

const SEEDS: std::ops::Range<u64> = 1..301;

fn has_lanes() -> bool {
    cfg!(target_os = "linux") && matches!(Level::detect().name(), "avx2" | "avx512")
}

#[test]
fn random_expressions_have_the_same_bits_in_lanes() {
    let (mut with_lanes, mut all) = (0, 0);
    for seed in SEEDS {
        let program = Program::new(seed);
        let compiled = compile(Executor::Native, &program.source).unwrap();
        let bound = compiled.bind(&|name| program.lookup(name)).unwrap();
        let agree = lanes_agree(&bound, &positions(&program.position));
        with_lanes += usize::from(agree.unwrap_or_else(|why| panic!("seed {seed}: {why}")));
        all += 1;
    }
    println!("{with_lanes} of {all} expressions have lanes");
    // Most have a function, or a kernel over whole arrays, that there is no generated code for; in
    // `straight_lines` most have.
    assert!(!has_lanes() || 10 * with_lanes > all, "{with_lanes} of {all}");
}

fn bind(model: &Model) -> BoundDensity {
    let program = compile(Executor::Native, &model.source).unwrap();
    program.bind(&|name| model.data(name)).unwrap()
}

#[test]
fn models_have_the_same_bits_in_lanes() {
    let all = [
        models::eight_schools(),
        models::logistic(7, 3),
        models::regression(8),
        models::regression(33),
        models::student(5, 3, true),
        models::student(5, 3, false),
        models::volatility(3),
        models::groups(4, 3, false),
        models::groups(4, 3, true),
        models::linear(4, 9),
        models::radon(30, 3),
        models::clamped(4),
        models::clamped(60),
        models::item_response(7, 3),
        models::mixture(9, 2),
    ];
    let mut with_lanes = 0;
    for model in &all {
        let bound = bind(model);
        let runs_in_lanes = lanes_agree(&bound, &positions(&model.position()))
            .unwrap_or_else(|why| panic!("{}: {why}", model.name));
        println!("{}: {runs_in_lanes}", model.name);
        with_lanes += usize::from(runs_in_lanes);
    }
    assert!(!has_lanes() || with_lanes > 5, "{with_lanes} of {}", all.len());
}

#[test]
fn there_are_lanes_where_there_is_code_for_all_of_a_program() {
    let small = bind(&models::eight_schools());
    assert_eq!(small.lane_instance().is_some(), has_lanes());
    assert!(small.at_level(Level::portable()).lane_instance().is_none(), "no code");
    // A long loop, and a kernel over whole arrays.
    for model in [models::logistic(500, 20), models::gaussian_process(11)] {
        assert!(bind(&model).lane_instance().is_none(), "{}", model.name);
    }
    let reference = compile(Executor::Reference, &models::eight_schools().source).unwrap();
    let reference = reference.bind(&|name| models::eight_schools().data(name)).unwrap();
    assert!(reference.lane_instance().is_none(), "the reference");
}
