//! Gates on whole distributions: Kolmogorov distances and rank uniformity, with their rates by
//! simulation.

use exmc_diagnose::gate::{
    EcdfBand, RankError, RankGate, dkw_bound, dkw_bound_two_sample, ks_one_sample, ks_two_sample,
};
use exmc_math::random::{ChainRng, Phase};
use exmc_math::std_normal_cdf;

fn rng(seed: u64) -> ChainRng {
    ChainRng::new(seed, 0, Phase::Sampling)
}

#[test]
fn statistics_equal_scipy() {
    let a = [0.1, 0.4, 0.4, 0.8, 0.95];
    let b = [0.05, 0.4, 0.5, 0.6, 0.7, 0.75, 0.9];
    // scipy.stats.ks_1samp(a, lambda x: x**2).statistic, ks_2samp(a, b).statistic
    assert!((ks_one_sample(&a, |x| x * x) - 0.43999999999999995).abs() < 1e-15);
    assert!((ks_two_sample(&a, &b) - 0.3142857142857143).abs() < 1e-15);
    assert_eq!(ks_two_sample(&a, &a), 0.0);
    assert_eq!(ks_two_sample(&[1.0, 2.0], &[3.0]), 1.0);
    assert!(ks_one_sample(&[], |x| x).is_nan() && ks_two_sample(&a, &[]).is_nan());
    assert!(ks_one_sample(&[0.5, f64::NAN], |x| x).is_nan());
    assert!(ks_one_sample(&a, |_| f64::NAN).is_nan());
}

#[test]
fn dkw_keeps_its_rate_and_sees_twice_the_bound() {
    // 2000 runs at 5 %: expected at most 100, binomial standard deviation 9.7; the limit is 5 of
    // them.
    let (runs, n, alpha) = (2000, 400, 0.05);
    let draws = |seed, shift: f64| {
        let mut rng = rng(seed);
        (0..n).map(|_| rng.standard_normal() + shift).collect::<Vec<f64>>()
    };
    let alarms = |shift| {
        let bound = dkw_bound(n, alpha);
        (0..runs).filter(|&s| ks_one_sample(&draws(s, shift), std_normal_cdf) > bound).count()
    };
    let correct = alarms(0.0);
    assert!((50..150).contains(&correct), "{correct} of {runs}");
    // A shift of 0.35 is a distance of 2 Phi(0.175) - 1 = 0.139, twice the bound of 0.068.
    assert!(alarms(0.35) > runs as usize * 99 / 100);
    let bound = dkw_bound_two_sample(n, n, alpha);
    let pairs = |shift| {
        (0..runs)
            .filter(|&s| ks_two_sample(&draws(s, 0.0), &draws(s + 100_000, shift)) > bound)
            .count()
    };
    assert!(pairs(0.0) < 50, "the union bound is conservative");
    assert!(pairs(1.0) == runs as usize);
}

#[test]
fn band_rate_is_exact() {
    for (n, max_rank, alpha) in [(50, 9, 0.2), (100, 99, 0.2), (200, 999, 0.1)] {
        let band = EcdfBand::new(n, max_rank, alpha).unwrap();
        assert!(band.false_alarm() <= alpha && band.false_alarm() > 0.75 * alpha);
        let runs = 4000;
        let mut rng = rng(n as u64);
        let alarms = (0..runs)
            .filter(|_| {
                let ranks: Vec<u32> =
                    (0..n).map(|_| rng.below(u64::from(max_rank) + 1) as u32).collect();
                band.crossing(&ranks).unwrap().is_some()
            })
            .count();
        let rate = alarms as f64 / f64::from(runs);
        let sd = (band.false_alarm() * (1.0 - band.false_alarm()) / f64::from(runs)).sqrt();
        assert!((rate - band.false_alarm()).abs() < 5.0 * sd, "{rate} {}", band.false_alarm());
    }
}

#[test]
fn band_of_one_place_is_a_binomial_interval() {
    // scipy.stats.binom(20, 0.5): P(X <= 5) = 0.0206947, P(X <= 6) = 0.0576591
    let band = EcdfBand::new(20, 1, 0.05).unwrap();
    assert_eq!(band.limits().collect::<Vec<_>>(), [(0, 6, 14)]);
    assert!((band.false_alarm() - 2.0 * 0.020_694_732_666_015_625).abs() < 1e-12);
    assert!(matches!(band.crossing(&[0; 19]), Err(RankError::Count { expected: 20, found: 19 })));
    assert_eq!(band.crossing(&[1; 20]).unwrap().unwrap().count, 0);
}

/// Share of `runs` simulations whose ranks are found not uniform, when the posterior is off by
/// `shift` sd and `factor`.
fn power(runs: u64, n: usize, shift: f64, factor: f64, alpha: f64) -> f64 {
    let max_rank = 99;
    let gate = RankGate::new(n, max_rank, alpha).expect("the arguments are in range");
    let seen = (0..runs).filter(|&seed| {
        let mut rng = rng(seed);
        let ranks: Vec<u32> = (0..n)
            .map(|_| {
                let u = std_normal_cdf((rng.standard_normal() - shift) / factor);
                ((u * 100.0) as u32).min(max_rank)
            })
            .collect();
        !gate.check(&ranks).expect("the arguments are in range").uniform
    });
    seen.count() as f64 / runs as f64
}

#[test]
fn rank_gate_keeps_its_rate() {
    // 400 runs at 10 %: at most 40 expected, standard deviation 6; the limit is 5 of them.
    let rate = power(400, 200, 0.0, 1.0, 0.1);
    assert!(rate < 0.175, "{rate}");
    assert!(rate > 0.02, "a gate that never fires tests nothing: {rate}");
}

#[test]
fn rank_gate_sees_shifts_and_wrong_scales() {
    // Limits are 5 binomial standard deviations of 400 runs away from the powers in the
    // documentation.
    let shift = power(400, 1000, 0.2, 1.0, 1e-4);
    let small_shift = power(400, 4000, 0.1, 1.0, 1e-4);
    let narrow = power(400, 4000, 0.0, 0.9, 1e-4);
    let few = power(400, 200, 0.2, 1.0, 1e-4);
    println!(
        "shift .2, 1000: {shift}; shift .1, 4000: {small_shift}; sd .9, 4000: {narrow}; shift .2, 200: {few}"
    );
    assert!(shift > 0.85, "{shift}");
    assert!(small_shift > 0.85, "{small_shift}");
    assert!(narrow > 0.97, "{narrow}");
    assert!(few < 0.11, "{few}");
}
