//! Pareto distribution: smallest outcome and shape.

use exmc_graph::{Graph, NodeId};
use exmc_math::exp;
use exmc_math::random::ChainRng;

use super::tails::{Limits, lower_tail, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Pareto(y_min, alpha).
#[derive(Debug)]
pub(crate) struct Pareto;

impl Distribution for Pareto {
    fn name(&self) -> &'static str {
        "pareto"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("y_min", Support::Positive).or(&["scale", "m"]),
            Parameter::new("alpha", Support::Positive).or(&["shape"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Between { lower: Some(0), upper: None }
    }

    /// $\log\alpha - \alpha(\log y - \log y_{\min}) - \log y$.
    ///
    /// **Reference**: Johnson, Kotz and Balakrishnan 1994, chapter 20.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[y_min, alpha] = args else { unreachable!("two parameters") };
        let log_y = g.log(y);
        let log_min = g.log(y_min);
        let log_ratio = g.sub(log_y, log_min);
        let hazard = g.mul(alpha, log_ratio);
        let cost = g.add(hazard, log_y);
        let log_alpha = g.log(alpha);
        g.sub(log_alpha, cost)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let (limits, anchor) = limits(g, args[0]);
        Some(lower_tail(g, y, limits, anchor, |g, y| {
            let survival = log_survival(g, y, args);
            g.log1m_exp(survival)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let (limits, anchor) = limits(g, args[0]);
        Some(upper_tail(g, y, limits, anchor, |g, y| log_survival(g, y, args)))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[0][0] * exp(rng.standard_exponential() / args[1][0]);
    }

    /// The variance exists for a shape above two.
    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let &[y_min, alpha] = args else { unreachable!("two parameters") };
        (alpha > 2.0).then(|| {
            let mean = y_min * (alpha / (alpha - 1.0));
            (mean, mean * mean / (alpha * (alpha - 2.0)))
        })
    }
}

fn limits(g: &mut Graph, y_min: NodeId) -> (Limits, NodeId) {
    ([Some(y_min), None], g.scale(y_min, 2.0))
}

/// $-\alpha\log(y/y_{\min})$, by the relative excess over the smallest outcome, which keeps the
/// digits of outcomes close to it.
fn log_survival(g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
    let &[y_min, alpha] = args else { unreachable!("two parameters") };
    let excess = g.sub(y, y_min);
    let excess = g.div(excess, y_min);
    let log_ratio = g.log1p(excess);
    let hazard = g.mul(alpha, log_ratio);
    g.neg(hazard)
}
