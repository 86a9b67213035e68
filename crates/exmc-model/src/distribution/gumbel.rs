//! Gumbel distribution (largest extreme value): location and scale.

use std::f64::consts::PI;

use exmc_graph::{Graph, NodeId};
use exmc_math::log;
use exmc_math::random::ChainRng;

use super::normal::standardise;
use super::tails::{REAL_LINE, log1m_exp_neg_exp, lower_tail, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// Euler's constant, the mean of the standard Gumbel.
const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;

/// Gumbel(mu, beta).
#[derive(Debug)]
pub(crate) struct Gumbel;

impl Distribution for Gumbel {
    fn name(&self) -> &'static str {
        "gumbel"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc"]),
            Parameter::new("beta", Support::Positive).or(&["sigma", "scale"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    /// $-z - e^{-z} - \log\beta$ with $z = (y-\mu)/\beta$.
    ///
    /// **Reference**: Stan functions reference, Gumbel distribution.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, beta] = args else { unreachable!("two parameters") };
        let z = standardise(g, y, mu, beta);
        let mirrored = g.neg(z);
        let hazard = g.exp(mirrored);
        let cost = g.add(z, hazard);
        let log_beta = g.log(beta);
        let total = g.add(cost, log_beta);
        g.neg(total)
    }

    /// $-e^{-z}$
    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, beta] = args else { unreachable!("two parameters") };
        Some(lower_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, beta);
            let mirrored = g.neg(z);
            let hazard = g.exp(mirrored);
            g.neg(hazard)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[mu, beta] = args else { unreachable!("two parameters") };
        Some(upper_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, beta);
            let mirrored = g.neg(z);
            log1m_exp_neg_exp(g, mirrored)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[0][0] - args[1][0] * log(rng.standard_exponential());
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let &[mu, beta] = args else { unreachable!("two parameters") };
        Some((mu + EULER_GAMMA * beta, beta * beta * (PI * PI / 6.0)))
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: Some(0), scale: 1 })
    }
}
