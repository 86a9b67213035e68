//! Logistic distribution: location and scale.

use std::f64::consts::PI;

use exmc_graph::{Graph, NodeId};
use exmc_math::logit;
use exmc_math::random::ChainRng;

use super::normal::standardise;
use super::tails::{REAL_LINE, lower_tail, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// Logistic(mu, sigma).
#[derive(Debug)]
pub(crate) struct Logistic;

impl Distribution for Logistic {
    fn name(&self) -> &'static str {
        "logistic"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc"]),
            Parameter::new("sigma", Support::Positive).or(&["scale", "s"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    /// $-|z| - 2\log(1 + e^{-|z|}) - \log\sigma$ with $z = (y-\mu)/\sigma$.
    ///
    /// **Numerics**: symmetric in z, so no exponential overflows in either tail. **Reference**:
    /// Johnson, Kotz and Balakrishnan 1995, chapter 23.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        let z = standardise(g, y, mu, sigma);
        let distance = g.abs(z);
        let mirrored = g.neg(distance);
        let soft = g.softplus(mirrored);
        let soft = g.scale(soft, -2.0);
        let kernel = g.sub(soft, distance);
        let log_sigma = g.log(sigma);
        g.sub(kernel, log_sigma)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        Some(lower_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, sigma);
            let mirrored = g.neg(z);
            let cost = g.softplus(mirrored);
            g.neg(cost)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        Some(upper_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, sigma);
            let cost = g.softplus(z);
            g.neg(cost)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[0][0] + args[1][0] * logit(rng.uniform_open());
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        Some((args[0], args[1] * args[1] * (PI * PI / 3.0)))
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: Some(0), scale: 1 })
    }
}
