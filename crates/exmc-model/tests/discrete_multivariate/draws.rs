//! Draws against the masses (chi-square) or known moments, and `mean_variance` against both.

use exmc_math::digamma;
use exmc_math::random::{ChainRng, Phase};

use super::examples::{EXAMPLES, example};
use super::harness::{family, lpdf_batch};

/// Draws for a comparison with the masses of a count of very unequal cells.
const MANY: usize = 1_000_000;

/// Draws for every other comparison; with these a false alarm has probability 1e-6 in each test
/// below, and an error of 5 % in a scale is seen with near certainty (`fits` asserts that,
/// elsewhere it is said).
const N: usize = 200_000;

/// Normal deviations that a mean of N draws exceeds with probability below 1e-6 / 50, so that a
/// whole test of up to 50 comparisons keeps the rate of 1e-6.
const Z: f64 = 5.7;

fn sample(name: &str, parameters: &[&[f64]], len: usize, n: usize) -> Vec<Vec<f64>> {
    let f = family(name);
    let mut rng = ChainRng::new(20_260_801, 3, Phase::Predictive);
    (0..n)
        .map(|_| {
            let mut out = vec![f64::NAN; len];
            f.draw(&mut rng, parameters, &mut out);
            out
        })
        .collect()
}

/// The upper 1e-6 point of chi-square (Wilson and Hilferty; a few per cent high at one degree).
fn chi_square_limit(degrees: f64) -> f64 {
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + 4.7534 * part.sqrt()).powi(3)
}

/// Cells with at least ten draws expected; what lies beyond the last is in the last.
fn cells(masses: &[f64], n: f64) -> Vec<usize> {
    let mut cell_of = Vec::with_capacity(masses.len());
    let (mut cell, mut inside) = (0, 0.0);
    let mut left: f64 = masses.iter().sum();
    for mass in masses {
        cell_of.push(cell);
        inside += mass;
        left -= mass;
        if inside * n > 10.0 && left * n > 10.0 {
            (cell, inside) = (cell + 1, 0.0);
        }
    }
    cell_of
}

/// Draws of a family fit its masses, and would not fit those of `wrong` parameters.
fn fits(name: &str, parameters: &[&[f64]], wrong: &[&[f64]], outcomes: &[Vec<f64>]) {
    let wide = ["negative_binomial", "ordered_logistic"].contains(&name);
    let n_draws = if wide { MANY } else { N };
    let n = n_draws as f64;
    let masses = |parameters| -> Vec<f64> {
        lpdf_batch(name, outcomes, parameters).iter().map(|v| v.exp()).collect()
    };
    let (right, wrong) = (masses(parameters), masses(wrong));
    let cell_of = cells(&right, n);
    let n_cells = cell_of[cell_of.len() - 1] + 1;
    let (mut p, mut q, mut seen) = (vec![0.0; n_cells], vec![0.0; n_cells], vec![0.0; n_cells]);
    for (k, cell) in cell_of.iter().enumerate() {
        p[*cell] += right[k];
        q[*cell] += wrong[k];
    }
    for draw in sample(name, parameters, outcomes[0].len(), n_draws) {
        // Lists of one number are all counts from zero.
        let k = if draw.len() == 1 {
            assert!(draw[0].fract() == 0.0 && draw[0] >= 0.0, "{name}: {draw:?}");
            (draw[0] as usize).min(outcomes.len() - 1)
        } else {
            outcomes.iter().position(|o| *o == draw).expect("a possible outcome")
        };
        seen[cell_of[k]] += 1.0;
    }
    let statistic: f64 = p.iter().zip(&seen).map(|(p, s)| (s - n * p).powi(2) / (n * p)).sum();
    let degrees = (n_cells - 1).max(1) as f64;
    let limit = chi_square_limit(degrees);
    assert!(statistic < limit, "{name} {parameters:?}: {statistic} > {limit} at {degrees} degrees");
    let shift: f64 = p.iter().zip(&q).map(|(p, q)| n * (q - p).powi(2) / p).sum();
    let typical = degrees + shift - 5.0 * (2.0 * degrees + 4.0 * shift).sqrt();
    assert!(typical > limit, "{name}: the test would not notice, {typical} < {limit}");
}

fn counts(n: u32) -> Vec<Vec<f64>> {
    (0..n).map(|k| vec![f64::from(k)]).collect()
}

