//! Multi-path Pathfinder against posteriors whose moments are known.
#![allow(clippy::unwrap_used, reason = "a failing unwrap fails the test")]

use crate::common::{Density, column, correlated, mean, variance};
use exmc_infer::Start;
use exmc_infer::pathfinder::{MultiPath, MultiPathConfig, multi_path};

fn values(found: &MultiPath, i: usize) -> Vec<f64> {
    let dim = found.draws[0].position.len();
    let flat: Vec<f64> = found.draws.iter().flat_map(|d| d.position.clone()).collect();
    column(&flat, dim, i)
}

/// Draws of a normal: the approximation is exact, the weights are equal up to rounding, and 1000
/// draws of 4000 have a standard error of 0.035 for the mean and 0.05 for the variance; five of
/// them are exceeded once in a million.
#[test]
fn draws_of_a_normal_have_its_moments() {
    let found = multi_path(&correlated(4, 0.9), &[], &MultiPathConfig::default()).unwrap();
    assert_eq!(found.draws.len(), 1000);
    for i in 0..4 {
        let x = values(&found, i);
        assert!(mean(&x).abs() < 0.18 && (variance(&x) - 1.0).abs() < 0.27, "{}", variance(&x));
    }
    let used: std::collections::BTreeSet<u32> = found.draws.iter().map(|d| d.path).collect();
    assert_eq!(used.len(), 4, "every path counts alike");
}

/// The log of a gamma variable of shape 10 over 10 is no normal, though its tails are no heavier
/// than weights can mend: weights make its mean right. $E = \psi(10) - \log 10$, variance
/// $\psi'(10)$. Resampled draws have fewer effective ones, half of 4000 at the least here.
#[test]
fn importance_weights_correct_a_skewed_density() {
    let logp_grad = |q: &[f64], g: &mut [f64]| {
        g[0] = 10.0 - 10.0 * libm::exp(q[0]);
        Ok(10.0 * q[0] - 10.0 * libm::exp(q[0]))
    };
    let model = Density { dim: 1, logp_grad };
    let mut config = MultiPathConfig::default();
    (config.draws, config.seed) = (4000, 3);
    let found = multi_path(&model, &[], &config).unwrap();
    let x = values(&found, 0);
    let exact = 2.251_752_589_066_721 - std::f64::consts::LN_10;
    let error = (0.105_166_335_681_686_f64 / 2000.0).sqrt();
    assert!((mean(&x) - exact).abs() < 5.0 * error, "{} {exact}", mean(&x));
    assert!(found.pareto_k < 0.7, "{}", found.pareto_k);
    // Without weights the mean is that of the normal at the mode, which is 0.
    config.resample = false;
    let plain = multi_path(&model, &[], &config).unwrap();
    assert!((mean(&values(&plain, 0)) - exact).abs() > 5.0 * error);
    assert_eq!(plain.draws.len(), 4000);
}

/// A path that ends in a mode whose mass is e^-8 of the other's is hardly ever chosen.
#[test]
fn a_minor_mode_has_hardly_any_draws() {
    let logp_grad = |q: &[f64], g: &mut [f64]| {
        let [a, b] = [-0.5 * (q[0] + 5.0).powi(2), -8.0 - 0.5 * (q[0] - 5.0).powi(2)];
        let top = a.max(b);
        let (wa, wb) = (libm::exp(a - top), libm::exp(b - top));
        g[0] = -(wa * (q[0] + 5.0) + wb * (q[0] - 5.0)) / (wa + wb);
        Ok(top + libm::log(wa + wb))
    };
    let model = Density { dim: 1, logp_grad };
    let starts = [Start::At(vec![-6.0]), Start::At(vec![6.0])];
    let mut config = MultiPathConfig::default();
    config.paths = 2;
    let found = multi_path(&model, &starts, &config).unwrap();
    let minor = values(&found, 0).iter().filter(|x| **x > 0.0).count();
    // A share of e^-8 of 1000 draws is a third of a draw.
    assert!(minor < 10, "{minor}");
    config.resample = false;
    let plain = multi_path(&model, &starts, &config).unwrap();
    assert_eq!(values(&plain, 0).iter().filter(|x| **x > 0.0).count(), 1000);
}

#[test]
fn threads_do_not_change_the_draws() {
    let mut config = MultiPathConfig::default();
    let one = multi_path(&correlated(3, 0.5), &[], &config).unwrap();
    config.threads = 4;
    let four = multi_path(&correlated(3, 0.5), &[], &config).unwrap();
    assert_eq!(one.draws, four.draws);
    config.evaluate = false;
    let unknown = multi_path(&correlated(3, 0.5), &[], &config).unwrap();
    let nan = unknown.draws.iter().filter(|d| d.logp.is_nan()).count();
    // The 25 draws of each path that chose its approximation have their density.
    assert_eq!((unknown.draws.len(), nan), (4000, 4000 - 4 * 25));
}

#[test]
fn bad_settings_are_told() {
    let mut config = MultiPathConfig::default();
    config.paths = 0;
    let error = multi_path(&correlated(2, 0.5), &[], &config).unwrap_err();
    assert!(error.is_config() && error.to_string().contains("paths"), "{error}");
    let starts = vec![Start::Random; 3];
    let error = multi_path(&correlated(2, 0.5), &starts, &MultiPathConfig::default()).unwrap_err();
    assert!(error.to_string().contains("one per path (4), found 3"), "{error}");
}
