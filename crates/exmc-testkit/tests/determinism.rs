//! The same model, data and seed give the same bits: over time (stored hashes), threads and order
//! of declaration.
//!
//! `tests/data/draws.txt` holds hashes of draws. They change when the sampler or the order of a
//! model's arithmetic changes on purpose; `EXMC_BLESS=1 cargo test -p exmc-testkit --test
//! determinism` writes them anew, and the change belongs in the log of changes.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use std::path::Path;

use exmc::advanced::{CompileOptions, compile};
use exmc::distributions::{exponential, half_normal, normal};
use exmc::model::Values;
use exmc::{Model, ModelBuilder, SamplerConfig};
use exmc_testkit::fingerprint::fingerprint;
use exmc_testkit::gates::METRICS;
use exmc_testkit::targets::target;

/// One model for each thing that can differ: transforms, constrained vectors, hierarchy, gathers,
/// matrices.
const MODELS: [&str; 6] =
    ["normal-10", "positive-families", "simplex", "lkj", "eight-schools", "groups"];

fn short(seed: u64) -> SamplerConfig {
    let mut config = SamplerConfig::default();
    (config.warmup, config.draws, config.seed) = (200, 100, seed);
    config
}

#[test]
fn draws_are_the_stored_ones() {
    let mut found = String::new();
    for name in MODELS {
        let model = target(name).unwrap().bind();
        for (metric, kind) in METRICS {
            let mut config = short(7);
            config.metric = kind;
            let hash = fingerprint(&model, &config).unwrap();
            found.push_str(&format!("{name} {metric} {hash:016x}\n"));
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/draws.txt");
    if std::env::var_os("EXMC_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let stored = std::fs::read_to_string(&path).unwrap();
    assert_eq!(found, stored, "draws changed; see the head of this file");
}

#[test]
fn threads_do_not_change_a_bit() {
    for name in ["eight-schools", "normal-10"] {
        let model = target(name).unwrap().bind();
        let with = |threads| {
            let mut config = short(3);
            (config.chains, config.threads) = (8, threads);
            fingerprint(&model, &config).unwrap()
        };
        let one = with(1);
        assert_eq!([with(2), with(8)], [one, one], "{name}");
    }
}

#[test]
fn seeds_do() {
    let model = target("normal-10").unwrap().bind();
    assert_ne!(fingerprint(&model, &short(3)).unwrap(), fingerprint(&model, &short(4)).unwrap());
}

/// Declares the same model with its nodes in the order given.
fn declared(order: [usize; 6]) -> Model {
    let mut model = ModelBuilder::new();
    for node in order {
        match node {
            0 => drop(model.rv("mu", normal(0.0, 5.0))),
            1 => drop(model.rv("C", half_normal(2.0))),
            2 => drop(model.rv("x_10", normal("mu", "C"))),
            3 => drop(model.rv("x_2", exponential("C"))),
            4 => drop(model.rv("y", normal("x_10", "x_2")).shape([3])),
            _ => drop(model.observe("y_obs", "y", [1.0, 0.5, 2.0])),
        }
    }
    model.build().unwrap()
}

#[test]
fn the_order_of_declaration_does_not_change_a_bit() {
    let hash = |order| {
        let compiled = compile(&declared(order), &CompileOptions::default()).unwrap();
        let bound = compiled.bind(&Values::new()).unwrap();
        let (logp, gradient) = bound.logp_grad(&[0.1, 0.2, 0.3, 0.4]).unwrap();
        let gradient: Vec<u64> = gradient.iter().map(|g| g.to_bits()).collect();
        (logp.to_bits(), gradient, fingerprint(&bound, &short(5)).unwrap())
    };
    let expected = hash([0, 1, 2, 3, 4, 5]);
    for order in [[5, 4, 3, 2, 1, 0], [2, 0, 4, 1, 5, 3], [3, 5, 0, 4, 2, 1]] {
        assert_eq!(hash(order), expected, "{order:?}");
    }
}
