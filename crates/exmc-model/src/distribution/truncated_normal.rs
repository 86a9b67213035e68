//! Truncated normal distribution: location and standard deviation of the whole, lower and upper
//! limit.

use exmc_graph::{Graph, NodeId};
use exmc_math::random::{ChainRng, draws};
use exmc_math::{exp, log_diff_exp, log_std_normal_cdf};

use super::counts::better_tail;
use super::normal::{HALF_LOG_TWO_PI, standardise};
use super::tails::{lower_tail, upper_tail};
use super::{Distribution, Parameter};
use crate::support::Support;

/// TruncatedNormal(mu, sigma, lower, upper).
#[derive(Debug)]
pub(crate) struct TruncatedNormal;

impl Distribution for TruncatedNormal {
    fn name(&self) -> &'static str {
        "truncated_normal"
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Real).or(&["loc"]),
            Parameter::new("sigma", Support::Positive).or(&["scale"]),
            Parameter::new("lower", Support::Real).or(&["lo", "low"]).default(f64::NEG_INFINITY),
            Parameter::new("upper", Support::Real).or(&["hi", "high"]).default(f64::INFINITY),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Between { lower: Some(2), upper: Some(3) }
    }

    /// $-\tfrac12 z^2 - \log\sigma - \tfrac12\log 2\pi - \log(\Phi(b) - \Phi(a))$, where $z =
    /// (y-\mu)/\sigma$ and a, b are the standardised limits, which may be infinite.
    ///
    /// **Numerics**: the mass between the limits is a difference of log tails on the side away from
    /// the mean, and a series in its width where the limits nearly agree on the scale of sigma.
    /// **Reference**: Johnson, Kotz and Balakrishnan 1994, section 13.10.1.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, sigma, lower, upper] = args else { unreachable!("four parameters") };
        let z = standardise(g, y, mu, sigma);
        let square = g.square(z);
        let half = g.scale(square, -0.5);
        let log_sigma = g.log(sigma);
        let normaliser = g.shift(log_sigma, HALF_LOG_TWO_PI);
        let log_mass = log_normal_mass(g, mu, sigma, [lower, upper]);
        let normaliser = g.add(normaliser, log_mass);
        g.sub(half, normaliser)
    }

    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let limits = [args[2], args[3]].map(Some);
        Some(lower_tail(g, y, limits, args[3], |g, y| {
            let [below, above] = log_tails(g, y, args);
            better_tail(g, below, above)
        }))
    }

    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        let limits = [args[2], args[3]].map(Some);
        Some(upper_tail(g, y, limits, args[2], |g, y| {
            let [below, above] = log_tails(g, y, args);
            better_tail(g, above, below)
        }))
    }

    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let (mu, sigma, lower, upper) = (args[0][0], args[1][0], args[2][0], args[3][0]);
        let z = draws::truncated_normal(rng, (lower - mu) / sigma, (upper - mu) / sigma);
        let x = mu + sigma * z;
        // Rounding may step over a limit; NaN stays what it is.
        out[0] = if x < lower {
            lower
        } else if x > upper {
            upper
        } else {
            x
        };
    }

    /// With the densities at the limits over the mass, $p_a = \phi(a)/Z$ and $p_b = \phi(b)/Z$:
    /// mean $\mu + \sigma(p_a - p_b)$ and variance $\sigma^2(1 + a p_a - b p_b - (p_a-p_b)^2)$.
    ///
    /// **Numerics**: the variance loses digits as $10^{-16}a^4$ in a tail (`None` from $a = 1000$
    /// on) and as $10^{-16}(b-a)^{-2}$ between close limits, which from 1/1000 on count as a
    /// uniform interval.
    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let &[mu, sigma, lower, upper] = args else { unreachable!("four parameters") };
        let (a, b) = ((lower - mu) / sigma, (upper - mu) / sigma);
        if (b - a) * (1.0 + a.abs().max(b.abs())) < 1e-3 {
            let width = upper - lower;
            let tilt = -0.5 * (a + b) * (b - a);
            let mean = lower + 0.5 * width + width * tilt / 12.0;
            return Some((mean, width * width / 12.0));
        }
        if a > 1e3 || b < -1e3 {
            return None;
        }
        let (near, far) = if a + b > 0.0 { (-a, -b) } else { (b, a) };
        let log_mass = log_diff_exp(log_std_normal_cdf(near), log_std_normal_cdf(far));
        let density = |z: f64| exp(-0.5 * z * z - HALF_LOG_TWO_PI - log_mass);
        let times = |z: f64, p: f64| if p == 0.0 { 0.0 } else { z * p };
        let (p_a, p_b) = (density(a), density(b));
        let shift = p_a - p_b;
        let variance = 1.0 + times(a, p_a) - times(b, p_b) - shift * shift;
        Some((mu + sigma * shift, sigma * sigma * variance))
    }
}

