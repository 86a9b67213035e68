//! Two hundred random models: gradients, order of declaration, JSON form and non-centring agree.

use exmc_testkit::random_models::check;

#[test]
fn all_paths_to_a_density_agree() {
    for seed in 0..200 {
        if let Err(why) = check(seed) {
            panic!("{why}");
        }
    }
}
