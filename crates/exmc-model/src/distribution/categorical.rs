//! Categorical distribution: categories counted from 0, by their probabilities.

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::random::{ChainRng, draws};

use super::categories::{choose, table_is_smaller};
use super::events::event_shape;
use super::{Distribution, Parameter};
use crate::support::Support;

/// Categorical(theta). Theta is a vector `[K]`, or `[N, K]` with one vector for each outcome.
#[derive(Debug)]
pub(crate) struct Categorical;

impl Distribution for Categorical {
    fn name(&self) -> &'static str {
        "categorical"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("theta", Support::Simplex).or(&["p", "probs"]).rank(1)];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Category { parameter: 0, extra: 0 }
    }

    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        event_shape(self.parameters(), args, &[], declared)
    }

    /// $\log\theta_y$; zero-based, where Stan counts from one.
    ///
    /// **Shapes**: theta `[batch.., K]`; the batch broadcasts with the shape of y, the result has
    /// that shape. **Numerics**: logs are taken before or after the choice, wherever there are
    /// fewer. **Reference**: Stan functions reference, categorical distribution.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        if table_is_smaller(g, args[0], y) {
            let logs = g.log(args[0]);
            choose(g, logs, y)
        } else {
            let chosen = choose(g, args[0], y);
            g.log(chosen)
        }
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = draws::categorical(rng, args[0]).map_or(f64::NAN, |k| k as f64);
    }
}
