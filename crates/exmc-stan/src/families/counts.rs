//! Distributions of counts: rows, and formulas of those that exmc-model has not, or has under other
//! parameters.
//!
//! **Reference**: Stan functions reference, chapters on binary, bounded and unbounded discrete
//! distributions.

use exmc_graph::{Graph, NodeId, Tensor};
use exmc_math as m;
use exmc_math::random::{ChainRng, draws};
use exmc_model::Support;

use super::Slot::{Int, Ints, Reals};
use super::{ALL, DENSITY, Outside, RNG};
use super::{Family, Tail, above, count, positive, real, row};
use crate::library::known;

/// See the module.
pub(super) const ROWS: &[Family] = &[
    row("bernoulli", &[Ints, Reals], ALL).model("bernoulli"),
    row("bernoulli_logit", &[Ints, Reals], RNG)
        .model("bernoulli_logit")
        .may_be_infinite(&[1])
        .laplace(3),
    row("beta_binomial", &[Ints, Ints, Reals, Reals], ALL)
        .formula(
            Support::CountUpTo(0),
            &[count("N"), positive("alpha"), positive("beta")],
            beta_binomial,
        )
        .summed_tails(beta_binomial_tail, |_, p| p[0])
        .draws(|rng, a| {
            let p = draws::beta(rng, a[1], a[2]);
            draws::binomial(rng, a[0], p)
        })
        .outside(Outside::Impossible),
    row("beta_neg_binomial", &[Ints, Reals, Reals, Reals], ALL)
        .formula(
            Support::Count,
            &[positive("r"), positive("alpha"), positive("beta")],
            beta_neg_binomial,
        )
        .summed_tails(beta_neg_binomial_tail, |y, _| y)
        .draws(|rng, a| {
            let p = draws::beta(rng, a[1], a[2]);
            gamma_poisson(rng, a[0], (1.0 - p) / p)
        }),
    row("binomial", &[Ints, Ints, Reals], ALL).model("binomial"),
    row("binomial_logit", &[Ints, Ints, Reals], DENSITY).model("binomial_logit"),
    row("discrete_range", &[Ints, Ints, Ints], ALL)
        .formula(
            Support::Between { lower: Some(0), upper: Some(1) },
            &[real("lower"), real("upper")],
            discrete_range,
        )
        .tails(discrete_range_tail)
        .draws(|rng, a| {
            if a[0] > a[1] { f64::NAN } else { a[0] + rng.below((a[1] - a[0]) as u64 + 1) as f64 }
        })
        .outside(Outside::Impossible)
        .picks(),
    row("hypergeometric", &[Int, Int, Int, Int], RNG)
        .formula(Support::CountUpTo(0), &[count("N"), count("a"), count("b")], hypergeometric)
        .draws(draw_hypergeometric),
    row("neg_binomial", &[Ints, Reals, Reals], ALL)
        .through(
            Support::Count,
            &[positive("alpha"), positive("beta")],
            "negative_binomial",
            mean_dispersion,
        )
        .draws(|rng, a| gamma_poisson(rng, a[0], 1.0 / a[1])),
    row("neg_binomial_2", &[Ints, Reals, Reals], ALL)
        .model("negative_binomial")
        .draws(|rng, a| gamma_poisson(rng, a[1], a[0] / a[1])),
    row("neg_binomial_2_log", &[Ints, Reals, Reals], RNG)
        .formula(Support::Count, &[real("eta"), positive("phi")], neg_binomial_2_log)
        .draws(|rng, a| gamma_poisson(rng, a[1], m::exp(a[0]) / a[1]))
        .laplace(4),
    row("poisson", &[Ints, Reals], ALL).model("poisson").may_be_infinite(&[1]),
    row("poisson_log", &[Ints, Reals], RNG).model("poisson_log").may_be_infinite(&[1]).laplace(3),
    row("yule_simon", &[Ints, Reals], ALL)
        .formula(Support::Positive, &[positive("alpha")], yule_simon)
        .tails(yule_simon_tail)
        .draws(|rng, a| {
            let p = m::exp(-rng.standard_exponential() / a[0]);
            // Trials up to the first success.
            1.0 + (m::log(rng.uniform_open()) / m::log1m(p)).floor()
        }),
];

/// A Poisson count whose rate is gamma distributed.
fn gamma_poisson(rng: &mut ChainRng, shape: f64, scale: f64) -> f64 {
    let rate = draws::gamma(rng, shape) * scale;
    draws::poisson(rng, rate)
}

