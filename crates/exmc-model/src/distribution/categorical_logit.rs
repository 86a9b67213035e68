//! Categorical distribution: categories counted from 0, by their log odds.

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::random::{ChainRng, draws};

use super::categories::choose;
use super::events::event_shape;
use super::{Distribution, Parameter};
use crate::support::Support;

/// Categorical(softmax(beta)). Beta is a vector `[K]`, or `[N, K]` with one vector for each
/// outcome.
#[derive(Debug)]
pub(crate) struct CategoricalLogit;

impl Distribution for CategoricalLogit {
    fn name(&self) -> &'static str {
        "categorical_logit"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] =
            &[Parameter::new("beta", Support::Real).or(&["logits", "eta"]).rank(1)];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Category { parameter: 0, extra: 0 }
    }

    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        event_shape(self.parameters(), args, &[], declared)
    }

    /// $\beta_y - \log\sum_k e^{\beta_k}$; zero-based, where Stan counts from one.
    ///
    /// **Shapes**: beta `[batch.., K]`; the batch broadcasts with the shape of y, the result has
    /// that shape. **Numerics**: the normaliser is computed once per vector, with its largest
    /// element taken out. **Reference**: Stan functions reference, categorical distribution, logit
    /// parameterisation.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let last = g.shape(args[0]).rank() - 1;
        let normaliser = g.log_sum_exp(args[0], last);
        let chosen = choose(g, args[0], y);
        g.sub(chosen, normaliser)
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = draws::categorical_log(rng, args[0]).map_or(f64::NAN, |k| k as f64);
    }
}
