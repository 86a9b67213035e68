//! Ordered logistic distribution: a latent logistic variable cut into categories counted from 0.

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::random::ChainRng;
use exmc_math::{log, log1p};

use super::categories::choose;
use super::events::event_shape;
use super::{Distribution, Parameter};
use crate::support::Support;

/// OrderedLogistic(eta, cutpoints): K - 1 cut points separate K categories.
#[derive(Debug)]
pub(crate) struct OrderedLogistic;

impl Distribution for OrderedLogistic {
    fn name(&self) -> &'static str {
        "ordered_logistic"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("eta", Support::Real).or(&["location"]),
            Parameter::new("cutpoints", Support::Ordered).or(&["c"]).rank(1),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Category { parameter: 1, extra: 1 }
    }

    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        event_shape(self.parameters(), args, &[], declared)
    }

    /// $\log\left(\mathrm{inv\_logit}(c_y - \eta) - \mathrm{inv\_logit}(c_{y-1} - \eta)\right)$
    /// with $c_{-1} = -\infty$ and $c_{K-1} = \infty$; zero-based, where Stan counts from one.
    ///
    /// **Shapes**: eta broadcasts with y; cut points `[batch.., K-1]`, whose batch broadcasts too.
    /// **Numerics**: the difference factors into
    /// $\mathrm{inv\_logit}(c_y-\eta)\,\mathrm{inv\_logit}(\eta-c_{y-1})\,(1-e^{c_{y-1}-c_y})$, of
    /// which each log is exact in both tails; the last one is taken once per category, not per
    /// outcome. **Reference**: Stan functions reference, ordered logistic distribution.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[eta, cutpoints] = args else { unreachable!("two parameters") };
        let inner = g.shape(cutpoints).rank() - 1;
        let end = Shape::from(&g.shape(cutpoints).extents()[..inner]).join(&[1]);
        let lowest = g.filled(&end, f64::NEG_INFINITY);
        let highest = g.filled(&end, f64::INFINITY);
        let lower = g.concat(&[lowest, cutpoints], inner);
        let upper = g.concat(&[cutpoints, highest], inner);
        let gap = g.sub(lower, upper);
        let log_gap = g.log1m_exp(gap);

        let lower = choose(g, lower, y);
        let upper = choose(g, upper, y);
        let log_gap = choose(g, log_gap, y);
        let above_lower = g.sub(lower, eta);
        let above_lower = g.softplus(above_lower);
        let below_upper = g.sub(eta, upper);
        let below_upper = g.softplus(below_upper);
        let cost = g.add(above_lower, below_upper);
        g.sub(log_gap, cost)
    }

    /// A logistic variable about eta, and the number of cut points below it.
    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let u = rng.uniform_open();
        let latent = args[0][0] + (log(u) - log1p(-u));
        out[0] = args[1].iter().filter(|cut| **cut < latent).count() as f64;
    }
}
