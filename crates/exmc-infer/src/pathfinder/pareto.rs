//! Log importance ratios -> log weights whose largest are smoothed, and how heavy their tail is.
//!
//! The largest ratios are replaced by quantiles of a generalised Pareto distribution that is fitted
//! to them, none larger than the largest ratio. The shape $\hat k$ of its tail says whether the
//! weights can be trusted: below 0.7 they can.
//!
//! **Reference**: Vehtari, Simpson, Gelman, Yao and Gabry 2024, "Pareto smoothed importance
//! sampling", JMLR 25(72); the fit is that of Zhang and Stephens 2009, with the prior for $\hat k$
//! of the paper's appendix.

use exmc_math::linear::sum;

/// The fewest ratios that a tail is fitted to.
const MIN_TAIL: usize = 5;

/// Normalised log weights of log ratios, and $\hat k$.
///
/// **Scale**: nats; the exponentials of the weights sum to one. **Edges**: a ratio that is minus
/// infinity or NaN has no weight; where there is none else, all weights are minus infinity and
/// $\hat k$ is infinite. With fewer than 25 ratios the tail is too short to be fitted: the weights
/// are the ratios' own and $\hat k$ is infinite.
pub(super) fn smoothed_log_weights(log_ratios: &[f64]) -> (Vec<f64>, f64) {
    let largest =
        log_ratios.iter().copied().filter(|x| !x.is_nan()).fold(f64::NEG_INFINITY, f64::max);
    if !largest.is_finite() {
        return (vec![f64::NEG_INFINITY; log_ratios.len()], f64::INFINITY);
    }
    let shifted = |x: &f64| if x.is_nan() { f64::NEG_INFINITY } else { x - largest };
    let mut weights: Vec<f64> = log_ratios.iter().map(shifted).collect();
    let n = weights.len() as f64;
    let tail = (0.2 * n).min(3.0 * n.sqrt()).ceil() as usize;
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|a, b| weights[*a].total_cmp(&weights[*b]));
    let mut shape = f64::INFINITY;
    if tail >= MIN_TAIL && tail < weights.len() {
        let cutoff = weights[order[weights.len() - tail - 1]].max(libm::log(f64::MIN_POSITIVE));
        let base = libm::exp(cutoff);
        let above: Vec<usize> = order[weights.len() - tail..]
            .iter()
            .copied()
            .filter(|i| weights[*i] > cutoff)
            .collect();
        let excess: Vec<f64> = above.iter().map(|i| libm::exp(weights[*i]) - base).collect();
        if excess.len() >= MIN_TAIL && excess.iter().all(|x| *x > 0.0) {
            let (k, sigma) = fit(&excess);
            shape = k;
            if k.is_finite() && sigma > 0.0 {
                let m = above.len() as f64;
                for (rank, i) in above.iter().enumerate() {
                    let p = (rank as f64 + 0.5) / m;
                    let value = libm::log(quantile(p, k, sigma) + base);
                    weights[*i] = value.min(0.0);
                }
            }
        }
    }
    let total: f64 = weights.iter().map(|x| libm::exp(*x)).sum();
    let log_total = libm::log(total);
    weights.iter_mut().for_each(|x| *x -= log_total);
    (weights, shape)
}

/// $F^{-1}(p)=\sigma\,((1-p)^{-k}-1)/k$.
fn quantile(p: f64, k: f64, sigma: f64) -> f64 {
    let log_rest = libm::log1p(-p);
    if k.abs() < f64::EPSILON { -sigma * log_rest } else { sigma * libm::expm1(-k * log_rest) / k }
}

