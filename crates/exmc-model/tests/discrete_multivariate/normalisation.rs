//! Densities integrate to one, masses add up to one.

use super::harness::Quantity::Lpdf;
use super::harness::{compile, lpdf_batch};

/// 1e-8, the promise for every family.
#[track_caller]
fn is_one(name: &str, total: f64) {
    assert!((total - 1.0).abs() < 1e-8, "{name}: {total}");
}

fn sum(name: &str, outcomes: &[Vec<f64>], parameters: &[&[f64]]) -> f64 {
    lpdf_batch(name, outcomes, parameters).iter().map(|v| v.exp()).sum()
}

/// Nodes and weights of Gauss and Legendre on (0, 1), by Newton's method.
fn gauss(n: usize) -> Vec<(f64, f64)> {
    (0..n)
        .map(|i| {
            let mut x = (std::f64::consts::PI * (i as f64 + 0.75) / (n as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..100 {
                let (mut p, mut q) = (1.0, 0.0);
                for k in 1..=n {
                    let k = k as f64;
                    (p, q) = (((2.0 * k - 1.0) * x * p - (k - 1.0) * q) / k, p);
                }
                slope = n as f64 * (x * p - q) / (x * x - 1.0);
                x -= p / slope;
            }
            (0.5 * (1.0 + x), 1.0 / ((1.0 - x * x) * slope * slope))
        })
        .collect()
}

#[test]
fn of_masses() {
    let counts = |n: u32| -> Vec<Vec<f64>> { (0..n).map(|k| vec![f64::from(k)]).collect() };
    for theta in [0.0, 1e-12, 0.3, 1.0] {
        is_one("bernoulli", sum("bernoulli", &counts(2), &[&[theta]]));
        is_one("binomial", sum("binomial", &counts(981), &[&[980.0], &[theta]]));
    }
    for alpha in [-30.0, 0.4, 5.0] {
        is_one("bernoulli_logit", sum("bernoulli_logit", &counts(2), &[&[alpha]]));
        is_one("binomial_logit", sum("binomial_logit", &counts(981), &[&[980.0], &[alpha]]));
    }
    for rate in [0.0, 1e-9, 2.5, 400.0] {
        is_one("poisson", sum("poisson", &counts(1500), &[&[rate]]));
    }
    for log_rate in [-20.0, 0.3, 6.0] {
        is_one("poisson_log", sum("poisson_log", &counts(1500), &[&[log_rate]]));
    }
    for (mu, phi) in
        [(0.1, 0.1), (3.0, 2.0), (20.0, 1.0), (50.0, 999.9), (50.0, 1000.0), (50.0, 1e10)]
    {
        is_one("negative_binomial", sum("negative_binomial", &counts(3000), &[&[mu], &[phi]]));
    }
    for theta in [&[1.0][..], &[0.2, 0.3, 0.5], &[0.0, 1.0]] {
        is_one("categorical", sum("categorical", &counts(theta.len() as u32), &[theta]));
    }
    for beta in [&[7.0][..], &[1.0, -2.0, 0.5], &[900.0, 899.0]] {
        is_one("categorical_logit", sum("categorical_logit", &counts(beta.len() as u32), &[beta]));
    }
    for cuts in [&[0.5][..], &[-2.0, -0.5, 0.25, 3.0]] {
        for eta in [-7.0, 0.0, 2.0] {
            let n = cuts.len() as u32 + 1;
            is_one("ordered_logistic", sum("ordered_logistic", &counts(n), &[&[eta], cuts]));
        }
    }
}

#[test]
fn of_multinomial_masses() {
    let n = 9;
    let mut outcomes = Vec::new();
    for a in 0..=n {
        for b in 0..=n - a {
            outcomes.push(vec![f64::from(a), f64::from(b), f64::from(n - a - b)]);
        }
    }
    is_one("multinomial", sum("multinomial", &outcomes, &[&[9.0], &[0.2, 0.3, 0.5]]));
    is_one("multinomial", sum("multinomial", &outcomes, &[&[9.0], &[0.0, 0.3, 0.7]]));
}

#[test]
fn of_the_dirichlet_density() {
    // Powers of at least one half more than integers are smooth after y = x^2 (3 - 2 x).
    let nodes = gauss(60);
    let bend = |x: f64| (x * x * (3.0 - 2.0 * x), 6.0 * x * (1.0 - x));
    for alpha in [[2.0, 3.0, 4.0], [1.0, 1.0, 1.0], [1.0, 5.5, 2.0]] {
        let (mut outcomes, mut weights) = (Vec::new(), Vec::new());
        for (u, wu) in &nodes {
            for (v, wv) in &nodes {
                let ((a, da), (b, db)) = (bend(*u), bend(*v));
                let (first, second) = (a, (1.0 - a) * b);
                outcomes.push(vec![first, second, 1.0 - first - second]);
                weights.push(wu * da * wv * db * (1.0 - a));
            }
        }
        let densities = lpdf_batch("dirichlet", &outcomes, &[&alpha]);
        is_one("dirichlet", densities.iter().zip(&weights).map(|(l, w)| l.exp() * w).sum());
    }
}

#[test]
fn of_densities_on_the_plane() {
    // The trapezoidal rule is exact to rounding for normal densities whose scale is several steps;
    // a grid of 0.15 to 13 covers scales from 0.5 to 1.5 out to eight of them.
    for (name, parameters) in [
        ("multi_normal", &[&[0.5, -1.0][..], &[2.0, 0.5, 0.5, 1.0]][..]),
        ("multi_normal_cholesky", &[&[0.5, -1.0], &[1.5, 0.0, -0.5, 0.7]]),
        ("gaussian_random_walk", &[&[0.7], &[1.2], &[0.2]]),
        ("ar", &[&[0.6], &[0.7], &[0.1], &[0.2], &[1.2]]),
        ("ar", &[&[], &[0.7], &[0.1], &[0.2], &[1.2]]),
        ("ar", &[&[0.6, -0.3], &[0.7], &[0.1], &[0.2], &[1.2]]),
    ] {
        let (step, reach) = (0.15, 87);
        let mut outcomes = Vec::new();
        for i in -reach..=reach {
            for j in -reach..=reach {
                outcomes.push(vec![f64::from(i) * step, f64::from(j) * step]);
            }
        }
        is_one(name, sum(name, &outcomes, parameters) * step * step);
    }
}

#[test]
fn of_the_lkj_density() {
    let nodes = gauss(16);
    let half_turn = std::f64::consts::PI;
    for eta in [0.5_f64, 1.0, 2.0, 4.5] {
        let density = |factor: &[f64]| {
            compile("lkj_corr_cholesky", Lpdf, factor, &[&[eta]]).result()[0].exp()
        };
        // Row by row in angles: (sin a, cos a), then (sin b cos c, sin b sin c, cos b).
        let (mut two, mut three) = (0.0, 0.0);
        for (u, wu) in &nodes {
            let a = half_turn * (u - 0.5);
            two += wu * half_turn * a.cos() * density(&[1.0, 0.0, a.sin(), a.cos()]);
            for (v, wv) in &nodes {
                let b = 0.5 * half_turn * v;
                for k in 0..4 {
                    let c = half_turn * (f64::from(k) + 0.5) / 2.0;
                    let factor = [
                        [1.0, 0.0, 0.0],
                        [a.sin(), a.cos(), 0.0],
                        [b.sin() * c.cos(), b.sin() * c.sin(), b.cos()],
                    ];
                    let area = half_turn
                        * a.cos()
                        * (half_turn / 2.0)
                        * (half_turn / 2.0)
                        * b.sin()
                        * b.cos();
                    three += wu * wv * area * density(factor.as_flattened());
                }
            }
        }
        is_one("two variables", two);
        is_one("three variables", three);
    }
}
