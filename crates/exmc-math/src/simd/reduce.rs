//! Slices to one number, in one fixed order: number k belongs to lane k mod 8, and the lanes are
//! added as `((0+4)+(2+6)) + ((1+5)+(3+7))`.
//!
//! `sum` and `dot` (products rounded, not fused) have the bits of the scalar reference in
//! `exmc-graph`; `max` too.

use super::coefficients::LN_2;
use super::exponential;
use super::lanes::Simd;
use super::logarithm::{lift_subnormal, log, take_apart};
use super::slices::partial;
use super::{Kernel, Level};

/// The sum of a slice; 0 for none.
pub fn sum(level: Level, x: &[f64]) -> f64 {
    level.run(Sum(x))
}

struct Sum<'a>(&'a [f64]);

impl Kernel for Sum<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let (chunks, tail) = self.0.as_chunks::<8>();
        let mut lanes = s.splat(0.0);
        for x in chunks {
            lanes = s.add(lanes, s.load(x));
        }
        // Lanes are never -0, so the zeros that fill up change nothing.
        s.total(s.add(lanes, s.load(&partial(tail, 0.0))))
    }
}

/// The dot product of two slices; 0 for none.
///
/// # Panics
/// If the slices have different lengths.
pub fn dot(level: Level, a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len(), "one factor for each");
    level.run(Dot(a, b))
}

struct Dot<'a>(&'a [f64], &'a [f64]);

impl Kernel for Dot<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let (a, a_tail) = self.0.as_chunks::<8>();
        let (b, b_tail) = self.1.as_chunks::<8>();
        let mut lanes = s.splat(0.0);
        for (a, b) in a.iter().zip(b) {
            lanes = s.add(lanes, s.mul(s.load(a), s.load(b)));
        }
        let (a, b) = (s.load(&partial(a_tail, 0.0)), s.load(&partial(b_tail, 0.0)));
        s.total(s.add(lanes, s.mul(a, b)))
    }
}

/// The largest number of a slice: the first of equal ones, NaN if one is NaN, -∞ for none.
pub fn max(level: Level, x: &[f64]) -> f64 {
    let largest = level.run(Max(x));
    if largest == 0.0 {
        // Zeros of both signs are equal; the first counts.
        return x.iter().copied().find(|&v| v == 0.0).unwrap_or(largest);
    }
    largest
}

struct Max<'a>(&'a [f64]);

impl Kernel for Max<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let (chunks, tail) = self.0.as_chunks::<8>();
        let mut lanes = s.load(&partial(tail, f64::NEG_INFINITY));
        let mut numbers = s.eq(lanes, lanes);
        for x in chunks {
            let x = s.load(x);
            numbers = s.both(numbers, s.eq(x, x));
            lanes = s.max(lanes, x);
        }
        if !s.all(numbers) {
            return f64::NAN;
        }
        let mut largest = f64::NEG_INFINITY;
        for x in s.to_array(lanes) {
            largest = if x > largest { x } else { largest };
        }
        largest
    }
}

/// $\log\sum_k e^{x_k}$; -∞ for none, the largest number where that is not finite.
///
/// **Numerics**: the (first) largest term is one exactly and `log1p` adds it, so that small other
/// terms count.
pub fn log_sum_exp(level: Level, x: &[f64]) -> f64 {
    let largest = max(level, x);
    if !largest.is_finite() {
        return largest;
    }
    let others = level.run(SumExp { x, largest });
    largest + crate::log1p(others)
}

/// The sum of `exp(x - largest)`, leaving out the first number that is `largest`.
struct SumExp<'a> {
    x: &'a [f64],
    largest: f64,
}

impl Kernel for SumExp<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let (chunks, tail) = self.x.as_chunks::<8>();
        let largest = s.splat(self.largest);
        let mut lanes = s.splat(0.0);
        let mut found = false;
        for x in chunks {
            let mut x = s.load(x);
            if !found && s.any(s.eq(x, largest)) {
                x = s.load(&without_first(s.to_array(x), self.largest));
                found = true;
            }
            lanes = s.add(lanes, exponential::exp(s, s.sub(x, largest)));
        }
        let mut tail = partial(tail, f64::NEG_INFINITY);
        if !found {
            tail = without_first(tail, self.largest);
        }
        s.total(s.add(lanes, exponential::exp(s, s.sub(s.load(&tail), largest))))
    }
}

/// Replaces the first number that equals `value` by -∞, whose exponential is zero.
fn without_first(mut x: [f64; 8], value: f64) -> [f64; 8] {
    for x in &mut x {
        if *x == value {
            *x = f64::NEG_INFINITY;
            break;
        }
    }
    x
}

