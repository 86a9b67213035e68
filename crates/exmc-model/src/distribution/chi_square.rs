//! Chi-square distribution: degrees of freedom.

use std::f64::consts::LN_2;

use exmc_graph::{Graph, NodeId};
use exmc_math::random::{ChainRng, draws};

use super::tails::{lower_tail, positive, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// ChiSquare(nu).
#[derive(Debug)]
pub(crate) struct ChiSquare;

impl Distribution for ChiSquare {
    fn name(&self) -> &'static str {
        "chi_square"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["chi_squared"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[Parameter::new("nu", Support::Positive).or(&["df"])];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    /// $(\tfrac\nu2-1)\log y - \tfrac y2 - \tfrac\nu2\log 2 - \log\Gamma(\tfrac\nu2)$.
    ///
    /// **Numerics**: as for gamma. **Reference**: Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[nu] = args else { unreachable!("one parameter") };
        let half_nu = g.scale(nu, 0.5);
        let log_y = g.log(y);
        let power = g.shift(half_nu, -1.0);
        let gain = g.mul(power, log_y);
        let cost = g.scale(y, 0.5);
        let kernel = g.sub(gain, cost);
        let log_scale = g.scale(half_nu, LN_2);
        let log_gamma = g.lgamma(half_nu);
        let normaliser = g.add(log_scale, log_gamma);
        g.sub(kernel, normaliser)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let nu = args[0];
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(lower_tail(g, y, limits, one, |g, y| {
            let [shape, x] = [g.scale(nu, 0.5), g.scale(y, 0.5)];
            g.log_gamma_p(shape, x)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let nu = args[0];
        let (limits, one) = (positive(g), g.scalar(1.0));
        Some(upper_tail(g, y, limits, one, |g, y| {
            let [shape, x] = [g.scale(nu, 0.5), g.scale(y, 0.5)];
            g.log_gamma_q(shape, x)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = 2.0 * draws::gamma(rng, 0.5 * args[0][0]);
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        Some((args[0], 2.0 * args[0]))
    }
}
