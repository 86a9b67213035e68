//! Distribution function of the standard normal, its inverse, and functions around it.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use exmc_graph::{Graph, NodeId};
use exmc_math as m;

use super::Values::{Real1, Real2, Within};
use super::{ScalarFunction, Shapes, binary, unary};

const INF: f64 = f64::INFINITY;

/// See [`ScalarFunction`].
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    unary("erf", Graph::erf)
        .shapes(Shapes::Containers)
        .values(Real1(m::erf))
        .slope(|x, _| 2.0 / PI.sqrt() * m::exp(-x * x)),
    unary("erfc", Graph::erfc)
        .shapes(Shapes::Containers)
        .values(Real1(m::erfc))
        .slope(|x, _| -2.0 / PI.sqrt() * m::exp(-x * x)),
    unary("inv_erfc", |g, x| {
        let half = g.scale(x, 0.5);
        let quantile = g.normal_quantile(half);
        g.scale(quantile, -FRAC_1_SQRT_2)
    })
    .shapes(Shapes::Containers)
    .values(Real1(inv_erfc_value))
    .slope(|_, y| -0.5 * PI.sqrt() * m::exp(y * y)),
    unary("Phi", phi)
        .shapes(Shapes::Containers)
        .values(Real1(m::std_normal_cdf))
        .slope(|x, _| normal_density(x)),
    unary("Phi_approx", |g, x| {
        // Beyond, it is 0 or 1 to the last bit; the cube would overflow.
        let (low, high) = (g.scalar(-40.0), g.scalar(40.0));
        let x = g.max(x, low);
        let x = g.min(x, high);
        let square = g.square(x);
        let slope = g.scale(square, 0.070_56);
        let slope = g.shift(slope, 1.5976);
        let logit = g.mul(x, slope);
        g.inv_logit(logit)
    })
    .shapes(Shapes::Containers)
    .values(Real1(phi_approx_value))
    .slope(|x, y| {
        let rest = m::inv_logit(-(0.07056 * x * x + 1.5976) * x);
        y * rest * (3.0 * 0.07056 * x * x + 1.5976)
    }),
    unary("inv_Phi", Graph::normal_quantile)
        .shapes(Shapes::Containers)
        .values(Within(m::std_normal_quantile, 0.0, 1.0))
        .slope(|_, y| 1.0 / normal_density(y)),
    unary("std_normal_qf", Graph::normal_quantile)
        .shapes(Shapes::Containers)
        .values(Within(m::std_normal_quantile, 0.0, 1.0))
        .slope(|_, y| 1.0 / normal_density(y)),
    unary("std_normal_log_qf", Graph::normal_quantile_log)
        .shapes(Shapes::Containers)
        .values(Within(m::std_normal_quantile_log, -INF, 0.0)),
    binary("owens_t", Graph::owens_t).shapes(Shapes::Reals).values(Real2(m::owens_t)),
    // The distribution function under its other name.
    unary("std_normal_cdf", phi),
];

/// $\Phi(x)$, accurate in the lower tail.
pub(crate) fn phi(g: &mut Graph, x: NodeId) -> NodeId {
    let scaled = g.scale(x, -FRAC_1_SQRT_2);
    let tail = g.erfc(scaled);
    g.scale(tail, 0.5)
}

/// $\operatorname{inv\_logit}(0.07056 x^3 + 1.5976 x)$. **Reference**: Stan's functions reference.
fn phi_approx_value(x: f64) -> f64 {
    m::inv_logit(0.07056 * x * x * x + 1.5976 * x)
}

/// $-\Phi^{-1}(x / 2) / \sqrt 2$
fn inv_erfc_value(x: f64) -> f64 {
    -m::std_normal_quantile(0.5 * x) * FRAC_1_SQRT_2
}

/// The density of the standard normal_density distribution.
fn normal_density(x: f64) -> f64 {
    m::exp(-0.5 * x * x) / (2.0 * PI).sqrt()
}
