//! Random Stan programs: lowering and host interpreter agree about values, derivatives and transformed parameters.

use exmc_testkit::stan_programs::{Verdict, check, shrink};

#[test]
fn random_programs_are_lowered_right() {
    let (mut agree, mut refused, mut slopes, mut in_steps) = (0, 0, 0, 0);
    for seed in 0..200 {
        let outcome = check(seed);
        match outcome.verdict {
            Verdict::Agrees { points, slopes: smooth, steps } => {
                assert_eq!(points, 8);
                agree += 1;
                slopes += smooth;
                in_steps += usize::from(steps > 0);
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
    assert!(in_steps >= 20, "{in_steps} programs with loops walked as steps");
}
