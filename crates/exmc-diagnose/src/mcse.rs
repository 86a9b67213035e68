//! Monte Carlo standard errors: draws -> how far mean, sd and quantiles may be off.

use crate::beta_quantile::beta_quantile;
use crate::draws::Draws;
use crate::ess::{ess_mean, ess_quantile, ess_sd};
use crate::moments::{lane_sum, mean_of, sd};

/// Standard error of the mean: $\mathrm{sd} / \sqrt{\mathrm{ESS}_\text{mean}}$, in the units of the
/// draws.
///
/// **Edges**: NaN where [`ess_mean`] is. **Reference**: Vehtari et al. 2021, section 3.
pub fn mcse_mean(draws: &Draws) -> f64 {
    sd(draws) / ess_mean(draws).sqrt()
}

/// Standard error of the standard deviation, by the delta method from the error of the variance.
///
/// $\sqrt{\operatorname{var}(v) / (4 \bar v \cdot \mathrm{ESS}_\text{sd})}$ with $v = (x - \bar
/// x)^2$. **Edges**: NaN where [`ess_sd`] is. **Reference**: ArviZ 0.23 `mcse(method="sd")`; Kenney
/// and Keeping 1951.
pub fn mcse_sd(draws: &Draws) -> f64 {
    let mut squares: Vec<f64> = draws.iter().collect();
    let center = mean_of(&squares);
    squares.iter_mut().for_each(|x| *x = (*x - center) * (*x - center));
    let n = squares.len() as f64;
    let variance = lane_sum(&squares, |v| v) / n;
    let fourth = lane_sum(&squares, |v| v * v) / n;
    ((fourth - variance * variance) / ess_sd(draws) / variance / 4.0).sqrt()
}

/// Standard error of the median: [`mcse_quantile`] at 0.5.
pub fn mcse_median(draws: &Draws) -> f64 {
    mcse_quantile(draws, 0.5)
}

/// Standard error of the quantile at `p`: half the distance between the order statistics at one
/// beta standard deviation.
///
/// The order statistics stand at the 15.87 % and 84.13 % points of
/// $\mathrm{Beta}(\mathrm{ESS}\,p + 1, \mathrm{ESS}\,(1-p) + 1)$.
/// **Edges**: NaN where [`ess_quantile`] is, or for `p` outside `[0, 1]`.
/// **Reference**: Vehtari et al. 2021, section 3; ArviZ 0.23 `mcse(method="quantile")`.
pub fn mcse_quantile(draws: &Draws, p: f64) -> f64 {
    let ess = ess_quantile(draws, p);
    if ess.is_nan() {
        return f64::NAN;
    }
    let mut sorted: Vec<f64> = draws.iter().collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let size = sorted.len() as f64;
    // One standard deviation of a normal on either side, rounded as in ArviZ and R `posterior`.
    let position = |prob| beta_quantile(prob, ess * p + 1.0, ess * (1.0 - p) + 1.0) * size - 1.0;
    let lower = position(0.158_655_3).max(0.0).floor();
    let upper = position(0.841_344_7).min(size - 1.0).ceil();
    (sorted[upper.max(0.0) as usize] - sorted[lower as usize]) / 2.0
}
