//! Whole slices: one call per function, in chunks of eight lanes.

use super::lanes::Simd;
use super::{
    Kernel, Level, arc, bessel, beta, error_function, exponential, gamma, hyperbolic, log_sum,
    logarithm, normal, polygamma, power, rounding, trigonometric,
};

/// A function of one vector, as a type, because a closure would lose its instructions.
trait Function {
    fn apply<S: Simd>(s: S, x: S::Vector) -> S::Vector;
}

/// Applies `F` to every number of `x`.
struct Map<'a, F> {
    x: &'a [f64],
    out: &'a mut [f64],
    function: std::marker::PhantomData<F>,
}

/// The first numbers of a vector whose other lanes are one, which no function treats specially.
#[inline(always)]
pub(super) fn partial(x: &[f64], fill: f64) -> [f64; 8] {
    let mut lanes = [fill; 8];
    for (lane, value) in lanes.iter_mut().zip(x) {
        *lane = *value;
    }
    lanes
}

impl<F: Function> Kernel for Map<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (x, x_tail) = self.x.as_chunks::<8>();
        let (out, out_tail) = self.out.as_chunks_mut::<8>();
        for (x, out) in x.iter().zip(out) {
            s.store(F::apply(s, s.load(x)), out);
        }
        if !x_tail.is_empty() {
            let y = s.to_array(F::apply(s, s.load(&partial(x_tail, 1.0))));
            for (out, y) in out_tail.iter_mut().zip(y) {
                *out = y;
            }
        }
    }
}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident, $type:ident, $source:path;)*) => {$(
        struct $type;
        impl Function for $type {
            #[inline(always)]
            fn apply<S: Simd>(s: S, x: S::Vector) -> S::Vector {
                $source(s, x)
            }
        }
        $(#[$doc])*
        ///
        /// # Panics
        /// If the slices have different lengths.
        pub fn $name(level: Level, x: &[f64], out: &mut [f64]) {
            assert_eq!(x.len(), out.len(), "one result per argument");
            level.run(Map::<$type> { x, out, function: std::marker::PhantomData });
        }
    )*};
}

#[inline(always)]
fn square_root<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    s.sqrt(x)
}

#[inline(always)]
fn reciprocal_of<S: Simd>(s: S, x: S::Vector) -> S::Vector {
    s.div(s.splat(1.0), x)
}

