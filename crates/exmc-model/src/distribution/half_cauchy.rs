//! Half-Cauchy distribution: the size of a Cauchy with location 0.

use std::f64::consts::{FRAC_2_PI, PI};

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;
use exmc_math::tan;

use super::tails::{lower_tail, positive, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// $\log(\pi/2)$
const LOG_HALF_PI: f64 = 0.451_582_705_289_454_9;

/// HalfCauchy(sigma).
#[derive(Debug)]
pub(crate) struct HalfCauchy;

impl Distribution for HalfCauchy {
    fn name(&self) -> &'static str {
        "half_cauchy"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("sigma", Support::Positive).or(&["scale", "beta"])];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    /// $-\log(1 + z^2) - \log\sigma - \log(\pi/2)$ with $z = y/\sigma$.
    ///
    /// **Numerics**: right for $z < 10^{154}$, $-\infty$ beyond. **Reference**: Gelman 2006.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[sigma] = args else { unreachable!("one parameter") };
        let z = g.div(y, sigma);
        let square = g.square(z);
        let cost = g.log1p(square);
        let log_sigma = g.log(sigma);
        let normaliser = g.shift(log_sigma, LOG_HALF_PI);
        let total = g.add(cost, normaliser);
        g.neg(total)
    }

    /// $\log(\tfrac2\pi\arctan z)$
    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        Some(log_angle(g, y, args[0], false))
    }

    /// $\log(\tfrac2\pi\arctan(1/z))$
    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        Some(log_angle(g, y, args[0], true))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[0][0] * tan(0.5 * PI * rng.uniform_open());
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: None, scale: 0 })
    }
}

/// Either tail as the log of an angle; where the angle is nearly a right one, through its
/// complement.
fn log_angle(g: &mut Graph, y: NodeId, sigma: NodeId, upper: bool) -> NodeId {
    let limits = positive(g);
    let formula = |g: &mut Graph, y: NodeId| {
        let z = g.div(y, sigma);
        let one = g.scalar(1.0);
        let below = g.atan2(z, one);
        let above = g.atan2(one, z);
        let (this, other) = if upper { (above, below) } else { (below, above) };
        let this = g.scale(this, FRAC_2_PI);
        let direct = g.log(this);
        let other = g.scale(other, -FRAC_2_PI);
        let complement = g.log1p(other);
        let is_near = if upper { g.lt(z, one) } else { g.lt(one, z) };
        g.select(is_near, complement, direct)
    };
    if upper {
        upper_tail(g, y, limits, sigma, formula)
    } else {
        lower_tail(g, y, limits, sigma, formula)
    }
}
