//! Cauchy distribution: location and scale; it has no mean.

use std::f64::consts::PI;

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;
use exmc_math::tan;

use super::normal::standardise;
use super::tails::{REAL_LINE, lower_tail, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// $\log\pi$
const LOG_PI: f64 = 1.144_729_885_849_400_2;

/// Cauchy(mu, sigma).
#[derive(Debug)]
pub(crate) struct Cauchy;

impl Distribution for Cauchy {
    fn name(&self) -> &'static str {
        "cauchy"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc"]),
            Parameter::new("sigma", Support::Positive).or(&["scale"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    /// $-\log(1 + z^2) - \log\sigma - \log\pi$ with $z = (y-\mu)/\sigma$.
    ///
    /// **Numerics**: right for $|z| < 10^{154}$, $-\infty$ beyond. **Reference**: Johnson, Kotz and
    /// Balakrishnan 1994, chapter 16.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        let z = standardise(g, y, mu, sigma);
        let square = g.square(z);
        let cost = g.log1p(square);
        let log_sigma = g.log(sigma);
        let normaliser = g.shift(log_sigma, LOG_PI);
        let total = g.add(cost, normaliser);
        g.neg(total)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        Some(lower_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, sigma);
            log_cdf(g, z)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        Some(upper_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, sigma);
            let mirrored = g.neg(z);
            log_cdf(g, mirrored)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[0][0] + args[1][0] * tan(PI * (rng.uniform_open() - 0.5));
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: Some(0), scale: 1 })
    }
}

/// $\log(\tfrac12 + \arctan(z)/\pi)$.
///
/// **Numerics**: the angle of the tail itself, $\operatorname{atan2}(1, |z|)$, so neither tail is a
/// difference.
fn log_cdf(g: &mut Graph, z: NodeId) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let is_left = g.lt(z, zero);
    let mirrored = g.neg(z);
    let distance = g.select(is_left, mirrored, z);
    let tail = g.atan2(one, distance);
    let tail = g.scale(tail, 1.0 / PI);
    let left = g.log(tail);
    let right = g.neg(tail);
    let right = g.log1p(right);
    g.select(is_left, left, right)
}
