//! Beta distribution: two shapes.

use std::f64::consts::LN_2;

use exmc_graph::{Graph, NodeId, Ternary};
use exmc_math::random::{ChainRng, draws};

use super::tails::{Limits, lower_tail, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Beta(alpha, beta).
#[derive(Debug)]
pub(crate) struct Beta;

impl Distribution for Beta {
    fn name(&self) -> &'static str {
        "beta"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("alpha", Support::Positive).or(&["a"]),
            Parameter::new("beta", Support::Positive).or(&["b"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::UnitOpen
    }

    /// $(\alpha-1)\log y + (\beta-1)\log(1-y) - \log B(\alpha,\beta)$.
    ///
    /// **Numerics**: linear in the two logarithms, so that a sum over data collapses; the beta
    /// function as one operation, because three log gammas of large shapes cancel. **Reference**:
    /// Gelman et al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let log_y = g.log(y);
        let power = g.shift(alpha, -1.0);
        let first = g.mul(power, log_y);
        let mirrored = g.neg(y);
        let log_rest = g.log1p(mirrored);
        let power = g.shift(beta, -1.0);
        let second = g.mul(power, log_rest);
        let kernel = g.add(first, second);
        let log_beta = g.lbeta(alpha, beta);
        g.sub(kernel, log_beta)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let (limits, half) = limits(g);
        Some(lower_tail(g, y, limits, half, |g, y| g.ternary(Ternary::LogBetaInc, alpha, beta, y)))
    }

    /// **Numerics**: $\log I_{1-y}(\beta,\alpha)$, except where $1-y$ rounds and the other tail is
    /// not close to 1, or y is next to 0: there the complement of that one.
    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        /// $\log 0.9$
        const SWITCH: f64 = -0.105_360_515_657_826_3;
        let &[alpha, beta] = args else { unreachable!("two parameters") };
        let (limits, half) = limits(g);
        Some(upper_tail(g, y, limits, half, |g, y| {
            let one = g.scalar(1.0);
            let rest = g.sub(one, y);
            let direct = g.ternary(Ternary::LogBetaInc, beta, alpha, rest);
            let other = g.ternary(Ternary::LogBetaInc, alpha, beta, y);
            let limit = g.scalar(SWITCH);
            let rounds = g.lt(y, half);
            let is_small = g.lt(other, limit);
            // So near zero that 1 - y is one.
            let tiny = g.scalar(1e-10);
            let is_lost = g.lt(y, tiny);
            let is_good = g.or(is_small, is_lost);
            let take_other = g.and(rounds, is_good);
            let harmless = g.scalar(-LN_2);
            let safe = g.select(take_other, other, harmless);
            let complement = g.log1m_exp(safe);
            g.select(take_other, complement, direct)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = draws::beta(rng, args[0][0], args[1][0]);
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let total = args[0] + args[1];
        let mean = args[0] / total;
        Some((mean, mean * (args[1] / total) / (total + 1.0)))
    }
}

fn limits(g: &mut Graph) -> (Limits, NodeId) {
    ([Some(g.scalar(0.0)), Some(g.scalar(1.0))], g.scalar(0.5))
}
