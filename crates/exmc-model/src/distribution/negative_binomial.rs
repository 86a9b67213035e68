//! Negative binomial distribution by its **mean** and **dispersion**: variance $\mu + \mu^2/\phi$.

use exmc_graph::{Graph, NodeId, Ternary};
use exmc_math::random::{ChainRng, draws};

use super::counts::{MAX_COUNT, between};
use super::poisson::log_factorial;
use super::{Distribution, Parameter};
use crate::support::Support;

/// NegativeBinomial(mu, phi), Stan's `neg_binomial_2`.
#[derive(Debug)]
pub(crate) struct NegativeBinomial;

impl Distribution for NegativeBinomial {
    fn name(&self) -> &'static str {
        "negative_binomial"
    }

    fn aliases(&self) -> &'static [&'static str] {
        &["neg_binomial_2"]
    }

    fn parameters(&self) -> &'static [Parameter] {
        const PARAMETERS: &[Parameter] = &[
            Parameter::new("mu", Support::Positive).or(&["mean"]),
            Parameter::new("phi", Support::Positive).or(&["dispersion"]),
        ];
        PARAMETERS
    }

    fn support(&self) -> Support {
        Support::Count
    }

    /// $\log\binom{y+\phi-1}{y} + y\log\frac{\mu}{\mu+\phi} + \phi\log\frac{\phi}{\mu+\phi}$.
    ///
    /// **Numerics**: written as $r(y,\phi) + y\log\mu - (y+\phi)\log(1+\mu/\phi)$ with $r =
    /// \log\Gamma(y+\phi) - \log\Gamma(\phi) - y\log\phi - \log y!$. Below $\phi = 1000$, r comes
    /// from the beta function; above, from Stirling's series for the ratio of gammas, in which both
    /// the value and the derivative by phi keep their digits however large phi is (the limit is
    /// Poisson). **Reference**: Stan functions reference, `neg_binomial_2`; Abramowitz and Stegun
    /// 6.1.40.
    fn lpdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> NodeId {
        let &[mu, phi] = args else { unreachable!("two parameters") };
        let switch = g.scalar(SWITCH);
        let is_small = g.lt(phi, switch);
        // Each branch sees a dispersion of its own range, so the one not taken stays finite.
        let small = g.min(phi, switch);
        let small = log_ratio_by_beta(g, y, small);
        let large = g.max(phi, switch);
        let large = log_ratio_by_stirling(g, y, large);
        let ratio = g.select(is_small, small, large);
        let log_mu = g.log(mu);
        let gained = g.mul(y, log_mu);
        let relative = g.div(mu, phi);
        let log_total = g.log1p(relative);
        let trials = g.add(y, phi);
        let lost = g.mul(trials, log_total);
        let kernel = g.sub(gained, lost);
        g.add(kernel, ratio)
    }

    /// $\log I_{\phi/(\phi+\mu)}(\phi, \lfloor y\rfloor+1)$.
    ///
    /// **Numerics**: below probability $\mu/\phi(y+1)$ the relative error grows with phi, about
    /// $10^{-16}(y+1)\phi/\mu$.
    fn lcdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        Some(tail(g, y, args, false))
    }

    /// $\log I_{\mu/(\phi+\mu)}(\lfloor y\rfloor+1, \phi)$.
    fn lccdf(&self, g: &mut Graph, y: NodeId, args: &[NodeId]) -> Option<NodeId> {
        Some(tail(g, y, args, true))
    }

    /// A Poisson count of which the rate is gamma distributed with mean mu and shape phi.
    fn draw(&self, rng: &mut ChainRng, args: &[&[f64]], out: &mut [f64]) {
        let (mu, phi) = (args[0][0], args[1][0]);
        let rate = draws::gamma(rng, phi) * (mu / phi);
        out[0] = draws::poisson(rng, rate);
    }

    fn mean_variance(&self, args: &[f64]) -> Option<(f64, f64)> {
        let (mu, phi) = (args[0], args[1]);
        Some((mu, mu + mu * (mu / phi)))
    }
}

/// Dispersion from which Stirling's series is used: two of its terms leave $1/1260\phi^5 <
/// 10^{-18}$.
const SWITCH: f64 = 1000.0;

