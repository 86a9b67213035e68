//! Numbers of two doubles (about 104 bits), to measure the vector functions against.
//!
//! Written apart from the library on purpose: an oracle must not share its subject's code. Exact
//! products come from `mul_add`. `scripts/check_simd_oracle.py` compares the oracle itself with
//! mpmath.

pub(crate) mod elementary;
pub(crate) mod functions;
pub(crate) mod special;

use std::ops::{Add, Div, Mul, Neg, Sub};

/// The sum of both numbers, the second at most half an ulp of the first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dd(pub(crate) f64, pub(crate) f64);

pub(crate) const ZERO: Dd = Dd(0.0, 0.0);
pub(crate) const ONE: Dd = Dd(1.0, 0.0);

pub(crate) fn two_sum(a: f64, b: f64) -> Dd {
    let sum = a + b;
    let b_part = sum - a;
    Dd(sum, (a - (sum - b_part)) + (b - b_part))
}

fn quick(a: f64, b: f64) -> Dd {
    let sum = a + b;
    Dd(sum, b - (sum - a))
}

pub(crate) fn product(a: f64, b: f64) -> Dd {
    let p = a * b;
    Dd(p, a.mul_add(b, -p))
}

impl From<f64> for Dd {
    fn from(x: f64) -> Dd {
        Dd(x, 0.0)
    }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, other: Dd) -> Dd {
        let high = two_sum(self.0, other.0);
        let low = two_sum(self.1, other.1);
        let first = quick(high.0, high.1 + low.0);
        quick(first.0, first.1 + low.1)
    }
}

impl Sub for Dd {
    type Output = Dd;
    fn sub(self, other: Dd) -> Dd {
        self + -other
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd(-self.0, -self.1)
    }
}

impl Mul for Dd {
    type Output = Dd;
    fn mul(self, other: Dd) -> Dd {
        let p = product(self.0, other.0);
        quick(p.0, p.1 + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Mul<f64> for Dd {
    type Output = Dd;
    fn mul(self, other: f64) -> Dd {
        let p = product(self.0, other);
        quick(p.0, p.1 + self.1 * other)
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, other: Dd) -> Dd {
        let first = self.0 / other.0;
        let rest = self - other * first;
        let second = rest.0 / other.0;
        let rest = rest - other * second;
        quick(first, second) + Dd::from(rest.0 / other.0)
    }
}

/// An exact value `m 2^e`, so that overflow and underflow can be judged too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Value {
    pub(crate) m: Dd,
    pub(crate) e: i32,
}

impl From<Dd> for Value {
    fn from(m: Dd) -> Value {
        Value { m, e: 0 }
    }
}

impl Value {
    /// The distance of `got` from this value, in units of the last place of the value rounded to an
    /// `f64`.
    ///
    /// Where the value rounds to infinity, infinity is 0 away and all else infinitely far.
    pub(crate) fn ulps(self, got: f64) -> f64 {
        self.ulps_of(got, 0.0)
    }

    /// The same, in units of the last place of `scale` where the value is smaller than that.
    pub(crate) fn ulps_of(self, got: f64, scale: f64) -> f64 {
        if got.is_nan() {
            return f64::INFINITY;
        }
        let (_, shift) = libm::frexp(self.m.0);
        let magnitude = shift - 1 + self.e;
        // The largest finite number and half its ulp: 2^1024 (1 - 2^-54).
        let near_top = magnitude >= 1023
            && (Dd(libm::scalbn(self.m.0, self.e - 1023), 0.0).0).abs() >= 2.0 - f64::EPSILON;
        if magnitude > 1023 || near_top && got.is_infinite() {
            return if got == self.m.0.signum() * f64::INFINITY { 0.0 } else { f64::INFINITY };
        }
        let (_, least) = libm::frexp(scale);
        let magnitude = if scale > 0.0 { magnitude.max(least - 1) } else { magnitude };
        let last_place = (magnitude - 52).max(-1074);
        let unit = libm::scalbn(1.0, last_place - self.e);
        let got = libm::scalbn(got, -self.e);
        (((got - self.m.0) - self.m.1) / unit).abs()
    }
}
