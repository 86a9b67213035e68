//! Temme's uniform expansion for large shapes: the smaller tail of the incomplete gamma function
//! next to its mean.
//!
//! With $\lambda=x/a$, $\tfrac12\eta^2=\lambda-1-\log\lambda$ and $z=\eta\sqrt a$, it is
//! $Q=\tfrac12\operatorname{erfc}(z/\sqrt2)+e^{-z^2/2}S/\sqrt{2\pi a}$, $S=c_0+c_1/a+c_2/a^2$. The
//! exponential is taken out of both terms, in double-double. For `a >= 1e5` and `|x - a| <= 0.3 a`
//! three functions leave 1e-15. **Reference**: Temme 1979; DLMF 8.12.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use super::temme_coefficients::{C0, C1, C2};
use crate::double_double::Dd;
use crate::error_function::erfcx;

/// The smaller tail as `exp(log_factor) * sum`, with its log derivative by `a`.
pub(super) struct Expansion {
    /// $-z^2/2$.
    pub(super) log_factor: Dd,
    pub(super) sum: f64,
    pub(super) log_slope: f64,
}

/// Whether the expansion is as good as, and quicker than, the sums.
pub(super) fn holds(a: f64, x: f64) -> bool {
    a >= 1e5 && (x - a).abs() <= 0.3 * a
}

/// $Q$ for `x > a`, else $P$.
pub(super) fn expand(a: f64, x: f64) -> Expansion {
    let excess = Dd::difference(x, a);
    let log_lambda = (excess / Dd::from(a)).log1p();
    let log_factor = log_lambda * a - excess;
    let sign = if x > a { 1.0 } else { -1.0 };
    let eta = sign * (-2.0 * log_factor.value() / a).max(0.0).sqrt();
    // mu / eta, which tends to one.
    let mu_over_eta = if eta == 0.0 { 1.0 } else { excess.high / a / eta };

    let ([c0, c0_slope], [c1, c1_slope], [c2, _]) =
        (series(&C0, eta), series(&C1, eta), series(&C2, eta));
    let scale = 1.0 / (2.0 * PI * a).sqrt();
    let rest = scale * (c0 + (c1 + c2 / a) / a);
    let rest_slope =
        scale * (-mu_over_eta * (c0_slope + c1_slope / a) - 0.5 * c0 - 1.5 * c1 / a) / a;

    let root = a.sqrt();
    let w = eta.abs() * root * FRAC_1_SQRT_2;
    let w_slope = sign * (0.5 * eta - mu_over_eta) / root * FRAC_1_SQRT_2;
    let scaled = erfcx(w);
    let sum = 0.5 * scaled + sign * rest;
    let sum_slope = (w * scaled - 1.0 / PI.sqrt()) * w_slope + sign * rest_slope;
    Expansion { log_factor, sum, log_slope: log_lambda.value() + sum_slope / sum }
}

/// A polynomial and its derivative.
fn series(coefficients: &[f64], x: f64) -> [f64; 2] {
    coefficients
        .iter()
        .rev()
        .fold([0.0, 0.0], |[value, slope], &c| [c + x * value, value + x * slope])
}
