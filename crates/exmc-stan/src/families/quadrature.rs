//! Points and weights of rules that formulas of distributions integrate with.

use std::f64::consts::{FRAC_PI_2, PI};

use exmc_math::{cos, cosh, exp, log, sinh};

/// Nodes and weights of Gauss's rule on the unit interval, by Newton's method on the Legendre
/// polynomial.
pub(super) fn gauss_legendre<const N: usize>() -> ([f64; N], [f64; N]) {
    let n = N as f64;
    let (mut nodes, mut weights) = ([0.0; N], [0.0; N]);
    for k in 0..N {
        let mut x = cos(PI * (k as f64 + 0.75) / (n + 0.5));
        let mut slope = 1.0;
        for _ in 0..8 {
            let (mut before, mut value) = (1.0, x);
            for j in 2..=N {
                let j = j as f64;
                (before, value) = (value, ((2.0 * j - 1.0) * x * value - (j - 1.0) * before) / j);
            }
            slope = n * (x * value - before) / (x * x - 1.0);
            x -= value / slope;
        }
        nodes[k] = 0.5 * (1.0 - x);
        weights[k] = 1.0 / ((1.0 - x * x) * slope * slope);
    }
    (nodes, weights)
}

/// Points in the unit interval and logarithms of their weights: the tanh-sinh rule of that step.
/// **Reference**: Takahasi and Mori 1974.
pub(super) fn tanh_sinh(step: f64) -> (Vec<f64>, Vec<f64>) {
    const REACH: f64 = 3.3;
    rule(step, -REACH, REACH, |t| {
        let s = FRAC_PI_2 * sinh(t);
        let c = cosh(s);
        (1.0 / (1.0 + exp(-2.0 * s)), FRAC_PI_2 * cosh(t) * 0.5 / (c * c))
    })
}

/// The same for the numbers above zero, of integrands that fall faster than exponentially beyond
/// some hundreds.
pub(super) fn exp_sinh(step: f64) -> (Vec<f64>, Vec<f64>) {
    rule(step, -3.9, 2.5, |t| {
        let x = exp(FRAC_PI_2 * sinh(t));
        (x, x * FRAC_PI_2 * cosh(t))
    })
}

fn rule(step: f64, from: f64, to: f64, point: impl Fn(f64) -> (f64, f64)) -> (Vec<f64>, Vec<f64>) {
    let count = ((to - from) / step) as usize;
    let weighted_node = |k: usize| {
        let (x, weight) = point(from + step * k as f64);
        (x, log(step * weight))
    };
    (0..=count)
        .map(weighted_node)
        .filter(|(x, log_weight)| *x > 0.0 && log_weight.is_finite())
        .unzip()
}
