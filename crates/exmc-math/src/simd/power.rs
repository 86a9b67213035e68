//! Powers: x^y = exp(y log x) with the logarithm to about 2^-66.
//!
//! log m = 2s + s^3 (2/3 + s^2 P(s^2)) with s = (m - 1)/(m + 1) and the first two terms in two
//! parts each. Bases that are zero, negative, infinite or NaN, and NaN powers, go lane by lane to
//! the scalar function.

use super::coefficients::{LN_2, LOG_FINE, TWO_THIRDS};
use super::exponential::exp_two_parts;
use super::lanes::Simd;
use super::logarithm::{exponent_number, lift_subnormal, take_apart};

/// `x^y` as C99's annex F has it: 1 for `y = 0` and for `x = 1`, NaN for negative `x` unless `y` is
/// an integer.
#[inline(always)]
pub fn pow<S: Simd>(s: S, x: S::Vector, y: S::Vector) -> S::Vector {
    let regular = s.both(s.between(0.0, x, f64::INFINITY), s.eq(y, y));
    let z = pow_positive(s, x, y);
    if s.all(regular) {
        return z;
    }
    let (bases, powers, mut values) = (s.to_array(x), s.to_array(y), s.to_array(z));
    for ((value, base), power) in values.iter_mut().zip(bases).zip(powers) {
        if base <= 0.0 || !base.is_finite() || power.is_nan() {
            *value = crate::pow(base, power);
        }
    }
    s.load(&values)
}

/// [`pow`] for positive finite `x` and any `y` but NaN.
#[inline(always)]
fn pow_positive<S: Simd>(s: S, x: S::Vector, y: S::Vector) -> S::Vector {
    // Beyond 2^66 every base but one has overflowed or vanished.
    let limit = 73786976294838206464.0;
    let y = s.max(s.splat(-limit), s.min(s.splat(limit), y));
    let (high, low) = log_fine(s, x);
    let product = s.mul(y, high);
    let rest = s.fma(y, low, s.fma(y, high, s.neg(product)));
    // Where the product is cut its rest has no meaning.
    let inside = s.lt(s.abs(product), s.splat(1000.0));
    let rest = s.select(inside, rest, s.splat(0.0));
    exp_two_parts(s, s.max(s.splat(-1000.0), s.min(s.splat(1000.0), product)), rest)
}

/// `log x` in two parts with a relative error of about 2^-65, for positive finite `x`.
#[inline(always)]
fn log_fine<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
    let (one, two) = (s.splat(1.0), s.splat(2.0));
    let (lifted, lift) = lift_subnormal(s, x);
    let (biased, m) = take_apart(s, lifted);
    let k = s.sub(exponent_number(s, biased), lift);

    // s = f / (m + 1) in two parts; the rest is divided by m + 1 = 2 / (1 - s).
    let f = s.sub(m, one);
    let below = s.add(m, one);
    let below_low = s.sub(m, s.sub(below, one));
    let ratio = s.div(f, below);
    let rest = s.fnma(ratio, below_low, s.fnma(ratio, below, f));
    let ratio_low = s.mul(rest, s.fnma(ratio, s.splat(0.5), s.splat(0.5)));
    // z = s^2.
    let z = s.mul(ratio, ratio);
    let z_low = s.fma(s.add(ratio, ratio), ratio_low, s.fma(ratio, ratio, s.neg(z)));
    // a = 2/3 + z P(z).
    let series = s.mul(z, s.polynomial(z, &LOG_FINE));
    let a = s.add(s.splat(TWO_THIRDS[0]), series);
    let a_low = s.add(s.sub(s.splat(TWO_THIRDS[0]), a), series);
    let a_low = s.add(a_low, s.splat(TWO_THIRDS[1]));
    // d = 2 + z a.
    let b = s.mul(z, a);
    let b_low = s.fma(z, a, s.neg(b));
    let b_low = s.fma(z, a_low, s.fma(z_low, a, b_low));
    let d = s.add(two, b);
    let d_low = s.add(s.add(s.sub(two, d), b), b_low);
    // log m = s d.
    let high = s.mul(ratio, d);
    let low = s.fma(ratio, d, s.neg(high));
    let low = s.fma(ratio, d_low, s.fma(ratio_low, d, low));
    // k log 2 joins by a fast two-sum: it is the larger one unless k is zero.
    let power = s.mul(k, s.splat(LN_2[0]));
    let total = s.add(power, high);
    let total_low = s.add(s.add(s.sub(power, total), high), low);
    (total, s.fma(k, s.splat(LN_2[1]), total_low))
}
