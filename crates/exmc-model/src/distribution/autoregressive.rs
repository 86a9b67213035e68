//! Autoregressive series of fixed order with normal noise.

use exmc_graph::{Graph, NodeId, Shape};
use exmc_math::random::ChainRng;

use super::events::{as_column, elements, last_extent, series_shape, split};
use super::normal::{HALF_LOG_TWO_PI, standardise};
use super::{Distribution, Parameter};
use crate::support::Support;

/// Ar(coefficients, sigma, constant, initial_mean, initial_scale): $y_t = c + \sum_{j=1}^p \phi_j
/// y_{t-j} + \sigma\varepsilon_t$; the order p is the number of coefficients, the length is
/// declared with the outcome.
///
/// The first p values are independent and normal(initial_mean, initial_scale), unlike in Stan's
/// manual, where they are only conditioned on: a proper density can also be drawn from.
#[derive(Debug)]
pub(crate) struct Autoregressive;

impl Distribution for Autoregressive {
    fn name(&self) -> &'static str {
        "ar"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["autoregressive"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("coefficients", Support::Real).or(&["phi", "rho"]).rank(1),
            Parameter::new("sigma", Support::Positive).or(&["scale", "sd"]),
            Parameter::new("constant", Support::Real).or(&["intercept"]).default(0.0),
            Parameter::new("initial_mean", Support::Real).or(&["init_mu"]).default(0.0),
            Parameter::new("initial_scale", Support::Positive).or(&["init_sigma"]).same_as(1),
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
        let shape = series_shape(self.parameters(), args, declared)?;
        let (_, order) = split(&self.parameters()[0], args[0])?;
        let (order, length) = (order[0], shape.extents()[shape.rank() - 1]);
        if order <= length {
            Ok(shape)
        } else {
            Err(format!(
                "{order} coefficients need a series of at least {order} values, found {length}"
            ))
        }
    }

    /// $\sum_{t\le p}\log N(y_t | \mu_0, \sigma_0) + \sum_{t>p}\log N(y_t | c + \sum_j\phi_j
    /// y_{t-j}, \sigma)$.
    ///
    /// **Shapes**: y `[batch.., T]`, coefficients `[batch.., p]`, other parameters `[batch..]`,
    /// batches broadcast; the result has the batch's shape. The graph grows with p, not with T.
    /// **Reference**: Stan user's guide, autoregressive models.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[coefficients, sigma, constant, initial_mean, initial_scale] = args else {
            unreachable!("five parameters")
        };
        let length = last_extent(g, y);
        let order = last_extent(g, coefficients);
        let mut parts = Vec::with_capacity(2);
        if order > 0 {
            let first = elements(g, y, 0, order);
            let (mean, scale) = (as_column(g, initial_mean), as_column(g, initial_scale));
            let z = standardise(g, first, mean, scale);
            parts.push(log_normal_sum(g, z, initial_scale, order));
        }
        if length > order {
            let mut mean = as_column(g, constant);
            for lag in 1..=order {
                let coefficient = elements(g, coefficients, lag - 1, lag);
                let lagged = elements(g, y, order - lag, length - lag);
                let term = g.mul(coefficient, lagged);
                mean = g.add(mean, term);
            }
            let rest = elements(g, y, order, length);
            let scale = as_column(g, sigma);
            let z = standardise(g, rest, mean, scale);
            parts.push(log_normal_sum(g, z, sigma, length - order));
        }
        parts.into_iter().reduce(|a, b| g.add(a, b)).expect("a series has at least one value")
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let &[coefficients, sigma, constant, initial_mean, initial_scale] = args else {
            unreachable!("five parameters")
        };
        for t in 0..out.len() {
            let z = rng.standard_normal();
            out[t] = if t < coefficients.len() {
                initial_mean[0] + initial_scale[0] * z
            } else {
                let recent = out[..t].iter().rev();
                let lagged: f64 = coefficients.iter().zip(recent).map(|(c, y)| c * y).sum();
                constant[0] + lagged + sigma[0] * z
            };
        }
    }
}

/// The log densities of `count` values standardised to `z` (last axis), added up.
fn log_normal_sum(g: &mut Graph, z: NodeId, scale: NodeId, count: usize) -> NodeId {
    let squares = g.square(z);
    let squares = g.sum_last(squares);
    let half = g.scale(squares, -0.5);
    let log_scale = g.log(scale);
    let normaliser = g.scale(log_scale, count as f64);
    let normaliser = g.shift(normaliser, HALF_LOG_TWO_PI * count as f64);
    g.sub(half, normaliser)
}
