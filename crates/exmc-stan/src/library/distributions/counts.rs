//! Distributions of counts and categories of Stan's that exmc-model has not, or has under other
//! parameters.
//!
//! **Reference**: Stan functions reference, chapters on bounded, unbounded and multivariate
//! discrete distributions.

use exmc_graph::{Graph, NodeId, Shape, Tensor};
use exmc_model::Support;
use exmc_model::distribution::Parameter;

use super::{Formula, Tail, above, family, tail_of};
use crate::library::align::known;

const fn positive(name: &'static str) -> Parameter {
    Parameter::new(name, Support::Positive)
}

const fn count(name: &'static str) -> Parameter {
    Parameter::new(name, Support::Count)
}

/// See the module.
pub(super) const FORMULAS: &[Formula] = &[
    Formula {
        name: "neg_binomial",
        parameters: &[positive("alpha"), positive("beta")],
        support: Support::Count,
        event_rank: 0,
        lpdf: neg_binomial,
        tails: Some(neg_binomial_tail),
    },
    Formula {
        name: "neg_binomial_2_log",
        parameters: &[Parameter::new("eta", Support::Real), positive("phi")],
        support: Support::Count,
        event_rank: 0,
        lpdf: neg_binomial_2_log,
        tails: None,
    },
    Formula {
        name: "beta_binomial",
        parameters: &[count("N"), positive("alpha"), positive("beta")],
        support: Support::CountUpTo(0),
        event_rank: 0,
        lpdf: beta_binomial,
        tails: Some(beta_binomial_tail),
    },
    Formula {
        name: "beta_neg_binomial",
        parameters: &[positive("r"), positive("alpha"), positive("beta")],
        support: Support::Count,
        event_rank: 0,
        lpdf: beta_neg_binomial,
        tails: Some(beta_neg_binomial_tail),
    },
    Formula {
        name: "yule_simon",
        parameters: &[positive("alpha")],
        support: Support::Positive,
        event_rank: 0,
        lpdf: yule_simon,
        tails: Some(yule_simon_tail),
    },
    Formula {
        name: "hypergeometric",
        parameters: &[count("N"), count("a"), count("b")],
        support: Support::CountUpTo(0),
        event_rank: 0,
        lpdf: hypergeometric,
        tails: None,
    },
    Formula {
        name: "discrete_range",
        parameters: &[
            Parameter::new("lower", Support::Real),
            Parameter::new("upper", Support::Real),
        ],
        support: Support::Between { lower: Some(0), upper: Some(1) },
        event_rank: 0,
        lpdf: discrete_range,
        tails: Some(discrete_range_tail),
    },
    Formula {
        name: "multinomial_logit",
        parameters: &[Parameter::new("gamma", Support::Real).rank(1)],
        support: Support::Count,
        event_rank: 1,
        lpdf: multinomial_logit,
        tails: None,
    },
    Formula {
        name: "dirichlet_multinomial",
        parameters: &[positive("alpha").rank(1)],
        support: Support::Count,
        event_rank: 1,
        lpdf: dirichlet_multinomial,
        tails: None,
    },
    Formula {
        name: "ordered_probit",
        parameters: &[
            Parameter::new("eta", Support::Real),
            Parameter::new("c", Support::Ordered).rank(1),
        ],
        support: Support::Category { parameter: 1, extra: 1 },
        event_rank: 0,
        lpdf: ordered_probit,
        tails: None,
    },
];

/// The mean and dispersion of a negative binomial with shape alpha and inverse scale beta.
fn mean_dispersion(g: &mut Graph, p: &[NodeId]) -> [NodeId; 2] {
    [g.div(p[0], p[1]), p[0]]
}

fn neg_binomial(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let args = mean_dispersion(g, p);
    family("negative_binomial").lpdf(g, y, &args)
}

fn neg_binomial_tail(g: &mut Graph, y: NodeId, p: &[NodeId], tail: Tail) -> NodeId {
    let args = mean_dispersion(g, p);
    tail_of(g, "negative_binomial", y, &args, tail)
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
    let whole = g.floor(y);
    let count = match tail {
        Tail::Lower => {
            let below = g.sub(whole, p[0]);
            g.shift(below, 1.0)
        }
        Tail::Upper => g.sub(p[1], whole),
    };
    let (width, zero) = (width(g, p), g.scalar(0.0));
    let count = g.min(count, width);
    let count = g.max(count, zero);
    let fraction = g.div(count, width);
    g.log(fraction)
}

