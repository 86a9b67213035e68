//! Generalised Pareto distribution of exceedances: a tail's distances from its cutoff -> shape and
//! scale.

use exmc_math::{exp, expm1, log, log1p};

/// A fitted generalised Pareto distribution, of distances above a cutoff.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParetoFit {
    /// Shape $k$, pulled towards 1/2 by the prior: above 1/2 the tail has no variance, above 1 no
    /// mean.
    pub k: f64,
    /// Scale $\sigma$, in the units of the distances.
    pub sigma: f64,
}

/// Draws that the weak prior of the shape counts for, and the shape at which it is centred.
const PRIOR_DRAWS: f64 = 10.0;
const PRIOR_SHAPE: f64 = 0.5;
/// Scale of the prior of the reparametrised scale, as in Zhang and Stephens.
const PRIOR_SCALE: f64 = 3.0;

impl ParetoFit {
    /// The fit of ascending distances above a cutoff.
    ///
    /// With $b = k/\sigma$ the profile likelihood is averaged over a grid of $30 + \sqrt n$ values
    /// of $b$, which gives $\hat b$, $\hat k = \frac1n \sum \log(1 - \hat b x_i)$ and $\hat\sigma =
    /// -\hat k/\hat b$ (with $b$ of the opposite sign in the paper's notation); the shape is then
    /// $(n \hat k + 10 \cdot 1/2)/(n + 10)$.
    ///
    /// **Domain and edges**: `None` for fewer than 5 distances, and where the first quartile is not
    /// above the smallest distance: so many equal values are no sample of a continuous tail.
    /// **Reference**: Zhang and Stephens 2009, *Technometrics* 51; Vehtari et al. 2024, *Journal of
    /// Machine Learning Research* 25(72), appendix; R `loo`, ArviZ 1.3.
    pub fn of_sorted(distances: &[f64]) -> Option<Self> {
        Self::weighted(distances, None)
    }

    /// As [`of_sorted`](Self::of_sorted), where each distance counts in proportion to a weight.
    pub(crate) fn weighted(distances: &[f64], weights: Option<&[f64]>) -> Option<Self> {
        let n = distances.len();
        if n < 5 {
            return None;
        }
        let (quartile, largest) = (distances[(n + 2) / 4 - 1], distances[n - 1]);
        if quartile <= distances[0] || !quartile.is_finite() || !largest.is_finite() {
            return None;
        }
        let size = n as f64;
        let total = weights.map(|w| w.iter().sum::<f64>());
        let shape_at = |b: f64| -> f64 {
            match (weights, total) {
                (Some(weights), Some(total)) => {
                    let terms = distances.iter().zip(weights).map(|(x, w)| w * log1p(-b * x));
                    terms.sum::<f64>() / total
                }
                _ => sum_log1p(distances, -b) / size,
            }
        };
        let places = 30 + size.sqrt() as usize;
        let mut grid = Vec::with_capacity(places);
        for j in 1..=places {
            let root = (places as f64 / (j as f64 - 0.5)).sqrt();
            let b = (1.0 - root) / (PRIOR_SCALE * quartile) + 1.0 / largest;
            let k = shape_at(b);
            grid.push((b, size * (log(-b / k) - k - 1.0)));
        }
        let most = grid.iter().map(|(_, l)| *l).fold(f64::NEG_INFINITY, f64::max);
        let mut weight_of: Vec<f64> = grid.iter().map(|(_, l)| exp(l - most)).collect();
        let sum: f64 = weight_of.iter().sum();
        // A value of next to no weight may stand for infinity or for no number.
        weight_of.iter_mut().for_each(|w| {
            *w = if *w / sum >= 10.0 * f64::EPSILON { *w } else { 0.0 };
        });
        let kept: f64 = weight_of.iter().sum();
        let mean: f64 = grid
            .iter()
            .zip(&weight_of)
            .filter(|(_, w)| **w > 0.0)
            .map(|((b, _), w)| b * w / kept)
            .sum();
        let raw = shape_at(mean);
        let k = (size * raw + PRIOR_DRAWS * PRIOR_SHAPE) / (size + PRIOR_DRAWS);
        if k.is_nan() {
            return Some(ParetoFit { k: f64::INFINITY, sigma: f64::NAN });
        }
        Some(ParetoFit { k, sigma: -raw / mean })
    }

