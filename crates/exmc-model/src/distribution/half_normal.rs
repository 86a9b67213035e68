//! Half-normal distribution: the size of a normal with location 0.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI, LN_2};

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;

use super::counts::better_tail;
use super::tails::{lower_tail, positive, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;
use crate::transform::Transform;

/// $\tfrac12\log(\pi/2)$
const HALF_LOG_HALF_PI: f64 = 0.225_791_352_644_727_43;

/// HalfNormal(sigma).
#[derive(Debug)]
pub(crate) struct HalfNormal;

impl Distribution for HalfNormal {
    fn name(&self) -> &'static str {
        "half_normal"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("sigma", Support::Positive).or(&["scale", "sd"])];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    /// Softplus: as a hierarchical scale it has more than ten times fewer divergences than with the
    /// logarithm, because the density does not vanish at 0 and the log stretches that end out.
    fn default_transform(&self, _args: &[NodeId]) -> Transform {
        Transform::Softplus
    }

    /// $-\tfrac12 z^2 - \log\sigma - \tfrac12\log(\pi/2)$ with $z = y/\sigma$.
    ///
    /// **Numerics**: as in the normal, no square of sigma underflows. **Reference**: Leone, Nelson
    /// and Nottingham 1961.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[sigma] = args else { unreachable!("one parameter") };
        let z = g.div(y, sigma);
        let square = g.square(z);
        let half = g.scale(square, -0.5);
        let log_sigma = g.log(sigma);
        let normaliser = g.shift(log_sigma, HALF_LOG_HALF_PI);
        g.sub(half, normaliser)
    }

    /// $\log\operatorname{erf}(z/\sqrt2)$, from the other tail where that is small.
    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let sigma = args[0];
        let limits = positive(g);
        Some(lower_tail(g, y, limits, sigma, |g, y| {
            let [below, above] = log_tails(g, y, sigma);
            better_tail(g, below, above)
        }))
    }

    /// $\log 2\Phi(-z)$, from the other tail where that is small.
    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let sigma = args[0];
        let limits = positive(g);
        Some(upper_tail(g, y, limits, sigma, |g, y| {
            let [below, above] = log_tails(g, y, sigma);
            better_tail(g, above, below)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[0][0] * rng.standard_normal().abs();
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let sigma = args[0];
        Some((sigma * FRAC_2_PI.sqrt(), sigma * sigma * (1.0 - FRAC_2_PI)))
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: None, scale: 0 })
    }
}

/// The log probabilities of less and of more than y.
fn log_tails(g: &mut Graph, y: NodeId, sigma: NodeId) -> [NodeId; 2] {
    let z = g.div(y, sigma);
    let scaled = g.scale(z, FRAC_1_SQRT_2);
    let below = g.erf(scaled);
    let below = g.log(below);
    let mirrored = g.neg(z);
    let above = g.log_normal_cdf(mirrored);
    [below, g.shift(above, LN_2)]
}
