//! Laplace (double exponential) distribution: location and scale.

use std::f64::consts::LN_2;

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;

use super::normal::standardise;
use super::tails::{REAL_LINE, lower_tail, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// Laplace(mu, sigma).
#[derive(Debug)]
pub(crate) struct Laplace;

impl Distribution for Laplace {
    fn name(&self) -> &'static str {
        "laplace"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["double_exponential"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc"]),
            Parameter::new("sigma", Support::Positive).or(&["b", "scale"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    /// $-|z| - \log\sigma - \log 2$ with $z = (y-\mu)/\sigma$; the derivative at $z = 0$ is taken
    /// as 0.
    ///
    /// **Reference**: Stan functions reference, double exponential distribution.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        let z = standardise(g, y, mu, sigma);
        let distance = g.abs(z);
        let log_sigma = g.log(sigma);
        let normaliser = g.shift(log_sigma, LN_2);
        let total = g.add(distance, normaliser);
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
        let distance = args[1][0] * rng.standard_exponential();
        let is_left = rng.next_u64() >> 63 == 1;
        out[0] = args[0][0] + if is_left { -distance } else { distance };
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        Some((args[0], 2.0 * args[1] * args[1]))
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: Some(0), scale: 1 })
    }
}

/// $z - \log 2$ left of 0 and $\log(1 - \tfrac12 e^{-z})$ right of it.
fn log_cdf(g: &mut Graph, z: NodeId) -> NodeId {
    let zero = g.scalar(0.0);
    let is_left = g.lt(z, zero);
    let mirrored = g.neg(z);
    let tail = g.select(is_left, z, mirrored);
    let tail = g.shift(tail, -LN_2);
    let other = g.log1m_exp(tail);
    g.select(is_left, tail, other)
}
