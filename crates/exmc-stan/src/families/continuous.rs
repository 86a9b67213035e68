//! Continuous distributions of numbers: rows, and formulas of those that exmc-model has not, or has
//! under other parameters.
//!
//! **Reference**: Stan functions reference, chapters on unbounded, positive and bounded continuous
//! distributions.

use std::f64::consts::{LN_2, SQRT_2};

use exmc_graph::{Graph, NodeId};
use exmc_math as m;
use exmc_math::random::{ChainRng, draws};
use exmc_model::Support;
use exmc_model::distribution::Parameter;

use super::Slot::{Numbers, Reals};
use super::{ALL, CDFS, Functions, Outside, Scale};
use super::{Family, Tail, above, positive, real, row, von_mises};
use crate::scalar_functions::exponentials::{log_inv_logit, log1m};

/// See the module.
pub(super) const ROWS: &[Family] = &[
    row("beta", &[Reals, Reals, Reals], ALL).model("beta"),
    row("beta_proportion", &[Reals, Reals, Numbers], Functions { cdf: false, ..CDFS })
        .forms(&[("rng", "reals, numbers -> real ~ real[]")])
        .through(
            Support::UnitOpen,
            &[Parameter::new("mu", Support::UnitOpen), positive("kappa")],
            "beta",
            beta_of_proportion,
        )
        .draws(|rng, a| draws::beta(rng, a[0] * a[1], (1.0 - a[0]) * a[1])),
    row("cauchy", &[Reals, Reals, Reals], ALL)
        .model("cauchy")
        .location(0, Scale::Elements)
        .symmetric(),
    row("chi_square", &[Reals, Reals], ALL).model("chi_square"),
    row("double_exponential", &[Reals, Reals, Reals], ALL)
        .model("laplace")
        .location(0, Scale::Elements)
        .symmetric(),
    row("exp_mod_normal", &[Reals, Reals, Reals, Reals], ALL)
        .formula(
            Support::Real,
            &[real("mu"), positive("sigma"), positive("lambda")],
            exp_mod_normal::lpdf,
        )
        .tails(exp_mod_normal::tail)
        .draws(|rng, a| a[0] + a[1] * rng.standard_normal() + rng.standard_exponential() / a[2])
        .may_be_infinite(&[2]),
    row("exponential", &[Reals, Reals], ALL).model("exponential"),
    row("frechet", &[Reals, Reals, Reals], ALL)
        .formula(Support::Positive, &[positive("alpha"), positive("sigma")], frechet::lpdf)
        .tails(frechet::tail)
        .draws(|rng, a| a[1] * m::pow(rng.standard_exponential(), -1.0 / a[0])),
    row("gamma", &[Reals, Reals, Reals], ALL).model("gamma"),
    row("gumbel", &[Reals, Reals, Reals], ALL).model("gumbel").location(0, Scale::Elements),
    row("inv_chi_square", &[Reals, Reals], ALL)
        .through(
            Support::Positive,
            &[positive("nu")],
            "inverse_gamma",
            inverse_gamma_of_inv_chi_square,
        )
        .draws(|rng, a| 1.0 / draws::chi_square(rng, a[0]))
        .outside(Outside::Impossible),
    row("inv_gamma", &[Reals, Reals, Reals], ALL)
        .model("inverse_gamma")
        .outside(Outside::Impossible),
    row("logistic", &[Reals, Reals, Reals], ALL)
        .model("logistic")
        .location(0, Scale::Elements)
        .symmetric(),
    row("loglogistic", &[Reals, Reals, Reals], Functions { lcdf: false, lccdf: false, ..ALL })
        .formula(Support::NonNegative, &[positive("alpha"), positive("beta")], loglogistic::lpdf)
        .tails(loglogistic::tail)
        .draws(|rng, a| a[0] * m::exp(m::logit(rng.uniform_open()) / a[1])),
    row("lognormal", &[Reals, Reals, Reals], ALL).model("lognormal").may_be_infinite(&[2]),
    row("normal", &[Reals, Reals, Reals], ALL)
        .model("normal")
        .location(0, Scale::Elements)
        .symmetric()
        .may_be_infinite(&[2]),
    row("pareto", &[Reals, Reals, Reals], ALL).model("pareto").outside(Outside::Impossible),
    row("pareto_type_2", &[Reals, Reals, Reals, Reals], ALL)
        .formula(
            Support::Between { lower: Some(0), upper: None },
            &[real("mu"), positive("lambda"), positive("alpha")],
            pareto_type_2::lpdf,
        )
        .tails(pareto_type_2::tail)
        .draws(|rng, a| a[0] + a[1] * m::expm1(rng.standard_exponential() / a[2])),
    row("rayleigh", &[Reals, Reals], ALL)
        .through(Support::Positive, &[positive("sigma")], "weibull", weibull_of_rayleigh)
        .draws(|rng, a| a[0] * (2.0 * rng.standard_exponential()).sqrt()),
    row("scaled_inv_chi_square", &[Reals, Reals, Reals], ALL)
        .through(
            Support::Positive,
            &[positive("nu"), positive("sigma")],
            "inverse_gamma",
            inverse_gamma_of_scaled_inv_chi_square,
        )
        .draws(|rng, a| a[0] * a[1] * a[1] / draws::chi_square(rng, a[0]))
        .outside(Outside::Impossible),
    row("skew_double_exponential", &[Reals, Reals, Reals, Reals], ALL)
        .formula(
            Support::Real,
            &[real("mu"), positive("sigma"), Parameter::new("tau", Support::UnitOpen)],
            skew_double_exponential::lpdf,
        )
        .tails(skew_double_exponential::tail)
        .draws(skew_double_exponential::draw),
    row("skew_normal", &[Reals, Reals, Reals, Reals], ALL).model("skew_normal"),
    row("std_normal", &[Reals], ALL).model("std_normal").symmetric(),
    row("student_t", &[Reals, Reals, Reals, Reals], ALL)
        .model("student_t")
        .location(1, Scale::Elements)
        .symmetric(),
    row("uniform", &[Reals, Reals, Reals], ALL).model("uniform").outside(Outside::Impossible),
    row("von_mises", &[Reals, Reals, Reals], ALL)
        .model("von_mises")
        .tails(von_mises::tail)
        .outside(Outside::Anywhere),
    row("weibull", &[Reals, Reals, Reals], ALL).model("weibull"),
];

