//! Random Stan programs: lowering and host interpreter agree about values, derivatives and transformed parameters.

use exmc_testkit::stan_programs::{Verdict, check, check_collapse, shrink};

#[test]
fn random_programs_are_lowered_right() {
    let (mut agree, mut refused, mut slopes) = (0, 0, 0);
    for seed in 0..200 {
        let outcome = check(seed);
        match outcome.verdict {
            Verdict::Agrees { points, slopes: smooth } => {
                assert_eq!(points, 8);
                agree += 1;
                slopes += smooth;
            }
            Verdict::Refused(_) => refused += 1,
            Verdict::Differs(why) => {
                let small = shrink(seed);
                panic!("seed {seed}: {why}\n{}\n{:?}", small.text, small.verdict);
            }
            Verdict::Invalid(why) => panic!("seed {seed}: no program: {why}\n{}", outcome.text),
        }
    }
    assert!(
        agree >= 180 && slopes >= 4 * agree,
        "{agree} agree, {refused} refused, {slopes} slopes"
    );
}

#[test]
fn loops_collapsed_on_the_tape_have_the_derivatives_of_the_whole_tape() {
    let mut points = 0;
    for seed in 0..200 {
        points += check_collapse(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
    assert!(points >= 600, "{points} points");
}
