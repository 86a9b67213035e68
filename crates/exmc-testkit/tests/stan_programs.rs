//! Random Stan programs: lowering and host interpreter agree about values, derivatives and
//! transformed parameters.

use exmc_testkit::stan_programs::{Compared, Verdict, check, check_collapse, shrink};

#[test]
fn random_programs_are_lowered_right() {
    let (mut agree, mut refused, mut all) = (0, 0, Compared::default());
    let mut in_steps = 0;
    for seed in 0..200 {
        let outcome = check(seed);
        match outcome.verdict {
            Verdict::Agrees(compared) => {
                assert_eq!(compared.points, 8);
                agree += 1;
                in_steps += usize::from(compared.steps > 0);
                all.add(compared);
            }
            Verdict::Refused(_) => refused += 1,
            Verdict::Differs(why) => {
                let small = shrink(seed);
                panic!("seed {seed}: {why}\n{}\n{:?}", small.text, small.verdict);
            }
            Verdict::Invalid(why) => panic!("seed {seed}: no program: {why}\n{}", outcome.text),
        }
    }
    // Seeds 0 to 19 are run by the native executor, and one program in four is held against
    // differences, mostly away from kinks.
    let enough = all.native >= 8 * 15 && all.differences >= agree / 6;
    assert!(agree >= 180 && enough, "{agree} agree, {refused} refused, {all:?}");
    assert!(in_steps >= 20, "{in_steps} programs with loops walked as steps");
}

#[test]
fn loops_collapsed_on_the_tape_have_the_derivatives_of_the_whole_tape() {
    let mut points = 0;
    for seed in 0..200 {
        points += check_collapse(seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
    assert!(points >= 600, "{points} points");
}