/// One over a chi-square: inverse gamma with shape $\nu/2$ and scale $1/2$.
fn inverse_gamma_of_inv_chi_square(g: &mut Graph, p: &[NodeId]) -> [NodeId; 2] {
    [g.scale(p[0], 0.5), g.scalar(0.5)]
}

/// Inverse gamma with shape $\nu/2$ and scale $\nu\sigma^2/2$.
fn inverse_gamma_of_scaled_inv_chi_square(g: &mut Graph, p: &[NodeId]) -> [NodeId; 2] {
    let (shape, square) = (g.scale(p[0], 0.5), g.square(p[1]));
    [shape, g.mul(shape, square)]
}

/// Weibull with shape 2 and scale $\sqrt2\sigma$.
fn weibull_of_rayleigh(g: &mut Graph, p: &[NodeId]) -> [NodeId; 2] {
    [g.scalar(2.0), g.scale(p[0], SQRT_2)]
}

/// $\log\alpha - \log\sigma - (1+\alpha)u - e^{-\alpha u}$ with $u = \log(y/\sigma)$.
mod frechet {
    use super::{Graph, NodeId, Tail, above};

    fn log_ratio(g: &mut Graph, y: NodeId, sigma: NodeId) -> NodeId {
        let ratio = g.div(y, sigma);
        g.log(ratio)
    }

    pub(super) fn lpdf(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
        let u = log_ratio(g, y, p[1]);
        let scaled = g.mul(p[0], u);
        let minus = g.neg(scaled);
        let cost = g.exp(minus);
        let (log_shape, log_scale) = (g.log(p[0]), g.log(p[1]));
        let lead = g.sub(log_shape, log_scale);
        let power = g.add(scaled, u);
        let lead = g.sub(lead, power);
        g.sub(lead, cost)
    }

    pub(super) fn tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
        let zero = g.scalar(0.0);
        above(g, y, zero, tail, |g, y| {
            let u = log_ratio(g, y, p[1]);
            let scaled = g.mul(p[0], u);
            let minus = g.neg(scaled);
            let cost = g.exp(minus);
            let log_below = g.neg(cost);
            if tail == Tail::Lower { log_below } else { g.log1m_exp(log_below) }
        })
    }
}

/// $\log\beta - \log\alpha + (\beta-1)u - 2\log(1+e^{\beta u})$ with $u = \log(y/\alpha)$.
mod loglogistic {
    use super::{Graph, NodeId, Tail, above, log_inv_logit};

    fn log_odds(g: &mut Graph, y: NodeId, p: &[NodeId]) -> [NodeId; 2] {
        let ratio = g.div(y, p[0]);
        let u = g.log(ratio);
        [u, g.mul(p[1], u)]
    }