#[test]
fn of_counts_fit_their_masses() {
    let logit = |p: f64| (p / (1.0 - p)).ln();
    fits("bernoulli", &[&[0.3]], &[&[0.315]], &counts(2));
    fits("bernoulli_logit", &[&[logit(0.3)]], &[&[logit(0.315)]], &counts(2));
    for (n, theta) in [(12.0, 0.3), (12.0, 0.93), (1000.0, 0.004), (1000.0, 0.4), (100_000.0, 0.5)]
    {
        let wrong = theta * if theta < 0.9 { 1.05 } else { 0.95 };
        let outcomes = counts(n as u32 + 1);
        fits("binomial", &[&[n], &[theta]], &[&[n], &[wrong]], &outcomes);
        let (right, wrong) = (logit(theta), logit(wrong));
        fits("binomial_logit", &[&[n], &[right]], &[&[n], &[wrong]], &outcomes);
    }
    for rate in [0.4_f64, 6.5, 31.0, 400.0] {
        fits("poisson", &[&[rate]], &[&[1.05 * rate]], &counts(1000));
        fits("poisson_log", &[&[rate.ln()]], &[&[(1.05 * rate).ln()]], &counts(1000));
    }
    for (mu, phi) in [(3.0, 2.0), (0.5, 0.3), (40.0, 5.0), (40.0, 1e9)] {
        let outcomes = counts(2000);
        fits("negative_binomial", &[&[mu], &[phi]], &[&[1.05 * mu], &[phi]], &outcomes);
    }
}

#[test]
fn of_the_dispersion_fit_their_masses() {
    fits("negative_binomial", &[&[3.0], &[2.0]], &[&[3.0], &[2.2]], &counts(2000));
}

#[test]
fn of_categories_fit_their_masses() {
    fits("categorical", &[&[0.4, 0.6]], &[&[0.42, 0.58]], &counts(2));
    fits("categorical", &[&[0.2, 0.3, 0.5]], &[&[0.21, 0.29, 0.5]], &counts(3));
    let logs = |p: &[f64]| -> Vec<f64> { p.iter().map(|v| v.ln() + 700.0).collect() };
    let (right, wrong) = (logs(&[0.2, 0.3, 0.5]), logs(&[0.21, 0.29, 0.5]));
    fits("categorical_logit", &[&right], &[&wrong], &counts(3));
    let cuts: &[f64] = &[-2.0, -0.5, 0.25, 3.0];
    fits("ordered_logistic", &[&[0.7], cuts], &[&[0.75], cuts], &counts(5));
}

#[test]
fn of_multinomial_counts_fit_their_masses() {
    let mut outcomes = Vec::new();
    for a in 0..=4 {
        for b in 0..=4 - a {
            outcomes.push(vec![f64::from(a), f64::from(b), f64::from(4 - a - b)]);
        }
    }
    let wrong: &[f64] = &[0.21, 0.29, 0.5];
    fits("multinomial", &[&[4.0], &[0.2, 0.3, 0.5]], &[&[4.0], wrong], &outcomes);
}

/// Means of several functions of the draws against their expectations. The standard errors come
/// from the draws; a function's mean is off by 5 % of its standard deviation at 22 of them.
fn means<const K: usize>(
    name: &str,
    draws: &[Vec<f64>],
    expected: [f64; K],
    functions: impl Fn(&[f64]) -> [f64; K],
) {
    let n = draws.len() as f64;
    let (mut sum, mut squares) = ([0.0; K], [0.0; K]);
    for draw in draws {
        for (k, v) in functions(draw).into_iter().enumerate() {
            let centred = v - expected[k];
            sum[k] += centred;
            squares[k] += centred * centred;
        }
    }
    for k in 0..K {
        let mean = sum[k] / n;
        let error = ((squares[k] / n - mean * mean) / n).sqrt();
        assert!(mean.abs() < Z * error, "{name}, mean {k}: off by {} errors", mean / error);
    }
}

#[test]
fn mean_and_variance_are_those_of_the_draws() {
    let mut checked = 0;
    for e in EXAMPLES {
        let f = family(e.family);
        let numbers: Vec<f64> = e.parameters.iter().filter_map(|p| p.first()).copied().collect();
        if f.event_rank() > 0 || f.parameters().iter().any(|p| p.rank > 0) {
            continue;
        }
        let (mean, variance) = f.mean_variance(&numbers).expect("it has a formula");
        let draws = sample(e.family, e.parameters, 1, N);
        means(e.family, &draws, [mean, variance], |y| [y[0], (y[0] - mean).powi(2)]);
        checked += 1;
    }
    assert_eq!(checked, 7);
}

/// Values that should be independent standard normal: means, variances and products. A scale off by
/// 5 % moves a variance by 10 %, which is 31 standard errors.
fn standard_normal<const K: usize>(name: &str, draws: &[Vec<f64>], z: impl Fn(&[f64]) -> [f64; K]) {
    means(name, draws, [0.0; K], &z);
    means(name, draws, [1.0; K], |y| z(y).map(|v| v * v));
    means(name, draws, [0.0; K], |y| {
        let z = z(y);
        std::array::from_fn(|k| z[k] * z[(k + 1) % K])
    });
}

