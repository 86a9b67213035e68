//! Normal distribution: location and **standard deviation** (not variance), as in Stan.

use exmc_fault::{Fault, planted};
use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;

use super::tails::{REAL_LINE, lower_tail, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// $\tfrac12\log 2\pi$
pub(crate) const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// Normal(mu, sigma).
#[derive(Debug)]
pub(crate) struct Normal;

impl Distribution for Normal {
    fn name(&self) -> &'static str {
        "normal"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc", "mean"]),
            Parameter::new("sigma", Support::Positive).or(&["scale", "sd"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    /// $-\tfrac12 z^2 - \log\sigma - \tfrac12\log 2\pi$ with $z = (y-\mu)/\sigma$.
    ///
    /// **Numerics**: built from z, so nothing cancels as in $y^2 - 2y\mu + \mu^2$, and no square of
    /// sigma underflows. **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        let z = standardise(g, y, mu, sigma);
        let square = g.square(z);
        let half = g.scale(square, -0.5);
        let log_sigma = g.log(sigma);
        let normaliser = g.shift(log_sigma, HALF_LOG_TWO_PI);
        g.sub(half, normaliser)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        Some(lower_tail(g, y, REAL_LINE, mu, |g, y| {
            let mut z = standardise(g, y, mu, sigma);
            if planted(Fault::ClampedLogCdf) {
                let least = g.scalar(-38.5);
                z = g.max(z, least);
            }
            g.log_normal_cdf(z)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        Some(upper_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, sigma);
            let mirrored = g.neg(z);
            g.log_normal_cdf(mirrored)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[0][0] + args[1][0] * rng.standard_normal();
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        Some((args[0], args[1] * args[1]))
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: Some(0), scale: 1 })
    }
}

/// $(y-\mu)/\sigma$
pub(crate) fn standardise(g: &mut Graph, y: NodeId, mu: NodeId, sigma: NodeId) -> NodeId {
    let centred = g.sub(y, mu);
    g.div(centred, sigma)
}
