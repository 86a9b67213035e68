//! Gaussian random walk: a series of which the steps are independent and normal.

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::random::ChainRng;

use super::events::{as_column, element, elements, last_extent, series_shape};
use super::normal::{HALF_LOG_TWO_PI, standardise};
use super::{Distribution, Parameter};
use crate::support::Support;

/// GaussianRandomWalk(sigma, initial_scale, initial_mean); the length is declared with the outcome.
#[derive(Debug)]
pub(crate) struct GaussianRandomWalk;

impl Distribution for GaussianRandomWalk {
    fn name(&self) -> &'static str {
        "gaussian_random_walk"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["grw"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("sigma", Support::Positive).or(&["scale", "sd"]),
            Parameter::new("initial_scale", Support::Positive).or(&["init_sigma"]).same_as(0),
            Parameter::new("initial_mean", Support::Real).or(&["init_mu"]).default(0.0),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    fn event_rank(&self) -> usize {
        1
    }

    fn outcome_shape(&self, args: &[&Shape], declared: Option<&Shape>) -> Result<Shape, String> {
        series_shape(self.parameters(), args, declared)
    }

    /// $\log N(y_1 | \mu_0, \sigma_0) + \sum_{t=2}^T \log N(y_t | y_{t-1}, \sigma)$.
    ///
    /// **Shapes**: y `[batch.., T]`, parameters `[batch..]`, batches broadcast; the result has the
    /// batch's shape. **Numerics**: standardised steps, so that no square of a scale underflows.
    /// **Reference**: eXMC's `GaussianRandomWalk`, which has $\mu_0 = 0$ and $\sigma_0 = \sigma$.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[sigma, initial_scale, initial_mean] = args else { unreachable!("three parameters") };
        let length = last_extent(g, y);
        let first = element(g, y, 0);
        let first = standardise(g, first, initial_mean, initial_scale);
        let first = g.square(first);
        let log_init = g.log(initial_scale);
        let (squares, normaliser) = if length == 1 {
            (first, log_init)
        } else {
            let next = elements(g, y, 1, length);
            let previous = elements(g, y, 0, length - 1);
            let column = as_column(g, sigma);
            let z = standardise(g, next, previous, column);
            let z = g.square(z);
            let steps = g.sum_last(z);
            let log_sigma = g.log(sigma);
            let of_steps = g.scale(log_sigma, (length - 1) as f64);
            (g.add(first, steps), g.add(log_init, of_steps))
        };
        let half = g.scale(squares, -0.5);
        let normaliser = g.shift(normaliser, HALF_LOG_TWO_PI * length as f64);
        g.sub(half, normaliser)
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let (sigma, initial_scale, initial_mean) = (args[0][0], args[1][0], args[2][0]);
        let mut value = initial_mean + initial_scale * rng.standard_normal();
        for (t, out) in out.iter_mut().enumerate() {
            if t > 0 {
                value += sigma * rng.standard_normal();
            }
            *out = value;
        }
    }
}
