//! Complex arithmetic and elementary functions on pairs of reals.

use exmc_math as m;

use crate::value::Complex;

pub(crate) fn add(a: Complex, b: Complex) -> Complex {
    [a[0] + b[0], a[1] + b[1]]
}

pub(crate) fn sub(a: Complex, b: Complex) -> Complex {
    [a[0] - b[0], a[1] - b[1]]
}

pub(crate) fn neg(a: Complex) -> Complex {
    [-a[0], -a[1]]
}

pub(crate) fn mul(a: Complex, b: Complex) -> Complex {
    [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]]
}

/// Quotient by Smith's scaling, so that no square overflows. **Reference**: Smith 1962.
pub(crate) fn div(a: Complex, b: Complex) -> Complex {
    if b[1] == 0.0 {
        [a[0] / b[0], a[1] / b[0]]
    } else if b[0].abs() >= b[1].abs() {
        let r = b[1] / b[0];
        let d = b[0] + b[1] * r;
        [(a[0] + a[1] * r) / d, (a[1] - a[0] * r) / d]
    } else {
        let r = b[0] / b[1];
        let d = b[0] * r + b[1];
        [(a[0] * r + a[1]) / d, (a[1] * r - a[0]) / d]
    }
}

pub(crate) fn abs(a: Complex) -> f64 {
    m::hypot(a[0], a[1])
}

pub(crate) fn arg(a: Complex) -> f64 {
    m::atan2(a[1], a[0])
}

pub(crate) fn polar(r: f64, angle: f64) -> Complex {
    [r * m::cos(angle), r * m::sin(angle)]
}

pub(crate) fn exp(a: Complex) -> Complex {
    if a[1] == 0.0 { [m::exp(a[0]), a[1]] } else { polar(m::exp(a[0]), a[1]) }
}

pub(crate) fn log(a: Complex) -> Complex {
    [m::log(abs(a)), arg(a)]
}

/// The root with non-negative real part.
pub(crate) fn sqrt(a: Complex) -> Complex {
    if a == [0.0, 0.0] {
        return [0.0, a[1]];
    }
    let r = abs(a);
    let large = (0.5 * (r + a[0].abs())).sqrt();
    let small = 0.5 * a[1].abs() / large;
    let (re, im) = if a[0] >= 0.0 { (large, small) } else { (small, large) };
    [re, im.copysign(a[1])]
}

pub(crate) fn pow(a: Complex, b: Complex) -> Complex {
    if a == [0.0, 0.0] {
        return if b == [0.0, 0.0] { [1.0, 0.0] } else { [0.0, 0.0] };
    }
    exp(mul(b, log(a)))
}

pub(crate) fn sin(a: Complex) -> Complex {
    [m::sin(a[0]) * m::cosh(a[1]), m::cos(a[0]) * m::sinh(a[1])]
}

pub(crate) fn cos(a: Complex) -> Complex {
    [m::cos(a[0]) * m::cosh(a[1]), -m::sin(a[0]) * m::sinh(a[1])]
}

pub(crate) fn tan(a: Complex) -> Complex {
    div(sin(a), cos(a))
}

pub(crate) fn sinh(a: Complex) -> Complex {
    [m::sinh(a[0]) * m::cos(a[1]), m::cosh(a[0]) * m::sin(a[1])]
}

pub(crate) fn cosh(a: Complex) -> Complex {
    [m::cosh(a[0]) * m::cos(a[1]), m::sinh(a[0]) * m::sin(a[1])]
}

pub(crate) fn tanh(a: Complex) -> Complex {
    div(sinh(a), cosh(a))
}

/// $\log(a + \sqrt{a^2 + 1})$
pub(crate) fn asinh(a: Complex) -> Complex {
    log(add(a, sqrt(add(mul(a, a), [1.0, 0.0]))))
}

/// $\log(a + \sqrt{a + 1}\sqrt{a - 1})$
pub(crate) fn acosh(a: Complex) -> Complex {
    log(add(a, mul(sqrt(add(a, [1.0, 0.0])), sqrt(sub(a, [1.0, 0.0])))))
}

/// $\tfrac12(\log(1 + a) - \log(1 - a))$
pub(crate) fn atanh(a: Complex) -> Complex {
    let d = sub(log(add([1.0, 0.0], a)), log(sub([1.0, 0.0], a)));
    [0.5 * d[0], 0.5 * d[1]]
}

/// $-i \operatorname{asinh}(ia)$
pub(crate) fn asin(a: Complex) -> Complex {
    let b = asinh([-a[1], a[0]]);
    [b[1], -b[0]]
}

/// $\pi/2 - \operatorname{asin} a$
pub(crate) fn acos(a: Complex) -> Complex {
    sub([std::f64::consts::FRAC_PI_2, 0.0], asin(a))
}

/// $-i \operatorname{atanh}(ia)$
pub(crate) fn atan(a: Complex) -> Complex {
    let b = atanh([-a[1], a[0]]);
    [b[1], -b[0]]
}