    pub(super) fn lpdf(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
        let [u, scaled] = log_odds(g, y, p);
        // Not the difference of both, which is infinity less itself at zero.
        let power = g.shift(p[1], -1.0);
        let power = g.mul(power, u);
        let softplus = g.softplus(scaled);
        let cost = g.scale(softplus, 2.0);
        let (log_beta, log_alpha) = (g.log(p[1]), g.log(p[0]));
        let lead = g.sub(log_beta, log_alpha);
        let lead = g.add(lead, power);
        g.sub(lead, cost)
    }

    pub(super) fn tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
        let zero = g.scalar(0.0);
        above(g, y, zero, tail, |g, y| {
            let [_, scaled] = log_odds(g, y, p);
            let odds = if tail == Tail::Lower { scaled } else { g.neg(scaled) };
            log_inv_logit(g, odds)
        })
    }
}

/// $\log\alpha - \log\lambda - (\alpha+1)\log(1 + (y-\mu)/\lambda)$
mod pareto_type_2 {
    use super::{Graph, NodeId, Tail, above};

    fn growth(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
        let distance = g.sub(y, p[0]);
        let ratio = g.div(distance, p[1]);
        g.log1p(ratio)
    }

    pub(super) fn lpdf(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
        let growth = growth(g, y, p);
        let power = g.shift(p[2], 1.0);
        let cost = g.mul(power, growth);
        let (log_alpha, log_lambda) = (g.log(p[2]), g.log(p[1]));
        let lead = g.sub(log_alpha, log_lambda);
        g.sub(lead, cost)
    }

    pub(super) fn tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
        above(g, y, p[0], tail, |g, y| {
            let growth = growth(g, y, p);
            let cost = g.mul(p[2], growth);
            let log_above = g.neg(cost);
            if tail == Tail::Upper { log_above } else { g.log1m_exp(log_above) }
        })
    }
}

/// A normal plus an exponential: $\log\lambda + \lambda(\mu - y) + \tfrac12\lambda^2\sigma^2 +
/// \log\Phi(z - \lambda\sigma)$ with $z = (y-\mu)/\sigma$.
mod exp_mod_normal {
    use super::{Graph, NodeId, Tail};

    /// $\tfrac12\log 2\pi$
    const HALF_LOG_TWO_PI: f64 = 0.918_938_533_204_672_8;

    /// z, and the log of $P(Y > y)$ that the exponential is to blame for.
    fn parts(g: &mut Graph, y: NodeId, p: &[NodeId]) -> [NodeId; 2] {
        let centred = g.sub(y, p[0]);
        let z = g.div(centred, p[1]);
        let spread = g.mul(p[2], p[1]);
        let square = g.square(spread);
        let half = g.scale(square, 0.5);
        let decay = g.mul(p[2], centred);
        let exponent = g.sub(half, decay);
        let shifted = g.sub(z, spread);
        let log_mass = g.log_normal_cdf(shifted);
        [z, g.add(exponent, log_mass)]
    }

    pub(super) fn lpdf(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
        let [_, log_part] = parts(g, y, p);
        let log_rate = g.log(p[2]);
        g.add(log_rate, log_part)
    }

    /// Standard deviations below the location from which the two terms of the distribution
    /// function, of the size $e^{-z^2/2}$, cancel too much.
    const FAR: f64 = 40.0;

    /// The log distribution function for z below -[`FAR`], $\log\phi(z) + \log(M(t) - M(t+s))$ with
    /// $t=-z$, $s=\lambda\sigma$ and Mills's ratio $M(t) = \frac1t - \frac1{t^3} + \frac3{t^5} -
    /// \ldots$
    ///
    /// **Numerics**: with $u=1/t$ and $v=1/(t+s)$ the differences of odd powers are $u-v = suv$
    /// times $\sum_j u^jv^{2k-j}$, so that nothing cancels; the next term is below $10^{-16}$.
    fn far_below(g: &mut Graph, z: NodeId, spread: NodeId) -> NodeId {
        /// $(-1)^k (2k-1)!!$ for k from 1.
        const MILLS: [f64; 6] = [-1.0, 3.0, -15.0, 105.0, -945.0, 10_395.0];
        let (least, minus) = (g.scalar(FAR), g.neg(z));
        let near = g.max(minus, least);
        let far = g.add(near, spread);
        let (u, v) = (g.reciprocal(near), g.reciprocal(far));
        let (mut sum, mut homogeneous, mut power) = (None, g.scalar(1.0), g.scalar(1.0));
        for coefficient in MILLS {
            for _ in 0..2 {
                power = g.mul(power, v);
                let risen = g.mul(homogeneous, u);
                homogeneous = g.add(risen, power);
            }
            let term = g.scale(homogeneous, coefficient);
            sum = Some(sum.map_or(term, |sum| g.add(sum, term)));
        }
        let rest = g.log1p(sum.expect("there are terms"));
        let square = g.square(near);
        let half = g.scale(square, -0.5);
        let (log_spread, log_near, log_far) = (g.log(spread), g.log(near), g.log(far));
        let lead = g.sub(log_spread, log_near);
        let lead = g.sub(lead, log_far);
        let lead = g.add(lead, rest);
        let value = g.add(half, lead);
        g.shift(value, -HALF_LOG_TWO_PI)
    }

