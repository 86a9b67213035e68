//! Skew normal distribution: location, scale and shape (0 is the normal).

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, LN_2};

use exmc_graph::{Graph, NodeId, Tensor};
use exmc_math::hypot;
use exmc_math::random::ChainRng;

use super::normal::standardise;
use super::tails::{REAL_LINE, lower_tail, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// $\tfrac12\log(\pi/2)$
const HALF_LOG_HALF_PI: f64 = 0.225_791_352_644_727_43;
/// $\log\pi$
const LOG_PI: f64 = 1.144_729_885_849_400_2;

/// SkewNormal(xi, omega, alpha).
#[derive(Debug)]
pub(crate) struct SkewNormal;

impl Distribution for SkewNormal {
    fn name(&self) -> &'static str {
        "skew_normal"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("xi", Support::Real).or(&["mu", "loc"]),
            Parameter::new("omega", Support::Positive).or(&["sigma", "scale"]),
            Parameter::new("alpha", Support::Real).or(&["shape"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    /// $-\tfrac12 z^2 + \log\Phi(\alpha z) - \log\omega - \tfrac12\log(\pi/2)$ with $z =
    /// (y-\xi)/\omega$.
    ///
    /// **Numerics**: the log of the normal distribution function as one operation, exact in the
    /// thin tail. **Reference**: Azzalini 1985.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[xi, omega, alpha] = args else { unreachable!("three parameters") };
        let z = standardise(g, y, xi, omega);
        let square = g.square(z);
        let half = g.scale(square, -0.5);
        let skewed = g.mul(alpha, z);
        let log_skew = g.log_normal_cdf(skewed);
        let kernel = g.add(half, log_skew);
        let log_omega = g.log(omega);
        let normaliser = g.shift(log_omega, HALF_LOG_HALF_PI);
        g.sub(kernel, normaliser)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[xi, omega, alpha] = args else { unreachable!("three parameters") };
        Some(lower_tail(g, y, REAL_LINE, xi, |g, y| {
            let z = standardise(g, y, xi, omega);
            log_cdf(g, z, alpha)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[xi, omega, alpha] = args else { unreachable!("three parameters") };
        Some(upper_tail(g, y, REAL_LINE, xi, |g, y| {
            let z = standardise(g, y, xi, omega);
            let (z, alpha) = (g.neg(z), g.neg(alpha));
            log_cdf(g, z, alpha)
        }))
    }

    /// $\delta|u| + \sqrt{1-\delta^2}\,v$ for standard normals u and v, with $\delta =
    /// \alpha/\sqrt{1+\alpha^2}$.
    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let (xi, omega, alpha) = (args[0][0], args[1][0], args[2][0]);
        let length = hypot(1.0, alpha);
        let half = rng.standard_normal().abs();
        let normal = rng.standard_normal();
        out[0] = xi + omega * (alpha / length * half + normal / length);
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let &[xi, omega, alpha] = args else { unreachable!("three parameters") };
        let delta = alpha / hypot(1.0, alpha);
        let mean = xi + omega * delta * FRAC_2_PI.sqrt();
        Some((mean, omega * omega * (1.0 - FRAC_2_PI * delta * delta)))
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: Some(0), scale: 1 })
    }
}

/// The log distribution function with location 0 and scale 1: the left tail, or the complement of
/// the mirrored right one.
fn log_cdf(g: &mut Graph, z: NodeId, alpha: NodeId) -> NodeId {
    let zero = g.scalar(0.0);
    let is_right = g.lt(zero, z);
    let mirrored = g.neg(z);
    let distance = g.select(is_right, z, mirrored);
    let mirrored = g.neg(alpha);
    let alpha = g.select(is_right, mirrored, alpha);
    let tail = log_left_tail(g, distance, alpha);
    let complement = g.log1m_exp(tail);
    g.select(is_right, complement, tail)
}

/// $\log F(-h)$ for $h \ge 0$.
///
/// **Numerics**: $F(-h) = \Phi(-h) - 2T(h,\alpha)$ with Owen's T, which cancels when $c = \alpha h$
/// is large. So, with errors of $10^{-11}$ at most where they are not stated:
/// - $c > 4$: quadrature of what is left, [`log_thin_tail`];
/// - $h > 37$, where $\Phi(-h)$ underflows: $\log 2\Phi(-h)\Phi(-c)$, its limit, with an error
///   below $1/h^2$;
/// - $\alpha > 1$: $2T(c, 1/\alpha) - \Phi(-c)\operatorname{erf}(h/\sqrt2)$, the same by a
///   reflection of T.
fn log_left_tail(g: &mut Graph, distance: NodeId, alpha: NodeId) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let skewed = g.mul(alpha, distance);
    let limit = g.scalar(4.0);
    let is_thin = g.lt(limit, skewed);
    let limit = g.scalar(37.0);
    let is_deep = g.lt(limit, distance);
    let is_special = g.or(is_thin, is_deep);
    let is_steep = g.lt(one, alpha);

    let thin_distance = g.select(is_thin, distance, one);
    let eight = g.scalar(8.0);
    let thin_alpha = g.select(is_thin, alpha, eight);
    let thin = log_thin_tail(g, thin_distance, thin_alpha);

    let (mirrored_h, mirrored_c) = (g.neg(distance), g.neg(skewed));
    let tail_h = g.log_normal_cdf(mirrored_h);
    let tail_c = g.log_normal_cdf(mirrored_c);
    let deep = g.add(tail_h, tail_c);
    let deep = g.shift(deep, LN_2);

    let h = g.select(is_special, one, distance);
    let shape = g.select(is_special, zero, alpha);
    let scaled = g.scale(h, FRAC_1_SQRT_2);
    let tail = g.erfc(scaled);
    let tail = g.scale(tail, 0.5);
    let flat_shape = g.min(shape, one);
    let owen = g.owens_t(h, flat_shape);
    let owen = g.scale(owen, 2.0);
    let flat = g.sub(tail, owen);

    let steep_shape = g.max(shape, one);
    let c = g.mul(steep_shape, h);
    let inverse = g.reciprocal(steep_shape);
    let owen = g.owens_t(c, inverse);
    let owen = g.scale(owen, 2.0);
    let scaled_c = g.scale(c, FRAC_1_SQRT_2);
    let tail = g.erfc(scaled_c);
    let tail = g.scale(tail, 0.5);
    let central = g.erf(scaled);
    let product = g.mul(tail, central);
    let steep = g.sub(owen, product);
    let steep = g.select(is_steep, steep, one);

    let plain = g.select(is_steep, steep, flat);
    let plain = g.log(plain);
    let special = g.select(is_thin, thin, deep);
    g.select(is_special, special, plain)
}

/// $\log F(-h)$ for $\alpha h > 4$.
///
/// **Numerics**: $F(-h) = \tfrac1\pi\int_\alpha^\infty e^{-h^2(1+x^2)/2}/(1+x^2)\,dx$, which with
/// $x^2 = \alpha^2 + 2v/h^2$ is $e^{-h^2(1+\alpha^2)/2}/(\pi h^2)\int_0^\infty
/// e^{-v}/(x(1+x^2))\,dv$: a positive integrand, smooth on the scale of v, for which 16 nodes of
/// Gauss and Laguerre reach $10^{-14}$.
fn log_thin_tail(g: &mut Graph, distance: NodeId, alpha: NodeId) -> NodeId {
    let shape = g.shape(distance).broadcast(g.shape(alpha)).expect("both broadcast with z");
    let column = shape.join(&[1]);
    let h2 = g.square(distance);
    let a2 = g.square(alpha);
    let [h2, a2] = [h2, a2].map(|x| g.broadcast_to(x, &shape));
    let [h2_column, a2_column] = [h2, a2].map(|x| g.reshape(x, column.clone()));
    let [nodes, log_weights] =
        [0, 1].map(|k| g.constant(Tensor::vector(&LAGUERRE.map(|pair| pair[k]))));
    let double = g.scale(nodes, 2.0);
    let step = g.div(double, h2_column);
    let x2 = g.add(a2_column, step);
    let log_x2 = g.log(x2);
    let log_x = g.scale(log_x2, 0.5);
    let log_rest = g.log1p(x2);
    let term = g.sub(log_weights, log_x);
    let term = g.sub(term, log_rest);
    let log_integral = g.log_sum_exp(term, shape.rank());

    let exponent = g.shift(a2, 1.0);
    let exponent = g.mul(exponent, h2);
    let exponent = g.scale(exponent, 0.5);
    let log_h2 = g.log(h2);
    let cost = g.add(exponent, log_h2);
    let cost = g.shift(cost, LOG_PI);
    g.sub(log_integral, cost)
}

/// Nodes and log weights of the 16-point Gauss-Laguerre rule: the roots v of $L_{16}$ and
/// $\log v - 2\log(17 L_{17}(v))$.
const LAGUERRE: [[f64; 2]; 16] = [
    [0.087_649_410_478_927_84, -1.579_142_900_883_471_6],
    [0.462_696_328_915_080_83, -1.105_462_130_507_530_5],
    [1.141_057_774_831_227, -1.325_027_018_291_116],
    [2.129_283_645_098_380_5, -1.992_919_432_855_588_8],
    [3.437_086_633_893_206_7, -3.050_633_570_136_859_4],
    [5.078_018_614_549_768, -4.482_961_395_750_773],
    [7.070_338_535_048_234, -6.293_071_958_721_366],
    [9.438_314_336_391_938, -8.496_058_533_489_06],
    [12.214_223_368_866_16, -11.117_875_279_439_85],
    [15.441_527_368_781_617, -14.197_017_079_270_967],
    [19.180_156_856_753_136, -17.788_863_987_405_06],
    [23.515_905_693_991_908, -21.974_207_879_293_694],
    [28.578_729_742_882_14, -26.876_271_423_266_72],
    [34.583_398_702_286_62, -32.698_549_511_604_44],
    [41.940_452_647_688_33, -39.827_049_633_017_45],
    [51.701_160_339_543_32, -49.231_005_502_028_87],
];
