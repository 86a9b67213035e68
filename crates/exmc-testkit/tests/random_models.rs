//! Two hundred random models: gradients, order of declaration, JSON form and non-centring agree.

use exmc_testkit::random_models::check;

#[test]
fn all_paths_to_a_density_agree() {
    let mut dimensions = 0;
    for seed in 0..200 {
        dimensions += check(seed).unwrap_or_else(|why| panic!("{why}"));
    }
    // About two thirds of 4 variables are free, a third of them have 3 elements: some 4 dimensions
    // a model.
    assert!(dimensions > 400, "{dimensions} dimensions in 200 models are too few to show anything");
}
