//! Weighted expectations: values with log weights -> mean, deviation, quantiles.

use exmc_math::exp;

/// Draws of a quantity with the weights of importance sampling, sorted by value.
///
/// With the weights of leave-one-out this gives what the model predicts for an observation that it
/// has not seen.
#[derive(Clone, Debug)]
pub struct WeightedDraws {
    /// (value, weight), ascending in value; the weights sum to 1.
    pairs: Vec<(f64, f64)>,
}

impl WeightedDraws {
    /// Values with the logarithms of their weights, in any unit.
    ///
    /// **Edges**: with values or weights that are NaN, or weights that are all 0, every statistic
    /// is NaN.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn new(values: &[f64], log_weights: &[f64]) -> Self {
        assert_eq!(values.len(), log_weights.len(), "one weight for each value");
        let most = log_weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weight = |l: f64| if most.is_finite() { exp(l - most) } else { f64::NAN };
        let mut pairs: Vec<(f64, f64)> =
            values.iter().zip(log_weights).map(|(x, l)| (*x, weight(*l))).collect();
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = pairs.iter().map(|(_, w)| w).sum();
        pairs.iter_mut().for_each(|(_, w)| *w /= total);
        WeightedDraws { pairs }
    }

    fn sum(&self, f: impl Fn(f64, f64) -> f64) -> f64 {
        self.pairs.iter().map(|&(x, w)| f(x, w)).sum()
    }

    /// $\sum w_s x_s$.
    pub fn mean(&self) -> f64 {
        self.sum(|x, w| x * w)
    }

    /// $\frac{n}{n-1} \sum w_s (x_s - \bar x)^2$ with the effective number $n = 1/\sum w_s^2$.
    ///
    /// **Reference**: R `loo::E_loo`; ArviZ `loo_expectations(kind="var")`.
    pub fn variance(&self) -> f64 {
        let (mean, size) = (self.mean(), self.effective_size());
        let correction = if size > 1.0 { size / (size - 1.0) } else { 1.0 };
        self.sum(|x, w| w * (x - mean) * (x - mean)) * correction
    }

    /// Square root of the [`variance`](Self::variance).
    pub fn sd(&self) -> f64 {
        self.variance().sqrt()
    }

    /// $1/\sum w_s^2$.
    pub fn effective_size(&self) -> f64 {
        1.0 / self.sum(|_, w| w * w)
    }

    /// Weighted quantile of type 7, for weights that stand for unequal reliability.
    ///
    /// **Domain and edges**: `p` in `[0, 1]`, else NaN. Equal weights give
    /// [`crate::quantile_of_sorted`]. **Reference**: Akinshin 2023, arXiv 2304.07265; ArviZ
    /// `loo_expectations(kind="quantile")`.
    pub fn quantile(&self, p: f64) -> f64 {
        if !(0.0..=1.0).contains(&p) || self.pairs.iter().any(|(x, w)| x.is_nan() || w.is_nan()) {
            return f64::NAN;
        }
        let size = self.effective_size();
        let h = ((size - 1.0) * p + 1.0).clamp(1.0, size.max(1.0));
        // The share of each order statistic in a window of width 1/size that starts at (h -
        // 1)/size.
        let place =
            |cumulated: f64| ((h - 1.0) / size).max(cumulated.min(h / size)) * size - (h - 1.0);
        let (mut cumulated, mut before, mut sum) = (0.0, place(0.0), 0.0);
        for &(x, w) in self.pairs.iter().filter(|(_, w)| *w > 0.0) {
            cumulated += w;
            let after = place(cumulated);
            sum += x * (after - before);
            before = after;
        }
        sum
    }

    /// Continuous ranked probability score of `observed`, negative: larger is better, 0 at best.
    ///
    /// $-\left(E|X - y| - \tfrac12 E|X - X'|\right)$. **Scale**: the values' units.
    /// **Reference**: Gneiting and Raftery 2007; ArviZ `loo_score(kind="crps")`.
    pub fn crps(&self, observed: f64) -> f64 {
        0.5 * self.mean_difference() - self.mean_distance(observed)
    }

    /// Scaled continuous ranked probability score: $-E|X - y|/E|X - X'| - \tfrac12 \log E|X - X'|$.
    ///
    /// **Reference**: Bolin and Wallin 2023; ArviZ `loo_score(kind="scrps")`.
    pub fn scaled_crps(&self, observed: f64) -> f64 {
        let difference = self.mean_difference();
        -self.mean_distance(observed) / difference - 0.5 * exmc_math::log(difference)
    }

    fn mean_distance(&self, observed: f64) -> f64 {
        self.sum(|x, w| w * (x - observed).abs())
    }

    /// $E|X - X'|$ of two independent draws.
    fn mean_difference(&self) -> f64 {
        let mut below = 0.0;
        let mut sum = 0.0;
        for &(x, w) in &self.pairs {
            sum += w * x * (2.0 * below + w - 1.0);
            below += w;
        }
        2.0 * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_are_the_plain_statistics() {
        let x = [3.0, 1.0, 4.0, 1.5, 9.0];
        let weighted = WeightedDraws::new(&x, &[0.0; 5]);
        assert!((weighted.mean() - 3.7).abs() < 1e-14);
        let variance = x.iter().map(|x| (x - 3.7) * (x - 3.7)).sum::<f64>() / 4.0;
        assert!((weighted.variance() - variance).abs() < 1e-12);
        let mut sorted = x;
        sorted.sort_by(f64::total_cmp);
        for p in [0.0, 0.1, 0.5, 0.77, 1.0] {
            let plain = crate::quantile_of_sorted(&sorted, p);
            assert!((weighted.quantile(p) - plain).abs() < 1e-12, "{p}");
        }
        assert!(weighted.quantile(1.2).is_nan());
        // By hand: mean distance 1.9 from 3, mean difference of all 25 pairs 3.68.
        let pairs: f64 = x.iter().flat_map(|a| x.iter().map(move |b| (a - b).abs())).sum();
        let distance: f64 = x.iter().map(|a| (a - 3.0).abs()).sum::<f64>() / 5.0;
        assert!((weighted.crps(3.0) + distance - 0.5 * pairs / 25.0).abs() < 1e-12);
    }

    #[test]
    fn bad_weights_are_nan() {
        let weighted = WeightedDraws::new(&[1.0, 2.0], &[f64::NEG_INFINITY; 2]);
        assert!(weighted.mean().is_nan() && weighted.quantile(0.5).is_nan());
    }
}
