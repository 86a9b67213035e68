//! Closed forms of the derivatives of functions of one and two real numbers.

use std::f64::consts::{LN_2, LN_10, PI};

use exmc_math as m;

use super::arithmetic::power;

/// The derivative at x, where the function gives y.
pub(super) type OfOne = fn(f64, f64) -> f64;

/// The derivatives at two numbers (each with whether it is wanted), and the function's value there.
pub(super) type OfTwo = fn((f64, bool), (f64, bool), f64) -> (f64, f64);

/// Whether a function's derivative is zero wherever it has one.
pub(super) fn is_flat(name: &str) -> bool {
    matches!(name, "floor" | "ceil" | "round" | "trunc" | "step")
}

/// The derivative of a function of one number.
pub(super) fn of_one(name: &str) -> Option<OfOne> {
    Some(match name {
        "exp" => |_, y| y,
        "exp2" => |_, y| y * LN_2,
        "expm1" => |_, y| y + 1.0,
        "log" => |x, _| 1.0 / x,
        "log2" => |x, _| 1.0 / (x * LN_2),
        "log10" => |x, _| 1.0 / (x * LN_10),
        "log1p" => |x, _| 1.0 / (1.0 + x),
        "log1m" => |x, _| -1.0 / (1.0 - x),
        "log1p_exp" => |x, _| m::inv_logit(x),
        "log1m_exp" => |x, _| 1.0 / -m::expm1(-x),
        "log_inv_logit" => |x, _| m::inv_logit(-x),
        "log1m_inv_logit" => |x, _| -m::inv_logit(x),
        "inv_logit" => |x, y| y * m::inv_logit(-x),
        "logit" => |x, _| 1.0 / (x * (1.0 - x)),
        "inv_cloglog" => |x, _| m::exp(x - m::exp(x)),
        "sqrt" => |_, y| 0.5 / y,
        "cbrt" => |_, y| 1.0 / (3.0 * y * y),
        "square" => |x, _| 2.0 * x,
        "inv" => |_, y| -y * y,
        "inv_sqrt" => |x, y| -0.5 * y / x,
        "inv_square" => |x, y| -2.0 * y / x,
        "fabs" | "abs" => |x, _| if x == 0.0 { 0.0 } else { x.signum() },
        "sin" => |x, _| m::cos(x),
        "cos" => |x, _| -m::sin(x),
        "tan" => |_, y| 1.0 + y * y,
        "asin" => |x, _| 1.0 / (1.0 - x * x).sqrt(),
        "acos" => |x, _| -1.0 / (1.0 - x * x).sqrt(),
        "atan" => |x, _| 1.0 / (1.0 + x * x),
        "sinh" => |x, _| m::cosh(x),
        "cosh" => |x, _| m::sinh(x),
        "tanh" => |x, _| {
            let size = m::cosh(x);
            1.0 / size / size
        },
        "asinh" => |x, _| 1.0 / m::hypot(x, 1.0),
        "acosh" => |x, _| 1.0 / ((x - 1.0).sqrt() * (x + 1.0).sqrt()),
        "atanh" => |x, _| 1.0 / ((1.0 - x) * (1.0 + x)),
        "erf" => |x, _| 2.0 / PI.sqrt() * m::exp(-x * x),
        "erfc" => |x, _| -2.0 / PI.sqrt() * m::exp(-x * x),
        "inv_erfc" => |_, y| -0.5 * PI.sqrt() * m::exp(y * y),
        "Phi" => |x, _| normal(x),
        "Phi_approx" => |x, y| {
            let rest = m::inv_logit(-(0.07056 * x * x + 1.5976) * x);
            y * rest * (3.0 * 0.07056 * x * x + 1.5976)
        },
        "inv_Phi" | "std_normal_qf" => |_, y| 1.0 / normal(y),
        "lgamma" => |x, _| m::digamma(x),
        "tgamma" => |x, y| y * m::digamma(x),
        "digamma" => |x, _| m::trigamma(x),
        "lambert_w0" | "lambert_wm1" => |_, w| m::exp(-w) / (1.0 + w),
        _ => return None,
    })
}

