//! Every closed-form gradient of the reference against central differences of its own value.

use plain::Answer;
use plain::divergence::{
    absolute_difference, cosine_distance, entropy, js, kl, squared_difference, symmetric,
};
use plain::element::{Centre, elastic_net, l1, l2};
use plain::network::Network;
use plain::spectrum::{decompose, nuclear_norm, spectral_norm};
use plain::structure::{Mode, group_lasso, magnitude, orthogonality, total_variation};

/// Numbers in (-1, 1) that are far from each other and from 0.
fn numbers(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        })
        .collect()
}

fn log_probabilities(count: usize, width: usize, seed: u64) -> Vec<f64> {
    let raw = numbers(count, seed);
    raw.chunks(width)
        .flat_map(|row| {
            let total = row.iter().map(|x| x.exp()).sum::<f64>().ln();
            row.iter().map(move |x| x - total).collect::<Vec<_>>()
        })
        .collect()
}

/// Central differences are wrong by about h^2 and by rounding over h: 1e-9 with h = 1e-5 on smooth
/// functions of order one.
fn same(name: &str, inputs: &[Vec<f64>], f: impl Fn(&[Vec<f64>]) -> Answer) {
    let exact = f(inputs);
    for (which, gradient) in exact.gradients.iter().enumerate() {
        assert_eq!(gradient.len(), inputs[which].len(), "{name}");
        for i in 0..gradient.len() {
            let value_at = |h: f64| {
                let mut moved = inputs.to_vec();
                moved[which][i] += h;
                f(&moved).value
            };
            let h = 1e-5;
            let difference = (value_at(h) - value_at(-h)) / (2.0 * h);
            let wrong = (difference - gradient[i]).abs() / (1.0 + gradient[i].abs());
            assert!(
                wrong < 2e-8,
                "{name}, input {which}, element {i}: {difference} {}",
                gradient[i]
            );
        }
    }
}

#[test]
fn gradients_are_those_of_the_values() {
    let x = numbers(12, 7);
    let one = |x: &Vec<f64>| vec![x.clone()];
    same("l1", &one(&x), |x| l1(&x[0]));
    for centre in [Centre::At(0.0), Centre::At(0.3), Centre::Mean] {
        same("l2", &one(&x), |x| l2(&x[0], centre, None));
        same("l2 clipped", &one(&x), |x| l2(&x[0], centre, Some(0.4)));
    }
    same("elastic net", &one(&x), |x| elastic_net(&x[0], 0.3));
    let (p, q) = (log_probabilities(12, 4, 1), log_probabilities(12, 4, 2));
    let both = vec![p.clone(), q];
    same("kl", &both, |x| kl(&x[0], &x[1]));
    same("symmetric", &both, |x| symmetric(&x[0], &x[1]));
    same("js", &both, |x| js(&x[0], &x[1]));
    for temperature in [1.0, 0.5, 2.0] {
        same("entropy", &one(&p), |x| entropy(&x[0], 4, temperature));
    }
    let two = vec![x.clone(), numbers(12, 8)];
    same("squared", &two, |x| squared_difference(&x[0], &x[1]));
    same("absolute", &two, |x| absolute_difference(&x[0], &x[1]));
    same("cosine", &two, |x| cosine_distance(&x[0], &x[1]));
    for axis in 0..3 {
        same("group lasso", &one(&x), |x| group_lasso(&x[0], &[2, 3, 2], axis, true));
        same("variation", &one(&x), |x| total_variation(&x[0], &[2, 3, 2], axis));
    }
    for mean in [true, false] {
        same("magnitude", &one(&x), |x| magnitude(&x[0], 1.5, mean));
    }
    for mode in [Mode::Soft, Mode::Hard, Mode::Spectral] {
        for normalise in [true, false] {
            same("orthogonality", &one(&x), |x| orthogonality(&x[0], 4, mode, normalise));
        }
    }
    for width in [3, 4] {
        // Singular values that are apart from each other and from 0, where third derivatives are
        // large.
        let mut x = x.clone();
        (0..3).for_each(|i| x[i * width + i] += 2.0 * (i + 1) as f64);
        same("spectral", &one(&x), |x| spectral_norm(&x[0], width));
        same("nuclear", &one(&x), |x| nuclear_norm(&x[0], width));
    }
}

#[test]
fn gradient_penalties_are_those_of_the_values() {
    let inputs = vec![numbers(6, 3), numbers(12, 4), numbers(4, 5), numbers(4, 6)];
    for each in [false, true] {
        same("gradient penalty", &inputs, |x| {
            let network = Network { w: x[1].clone(), b: x[2].clone(), v: x[3].clone() };
            network.penalty(&x[0], 3, 0.7, each)
        });
    }
}

#[test]
fn a_decomposition_multiplies_back() {
    let x = numbers(20, 9);
    let parts = decompose(&x, 4);
    for (index, x) in x.iter().enumerate() {
        let (i, j) = (index / 4, index % 4);
        let back: f64 =
            (0..4).map(|k| parts.values[k] * parts.left[k][i] * parts.right[k][j]).sum();
        // Rotations are backward stable: a few units in the last place of the largest value.
        assert!((back - x).abs() < 1e-14, "{back} {x}");
    }
    assert!(parts.values.windows(2).all(|pair| pair[0] >= pair[1]));
}
