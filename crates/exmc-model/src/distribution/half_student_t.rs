//! Half Student's t distribution: the size of a Student's t with location 0.

use std::f64::consts::LN_2;

use exmc_graph::{Graph, NodeId};
use exmc_math::random::{ChainRng, draws};
use exmc_math::{exp, lbeta};

use super::student_t::{log_density, log_two_sided};
use super::tails::{lower_tail, positive, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// HalfStudentT(nu, sigma).
#[derive(Debug)]
pub(crate) struct HalfStudentT;

impl Distribution for HalfStudentT {
    fn name(&self) -> &'static str {
        "half_student_t"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("nu", Support::Positive).or(&["df"]),
            Parameter::new("sigma", Support::Positive).or(&["scale"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Positive
    }

    /// $\log 2$ more than the Student's t with location 0, and as accurate. **Reference**:
    /// Gelman 2006.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[nu, sigma] = args else { unreachable!("two parameters") };
        let z = g.div(y, sigma);
        // Half of the scale doubles the density and costs nothing by outcome.
        let half = g.scale(sigma, 0.5);
        log_density(g, z, nu, half)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[nu, sigma] = args else { unreachable!("two parameters") };
        let limits = positive(g);
        Some(lower_tail(g, y, limits, sigma, |g, y| {
            let z = g.div(y, sigma);
            log_two_sided(g, z, nu)[0]
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[nu, sigma] = args else { unreachable!("two parameters") };
        let limits = positive(g);
        Some(upper_tail(g, y, limits, sigma, |g, y| {
            let z = g.div(y, sigma);
            log_two_sided(g, z, nu)[1]
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[1][0] * draws::student_t(rng, args[0][0]).abs();
    }

    /// The mean is $2\sigma\sqrt\nu / ((\nu-1) B(\nu/2, 1/2))$; the variance exists for $\nu > 2$.
    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let &[nu, sigma] = args else { unreachable!("two parameters") };
        (nu > 2.0).then(|| {
            let mean = exp(LN_2 - lbeta(0.5 * nu, 0.5)) * nu.sqrt() / (nu - 1.0);
            (sigma * mean, sigma * sigma * (nu / (nu - 2.0) - mean * mean))
        })
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: None, scale: 1 })
    }
}
