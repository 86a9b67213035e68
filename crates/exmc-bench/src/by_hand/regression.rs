//! Normal linear regressions: a design and outcomes -> a gradient from sufficient statistics.
//!
//! The likelihood depends on the data through the least squares estimate, the Gram matrix and the
//! residual sum of squares: $|y - Xb|^2 = (b-\hat b)' X'X (b-\hat b) + r$. They come from an
//! orthogonal decomposition, once.

use exmc_math::simd::{Kernel, Level, Simd, vector};

use super::{Gradient, eight};
use crate::models::Data;

/// Most vectors of coefficients: up to 32 columns.
const V: usize = 4;

struct Statistics {
    columns: usize,
    /// A column of the Gram matrix after the other, filled up with zeros.
    gram: Vec<[[f64; 8]; V]>,
    estimate: Vec<f64>,
    residual: f64,
    n: f64,
}

/// Priors besides a flat one.
#[derive(Clone, Copy)]
enum Priors {
    /// normal(0, 10) coefficients, exponential(1) scale.
    Plain,
    /// None, and none on the scale.
    Flat,
    /// normal(0, 1) coefficients, Student-t intercept (first) and scale.
    Diamonds,
}

/// Intercept, coefficients, log scale.
pub(super) fn plain(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let (n, k) = (data.size("N")?, data.size("K")?);
    let design = data.values("X")?;
    let column = |j: usize| match j.checked_sub(1) {
        None => vec![1.0; n],
        Some(j) => (0..n).map(|i| design[i * k + j]).collect(),
    };
    let statistics = Statistics::new((0..=k).map(column).collect(), data.values("y")?)?;
    Ok(closure(statistics, Priors::Plain, level))
}

/// Nine coefficients, log scale.
pub(super) fn nes(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let age = data.values("age_discrete")?;
    let class = |k: f64| age.iter().map(|&a| f64::from(a == k)).collect::<Vec<f64>>();
    let mut columns = vec![vec![1.0; age.len()]];
    for name in ["real_ideo", "race_adj"] {
        columns.push(data.values(name)?);
    }
    columns.extend([2.0, 3.0, 4.0].map(class));
    for name in ["educ1", "gender", "income"] {
        columns.push(data.values(name)?);
    }
    let statistics = Statistics::new(columns, data.values("partyid7")?)?;
    Ok(closure(statistics, Priors::Flat, level))
}

/// Intercept, coefficients of centred columns, log scale.
pub(super) fn diamonds(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let (n, k) = (data.size("N")?, data.size("K")?);
    let design = data.values("X")?;
    let mut columns = vec![vec![1.0; n]];
    for j in 1..k {
        let column: Vec<f64> = (0..n).map(|i| design[i * k + j]).collect();
        let mean = column.iter().sum::<f64>() / n as f64;
        columns.push(column.iter().map(|x| x - mean).collect());
    }
    let statistics = Statistics::new(columns, data.values("Y")?)?;
    Ok(closure(statistics, Priors::Diamonds, level))
}

fn closure(statistics: Statistics, priors: Priors, level: Level) -> Gradient {
    Box::new(move |position, gradient| {
        level.run(Regression { statistics: &statistics, priors, position, gradient })
    })
}

impl Statistics {
    /// Gram and Schmidt's decomposition, modified, of the design with the outcomes as its last
    /// column.
    fn new(mut columns: Vec<Vec<f64>>, y: Vec<f64>) -> Result<Self, String> {
        let (k, n) = (columns.len(), y.len());
        if k > 8 * V || columns.iter().any(|c| c.len() != n) {
            return Err(format!("the kernel is for at most {} columns of one length", 8 * V));
        }
        columns.push(y);
        let mut upper = vec![vec![0.0; k + 1]; k + 1];
        for j in 0..=k {
            let (before, after) = columns.split_at_mut(j + 1);
            let column = &mut before[j];
            let norm = dot(column, column).sqrt();
            upper[j][j] = norm;
            if j == k {
                break;
            }
            column.iter_mut().for_each(|x| *x /= norm);
            for (m, other) in after.iter_mut().enumerate() {
                let share = dot(column, other);
                upper[j][j + 1 + m] = share;
                other.iter_mut().zip(column.iter()).for_each(|(x, q)| *x -= share * q);
            }
        }
        let mut estimate = vec![0.0; k];
        for j in (0..k).rev() {
            let known: f64 = (j + 1..k).map(|m| upper[j][m] * estimate[m]).sum();
            estimate[j] = (upper[j][k] - known) / upper[j][j];
        }
        let gram = |a: usize, b: usize| (0..k).map(|j| upper[j][a] * upper[j][b]).sum::<f64>();
        let column = |a: usize| {
            let full: Vec<f64> = (0..k).map(|b| gram(a, b)).collect();
            std::array::from_fn(|v| eight(&full, 8 * v))
        };
        Ok(Self {
            columns: k,
            gram: (0..k).map(column).collect(),
            estimate,
            residual: upper[k][k] * upper[k][k],
            n: n as f64,
        })
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

struct Regression<'a> {
    statistics: &'a Statistics,
    priors: Priors,
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Regression<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { statistics, priors, position, gradient } = self;
        let Statistics { columns, gram, estimate, residual, n } = statistics;
        let (columns, vectors) = (*columns, columns.div_ceil(8));
        let log_sigma = position[columns];
        let mut product = [s.splat(0.0); V];
        for j in 0..columns {
            let step = s.splat(position[j] - estimate[j]);
            for v in 0..vectors {
                product[v] = s.fma(s.load(&gram[j][v]), step, product[v]);
            }
        }
        let weight = s.to_array(vector::exp(s, s.splat(-2.0 * log_sigma)))[0];
        let mut quadratic = *residual;
        let mut slopes = [[0.0; 8]; V];
        for v in 0..vectors {
            s.store(product[v], &mut slopes[v]);
        }
        let slopes = slopes.as_flattened();
        let mut prior = 0.0;
        for j in 0..columns {
            quadratic += (position[j] - estimate[j]) * slopes[j];
            gradient[j] = -weight * slopes[j];
        }
        gradient[columns] = weight * quadratic - n + 1.0;
        match priors {
            Priors::Flat => {}
            Priors::Plain => {
                for j in 0..columns {
                    prior -= 0.005 * position[j] * position[j];
                    gradient[j] -= 0.01 * position[j];
                }
                let sigma = exmc_math::exp(log_sigma);
                prior -= sigma;
                gradient[columns] -= sigma;
            }
            Priors::Diamonds => {
                for j in 1..columns {
                    prior -= 0.5 * position[j] * position[j];
                    gradient[j] -= position[j];
                }
                // Squares over scale^2 and degrees, of the intercept about 8 and of sigma; then -2
                // log(1+q).
                let from = position[0] - 8.0;
                let q = s.load(&[
                    from * from / 300.0,
                    1.0 / (300.0 * weight),
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                    0.0,
                ]);
                let above = s.add(s.splat(1.0), q);
                let (logs, shares) = (vector::log(s, above), s.div(q, above));
                prior -= 2.0 * s.total(logs);
                let [_, of_sigma, ..] = s.to_array(shares);
                gradient[0] -= 4.0 * from / (300.0 + from * from);
                gradient[columns] -= 4.0 * of_sigma;
            }
        }
        -0.5 * weight * quadratic - (n - 1.0) * log_sigma + prior
    }
}
