//! Polygamma, normal, Bessel and beta functions in double-double.

use super::functions::{
    BERNOULLI_OVER, HALF_LOG_2_PI, exp_dd, lgamma_dd, log_dd, log_of, log1p_dd, reciprocal,
};
use super::{Dd, ONE, Value, ZERO, product, two_sum};

const ROOT_2_PI: Dd = Dd(2.5066282746310007, -1.8328579980459167e-16);

/// `sum_k 1/(x + k)^power` without its first factor `(power - 1)!`, for `power` 2 or 3, from steps
/// to 30 and Bernoulli's series.
fn zeta_sum(x: f64, power: usize) -> Dd {
    let (mut y, mut steps) = (Dd::from(x), ZERO);
    while y.0 < 30.0 {
        let inverse = ONE / y;
        let square = inverse * inverse;
        steps = steps + if power == 2 { square } else { square * inverse };
        y = y + ONE;
    }
    let inverse = ONE / y;
    let z = inverse * inverse;
    let mut rest = ZERO;
    for (i, (above, below)) in BERNOULLI_OVER.iter().enumerate().rev() {
        // B_2k z^k, times (2k + 1)/2 for the third power.
        let k = (i + 1) as f64;
        let factor = if power == 2 { 2.0 * k } else { k * (2.0 * k + 1.0) };
        rest = z * (rest + Dd::from(*above) * factor / Dd::from(*below));
    }
    let series = if power == 2 {
        inverse * (ONE + inverse * 0.5 + rest)
    } else {
        z * (Dd::from(0.5) + inverse * 0.5 + rest)
    };
    steps + series
}

pub(crate) fn trigamma(x: f64) -> Value {
    let Value { m, e } = reciprocal(x);
    if x > 1e32 {
        Value { m, e }
    } else if x < 1e-40 {
        Value { m: m * m, e: 2 * e }
    } else {
        zeta_sum(x, 2).into()
    }
}

pub(crate) fn tetragamma(x: f64) -> Value {
    let Value { m, e } = reciprocal(x);
    if x > 1e32 {
        Value { m: -(m * m), e: 2 * e }
    } else if x < 1e-40 {
        Value { m: m * m * m * -2.0, e: 3 * e }
    } else {
        (zeta_sum(x, 3) * -2.0).into()
    }
}

/// The density of the standard normal.
fn bell(x: f64) -> Value {
    let Value { m, e } = exp_dd(product(x, x) * -0.5);
    Value { m: m / ROOT_2_PI, e }
}

fn plain(value: Value) -> Dd {
    if value.e < -400 { ZERO } else { value.m * libm::scalbn(1.0, value.e) }
}

/// Where the series about zero gives way to Laplace's continued fraction.
const FAR: f64 = 4.25;

/// `(Phi(x) - 1/2) / phi(x)`: all terms have one sign.
fn central(x: f64) -> Dd {
    let square = product(x, x);
    let (mut term, mut sum) = (Dd::from(x), Dd::from(x));
    let mut n = 1.0;
    while term.0.abs() > 1e-36 * sum.0.abs() {
        n += 2.0;
        term = term * square / Dd::from(n);
        sum = sum + term;
    }
    sum
}

/// `Phi(-a) / phi(a)` for `a >= FAR`.
fn mills(a: f64) -> Dd {
    let mut tail = Dd::from(a);
    for k in (1..=160).rev() {
        tail = Dd::from(a) + Dd::from(f64::from(k)) / tail;
    }
    ONE / tail
}

/// `log Phi(-a)` for `a >= 0`.
fn log_tail(a: f64) -> Dd {
    if a < FAR {
        return log_dd(Dd::from(0.5) - plain(bell(a)) * central(a), 0);
    }
    log_dd(mills(a), 0) - HALF_LOG_2_PI - product(a, a) * 0.5
}

pub(crate) fn log_std_normal_cdf(x: f64) -> Value {
    if x <= 0.0 {
        return log_tail(-x).into();
    }
    if x > 60.0 {
        return Value { m: -ONE, e: -2000 };
    }
    let density = bell(x);
    if x < FAR {
        return log1p_dd(plain(density) * central(x) - Dd::from(0.5)).into();
    }
    let m = -(density.m * mills(x));
    if density.e < -120 {
        return Value { m, e: density.e };
    }
    log1p_dd(m * libm::scalbn(1.0, density.e)).into()
}

