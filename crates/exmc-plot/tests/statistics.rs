//! Intervals, bins, ranks and bands against numpy, scipy, ArviZ and simulation:
//! `data/plot_cases.py` made the values.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use exmc_plot::statistics::{
    Interval, RankBand, histogram, isotonic, pooled_ranks, rank_band, rank_counts,
};
use serde_json::Value;

fn cases() -> Value {
    serde_json::from_str(include_str!("data/plot_cases.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// Relative to the larger one's scale: both sides are sums of a few hundred terms in f64.
#[track_caller]
fn near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let scale = expected.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    for (k, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= 1e-12 * scale, "{what} [{k}]: {f}, expected {e}");
    }
}

#[test]
fn intervals_are_those_of_numpy_and_arviz() {
    for case in cases()["samples"].as_array().unwrap() {
        let sorted = numbers(&case["sorted"]);
        let (low, high) = Interval::EqualTailed.of(&sorted, 0.9);
        near(&[low, high], &numbers(&case["eti"]), "equal-tailed");
        for (probability, key) in [(0.5, "hdi_50"), (0.9, "hdi_90")] {
            let (low, high) = Interval::HighestDensity.of(&sorted, probability);
            near(&[low, high], &numbers(&case[key]), key);
        }
    }
    for kind in [Interval::EqualTailed, Interval::HighestDensity] {
        assert!(kind.of(&[], 0.5).0.is_nan());
    }
}

#[test]
fn bins_are_those_of_numpy() {
    for case in cases()["samples"].as_array().unwrap() {
        let found = histogram(&numbers(&case["sorted"]), 1000);
        near(&found.edges, &numbers(&case["edges"]), "edges");
        let counts: Vec<f64> = found.counts.iter().map(|n| *n as f64).collect();
        assert_eq!(counts, numbers(&case["counts"]));
    }
    assert_eq!(histogram(&[3.0, 3.0], 10).counts, [2]);
    assert!(histogram(&[], 10).counts.is_empty());
    assert_eq!(histogram(&[0.0, 1.0, 2.0, 3.0], 2).counts, [2, 2]);
}

#[test]
fn ranks_are_those_of_scipy() {
    let case = &cases()["ranks"];
    let chains: Vec<Vec<f64>> = case["chains"].as_array().unwrap().iter().map(numbers).collect();
    let ranks = pooled_ranks(&chains);
    for (c, (found, expected)) in ranks.iter().zip(case["ranks"].as_array().unwrap()).enumerate() {
        assert_eq!(*found, numbers(expected), "chain {c}");
        let counts = rank_counts(found, 60, 5);
        let expected = numbers(&case["counts"][c]);
        assert_eq!(counts.iter().map(|n| *n as f64).collect::<Vec<_>>(), expected);
    }
}

#[test]
fn isotonic_sequences_are_those_of_scipy() {
    for case in cases()["isotonic"].as_array().unwrap() {
        near(&isotonic(&numbers(&case["values"])), &numbers(&case["fitted"]), "isotonic");
    }
}

/// Whether chain `chain` of an order of labels leaves the band.
fn leaves(band: &RankBand, order: &[u8], chain: u8) -> bool {
    let mut places = band.places.iter().zip(&band.limits).peekable();
    let mut count = 0;
    for (k, label) in order.iter().enumerate() {
        count += usize::from(*label == chain);
        if let Some((_, (low, high))) = places.next_if(|(place, _)| **place == k + 1)
            && !(*low..=*high).contains(&count)
        {
            return true;
        }
    }
    false
}

/// 400 random orders by numpy. Any chain of four leaves the band with probability at most 0.2, by
/// Bonferroni, and each with the stated one. Whether the counts fit is a binomial question: the
/// bounds below are crossed by chance with probability below 1e-5 each.
#[test]
fn the_rank_band_has_the_stated_coverage() {
    let band = rank_band(50, 4, 0.2).unwrap();
    assert!(band.false_alarm <= 0.05 && band.false_alarm > 0.03, "{}", band.false_alarm);
    let all = cases();
    let orders = all["label_orders"].as_array().unwrap();
    let (mut any, mut each) = (0, 0);
    for order in orders {
        let labels: Vec<u8> = order.as_str().unwrap().bytes().map(|b| b - b'0').collect();
        let left = (0..4).filter(|c| leaves(&band, &labels, *c)).count();
        any += usize::from(left > 0);
        each += left;
    }
    // At most 0.2 * 400 = 80 expected, standard deviation 8: 4.4 of them above.
    assert!(any <= 115, "{any} of 400 orders leave a band that 80 should");
    // 1600 * 0.05 = 80 at most, at least 1600 * 0.03 = 48; chains of an order depend on each other,
    // so that the deviation is at most twice the binomial's 8.7.
    assert!((15..=150).contains(&each), "{each} of 1600 chains leave the band");
}

#[test]
fn limits_hold_the_centre_and_narrow_towards_the_ends() {
    let band = rank_band(50, 4, 0.05).unwrap();
    for (place, (low, high)) in band.places.iter().zip(&band.limits) {
        let expected = *place as f64 / 4.0;
        assert!((*low as f64) <= expected && expected <= *high as f64);
        assert!(*high <= 50 && *high <= *place);
    }
    let width = |k: usize| band.limits[k].1 - band.limits[k].0;
    assert!(width(0) < width(24) && width(48) < width(24));
    assert!(rank_band(50, 1, 0.05).is_none() && rank_band(1, 4, 0.05).is_none());
}