#[test]
fn of_normal_vectors_are_normal_when_whitened() {
    // The factor of [[2, .5], [.5, 1]] has rows (sqrt 2, 0) and (.5 / sqrt 2, sqrt .875).
    let root = 2.0_f64.sqrt();
    let e = example("multi_normal");
    standard_normal("multi_normal", &sample("multi_normal", e.parameters, 2, N), |y| {
        let first = (y[0] - 0.5) / root;
        [first, (y[1] + 1.0 - 0.5 / root * first) / 0.875_f64.sqrt()]
    });
    let e = example("multi_normal_cholesky");
    let draws = sample("multi_normal_cholesky", e.parameters, 2, N);
    standard_normal("multi_normal_cholesky", &draws, |y| {
        let first = (y[0] - 0.5) / 1.5;
        [first, (y[1] + 1.0 + 0.5 * first) / 0.25]
    });
}

#[test]
fn of_series_have_independent_steps() {
    let e = example("gaussian_random_walk");
    let draws = sample("gaussian_random_walk", e.parameters, 4, N);
    standard_normal("gaussian_random_walk", &draws, |y| {
        [(y[0] - 0.2) / 3.0, (y[1] - y[0]) / 0.5, (y[2] - y[1]) / 0.5, (y[3] - y[2]) / 0.5]
    });
    let draws = sample("ar", example("ar").parameters, 5, N);
    standard_normal("ar", &draws, |y| {
        let noise = |t: usize| (y[t] - 0.1 - 0.5 * y[t - 1] + 0.25 * y[t - 2]) / 0.7;
        [(y[0] - 0.2) / 2.0, (y[1] - 0.2) / 2.0, noise(2), noise(3), noise(4)]
    });
}

#[test]
fn of_a_singular_covariance_are_nan() {
    let f = family("multi_normal");
    let mut out = [0.0; 2];
    let mut rng = ChainRng::new(1, 0, Phase::Predictive);
    f.draw(&mut rng, &[&[0.0, 0.0], &[1.0, 2.0, 2.0, 1.0]], &mut out);
    assert!(out.iter().all(|v| v.is_nan()));
}

#[test]
fn of_dirichlet_vectors_have_its_moments() {
    let alpha = [0.3, 2.0, 5.0];
    let total: f64 = alpha.iter().sum();
    let draws = sample("dirichlet", &[&alpha], 3, N);
    for draw in &draws {
        assert!((draw.iter().sum::<f64>() - 1.0).abs() < 1e-14 && draw.iter().all(|v| *v >= 0.0));
    }
    let share = alpha.map(|a| a / total);
    means("mean", &draws, share, |y| [y[0], y[1], y[2]]);
    let moment = |i: usize, j: usize| {
        let extra = if i == j { 1.0 } else { 0.0 };
        share[i] * (alpha[j] + extra) / (total + 1.0)
    };
    let expected = [moment(0, 0), moment(1, 1), moment(2, 2), moment(0, 1), moment(1, 2)];
    means("second moments", &draws, expected, |y| {
        [y[0] * y[0], y[1] * y[1], y[2] * y[2], y[0] * y[1], y[1] * y[2]]
    });
    // The logs show the shape of the smallest one, whose mass is near zero.
    let logs = alpha.map(|a| digamma(a) - digamma(total));
    means("logs", &draws, logs, |y| [y[0].ln(), y[1].ln(), y[2].ln()]);
}

#[test]
fn of_tiny_dirichlet_parameters_are_proper() {
    for draw in sample("dirichlet", &[&[1e-3, 1e-3, 1e-3]], 3, N).iter().take(1000) {
        assert!((draw.iter().sum::<f64>() - 1.0).abs() < 1e-14, "{draw:?}");
    }
}

#[test]
fn of_lkj_factors_have_its_moments() {
    for eta in [0.5, 1.5, 6.0] {
        let draws = sample("lkj_corr_cholesky", &[&[eta]], 16, N);
        let correlation = |l: &[f64], i: usize, j: usize| -> f64 {
            (0..4).map(|k| l[4 * i + k] * l[4 * j + k]).sum()
        };
        for l in draws.iter().take(1000) {
            for i in 0..4 {
                assert!((correlation(l, i, i) - 1.0).abs() < 1e-14 && l[5 * i] > 0.0);
                assert!((i + 1..4).all(|j| l[4 * i + j] == 0.0));
            }
        }
        // Every correlation is Beta(a, a) stretched to (-1, 1) with a = eta - 1 + K / 2, also those
        // of late rows and columns. Reference: Lewandowski, Kurowicka and Joe 2009.
        let a = eta + 1.0;
        let (second, fourth) = (1.0 / (2.0 * a + 1.0), 3.0 / ((2.0 * a + 1.0) * (2.0 * a + 3.0)));
        let pairs = |l: &[f64]| {
            [(1, 0), (2, 0), (3, 0), (2, 1), (3, 1), (3, 2)].map(|(i, j)| correlation(l, i, j))
        };
        means("correlations", &draws, [0.0; 6], pairs);
        means("squares", &draws, [second; 6], |l| pairs(l).map(|r| r * r));
        means("fourth powers", &draws, [fourth; 6], |l| pairs(l).map(|r| r.powi(4)));
    }
}
