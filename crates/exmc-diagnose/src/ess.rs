//! Effective sample size: chains -> how many independent draws would estimate as well.

use exmc_fault::{Fault, planted};
use exmc_math::log10;

use crate::autocorrelation::{Autocovariance, centre_halves};
use crate::draws::Draws;
use crate::moments::{mean_of, variance_of};
use crate::quantile::quantile_of_sorted;
use crate::sample::Sample;
use crate::split::Halves;

/// Bulk effective sample size: ESS of the rank-normalised draws, for the centre of the
/// distribution.
///
/// **Scale**: a number of draws; may exceed their number when draws repel each other (at most by
/// $\log_{10} S$). **Edges**: as the crate's table. **Reference**: Vehtari et al. 2021, section 4;
/// ArviZ 0.23 `ess(method="bulk")`.
pub fn ess_bulk(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |mut sample| sample.ess_bulk())
}

/// Tail effective sample size: the smaller [`ess_quantile`] of those at 0.05 and 0.95.
///
/// **Edges**: as the crate's table. **Reference**: Vehtari et al. 2021, section 4.
pub fn ess_tail(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |mut sample| sample.ess_tail())
}

/// Effective sample size for the mean: ESS of the draws themselves.
///
/// **Edges**: as the crate's table. **Reference**: Vehtari et al. 2021, section 3.
pub fn ess_mean(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |sample| ess_of_halves(sample.halves(), &mut Vec::new()))
}

/// Effective sample size for the standard deviation: ESS of $(x - \bar x)^2$.
///
/// **Edges**: as the crate's table. **Reference**: ArviZ 0.23 `ess(method="sd")`.
pub fn ess_sd(draws: &Draws) -> f64 {
    let Some(sample) = Sample::gather(draws) else { return f64::NAN };
    let center = mean_of(sample.values());
    let squares: Vec<f64> = sample.values().iter().map(|x| (x - center) * (x - center)).collect();
    ess_of_halves(Halves::new(&squares, draws.n_draws()), &mut Vec::new())
}

/// Effective sample size for the quantile at `p`: ESS of the indicator $x \le \hat q_p$ (`p` = 0.5:
/// the median).
///
/// **Domain and edges**: `p` in `[0, 1]`, else NaN; otherwise as the crate's table.
/// **Reference**: Vehtari et al. 2021, section 3; ArviZ 0.23 `ess(method="quantile")`.
pub fn ess_quantile(draws: &Draws, p: f64) -> f64 {
    if !(0.0..=1.0).contains(&p) {
        return f64::NAN;
    }
    Sample::gather(draws).map_or(f64::NAN, |mut sample| sample.ess_quantile(p))
}

/// Effective sample size for the median: [`ess_quantile`] at 0.5.
pub fn ess_median(draws: &Draws) -> f64 {
    ess_quantile(draws, 0.5)
}

/// Effective sample size for the probability of an interval between two quantiles: ESS of the
/// indicator $\hat q_a \le x \le \hat q_b$.
///
/// **Domain and edges**: $0 \le a \le b \le 1$, else NaN; otherwise as the crate's table.
/// **Reference**: Vehtari et al. 2021, section 3; ArviZ `ess(method="local")`.
pub fn ess_local(draws: &Draws, interval: (f64, f64)) -> f64 {
    let (low, high) = interval;
    if !(0.0 <= low && low <= high && high <= 1.0) {
        return f64::NAN;
    }
    Sample::gather(draws).map_or(f64::NAN, |mut sample| {
        let (low, high) = (sample.quantile(low), sample.quantile(high));
        sample.ess_indicator(|x| low <= x && x <= high)
    })
}

/// Effective sample size for the median absolute deviation: ESS of the indicator that a distance
/// from the median is at most the median distance.
///
/// **Edges**: as the crate's table. **Reference**: ArviZ `ess(method="mad")`, which replaces the
/// two values of the indicator by their rank scores: an affine map, which no ESS depends on.
pub fn ess_mad(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |mut sample| {
        let median = sample.quantile(0.5);
        let mut distances: Vec<f64> = sample.values().iter().map(|x| (x - median).abs()).collect();
        distances.sort_unstable_by(f64::total_cmp);
        let bound = quantile_of_sorted(&distances, 0.5);
        sample.ess_indicator(|x| (x - median).abs() <= bound)
    })
}