/// $r(y,\phi) = -\log B(y+1,\phi) - \log(y+\phi) - y\log\phi$.
fn log_ratio_by_beta(g: &mut Graph, y: NodeId, phi: NodeId) -> NodeId {
    let next = g.shift(y, 1.0);
    let log_beta = g.lbeta(next, phi);
    let trials = g.add(y, phi);
    let log_trials = g.log(trials);
    let log_phi = g.log(phi);
    let power = g.mul(y, log_phi);
    let sum = g.add(log_beta, log_trials);
    let sum = g.add(sum, power);
    g.neg(sum)
}

/// $r(y,\phi) = (\phi+y-\tfrac12)\log(1+y/\phi) - y + s(\phi+y) - s(\phi) - \log y!$ with
/// $s(x) = \frac1{12x} - \frac1{360x^3}$.
fn log_ratio_by_stirling(g: &mut Graph, y: NodeId, phi: NodeId) -> NodeId {
    let relative = g.div(y, phi);
    let log_growth = g.log1p(relative);
    let trials = g.add(y, phi);
    let power = g.shift(trials, -0.5);
    let growth = g.mul(power, log_growth);
    let after = stirling_correction(g, trials);
    let before = stirling_correction(g, phi);
    let correction = g.sub(after, before);
    let log_factorial = log_factorial(g, y);
    let of_count = g.add(y, log_factorial);
    let growth = g.add(growth, correction);
    g.sub(growth, of_count)
}

fn stirling_correction(g: &mut Graph, x: NodeId) -> NodeId {
    let inverse = g.reciprocal(x);
    let square = g.square(inverse);
    let second = g.scale(square, -1.0 / 360.0);
    let series = g.shift(second, 1.0 / 12.0);
    g.mul(inverse, series)
}

fn tail(g: &mut Graph, y: NodeId, args: &[NodeId], upper: bool) -> NodeId {
    let &[mu, phi] = args else { unreachable!("two parameters") };
    let (zero, infinity) = (g.scalar(0.0), g.scalar(f64::INFINITY));
    let largest = g.scalar(MAX_COUNT);
    let floor = g.floor(y);
    let k = g.min(floor, largest);
    let k = g.max(k, zero);
    let next = g.shift(k, 1.0);
    let total = g.add(mu, phi);
    let success = g.div(mu, total);
    let failure = g.div(phi, total);
    let above = g.ternary(Ternary::LogBetaInc, next, phi, success);
    let below = g.ternary(Ternary::LogBetaInc, phi, next, failure);
    let (certain, impossible) = (zero, g.scalar(f64::NEG_INFINITY));
    let values = if upper {
        let value = exact_tail(g, [above, below], [success, failure], phi);
        [certain, value, impossible]
    } else {
        let value = exact_tail(g, [below, above], [failure, success], next);
        [impossible, value, certain]
    };
    between(g, y, [zero, infinity], values)
}

/// The log of a probability p, of which `direct` is one by the incomplete beta function at x and
/// `other` the log of $1-p$ by that at $1-x$, both arguments given; `power` is the second shape of
/// the first.
///
/// **Numerics**: an argument below one half has all digits, one next to 1 has rounded what is left
/// to 1, which enters to the power of its shape. So p comes from the smaller argument; from $1-p$,
/// that costs the digits that p has less than 1, and is left where it costs more than the rounding.
fn exact_tail(
    g: &mut Graph,
    [direct, other]: [NodeId; 2],
    [x, rest]: [NodeId; 2],
    power: NodeId,
) -> NodeId {
    let (half, ten) = (g.scalar(0.5), g.scalar(10.0));
    let is_rounded = g.lt(half, x);
    let rounding = g.div(power, rest);
    let rounding = g.max(rounding, ten);
    let share = g.reciprocal(rounding);
    let share = g.neg(share);
    let limit = g.log1p(share);
    let is_large = g.lt(other, limit);
    let take_other = g.and(is_rounded, is_large);
    // The limit keeps the branch that is not taken (and its derivative) finite.
    let bounded = g.min(other, limit);
    let complement = g.log1m_exp(bounded);
    g.select(take_other, complement, direct)
}
