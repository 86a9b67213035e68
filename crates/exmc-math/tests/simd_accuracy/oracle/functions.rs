//! The functions in double-double: plain series, many terms, no cleverness.

use super::{Dd, ONE, Value, ZERO, product, two_sum};

const LN_2: [f64; 3] = [std::f64::consts::LN_2, 2.3190468138462996e-17, 5.707708438416212e-34];
pub(super) const HALF_PI: [f64; 4] = [
    std::f64::consts::FRAC_PI_2,
    6.123233995736766e-17,
    -1.4973849048591698e-33,
    5.562271104316826e-50,
];
const ONE_OVER_SQRT_PI: Dd = Dd(0.5641895835477563, 7.66772980658294e-18);
pub(super) const HALF_LOG_2_PI: Dd = Dd(0.9189385332046728, -3.8782941580672414e-17);

/// B_2k / (2k) for k = 1, 2, ...: numerator and denominator.
pub(super) const BERNOULLI_OVER: [(f64, f64); 18] = [
    (1.0, 12.0),
    (-1.0, 120.0),
    (1.0, 252.0),
    (-1.0, 240.0),
    (1.0, 132.0),
    (-691.0, 32760.0),
    (1.0, 12.0),
    (-3617.0, 8160.0),
    (43867.0, 14364.0),
    (-174611.0, 6600.0),
    (77683.0, 276.0),
    (-236364091.0, 65520.0),
    (657931.0, 12.0),
    (-3392780147.0, 3480.0),
    (1723168255201.0, 85932.0),
    (-7709321041217.0, 16320.0),
    (151628697551.0, 12.0),
    (-26315271553053477373.0, 69090840.0),
];

/// `e^r - 1` for `|r| <= 1/2`, by Taylor's series of `r / 64` and six doublings.
pub(super) fn expm1_small(r: Dd) -> Dd {
    let r = r * (1.0 / 64.0);
    let mut sum = ZERO;
    for n in (1..=14).rev() {
        sum = r * (ONE + sum) / Dd::from(f64::from(n));
    }
    for _ in 0..6 {
        sum = sum * 2.0 + sum * sum;
    }
    sum
}

/// `x - n log 2` with `n` the nearest integer, which must be below 2^20.
fn reduce(x: Dd) -> (i32, Dd) {
    let n = (x.0 / LN_2[0]).round();
    let r = x - product(n, LN_2[0]) - product(n, LN_2[1]) - Dd::from(n * LN_2[2]);
    (n as i32, r)
}

pub(crate) fn exp_dd(x: Dd) -> Value {
    let clamped = if x.0.abs() > 2000.0 { Dd::from(2000.0 * x.0.signum()) } else { x };
    let (e, r) = reduce(clamped);
    Value { m: ONE + expm1_small(r), e }
}

pub(crate) fn exp(x: f64) -> Value {
    exp_dd(Dd::from(x))
}

pub(crate) fn expm1(x: f64) -> Value {
    if x.abs() < 1e-34 {
        return Dd::from(x).into();
    }
    if x.abs() < 0.4 {
        return expm1_small(Dd::from(x)).into();
    }
    let y = exp(x);
    if y.e > 130 {
        y
    } else if y.e < -130 {
        (-ONE).into()
    } else {
        (y.m * libm::scalbn(1.0, y.e) - ONE).into()
    }
}

/// `log(1 + f)` for `|f| < 1/8`.
fn log1p_small(f: Dd) -> Dd {
    let s = f / (f + Dd::from(2.0));
    let z = s * s;
    let mut sum = ZERO;
    for k in (0..16).rev() {
        sum = z * sum + ONE / Dd::from(f64::from(2 * k + 1));
    }
    s * sum * 2.0
}

/// The logarithm of `x 2^e`, for `x` of ordinary size.
pub(super) fn log_dd(x: Dd, e: i32) -> Dd {
    let (_, shift) = libm::frexp(x.0);
    let m = Dd(libm::scalbn(x.0, -shift), libm::scalbn(x.1, -shift));
    let k = f64::from(shift + e);
    // One Newton step: log m = y + log1p(m e^-y - 1).
    let y = libm::log(m.0);
    let inverse = exp(-y);
    let rest = log1p_small(m * inverse.m * libm::scalbn(1.0, inverse.e) - ONE);
    product(k, LN_2[0]) + product(k, LN_2[1]) + Dd::from(k * LN_2[2]) + Dd::from(y) + rest
}

pub(crate) fn log_of(x: f64) -> Dd {
    if (x - 1.0).abs() < 0.1 {
        return log1p_small(Dd::from(x - 1.0));
    }
    // Subnormal numbers are lifted, so that their parts are exact.
    if x < 1e-290 { log_dd(Dd::from(x * 2f64.powi(200)), -200) } else { log_dd(Dd::from(x), 0) }
}