/// Effective sample size of rank-normalised distances from the median: for the scale.
///
/// **Edges**: as the crate's table. **Reference**: ArviZ `ess(method="folded")`.
pub fn ess_folded(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |mut sample| sample.ess_folded())
}

/// Effective sample size of the draws themselves, with chains that are not split.
///
/// Blind to a drift within chains; prefer [`ess_mean`]. **Edges**: as the crate's table.
/// **Reference**: ArviZ `ess(method="identity")`.
pub fn ess_plain(draws: &Draws) -> f64 {
    Sample::gather(draws).map_or(f64::NAN, |sample| {
        ess_of_halves(Halves::unsplit(sample.values(), draws.n_draws()), &mut Vec::new())
    })
}

/// ESS of split chains by Geyer's initial monotone sequence; `buffer` is scratch space.
///
/// $S/\hat\tau$ with $\hat\tau = -1 + 2\sum_t \hat\rho_t$, where $\hat\rho_t = 1 - (W - \bar
/// c_t)/\hat{\mathrm{var}}^+$ pools all half chains, so that chains that disagree have a small ESS.
/// The sum ends with the first pair $\hat\rho_{2k}+\hat\rho_{2k+1}$ that is not positive, pairs are
/// made non-increasing, and $\hat\tau \ge 1/\log_{10} S$. Values that are equal up to rounding give
/// $S$. **Reference**: Geyer 1992, section 3.3; Vehtari et al. 2021, appendix A; index for index as
/// ArviZ 0.23.
pub(crate) fn ess_of_halves(halves: Halves, buffer: &mut Vec<f64>) -> f64 {
    let (n_draws, n_chains) = (halves.len(), halves.count());
    let total = (n_draws * n_chains) as f64;
    if constant_up_to_rounding(halves.iter().flatten().copied()) {
        return total;
    }
    let mut means = Vec::with_capacity(n_chains);
    centre_halves(halves, buffer, &mut means);
    let mut covariance = Autocovariance::new(buffer, n_draws);
    let n = n_draws as f64;
    let biased = covariance.at_lag(0);
    let within = biased * n / (n - 1.0);
    let pooled = biased + variance_of(&means, mean_of(&means));
    let mut rho_at = |lag| 1.0 - (within - covariance.at_lag(lag)) / pooled;

    // `rho[t]` for the lags kept so far; even and odd lags come in pairs.
    let (mut even, mut odd) = (1.0, rho_at(1));
    let mut rho = vec![even, odd];
    let mut t = 1;
    let late = planted(Fault::LateTruncation);
    while t + 3 < n_draws && (even + odd > 0.0 || late) {
        even = rho_at(t + 1);
        odd = rho_at(t + 2);
        let kept = even + odd >= 0.0 || late;
        rho.push(if kept { even } else { 0.0 });
        rho.push(if kept { odd } else { 0.0 });
        t += 2;
    }
    if even > 0.0 {
        rho[t - 1] = even;
    }
    // Lags before `last` count in full, `last` itself counts once.
    let last = t - 1;
    let mut k = 1;
    while k + 4 <= t {
        let before = rho[k - 1] + rho[k];
        if rho[k + 1] + rho[k + 2] > before {
            rho[k + 1] = before / 2.0;
            rho[k + 2] = rho[k + 1];
        }
        k += 2;
    }
    let sum: f64 = rho[..last].iter().sum();
    let tau = -1.0 + 2.0 * sum + rho[last];
    // Overflow shows as NaN in the first lag or in the pair that ended the loop.
    if (tau + rho[1] + even + odd).is_nan() {
        return f64::NAN;
    }
    total / tau.max(1.0 / log10(total))
}

/// Whether values differ by no more than a few roundings of the largest of them.
pub(crate) fn constant_up_to_rounding(values: impl Iterator<Item = f64>) -> bool {
    let (low, high) =
        values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    high - low <= 4.0 * f64::EPSILON * low.abs().max(high.abs())
}
