//! Random graphs: the native executor agrees with the reference, and with itself at every level of
//! instructions.

use exmc_testkit::random_graphs::check;

#[test]
fn executors_agree_on_random_graphs() {
    for seed in 0..100 {
        check(seed).unwrap_or_else(|why| panic!("{why}"));
    }
}
