//! Policies that are saved on each device of this build and loaded on each other one, in another
//! process.

use std::path::Path;

use matrix::logits::{Outcome, PLAIN, compare};

#[test]
fn a_policy_is_the_same_on_every_device() {
    let devices = backends::devices();
    let savers: Vec<&str> = devices.iter().map(|device| device.name).collect();
    let loaders: Vec<&str> = savers.iter().copied().chain([PLAIN]).collect();
    let folder = std::env::temp_dir().join(format!("matrix-logits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let program = Path::new(env!("CARGO_BIN_EXE_logits"));
    let outcomes = compare(program, &savers, &loaders, &folder);
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
    let outcomes = outcomes.expect("every process ends well");
    assert_eq!(outcomes.len(), 5 * savers.len() * loaders.len());
    // Untrained heads would give logits near 0, which say little.
    assert!(outcomes.iter().all(|o| o.largest > 0.1), "{outcomes:#?}");
    let wrong: Vec<&Outcome> = outcomes.iter().filter(|o| !o.agrees()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
