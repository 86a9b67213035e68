//! Promises about runs, and one transition from exact draws, on whole models.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc::infer::MetricKind;
use exmc_testkit::behaviour::{CHECKS, check};
use exmc_testkit::function_sweep;
use exmc_testkit::one_step::{EXACT, one_step};
use exmc_testkit::targets::target;

#[test]
fn promises_are_kept() {
    for (name, what) in CHECKS {
        check(name).unwrap_or_else(|why| panic!("{what}: {why}"));
    }
}

/// False alarms: fewer than 30 scalars with three checks of 1e-6 or less each.
#[test]
fn one_transition_leaves_exact_draws_alone() {
    for name in EXACT {
        for step in one_step(&target(name).unwrap(), MetricKind::Diag, 40_000).unwrap() {
            assert!(step.passed(), "{name}: {step:?}");
        }
    }
}

#[test]
fn functions_are_the_references_all_along_the_axis() {
    let compared = function_sweep::check().unwrap();
    assert!(compared > 100_000, "{compared}");
}
