//! Weibull distribution: shape and scale.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::ChainRng;
use exmc_math::{exp, expm1, lgamma, pow};

use super::tails::{log1m_exp_neg_exp, lower_tail, positive, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Weibull(alpha, sigma).
#[derive(Debug)]
pub(crate) struct Weibull;

impl Distribution for Weibull {
    fn name(&self) -> &'static str {
        "weibull"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("alpha", Support::Positive).or(&["k", "shape"]),
            Parameter::new("sigma", Support::Positive).or(&["lambda", "scale"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    /// $\log\alpha + (\alpha-1)\log y - \alpha\log\sigma - e^u$ with $u = \alpha(\log y -
    /// \log\sigma)$, the log cumulative hazard.
    ///
    /// **Numerics**: the logarithm of y depends on data only, which leaves one exponential by
    /// outcome. Next to zero the slope of $u - \log y$ would be a difference of two huge ones.
    /// **Reference**: Johnson, Kotz and Balakrishnan 1994, chapter 21.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[alpha, sigma] = args else { unreachable!("two parameters") };
        let log_y = g.log(y);
        let log_hazard = log_hazard(g, log_y, alpha, sigma);
        let hazard = g.exp(log_hazard);
        let power = g.shift(alpha, -1.0);
        let gained = g.mul(power, log_y);
        let (log_alpha, log_sigma) = (g.log(alpha), g.log(sigma));
        let scaled = g.mul(alpha, log_sigma);
        let lead = g.sub(log_alpha, scaled);
        let kernel = g.sub(gained, hazard);
        g.add(kernel, lead)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[alpha, sigma] = args else { unreachable!("two parameters") };
        let limits = positive(g);
        Some(lower_tail(g, y, limits, sigma, |g, y| {
            let log_y = g.log(y);
            let log_hazard = log_hazard(g, log_y, alpha, sigma);
            log1m_exp_neg_exp(g, log_hazard)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[alpha, sigma] = args else { unreachable!("two parameters") };
        let limits = positive(g);
        Some(upper_tail(g, y, limits, sigma, |g, y| {
            let log_y = g.log(y);
            let log_hazard = log_hazard(g, log_y, alpha, sigma);
            let hazard = g.exp(log_hazard);
            g.neg(hazard)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[1][0] * pow(rng.standard_exponential(), 1.0 / args[0][0]);
    }

    /// The mean is $\sigma\,\Gamma(1 + 1/\alpha)$.
    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let &[alpha, sigma] = args else { unreachable!("two parameters") };
        let log_mean = lgamma(1.0 + 1.0 / alpha);
        let mean = sigma * exp(log_mean);
        let excess = expm1(lgamma(1.0 + 2.0 / alpha) - 2.0 * log_mean);
        Some((mean, mean * mean * excess))
    }
}

fn log_hazard(g: &mut Graph, log_y: NodeId, alpha: NodeId, sigma: NodeId) -> NodeId {
    let log_sigma = g.log(sigma);
    let log_ratio = g.sub(log_y, log_sigma);
    g.mul(alpha, log_ratio)
}