pub(crate) fn log(x: f64) -> Value {
    log_of(x).into()
}

pub(super) fn log1p_dd(x: Dd) -> Dd {
    if x.0.abs() < 0.1 { log1p_small(x) } else { log_dd(ONE + x, 0) }
}

pub(crate) fn log1p(x: f64) -> Value {
    // Below this size the second term is under 2^-110 of the first.
    let y = if x.abs() < 1e-34 {
        Dd::from(x)
    } else if x > 1e100 {
        log_of(x)
    } else {
        log1p_dd(Dd::from(x))
    };
    y.into()
}

pub(crate) fn tanh(x: f64) -> Value {
    if x.abs() > 40.0 {
        return Dd::from(x.signum()).into();
    }
    if x.abs() < 1e-20 {
        return Dd::from(x).into();
    }
    let Value { m, e } = expm1(2.0 * x);
    let y = m * libm::scalbn(1.0, e);
    (y / (y + Dd::from(2.0))).into()
}

pub(crate) fn sigmoid(x: f64) -> Value {
    let e = exp(-x.abs());
    let small = if e.e < -130 { ZERO } else { e.m * libm::scalbn(1.0, e.e) };
    let y = ONE / (ONE + small);
    if x < 0.0 { Value { m: e.m * y, e: e.e } } else { y.into() }
}

pub(crate) fn softplus(x: f64) -> Value {
    let e = exp(-x.abs());
    if x < 0.0 && e.e < -130 {
        return e;
    }
    let small = if e.e < -400 { ZERO } else { e.m * libm::scalbn(1.0, e.e) };
    let y = if small.0 < 1e-34 { small } else { log1p_dd(small) };
    (Dd::from(x.max(0.0)) + y).into()
}

pub(crate) fn sqrt(x: f64) -> Value {
    // Two lifts by even powers of two keep all parts normal.
    let e = if x < 1.0 { -300 } else { 300 };
    let lifted = libm::scalbn(x, -2 * e);
    if lifted == 0.0 {
        return ZERO.into();
    }
    let y = lifted.sqrt();
    let rest = (Dd::from(lifted) - product(y, y)) / Dd::from(2.0 * y);
    Value { m: two_sum(y, rest.0), e }
}

pub(crate) fn reciprocal(x: f64) -> Value {
    let (m, e) = libm::frexp(x);
    Value { m: ONE / Dd::from(m), e: -e }
}

/// `e^(-x^2)`.
fn gauss(x: f64) -> Value {
    exp_dd(-product(x, x))
}

/// erf by the series whose terms are all positive, for `|x| <= 7`.
fn erf_series(x: f64) -> Dd {
    let square = product(x, x);
    let (mut term, mut sum) = (Dd::from(x), Dd::from(x));
    let mut n = 1.0;
    while term.0.abs() > 1e-35 * sum.0.abs() {
        term = term * square * 2.0 / Dd::from(2.0 * n + 1.0);
        sum = sum + term;
        n += 1.0;
    }
    let g = gauss(x);
    sum * ONE_OVER_SQRT_PI * 2.0 * g.m * libm::scalbn(1.0, g.e)
}

pub(crate) fn erf(x: f64) -> Value {
    let y = if x.abs() < 1e-20 {
        // Scaled, for subnormal numbers; erf's second term is below 2^-130 here.
        let e = if x.abs() < 1e-200 { -600 } else { 0 };
        return Value { m: ONE_OVER_SQRT_PI * libm::scalbn(x, -e) * 2.0, e };
    } else if x.abs() > 8.5 {
        Dd::from(x.signum())
    } else {
        erf_series(x)
    };
    y.into()
}

pub(crate) fn erfc(x: f64) -> Value {
    if x < 3.0 {
        return (ONE
            - Dd::from(if x < -8.5 { -1.0 } else { 0.0 })
            - if x < -8.5 { ZERO } else { erf_series(x) })
        .into();
    }
    if x > 60.0 {
        return Value { m: ONE, e: -2000 };
    }
    // Laplace's continued fraction, from the far end.
    let mut tail = Dd::from(x);
    for k in (1..=150).rev() {
        tail = Dd::from(x) + Dd::from(0.5 * f64::from(k)) / tail;
    }
    let g = gauss(x);
    Value { m: g.m * ONE_OVER_SQRT_PI / tail, e: g.e }
}

