//! `exmc demo`: shows every step, and its numbers are right.

use crate::harness::{Folder, expect_text, parameter};

/// Exact posterior means of the centred declaration, from two-dimensional quadrature over `tau` and
/// `mu` (`theta` integrates out in closed form).
const EXACT: [(&str, f64); 2] = [("mu", 4.441369), ("tau", 3.290367)];

#[test]
fn means_agree_with_quadrature() {
    let folder = Folder::new();
    let ran = folder.exmc(&["demo", "--json", "--seed", "7"]).ends_with(0);
    assert_eq!(ran.stderr, "");
    let summary = ran.json();
    for (name, exact) in EXACT {
        let row = parameter(&summary, name);
        let (mean, mcse) = (row["mean"].as_f64().unwrap(), row["mcse_mean"].as_f64().unwrap());
        // Four standard errors: one false alarm in 16000 for each, and none with this seed. An
        // error of the mean of 0.25 would be seen.
        assert!((mean - exact).abs() < 4.0 * mcse, "{name}: {mean} +- {mcse}, exactly {exact}");
        assert!(mcse < 0.06, "{name}");
    }
    assert_eq!(summary["run"]["divergences"], 0);
    assert_eq!(summary["warnings"], serde_json::json!([]));
    assert!(folder.names("").is_empty(), "the demo stores nothing");
}

#[test]
fn text_shows_model_settings_table_and_what_to_read_next() {
    let ran = Folder::new().exmc(&["demo", "-q"]).ends_with(0);
    assert_eq!(ran.stderr, "");
    let (before, rest) = ran.stdout.split_once("parameter ").unwrap();
    expect_text("demo-start.txt", before);
    let (_, next) = rest.split_once("\ncompiled in ").unwrap();
    let (times, next) = next.split_once('\n').unwrap();
    assert!(times.contains("s, sampled in ") && times.ends_with('s'), "{times}");
    expect_text("demo-end.txt", next);
}

#[test]
fn the_printed_model_samples_to_the_same_numbers() {
    let folder = Folder::new();
    let model = folder.exmc(&["demo", "--print-model"]).ends_with(0);
    folder.write("model.json", &model.stdout);
    let demo = folder.exmc(&["demo", "--json"]).ends_with(0).json();
    let stored = folder.exmc(&["sample", "model.json", "--json", "-q"]).ends_with(0).json();
    assert_eq!(demo["parameters"], stored["parameters"]);
    assert_eq!(demo["run"]["leapfrogs"], stored["run"]["leapfrogs"]);
}
