//! Lognormal distribution: location and standard deviation of the logarithm.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;
use exmc_math::{exp, expm1};

use super::normal::{HALF_LOG_TWO_PI, standardise};
use super::tails::{lower_tail, positive, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Lognormal(mu, sigma).
#[derive(Debug)]
pub(crate) struct Lognormal;

impl Distribution for Lognormal {
    fn name(&self) -> &'static str {
        "lognormal"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["log_normal"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc"]),
            Parameter::new("sigma", Support::Positive).or(&["scale"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    /// $-\tfrac12 z^2 - \log\sigma - \log y - \tfrac12\log 2\pi$ with $z = (\log y-\mu)/\sigma$.
    ///
    /// **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        let log_y = g.log(y);
        let z = standardise(g, log_y, mu, sigma);
        let square = g.square(z);
        let half = g.scale(square, -0.5);
        let kernel = g.sub(half, log_y);
        let log_sigma = g.log(sigma);
        let normaliser = g.shift(log_sigma, HALF_LOG_TWO_PI);
        g.sub(kernel, normaliser)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(lower_tail(g, y, limits, one, |g, y| {
            let log_y = g.log(y);
            let z = standardise(g, log_y, mu, sigma);
            g.log_normal_cdf(z)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, sigma] = args else { unreachable!("two parameters") };
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(upper_tail(g, y, limits, one, |g, y| {
            let log_y = g.log(y);
            let z = standardise(g, log_y, mu, sigma);
            let mirrored = g.neg(z);
            g.log_normal_cdf(mirrored)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = exp(args[0][0] + args[1][0] * rng.standard_normal());
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let square = args[1] * args[1];
        let mean = exp(args[0] + 0.5 * square);
        Some((mean, mean * mean * expm1(square)))
    }
}
