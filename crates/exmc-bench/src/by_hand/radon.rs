//! Radon by county: levels and floors -> a gradient from five numbers a county.
//!
//! The squares of a county are $n(\alpha+\bar x\beta-\bar y)^2 + S_{xx}(\beta-\hat\beta)^2 + r$,
//! sums of squares with nothing to cancel; counties lie side by side in vectors.

use exmc_math::simd::{Kernel, Level, Simd, vector};

use super::{Gradient, eight};
use crate::models::Data;

/// Eight counties; zeros where there are none.
struct Counties {
    n: [f64; 8],
    mean_x: [f64; 8],
    mean_y: [f64; 8],
    squares_x: [f64; 8],
    slope: [f64; 8],
}

pub(super) fn kernel(data: &Data<'_>, level: Level) -> Result<Gradient, String> {
    let counties = data.size("J")?;
    let county = data.indices("county_idx", counties)?;
    let (x, y) = (data.values("floor_measure")?, data.values("log_radon")?);
    let sum = |value_of: &dyn Fn(usize) -> f64| {
        let mut sums = vec![0.0; counties];
        county.iter().enumerate().for_each(|(i, &c)| sums[c] += value_of(i));
        sums
    };
    let n = sum(&|_| 1.0);
    let mean = |sums: Vec<f64>| -> Vec<f64> {
        sums.iter().zip(&n).map(|(sum, n)| if *n > 0.0 { sum / n } else { 0.0 }).collect()
    };
    let (mean_x, mean_y) = (mean(sum(&|i| x[i])), mean(sum(&|i| y[i])));
    let (dx, dy) = (|i: usize| x[i] - mean_x[county[i]], |i: usize| y[i] - mean_y[county[i]]);
    let squares_x = sum(&|i| dx(i) * dx(i));
    let products = sum(&|i| dx(i) * dy(i));
    let slope: Vec<f64> = products
        .iter()
        .zip(&squares_x)
        .map(|(product, square)| if *square > 0.0 { product / square } else { 0.0 })
        .collect();
    let residual = |i: usize| dy(i) - slope[county[i]] * dx(i);
    let residual: f64 = (0..y.len()).map(|i| residual(i) * residual(i)).sum();
    let lines: Vec<Counties> = (0..counties.div_ceil(8))
        .map(|v| Counties {
            n: eight(&n, 8 * v),
            mean_x: eight(&mean_x, 8 * v),
            mean_y: eight(&mean_y, 8 * v),
            squares_x: eight(&squares_x, 8 * v),
            slope: eight(&slope, 8 * v),
        })
        .collect();
    let n = y.len() as f64;
    let mut raw = vec![[[0.0; 8]; 2]; lines.len()];
    Ok(Box::new(move |position, gradient| {
        level.run(Radon { lines: &lines, counties, residual, n, raw: &mut raw, position, gradient })
    }))
}

/// alpha_raw, beta_raw, mu_alpha, mu_beta, log sigma_alpha, log sigma_beta, log sigma_y.
struct Radon<'a> {
    lines: &'a [Counties],
    counties: usize,
    residual: f64,
    n: f64,
    /// Standardised intercepts and slopes of eight counties; their gradients afterwards.
    raw: &'a mut [[[f64; 8]; 2]],
    position: &'a [f64],
    gradient: &'a mut [f64],
}

