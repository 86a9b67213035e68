//! Bessel functions. Graph forms of the modified ones are in `library::bessel`: their order
//! chooses the graph.

use std::f64::consts::{LN_10, PI};

use exmc_graph::Binary;
use exmc_math as m;

use super::Values::Real2;
use super::{ScalarFunction, Shapes, binary, called};

/// See [`ScalarFunction`].
pub(super) const FUNCTIONS: &[ScalarFunction] = &[
    binary("bessel_first_kind", |g, order, x| g.binary(Binary::BesselJ, order, x))
        .shapes(Shapes::IntAndReal)
        .values(Real2(m::bessel_j)),
    binary("bessel_second_kind", |g, order, x| g.binary(Binary::BesselY, order, x))
        .shapes(Shapes::IntAndReal)
        .values(Real2(m::bessel_y)),
    called("modified_bessel_first_kind").shapes(Shapes::IntAndReal).values(Real2(first_kind_value)),
    called("log_modified_bessel_first_kind")
        .shapes(Shapes::Pairs)
        .values(Real2(log_first_kind_value)),
    called("modified_bessel_second_kind")
        .shapes(Shapes::IntAndReal)
        .values(Real2(second_kind_value)),
];

/// $I_\nu(x) = \sum_k (x/2)^{2k+\nu} / (k!\,\Gamma(k+\nu+1))$, in logs relative to the first term.
fn log_first_kind_value(order: f64, x: f64) -> f64 {
    if !(x >= 0.0 && order >= -1.0) {
        return f64::NAN;
    }
    if x == 0.0 {
        return if order == 0.0 { 0.0 } else { -order * f64::INFINITY };
    }
    if x == f64::INFINITY {
        return f64::INFINITY;
    }
    // Orders 1 and -1 are the same.
    let order = if order == -1.0 { 1.0 } else { order };
    let large = x > 50.0 && x > 0.5 * order * order;
    if large {
        // Hankel's expansion: I ~ e^x / sqrt(2 pi x) sum (-1)^k a_k(order) / x^k.
        let mu = 4.0 * order * order;
        let (mut term, mut sum) = (1.0_f64, 1.0);
        for k in 1..200 {
            let odd = f64::from(2 * k - 1);
            let next = -term * (mu - odd * odd) / (f64::from(k) * 8.0 * x);
            if next.abs() >= term.abs() || next.abs() < 1e-17 * sum {
                break;
            }
            term = next;
            sum += term;
        }
        return x - 0.5 * m::log(2.0 * PI * x) + m::log(sum);
    }
    let quarter = 0.25 * x * x;
    let (mut term, mut sum, mut shift) = (1.0_f64, 1.0_f64, 0.0);
    for k in 1..100_000 {
        let k = f64::from(k);
        term *= quarter / (k * (k + order));
        sum += term;
        if sum > 1e250 {
            (term, sum, shift) = (term * 1e-250, sum * 1e-250, shift + 250.0 * LN_10);
        }
        if term < 1e-17 * sum {
            break;
        }
    }
    order * m::log(0.5 * x) - m::lgamma(order + 1.0) + m::log(sum) + shift
}

fn first_kind_value(order: f64, x: f64) -> f64 {
    let order = order.abs();
    let sign = if x < 0.0 && order % 2.0 == 1.0 { -1.0 } else { 1.0 };
    sign * m::exp(log_first_kind_value(order, x.abs()))
}

/// $K_\nu(x) = \int_0^\infty e^{-x\cosh t}\cosh(\nu t)\,dt$, by the trapezoidal rule, which
/// converges exponentially here.
fn second_kind_value(order: f64, x: f64) -> f64 {
    if !(x > 0.0) {
        return if x == 0.0 { f64::INFINITY } else { f64::NAN };
    }
    const STEP: f64 = 1.0 / 64.0;
    let mut sum = 0.5 * m::exp(-x);
    for k in 1..64 * 800 {
        let t = STEP * f64::from(k);
        let exponent = order.abs() * t - x * m::cosh(t);
        let term = 0.5 * (m::exp(exponent) + m::exp(exponent - 2.0 * order.abs() * t));
        sum += term;
        if term < 1e-18 * sum && exponent < 0.0 {
            break;
        }
    }
    STEP * sum
}