functions! {
    /// Exponential $e^x$ of every number; infinity above 709.78, gradual underflow to 0 at -745.13.
    exp, Exp, exponential::exp;
    /// $e^x - 1$ of every number, with relative accuracy near zero.
    expm1, Expm1, exponential::expm1;
    /// Hyperbolic tangent of every number.
    tanh, Tanh, exponential::tanh;
    /// Logistic function $1/(1+e^{-x})$ of every number.
    sigmoid, Sigmoid, exponential::sigmoid;
    /// Softplus $\log(1+e^x)$ of every number.
    softplus, Softplus, exponential::softplus;
    /// Natural logarithm of every number; -∞ at zero, NaN below.
    log, Log, logarithm::log;
    /// $\log(1+x)$ of every number; -∞ at -1, NaN below.
    log1p, Log1p, logarithm::log1p;
    /// Square root of every number, correctly rounded; NaN below zero.
    sqrt, Sqrt, square_root;
    /// $1/x$ of every number, correctly rounded.
    reciprocal, Reciprocal, reciprocal_of;
    /// Error function of every number.
    erf, Erf, error_function::erf;
    /// Complementary error function of every number, with relative accuracy to its underflow at
    /// 27.2.
    erfc, Erfc, error_function::erfc;
    /// Log of the absolute value of the gamma function of every number; fast for positive ones.
    lgamma, Lgamma, gamma::lgamma;
    /// Digamma of every number; fast for positive ones, NaN at zero and at negative integers.
    digamma, Digamma, gamma::digamma;
    /// Sine of every number, in radians; fast below 2^30.
    sin, Sin, trigonometric::sin;
    /// Cosine of every number, in radians; fast below 2^30.
    cos, Cos, trigonometric::cos;
    /// Tangent of every number, in radians; fast below 2^30.
    tan, Tan, trigonometric::tan;
    /// Arc sine of every number, in $[-\pi/2, \pi/2]$; NaN outside $[-1, 1]$.
    asin, Asin, arc::asin;
    /// Arc cosine of every number, in $[0, \pi]$; NaN outside $[-1, 1]$.
    acos, Acos, arc::acos;
    /// Arc tangent of every number, in $[-\pi/2, \pi/2]$.
    atan, Atan, arc::atan;
    /// Hyperbolic sine of every number; infinite beyond 710.4.
    sinh, Sinh, hyperbolic::sinh;
    /// Hyperbolic cosine of every number; infinite beyond 710.4.
    cosh, Cosh, hyperbolic::cosh;
    /// The largest integer that is not above, of every number.
    floor, Floor, rounding::floor;
    /// The smallest integer that is not below, of every number.
    ceil, Ceil, rounding::ceil;
    /// The nearest integer, halves away from zero, of every number.
    round, Round, rounding::round;
    /// $\log(1-e^x)$ of every number; -∞ at 0, NaN above.
    log1m_exp, Log1mExp, log_sum::log1m_exp;
    /// Trigamma of every number; fast for positive ones, infinite at zero and at negative integers.
    trigamma, Trigamma, polygamma::trigamma;
    /// Tetragamma of every number; fast for positive ones, -∞ at zero, NaN below.
    tetragamma, Tetragamma, polygamma::tetragamma;
    /// Log of the standard normal distribution function of every number, with relative accuracy in
    /// both tails.
    log_std_normal_cdf, LogStdNormalCdf, normal::log_std_normal_cdf;
    /// Standard normal quantile of every number; ∓∞ at 0 and 1, NaN outside $[0, 1]$.
    std_normal_quantile, StdNormalQuantile, normal::std_normal_quantile;
    /// $\log I_0(x)$ of every number.
    log_bessel_i0, LogBesselI0, bessel::log_bessel_i0;
    /// $I_1(x)/I_0(x)$ of every number.
    bessel_i1_i0_ratio, BesselRatio, bessel::bessel_i1_i0_ratio;
}

/// A function of two vectors.
trait Function2 {
    fn apply<S: Simd>(s: S, x: S::Vector, y: S::Vector) -> S::Vector;
}

/// Applies `F` to the numbers of `x` and `y`.
struct Map2<'a, F> {
    x: &'a [f64],
    y: &'a [f64],
    out: &'a mut [f64],
    function: std::marker::PhantomData<F>,
}

impl<F: Function2> Kernel for Map2<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (x, x_tail) = self.x.as_chunks::<8>();
        let (y, y_tail) = self.y.as_chunks::<8>();
        let (out, out_tail) = self.out.as_chunks_mut::<8>();
        for ((x, y), out) in x.iter().zip(y).zip(out) {
            s.store(F::apply(s, s.load(x), s.load(y)), out);
        }
        if !x_tail.is_empty() {
            let (x, y) = (s.load(&partial(x_tail, 1.0)), s.load(&partial(y_tail, 1.0)));
            let z = s.to_array(F::apply(s, x, y));
            out_tail.copy_from_slice(&z[..x_tail.len()]);
        }
    }
}