/// Log gamma from Stirling's series, by steps to 30 or more whose product is kept as mantissa and
/// exponent.
///
/// Of numbers beyond 1e280 it is 2^-40 times that.
pub(super) fn lgamma_dd(x: Dd) -> Dd {
    let (mut y, mut m, mut e) = (x, ONE, 0);
    while y.0 < 30.0 {
        m = m * y;
        if m.0 < 1e-200 {
            (m, e) = (m * 2f64.powi(400), e - 400);
        }
        y = y + ONE;
    }
    // Large arguments: all parts stay finite after one scaling of the result by 2^-40.
    let scale = if x.0 > 1e280 { 2f64.powi(-40) } else { 1.0 };
    let log = if y.0 == x.0 && x.1 == 0.0 { log_of(x.0) } else { log_dd(y, 0) };
    let main = (y - Dd::from(0.5)) * scale * (log - ONE) - Dd::from(0.5 * scale);
    let mut sum = ZERO;
    if y.0 < 1e30 {
        let inverse = ONE / y;
        let z = inverse * inverse;
        for (i, (above, below)) in BERNOULLI_OVER.iter().enumerate().rev() {
            sum = z * sum + Dd::from(*above) / product(*below, (2 * i + 1) as f64);
        }
        sum = sum * inverse;
    }
    let value = main + (HALF_LOG_2_PI + sum) * scale;
    if y.0 == x.0 { value } else { value - log_dd(m, e) }
}

pub(crate) fn lgamma(x: f64) -> Value {
    // Next to the zeros the Taylor series, in zeta(k) / k; two parts where they count.
    let (d1, d2) = (x - 1.0, x - 2.0);
    if d1.abs() < 2f64.powi(-20) {
        let tail = Dd::from(d1 * (-0.40068563438653143 + d1 * 0.27058080842778454));
        let second = (Dd(0.8224670334241132, 1.520336175199238e-17) + tail) * d1;
        return ((Dd(-0.5772156649015329, 4.942915152430645e-18) + second) * d1).into();
    }
    if d2.abs() < 2f64.powi(-20) {
        let tail = Dd::from(d2 * (-0.0673523010531981 + d2 * 0.020580808427784546));
        let second = (Dd(0.3224670334241132, 1.520336175199238e-17) + tail) * d2;
        return ((Dd(0.42278433509846713, 4.942915152430645e-18) + second) * d2).into();
    }
    Value { m: lgamma_dd(Dd::from(x)), e: if x > 1e280 { 40 } else { 0 } }
}

pub(crate) fn digamma(x: f64) -> Value {
    if x < 1e-200 {
        // -1/x alone, scaled; the rest is below 1e-199 of it.
        let r = reciprocal(x);
        return Value { m: -r.m, e: r.e };
    }
    let (mut y, mut steps) = (Dd::from(x), ZERO);
    while y.0 < 30.0 {
        steps = steps + ONE / y;
        y = y + ONE;
    }
    let mut rest = ZERO;
    if y.0 < 1e30 {
        let inverse = ONE / y;
        let z = inverse * inverse;
        for (above, below) in BERNOULLI_OVER.iter().rev() {
            rest = z * (rest + Dd::from(*above) / Dd::from(*below));
        }
        rest = rest + inverse * 0.5;
    }
    let log = if y.0 == x { log_of(x) } else { log_dd(y, 0) };
    (log - rest - steps).into()
}

/// Quadrant and `x - n pi/2`, for `|x| < 2^30`.
pub(super) fn quadrant(x: f64) -> (i64, Dd) {
    let n = (x / HALF_PI[0]).round();
    let mut r = Dd::from((-n).mul_add(HALF_PI[0], x));
    for part in &HALF_PI[1..] {
        r = r - product(n, *part);
    }
    (n as i64, r)
}

/// Taylor's series of `sin r` (from `first` 1) or `cos r` (from `first` 0).
pub(super) fn sine_series(r: Dd, first: i32) -> Dd {
    let z = r * r;
    let mut sum = ONE;
    let mut n = 28 + first;
    while n > first {
        sum = ONE - z * sum / Dd::from(f64::from(n * (n - 1)));
        n -= 2;
    }
    if first == 1 { r * sum } else { sum }
}

fn sine(x: f64, shift: i64) -> Value {
    let (n, r) = quadrant(x);
    let n = (n + shift).rem_euclid(4);
    let y = sine_series(r, if n % 2 == 0 { 1 } else { 0 });
    (if n >= 2 { -y } else { y }).into()
}

pub(crate) fn sin(x: f64) -> Value {
    if x.abs() < 1e-20 { Dd::from(x).into() } else { sine(x, 0) }
}

pub(crate) fn cos(x: f64) -> Value {
    sine(x, 1)
}

pub(crate) fn pow(x: f64, y: f64) -> Value {
    let log = log_of(x);
    if (log.0 * y).abs() > 1500.0 {
        return Value { m: ONE, e: if log.0 * y > 0.0 { 2000 } else { -2000 } };
    }
    exp_dd(log * y)
}