/// White balls among `a[0]` drawn without putting back from `a[1]` white and `a[2]` others: ball by
/// ball.
fn draw_hypergeometric(rng: &mut ChainRng, a: &[f64]) -> f64 {
    let (drawn, mut white, mut others) = (a[0], a[1], a[2]);
    if drawn > white + others {
        return f64::NAN;
    }
    let mut count = 0.0;
    for _ in 0..drawn as u64 {
        if rng.uniform() * (white + others) < white {
            white -= 1.0;
            count += 1.0;
        } else {
            others -= 1.0;
        }
    }
    count
}

/// The mean and dispersion of a negative binomial with shape alpha and inverse scale beta.
fn mean_dispersion(g: &mut Graph, p: &[NodeId]) -> [NodeId; 2] {
    [g.div(p[0], p[1]), p[0]]
}

/// $y\eta - (y+\phi)\log(e^\eta+\phi) + \phi\log\phi + \log\binom{y+\phi-1}{y}$, as
/// $-y(\log\phi-\eta) - (y+\phi)\log(1+e^{\eta-\log\phi}) + \log\binom{y+\phi-1}{y}$.
fn neg_binomial_2_log(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let log_phi = g.log(p[1]);
    let odds = g.sub(p[0], log_phi);
    let gained = g.mul(y, odds);
    let trials = g.add(y, p[1]);
    let softplus = g.softplus(odds);
    let lost = g.mul(trials, softplus);
    let kernel = g.sub(gained, lost);
    let ways = log_ways(g, y, p[1]);
    g.add(kernel, ways)
}

/// $\log\binom{y+r-1}{y} = -\log B(y+1, r) - \log(y+r)$
fn log_ways(g: &mut Graph, y: NodeId, r: NodeId) -> NodeId {
    let next = g.shift(y, 1.0);
    let log_beta = g.lbeta(next, r);
    let total = g.add(y, r);
    let log_total = g.log(total);
    let sum = g.add(log_beta, log_total);
    g.neg(sum)
}

/// $\log\binom nk = -\log(n+1) - \log B(k+1, n-k+1)$
fn log_choose(g: &mut Graph, n: NodeId, k: NodeId) -> NodeId {
    let left = g.sub(n, k);
    let (left, next) = (g.shift(left, 1.0), g.shift(k, 1.0));
    let (log_beta, log_n) = (g.lbeta(next, left), g.log1p(n));
    let sum = g.add(log_beta, log_n);
    g.neg(sum)
}

/// $\log\binom Ny + \log B(y+\alpha, N-y+\beta) - \log B(\alpha, \beta)$
fn beta_binomial(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let ways = log_choose(g, p[0], y);
    let left = g.sub(p[0], y);
    let (a, b) = (g.add(y, p[1]), g.add(left, p[2]));
    let (after, before) = (g.lbeta(a, b), g.lbeta(p[1], p[2]));
    let ratio = g.sub(after, before);
    g.add(ways, ratio)
}

/// $\log\binom{y+r-1}y + \log B(\beta+y, \alpha+r) - \log B(\beta, \alpha)$
fn beta_neg_binomial(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let ways = log_ways(g, y, p[0]);
    let (a, b) = (g.add(p[2], y), g.add(p[1], p[0]));
    let (after, before) = (g.lbeta(a, b), g.lbeta(p[2], p[1]));
    let ratio = g.sub(after, before);
    g.add(ways, ratio)
}

/// The largest number of terms that a sum over outcomes has, whose count is known.
pub(super) fn terms(g: &Graph, last: NodeId) -> Option<usize> {
    /// More would take too much memory.
    const MOST: f64 = 1e6;
    let values = known(g, last)?;
    let largest = values.iter().fold(0.0_f64, |a, b| a.max(*b));
    (largest * values.len() as f64 <= MOST).then_some(largest as usize + 1)
}

