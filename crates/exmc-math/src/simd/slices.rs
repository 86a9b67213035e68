//! Whole slices: one call per function, in chunks of eight lanes.

use super::lanes::Simd;
use super::{Kernel, Level, error_function, exponential, gamma, logarithm, power, trigonometric};

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
    /// Complementary error function of every number, with relative accuracy to its underflow at 27.2.
    erfc, Erfc, error_function::erfc;
    /// Log of the absolute value of the gamma function of every number; fast for positive ones.
    lgamma, Lgamma, gamma::lgamma;
    /// Digamma of every number; fast for positive ones, NaN at zero and at negative integers.
    digamma, Digamma, gamma::digamma;
    /// Sine of every number, in radians; fast below 2^30.
    sin, Sin, trigonometric::sin;
    /// Cosine of every number, in radians; fast below 2^30.
    cos, Cos, trigonometric::cos;
}

/// [`sigmoid`] and [`softplus`] of every number, for one exponential each.
///
/// # Panics
/// If the slices have different lengths.
pub fn sigmoid_softplus(level: Level, x: &[f64], sigmoid: &mut [f64], softplus: &mut [f64]) {
    assert_eq!(x.len(), sigmoid.len(), "one result per argument");
    assert_eq!(x.len(), softplus.len(), "one result per argument");
    level.run(SigmoidSoftplus { x, sigmoid, softplus });
}

struct SigmoidSoftplus<'a> {
    x: &'a [f64],
    sigmoid: &'a mut [f64],
    softplus: &'a mut [f64],
}

impl Kernel for SigmoidSoftplus<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (x, x_tail) = self.x.as_chunks::<8>();
        let (first, first_tail) = self.sigmoid.as_chunks_mut::<8>();
        let (second, second_tail) = self.softplus.as_chunks_mut::<8>();
        for ((x, first), second) in x.iter().zip(first).zip(second) {
            let (sigmoid, softplus) = exponential::sigmoid_softplus(s, s.load(x));
            s.store(sigmoid, first);
            s.store(softplus, second);
        }
        let (sigmoid, softplus) = exponential::sigmoid_softplus(s, s.load(&partial(x_tail, 1.0)));
        let (sigmoid, softplus) = (s.to_array(sigmoid), s.to_array(softplus));
        first_tail.copy_from_slice(&sigmoid[..x_tail.len()]);
        second_tail.copy_from_slice(&softplus[..x_tail.len()]);
    }
}

/// `x[k]` to the power `y[k]`, as C99's annex F has it; fast for positive finite `x`.
///
/// # Panics
/// If the slices have different lengths.
pub fn pow(level: Level, x: &[f64], y: &[f64], out: &mut [f64]) {
    assert_eq!(x.len(), out.len(), "one result per base");
    assert_eq!(y.len(), out.len(), "one result per power");
    level.run(Pow { x, y, out });
}

struct Pow<'a> {
    x: &'a [f64],
    y: &'a [f64],
    out: &'a mut [f64],
}

impl Kernel for Pow<'_> {
    type Output = ();
    #[inline(always)]
    fn run<S: Simd>(self, s: S) {
        let (x, x_tail) = self.x.as_chunks::<8>();
        let (y, y_tail) = self.y.as_chunks::<8>();
        let (out, out_tail) = self.out.as_chunks_mut::<8>();
        for ((x, y), out) in x.iter().zip(y).zip(out) {
            s.store(power::pow(s, s.load(x), s.load(y)), out);
        }
        let (x, y) = (s.load(&partial(x_tail, 1.0)), s.load(&partial(y_tail, 1.0)));
        let z = s.to_array(power::pow(s, x, y));
        out_tail.copy_from_slice(&z[..x_tail.len()]);
    }
}