macro_rules! functions_of_two {
    ($($(#[$doc:meta])* $name:ident($x:ident, $y:ident), $type:ident, $source:path;)*) => {$(
        struct $type;
        impl Function2 for $type {
            #[inline(always)]
            fn apply<S: Simd>(s: S, x: S::Vector, y: S::Vector) -> S::Vector {
                $source(s, x, y)
            }
        }
        $(#[$doc])*
        ///
        /// # Panics
        /// If the slices have different lengths.
        pub fn $name(level: Level, $x: &[f64], $y: &[f64], out: &mut [f64]) {
            assert_eq!($x.len(), out.len(), "one result per first argument");
            assert_eq!($y.len(), out.len(), "one result per second argument");
            level.run(Map2::<$type> { x: $x, y: $y, out, function: std::marker::PhantomData });
        }
    )*};
}

functions_of_two! {
    /// `x[k]` to the power `y[k]`, as C99's annex F has it; fast for positive finite `x`.
    pow(x, y), Pow, power::pow;
    /// The angles of the points `(x[k], y[k])` in $[-\pi, \pi]$, as C99's annex F has them; fast
    /// for coordinates of size 1e-120 to 1e120.
    atan2(y, x), Atan2, arc::atan2;
    /// $\log(e^a+e^b)$ of every pair; the larger one where that is infinite, NaN if either is.
    log_add_exp(a, b), LogAddExp, log_sum::log_add_exp;
    /// $e^a/(e^a+e^b)$ of every pair; 0 where both are -∞.
    log_add_exp_share(a, b), LogAddExpShare, log_sum::log_add_exp_share;
    /// $\log(e^a-e^b)$ of every pair; -∞ where they are equal, NaN where $a<b$.
    log_diff_exp(a, b), LogDiffExp, log_sum::log_diff_exp;
    /// $\log B(a,b)$ of every pair; fast for arguments from 1e-290 to 1e290.
    lbeta(a, b), Lbeta, beta::lbeta;
    /// $\psi(x+h)-\psi(x)$ of every pair; fast for `x` from 1e-140 to 1e290 and `h` from 1e-140 to
    /// 1e40.
    digamma_rise(x, h), DigammaRise, gamma::digamma_rise;
}

/// Two functions of one vector that share work.
trait Pair {
    fn apply<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector);
}

/// Applies both functions of `F` to every number of `x`.
struct MapPair<'a, F> {
    x: &'a [f64],
    first: &'a mut [f64],
    second: &'a mut [f64],
    functions: std::marker::PhantomData<F>,
}

impl<F: Pair> Kernel for MapPair<'_, F> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (x, x_tail) = self.x.as_chunks::<8>();
        let (first, first_tail) = self.first.as_chunks_mut::<8>();
        let (second, second_tail) = self.second.as_chunks_mut::<8>();
        for ((x, first), second) in x.iter().zip(first).zip(second) {
            let (one, other) = F::apply(s, s.load(x));
            s.store(one, first);
            s.store(other, second);
        }
        if !x_tail.is_empty() {
            let (one, other) = F::apply(s, s.load(&partial(x_tail, 1.0)));
            first_tail.copy_from_slice(&s.to_array(one)[..x_tail.len()]);
            second_tail.copy_from_slice(&s.to_array(other)[..x_tail.len()]);
        }
    }
}

macro_rules! pairs {
    ($($(#[$doc:meta])* $name:ident($first:ident, $second:ident), $type:ident, $source:path;)*) => {$(
        struct $type;
        impl Pair for $type {
            #[inline(always)]
            fn apply<S: Simd>(s: S, x: S::Vector) -> (S::Vector, S::Vector) {
                $source(s, x)
            }
        }
        $(#[$doc])*
        ///
        /// # Panics
        /// If the slices have different lengths.
        pub fn $name(level: Level, x: &[f64], $first: &mut [f64], $second: &mut [f64]) {
            assert_eq!(x.len(), $first.len(), "one result per argument");
            assert_eq!(x.len(), $second.len(), "one result per argument");
            let functions = std::marker::PhantomData;
            level.run(MapPair::<$type> { x, first: $first, second: $second, functions });
        }
    )*};
}

pairs! {
    /// [`sigmoid`] and [`softplus`] of every number, for one exponential each.
    sigmoid_softplus(sigmoid, softplus), SigmoidSoftplus, exponential::sigmoid_softplus;
    /// [`sin`] and [`cos`] of every number, for one reduction each.
    sin_cos(sine, cosine), SinCos, trigonometric::sin_cos;
    /// [`lgamma`] and [`digamma`] of every number, for one logarithm and one division each from 6
    /// on.
    lgamma_digamma(lgamma, digamma), LgammaDigamma, gamma::lgamma_digamma;
}