/// The log probabilities of less and of more than y, which lies between the limits.
fn log_tails(g: &mut Graph, y: NodeId, args: &[NodeId]) -> [NodeId; 2] {
    let &[mu, sigma, lower, upper] = args else { unreachable!("four parameters") };
    let total_mass = log_normal_mass(g, mu, sigma, [lower, upper]);
    [[lower, y], [y, upper]].map(|part| {
        let part = log_normal_mass(g, mu, sigma, part);
        g.sub(part, total_mass)
    })
}

/// $\log(\Phi(b) - \Phi(a))$ for the limits standardised by mu and sigma; a limit may be infinite.
///
/// **Numerics**: the interval is mirrored where it lies right of the mean, so that both terms are
/// left tails; where $(b-a)(1+|m|) < 1/100$ for its middle m, the two would agree in their first
/// digits and $\log\phi(m) + \log(b-a) + \log(1 + (m^2-1)\tfrac{(b-a)^2}{24} +
/// (m^4-6m^2+3)\tfrac{(b-a)^4}{1920})$ has relative error $10^{-16}$. No branch that is not taken
/// sees a value whose derivative is infinite.
fn log_normal_mass(
    g: &mut Graph,
    mu: NodeId,
    sigma: NodeId,
    [lower, upper]: [NodeId; 2],
) -> NodeId {
    /// Stands for an infinite standardised limit: its density and tail are zero, its square finite.
    const BEYOND: f64 = 1e100;
    let (minus_infinity, infinity) = (g.scalar(f64::NEG_INFINITY), g.scalar(f64::INFINITY));
    let no_lower = g.eq(lower, minus_infinity);
    let no_upper = g.eq(upper, infinity);
    let inner_lower = g.select(no_lower, mu, lower);
    let inner_upper = g.select(no_upper, mu, upper);
    let a = standardise(g, inner_lower, mu, sigma);
    let b = standardise(g, inner_upper, mu, sigma);
    let (far_left, far_right) = (g.scalar(-BEYOND), g.scalar(BEYOND));
    let a = g.select(no_lower, far_left, a);
    let b = g.select(no_upper, far_right, b);

    let (zero, one) = (g.scalar(0.0), g.scalar(1.0));
    let sum = g.add(a, b);
    let is_right = g.lt(zero, sum);
    let (mirrored_a, mirrored_b) = (g.neg(a), g.neg(b));
    let near = g.select(is_right, mirrored_a, b);
    let far = g.select(is_right, mirrored_b, a);

    let middle = g.scale(sum, 0.5);
    let width = g.sub(inner_upper, inner_lower);
    let width = g.div(width, sigma);
    let size = g.abs(middle);
    let size = g.shift(size, 1.0);
    let relative_width = g.mul(width, size);
    let limit = g.scalar(1e-2);
    let is_narrow = g.lt(relative_width, limit);
    let is_open = g.or(no_lower, no_upper);
    let is_closed = g.not(is_open);
    let is_narrow = g.and(is_narrow, is_closed);

    let near = g.select(is_narrow, one, near);
    let far = g.select(is_narrow, zero, far);
    let log_near = g.log_normal_cdf(near);
    let log_far = g.log_normal_cdf(far);
    let difference = g.log_diff_exp(log_near, log_far);

    let middle = g.select(is_narrow, middle, zero);
    let width = g.select(is_narrow, width, one);
    let series = log_narrow_mass(g, middle, width);
    g.select(is_narrow, series, difference)
}

/// The log mass of a standard normal between $m \pm w/2$ for a small w.
fn log_narrow_mass(g: &mut Graph, middle: NodeId, width: NodeId) -> NodeId {
    let m2 = g.square(middle);
    let w2 = g.square(width);
    let second = g.shift(m2, -1.0);
    let second = g.mul(second, w2);
    let second = g.scale(second, 1.0 / 24.0);
    let fourth = g.shift(m2, -6.0);
    let fourth = g.mul(fourth, m2);
    let fourth = g.shift(fourth, 3.0);
    let w4 = g.square(w2);
    let fourth = g.mul(fourth, w4);
    let fourth = g.scale(fourth, 1.0 / 1920.0);
    let series = g.add(second, fourth);
    let series = g.log1p(series);
    let density = g.scale(m2, -0.5);
    let density = g.shift(density, -HALF_LOG_TWO_PI);
    let log_width = g.log(width);
    let total = g.add(density, log_width);
    g.add(total, series)
}