/// $\log n! - \sum_k\log y_k!$
fn log_arrangements(g: &mut Graph, y: NodeId) -> NodeId {
    let total = g.sum_last(y);
    let (total, cells) = (g.shift(total, 1.0), g.shift(y, 1.0));
    let (of_total, of_cells) = (g.lgamma(total), g.lgamma(cells));
    let of_cells = g.sum_last(of_cells);
    g.sub(of_total, of_cells)
}

/// $\log n! + \sum_k(y_k\gamma_k - \log y_k!) - n\log\sum_k e^{\gamma_k}$
fn multinomial_logit(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let products = g.mul(y, p[0]);
    let gained = g.sum_last(products);
    let last = g.shape(p[0]).rank() - 1;
    let normaliser = g.log_sum_exp(p[0], last);
    let trials = g.sum_last(y);
    let lost = g.mul(trials, normaliser);
    let kernel = g.sub(gained, lost);
    let arrangements = log_arrangements(g, y);
    g.add(kernel, arrangements)
}

/// $\log n! - \sum_k\log y_k! + \log\Gamma(\alpha_0) - \log\Gamma(n+\alpha_0) +
/// \sum_k(\log\Gamma(y_k+\alpha_k) - \log\Gamma(\alpha_k))$
fn dirichlet_multinomial(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    let after = g.add(y, p[0]);
    let (total_after, total_before) = (g.sum_last(after), g.sum_last(p[0]));
    let (after, before) = (g.lgamma(after), g.lgamma(p[0]));
    let growth = g.sub(after, before);
    let growth = g.sum_last(growth);
    let (total_after, total_before) = (g.lgamma(total_after), g.lgamma(total_before));
    let lost = g.sub(total_after, total_before);
    let kernel = g.sub(growth, lost);
    let arrangements = log_arrangements(g, y);
    g.add(kernel, arrangements)
}

/// $\log(\Phi(\eta - c_{y-1}) - \Phi(\eta - c_y))$ with $c_{-1} = -\infty$, $c_{K-1} = \infty$, y
/// from zero.
///
/// **Numerics**: taken in the tail in which both points lie. **Edges**: the outermost limits are
/// 1000 away from zero, beyond which a normal probability is zero.
fn ordered_probit(g: &mut Graph, y: NodeId, p: &[NodeId]) -> NodeId {
    const FAR: f64 = 1000.0;
    let (eta, cuts) = (p[0], p[1]);
    let inner = g.shape(cuts).rank() - 1;
    let end = Shape::from(&g.shape(cuts).extents()[..inner]).join(&[1]);
    let (lowest, highest) = (g.filled(&end, -FAR), g.filled(&end, FAR));
    let lower = g.concat(&[lowest, cuts], inner);
    let upper = g.concat(&[cuts, highest], inner);
    let (lower, upper) = (choose(g, lower, y), choose(g, upper, y));
    let (a, b) = (g.sub(eta, lower), g.sub(eta, upper));
    // a > b; mirrored where their middle is positive.
    let (sum, zero) = (g.add(a, b), g.scalar(0.0));
    let is_high = g.lt(zero, sum);
    let (minus_a, minus_b) = (g.neg(a), g.neg(b));
    let (large, small) = (g.select(is_high, minus_b, a), g.select(is_high, minus_a, b));
    let (large, small) = (g.log_normal_cdf(large), g.log_normal_cdf(small));
    g.log_diff_exp(large, small)
}

/// The element of the last axis that each outcome names.
fn choose(g: &mut Graph, table: NodeId, y: NodeId) -> NodeId {
    let categories = g.shape(table).extents().last().copied().unwrap_or(0);
    let column = g.shape(y).join(&[1]);
    let column = g.reshape(y, column);
    let numbers: Vec<f64> = (0..categories).map(|k| k as f64).collect();
    let numbers = g.constant(Tensor::vector(&numbers));
    let (chosen, zero) = (g.eq(column, numbers), g.scalar(0.0));
    let only = g.select(chosen, table, zero);
    g.sum_last(only)
}