/// Shape and scale of a generalised Pareto distribution from sorted positive values: posterior
/// means over a grid of $b=-k/\sigma$, shrunk towards $k=1/2$ as if there were ten more values.
fn fit(x: &[f64]) -> (f64, f64) {
    const PRIOR_SCALE: f64 = 3.0;
    const PRIOR_COUNT: f64 = 10.0;
    let n = x.len() as f64;
    let points = 30 + n.sqrt() as usize;
    let quartile = x[((n / 4.0 + 0.5) as usize).max(1) - 1];
    let last = x[x.len() - 1];
    let mean_log = |b: f64| x.iter().map(|x| libm::log1p(-b * x)).sum::<f64>() / n;
    let grid: Vec<(f64, f64)> = (1..=points)
        .map(|j| {
            let b = (1.0 - (points as f64 / (j as f64 - 0.5)).sqrt()) / (PRIOR_SCALE * quartile)
                + 1.0 / last;
            let k = mean_log(b);
            (b, n * (libm::log(-b / k) - k - 1.0))
        })
        .collect();
    let weight = |own: f64| 1.0 / grid.iter().map(|(_, other)| libm::exp(other - own)).sum::<f64>();
    let weights: Vec<f64> = grid.iter().map(|(_, own)| weight(*own)).collect();
    let kept: Vec<f64> =
        weights.iter().map(|w| if *w >= 10.0 * f64::EPSILON { *w } else { 0.0 }).collect();
    let products: Vec<f64> = kept.iter().zip(&grid).map(|(w, (b, _))| w * b).collect();
    let b = sum(&products) / sum(&kept);
    let k = mean_log(b);
    let sigma = -k / b;
    ((n * k + PRIOR_COUNT * 0.5) / (n + PRIOR_COUNT), sigma)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of a Pareto distribution: $\hat k$ is near the shape that they were made with. The
    /// fit's own error for 1000 values is about $(1+k)/\sqrt{1000}$, less for exact quantiles.
    #[test]
    fn the_shape_of_exact_quantiles_is_found() {
        for k in [0.2, 0.5, 0.9] {
            let x: Vec<f64> =
                (0..1000).map(|i| quantile((f64::from(i) + 0.5) / 1000.0, k, 2.0)).collect();
            let (found, sigma) = fit(&x);
            assert!((found - k).abs() < 0.03, "{k} {found}");
            assert!((sigma - 2.0).abs() < 0.1, "{sigma}");
        }
    }

    /// Ratios of an exponential density to one of another rate have the tail's shape in closed
    /// form: for $p$ with rate $\lambda$ and draws with rate $\mu>\lambda$, the ratio exceeds $r$
    /// with probability $\propto r^{-\mu/(\mu-\lambda)}$, a Pareto tail of shape $1-\lambda/\mu$.
    #[test]
    fn the_tail_of_exponential_ratios_has_its_shape() {
        let n = 4000;
        for (lambda, mu) in [(0.7, 1.0), (0.3, 1.0)] {
            let draw = |i: i32| -libm::log1p(-(f64::from(i) + 0.5) / f64::from(n)) / mu;
            let ratios: Vec<f64> = (0..n).map(|i| (mu - lambda) * draw(i)).collect();
            let (weights, k) = smoothed_log_weights(&ratios);
            assert!((k - (1.0 - lambda / mu)).abs() < 0.1, "{k}");
            let total: f64 = weights.iter().map(|w| libm::exp(*w)).sum();
            assert!((total - 1.0).abs() < 1e-12);
            assert!(weights.windows(2).all(|pair| pair[0] <= pair[1]), "order is kept");
        }
    }

    #[test]
    fn ratios_without_a_tail_keep_their_weights() {
        let (weights, k) = smoothed_log_weights(&[0.0, f64::NEG_INFINITY, f64::NAN, 0.0]);
        assert_eq!(k, f64::INFINITY);
        assert_eq!(libm::exp(weights[0]), 0.5);
        assert_eq!(weights[1], f64::NEG_INFINITY);
        assert_eq!(weights[2], f64::NEG_INFINITY);
        let (none, _) = smoothed_log_weights(&[f64::NEG_INFINITY; 3]);
        assert!(none.iter().all(|w| *w == f64::NEG_INFINITY));
        // Equal ratios have nothing above their cutoff.
        let (equal, _) = smoothed_log_weights(&[3.0; 100]);
        assert!(equal.iter().all(|w| (libm::exp(*w) - 0.01).abs() < 1e-15));
    }
}
