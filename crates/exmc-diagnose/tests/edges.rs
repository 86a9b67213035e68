//! The table of edge rules in the crate's documentation, row by row.

use exmc_diagnose::*;

type Statistic = fn(&Draws) -> f64;

/// Every statistic that the table's NaN rules speak of.
const STATISTICS: [(&str, Statistic); 12] = [
    ("rank_rhat", rank_rhat),
    ("split_rhat", split_rhat),
    ("folded_rhat", folded_rhat),
    ("ess_bulk", ess_bulk),
    ("ess_tail", ess_tail),
    ("ess_mean", ess_mean),
    ("ess_sd", ess_sd),
    ("ess_quantile", |d| ess_quantile(d, 0.5)),
    ("mcse_mean", mcse_mean),
    ("mcse_sd", mcse_sd),
    ("mcse_quantile", |d| mcse_quantile(d, 0.5)),
    ("summary's R-hat", |d| Summary::of(d).rhat),
];

fn assert_all_nan(chains: &[&[f64]]) {
    let draws = Draws::new(chains).expect("all chains have one length");
    for (name, statistic) in STATISTICS {
        assert!(statistic(&draws).is_nan(), "{name} of {chains:?}");
    }
}

#[test]
fn short_non_finite_and_constant_draws_are_nan() {
    assert_all_nan(&[&[0.3]]);
    assert_all_nan(&[&[0.3, 0.1, 0.7], &[0.2, 0.4, 0.5]]);
    assert_all_nan(&[&[0.3, f64::NAN, 0.2, 0.7, 0.1]]);
    assert_all_nan(&[&[0.3, 0.4, 0.2, 0.7, 0.1], &[0.3, 0.4, f64::INFINITY, 0.7, 0.1]]);
    for value in [0.1, 0.0, 1e300] {
        assert_all_nan(&[&[value; 50], &[value; 50]]);
    }
}

#[test]
fn constant_draws_still_have_moments() {
    let chains: [&[f64]; 2] = [&[0.1; 9], &[0.1; 9]];
    let summary = Summary::of(&Draws::new(&chains).unwrap());
    assert_eq!((summary.mean, summary.sd, summary.q5, summary.q95), (0.1, 0.0, 0.1, 0.1));
    assert!(summary.rhat.is_nan() && summary.ess_bulk.is_nan() && summary.mcse_mean.is_nan());
}

#[test]
fn chains_stuck_apart_have_infinite_rhat() {
    let chains: [&[f64]; 3] = [&[0.1; 20], &[0.2; 20], &[0.7; 20]];
    let draws = Draws::new(&chains).unwrap();
    assert_eq!(rank_rhat(&draws), f64::INFINITY);
    assert_eq!(split_rhat(&draws), f64::INFINITY);
    // ESS sees three points, not sixty draws.
    assert!(ess_bulk(&draws) < 10.0);
}

#[test]
fn values_do_not_depend_on_the_unit_of_the_draws() {
    let rows: Vec<Vec<f64>> = (0..3)
        .map(|c| (0..60).map(|t| f64::from((t * t + 7 * c + t * c) % 23)).collect())
        .collect();
    let scaled = |factor: f64| -> Vec<Vec<f64>> {
        rows.iter().map(|row| row.iter().map(|x| x * factor).collect()).collect()
    };
    let values = |rows: &[Vec<f64>]| -> Vec<f64> {
        let chains: Vec<&[f64]> = rows.iter().map(Vec::as_slice).collect();
        let draws = Draws::new(&chains).unwrap();
        STATISTICS[..8].iter().map(|(_, statistic)| statistic(&draws)).collect()
    };
    // A power of two scales without rounding, so the bits must agree; ArviZ calls 2^-100 constant.
    assert_eq!(values(&scaled(f64::powi(2.0, -100))), values(&rows));
    assert_eq!(values(&scaled(f64::powi(2.0, 100))), values(&rows));
}

#[test]
fn probabilities_outside_the_unit_interval_are_nan() {
    let chains: [&[f64]; 1] = [&[0.3, 0.1, 0.7, 0.2, 0.9]];
    let draws = Draws::new(&chains).unwrap();
    for p in [-0.1, 1.1, f64::NAN] {
        assert!(ess_quantile(&draws, p).is_nan() && mcse_quantile(&draws, p).is_nan());
        assert!(quantile(&draws, p).is_nan());
    }
    assert_eq!(quantile(&draws, 1.0), 0.9);
}