/// The density of the standard normal distribution.
fn normal(x: f64) -> f64 {
    m::exp(-0.5 * x * x) / (2.0 * PI).sqrt()
}

/// The derivatives of a function of two numbers.
pub(super) fn of_two(name: &str) -> Option<OfTwo> {
    Some(match name {
        "pow" => power,
        // Of equal numbers each has half of the slope.
        "fmax" => |x, y, _| chosen(x.0 > y.0 || y.0.is_nan(), x.0 == y.0),
        "fmin" => |x, y, _| chosen(x.0 < y.0 || y.0.is_nan(), x.0 == y.0),
        "fdim" => |x, y, _| if x.0 > y.0 { (1.0, -1.0) } else { (0.0, 0.0) },
        "fmod" => |x, y, _| (1.0, -(x.0 / y.0).trunc()),
        "hypot" => |x, y, h| (x.0 / h, y.0 / h),
        "atan2" => |y, x, _| {
            let square = x.0 * x.0 + y.0 * y.0;
            (x.0 / square, -y.0 / square)
        },
        "lbeta" => |a, b, _| (-m::digamma_rise(a.0, b.0), -m::digamma_rise(b.0, a.0)),
        "beta" => {
            |a, b, value| (-value * m::digamma_rise(a.0, b.0), -value * m::digamma_rise(b.0, a.0))
        }
        "multiply_log" | "lmultiply" => |x, y, _| {
            (if x.1 { m::log(y.0) } else { 0.0 }, if x.0 == 0.0 { 0.0 } else { x.0 / y.0 })
        },
        "log_diff_exp" => |x, y, value| log_difference(x.0, y.0, value),
        "log_sum_exp" => |x, y, value| (m::exp(x.0 - value), m::exp(y.0 - value)),
        _ => return None,
    })
}

fn chosen(first: bool, tie: bool) -> (f64, f64) {
    match (tie, first) {
        (true, _) => (0.5, 0.5),
        (_, true) => (1.0, 0.0),
        _ => (0.0, 1.0),
    }
}

/// Derivatives of $\log(e^x - e^y)$.
pub(super) fn log_difference(x: f64, y: f64, _value: f64) -> (f64, f64) {
    (-1.0 / m::expm1(y - x), -1.0 / m::expm1(x - y))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A name, its function, and where it is looked at.
    type Case = (&'static str, fn(f64) -> f64, f64);

    /// Against central differences of `exmc_math`'s functions, which the derivatives do not call.
    #[test]
    fn derivatives_are_those_of_differences() {
        let cases: &[Case] = &[
            ("log1m_exp", m::log1m_exp, -0.7),
            ("log1p_exp", m::log1p_exp, -0.7),
            ("inv_logit", m::inv_logit, 1.3),
            ("Phi", m::std_normal_cdf, 0.4),
            ("inv_Phi", m::std_normal_quantile, 0.3),
            ("atanh", m::atanh, -0.4),
            ("acosh", m::acosh, 1.7),
            ("tgamma", m::gamma, 2.3),
            ("lgamma", m::lgamma, 0.6),
            ("erfc", m::erfc, 0.6),
        ];
        for (name, f, x) in cases {
            let h = 1e-5;
            let expected = (f(x + h) - f(x - h)) / (2.0 * h);
            let found = of_one(name).unwrap()(*x, f(*x));
            assert!((found - expected).abs() < 1e-8, "{name}: {found} for {expected}");
        }
        let (dx, dy) = log_difference(1.0, 0.25, 0.0);
        let f = |x, y| m::log_diff_exp(x, y);
        let h = 1e-5;
        assert!((dx - (f(1.0 + h, 0.25) - f(1.0 - h, 0.25)) / (2.0 * h)).abs() < 1e-8);
        assert!((dy - (f(1.0, 0.25 + h) - f(1.0, 0.25 - h)) / (2.0 * h)).abs() < 1e-8);
    }
}
