//! Bandwidth of a kernel density estimate: draws and their histogram -> the kernel's width.
//!
//! Two rules, whose mean is used: Silverman's, right for one bell and too wide for several, and the
//! improved rule of Sheather and Jones, which looks for the width that fits the curvature of the
//! histogram and is noisy for few draws.

use std::f64::consts::PI;

use exmc_math::{cos, exp, pow};

use crate::quantile::quantile_of_sorted;
use crate::root::find_root;

/// Derivatives that the improved rule goes through, as in the paper.
const LEVELS: i32 = 7;
/// The largest squared bandwidth that is looked for, of a histogram over the unit interval.
const LARGEST: f64 = 0.01;
/// Where the search ends.
const TOLERANCE: f64 = 2e-12;

/// How the width of the kernel is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bandwidth {
    /// The mean of the two rules; ArviZ's default for densities.
    Mean,
    /// The improved rule alone, which keeps modes further apart; ArviZ's for regions of highest
    /// density.
    Improved,
}

impl Bandwidth {
    /// The width for `sorted` draws of deviation `sd`, given their histogram over a range of
    /// `width`. Where the improved rule has no solution, Silverman's takes its place.
    pub(crate) fn of(self, sorted: &[f64], counts: &[f64], width: f64, sd: f64) -> f64 {
        let simple = silverman(sorted, sd);
        let improved = improved(sorted, counts, width).unwrap_or(simple);
        match self {
            Bandwidth::Mean => 0.5 * (simple + improved),
            Bandwidth::Improved => improved,
        }
    }
}

/// $0.9 \min(s, \mathrm{IQR}/1.34)\, n^{-1/5}$, with the deviation $s$ of divisor $n$.
///
/// **Reference**: Silverman 1986, equation 3.31.
fn silverman(sorted: &[f64], sd: f64) -> f64 {
    let range = quantile_of_sorted(sorted, 0.75) - quantile_of_sorted(sorted, 0.25);
    0.9 * sd.min(range / 1.34) * pow(sorted.len() as f64, -0.2)
}

/// The rule of Botev, Grotowski and Kroese; `None` where its equation has no solution in reach.
///
/// **Reference**: Botev, Grotowski and Kroese 2010, *Annals of Statistics* 38, equation 30 and
/// algorithm 1.
fn improved(sorted: &[f64], counts: &[f64], width: f64) -> Option<f64> {
    let n = sorted.len() as f64;
    let shares: Vec<f64> = counts.iter().map(|c| c / n).collect();
    // The last coefficient is left out, as in ArviZ, which takes one for the number of edges.
    let squares: Vec<(f64, f64)> = cosine_transform(&shares)
        .into_iter()
        .enumerate()
        .take(counts.len() - 1)
        .skip(1)
        .map(|(k, a)| ((k * k) as f64, a * a))
        .collect();
    let t = find_root(|t| t - fixed_point(t, n, &squares), 0.0, LARGEST, TOLERANCE)?;
    (t > 0.0).then(|| t.sqrt() * width)
}

/// $\xi \gamma^{[l]}(t)$ of the paper: the squared bandwidth that `t` implies through the chain of
/// derivatives. `squares` has $k^2$ and the squared cosine coefficient for each frequency $k$.
fn fixed_point(t: f64, n: f64, squares: &[(f64, f64)]) -> f64 {
    let norm = |level: i32, t: f64| {
        let sum: f64 = squares
            .iter()
            .map(|&(k2, a2)| f64::powi(k2, level) * a2 * exp(-k2 * PI * PI * t))
            .sum();
        0.5 * f64::powi(PI, 2 * level) * sum
    };
    let mut f = norm(LEVELS, t);
    for level in (2..LEVELS).rev() {
        let s = f64::from(level);
        let odd: f64 = (0..level).map(|i| f64::from(2 * i + 1)).product();
        let factor = (1.0 + pow(0.5, s + 0.5)) / 3.0;
        let t = pow(factor * (odd / (PI / 2.0).sqrt()) / (n * f), 2.0 / (3.0 + 2.0 * s));
        f = norm(level, t);
    }
    pow(2.0 * n * PI.sqrt() * f, -0.4)
}

/// $2 \sum_i x_i \cos(\pi k (2i + 1) / 2n)$ for every $k$.
fn cosine_transform(x: &[f64]) -> Vec<f64> {
    let n = x.len();
    let table: Vec<f64> = (0..4 * n).map(|m| cos(PI * m as f64 / (2 * n) as f64)).collect();
    let sum = |k: usize| -> f64 {
        x.iter().enumerate().map(|(i, x)| x * table[k * (2 * i + 1) % (4 * n)]).sum()
    };
    (0..n).map(|k| 2.0 * sum(k)).collect()
}
