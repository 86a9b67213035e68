//! Double-double numbers: two `f64` to one number of about 106 bits, with the logarithm.
//!
//! The incomplete gamma and beta functions multiply by `exp(E)` with `|E|` up to 745. Rounding `E`
//! to one `f64` would cost 1e-13; exponents are therefore summed here and rounded once, in the end.
//! Products use Dekker's splitting, not a fused multiply-add, so no platform needs the instruction.
//! Inputs must stay below about 1e290 in size.
//!
//! **Reference**: Dekker 1971; Knuth vol. 2, 4.2.2; Hida, Li, Bailey 2001.

mod log_table;

use log_table::LOG_TABLE;

/// An unevaluated sum `high + low` with `|low| <= ulp(high) / 2`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dd {
    pub(crate) high: f64,
    pub(crate) low: f64,
}

pub(crate) const LN_2: Dd = Dd { high: std::f64::consts::LN_2, low: 2.3190468138462996e-17 };
pub(crate) const HALF_LN_2_PI: Dd = Dd { high: 0.9189385332046728, low: -3.8782941580672414e-17 };

impl Dd {
    pub(crate) const ONE: Dd = Dd { high: 1.0, low: 0.0 };

    /// The exact sum of two numbers.
    #[inline(always)]
    pub(crate) fn sum(a: f64, b: f64) -> Dd {
        let high = a + b;
        let b_part = high - a;
        Dd { high, low: (a - (high - b_part)) + (b - b_part) }
    }

    /// The exact difference of two numbers.
    #[inline(always)]
    pub(crate) fn difference(a: f64, b: f64) -> Dd {
        Dd::sum(a, -b)
    }

    /// The exact product of two numbers.
    #[inline(always)]
    pub(crate) fn product(a: f64, b: f64) -> Dd {
        let high = a * b;
        let (a_high, a_low) = halves(a);
        let (b_high, b_low) = halves(b);
        Dd {
            high,
            low: ((a_high * b_high - high) + a_high * b_low + a_low * b_high) + a_low * b_low,
        }
    }

    /// The quotient of two numbers.
    pub(crate) fn ratio(a: f64, b: f64) -> Dd {
        Dd::from(a) / Dd::from(b)
    }

    /// This number plus an `f64`.
    #[inline(always)]
    pub(crate) fn plus(self, other: f64) -> Dd {
        let sum = Dd::sum(self.high, other);
        Dd::quick(sum.high, sum.low + self.low)
    }

    /// Renormalises a sum whose first part dominates.
    #[inline(always)]
    fn quick(high: f64, low: f64) -> Dd {
        let total = high + low;
        Dd { high: total, low: low - (total - high) }
    }

    /// The nearest `f64`.
    #[inline(always)]
    pub(crate) fn value(self) -> f64 {
        self.high + self.low
    }

    /// `exp(self)` as one `f64`; the low part enters to first order.
    pub(crate) fn exp(self) -> f64 {
        let value = libm::exp(self.high);
        if value.is_finite() { value + value * self.low } else { value }
    }

    /// Natural logarithm, to about 1e-26 relative, also near one; zero, infinity and NaN as the
    /// plain logarithm.
    ///
    /// `x = 2^k m` with `m` in `[3/4, 3/2)`, `m = (1 + r) / reciprocal` with `|r| < 1/90` exact,
    /// and `log(1 + r) = 2 atanh(r / (2 + r))`; only the first two terms of that series need both
    /// parts.
    pub(crate) fn log(self) -> Dd {
        if !(self.high > 0.0 && self.high < f64::INFINITY) {
            return Dd::from(libm::log(self.high));
        }
        let (mut exponent, mut m) = self.significand();
        if m.high >= 1.5 {
            exponent += 1;
            m = Dd { high: 0.5 * m.high, low: 0.5 * m.low };
        }
        let [reciprocal, log_high, log_low] = LOG_TABLE[(m.high * 64.0 + 0.5) as usize - 48];
        let r = m * reciprocal - Dd::ONE;
        let table = Dd { high: log_high, low: log_low };
        LN_2 * f64::from(exponent) + (table + log1p_series(r))
    }

    /// `log(1 + self)` for `self > -1`, keeping relative accuracy for small arguments.
    pub(crate) fn log1p(self) -> Dd {
        if self.high.abs() < 0.01 { log1p_series(self) } else { (Dd::ONE + self).log() }
    }

    /// Exponent and significand of a positive finite number, the latter with its high part in `[1,
    /// 2)`.
    fn significand(self) -> (i32, Dd) {
        let biased = (self.high.to_bits() >> 52) as i32;
        if (1..2046).contains(&biased) {
            // The power of two is a normal number, so both products are exact.
            let power = f64::from_bits(((2046 - biased) as u64) << 52);
            return (biased - 1023, Dd { high: self.high * power, low: self.low * power });
        }
        let (_, exponent) = libm::frexp(self.high);
        let scaled = |x| libm::scalbn(x, 1 - exponent);
        (exponent - 1, Dd { high: scaled(self.high), low: scaled(self.low) })
    }
}

