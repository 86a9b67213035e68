//! A short calibration of one model, so that the harness itself is run; the long ones are in `cargo
//! xtask campaign`.
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

/// Draws that do not follow what they depend on rank at one end: twenty replications see it.
#[test]
fn ranks_of_what_is_integrated_out_of_a_prior_are_uniform() {
    let models = calibrations();
    let model = models.iter().find(|model| model.name == "prior-only-marginal").unwrap();
    let rows = calibrate(model, 20, 3).unwrap();
    // mu, tau, three vectors of eight, and the log density.
    assert_eq!(rows.len(), 27);
    for row in rows {
        assert!(row.evidence.uniform, "{row:?}");
    }
}
