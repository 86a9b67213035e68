//! Elementary functions: thin names over one vendored source, so that their bits agree on all
//! platforms.
//!
//! Errors against 50-digit values over the tables in `tests/data` are at most 2.2e-16 relative,
//! that is 1 ulp or a little more; the test asserts 4 ulp. Edges follow IEEE 754 and C99 annex F:
//! NaN in gives NaN, arguments outside the domain give NaN, poles give infinities, `pow(x, 0)`
//! is 1. **Reference**: musl libc (FreeBSD msun) through the `libm` crate.

macro_rules! elementary {
    ($($(#[$doc:meta])* $name:ident($($x:ident),+) = $source:path, $example:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// ```
        #[doc = concat!("# use exmc_math::", stringify!($name), ";")]
        #[doc = concat!("assert!(", $example, ");")]
        /// ```
        #[inline]
        pub fn $name($($x: f64),+) -> f64 { $source($($x),+) }
    )*};
}

elementary! {
    /// Exponential $e^x$; overflows to infinity above 709.78, underflows to 0 below -745.13.
    exp(x) = libm::exp, "exp(0.0) == 1.0";
    /// $e^x - 1$, accurate near zero.
    expm1(x) = libm::expm1, "expm1(1e-20) == 1e-20";
    /// $2^x$.
    exp2(x) = libm::exp2, "exp2(10.0) == 1024.0";
    /// Natural logarithm; `-inf` at zero, NaN below.
    log(x) = libm::log, "log(1.0) == 0.0";
    /// $\log(1 + x)$, accurate near zero; `-inf` at -1, NaN below.
    log1p(x) = libm::log1p, "log1p(1e-20) == 1e-20";
    /// Logarithm to base two.
    log2(x) = libm::log2, "log2(8.0) == 3.0";
    /// Logarithm to base ten.
    log10(x) = libm::log10, "log10(1000.0) == 3.0";
    /// Sine of an angle in radians; the range reduction is exact for all arguments.
    sin(x) = libm::sin, "sin(0.0) == 0.0";
    /// Cosine of an angle in radians.
    cos(x) = libm::cos, "cos(0.0) == 1.0";
    /// Tangent of an angle in radians.
    tan(x) = libm::tan, "tan(0.0) == 0.0";
    /// Arc sine in $[-\pi/2, \pi/2]$; NaN outside $[-1, 1]$.
    asin(x) = libm::asin, "asin(1.0) == std::f64::consts::FRAC_PI_2";
    /// Arc cosine in $[0, \pi]$; NaN outside $[-1, 1]$.
    acos(x) = libm::acos, "acos(1.0) == 0.0";
    /// Arc tangent in $[-\pi/2, \pi/2]$.
    atan(x) = libm::atan, "atan(f64::INFINITY) == std::f64::consts::FRAC_PI_2";
    /// Angle of the point `(x, y)` in $[-\pi, \pi]$; the first argument is `y`.
    atan2(y, x) = libm::atan2, "atan2(1.0, 0.0) == std::f64::consts::FRAC_PI_2";
    /// Hyperbolic sine.
    sinh(x) = libm::sinh, "sinh(0.0) == 0.0";
    /// Hyperbolic cosine.
    cosh(x) = libm::cosh, "cosh(0.0) == 1.0";
    /// Hyperbolic tangent.
    tanh(x) = libm::tanh, "tanh(f64::INFINITY) == 1.0";
    /// Inverse hyperbolic sine.
    asinh(x) = libm::asinh, "asinh(0.0) == 0.0";
    /// Inverse hyperbolic cosine; NaN below one.
    acosh(x) = libm::acosh, "acosh(1.0) == 0.0";
    /// Inverse hyperbolic tangent; infinite at ±1, NaN beyond.
    atanh(x) = libm::atanh, "atanh(1.0) == f64::INFINITY";
    /// $x^y$; NaN for negative `x` with a fractional `y`.
    pow(x, y) = libm::pow, "pow(2.0, -1.0) == 0.5";
    /// What is left of `x` after `y` was taken from it a whole number of times, exactly; it has the
    /// sign of `x` and is `x` for infinite `y`. NaN for infinite `x` and for `y` zero.
    fmod(x, y) = libm::fmod, "fmod(1e17, 3.0) == 1.0";
    /// Cube root.
    cbrt(x) = libm::cbrt, "cbrt(-27.0) == -3.0";
    /// $\sqrt{x^2 + y^2}$ without overflow.
    hypot(x, y) = libm::hypot, "hypot(3e300, 4e300) == 5e300";
}
