//! Running moments: a stream of vectors -> means, variances and covariances (Welford 1962).

use exmc_math::simd::{Kernel, Level, Simd};

use crate::linalg::aligned_vector::LANES;

/// Count, means and sums of squared deviations, as plain data.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RunningMoments {
    /// Number of vectors taken in.
    pub count: u64,
    /// Means.
    pub mean: Vec<f64>,
    /// Sums of squared deviations from the mean.
    pub squares: Vec<f64>,
}

impl RunningMoments {
    /// Empty, for vectors of length `dim`.
    pub fn new(dim: usize) -> Self {
        Self { count: 0, mean: vec![0.0; dim], squares: vec![0.0; dim] }
    }

    /// Takes in one vector, with instructions of the given level (the bits do not depend on it).
    pub fn push(&mut self, level: Level, x: &[f64]) {
        self.count += 1;
        let share = 1.0 / self.count as f64;
        level.run(Push { share, x, mean: &mut self.mean, squares: &mut self.squares });
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.count = 0;
        self.mean.fill(0.0);
        self.squares.fill(0.0);
    }
}

/// Count, means and sums of products of deviations, as plain data.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct RunningCovariance {
    /// Number of vectors taken in.
    pub count: u64,
    /// Means.
    pub mean: Vec<f64>,
    /// Sums of products of deviations from the mean, row-major; the lower triangle is kept.
    pub products: Vec<f64>,
}

impl RunningCovariance {
    /// Empty, for vectors of length `dim`.
    pub fn new(dim: usize) -> Self {
        Self { count: 0, mean: vec![0.0; dim], products: vec![0.0; dim * dim] }
    }

    /// Takes in one vector, with instructions of the given level (the bits do not depend on it).
    pub fn push(&mut self, level: Level, x: &[f64]) {
        self.count += 1;
        let share = 1.0 / self.count as f64;
        let (mean, products) = (&mut self.mean[..], &mut self.products[..]);
        level.run(PushProducts { share, x, mean, products });
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.count = 0;
        self.mean.fill(0.0);
        self.products.fill(0.0);
    }
}

/// One vector for [`RunningMoments`]. Compilers may make gathers and scatters of plain code.
struct Push<'a> {
    share: f64,
    x: &'a [f64],
    mean: &'a mut [f64],
    squares: &'a mut [f64],
}

impl Kernel for Push<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (x, x_rest) = self.x.as_chunks::<LANES>();
        let (mean, mean_rest) = self.mean.as_chunks_mut::<LANES>();
        let (squares, squares_rest) = self.squares.as_chunks_mut::<LANES>();
        let share = s.splat(self.share);
        for ((x, mean), squares) in x.iter().zip(mean).zip(squares) {
            let (x, old) = (s.load(x), s.load(&*mean));
            let before = s.sub(x, old);
            let new = s.add(old, s.mul(before, share));
            s.store(new, mean);
            s.store(s.add(s.load(&*squares), s.mul(before, s.sub(x, new))), squares);
        }
        for ((x, mean), squares) in x_rest.iter().zip(mean_rest).zip(squares_rest) {
            let before = x - *mean;
            *mean += before * self.share;
            *squares += before * (x - *mean);
        }
    }
}

/// One vector for [`RunningCovariance`], likewise.
struct PushProducts<'a> {
    share: f64,
    x: &'a [f64],
    mean: &'a mut [f64],
    products: &'a mut [f64],
}

impl Kernel for PushProducts<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let (n, x, mean) = (self.x.len(), self.x, self.mean);
        // (x - old mean)(x - new mean)' is symmetric: a multiple of the first factor's square.
        let factor = 1.0 - self.share;
        for i in 0..n {
            let scaled = factor * (x[i] - mean[i]);
            let row = &mut self.products[i * n..=i * n + i];
            for ((out, x), mean) in row.iter_mut().zip(x).zip(&*mean) {
                *out += scaled * (x - mean);
            }
        }
        for (mean, x) in mean.iter_mut().zip(x) {
            *mean += (x - *mean) * self.share;
        }
    }
}

