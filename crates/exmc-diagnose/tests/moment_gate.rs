//! The moment gate on simulated samplers whose correctness is known: false alarms, power, and
//! blindness.

use exmc_diagnose::Draws;
use exmc_diagnose::gate::{KnownMoments, MomentGate, Verdict, moment_gate};
use exmc_math::random::{ChainRng, Phase};

/// Four AR(1) chains with the standard normal as their exact law, from the draw `innovation`.
fn ar1(seed: u64, n_draws: usize, coefficient: f64) -> Vec<Vec<f64>> {
    (0..4)
        .map(|chain| {
            let mut rng = ChainRng::new(seed, chain, Phase::Sampling);
            let mut x = rng.standard_normal();
            let spread = (1.0 - coefficient * coefficient).sqrt();
            (0..n_draws)
                .map(|_| {
                    x = coefficient * x + spread * rng.standard_normal();
                    x
                })
                .collect()
        })
        .collect()
}

fn exponential(seed: u64, n_draws: usize) -> Vec<Vec<f64>> {
    (0..4)
        .map(|chain| {
            let mut rng = ChainRng::new(seed, chain, Phase::Sampling);
            (0..n_draws).map(|_| rng.standard_exponential()).collect()
        })
        .collect()
}

fn verdict(rows: &[Vec<f64>], known: KnownMoments, z: f64, wanted: f64) -> Verdict {
    let chains: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
    moment_gate(
        &Draws::new(&chains).expect("all chains have one length"),
        &known,
        &MomentGate { z, wanted },
    )
}

fn scaled(mut rows: Vec<Vec<f64>>, factor: f64) -> Vec<Vec<f64>> {
    rows.iter_mut().flatten().for_each(|x| *x *= factor);
    rows
}

/// How many of `runs` verdicts fail.
fn failures(runs: u64, verdict: impl Fn(u64) -> Verdict) -> usize {
    (0..runs).filter(|&seed| matches!(verdict(seed), Verdict::Fail { .. })).count()
}

const NORMAL: KnownMoments = KnownMoments::normal(0.0, 1.0);

#[test]
fn false_alarms_stay_near_the_nominal_rate() {
    // At z = 3 the nominal rate of the two moments together is 0.54 %: 21.6 of 4000, standard
    // deviation 4.6. Limits are 5 standard deviations above, with a third more for the estimated
    // ESS.
    let independent = failures(4000, |s| verdict(&ar1(s, 500, 0.0), NORMAL, 3.0, 1.0));
    let correlated = failures(4000, |s| verdict(&ar1(s, 1000, 0.7), NORMAL, 3.0, 1.0));
    let skewed_law = KnownMoments { mean: 1.0, variance: 1.0, kurtosis: Some(9.0) };
    let skewed = failures(4000, |s| verdict(&exponential(s, 800), skewed_law, 3.0, 1.0));
    println!("of 4000: independent {independent}, correlated {correlated}, skewed {skewed}");
    assert!(independent <= 52, "independent: {independent} of 4000");
    assert!(correlated <= 52, "correlated: {correlated} of 4000");
    // The sum of 3200 squares of a skewed variable has a heavier upper tail than a normal one.
    assert!(skewed <= 104, "skewed: {skewed} of 4000");
    // At z = 5 the nominal rate is 1.1e-6; 5 sd of skewed sums is about 1e-4.
    assert_eq!(failures(4000, |s| verdict(&ar1(s, 500, 0.0), NORMAL, 5.0, 1.0)), 0);
}

#[test]
fn an_error_of_the_detectable_size_is_seen_half_the_time() {
    // ESS 5000 and z = 5: detectable 10 %. Power at 10 % is one half (binomial sd 2.5 %), and at
    // 1.5 times as much, where the spread is also 15 % wider, 1 - Phi(-2.5 / 1.15) = 98 %.
    let power = |variance: f64| {
        let alarm = |s| verdict(&scaled(ar1(s, 1250, 0.0), variance.sqrt()), NORMAL, 5.0, 0.1);
        failures(400, alarm) as f64 / 400.0
    };
    let (at_limit, beyond) = (power(1.1), power(1.15));
    println!("power at the detectable error {at_limit}, at 1.5 times it {beyond}");
    assert!((0.38..0.62).contains(&at_limit), "{at_limit}");
    assert!(beyond > 0.94, "{beyond}");
}