    pub(super) fn tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
        // At infinity the formula sees the location.
        let (infinity, size) = (g.scalar(f64::INFINITY), g.abs(y));
        let is_end = g.eq(size, infinity);
        let inner = g.select(is_end, p[0], y);
        let [z, log_part] = parts(g, inner, p);
        let value = match tail {
            Tail::Lower => {
                let log_normal = g.log_normal_cdf(z);
                let near = g.log_diff_exp(log_normal, log_part);
                let limit = g.scalar(-FAR);
                let is_far = g.lt(z, limit);
                let spread = g.mul(p[2], p[1]);
                let far = far_below(g, z, spread);
                g.select(is_far, far, near)
            }
            Tail::Upper => {
                let mirrored = g.neg(z);
                let log_normal = g.log_normal_cdf(mirrored);
                g.log_add_exp(log_normal, log_part)
            }
        };
        let (nothing, everything) = (g.scalar(f64::NEG_INFINITY), g.scalar(0.0));
        let is_high = g.eq(y, infinity);
        let end = match tail {
            Tail::Lower => g.select(is_high, everything, nothing),
            Tail::Upper => g.select(is_high, nothing, everything),
        };
        g.select(is_end, end, value)
    }
}

/// $\log 2 + \log\tau + \log(1-\tau) - \log\sigma - \tfrac2\sigma\left((1-\tau)(\mu-y)_+ +
/// \tau(y-\mu)_+\right)$
mod skew_double_exponential {
    use super::{ChainRng, Graph, LN_2, NodeId, Tail, log1m, m};

    /// What is lost below and above the location.
    fn costs(g: &mut Graph, y: NodeId, p: &[NodeId]) -> [NodeId; 3] {
        let centred = g.sub(y, p[0]);
        let twice = g.scale(centred, 2.0);
        let z = g.div(twice, p[1]);
        let minus = g.neg(p[2]);
        let rest = g.shift(minus, 1.0);
        let (below, above) = (g.mul(rest, z), g.mul(p[2], z));
        [z, below, above]
    }

    pub(super) fn lpdf(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
        let [z, below, above] = costs(g, y, p);
        let zero = g.scalar(0.0);
        let is_below = g.lt(z, zero);
        let minus = g.neg(above);
        let kernel = g.select(is_below, below, minus);
        let (log_tau, log_rest) = (g.log(p[2]), log1m(g, p[2]));
        let log_weights = g.add(log_tau, log_rest);
        let log_scale = g.log(p[1]);
        let constant = g.sub(log_weights, log_scale);
        let constant = g.shift(constant, LN_2);
        g.add(constant, kernel)
    }

    pub(super) fn tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
        let [z, below, above] = costs(g, y, p);
        let zero = g.scalar(0.0);
        let is_below = g.lt(z, zero);
        // Each side's exponential, seen from its own side only.
        let below = g.min(below, zero);
        let log_tau = g.log(p[2]);
        let log_below = g.add(log_tau, below);
        let cost = g.max(above, zero);
        let log_rest = log1m(g, p[2]);
        let log_above = g.sub(log_rest, cost);
        match tail {
            Tail::Lower => {
                let complement = g.log1m_exp(log_above);
                g.select(is_below, log_below, complement)
            }
            Tail::Upper => {
                let complement = g.log1m_exp(log_below);
                g.select(is_below, complement, log_above)
            }
        }
    }

    /// By inversion: below mu with probability tau. **Reference**: Stan's functions reference.
    pub(super) fn draw(rng: &mut ChainRng, a: &[f64]) -> f64 {
        let (mu, sigma, tau) = (a[0], a[1], a[2]);
        let u = rng.uniform_open();
        if u < tau {
            mu + sigma * m::log(u / tau) / (2.0 * (1.0 - tau))
        } else {
            mu - sigma * m::log((1.0 - u) / (1.0 - tau)) / (2.0 * tau)
        }
    }
}

/// Beta with shapes $\mu\kappa$ and $(1-\mu)\kappa$.
fn beta_of_proportion(g: &mut Graph, p: &[NodeId]) -> [NodeId; 2] {
    let minus = g.neg(p[0]);
    let rest = g.shift(minus, 1.0);
    [g.mul(p[0], p[1]), g.mul(rest, p[1])]
}