/// $\sum_k \log x_k$; 0 for none.
///
/// **Edges**: as the sum of the logarithms has them: -∞ if a number is zero, ∞ if one is infinite,
/// NaN for both or for a negative number. **Numerics**: see [`LogProduct`].
pub fn sum_log(level: Level, x: &[f64]) -> f64 {
    level.run(SumLog(x))
}

struct SumLog<'a>(&'a [f64]);

impl Kernel for SumLog<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<S: Simd>(self, s: S) -> f64 {
        let (chunks, tail) = self.0.as_chunks::<8>();
        let mut product = LogProduct::new(s);
        for x in chunks {
            product.multiply(s, s.load(x));
        }
        if !tail.is_empty() {
            product.multiply(s, s.load(&partial(tail, 1.0)));
        }
        product.finish(s)
    }
}

/// A sum of logarithms as the logarithm of a product: significands are multiplied, exponents added.
///
/// One logarithm in the end serves all numbers. The error is that of a product: half an ulp of
/// *one* for each factor, whatever the logarithms' size, so mostly less than a sum of rounded
/// logarithms has.
#[derive(Clone, Copy, Debug)]
pub struct LogProduct<S: Simd> {
    /// The product of significands, within `2^(steps / 2)` of one.
    product: S::Vector,
    /// The sum of biased exponents.
    exponent: S::Bits,
    /// The product of the numbers that are no positive numbers, each as 0, ∞ or NaN.
    special: S::Vector,
    /// Factors since the product was last brought back to one.
    steps: u32,
    /// Biased exponents in `exponent`.
    terms: u64,
}

/// How many factors in `[sqrt(1/2), sqrt 2]` the product takes before its own exponent goes to the
/// sum.
const MAX_STEPS: u32 = 1024;

impl<S: Simd> LogProduct<S> {
    /// The empty product.
    #[inline(always)]
    pub fn new(s: S) -> Self {
        let one = s.splat(1.0);
        LogProduct { product: one, exponent: s.splat_bits(0), special: one, steps: 0, terms: 0 }
    }

    /// Adds the logarithms of eight numbers, one to each lane.
    #[inline(always)]
    pub fn multiply(&mut self, s: S, x: S::Vector) {
        let normal = s.both(s.le(s.splat(f64::MIN_POSITIVE), x), s.lt(x, s.splat(f64::INFINITY)));
        let (biased, m) = if s.all(normal) { take_apart(s, x) } else { self.take_apart_any(s, x) };
        self.product = s.mul(self.product, m);
        self.exponent = s.add_bits(self.exponent, biased);
        self.terms += 1;
        self.steps += 1;
        if self.steps == MAX_STEPS {
            self.normalise(s);
        }
    }

    /// [`take_apart`] for all numbers; those that have no logarithm go to `special` and count as
    /// one.
    #[inline(always)]
    fn take_apart_any(&mut self, s: S, x: S::Vector) -> (S::Bits, S::Vector) {
        let (zero, one, infinity) = (s.splat(0.0), s.splat(1.0), s.splat(f64::INFINITY));
        let regular = s.between(0.0, x, f64::INFINITY);
        let pole = s.select(s.eq(x, zero), zero, s.splat(f64::NAN));
        let special = s.select(s.eq(x, infinity), infinity, pole);
        self.special = s.mul(self.special, s.select(regular, one, special));
        let (lifted, lift) = lift_subnormal(s, s.select(regular, x, one));
        let (biased, m) = take_apart(s, lifted);
        // The lift is 0 or 54; added to 2^52 it stands in the low bits.
        let base = s.splat(4503599627370496.0);
        let lift = s.sub_bits(s.to_bits(s.add(base, lift)), s.to_bits(base));
        (s.sub_bits(biased, lift), m)
    }

    /// Moves the product's exponent to the sum.
    #[inline(always)]
    fn normalise(&mut self, s: S) {
        let (biased, m) = take_apart(s, self.product);
        self.product = m;
        self.exponent = s.add_bits(self.exponent, biased);
        self.terms += 1;
        self.steps = 0;
    }

    /// The sum of all logarithms.
    #[inline(always)]
    pub fn finish(mut self, s: S) -> f64 {
        self.normalise(s);
        let mut exponent = 0;
        for bits in s.to_array(s.with_bits(self.exponent)) {
            exponent += bits.to_bits().cast_signed();
        }
        exponent -= 8 * 1023 * self.terms.cast_signed();
        let exponent = exponent as f64;
        let sum = s.total(log(s, self.product)) + exponent * LN_2[1];
        let sum = exponent * LN_2[0] + sum;
        if s.all(s.eq(self.special, s.splat(1.0))) {
            return sum;
        }
        sum + s.total(log(s, self.special))
    }
}