impl Kernel for Radon<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let Self { lines, counties, residual, n, raw, position, gradient } = self;
        let Some(&[mu_alpha, mu_beta, log_alpha, log_beta, log_y]) =
            position[2 * counties..].first_chunk::<5>()
        else {
            return f64::NAN;
        };
        let (intercepts, slopes) = position[..2 * counties].split_at(counties);
        let full_vectors = counties / 8;
        for (v, raw) in raw.iter_mut().enumerate() {
            if v < full_vectors {
                let range = 8 * v..8 * v + 8;
                raw[0].copy_from_slice(&intercepts[range.clone()]);
                raw[1].copy_from_slice(&slopes[range]);
            } else {
                *raw = [eight(intercepts, 8 * v), eight(slopes, 8 * v)];
            }
        }
        let exps = [log_alpha, log_beta, log_y, -2.0 * log_y, 0.0, 0.0, 0.0, 0.0];
        let [sigma_alpha, sigma_beta, sigma_y, weight, ..] =
            s.to_array(vector::exp(s, s.load(&exps)));
        let zero = s.splat(0.0);
        let (scale_alpha, scale_beta) = (s.splat(sigma_alpha), s.splat(sigma_beta));
        let (centre_alpha, centre_beta) = (s.splat(mu_alpha), s.splat(mu_beta));
        let minus = s.splat(-weight);
        let (mut quadratic, mut prior) = (zero, zero);
        let (mut of_alpha, mut of_beta, mut by_alpha, mut by_beta) = (zero, zero, zero, zero);
        for (line, raw) in lines.iter().zip(raw.iter_mut()) {
            let (raw_alpha, raw_beta) = (s.load(&raw[0]), s.load(&raw[1]));
            let alpha = s.fma(scale_alpha, raw_alpha, centre_alpha);
            let beta = s.fma(scale_beta, raw_beta, centre_beta);
            let mean_x = s.load(&line.mean_x);
            let error = s.sub(s.fma(mean_x, beta, alpha), s.load(&line.mean_y));
            let scaled = s.mul(s.load(&line.n), error);
            let away = s.sub(beta, s.load(&line.slope));
            let stretched = s.mul(s.load(&line.squares_x), away);
            quadratic = s.fma(scaled, error, quadratic);
            quadratic = s.fma(stretched, away, quadratic);
            let slope_alpha = s.mul(minus, scaled);
            let slope_beta = s.mul(minus, s.fma(scaled, mean_x, stretched));
            of_alpha = s.add(of_alpha, slope_alpha);
            of_beta = s.add(of_beta, slope_beta);
            by_alpha = s.fma(slope_alpha, raw_alpha, by_alpha);
            by_beta = s.fma(slope_beta, raw_beta, by_beta);
            prior = s.fma(raw_alpha, raw_alpha, prior);
            prior = s.fma(raw_beta, raw_beta, prior);
            s.store(s.sub(s.mul(slope_alpha, scale_alpha), raw_alpha), &mut raw[0]);
            s.store(s.sub(s.mul(slope_beta, scale_beta), raw_beta), &mut raw[1]);
        }
        let (of_counties, of_rest) = gradient.split_at_mut(2 * counties);
        let (of_intercepts, of_slopes) = of_counties.split_at_mut(counties);
        for (v, raw) in raw.iter().enumerate() {
            let range = 8 * v..(8 * v + 8).min(counties);
            let lanes = range.len();
            of_intercepts[range.clone()].copy_from_slice(&raw[0][..lanes]);
            of_slopes[range].copy_from_slice(&raw[1][..lanes]);
        }
        let quadratic = (s.total(quadratic) + residual) * weight;
        of_rest[0] = s.total(of_alpha) - 0.01 * mu_alpha;
        of_rest[1] = s.total(of_beta) - 0.01 * mu_beta;
        of_rest[2] = s.total(by_alpha) * sigma_alpha - sigma_alpha * sigma_alpha + 1.0;
        of_rest[3] = s.total(by_beta) * sigma_beta - sigma_beta * sigma_beta + 1.0;
        of_rest[4] = quadratic - n - sigma_y * sigma_y + 1.0;
        let scales = sigma_alpha * sigma_alpha + sigma_beta * sigma_beta + sigma_y * sigma_y;
        let centres = 0.01 * (mu_alpha * mu_alpha + mu_beta * mu_beta);
        log_alpha + log_beta + (1.0 - n) * log_y
            - 0.5 * (quadratic + s.total(prior) + scales + centres)
    }
}
