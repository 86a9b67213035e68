//! Densities with known moments, and the few statistics that the tests need.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part of this module")]

pub mod review;

use exmc_density::{DensityModel, EvaluationError, LogDensity};

/// A density given by a function of position and gradient; cloned for each chain.
#[derive(Clone)]
pub struct Density<F> {
    pub dim: usize,
    pub logp_grad: F,
}

impl<F> LogDensity for Density<F>
where
    F: Fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError>,
{
    fn dim(&self) -> usize {
        self.dim
    }

    fn logp_grad(&mut self, q: &[f64], g: &mut [f64]) -> Result<f64, EvaluationError> {
        (self.logp_grad)(q, g)
    }
}

impl<F> DensityModel for Density<F>
where
    F: Fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError> + Clone + Send + Sync,
{
    type Instance = Self;

    fn dim(&self) -> usize {
        self.dim
    }

    fn instance(&self) -> Self {
        self.clone()
    }
}

/// Declares a named density: `fn name(args) -> density of dimension d, value expression`.
macro_rules! density {
    ($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*), $dim:expr, |$q:ident, $g:ident| $body:expr) => {
        $(#[$doc])*
        pub fn $name($($arg: $ty),*) -> Density<
            impl Fn(&[f64], &mut [f64]) -> Result<f64, EvaluationError> + Clone + Send + Sync,
        > {
            Density { dim: $dim, logp_grad: move |$q: &[f64], $g: &mut [f64]| Ok($body) }
        }
    };
}

density! {
    /// Independent normals with standard deviations 1, 2, 3, ...
    normal(dim: usize), dim, |q, g| {
        let mut logp = 0.0;
        for (i, (q, g)) in q.iter().zip(g).enumerate() {
            let variance = ((i + 1) * (i + 1)) as f64;
            *g = -q / variance;
            logp -= 0.5 * q * q / variance;
        }
        logp
    }
}

density! {
    /// Standard normals.
    standard_normal(dim: usize), dim, |q, g| {
        let mut logp = 0.0;
        for (q, g) in q.iter().zip(g) {
            *g = -q;
            logp -= 0.5 * q * q;
        }
        logp
    }
}

density! {
    /// Unit normals, every pair with correlation `rho`.
    correlated(dim: usize, rho: f64), dim, |q, g| {
        // The inverse of (1 - rho) I + rho 11' is (I - k 11') / (1 - rho).
        let k = rho / (1.0 + (dim as f64 - 1.0) * rho);
        let sum: f64 = q.iter().sum();
        let mut logp = 0.0;
        for (q, g) in q.iter().zip(g) {
            *g = -(q - k * sum) / (1.0 - rho);
            logp += 0.5 * q * *g;
        }
        logp
    }
}

density! {
    /// log x for x ~ HalfNormal(1).
    log_half_normal(), 1, |q, g| {
        let x = q[0].exp();
        g[0] = 1.0 - x * x;
        q[0] - 0.5 * x * x
    }
}

density! {
    /// log x for x ~ Exponential(2).
    log_exponential(), 1, |q, g| {
        let x = q[0].exp();
        g[0] = 1.0 - 2.0 * x;
        q[0] - 2.0 * x
    }
}

density! {
    /// Student t with 5 degrees of freedom: variance 5/3.
    student_t(), 1, |q, g| {
        g[0] = -6.0 * q[0] / (5.0 + q[0] * q[0]);
        -3.0 * (q[0] * q[0] / 5.0).ln_1p()
    }
}

density! {
    /// A standard normal that cannot be evaluated above 0.5.
    walled_normal(), 1, |q, g| {
        g[0] = -q[0];
        if q[0] > 0.5 { f64::NAN } else { -0.5 * q[0] * q[0] }
    }
}

/// Mean of `f` over draws.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Population variance.
pub fn variance(values: &[f64]) -> f64 {
    let m = mean(values);
    values.iter().map(|x| (x - m) * (x - m)).sum::<f64>() / values.len() as f64
}

/// Effective sample size of one chain: Geyer's initial monotone sequence (Geyer 1992, section 3.3).
pub fn ess(chain: &[f64]) -> f64 {
    let n = chain.len();
    let m = mean(chain);
    let covariance = |lag: usize| {
        (0..n - lag).map(|i| (chain[i] - m) * (chain[i + lag] - m)).sum::<f64>() / n as f64
    };
    let v0 = covariance(0);
    let mut sum = -v0;
    let mut last = f64::INFINITY;
    for pair in 0..n / 2 - 1 {
        let both = (covariance(2 * pair) + covariance(2 * pair + 1)).min(last);
        if both <= 0.0 {
            break;
        }
        sum += 2.0 * both;
        last = both;
    }
    // An antithetic chain may have more information than independent draws; the bound is Stan's.
    (n as f64 * v0 / sum).min(n as f64 * (n as f64).log10())
}

/// z-score of the mean of `f` over several chains against its true value, with the Monte Carlo
/// error from each chain's effective sample size; and the total effective sample size.
pub fn z_score(chains: &[Vec<f64>], truth: f64, f: impl Fn(f64) -> f64) -> (f64, f64) {
    let mut total_ess = 0.0;
    let (mut sum, mut squared_error, mut n) = (0.0, 0.0, 0.0);
    for chain in chains {
        let values: Vec<f64> = chain.iter().map(|x| f(*x)).collect();
        let ess = ess(&values);
        total_ess += ess;
        sum += mean(&values);
        squared_error += variance(&values) / ess;
        n += 1.0;
    }
    ((sum / n - truth) / (squared_error.sqrt() / n), total_ess)
}

/// One coordinate of row-major draws.
pub fn column(draws: &[f64], dim: usize, i: usize) -> Vec<f64> {
    draws.iter().skip(i).step_by(dim).copied().collect()
}

/// FNV-1a over the bits of the numbers.
pub fn hash(values: &[f64]) -> u64 {
    values
        .iter()
        .flat_map(|x| x.to_bits().to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}