/// Weights of the sample variance and of the unit in Stan's regularised estimate,
/// $\tfrac{n}{n+5}s^2 + 10^{-3}\tfrac{5}{n+5}$; `None` below three draws, where the identity is
/// used.
///
/// The constants are Stan's (`var_adaptation.hpp`, `covar_adaptation.hpp`).
pub(crate) fn stan_shrinkage(count: u64) -> Option<(f64, f64)> {
    let n = count as f64;
    (count >= 3).then(|| (n / (n + 5.0), 1e-3 * (5.0 / (n + 5.0))))
}

/// Stan's regularised variances; the identity below three draws.
pub fn regularised_variances(moments: &RunningMoments) -> Vec<f64> {
    match stan_shrinkage(moments.count) {
        None => vec![1.0; moments.mean.len()],
        Some((weight, unit)) => {
            let degrees = (moments.count - 1) as f64;
            moments.squares.iter().map(|s| weight * (s / degrees) + unit).collect()
        }
    }
}

/// Stan's regularised covariance, row-major; the identity below three draws.
pub fn regularised_covariance(moments: &RunningCovariance) -> Vec<f64> {
    let n = moments.mean.len();
    let mut out = vec![0.0; n * n];
    match stan_shrinkage(moments.count) {
        None => (0..n).for_each(|i| out[i * n + i] = 1.0),
        Some((weight, unit)) => {
            let degrees = (moments.count - 1) as f64;
            for i in 0..n {
                for j in 0..=i {
                    let value = weight * (moments.products[i * n + j] / degrees);
                    out[i * n + j] = value;
                    out[j * n + i] = value;
                }
                out[i * n + i] += unit;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_equal_the_two_pass_formulas() {
        let rows: Vec<[f64; 2]> =
            (0..50).map(|i| [1e6 + libm::sin(i as f64), libm::cos(1.7 * i as f64) * 3.0]).collect();
        let mut moments = RunningMoments::new(2);
        let mut covariance = RunningCovariance::new(2);
        for row in &rows {
            moments.push(Level::detect(), row);
            covariance.push(Level::detect(), row);
        }
        let mean = |k: usize| rows.iter().map(|r| r[k]).sum::<f64>() / 50.0;
        let product = |j: usize, k: usize| {
            rows.iter().map(|r| (r[j] - mean(j)) * (r[k] - mean(k))).sum::<f64>()
        };
        // A mean of 1e6 leaves about ten digits.
        assert!((moments.squares[0] - product(0, 0)).abs() < 1e-6);
        assert!((moments.squares[1] - product(1, 1)).abs() < 1e-10);
        assert!((covariance.products[2] - product(1, 0)).abs() < 1e-6);
        assert!((covariance.products[3] - product(1, 1)).abs() < 1e-10);
    }

    /// Closed-form values of the regularised estimate.
    #[test]
    fn regularisation_has_the_reference_values() {
        let with = |count: u64, variance: f64| RunningMoments {
            count,
            mean: vec![0.0],
            squares: vec![variance * (count.max(1) - 1) as f64],
        };
        assert!((regularised_variances(&with(100, 2.0))[0] - 1.904810).abs() < 5e-7);
        assert!((regularised_variances(&with(10, 0.0))[0] - 3.34e-4).abs() < 1e-6);
        assert_eq!(regularised_variances(&with(2, 5.0)), vec![1.0]);
        let mut dense = RunningCovariance::new(1);
        dense.count = 100;
        dense.products[0] = 2.0 * 99.0;
        assert!((regularised_covariance(&dense)[0] - 1.904810).abs() < 5e-7);
        dense.count = 2;
        assert_eq!(regularised_covariance(&dense), vec![1.0]);
    }
}
