//! Random densities of many scalars: what is written on vectors is what was written one by one.

use crate::support::alike::{Seen, check};

#[test]
fn grouped_terms_have_the_value_and_gradient_of_single_ones() {
    let mut seen = Seen::default();
    for seed in 0..400 {
        check(seed, &mut seen).unwrap_or_else(|why| panic!("{why}"));
    }
    println!("{seen:?}");
    assert!(seen.grouped > 250, "too few to show anything: {seen:?}");
}
