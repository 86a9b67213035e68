//! The inverse trigonometric and hyperbolic functions, and logs of differences, in double-double.

use super::functions::{
    HALF_PI, exp, exp_dd, expm1_small, log_dd, log_of, log1p_dd, quadrant, sine_series,
};
use super::{Dd, ONE, Value, ZERO, two_sum};

const HALF_PI_DD: Dd = Dd(HALF_PI[0], HALF_PI[1]);

/// `(e^x + sign e^-x) / 2`.
fn half_sum(x: f64, sign: f64) -> Value {
    let Value { m, e } = exp(x.abs());
    if e > 120 {
        return Value { m, e: e - 1 };
    }
    let grown = m * libm::scalbn(1.0, e);
    ((grown + ONE / grown * sign) * 0.5).into()
}

pub(crate) fn sinh(x: f64) -> Value {
    if x.abs() < 1e-20 {
        return Dd::from(x).into();
    }
    if x.abs() > 0.5 {
        let Value { m, e } = half_sum(x, -1.0);
        return Value { m: m * x.signum(), e };
    }
    let square = super::product(x, x);
    let mut sum = ZERO;
    for n in (1..=13).rev() {
        sum = square * (ONE + sum) / Dd::from(f64::from(2 * n * (2 * n + 1)));
    }
    ((ONE + sum) * x).into()
}

pub(crate) fn cosh(x: f64) -> Value {
    half_sum(x, 1.0)
}

pub(crate) fn tan(x: f64) -> Value {
    if x.abs() < 1e-20 {
        return Dd::from(x).into();
    }
    let (n, r) = quadrant(x);
    let (sine, cosine) = (sine_series(r, 1), sine_series(r, 0));
    (if n % 2 == 0 { sine / cosine } else { -(cosine / sine) }).into()
}

/// The arc tangent of a positive number by one Newton step.
fn atan_dd(x: Dd) -> Dd {
    if x.0 > 1.0 {
        return HALF_PI_DD - atan_dd(ONE / x);
    }
    if x.0 < 1e-20 {
        return x;
    }
    let y = libm::atan(x.0);
    let tangent = sine_series(Dd::from(y), 1) / sine_series(Dd::from(y), 0);
    // The arc tangent of the difference, whose cube is below 1e-48.
    Dd::from(y) + (x - tangent) / (ONE + x * tangent)
}

fn signed(y: Dd, sign: f64) -> Value {
    (if sign < 0.0 { -y } else { y }).into()
}

pub(crate) fn atan(x: f64) -> Value {
    signed(atan_dd(Dd::from(x.abs())), x)
}

fn sqrt_dd(x: Dd) -> Dd {
    let y = x.0.sqrt();
    Dd::from(y) + (x - super::product(y, y)) / Dd::from(2.0 * y)
}

pub(crate) fn asin(x: f64) -> Value {
    let size = x.abs();
    if size == 1.0 {
        return signed(HALF_PI_DD, x);
    }
    if size < 1e-20 {
        return Dd::from(x).into();
    }
    let square = two_sum(1.0, -size) * two_sum(1.0, size);
    signed(atan_dd(Dd::from(size) / sqrt_dd(square)), x)
}

pub(crate) fn acos(x: f64) -> Value {
    if x == 1.0 {
        return ZERO.into();
    }
    if x == -1.0 {
        return (HALF_PI_DD * 2.0).into();
    }
    (atan_dd(sqrt_dd(two_sum(1.0, -x) / two_sum(1.0, x))) * 2.0).into()
}

/// The angle of a point whose coordinates are not zero.
pub(crate) fn atan2(y: f64, x: f64) -> Value {
    let angle = atan_dd(Dd::from(y.abs()) / Dd::from(x.abs()));
    signed(if x < 0.0 { HALF_PI_DD * 2.0 - angle } else { angle }, y)
}

/// `log(1 - e^x)` for negative `x`.
fn log1m_exp_dd(x: Dd) -> Value {
    if x.0 < -80.0 {
        let Value { m, e } = exp_dd(x);
        return Value { m: -m, e };
    }
    if x.0 < -0.4 {
        let Value { m, e } = exp_dd(x);
        return log1p_dd(-(m * libm::scalbn(1.0, e))).into();
    }
    if x.0 > -1e-40 {
        return log_of(-x.0).into();
    }
    log_dd(-expm1_small(x), 0).into()
}

pub(crate) fn log1m_exp(x: f64) -> Value {
    log1m_exp_dd(Dd::from(x))
}

fn plain(value: Value) -> Dd {
    if value.e < -400 { ZERO } else { value.m * libm::scalbn(1.0, value.e) }
}

/// For `a > b`.
pub(crate) fn log_diff_exp(a: f64, b: f64) -> Value {
    (Dd::from(a) + plain(log1m_exp_dd(two_sum(b, -a)))).into()
}

pub(crate) fn log_add_exp(a: f64, b: f64) -> Value {
    let grown = plain(exp_dd(two_sum(a.min(b), -a.max(b))));
    let log = if grown.0 < 1e-34 { grown } else { log1p_dd(grown) };
    (Dd::from(a.max(b)) + log).into()
}

pub(crate) fn log_add_exp_share(a: f64, b: f64) -> Value {
    let grown = plain(exp_dd(two_sum(a.min(b), -a.max(b))));
    let share = ONE / (ONE + grown);
    (if a < b { grown * share } else { share }).into()
}