#[test]
fn the_shipped_nuts_bias_fails() {
    for seed in 0..50 {
        let independent = scaled(ar1(seed, 500, 0.0), 1.378f64.sqrt());
        let verdict_independent = verdict(&independent, NORMAL, 5.0, 0.378);
        assert!(matches!(verdict_independent, Verdict::Fail { .. }), "{verdict_independent}");
        let correlated = scaled(ar1(seed, 2000, 0.5), 1.378f64.sqrt());
        let verdict_correlated = verdict(&correlated, NORMAL, 5.0, 0.378);
        assert!(matches!(verdict_correlated, Verdict::Fail { .. }), "{verdict_correlated}");
    }
}

#[test]
fn a_shifted_mean_fails() {
    let mut rows = ar1(3, 1250, 0.0);
    rows.iter_mut().flatten().for_each(|x| *x += 0.15);
    // Detectable: 5 / sqrt(5000) = 0.07 standard deviations.
    let text = verdict(&rows, NORMAL, 5.0, 0.2).to_string();
    assert!(text.starts_with("fail: the mean is off by +0.1"), "{text}");
}

#[test]
fn a_gate_without_power_is_inconclusive() {
    // 1000 independent draws detect a variance error of 5 sqrt(2/1000) = 22 %.
    let Verdict::Inconclusive { reason, evidence } = verdict(&ar1(1, 250, 0.0), NORMAL, 5.0, 0.1)
    else {
        panic!("1000 draws cannot see 10 %")
    };
    assert!(reason.contains("10.0 % was wanted") && reason.contains("would have to be 5000"));
    let evidence = evidence.unwrap();
    assert!((0.22..0.25).contains(&evidence.variance_detectable), "{evidence:?}");
    // Ten thousand draws that are worth a few tens.
    let slow = verdict(&ar1(1, 2500, 0.999), NORMAL, 5.0, 0.1);
    assert!(matches!(slow, Verdict::Inconclusive { .. }), "{slow}");
    assert!(slow.into_result().unwrap_err().starts_with("inconclusive: an effective sample size"));
}

#[test]
fn enough_draws_pass_and_say_what_they_could_see() {
    let evidence = verdict(&ar1(1, 2500, 0.0), NORMAL, 5.0, 0.1).into_result().unwrap();
    // 5 sqrt(2 / 10000), widened by what the ESS of the squares falls short of the number of draws.
    assert!((0.0707..0.08).contains(&evidence.variance_detectable), "{evidence:?}");
    assert_eq!(evidence.ess_needed, 5000.0);
    let unknown = KnownMoments { kurtosis: None, ..NORMAL };
    let estimated = verdict(&ar1(1, 2500, 0.0), unknown, 5.0, 0.1).into_result().unwrap();
    let ratio = estimated.variance_detectable / evidence.variance_detectable;
    assert!((ratio - 1.0).abs() < 0.05, "{ratio}");
}

#[test]
fn draws_that_never_move_or_are_not_numbers_fail() {
    let stuck = verdict(&vec![vec![0.0; 100]; 4], NORMAL, 5.0, 0.1);
    assert_eq!(stuck.to_string(), "fail: all 400 draws are 0");
    let mut rows = ar1(1, 2500, 0.0);
    rows[2][7] = f64::NAN;
    let nan = verdict(&rows, NORMAL, 5.0, 0.1);
    assert_eq!(nan.to_string(), "fail: draw 7 of chain 2 is NaN");
    let short = verdict(&[vec![0.1, 0.2, 0.3]], NORMAL, 5.0, 0.1);
    assert!(matches!(short, Verdict::Inconclusive { .. }));
}
