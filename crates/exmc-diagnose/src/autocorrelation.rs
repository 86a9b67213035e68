//! Autocovariance of chains: centred values -> covariance at a lag, by direct sums first and by
//! Fourier transform later.
//!
//! Effective sample sizes need as many lags as the chain remembers, which is a handful for a chain
//! that mixes well. So lags are computed one by one, on demand, and the transform (which yields all
//! lags at once) runs only when a chain turns out to mix slowly. Both are the same biased estimate
//! $\frac1n \sum_{i} (x_i-\bar x)(x_{i+t}-\bar x)$, as ArviZ's.

use realfft::RealFftPlanner;

use crate::moments::{dot, mean_of};
use crate::split::Halves;

/// Lags summed directly before the transform takes over; its cost is about that of 60 direct lags
/// at 500 draws.
const DIRECT_LAGS: usize = 64;

/// Autocorrelation of one chain at lags $0, 1, \dots, n-1$.
///
/// $\hat\rho_t = c_t / c_0$ with $c_t = \frac1n\sum_{i=1}^{n-t}(x_i-\bar x)(x_{i+t}-\bar x)$:
/// biased towards 0 at long lags.
///
/// **Edges**: an empty chain gives no values; a constant or non-finite one gives NaN at every lag.
/// **Numerics**: by Fourier transform above 64 draws, $O(n \log n)$, absolute error about 1e-15.
/// **Reference**: Geyer 1992, *Statistical Science* 7(4); ArviZ 0.23 `autocorr`.
///
/// ```
/// let rho = exmc_diagnose::autocorrelation(&[1.0, -1.0, 1.0, -1.0]);
/// assert_eq!(rho, [1.0, -0.75, 0.5, -0.25]);
/// ```
pub fn autocorrelation(chain: &[f64]) -> Vec<f64> {
    let mean = mean_of(chain);
    let centred: Vec<f64> = chain.iter().map(|x| x - mean).collect();
    if centred.is_empty() {
        return Vec::new();
    }
    let mut covariance = Autocovariance::new(&centred, centred.len());
    let variance = covariance.at_lag(0);
    (0..centred.len()).map(|lag| covariance.at_lag(lag) / variance).collect()
}

/// Copies half chains into `buffer`, each less its own mean, and appends the means to `means`.
pub(crate) fn centre_halves(halves: Halves, buffer: &mut Vec<f64>, means: &mut Vec<f64>) {
    buffer.clear();
    means.clear();
    for half in halves.iter() {
        let mean = mean_of(half);
        means.push(mean);
        buffer.extend(half.iter().map(|x| x - mean));
    }
}

/// Autocovariance averaged over chains of equal length, one lag at a time.
pub(crate) struct Autocovariance<'a> {
    centred: &'a [f64],
    n_draws: usize,
    transformed: Vec<f64>,
}

impl<'a> Autocovariance<'a> {
    /// `centred` holds whole chains of `n_draws` values, each with mean 0.
    pub(crate) fn new(centred: &'a [f64], n_draws: usize) -> Self {
        Autocovariance { centred, n_draws, transformed: Vec::new() }
    }

    /// The average over chains of the autocovariance at `lag < n_draws`.
    pub(crate) fn at_lag(&mut self, lag: usize) -> f64 {
        if self.transformed.is_empty() {
            if lag <= DIRECT_LAGS {
                return self.direct(lag);
            }
            self.transformed = transform(self.centred, self.n_draws);
        }
        self.transformed[lag]
    }

    fn direct(&self, lag: usize) -> f64 {
        let sum: f64 =
            self.centred.chunks_exact(self.n_draws).map(|chain| dot(chain, &chain[lag..])).sum();
        sum / self.centred.len() as f64
    }
}

/// All lags at once: the inverse transform of the summed power spectra of the zero-padded chains.
fn transform(centred: &[f64], n_draws: usize) -> Vec<f64> {
    let size = (2 * n_draws).next_power_of_two();
    let mut planner = RealFftPlanner::<f64>::new();
    let (forward, inverse) = (planner.plan_fft_forward(size), planner.plan_fft_inverse(size));
    let mut signal = forward.make_input_vec();
    let mut spectrum = forward.make_output_vec();
    let mut power = inverse.make_input_vec();
    for chain in centred.chunks_exact(n_draws) {
        signal[..n_draws].copy_from_slice(chain);
        signal[n_draws..].fill(0.0);
        forward.process(&mut signal, &mut spectrum).expect("buffers were made by this plan");
        for (total, z) in power.iter_mut().zip(&spectrum) {
            total.re += z.norm_sqr();
        }
    }
    inverse.process(&mut power, &mut signal).expect("a power spectrum is real");
    let scale = 1.0 / (size as f64 * centred.len() as f64);
    signal.truncate(n_draws);
    signal.iter_mut().for_each(|c| *c *= scale);
    signal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transform_equals_direct_sums() {
        for n in [65, 100, 257] {
            let chains: Vec<f64> =
                (0..3 * n).map(|i| ((i * i) as f64 * 0.37).sin() - (i % n) as f64 * 0.01).collect();
            let covariance = Autocovariance::new(&chains, n);
            // Rounding of two orders of summation of values of size about 1.
            for (lag, fast) in transform(&chains, n).iter().enumerate() {
                assert!((fast - covariance.direct(lag)).abs() < 1e-14, "n {n} lag {lag}");
            }
        }
    }

    #[test]
    fn degenerate_chains() {
        assert!(autocorrelation(&[]).is_empty());
        assert!(autocorrelation(&[0.1; 9]).iter().all(|rho| rho.is_nan()));
        assert!(autocorrelation(&[1.0, f64::NAN, 2.0]).iter().all(|rho| rho.is_nan()));
    }
}