    /// The distance below which a share `p` of the distribution lies: $\sigma\,((1-p)^{-k} - 1)/k$.
    ///
    /// **Edges**: NaN for a scale that is not positive.
    pub fn quantile(&self, p: f64) -> f64 {
        if self.sigma <= 0.0 || self.sigma.is_nan() {
            return f64::NAN;
        }
        let log_rest = log1p(-p);
        if self.k == 0.0 {
            -self.sigma * log_rest
        } else {
            self.sigma * expm1(-self.k * log_rest) / self.k
        }
    }

    /// The share of the distribution below a distance: $1 - (1 + kx/\sigma)^{-1/k}$.
    ///
    /// **Edges**: NaN for a scale that is not positive; 1 behind the end of a bounded tail.
    pub fn cdf(&self, distance: f64) -> f64 {
        if self.sigma <= 0.0 || self.sigma.is_nan() {
            return f64::NAN;
        }
        let z = distance / self.sigma;
        let p = if self.k.abs() < 1e-15 {
            -expm1(-z)
        } else {
            -expm1(-log1p((self.k * z).max(-1.0)) / self.k)
        };
        p.clamp(0.0, 1.0)
    }
}

/// The sum of $\log(1 + b x)$, with one logarithm for eight factors where their product is an
/// ordinary number.
fn sum_log1p(x: &[f64], b: f64) -> f64 {
    let (chunks, tail) = x.as_chunks::<8>();
    let one = |x: &f64| log1p(b * x);
    let chunk = |chunk: &[f64; 8]| {
        let product: f64 = chunk.iter().map(|x| 1.0 + b * x).product();
        // Near 1 a logarithm of the rounded product has no digits.
        let has_digits = product.is_normal() && product > 0.0 && (product - 1.0).abs() > 1e-3;
        if has_digits { log(product) } else { chunk.iter().map(one).sum() }
    };
    chunks.iter().map(chunk).sum::<f64>() + tail.iter().map(one).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances at the middle quantiles of a known distribution: shape and scale come back, pulled
    /// by the prior.
    #[test]
    fn a_known_tail_comes_back() {
        for k in [-0.3, 0.2, 0.7] {
            let exact = ParetoFit { k, sigma: 2.0 };
            let n = 4000;
            let x: Vec<f64> =
                (0..n).map(|i| exact.quantile((f64::from(i) + 0.5) / f64::from(n))).collect();
            let fit = ParetoFit::of_sorted(&x).unwrap();
            assert!((fit.k - k).abs() < 0.01 && (fit.sigma - 2.0).abs() < 0.03, "{k}: {fit:?}");
            for p in [0.0, 0.3, 0.99] {
                assert!((exact.cdf(exact.quantile(p)) - p).abs() < 1e-14);
            }
        }
    }

    #[test]
    fn edges() {
        assert_eq!(ParetoFit::of_sorted(&[1.0, 2.0, 3.0, 4.0]), None);
        assert_eq!(ParetoFit::of_sorted(&[0.0, 0.0, 0.0, 0.0, 1.0, 2.0]), None);
        assert_eq!(ParetoFit::of_sorted(&[0.0, 1.0, 2.0, 3.0, f64::INFINITY]), None);
        assert!(ParetoFit { k: 0.5, sigma: 0.0 }.quantile(0.5).is_nan());
        assert_eq!(ParetoFit { k: -1.0, sigma: 2.0 }.cdf(3.0), 1.0);
        assert!((ParetoFit { k: 0.0, sigma: 2.0 }.cdf(2.0) - (1.0 - exp(-1.0))).abs() < 1e-15);
    }
}
