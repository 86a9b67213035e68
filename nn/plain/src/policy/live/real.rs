//! Numbers of the live pass: `f32` to play, `f64` to check the same code without rounding.
//!
//! Nothing here depends on the platform or on the processor's instructions: products and sums are
//! rounded one by one, so every processor gives the same bits.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A number type of the live pass.
pub trait Real:
    Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + std::fmt::Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + 'static
{
    /// 1.
    const ONE: Self;
    /// Less than all others.
    const LOWEST: Self;
    /// From a weight or a feature.
    fn of(x: f32) -> Self;
    /// From a number of 64 bits, rounded.
    fn rounded(x: f64) -> Self;
    /// To 64 bits.
    fn wide(self) -> f64;
    /// $e^x$.
    fn exp(self) -> Self;
    /// The square root.
    fn root(self) -> Self;
    /// $\log(1 + e^x)$.
    fn softplus(self) -> Self;

    /// $\max(x, 0)$.
    #[inline(always)]
    fn relu(self) -> Self {
        if self > Self::default() { self } else { Self::default() }
    }

    /// $1/(1 + e^{-x})$.
    #[inline(always)]
    fn sigmoid(self) -> Self {
        Self::ONE / (Self::ONE + (-self).exp())
    }

    /// $\tanh x = 2\sigma(2x) - 1$, with an absolute error of a rounding of 1.
    #[inline(always)]
    fn tanh(self) -> Self {
        let two = Self::ONE + Self::ONE;
        Self::ONE - two / ((self * two).exp() + Self::ONE)
    }
}

impl Real for f64 {
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;

    fn of(x: f32) -> Self {
        x.into()
    }

    fn rounded(x: f64) -> Self {
        x
    }

    fn wide(self) -> f64 {
        self
    }

    fn exp(self) -> Self {
        libm::exp(self)
    }

    fn root(self) -> Self {
        self.sqrt()
    }

    fn softplus(self) -> Self {
        self.max(0.0) + libm::log1p(libm::exp(-self.abs()))
    }
}

/// 1.5 times 2^23: adding it rounds a small number to an integer, which is in the lowest bits.
const ROUNDER: f32 = 12_582_912.0;
/// ln 2 in two parts (Cody and Waite 1980): the first has so few bits that whole multiples of it
/// are exact, the second is the rest.
const LN_2_HIGH: f32 = 355.0 / 512.0;
const LN_2_LOW: f32 = (std::f64::consts::LN_2 - 355.0 / 512.0) as f32;

impl Real for f32 {
    const ONE: Self = 1.0;
    const LOWEST: Self = Self::NEG_INFINITY;

    #[inline(always)]
    fn of(x: f32) -> Self {
        x
    }

    #[inline(always)]
    fn rounded(x: f64) -> Self {
        x as f32
    }

    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }

    /// Without branches, so that loops over it become vector instructions. The result is between
    /// the exponentials of -87 and 88.
    ///
    /// $e^x = 2^k e^r$ with $|r| \le \tfrac12\ln 2$ and Taylor's series up to $r^7$, whose rest is
    /// below 2^-27.
    #[inline(always)]
    fn exp(self) -> Self {
        let x = self.clamp(-87.0, 88.0);
        let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
        let k = shifted - ROUNDER;
        let r = (x - k * LN_2_HIGH) - k * LN_2_LOW;
        let mut series: f32 = 1.0 / 5040.0;
        for coefficient in [1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5] {
            series = series * r + coefficient;
        }
        let fraction = (series * r) * r + r + 1.0;
        // The exponent's bits of 2^k; the bits of `ROUNDER` are shifted out.
        fraction * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
    }

    #[inline(always)]
    fn root(self) -> Self {
        self.sqrt()
    }

    /// Without branches. $\log(1 + y) = 2\operatorname{artanh} z$ with $z = y / (2 + y) \le
    /// \tfrac13$; the series up to $z^{15}$ leaves a share below 2^-29.
    #[inline(always)]
    fn softplus(self) -> Self {
        let y = Real::exp(-self.abs());
        let z = y / (2.0 + y);
        let square = z * z;
        let mut series: f32 = 1.0 / 15.0;
        for divisor in [13.0_f32, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
            series = series * square + 1.0 / divisor;
        }
        Real::relu(self) + 2.0 * z * series
    }
}

#[cfg(test)]
mod tests {
    use super::Real;

    #[test]
    fn exponentials_are_within_two_roundings() {
        let mut worst: f64 = 0.0;
        for k in -80_000..80_000 {
            let x = k as f32 * 1e-3;
            let exact = libm::exp(f64::from(x));
            worst = worst.max((f64::from(Real::exp(x)) / exact - 1.0).abs());
        }
        assert!(worst < f64::from(f32::EPSILON), "{worst}");
        assert_eq!(Real::exp(0.0_f32), 1.0);
        assert!(Real::exp(f32::NAN).is_nan());
        assert!(Real::exp(f32::INFINITY) > 1e38 && Real::exp(f32::NEG_INFINITY) < 1e-37);
    }

    #[test]
    fn sigmoids_and_tangents_are_within_roundings_of_one() {
        for k in -20_000..20_000 {
            let x = k as f32 * 1e-3;
            let wide = f64::from(x);
            assert!((f64::from(Real::tanh(x)) - libm::tanh(wide)).abs() < 2e-7, "tanh {x}");
            let sigmoid = 1.0 / (1.0 + libm::exp(-wide));
            assert!((f64::from(Real::sigmoid(x)) - sigmoid).abs() < 1e-7, "sigmoid {x}");
            let softplus = wide.max(0.0) + libm::log1p(libm::exp(-wide.abs()));
            let share = (f64::from(Real::softplus(x)) / softplus - 1.0).abs();
            assert!(share < 4e-7, "softplus {x}: {share}");
        }
    }
}