/// The logarithm of the sum of a mass over all outcomes from zero that are counted, along one more
/// axis: `counts` says which, from the outcomes, y and the parameters.
fn log_sum(
    g: &mut Graph,
    (y, p): (NodeId, &[NodeId]),
    terms: usize,
    counts: impl FnOnce(&mut Graph, NodeId, NodeId, &[NodeId]) -> NodeId,
    mass: fn(&mut Graph, NodeId, &[NodeId]) -> NodeId,
) -> NodeId {
    let column = |g: &mut Graph, x: NodeId| {
        let shape = g.shape(x).join(&[1]);
        g.reshape(x, shape)
    };
    let y = column(g, y);
    let p: Vec<NodeId> = p.iter().map(|x| column(g, *x)).collect();
    let numbers: Vec<f64> = (0..terms).map(|k| k as f64).collect();
    let numbers = g.constant(Tensor::vector(&numbers));
    let is_counted = counts(g, numbers, y, &p);
    let (zero, never) = (g.scalar(0.0), g.scalar(f64::NEG_INFINITY));
    let safe = g.select(is_counted, numbers, zero);
    let each = mass(g, safe, &p);
    let each = g.select(is_counted, each, never);
    let last = g.shape(each).rank() - 1;
    g.log_sum_exp(each, last)
}

/// The sum of the mass from either end: both are exact to their own size.
fn beta_binomial_tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
    let terms = terms(g, p[0]).expect("the caller asked whether there are");
    let below = g.scalar(-1.0);
    above(g, y, below, tail, |g, y| match tail {
        Tail::Lower => log_sum(
            g,
            (y, p),
            terms,
            |g, k, y, p| {
                let (inside, below) = (g.le(k, p[0]), g.le(k, y));
                g.and(inside, below)
            },
            beta_binomial,
        ),
        Tail::Upper => {
            // Where nothing lies above, the sum sees a point inside.
            let (last, never) = (g.le(p[0], y), g.scalar(f64::NEG_INFINITY));
            let before = g.shift(p[0], -1.0);
            let safe = g.select(last, before, y);
            let value = log_sum(
                g,
                (safe, p),
                terms,
                |g, k, y, p| {
                    let (inside, above) = (g.le(k, p[0]), g.lt(y, k));
                    g.and(inside, above)
                },
                beta_binomial,
            );
            g.select(last, never, value)
        }
    })
}

/// The sum of the mass up to y; what lies above is the rest, to the rounding of one.
fn beta_neg_binomial_tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
    let terms = terms(g, y).expect("the caller asked whether there are");
    let below = g.scalar(-1.0);
    above(g, y, below, tail, |g, y| {
        let lower = log_sum(g, (y, p), terms, |g, k, y, _| g.le(k, y), beta_neg_binomial);
        if tail == Tail::Lower { lower } else { g.log1m_exp(lower) }
    })
}

/// $P(Y > y) = y\,B(y, \alpha+1)$
fn yule_simon_tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
    let zero = g.scalar(0.0);
    above(g, y, zero, tail, |g, y| {
        let next = g.shift(p[0], 1.0);
        let (log_y, log_beta) = (g.log(y), g.lbeta(y, next));
        let upper = g.add(log_y, log_beta);
        if tail == Tail::Upper { upper } else { g.log1m_exp(upper) }
    })
}

/// $\log\alpha + \log B(y, \alpha+1)$, for y from one.
fn yule_simon(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let next = g.shift(p[0], 1.0);
    let (log_alpha, log_beta) = (g.log(p[0]), g.lbeta(y, next));
    g.add(log_alpha, log_beta)
}

/// $\log\binom ay + \log\binom b{N-y} - \log\binom{a+b}N$
fn hypergeometric(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let rest = g.sub(p[0], y);
    let all = g.add(p[1], p[2]);
    let (first, second) = (log_choose(g, p[1], y), log_choose(g, p[2], rest));
    let total = log_choose(g, all, p[0]);
    let sum = g.add(first, second);
    g.sub(sum, total)
}

fn width(g: &mut Graph, p: &[NodeId]) -> NodeId {
    let width = g.sub(p[1], p[0]);
    g.shift(width, 1.0)
}

/// $-\log(u - l + 1)$
fn discrete_range(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let width = width(g, p);
    let log_width = g.log(width);
    let density = g.neg(log_width);
    let shape = g.shape(y).clone();
    match g.shape(density).broadcast(&shape) {
        Some(common) => g.broadcast_to(density, &common),
        None => density,
    }
}

fn discrete_range_tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
    let floored_y = g.floor(y);
    let count = match tail {
        Tail::Lower => {
            let below = g.sub(floored_y, p[0]);
            g.shift(below, 1.0)
        }
        Tail::Upper => g.sub(p[1], floored_y),
    };
    let (width, zero) = (width(g, p), g.scalar(0.0));
    let count = g.min(count, width);
    let count = g.max(count, zero);
    let fraction = g.div(count, width);
    g.log(fraction)
}
