//! Laws that hold whatever the numbers are: signs, scales, symmetries, bounds, temperatures.

mod common;

use common::{close, devices, number, tensor};
use penalties::{
    Centre, Direction, EntropyMode, Reduce, RowReduce, elastic_net, entropy, js, kl, l1, l2,
};

/// Numbers in (-2, 2), by a linear congruential generator's upper bits.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        4.0 * ((state >> 11) as f64 / (1u64 << 53) as f64) - 2.0
    });
    next.take(count).collect()
}

/// Log probabilities of one row.
fn log_probabilities(classes: usize, seed: u64) -> Vec<f64> {
    let raw = numbers(classes, seed);
    let total = raw.iter().map(|x| x.exp()).sum::<f64>().ln();
    raw.iter().map(|x| x - total).collect()
}

/// What rounding may do: upstream's own tolerance is a hundred million times as wide.
const ROUNDING: f64 = 1e-13;

#[test]
fn l1_and_l2_are_even_not_negative_and_scale() {
    for (_, d) in devices() {
        let one = |v: &[f64]| number(l1(tensor(v, [v.len()], &d), Reduce::Sum));
        let two = |v: &[f64]| number(l2(tensor(v, [v.len()], &d), Reduce::Sum, Centre::Zero, None));
        for (seed, count) in [1, 2, 7, 64, 200].into_iter().enumerate() {
            let (x, y) = (numbers(count, seed as u64), numbers(count, seed as u64 + 100));
            let times = |k: f64| x.iter().map(|x| k * x).collect::<Vec<f64>>();
            let sum: Vec<f64> = x.iter().zip(&y).map(|(x, y)| x + y).collect();
            assert!(one(&x) > 0.0 && two(&x) > 0.0);
            assert_eq!((one(&times(0.0)), two(&times(0.0))), (0.0, 0.0));
            assert_eq!((one(&times(-1.0)), two(&times(-1.0))), (one(&x), two(&x)));
            close(one(&times(-3.5)), 3.5 * one(&x), ROUNDING);
            close(two(&times(-3.5)), 12.25 * two(&x), ROUNDING);
            assert!(one(&sum) <= one(&x) + one(&y) + ROUNDING);
        }
    }
}

#[test]
fn an_elastic_net_lies_between_its_parts() {
    for (_, d) in devices() {
        for seed in 0..5 {
            let v = numbers(33, seed);
            let x = || tensor(&v, [33], &d);
            let parts =
                [number(l1(x(), Reduce::Sum)), number(l2(x(), Reduce::Sum, Centre::Zero, None))];
            let (low, high) = (parts[0].min(parts[1]), parts[0].max(parts[1]));
            for share in [0.1, 0.5, 0.9] {
                let net = number(elastic_net(x(), Reduce::Sum, share));
                assert!(low < net && net < high, "{low} {net} {high}");
            }
        }
    }
}

#[test]
fn divergences_are_bounded_and_vanish_for_equal_arguments() {
    for (_, d) in devices() {
        for (seed, classes) in [2, 5, 17, 95].into_iter().enumerate() {
            let (p, q) = (
                log_probabilities(classes, seed as u64),
                log_probabilities(classes, seed as u64 + 50),
            );
            let x = |v: &[f64]| tensor(v, [1, classes], &d);
            let mean = RowReduce::Mean;
            let f = |p: &[f64], q: &[f64], how| number(kl(x(p), x(q), how, mean).expect("fits"));
            let shared = |p: &[f64], q: &[f64]| number(js(x(p), x(q), mean).expect("fits"));
            let forward = f(&p, &q, Direction::Forward);
            assert!(forward > 0.0 && f(&p, &q, Direction::Reverse) > 0.0);
            close(f(&q, &p, Direction::Reverse), forward, ROUNDING);
            let both = f(&p, &q, Direction::Symmetric);
            close(both, f(&q, &p, Direction::Symmetric), ROUNDING);
            assert!(f(&p, &p, Direction::Forward).abs() <= ROUNDING);
            assert!(shared(&p, &p).abs() <= ROUNDING);
            close(shared(&p, &q), shared(&q, &p), ROUNDING);
            assert!(shared(&p, &q) > 0.0 && shared(&p, &q) < std::f64::consts::LN_2);
        }
    }
}

#[test]
fn an_entropy_is_bounded_and_rises_with_the_temperature() {
    for (_, d) in devices() {
        for (seed, classes) in [2, 5, 17, 95].into_iter().enumerate() {
            let p = log_probabilities(classes, seed as u64);
            let h = |normalise, temperature| {
                let x = tensor(&p, [1, classes], &d);
                let mode = EntropyMode::Bonus;
                number(entropy(x, mode, normalise, temperature, RowReduce::Mean).expect("positive"))
            };
            let top = (classes as f64).ln();
            assert!(h(false, 1.0) > 0.0 && h(false, 1.0) < top);
            close(h(true, 1.0), h(false, 1.0) / top, ROUNDING);
            let by_temperature = [0.25, 0.5, 1.0, 2.0, 4.0].map(|t| h(true, t));
            assert!(by_temperature.is_sorted_by(|a, b| a < b), "{by_temperature:?}");
            assert!(by_temperature[4] < 1.0);
        }
    }
}

/// The mean and the sum over rows are those of the rows one by one, at numbers of elements that do
/// and do not divide into blocks.
#[test]
fn rows_of_an_entropy_add_up() {
    for (_, d) in devices() {
        for (rows, classes) in [(1, 3), (7, 95), (64, 64), (13, 67), (1024, 17)] {
            let p: Vec<f64> =
                (0..rows).flat_map(|row| log_probabilities(classes, row as u64)).collect();
            let h = |reduce| {
                let x = tensor(&p, [rows, classes], &d);
                entropy(x, EntropyMode::Bonus, false, 1.0, reduce).expect("positive")
            };
            let each = common::read(h(RowReduce::None));
            assert_eq!(each.len(), rows);
            let sum: f64 = each.iter().sum();
            close(number(h(RowReduce::Sum)), sum, ROUNDING);
            close(number(h(RowReduce::Mean)), sum / rows as f64, ROUNDING);
        }
    }
}
