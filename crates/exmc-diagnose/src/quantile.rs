//! Quantiles by linear interpolation between order statistics.

use crate::draws::Draws;

/// Quantile of all draws of all chains at probability `p`: see [`quantile_of_sorted`].
///
/// **Edges**: NaN when a draw is NaN or `p` lies outside `[0, 1]`.
pub fn quantile(draws: &Draws, p: f64) -> f64 {
    let mut values: Vec<f64> = draws.iter().collect();
    if values.iter().any(|x| x.is_nan()) {
        return f64::NAN;
    }
    values.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&values, p)
}

/// Quantile of ascending values: $(1-\gamma) x_{k} + \gamma x_{k+1}$ with $k + \gamma = 1 +
/// (n-1)p$.
///
/// **Domain and edges**: `p` in `[0, 1]`, else NaN; no values give NaN. Equal neighbours give
/// exactly their value, so that "at most the quantile" counts ties whole. **Reference**: Hyndman
/// and Fan 1996, type 7: the default of R and NumPy; the position is computed as ArviZ does,
/// because its last bit decides whether a draw on the quantile counts as below it.
pub fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    quantile_by(sorted.len(), p, |k| sorted[k])
}

/// As [`quantile_of_sorted`], for order statistics behind a function of the 0-based position.
pub(crate) fn quantile_by(n: usize, p: f64, order_statistic: impl Fn(usize) -> f64) -> f64 {
    if n == 0 || !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    if n == 1 {
        return order_statistic(0);
    }
    let size = n as f64;
    let position = size * p + (1.0 - p);
    let k = position.clamp(1.0, size - 1.0).floor();
    let gamma = (position - k).clamp(0.0, 1.0);
    let below = order_statistic(k as usize - 1);
    let above = order_statistic(k as usize);
    if below == above { below } else { (1.0 - gamma) * below + gamma * above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_as_type_seven() {
        let x = [1.0, 2.0, 4.0, 8.0];
        let values: Vec<f64> =
            [0.0, 0.25, 0.5, 0.9, 1.0].iter().map(|&p| quantile_of_sorted(&x, p)).collect();
        // numpy.quantile([1, 2, 4, 8], [0, .25, .5, .9, 1])
        for (value, expected) in values.iter().zip([1.0, 1.75, 3.0, 6.8, 8.0]) {
            assert!((value - expected).abs() < 1e-14, "{value} {expected}");
        }
    }

    #[test]
    fn edges() {
        assert!(quantile_of_sorted(&[], 0.5).is_nan());
        assert!(quantile_of_sorted(&[1.0, 2.0], 1.5).is_nan());
        assert!(quantile_of_sorted(&[1.0, 2.0], f64::NAN).is_nan());
        assert_eq!(quantile_of_sorted(&[3.0], 0.2), 3.0);
        // Plain interpolation between equal neighbours is off by a rounding at some of these.
        for p in (0..=1000).map(|i| f64::from(i) / 1000.0) {
            assert_eq!(quantile_of_sorted(&[5.3; 7], p), 5.3);
        }
        let chains: [&[f64]; 1] = [&[1.0, f64::NAN, 2.0]];
        assert!(quantile(&Draws::new(&chains).unwrap(), 0.5).is_nan());
    }
}