/// `log(1 + r)` for `|r| < 1/64`.
fn log1p_series(r: Dd) -> Dd {
    let s = r / (r + Dd { high: 2.0, low: 0.0 });
    let square = s * s;
    let z = square.high;
    let tail = z * (1.0 / 5.0 + z * (1.0 / 7.0 + z * (1.0 / 9.0 + z * (1.0 / 11.0 + z / 13.0))));
    let third = Dd { high: 0.3333333333333333, low: 1.850371707708594e-17 };
    let correction = square * (third + Dd::from(tail));
    let twice = Dd { high: 2.0 * s.high, low: 2.0 * s.low };
    twice + twice * correction
}

/// Veltkamp's splitting into two 26-bit halves.
#[inline(always)]
fn halves(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a;
    let high = scaled - (scaled - a);
    (high, a - high)
}

impl From<f64> for Dd {
    #[inline(always)]
    fn from(high: f64) -> Dd {
        Dd { high, low: 0.0 }
    }
}

impl std::ops::Add for Dd {
    type Output = Dd;
    #[inline(always)]
    fn add(self, other: Dd) -> Dd {
        let high = Dd::sum(self.high, other.high);
        let low = Dd::sum(self.low, other.low);
        let first = Dd::quick(high.high, high.low + low.high);
        Dd::quick(first.high, first.low + low.low)
    }
}

impl std::ops::Sub for Dd {
    type Output = Dd;
    #[inline(always)]
    fn sub(self, other: Dd) -> Dd {
        self + -other
    }
}

impl std::ops::Neg for Dd {
    type Output = Dd;
    #[inline(always)]
    fn neg(self) -> Dd {
        Dd { high: -self.high, low: -self.low }
    }
}

impl std::ops::Mul for Dd {
    type Output = Dd;
    #[inline(always)]
    fn mul(self, other: Dd) -> Dd {
        let p = Dd::product(self.high, other.high);
        Dd::quick(p.high, p.low + (self.high * other.low + self.low * other.high))
    }
}

impl std::ops::Mul<f64> for Dd {
    type Output = Dd;
    #[inline(always)]
    fn mul(self, other: f64) -> Dd {
        let p = Dd::product(self.high, other);
        Dd::quick(p.high, p.low + self.low * other)
    }
}

impl std::ops::Div for Dd {
    type Output = Dd;
    #[inline(always)]
    fn div(self, other: Dd) -> Dd {
        let first = self.high / other.high;
        let rest = self - other * first;
        let second = rest.high / other.high;
        let rest = rest - other * second;
        Dd::quick(first, second) + Dd::from(rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: Dd, high: f64, low: f64) {
        let error = (got - Dd { high, low }).value();
        assert!(error.abs() <= 2e-26 * high.abs(), "{got:?} is off by {error:e}");
    }

    #[test]
    fn logarithms_carry_both_parts() {
        // mpmath at 60 digits, split into high and low parts.
        close(Dd::from(0.1).log(), -2.3025850929940455, -1.7150243628057985e-16);
        close(Dd::from(0.75).log(), -0.2876820724517809, -2.607160616442564e-17);
        close(Dd::from(0.999).log(), -0.0010005003335835344, -2.5644777003677798e-20);
        close(Dd::from(1.0000001).log(), 9.999999505838704e-08, 1.5249709528441489e-24);
        close(Dd::from(1.5).log(), 0.4054651081081644, -2.8811380259626426e-18);
        close(Dd::from(2.0).log(), std::f64::consts::LN_2, 2.3190468138462996e-17);
        close(Dd::from(12345.678).log(), 9.421061321291832, -1.9085650743481053e-16);
        close(Dd::from(5e-324).log(), -744.4400719213812, -4.422444340918698e-14);
        close(Dd::from(1e-300).log(), -690.7755278982137, -2.3670096176709832e-14);
        close(Dd::from(1e-20).log1p(), 1e-20, -5e-41);
        close(Dd::from(-0.001).log1p(), -0.0010005003335835335, -2.4776547035721437e-20);
        close(Dd::from(0.5).log1p(), 0.4054651081081644, -2.8811380259626426e-18);
    }

    #[test]
    fn products_and_quotients_undo_each_other() {
        let third = Dd::ratio(1.0, 3.0);
        assert!((third * 3.0 - Dd::ONE).value().abs() < 1e-31);
        let p = Dd::product(1.0 + f64::EPSILON, 1.0 + f64::EPSILON);
        assert_eq!((p.high, p.low), (1.0 + 2.0 * f64::EPSILON, f64::EPSILON * f64::EPSILON));
    }
}
