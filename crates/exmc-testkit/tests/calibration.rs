//! A short calibration of one model, so that the harness itself is run; the long ones are in `cargo xtask campaign`.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc_testkit::sbc::{calibrate, calibrations};

/// False alarms: 1e-5 for each of 3 quantities. Fifty replications see gross errors only.
#[test]
fn ranks_of_the_simplest_model_are_uniform() {
    let models = calibrations();
    for row in calibrate(&models[0], 50, 3).unwrap() {
        assert!(row.evidence.uniform, "{row:?}");
    }
}