pub(crate) fn std_normal_quantile(p: f64) -> Value {
    let q = two_sum(p, -0.5);
    if q.0.abs() < 0.4 {
        if q.0 == 0.0 {
            return ZERO.into();
        }
        // Newton's iteration on Phi - 1/2, whose rest has the relative accuracy of `central`.
        let mut x = Dd::from(q.0 * ROOT_2_PI.0);
        for _ in 0..9 {
            let point = x.0;
            x = Dd::from(point) - central(point) + q / plain(bell(point));
        }
        return x.into();
    }
    let tail = if p < 0.5 { p } else { 1.0 - p };
    // Newton's iteration on log Phi(-a), which is nearly a parabola.
    let log = log_of(tail);
    let mut a = Dd::from((-2.0 * log.0).sqrt());
    for _ in 0..7 {
        let point = a.0;
        let miss = log_tail(point) - log;
        let ratio = if point < FAR {
            (Dd::from(0.5) - plain(bell(point)) * central(point)) / plain(bell(point))
        } else {
            mills(point)
        };
        a = Dd::from(point) + miss * ratio;
    }
    (if p < 0.5 { -a } else { a }).into()
}

/// `sum_{k >= first} (x^2/4)^k order! / (k! (k + order)!)`.
fn bessel_series(x: f64, order: f64, first: usize) -> Dd {
    let z = product(x, x) * 0.25;
    let (mut term, mut sum, mut k) = (ONE, if first == 0 { ONE } else { ZERO }, 0.0);
    while k < 3.0 || term.0 > 1e-36 * sum.0 {
        k += 1.0;
        term = term * z / product(k, k + order);
        sum = sum + term;
    }
    sum
}

/// The asymptotic series of the function over `e^x / sqrt(2 pi x)`, for `x >= 40`.
fn bessel_far(x: f64, order: f64) -> Dd {
    let mu = 4.0 * order * order;
    let (mut term, mut sum, mut k) = (ONE, ONE, 0.0);
    while term.0.abs() > 1e-36 && k < 75.0 {
        k += 1.0;
        let odd = 2.0 * k - 1.0;
        term = term * (odd * odd - mu) / product(8.0 * k, x);
        sum = sum + term;
    }
    sum
}

pub(crate) fn log_bessel_i0(x: f64) -> Value {
    let x = x.abs();
    if x < 1e-20 {
        let lifted = libm::scalbn(x, 500);
        return Value { m: product(lifted, lifted), e: -1002 };
    }
    if x < 40.0 {
        return log1p_dd(bessel_series(x, 0.0, 1)).into();
    }
    if x > 1e40 {
        return Dd::from(x).into();
    }
    (Dd::from(x) - HALF_LOG_2_PI - log_of(x) * 0.5 + log_dd(bessel_far(x, 0.0), 0)).into()
}

pub(crate) fn bessel_i1_i0_ratio(x: f64) -> Value {
    let size = x.abs();
    if size < 1e-20 {
        return Value { m: Dd::from(libm::scalbn(x, 100)), e: -101 };
    }
    let y = if size < 40.0 {
        bessel_series(size, 1.0, 0) / bessel_series(size, 0.0, 0) * (0.5 * size)
    } else if size < 1e40 {
        bessel_far(size, 1.0) / bessel_far(size, 0.0)
    } else {
        ONE
    };
    (if x < 0.0 { -y } else { y }).into()
}

/// For arguments of at most 1e12: beyond, the three terms lose too much to each other.
pub(crate) fn lbeta(a: f64, b: f64) -> Value {
    (lgamma_dd(Dd::from(a)) + lgamma_dd(Dd::from(b)) - lgamma_dd(two_sum(a, b))).into()
}

/// For steps of at least 1e-12 of the argument: the difference of the series loses the others'
/// digits.
pub(crate) fn digamma_rise(x: f64, h: f64) -> Value {
    let (mut low, mut steps) = (Dd::from(x), ZERO);
    while low.0 < 30.0 {
        steps = steps + Dd::from(h) / (low + Dd::from(h)) / low;
        low = low + ONE;
    }
    let high = low + Dd::from(h);
    let rest = |y: Dd| {
        let inverse = ONE / y;
        let z = inverse * inverse;
        let mut rest = ZERO;
        for (above, below) in BERNOULLI_OVER.iter().rev() {
            rest = z * (rest + Dd::from(*above) / Dd::from(*below));
        }
        rest + inverse * 0.5
    };
    (log1p_dd(Dd::from(h) / low) + rest(low) - rest(high) + steps).into()
}
