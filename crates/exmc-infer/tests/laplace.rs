//! Normal approximations: exact for normal densities, known curvatures for others, and draws that
//! have them.

use exmc_density::{EvaluationError, LogDensity};
use exmc_infer::Laplace;
use exmc_infer::laplace::hessian;
use exmc_math::random::{ChainRng, Phase};

struct Written<F>(usize, F);

impl<F: FnMut(&[f64], &mut [f64]) -> f64> LogDensity for Written<F> {
    fn dim(&self) -> usize {
        self.0
    }
    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        Ok((self.1)(q, g))
    }
}

const MEAN: [f64; 3] = [1.0, -20.0, 0.0];
/// A precision with scales 1, 1e5 and 1e-4.
const PRECISION: [f64; 9] = [2.0, 0.5e-5, 0.3e4, 0.5e-5, 1e-10, -0.2e-1, 0.3e4, -0.2e-1, 1e8];

fn gaussian(q: &[f64], g: &mut [f64]) -> f64 {
    g.fill(0.0);
    let mut total = 0.0;
    for i in 0..3 {
        for j in 0..3 {
            g[i] -= PRECISION[3 * i + j] * (q[j] - MEAN[j]);
        }
        total += 0.5 * g[i] * (q[i] - MEAN[i]);
    }
    total
}

#[test]
fn a_normal_density_is_its_own_approximation() {
    let found = hessian(&mut Written(3, gaussian), &MEAN).unwrap();
    for i in 0..3 {
        for j in 0..3 {
            // In units of the coordinates' own widths.
            let unit = (PRECISION[4 * i] * PRECISION[4 * j]).sqrt();
            let error = (found[3 * i + j] + PRECISION[3 * i + j]) / unit;
            assert!(error.abs() < 1e-11, "{i}, {j}: {error}");
        }
    }
    let approximation = Laplace::at(&mut Written(3, gaussian), &MEAN).unwrap();
    let covariance = approximation.covariance();
    for i in 0..3 {
        for j in 0..3 {
            let product: f64 = (0..3).map(|k| covariance[3 * i + k] * PRECISION[3 * k + j]).sum();
            let unit = (PRECISION[4 * j] / PRECISION[4 * i]).sqrt();
            let exact = if i == j { 1.0 } else { 0.0 };
            assert!((product - exact).abs() < 1e-9 * unit.max(1.0), "{i}, {j}: {product}");
        }
    }
}

#[test]
fn curvatures_that_are_known_in_closed_form() {
    // log of a gamma variable with shape a and rate b: mode log(a / b), curvature -a; the shape is
    // that of a posterior of a scale, which is skewed.
    for (shape, rate) in [(0.5, 3.0), (4.0, 1e6), (300.0, 1e-3)] {
        let log_gamma = |q: &[f64], g: &mut [f64]| {
            let rate = rate * libm::exp(q[0]);
            g[0] = shape - rate;
            shape * q[0] - rate
        };
        let mode = [libm::log(shape / rate)];
        let found = hessian(&mut Written(1, log_gamma), &mode).unwrap()[0];
        assert!((found / -shape - 1.0).abs() < 1e-9, "{found}, exactly {}", -shape);
    }
    // Logistic regression on one covariate, off the mode: the curvature is the sum of x^2 p (1 -
    // p).
    let covariate = [-2.0, -0.5, 0.1, 1.0, 3.0];
    let sigmoid = |x: f64| 1.0 / (1.0 + libm::exp(-x));
    let logistic = |q: &[f64], g: &mut [f64]| {
        g[0] = covariate.iter().map(|x| x * sigmoid(-x * q[0])).sum();
        covariate.iter().map(|x| libm::log(sigmoid(x * q[0]))).sum()
    };
    let exact: f64 = covariate.iter().map(|x| x * x * sigmoid(0.7 * x) * sigmoid(-0.7 * x)).sum();
    let found = hessian(&mut Written(1, logistic), &[0.7]).unwrap()[0];
    assert!((found / -exact - 1.0).abs() < 1e-10, "{found}, exactly {}", -exact);
}

#[test]
fn draws_have_the_covariance_and_know_their_density() {
    let approximation = Laplace::at(&mut Written(3, gaussian), &MEAN).unwrap();
    let covariance = approximation.covariance();
    let mut rng = ChainRng::new(3, 0, Phase::Sampling);
    let (n, mut draw, mut sums) = (20_000, [0.0; 3], [0.0; 9]);
    for _ in 0..n {
        let log_density = approximation.draw(&mut rng, &mut draw);
        let exact = gaussian(&draw, &mut [0.0; 3]);
        assert!((log_density - exact).abs() < 1e-6 * exact.abs().max(1.0), "{log_density} {exact}");
        for i in 0..3 {
            for j in 0..3 {
                sums[3 * i + j] += (draw[i] - MEAN[i]) * (draw[j] - MEAN[j]);
            }
        }
    }
    // A product of two standardised normals has a standard deviation of at most sqrt(2): 6 standard
    // errors, so a false alarm has a probability below 2e-8. A factor used the wrong way round is
    // off by several tenths.
    for i in 0..3 {
        for j in 0..3 {
            let unit = (covariance[4 * i] * covariance[4 * j]).sqrt();
            let error = (sums[3 * i + j] / f64::from(n) - covariance[3 * i + j]) / unit;
            assert!(error.abs() < 6.0 * (2.0 / f64::from(n)).sqrt(), "{i}, {j}: {error}");
        }
    }
}

#[test]
fn points_that_are_no_maximum_are_errors() {
    let saddle = |q: &[f64], g: &mut [f64]| {
        g.copy_from_slice(&[-q[0], q[1]]);
        0.5 * (q[1] * q[1] - q[0] * q[0])
    };
    let error = Laplace::at(&mut Written(2, saddle), &[0.0, 0.0]).unwrap_err();
    assert!(error.to_string().contains("not positive definite"), "{error}");
    let flat = |q: &[f64], g: &mut [f64]| {
        g.copy_from_slice(&[-q[0], 0.0]);
        -0.5 * q[0] * q[0]
    };
    assert!(Laplace::at(&mut Written(2, flat), &[0.0, 1.0]).is_err());
    // On the edge of the support.
    let edge = |q: &[f64], g: &mut [f64]| {
        g[0] = -1.0;
        if q[0] >= 0.0 { -q[0] } else { f64::NEG_INFINITY }
    };
    let error = Laplace::at(&mut Written(1, edge), &[0.0]).unwrap_err();
    assert!(error.to_string().contains("coordinate 0"), "{error}");
}
