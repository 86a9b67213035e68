//! Student's t distribution: degrees of freedom, location and scale.

use std::f64::consts::LN_2;

use exmc_graph::{Graph, NodeId, Ternary};
use exmc_math::random::{ChainRng, draws};

use super::normal::standardise;
use super::tails::{REAL_LINE, lower_tail, upper_tail};
use super::{Distribution, LocationScale, Parameter};
use crate::support::Support;

/// StudentT(nu, mu, sigma).
#[derive(Debug)]
pub(crate) struct StudentT;

impl Distribution for StudentT {
    fn name(&self) -> &'static str {
        "student_t"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("nu", Support::Positive).or(&["df"]),
            Parameter::new("mu", Support::Real).or(&["loc"]),
            Parameter::new("sigma", Support::Positive).or(&["scale"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Real
    }

    /// $-\tfrac{\nu+1}2\log(1 + z^2/\nu) - \log B(\tfrac\nu2, \tfrac12) - \tfrac12\log\nu -
    /// \log\sigma$ with $z = (y-\mu)/\sigma$.
    ///
    /// **Numerics**: the beta function in place of two gamma functions, which cancel for large
    /// degrees of freedom; right for $|z| < 10^{154}$, $-\infty$ beyond. **Reference**: Gelman et
    /// al. 2013, appendix A.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[nu, mu, sigma] = args else { unreachable!("three parameters") };
        let z = standardise(g, y, mu, sigma);
        log_density(g, z, nu, sigma)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[nu, mu, sigma] = args else { unreachable!("three parameters") };
        Some(lower_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, sigma);
            log_cdf(g, z, nu)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let &[nu, mu, sigma] = args else { unreachable!("three parameters") };
        Some(upper_tail(g, y, REAL_LINE, mu, |g, y| {
            let z = standardise(g, y, mu, sigma);
            let mirrored = g.neg(z);
            log_cdf(g, mirrored, nu)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        out[0] = args[1][0] + args[2][0] * draws::student_t(rng, args[0][0]);
    }

    /// The variance exists for more than two degrees of freedom.
    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let &[nu, mu, sigma] = args else { unreachable!("three parameters") };
        (nu > 2.0).then(|| (mu, sigma * sigma * (nu / (nu - 2.0))))
    }

    fn location_scale(&self) -> Option<LocationScale> {
        Some(LocationScale { location: Some(1), scale: 2 })
    }
}

/// The log density of a Student's t with scale sigma at the standardised outcome z.
pub(super) fn log_density(g: &mut Graph, z: NodeId, nu: NodeId, sigma: NodeId) -> NodeId {
    let square = g.square(z);
    let ratio = g.div(square, nu);
    let log_kernel = g.log1p(ratio);
    let power = g.scale(nu, 0.5);
    let power = g.shift(power, 0.5);
    let cost = g.mul(power, log_kernel);
    let half = g.scalar(0.5);
    let half_nu = g.mul(half, nu);
    let log_beta = g.lbeta(half_nu, half);
    let log_nu = g.log(nu);
    let half_log_nu = g.scale(log_nu, 0.5);
    let log_sigma = g.log(sigma);
    let normaliser = g.add(log_beta, half_log_nu);
    let normaliser = g.add(normaliser, log_sigma);
    let total = g.add(cost, normaliser);
    g.neg(total)
}

/// $\log P(|T| \le |z|)$ and $\log P(|T| > |z|)$ for a finite $z \ne 0$.
///
/// **Numerics**: $P(|T| > |z|) = I_x(\nu/2, 1/2)$ with $x = \nu/(\nu+z^2)$, and the complement with
/// $1-x$; each is taken from the other where its own argument rounds to 1. For more than $10^6$
/// degrees of freedom the relative error grows as $10^{-16}\nu$, that of x raised to a large power.
pub(super) fn log_two_sided(g: &mut Graph, z: NodeId, nu: NodeId) -> [NodeId; 2] {
    /// $\log 0.9$
    const SWITCH: f64 = -0.105_360_515_657_826_3;
    let (half, one) = (g.scalar(0.5), g.scalar(1.0));
    let half_nu = g.mul(half, nu);
    let square = g.square(z);
    let ratio = g.div(square, nu);
    let total = g.shift(ratio, 1.0);
    let far = g.reciprocal(total);
    // One over one plus the inverse ratio, so that an infinite ratio gives 1.
    let inverse = g.div(nu, square);
    let inverse = g.shift(inverse, 1.0);
    let near = g.reciprocal(inverse);
    // Where an argument rounds to 1 its function is not used; 1/2 keeps the derivative finite.
    let is_far = g.le(one, ratio);
    let is_near = g.not(is_far);
    let near = g.select(is_far, half, near);
    let rounds = g.le(one, far);
    let is_below_one = g.not(rounds);
    let far = g.select(rounds, half, far);
    let inside = g.ternary(Ternary::LogBetaInc, half, half_nu, near);
    let outside = g.ternary(Ternary::LogBetaInc, half_nu, half, far);
    let limit = g.scalar(SWITCH);
    let inside_is_small = g.lt(inside, limit);
    let outside_is_small = g.lt(outside, limit);
    let outside_is_small = g.and(is_below_one, outside_is_small);
    let complement_of_inside = g.and(is_near, inside_is_small);
    let complement_of_outside = g.or(is_far, outside_is_small);
    let harmless = g.scalar(-LN_2);
    let safe = g.select(complement_of_inside, inside, harmless);
    let complement = g.log1m_exp(safe);
    let better_outside = g.select(complement_of_inside, complement, outside);
    let safe = g.select(complement_of_outside, outside, harmless);
    let complement = g.log1m_exp(safe);
    let better_inside = g.select(complement_of_outside, complement, inside);
    [better_inside, better_outside]
}

/// $\log P(T \le z)$ for a finite z.
///
/// **Numerics**: half the two-sided tail, or its complement; next to 0, where the beta function has
/// an infinite derivative, $\log(\tfrac12 + f(0) z)$ with relative error $10^{-16}$.
fn log_cdf(g: &mut Graph, z: NodeId, nu: NodeId) -> NodeId {
    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    // The curvature of the density at 0 is (nu + 1) / nu.
    let square = g.square(z);
    let inverse_nu = g.reciprocal(nu);
    let curvature = g.shift(inverse_nu, 1.0);
    let bend = g.mul(curvature, square);
    let limit = g.scalar(1e-10);
    let is_centre = g.lt(bend, limit);

    let density = log_density(g, zero, nu, one);
    let density = g.exp(density);
    let central = g.select(is_centre, z, zero);
    let step = g.mul(density, central);
    let step = g.scale(step, 2.0);
    let step = g.log1p(step);
    let centre = g.shift(step, -LN_2);

    let away = g.select(is_centre, one, z);
    let [_, tail] = log_two_sided(g, away, nu);
    let half_tail = g.shift(tail, -LN_2);
    let other_half = g.log1m_exp(half_tail);
    let is_left = g.lt(away, zero);
    let side = g.select(is_left, half_tail, other_half);
    g.select(is_centre, centre, side)
}
