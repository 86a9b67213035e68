//! Von Mises distribution of an angle: mean direction and concentration.

use std::f64::consts::PI;

use exmc_graph::{Graph, NodeId};
use exmc_math::random::{ChainRng, draws};

use super::{Distribution, Parameter};
use crate::support::Support;

/// $\log 2\pi$
const LOG_TWO_PI: f64 = 1.837_877_066_409_345_5;

/// VonMises(mu, kappa).
#[derive(Debug)]
pub(crate) struct VonMises;

impl Distribution for VonMises {
    fn name(&self) -> &'static str {
        "von_mises"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc"]),
            Parameter::new("kappa", Support::NonNegative).or(&["concentration"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Circle
    }

    /// $-2\kappa\sin^2\tfrac{y-\mu}2 - \log(e^{-\kappa}I_0(\kappa)) - \log 2\pi$, which is
    /// $\kappa\cos(y-\mu) - \log I_0(\kappa) - \log 2\pi$ without its cancellation.
    ///
    /// **Edges**: `kappa = 0` is uniform on the circle. There is no closed form of the distribution
    /// function. **Reference**: Mardia and Jupp 2000, section 3.5.4.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, kappa] = args else { unreachable!("two parameters") };
        let turn = g.sub(y, mu);
        let half_turn = g.scale(turn, 0.5);
        let sine = g.sin(half_turn);
        let square = g.square(sine);
        let weight = g.scale(kappa, -2.0);
        let kernel = g.mul(weight, square);
        let log_bessel = log_scaled_bessel_i0(g, kappa);
        let normaliser = g.shift(log_bessel, LOG_TWO_PI);
        g.sub(kernel, normaliser)
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let angle = args[0][0] + draws::von_mises(rng, args[1][0]);
        let wrapped = angle - 2.0 * PI * (angle / (2.0 * PI)).round();
        out[0] = wrapped.clamp(-PI, PI);
    }
}

/// $\log(e^{-\kappa} I_0(\kappa))$.
///
/// **Numerics**: from 1000 on by the first terms of Hankel's expansion (relative error of $I_0$
/// below $10^{-15}$), because there $\log I_0(\kappa) - \kappa$ cancels.
fn log_scaled_bessel_i0(g: &mut Graph, kappa: NodeId) -> NodeId {
    /// $((2k-1)!!)^2 / (k!\,8^k)$ for k = 4, 3, 2, 1.
    const HANKEL: [f64; 4] = [11_025.0 / 98_304.0, 225.0 / 3_072.0, 9.0 / 128.0, 0.125];
    let limit = g.scalar(1000.0);
    let is_small = g.lt(kappa, limit);
    let small = g.min(kappa, limit);
    let log_bessel = g.log_bessel_i0(small);
    let exact = g.sub(log_bessel, small);

    let large = g.max(kappa, limit);
    let inverse = g.reciprocal(large);
    let mut series = g.scalar(0.0);
    for coefficient in HANKEL {
        let term = g.shift(series, coefficient);
        series = g.mul(term, inverse);
    }
    let log_series = g.log1p(series);
    let log_kappa = g.log(large);
    let log_kappa = g.shift(log_kappa, LOG_TWO_PI);
    let log_root = g.scale(log_kappa, 0.5);
    let asymptotic = g.sub(log_series, log_root);
    g.select(is_small, exact, asymptotic)
}
